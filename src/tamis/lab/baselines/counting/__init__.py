"""`counting`: the counting algorithm of Yan and Garcia-Molina, as Bittner's thesis has it (section 2.3.3).

Every subscription becomes conjunctions; every predicate that an event satisfies counts a hit for the conjunctions
that have it, and a conjunction with as many hits as predicates holds. Nothing is evaluated, but there are more
conjunctions than subscriptions: the thesis compares it with general Boolean filtering, `hits`, for this.

The thesis's structures in `kernels`: `users` is the predicate-subscription association table, `counters` the hit
vector, `needed` the subscription predicate count vector, `terms.predicates` the subscription-predicate association
table. Changed against the thesis: hits are counted down to zero, so that no pass over all conjunctions is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from tamis.arrays import I32, U8
from tamis.engines.base import Stats
from tamis.engines.conjunctions.dnf import Conjunctions
from tamis.engines.forest import Forest
from tamis.formulas.formula import Formula
from tamis.lab.baselines.counting.kernels import (
    delete_terms,
    empty_table,
    insert_terms,
    match_terms,
    table_bytes,
    table_counts,
    take_work,
)
from tamis.lab.dynamic.predicate_index import EncodedEvents, PredicateIndex
from tamis.lab.dynamic.term_index import TermIndex, TermStore
from tamis.statistics import Statistics


class Counting:
    """The engine `counting`; it has no settings."""

    name = "counting"
    dynamic = True

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> TermIndex:
        return TermIndex(CountingStore()).fill(formulas)


class CountingStore(TermStore):
    """Terms listed under their predicates."""

    def __init__(self) -> None:
        self._table = empty_table()

    def insert(self, predicates: PredicateIndex, forest: Forest, conjunctions: Conjunctions, slots: I32) -> None:
        with predicates.interned_leaves(forest) as numbers:
            insert_terms(self._table, predicates.predicates, conjunctions, numbers, slots)

    def delete(self, predicates: PredicateIndex, slots: I32) -> None:
        delete_terms(self._table, predicates.predicates, slots)

    def match(self, predicates: PredicateIndex, event: EncodedEvents) -> tuple[I32, I32, U8]:
        rows, slots, sure = match_terms(self._table, predicates.predicates, event)
        return rows, slots, sure

    def stats(self) -> Stats:
        terms, always = table_counts(self._table)
        names = ("association", "predicates of terms", "needed hits", "hits", "slots")
        sizes = dict(zip(names, table_bytes(self._table), strict=True))
        return Stats({"conjunctions": terms, "always": always}, sizes)

    def work(self) -> dict[str, int]:
        return dict(zip(("held", "hits", "conjunctions"), take_work(self._table).tolist(), strict=True))
