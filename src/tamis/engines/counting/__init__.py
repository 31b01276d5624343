"""`counting`: every subscription as conjunctions, and for every event a count of the predicates of each that hold.

The baseline of general Boolean filtering, over the same predicates as `hits`. A conjunction that has as many hits
as predicates holds; nothing is evaluated, but there are more conjunctions than subscriptions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.base import Stats
from tamis.engines.conjunctions.dnf import Conjunctions
from tamis.engines.counting.filing import (
    delete_terms,
    insert_terms,
    match_terms,
    tally_bytes,
    tally_counts,
    tally_of,
    tally_work,
)
from tamis.engines.dynamic.index import Event, PredicateIndex
from tamis.engines.dynamic.normal_form import TermFile, TermIndex
from tamis.engines.forest import Forest
from tamis.language.formula import Formula
from tamis.statistics import Statistics

Bytes: TypeAlias = npt.NDArray[np.uint8]
Shorts: TypeAlias = npt.NDArray[np.int32]


class Counting:
    """The engine."""

    name = "counting"

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> TermIndex:
        """An index with formula i in slot i."""
        return TermIndex(TallyFile()).filled(formulas)


class TallyFile(TermFile):
    """Terms under their predicates."""

    def __init__(self) -> None:
        self._tally = tally_of()

    def insert(
        self, predicates: PredicateIndex, forest: Forest, conjunctions: Conjunctions, slots: Shorts
    ) -> None:
        """As `TermFile`."""
        with predicates.entered(forest) as numbers:
            insert_terms(self._tally, predicates.predicates, conjunctions, numbers, slots)

    def delete(self, predicates: PredicateIndex, slots: Shorts) -> None:
        """As `TermFile`."""
        delete_terms(self._tally, predicates.predicates, slots)

    def match(self, predicates: PredicateIndex, event: Event) -> tuple[Shorts, Shorts, Bytes]:
        """As `TermFile`."""
        rows, slots, sure = match_terms(self._tally, predicates.predicates, event)
        return rows, slots, sure

    def stats(self) -> Stats:
        """As `TermFile`."""
        terms, always = tally_counts(self._tally)
        names = ("association", "predicates of terms", "needed hits", "hits", "slots")
        sizes = dict(zip(names, tally_bytes(self._tally), strict=True))
        return Stats({"conjunctions": terms, "always": always}, sizes)

    def work(self) -> dict[str, int]:
        """As `TermFile`."""
        return dict(zip(("held", "hits", "conjunctions"), tally_work(self._tally).tolist(), strict=True))
