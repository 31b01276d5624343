"""What the rows on filtering measure with: conjunctions as conditions, and sizes that the thesis prints."""

from __future__ import annotations

import numpy as np
import pytest

from tamis import compile_condition
from tamis.engines.forest import forest_of
from tamis.formulas.formula import Formula
from tamis.lab.claims.bench import Bench
from tamis.lab.claims.bittner import BITTNER, conjunctions_as_conditions


def _formulas(*texts: str) -> list[Formula]:
    return [compile_condition(text).formula for text in texts]


def test_terms_are_the_conjunctions_of_a_forest() -> None:
    terms = conjunctions_as_conditions(forest_of(_formulas("a = 1 AND (b = 1 OR c = 1)", "d = 1")))
    assert len(terms) == 3
    expected = _formulas("a = 1 AND b = 1", "a = 1 AND c = 1", "d = 1")
    assert list(terms) == expected
    assert np.all(terms.roots[:2] >= 0) and terms.roots[2] < 0


@pytest.mark.parametrize("id_", ["B18", "B20"])
def test_sizes_of_the_classes_are_those_of_the_thesis(id_: str) -> None:
    outcome = BITTNER.rows[id_].measure(Bench("smallest"))
    printed = [each for each in outcome.figures if each.theirs is not None and "time" not in each.what]
    assert len(printed) >= 3
    assert all(each.ours[0] == each.theirs[0] for each in printed if each.theirs)


def test_hypothesis_1_holds_only_with_both_of_its_halves() -> None:
    bench = Bench("smallest")
    halves = [BITTNER.rows[each].measure(bench).direction for each in ("B2", "B9")]
    whole = BITTNER.rows["B1"].measure(bench)
    assert (whole.direction == "holds") == (halves == ["holds", "holds"])
    assert halves[0] in whole.note
