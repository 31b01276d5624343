"""Conditions written in a few forms with slots that are filled at random: `title LIKE '%{word} {word}%'`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from tamis.arrays import I64
from tamis.lab.workloads.text import NOTHING, Phrases


class Forms:
    """Forms, split at their slots."""

    def __init__(self, forms: Sequence[str], phrases: Phrases) -> None:
        """Add the texts between slots to `phrases`."""
        # Texts stand at even places, names of slots at odd ones.
        self._parts = [re.split(r"\{(\w+)\}", form) for form in forms]
        self._texts = [phrases.codes(parts[::2]) for parts in self._parts]
        self._longest = max(map(len, self._parts))

    def spell(self, chosen: I64, fillings: Mapping[str, I64]) -> I64:
        """Codes of a block of texts.

        Args:
            chosen: The form of each row.
            fillings: For each slot, codes [rows, n]: the first for its first place in a form, and so on.
        """
        codes = np.full((len(chosen), self._longest), NOTHING)
        for number, parts in enumerate(self._parts):
            rows = np.flatnonzero(chosen == number)
            codes[rows, : len(parts) : 2] = self._texts[number]
            for place in range(1, len(parts), 2):
                again = parts[1:place:2].count(parts[place])
                codes[rows, place] = fillings[parts[place]][rows, again]
        return codes
