"""Merging: entries of one form become one entry, the union of what they say at each place.

Two formulas have one form if they differ only in the constants of their predicates. Formulas are monotone, so the
form with the union of two predicates at each place holds wherever one of the two holds. If they differ at one
place, the merger is *perfect*: it holds nowhere else. So bounds are replaced by wider ones first (`price < 8.85`
by `price < 10`), with as many distinct bounds at each place as a budget allows, and then entries are merged that
differ at one more place:

    title = 'Emma' AND price < 8.85
    title = 'Ulysses' AND price < 9.40      ->      title IN ('Emma', 'Ulysses', ...) AND price < 10
    ...

S. Bittner's thesis (2008, sections 6.2 and 6.3.5) describes replacement and merging and builds neither.
"""

from __future__ import annotations

import hashlib
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import NamedTuple, TypeAlias

import numpy as np

from tamis.arrays import I32, I64, U64, Bools
from tamis.engines.forest import TEST, Forest, Nodes
from tamis.engines.forest.distinct import distinct_predicates
from tamis.formulas.formula import Formula, at_least, leaf
from tamis.formulas.predicates.within import Within
from tamis.kernels import kernel
from tamis.routing.leaf_sets import mix
from tamis.values.ranges import Key, Ranges, after

MOST_VALUES = 64
"""Predicates that are merged into one, about: when one comes or goes, the entry changes."""
_LEAST_USES, _LEAST_SHARE = 8, 1 / 32
"""A predicate with so many uses, of so many formulas, is a part of the form."""
_MOST_PLACES = 256
"""A formula with more of them has a form of its own."""
_MOST_BOUNDS = 1 << 16

_Template: TypeAlias = "int | Formula | tuple[int, list[_Template]]"
"""The number of a place, a formula without places, or at least so many of several templates."""


class Mergers(NamedTuple):
    """Merged formulas, and int64[originals], the one that stands for each."""

    formulas: list[Formula]
    of: I64


def merge(forest: Forest, budget: float, size: Callable[[Sequence[Formula]], float]) -> Mergers:
    """Merged formulas, as exact as a budget allows; if none are small enough, the smallest.

    >>> from tamis.engines.forest import forest_of
    >>> from tamis.language.condition import normalise
    >>> wanted = forest_of([normalise(f"title = 'book {n}' AND price < {10 + n}") for n in range(3)])
    >>> merge(wanted, 80, lambda found: sum(len(each.describe()) for each in found)).formulas
    [Formula(price < 10 AND title = 'book 0'), Formula(price < 12 AND title IN ('book 1', 'book 2'))]

    Args:
        forest: The formulas of entries that lead to the same neighbour.
        budget: For the size of the results.
        size: Of all results together.
    """
    forms = _forms(forest)
    most = max((len(each) for form in forms for each in form.predicates), default=1)
    best, bounds = _merge_forms(forms, len(forest), 1), 1
    is_smaller = size(best.formulas) <= budget
    while is_smaller and bounds < min(most, _MOST_BOUNDS):
        bounds *= 2
        found = _merge_forms(forms, len(forest), bounds)
        is_smaller = size(found.formulas) <= budget
        best = found if is_smaller else best
    return best


# --- forms -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Form:
    """Formulas of one form.

    Attributes:
        template: The form, with numbers for its places.
        predicates: The distinct predicates at each place.
        rows: int64[members, places]: the predicates of each formula, by their numbers.
        members: int64[members]: which formulas these are.
    """

    template: _Template
    predicates: list[list[Within]]
    rows: I64
    members: I64


