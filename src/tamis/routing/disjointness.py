"""Disjoint predicates, which can never hold together: those of all registered ones that are disjoint to one.

`DisjointIndex` may miss a disjoint pair, which costs a needless message; it never reports a pair that can hold
together. It is exact for ranges, and for a pattern with finitely many values. Of two patterns it decides LIKE
with LIKE, ILIKE with ILIKE, and a pattern with its negation. A predicate that calls an operator or reads a
computed attribute is disjoint to nothing.

A set of values is disjoint to another one when each of its pieces lies
in a gap of the other. The pieces in a gap are neighbours in a list sorted by ends, so only these are read.
Patterns and quantifiers have no order and are compared one by one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import numpy as np

from tamis.arrays import I64
from tamis.events.event_type import Attribute, EventType
from tamis.formulas.expression import Path, Typed
from tamis.formulas.predicates.base import Predicate
from tamis.formulas.predicates.matches import MatchesPattern
from tamis.formulas.predicates.quantified import Quantified
from tamis.formulas.predicates.within import Within
from tamis.functions.like import Wildcard, parse_like
from tamis.functions.registry import FUNCTIONS, Signature
from tamis.routing.trees import is_opaque
from tamis.values.column import column_of, constant_column
from tamis.values.letter_case import lower
from tamis.values.order import order_key
from tamis.values.ranges import ALL, NONE, Key, Ranges, comparison_ranges, points_of, starting_with
from tamis.values.types import BOOLEAN, STRING

Span: TypeAlias = tuple[Key | None, Key | None]

_MOST_RECENT = 32


class Domain(NamedTuple):
    """The values that an attribute may have, and whether it may be NULL."""

    ranges: Ranges
    null: bool


Domains: TypeAlias = Mapping[Typed, Domain]
"""By attribute; one that is not there may have any value of its type."""


def domains_of(event_type: EventType) -> dict[Typed, Domain]:
    """The domains that an event type declares, for publishers that keep to it."""
    return {Path((each.name,), each.type): _domain(each) for each in event_type.attributes or ()}


def _domain(attribute: Attribute) -> Domain:
    ranges, type_ = ALL, attribute.type
    if attribute.values is not None:
        ranges = points_of(type_, map(order_key(type_), attribute.values))
    for operator, value in ((">=", attribute.min), ("<=", attribute.max)):
        if value is not None:
            ranges &= comparison_ranges(type_, operator, order_key(type_)(value))
    return Domain(ranges, not attribute.required)


class _Extent(NamedTuple):
    """Where a predicate holds: nowhere outside of `ranges`, and everywhere in them if `pattern` is None.

    null: Does it hold on NULL?
    pattern: Decides inside of the ranges.
    """

    attribute: Typed
    ranges: Ranges
    null: bool
    pattern: MatchesPattern | Quantified | None = None


def _extent_of(predicate: Predicate, domains: Domains) -> _Extent | None:
    """None if nothing is known about it."""
    attribute = predicate.attribute
    if is_opaque(predicate):
        return None
    domain = domains.get(attribute, Domain(ALL, null=True))
    if isinstance(predicate, Within):
        return _Extent(attribute, predicate.ranges & domain.ranges, predicate.null and domain.null)
    if isinstance(predicate, MatchesPattern):
        ranges = _hull(predicate) & domain.ranges
        points = _texts(ranges)
        if points is None:
            return _Extent(attribute, ranges, False, predicate)
        return _Extent(attribute, points_of(STRING, _matching_texts(predicate, points)), False)
    return _Extent(attribute, ALL, False, predicate) if isinstance(predicate, Quantified) else None


def _hull(predicate: MatchesPattern) -> Ranges:
    """The strings that begin as the pattern does."""
    if predicate.test != "like" or predicate.negated:
        return ALL
    parts = parse_like(predicate.pattern)
    return starting_with(parts[0]) if parts and isinstance(parts[0], str) else ALL


def _texts(ranges: Ranges) -> list[str] | None:
    """The strings in the ranges, if they are finitely many; there is none below the empty one."""
    return (Ranges(False, ("", *ranges.cuts)) if ranges.inside else ranges).points()


def _matching_texts(predicate: MatchesPattern, texts: Sequence[str]) -> list[str]:
    """Those of the texts on which it holds."""
    if not texts:
        return []
    columns = column_of(STRING, texts), constant_column(STRING, predicate.pattern, len(texts))
    found = FUNCTIONS[predicate.test].apply(Signature((STRING, STRING), BOOLEAN), columns, len(texts))
    holds = (found.values != predicate.negated) & found.valid
    return [texts[place] for place in np.flatnonzero(holds).tolist()]


def _are_disjoint(one: _Extent, other: _Extent) -> bool:
    if one.attribute != other.attribute or (one.null and other.null):
        return False
    common = one.ranges & other.ranges
    if common == NONE:
        return True
    patterns = [each.pattern for each in (one, other) if each.pattern is not None]
    points = _texts(common) if patterns else None
    if points is not None:
        for pattern in patterns:
            points = _matching_texts(pattern, points) if isinstance(pattern, MatchesPattern) else points
        return not points
    match patterns:
        case [MatchesPattern() as first, MatchesPattern() as second]:
            return _patterns_are_disjoint(first, second)
        case _:
            return False


def _patterns_are_disjoint(one: MatchesPattern, other: MatchesPattern) -> bool:
    if one.test != other.test or (one.negated and other.negated):
        return False
    if one.negated or other.negated:
        return one.pattern == other.pattern
    return one.test != "rlike" and not _have_common_text(_letters(one), _letters(other))


def _letters(predicate: MatchesPattern) -> list[str | Wildcard]:
    """A LIKE pattern, a letter or a wildcard at a time; ILIKE compares in lower case."""
    folded = predicate.test == "ilike"
    pattern = lower(predicate.pattern) if folded else predicate.pattern
    found: list[str | Wildcard] = []
    for part in parse_like(pattern):
        found.extend([part] if isinstance(part, Wildcard) else part)
    return found


def _have_common_text(one: Sequence[str | Wildcard], other: Sequence[str | Wildcard]) -> bool:
    """Is there a text that both patterns match? A search over pairs of positions in the two patterns."""
    seen = {(0, 0)}
    stack = [(0, 0)]
    while stack:
        i, j = stack.pop()
        if (i, j) == (len(one), len(other)):
            return True
        for step in _steps(one[i : i + 1], other[j : j + 1]):
            place = i + step[0], j + step[1]
            if place not in seen:
                seen.add(place)
                stack.append(place)
    return False


def _steps(one: Sequence[str | Wildcard], other: Sequence[str | Wildcard]) -> Iterator[tuple[int, int]]:
    """How far both positions may advance, given the next element of each pattern, if there is one."""
    many = [Wildcard.MANY]
    if list(one) == many:
        yield 1, 0
        if other:
            yield 0, 1
    if list(other) == many:
        yield 0, 1
        if one:
            yield 1, 0
    if one and other and (one[0] == other[0] or Wildcard.ONE in (one[0], other[0])):
        yield 1, 1


class DisjointIndex:
    """Finds the registered predicates that are disjoint to a given one, by number."""

    def __init__(self, domains: Domains | None = None) -> None:
        self._domains = domains or {}
        self._attributes: dict[Typed, _AttributeIndex] = {}

    def add(self, number: int, predicate: Predicate) -> None:
        """Register a predicate under a number of its own."""
        extent = _extent_of(predicate, self._domains)
        if extent is None:
            return
        index = self._attributes.get(extent.attribute)
        if index is None:
            index = self._attributes[extent.attribute] = _AttributeIndex()
        index.add(number, extent)

    def find(self, predicate: Predicate) -> I64:
        """int64: the numbers of all that are disjoint to it, each once, in no order."""
        extent = _extent_of(predicate, self._domains)
        index = None if extent is None else self._attributes.get(extent.attribute)
        return np.empty(0, np.int64) if extent is None or index is None else index.find(extent)


class _AttributeIndex:
    """The predicates on one attribute."""

    def __init__(self) -> None:
        self._sets = {False: _RangeSets(), True: _RangeSets()}  # by whether they hold on NULL
        self._patterns: dict[int, _Extent] = {}

    def add(self, number: int, extent: _Extent) -> None:
        if extent.pattern is None:
            self._sets[extent.null].add(number, extent)
        else:
            self._patterns[number] = extent

    def find(self, extent: _Extent) -> I64:
        found = [number for number, each in self._patterns.items() if _are_disjoint(each, extent)]
        sets = [self._sets[False]] if extent.null else [self._sets[False], self._sets[True]]
        return np.concatenate([np.array(found, np.int64), *(each.find(extent) for each in sets)])


class _SortedPieces(NamedTuple):
    """The pieces of all sets in two orders; an owner is an index into `numbers`."""

    numbers: I64
    counts: I64 | None  # per set: its pieces; None if none has several
    empty: I64  # owners without a piece
    lows: list[Key]  # rising; without the pieces that are unbounded below
    low_owners: I64
    low_highs: list[Key | None]  # the other end of each
    highs: list[Key]  # rising; without the pieces that are unbounded above
    high_owners: I64

    def inside(self, gap: Span) -> I64:
        """Owners of the pieces that lie in a gap, one a piece."""
        low, high = gap
        if low is None:
            return self.high_owners[: bisect_right(self.highs, high)]
        start = bisect_left(self.lows, low)
        if high is None:
            return self.low_owners[start:]
        stop = bisect_left(self.lows, high)
        ends = enumerate(self.low_highs[start:stop], start)
        return self.low_owners[[place for place, end in ends if end is not None and end <= high]]


class _RangeSets:
    """Sets of values: most of them sorted, recent ones in a list that is scanned."""

    def __init__(self) -> None:
        self._all: dict[int, _Extent] = {}
        self._recent: dict[int, _Extent] = {}
        self._pieces = _sort_pieces({})

    def add(self, number: int, extent: _Extent) -> None:
        self._all[number] = self._recent[number] = extent

    def find(self, extent: _Extent) -> I64:
        if len(self._recent) > max(_MOST_RECENT, len(self._all) // 8):
            self._pieces = _sort_pieces(self._all)
            self._recent = {}
        recent = [number for number, each in self._recent.items() if _are_disjoint(each, extent)]
        found = np.concatenate([self._in_gaps(extent.ranges), np.array(recent, np.int64)])
        return (
            found if extent.pattern is None else np.concatenate([found, self._without_common_text(extent, found)])
        )

    def _in_gaps(self, ranges: Ranges) -> I64:
        pieces = self._pieces
        gaps = list((~ranges).pieces())
        if (None, None) in gaps:
            return pieces.numbers
        owners: I64 = np.concatenate([pieces.empty, *(pieces.inside(gap) for gap in gaps)])
        if pieces.counts is None:
            return pieces.numbers[owners]
        found = np.bincount(owners, minlength=len(pieces.numbers))
        return pieces.numbers[np.flatnonzero((found > 0) & (found >= pieces.counts))]

    def _without_common_text(self, extent: _Extent, found: I64) -> I64:
        """Further sets, which meet the ranges only in values on which the pattern does not hold."""
        known = set(found.tolist())
        rest = [number for number in self._pieces.numbers.tolist() if number not in known]
        common = {number: _texts(self._all[number].ranges & extent.ranges) for number in rest}
        texts = list(dict.fromkeys(text for points in common.values() for text in points or ()))
        held = set(_matching_texts(extent.pattern, texts) if isinstance(extent.pattern, MatchesPattern) else texts)
        chosen = [number for number, points in common.items() if points is not None and held.isdisjoint(points)]
        return np.array(chosen, np.int64)


def _sort_pieces(extents: Mapping[int, _Extent]) -> _SortedPieces:
    pieces = [(owner, *span) for owner, extent in enumerate(extents.values()) for span in extent.ranges.pieces()]
    lows = [(low, owner, high) for owner, low, high in pieces if low is not None]
    highs = [(high, owner) for owner, _, high in pieces if high is not None]
    lows.sort(key=itemgetter(0))
    highs.sort(key=itemgetter(0))
    counts = np.bincount(np.array([owner for owner, _, _ in pieces], np.int64), minlength=len(extents))
    return _SortedPieces(
        np.array(list(extents), np.int64),
        counts if counts.max(initial=0) > 1 else None,
        np.flatnonzero(counts == 0),
        [low for low, _, _ in lows],
        np.array([owner for _, owner, _ in lows], np.int64),
        [high for _, _, high in lows],
        [high for high, _ in highs],
        np.array([owner for _, owner in highs], np.int64),
    )
