"""`siena`: the counting algorithm of the Siena router (Carzaniga and Wolf), Mishra and Sahni's slower baseline.

Conjunctions are listed under their predicates, as in `counting`. The attributes that most conjunctions need are a
preselection: a conjunction that needs one which the event lacks is not counted, nor are the other conjunctions of
    a subscription that has matched. Siena's ternary search tries for strings are not here: predicates are found by
    the index that all engines share.
"""

from __future__ import annotations

from collections.abc import Sequence

from tamis.arrays import I32, U8
from tamis.engines.base import Stats
from tamis.engines.conjunctions.dnf import Conjunctions
from tamis.engines.forest import Forest
from tamis.formulas.formula import Formula
from tamis.lab.baselines.counting import CountingStore
from tamis.lab.baselines.siena.kernels import (
    MOST_ATTRIBUTES,
    empty_preselection,
    match_preselected,
    preselect,
    preselection_sizes,
    take_work,
)
from tamis.lab.dynamic.predicate_index import EncodedEvents, PredicateIndex
from tamis.lab.dynamic.term_index import TermIndex
from tamis.statistics import Statistics


class Siena:
    """The engine `siena`."""

    name = "siena"
    dynamic = True

    def __init__(self, attributes: int = MOST_ATTRIBUTES) -> None:
        """Preselect at most so many attributes.

        Raises:
            ValueError: If a word has no room for so many.
        """
        if not 0 <= attributes <= MOST_ATTRIBUTES:
            msg = f"attributes: a preselection has from 0 to {MOST_ATTRIBUTES}, not {attributes}"
            raise ValueError(msg)
        self._attributes = attributes

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> TermIndex:
        return TermIndex(PreselectedStore(self._attributes)).fill(formulas)


class PreselectedStore(CountingStore):
    """The terms of `counting`, with a preselection."""

    def __init__(self, attributes: int) -> None:
        super().__init__()
        self._preselection = empty_preselection(attributes)

    def insert(self, predicates: PredicateIndex, forest: Forest, conjunctions: Conjunctions, slots: I32) -> None:
        super().insert(predicates, forest, conjunctions, slots)
        preselect(self._preselection, self._table, predicates.predicates, slots)

    def match(self, predicates: PredicateIndex, event: EncodedEvents) -> tuple[I32, I32, U8]:
        rows, slots, sure = match_preselected(self._table, self._preselection, predicates.predicates, event)
        return rows, slots, sure

    def stats(self) -> Stats:
        found = super().stats()
        attributes, size = preselection_sizes(self._preselection)
        return Stats(found.counts | {"preselected attributes": attributes}, found.bytes | {"preselection": size})

    def work(self) -> dict[str, int]:
        names = ("held", "hits", "passed over", "conjunctions")
        return dict(zip(names, take_work(self._preselection).tolist(), strict=True))