def _forms(forest: Forest) -> list[_Form]:
    """The formulas by their forms."""
    if not len(forest):
        return []
    leaves = forest.leaves
    distinct = distinct_predicates(leaves, forest.pieces, np.arange(len(leaves.kinds), dtype=np.int32))
    uses = np.bincount(distinct.numbers, minlength=len(distinct.examples))
    is_fixed = (uses >= max(_LEAST_USES, _LEAST_SHARE * len(forest))) | (leaves.kinds[distinct.examples] == TEST)
    predicates: dict[int, Within] = {}
    hashes = np.empty(len(distinct.examples), np.uint64)
    by_kind: dict[tuple[int, str, bool], int] = {}
    for number, example in enumerate(distinct.examples.tolist()):
        found = forest.predicate(example)
        if isinstance(found, Within) and not is_fixed[number]:
            predicates[number] = found
            key = int(leaves.axes[example]), _kind(found.ranges), found.null
            if key not in by_kind:
                by_kind[key] = _hash(f"{found.attribute!r} {key[1:]}")
            hashes[number] = by_kind[key]
        else:
            hashes[number] = _hash(found.identity)
    nodes = Nodes(*map(np.array, forest.nodes))
    numbers, fixed = distinct.numbers, is_fixed[distinct.numbers]
    keys, sizes = _order_operands(nodes, hashes[numbers], fixed, forest.roots)
    keys[sizes > _MOST_PLACES] = np.arange(np.count_nonzero(sizes > _MOST_PLACES))
    _, firsts, of = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(of.reshape(-1), kind="stable")
    forms = []
    for first, members in zip(
        firsts.tolist(), np.split(order, np.cumsum(np.bincount(of.reshape(-1)))[:-1]), strict=True
    ):
        if len(members) == 1 or not sizes[first]:
            forms.append(_Form(forest[first], [], np.empty((len(members), 0), np.int64), members))
            continue
        rows = numbers[_places(nodes, forest.roots[members], fixed, int(sizes[first]))]
        known = [np.unique(rows[:, place], return_inverse=True) for place in range(rows.shape[1])]
        template = _template(forest, nodes, int(forest.roots[first]), fixed, iter(range(rows.shape[1])))
        values = [[predicates[number] for number in each.tolist()] for each, _ in known]
        forms.append(
            _Form(template, values, np.stack([places.reshape(-1) for _, places in known], axis=1), members)
        )
    return forms


