"""Shapes of conditions with a given number of predicates, operators and conjunctions.

A shape is an AND of common predicates, of `pairs` ORs of two predicates each, and of a chain. A chain of one
conjunction is a group of predicates; a chain of n is an OR of a group and of a chain of n - 1 that has trunk
predicates of its own: `g5 OR (t4 AND (g4 OR g3 OR (t2 AND (g2 OR g1))))`. Every predicate occurs once, so that the
disjunctive normal form follows from the sizes alone: a trunk predicate over n conjunctions is in n of them, a
predicate of a group in one, a common one in all. A chain without trunks is the plain OR of groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

_TrunkSums: TypeAlias = dict[tuple[int, int], int]
"""By operators and predicates of trunks, the set of sums that they can add to `places`, as bits."""


@dataclass(frozen=True, slots=True)
class ConditionShape:
    """The sizes of a condition.

    Attributes:
        pairs: ORs of two predicates, beside the chain.
        trunks: Predicates over 2, 3, ... conjunctions of the chain; the last are over all of it: the common ones.
        groups: Predicates of each conjunction of the chain alone; one group without trunks belongs to the AND.
    """

    pairs: int
    trunks: tuple[int, ...]
    groups: tuple[int, ...]

    @property
    def predicates(self) -> int:
        """How many there are."""
        return 2 * self.pairs + sum(self.trunks) + sum(self.groups)

    @property
    def conjunctions(self) -> int:
        """Of the disjunctive normal form."""
        return len(self.groups) << self.pairs

    @property
    def places(self) -> int:
        """Predicates of all conjunctions together."""
        chain = sum(self.groups) + sum(over * count for over, count in enumerate(self.trunks, 2))
        return (chain << self.pairs) + self.pairs * self.conjunctions

    @property
    def operators(self) -> int:
        """ANDs and ORs of any number of operands, none directly within one of its kind."""
        if not self.trunks:
            return self.pairs + (self.pairs + self.groups[0] > 1)
        within = sum(1 for count in self.trunks[:-1] if count)
        is_and = self.pairs > 0 or self.trunks[-1] > 0
        return self.pairs + is_and + 1 + 2 * within + sum(1 for count in self.groups if count > 1)

    def match_probability(self, selectivity: float) -> float:
        """The probability that it holds if each predicate does with that probability, independently."""
        either = 1 - (1 - selectivity) ** 2
        chain = selectivity ** self.groups[0]
        for trunk, group in zip(self.trunks, self.groups[1:], strict=True):
            chain = selectivity**trunk * (1 - (1 - chain) * (1 - selectivity**group))
        return either**self.pairs * chain

    def text(self, predicate: str) -> str:
        """The condition with `predicate` in every place."""
        parts = [f"({predicate} OR {predicate})"] * self.pairs
        if not self.trunks:
            return " AND ".join([predicate] * self.groups[0] + parts)
        either = [_all([predicate] * self.groups[0])]
        *within, common = self.trunks
        for trunk, group in zip(within, self.groups[1:-1], strict=True):
            either.insert(0, _all([predicate] * group))
            if trunk:
                either = [_all([predicate] * trunk + [f"({' OR '.join(either)})"])]
        chain = " OR ".join([_all([predicate] * self.groups[-1]), *either])
        above = [predicate] * common + parts
        return " AND ".join([*above, f"({chain})"]) if above else chain


def _all(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({' AND '.join(parts)})"


class _Candidate(NamedTuple):
    """A possible shape, without the sizes of its trunks and groups."""

    distance: float  # of its places from the requested number
    operators: int
    pairs: int
    added: int  # by the trunks to its places
    trunk_operators: int
    trunk_predicates: int
    wide_groups: int  # of more than one predicate


@lru_cache(maxsize=256)
def find_shape(predicates: int, conjunctions: int, places: float, operators: int | None) -> ConditionShape:
    """The shape of those sizes; of several one with few pairs, few and high trunks and even groups.

    Args:
        predicates: Of a condition.
        conjunctions: Of its disjunctive normal form.
        places: Predicates of all conjunctions together; the nearest whole number is meant.
        operators: ANDs and ORs; None if their number does not matter.

    Raises:
        ValueError: There is none; the message names the possible values.
    """
    found = list(_candidates(predicates, conjunctions, places))
    if not found:
        msg = f"conjunctions: no form of this family has {predicates} predicates and becomes {conjunctions}"
        raise ValueError(msg)
    if operators is not None:
        counts = sorted({each.operators for each in found})
        found = [each for each in found if each.operators == operators]
        if not found:
            msg = (
                f"operators: no form of {predicates} predicates that becomes {conjunctions} conjunctions has"
                f" {operators} operators, only {_format_counts(counts)}"
            )
            raise ValueError(msg)
    best = min(found, key=lambda each: (each.distance, each.pairs, each.trunk_predicates, -each.wide_groups))
    shape = _build_shape(best, predicates, conjunctions)
    if best.distance > 0.5 + 1e-9:
        total = predicates * conjunctions
        given = "" if operators is None else f" with {operators} operators"
        msg = (
            f"sharing: no form of {predicates} predicates that becomes {conjunctions} conjunctions{given} has"
            f" {places / total:g}; the nearest is {shape.places / total:.4g}"
        )
        raise ValueError(msg)
    return shape


def _format_counts(counts: list[int]) -> str:
    dense = counts == list(range(counts[0], counts[-1] + 1)) and len(counts) > 2
    return f"{counts[0]} to {counts[-1]}" if dense else ", ".join(map(str, counts))


def _candidates(predicates: int, conjunctions: int, places: float) -> Iterator[_Candidate]:
    """For each combination of sizes the shape whose places are nearest to the requested number."""
    for pairs in range((conjunctions & -conjunctions).bit_length()):
        groups, left = conjunctions >> pairs, predicates - 2 * pairs
        if groups == 1:
            if left >= (pairs == 0):
                shape = ConditionShape(pairs, (), (left,))
                yield _Candidate(abs(shape.places - places), shape.operators, pairs, 0, 0, 0, 0)
            continue
        if left < groups:
            continue
        requested = (places - pairs * conjunctions) / (1 << pairs) - left
        for (trunk_operators, trunk), sums in _trunks(groups, left - groups, pairs > 0)[-1].items():
            added = _nearest(sums, requested)
            distance = abs(added - requested) * (1 << pairs)
            spare = left - trunk - groups
            operators = pairs + (pairs > 0) + 1 + trunk_operators
            for wide in range(1, min(groups, spare) + 1) if spare else (0,):
                yield _Candidate(distance, operators + wide, pairs, added, trunk_operators, trunk, wide)


def _operators_of_trunk(over: int, groups: int, has_and: bool) -> int:
    """An AND and an OR; the common ones need no OR of their own, nor an AND if there is one."""
    return 2 if over < groups else int(not has_and)


@lru_cache(maxsize=64)
def _trunks(groups: int, most: int, has_and: bool) -> list[_TrunkSums]:
    """What up to `most` trunk predicates over up to 1, 2, ..., `groups` conjunctions can be."""
    tables: list[_TrunkSums] = [{(0, 0): 1}]
    for over in range(2, groups + 1):
        cost = _operators_of_trunk(over, groups, has_and)
        before, table = tables[-1], dict(tables[-1])
        some: _TrunkSums = {}
        for (operators, count), sums in sorted(before.items(), key=lambda entry: entry[0][1]):
            for more in range(1, most - count + 1):
                key = operators + cost, count + more
                some[key] = some.get(key, 0) | sums << (over - 1) * more
        for key, sums in some.items():
            table[key] = table.get(key, 0) | sums
        tables.append(table)
    return tables


def _nearest(sums: int, requested: float) -> int:
    """The index of the set bit nearest to a number."""
    cut = max(math.floor(requested), -1) + 1
    below, above = sums & ((1 << cut) - 1), sums >> cut
    lower = below.bit_length() - 1
    upper = cut + (above & -above).bit_length() - 1
    if not above or (below and requested - lower <= upper - requested):
        return lower
    return upper


def _build_shape(found: _Candidate, predicates: int, conjunctions: int) -> ConditionShape:
    groups, left = conjunctions >> found.pairs, predicates - 2 * found.pairs
    if groups == 1:
        return ConditionShape(found.pairs, (), (left,))
    tables = _trunks(groups, left - groups, found.pairs > 0)
    operators, count, added = found.trunk_operators, found.trunk_predicates, found.added
    trunks = [0] * (groups - 1)
    for over in range(groups, 1, -1):
        before, cost = tables[over - 2], _operators_of_trunk(over, groups, found.pairs > 0)
        for own in range(count, -1, -1):
            key, rest = (operators - (cost if own else 0), count - own), added - own * (over - 1)
            if rest >= 0 and before.get(key, 0) >> rest & 1:
                trunks[over - 2] = own
                (operators, count), added = key, rest
                break
    spare, wide = left - found.trunk_predicates - groups, found.wide_groups
    sizes = [1 + spare // wide + (number < spare % wide) if number < wide else 1 for number in range(groups)]
    return ConditionShape(found.pairs, tuple(trunks), tuple(sizes))
