"""Widening: formulas in which nothing is left to prune become wider still, until they keep to a budget.

Pruning ends at an OR of predicates, or at one predicate, however many bytes its lists of values take. From there
on a formula is replaced, step by step: by its access predicates, by those without gaps between their ranges, by
"the attribute is not NULL", and in the end by TRUE, of which one entry is enough. In each step those come first
that lose least selectivity for a byte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from tamis.arrays import F64, I32
from tamis.engines.forest import forest_of
from tamis.formulas.formula import FALSE, TRUE, Formula, disjunction, leaf
from tamis.formulas.predicates.within import Within
from tamis.routing.access_predicates import find_access_predicates
from tamis.routing.formula_arrays import AVERAGE, STORED, formula_arrays
from tamis.routing.formula_facts import measure_all
from tamis.routing.stored_bytes import ENTRY_BYTES
from tamis.statistics import Statistics
from tamis.values.ranges import ALL, NONE, Ranges


def widen(
    formulas: Sequence[Formula], of: I32, budget: float, statistics: Statistics | None, groups: I32 | None
) -> list[Formula]:
    """The formulas, some of them replaced by wider ones, so that they keep to a budget if they can.

    Args:
        formulas: Distinct.
        of: int32[subscriptions], the formula of each.
        budget: Bytes of the distinct formulas, once for each group that has them.
        statistics: Of events.
        groups: int32[subscriptions]; None if all are one.
    """
    pairs = np.unique(np.stack([of, np.zeros_like(of) if groups is None else groups]), axis=1)
    groups_of = np.split(pairs[1], np.searchsorted(pairs[0], np.arange(1, len(formulas))))
    table = _Stored()
    table.measure(formulas, statistics)
    current = list(formulas)
    for formula, some in zip(current, groups_of, strict=True):
        table.add(formula, some, 1)
    for step in (_access_predicates, _without_gaps, _present, _anything):
        if table.bytes <= budget:
            break
        wider = step(current, statistics)
        table.measure([new for old, new in zip(current, wider, strict=True) if new is not old], statistics)
        loss = np.array([table.loss(old, new) for old, new in zip(current, wider, strict=True)])
        for place in np.argsort(loss, kind="stable").tolist():
            if table.bytes <= budget:
                break
            if wider[place] is not current[place]:
                table.add(current[place], groups_of[place], -1)
                table.add(wider[place], groups_of[place], 1)
                current[place] = wider[place]
    return current


def stored_sizes(formulas: Sequence[Formula]) -> F64:
    """Bytes of the entries with these formulas, each by itself."""
    return np.asarray(measure_all(formula_arrays(forest_of(formulas)))[:, STORED] + ENTRY_BYTES)


class _Stored:
    """The distinct formulas of each group, and the bytes that they take."""

    def __init__(self) -> None:
        self.bytes = 0.0
        self._uses: Counter[tuple[Formula, int]] = Counter()
        self._facts: dict[Formula, tuple[float, float]] = {}

    def measure(self, formulas: Sequence[Formula], statistics: Statistics | None) -> None:
        """Note the bytes and the selectivities of formulas."""
        facts = measure_all(formula_arrays(forest_of(formulas), statistics))
        sizes, selectivities = (facts[:, STORED] + ENTRY_BYTES).tolist(), facts[:, AVERAGE].tolist()
        self._facts.update(zip(formulas, zip(sizes, selectivities, strict=True), strict=True))

    def add(self, formula: Formula, groups: I32, sign: int) -> None:
        """Count a formula in some groups, or no longer; FALSE needs no entry."""
        for group in groups.tolist() if formula is not FALSE else ():
            key = formula, group
            self._uses[key] += sign
            if self._uses[key] == (1 if sign > 0 else 0):
                self.bytes += sign * self._facts[formula][0]

    def loss(self, old: Formula, new: Formula) -> float:
        """The rise of selectivity for each byte of the formula that is replaced."""
        size, selectivity = self._facts[old]
        return (self._facts[new][1] - selectivity) / size if new is not old else 0.0


def _access_predicates(formulas: Sequence[Formula], statistics: Statistics | None) -> list[Formula]:
    """Formulas that are more than an OR of predicates as their access predicates."""
    places = [place for place, each in enumerate(formulas) if any(part.operands for part in _parts(each))]
    found = list(formulas)
    if places:
        access = find_access_predicates(forest_of([formulas[place] for place in places]), statistics)
        for place, number in zip(places, access.of.tolist(), strict=True):
            found[place] = access.formulas[number]
    return found


def _parts(formula: Formula) -> Sequence[Formula]:
    if formula.is_or or formula.predicate is not None:
        return formula.operands or (formula,)
    return [formula] if formula.operands else []


def _replace(
    formulas: Sequence[Formula], wider: Callable[[Within], Formula], other: Formula | None
) -> list[Formula]:
    """ORs of predicates with each `Within` replaced, and each other predicate, unless that is None."""
    found = []
    for formula in formulas:
        parts = _parts(formula)
        made = [
            wider(part.predicate) if isinstance(part.predicate, Within) else part if other is None else other
            for part in parts
        ]
        new = formula if formula in (TRUE, FALSE) else disjunction(made)
        found.append(formula if new == formula else new)
    return found


def _without_gaps(formulas: Sequence[Formula], _: Statistics | None) -> list[Formula]:
    return _replace(formulas, lambda each: leaf(Within(each.attribute, _hull(each.ranges), each.null)), None)


def _hull(ranges: Ranges) -> Ranges:
    """Everything from the least to the greatest of a set."""
    pieces = list(ranges.pieces())
    if len(pieces) < 2:
        return ranges
    ends = (pieces[0][0], pieces[-1][1])
    return Ranges(ranges.inside, tuple(end for end in ends if end is not None))


def _present(formulas: Sequence[Formula], _: Statistics | None) -> list[Formula]:
    def present(each: Within) -> Formula:
        return leaf(Within(each.attribute, each.ranges if each.ranges == NONE else ALL, each.null))

    return _replace(formulas, present, TRUE)


def _anything(formulas: Sequence[Formula], _: Statistics | None) -> list[Formula]:
    return [each if each is FALSE else TRUE for each in formulas]
