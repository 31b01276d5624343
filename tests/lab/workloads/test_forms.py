from __future__ import annotations

import numpy as np

from tamis.lab.workloads.forms import Forms
from tamis.lab.workloads.text import Phrases, integers, render


def test_slots_are_filled_in_order() -> None:
    phrases = Phrases()
    forms = Forms(["a = {n} OR b = {n}", "{word}", "c IS NULL"], phrases)
    words = phrases.codes(["x", "y", "z", "x"])[:, None]
    numbers = integers(np.arange(8).reshape(4, 2))
    codes = forms.spell(np.array([0, 1, 2, 0]), {"n": numbers, "word": words})
    assert render(codes, phrases.table()).to_pylist() == ["a = 0 OR b = 1", "y", "c IS NULL", "a = 6 OR b = 7"]