def _hash(text: str) -> int:
    """The same in every process, so that the texts of entries are."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _kind(ranges: Ranges) -> str:
    """What a predicate compares with: below a bound, above one, between two, or a set."""
    if len(ranges.cuts) == 1:
        return "<" if ranges.inside else ">"
    is_interval = len(ranges.cuts) == 2 and not ranges.inside and after(ranges.cuts[0]) != ranges.cuts[1]
    return "-" if is_interval else "="


@kernel
def _order_operands(nodes: Nodes, hashes: U64, fixed: Bools, roots: I32) -> tuple[U64, I64]:
    """Order the operands of each node by their forms; gives the form of each root, and how many places it has.

    Formulas of one form then have their places in the same order, however they were written.
    """
    count = len(nodes.least)
    forms, sizes = np.zeros(count, np.uint64), np.zeros(count, np.int64)
    for node in range(count):
        first, last = nodes.firsts[node], nodes.firsts[node + 1]
        found = np.empty(last - first, np.uint64)
        total = np.uint64(nodes.least[node])
        for place in range(first, last):
            child = nodes.children[place]
            found[place - first] = mix(hashes[~child] if child < 0 else forms[child])
            total += mix(found[place - first])
            sizes[node] += (0 if fixed[~child] else 1) if child < 0 else sizes[child]
        sizes[node] = min(sizes[node], 1 << 30)
        forms[node] = mix(total)
        nodes.children[first:last] = nodes.children[first:last][np.argsort(found, kind="mergesort")]
    keys, places = np.empty(len(roots), np.uint64), np.empty(len(roots), np.int64)
    for number in range(len(roots)):
        root = roots[number]
        keys[number] = forms[root] if root >= 0 else mix(hashes[~root])
        places[number] = sizes[root] if root >= 0 else (0 if fixed[~root] else 1)
    return keys, places


@kernel
def _places(nodes: Nodes, roots: I32, fixed: Bools, count: int) -> I32:
    """int32[roots, count]: the leaves at the places of formulas of one form."""
    found = np.empty((len(roots), count), np.int32)
    stack = np.empty(2 * len(nodes.children) + 2, np.int32)
    for row in range(len(roots)):
        top, at = 1, 0
        stack[0] = roots[row]
        while top:
            top -= 1
            item = stack[top]
            if item >= 0:
                for place in range(nodes.firsts[item + 1] - 1, nodes.firsts[item] - 1, -1):
                    stack[top] = nodes.children[place]
                    top += 1
            elif not fixed[~item]:
                found[row, at] = ~item
                at += 1
    return found


def _template(forest: Forest, nodes: Nodes, item: int, fixed: Bools, places: Iterator[int]) -> _Template:
    if item < 0:
        return leaf(forest.predicate(~item)) if fixed[~item] else next(places)
    first, last = nodes.firsts[item : item + 2].tolist()
    parts = [_template(forest, nodes, each, fixed, places) for each in nodes.children[first:last].tolist()]
    return int(nodes.least[item]), parts


# --- merging ---------------------------------------------------------------------------------------------------


def _merge_forms(forms: Sequence[_Form], count: int, bounds: int) -> Mergers:
    """Formulas with at most so many distinct bounds at a place, merged at one more place."""
    formulas: dict[Formula, int] = {}
    of = np.zeros(count, np.int64)
    for form in forms:
        places, rows = [*form.predicates], form.rows.copy()
        for place, known in enumerate(places):
            places[place], numbers = _with_fewer_bounds(known, rows[:, place], bounds)
            rows[:, place] = numbers[rows[:, place]]
        distinct, of_row = np.unique(rows, axis=0, return_inverse=True)
        numbers = np.zeros(len(distinct), np.int64)
        for some, formula in _unions(form.template, places, distinct):
            numbers[some] = formulas.setdefault(formula, len(formulas))
        of[form.members] = numbers[of_row.reshape(-1)]
    return Mergers([*formulas], of)


def _with_fewer_bounds(known: list[Within], used: I64, bounds: int) -> tuple[list[Within], I64]:
    """The predicates at a place with at most so many distinct bounds of each kind, and the new number of each."""
    if _kind(known[0].ranges) == "=" or len(known) <= bounds:
        return known, np.arange(len(known))
    uses = np.bincount(used, minlength=len(known)).tolist()
    inside = known[0].ranges.inside
    kept = [
        _quantiles([(each.ranges.cuts[side], count) for each, count in zip(known, uses, strict=True)], bounds)
        for side in range(len(known[0].ranges.cuts))
    ]
    wider: dict[Within, int] = {}
    numbers = np.empty(len(known), np.int64)
    for number, each in enumerate(known):
        cuts = tuple(
            # The end of a range goes up to the next bound, its beginning goes down.
            chosen[bisect_left(chosen, cut)] if inside == (side == 0) else chosen[bisect_right(chosen, cut) - 1]
            for side, (cut, chosen) in enumerate(zip(each.ranges.cuts, kept, strict=True))
        )
        numbers[number] = wider.setdefault(Within(each.attribute, Ranges(inside, cuts), each.null), len(wider))
    return [*wider], numbers


def _quantiles(cuts: list[tuple[Key, int]], bounds: int) -> list[Key]:
    """The least and the greatest cut, and some between that divide their uses evenly."""
    ordered = [cut for cut, count in sorted(cuts) for _ in range(count)]
    places = np.linspace(0, len(ordered) - 1, bounds + 1).round().astype(np.int64)
    return sorted({ordered[place] for place in places.tolist()})


def _unions(template: _Template, places: list[list[Within]], rows: I64) -> Iterator[tuple[I64, Formula]]:
    """The formulas of distinct rows, some of which have become one, and the rows of each."""
    if not places:
        yield np.arange(len(rows)), _build(template, [])
        return
    united = int(np.argmax([len(np.unique(rows[:, place])) for place in range(len(places))]))
    _, groups = np.unique(np.delete(rows, united, axis=1), axis=0, return_inverse=True)
    order = np.argsort(groups.reshape(-1), kind="stable")
    for some in np.split(order, np.flatnonzero(np.diff(groups.reshape(-1)[order])) + 1):
        for bucket in _buckets(some, [places[united][row] for row in rows[some, united].tolist()]):
            chosen = [known[row] for known, row in zip(places, rows[bucket[0]].tolist(), strict=True)]
            several = [places[united][row] for row in rows[bucket, united].tolist()]
            ranges = reduce(or_, (each.ranges for each in several))
            chosen[united] = Within(several[0].attribute, ranges, several[0].null)
            yield bucket, _build(template, chosen)


def _buckets(rows: I64, predicates: Sequence[Within]) -> list[I64]:
    """Rows in buckets of a bounded number, such that one more or less changes one bucket only."""
    if len(rows) <= MOST_VALUES:
        return [rows]
    count = 1 << ((len(rows) - 1) // MOST_VALUES).bit_length()
    hashes = np.array([zlib.crc32(repr(each.ranges.cuts).encode()) % count for each in predicates])
    return [rows[hashes == bucket] for bucket in np.unique(hashes).tolist()]


def _build(template: _Template, predicates: Sequence[Within]) -> Formula:
    if isinstance(template, int):
        return leaf(predicates[template])
    if isinstance(template, Formula):
        return template
    return at_least(template[0], [_build(each, predicates) for each in template[1]])
