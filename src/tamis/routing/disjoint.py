"""When two predicates can never hold together: of a pair, and of one with all registered ones.

`disjoint` may miss a pair, which costs a needless message; it never claims one that can hold together. It is
exact for ranges, and for a pattern beside finitely many values; of two patterns it decides LIKE with LIKE and
ILIKE with ILIKE, and a pattern with its negation. What calls an operator or reads a computed attribute is disjoint
to nothing.

`DisjointIndex` gives the same answers. A set of values is disjoint to another one when each of its pieces lies in
a gap of the other, and the pieces in a gap are neighbours in a list sorted by ends: the others are not looked at.
Patterns and quantifiers have no order, so they are looked at one by one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.events.event_type import Attribute, EventType
from tamis.functions.patterns import Wildcard, parse_like
from tamis.functions.registry import FUNCTIONS, Signature
from tamis.language.expression import Path, Typed
from tamis.predicates.base import Predicate
from tamis.predicates.matches import Matches
from tamis.predicates.quantified import Quantified
from tamis.predicates.within import Within
from tamis.routing.trees import is_opaque
from tamis.values.column import column_of, constant_column
from tamis.values.letters import lower
from tamis.values.order import order_key
from tamis.values.ranges import ALL, NONE, Key, Ranges, compared, points_of, starting_with
from tamis.values.types import BOOLEAN, STRING

Numbers: TypeAlias = npt.NDArray[np.int64]
Span: TypeAlias = tuple[Key | None, Key | None]

_MOST_RECENT = 32


class Domain(NamedTuple):
    """The values that an attribute may have, and whether it may be NULL."""

    ranges: Ranges
    null: bool


Domains: TypeAlias = Mapping[Typed, Domain]
"""By attribute; one that is not there may have any value of its type."""


def domains_of(event_type: EventType) -> dict[Typed, Domain]:
    """What an event type says of its attributes, for publishers that keep to it."""
    return {Path((each.name,), each.type): _domain(each) for each in event_type.attributes or ()}


def _domain(attribute: Attribute) -> Domain:
    ranges, type_ = ALL, attribute.type
    if attribute.values is not None:
        ranges = points_of(type_, map(order_key(type_), attribute.values))
    for operator, value in ((">=", attribute.min), ("<=", attribute.max)):
        if value is not None:
            ranges &= compared(type_, operator, order_key(type_)(value))
    return Domain(ranges, not attribute.required)


def disjoint(one: Predicate, other: Predicate, domains: Domains | None = None) -> bool:
    """Can the two never hold together?

    Args:
        one: A predicate.
        other: Another one.
        domains: Of attributes; an event that does not keep to them counts as impossible.

    >>> from tamis.language.condition import normalise
    >>> less, more, like = (normalise(text).predicate for text in ("a < 3", "a >= 3", "b LIKE 'x%y'"))
    >>> disjoint(less, more), disjoint(less, like)
    (True, False)
    """
    first, second = _reach(one, domains or {}), _reach(other, domains or {})
    return first is not None and second is not None and _apart(first, second)


class _Reach(NamedTuple):
    """Where a predicate holds: nowhere outside of `ranges`, and everywhere in them if `pattern` is None.

    `null` says whether it holds on NULL; `pattern` is what decides inside of the ranges.
    """

    attribute: Typed
    ranges: Ranges
    null: bool
    pattern: Matches | Quantified | None = None


def _reach(predicate: Predicate, domains: Domains) -> _Reach | None:
    """None if nothing is known."""
    attribute = predicate.attribute
    if is_opaque(predicate):
        return None
    domain = domains.get(attribute, Domain(ALL, null=True))
    if isinstance(predicate, Within):
        return _Reach(attribute, predicate.ranges & domain.ranges, predicate.null and domain.null)
    if isinstance(predicate, Matches):
        ranges = _hull(predicate) & domain.ranges
        points = _texts(ranges)
        if points is None:
            return _Reach(attribute, ranges, False, predicate)
        return _Reach(attribute, points_of(STRING, _matching(predicate, points)), False)
    return _Reach(attribute, ALL, False, predicate) if isinstance(predicate, Quantified) else None


def _hull(predicate: Matches) -> Ranges:
    """The strings that begin as the pattern does."""
    if predicate.test != "like" or predicate.negated:
        return ALL
    parts = parse_like(predicate.pattern)
    return starting_with(parts[0]) if parts and isinstance(parts[0], str) else ALL


def _texts(ranges: Ranges) -> list[str] | None:
    """The strings in the ranges, if they are finitely many; there is none below the empty one."""
    return (Ranges(False, ("", *ranges.cuts)) if ranges.inside else ranges).points()


def _matching(predicate: Matches, texts: Sequence[str]) -> list[str]:
    """Those of the texts on which it holds."""
    if not texts:
        return []
    columns = column_of(STRING, texts), constant_column(STRING, predicate.pattern, len(texts))
    found = FUNCTIONS[predicate.test].apply(Signature((STRING, STRING), BOOLEAN), columns, len(texts))
    holds = (found.values != predicate.negated) & found.valid
    return [texts[place] for place in np.flatnonzero(holds).tolist()]


def _apart(one: _Reach, other: _Reach) -> bool:
    if one.attribute != other.attribute or (one.null and other.null):
        return False
    common = one.ranges & other.ranges
    if common == NONE:
        return True
    patterns = [each.pattern for each in (one, other) if each.pattern is not None]
    points = _texts(common) if patterns else None
    if points is not None:
        for pattern in patterns:
            points = _matching(pattern, points) if isinstance(pattern, Matches) else points
        return not points
    match patterns:
        case [Matches() as first, Matches() as second]:
            return _patterns_apart(first, second)
        case _:
            return False


def _patterns_apart(one: Matches, other: Matches) -> bool:
    if one.test != other.test or (one.negated and other.negated):
        return False
    if one.negated or other.negated:
        return one.pattern == other.pattern
    return one.test != "rlike" and not _meet(_letters(one), _letters(other))


def _letters(predicate: Matches) -> list[str | Wildcard]:
    """A LIKE pattern, a letter or a wildcard at a time; ILIKE compares in lower case."""
    folded = predicate.test == "ilike"
    pattern = lower(predicate.pattern) if folded else predicate.pattern
    found: list[str | Wildcard] = []
    for part in parse_like(pattern):
        found.extend([part] if isinstance(part, Wildcard) else part)
    return found


def _meet(one: Sequence[str | Wildcard], other: Sequence[str | Wildcard]) -> bool:
    """Is there a text that both patterns match? Walks through both at once."""
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
    """How far the patterns may go on, given the next of each, if there is one."""
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
    """Predicates by number, in which those disjoint to another predicate are found."""

    def __init__(self, domains: Domains | None = None) -> None:
        self._domains = domains or {}
        self._lines: dict[Typed, _Line] = {}

    def add(self, number: int, predicate: Predicate) -> None:
        """Register a predicate under a number of its own."""
        reach = _reach(predicate, self._domains)
        if reach is None:
            return
        line = self._lines.get(reach.attribute)
        if line is None:
            line = self._lines[reach.attribute] = _Line()
        line.add(number, reach)

    def find(self, predicate: Predicate) -> Numbers:
        """The numbers of all that are disjoint to it, each once, in no order."""
        reach = _reach(predicate, self._domains)
        line = None if reach is None else self._lines.get(reach.attribute)
        return np.empty(0, np.int64) if reach is None or line is None else line.find(reach)


class _Line:
    """What is registered on one attribute."""

    def __init__(self) -> None:
        self._sets = {False: _Sets(), True: _Sets()}  # by whether they hold on NULL
        self._patterns: dict[int, _Reach] = {}

    def add(self, number: int, reach: _Reach) -> None:
        if reach.pattern is None:
            self._sets[reach.null].add(number, reach)
        else:
            self._patterns[number] = reach

    def find(self, reach: _Reach) -> Numbers:
        found = [number for number, each in self._patterns.items() if _apart(each, reach)]
        sets = [self._sets[False]] if reach.null else [self._sets[False], self._sets[True]]
        return np.concatenate([np.array(found, np.int64), *(each.find(reach) for each in sets)])


class _Pieces(NamedTuple):
    """The pieces of sets, in two orders; an owner is the place of a set in `numbers`."""

    numbers: Numbers
    counts: Numbers | None  # per set: its pieces; None if none has several
    empty: Numbers  # owners without a piece
    lows: list[Key]  # rising; without the pieces that are unbounded below
    low_owners: Numbers
    low_highs: list[Key | None]  # the other end of each
    highs: list[Key]  # rising; without the pieces that are unbounded above
    high_owners: Numbers

    def inside(self, gap: Span) -> Numbers:
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


class _Sets:
    """Sets of values: most of them in order, the recent ones in a list that is looked through."""

    def __init__(self) -> None:
        self._all: dict[int, _Reach] = {}
        self._recent: dict[int, _Reach] = {}
        self._pieces = _in_order({})

    def add(self, number: int, reach: _Reach) -> None:
        self._all[number] = self._recent[number] = reach

    def find(self, reach: _Reach) -> Numbers:
        if len(self._recent) > max(_MOST_RECENT, len(self._all) // 8):
            self._pieces = _in_order(self._all)
            self._recent = {}
        recent = [number for number, each in self._recent.items() if _apart(each, reach)]
        found = np.concatenate([self._in_gaps(reach.ranges), np.array(recent, np.int64)])
        return found if reach.pattern is None else np.concatenate([found, self._unmatched(reach, found)])

    def _in_gaps(self, ranges: Ranges) -> Numbers:
        pieces = self._pieces
        gaps = list((~ranges).pieces())
        if (None, None) in gaps:
            return pieces.numbers
        owners: Numbers = np.concatenate([pieces.empty, *(pieces.inside(gap) for gap in gaps)])
        if pieces.counts is None:
            return pieces.numbers[owners]
        found = np.bincount(owners, minlength=len(pieces.numbers))
        return pieces.numbers[np.flatnonzero((found > 0) & (found >= pieces.counts))]

    def _unmatched(self, reach: _Reach, found: Numbers) -> Numbers:
        """Those besides the ones found that meet the ranges only in values on which the pattern does not hold."""
        known = set(found.tolist())
        rest = [number for number in self._pieces.numbers.tolist() if number not in known]
        common = {number: _texts(self._all[number].ranges & reach.ranges) for number in rest}
        texts = list(dict.fromkeys(text for points in common.values() for text in points or ()))
        held = set(_matching(reach.pattern, texts) if isinstance(reach.pattern, Matches) else texts)
        chosen = [number for number, points in common.items() if points is not None and held.isdisjoint(points)]
        return np.array(chosen, np.int64)


def _in_order(reaches: Mapping[int, _Reach]) -> _Pieces:
    pieces = [(owner, *span) for owner, reach in enumerate(reaches.values()) for span in reach.ranges.pieces()]
    lows = [(low, owner, high) for owner, low, high in pieces if low is not None]
    highs = [(high, owner) for owner, _, high in pieces if high is not None]
    lows.sort(key=itemgetter(0))
    highs.sort(key=itemgetter(0))
    counts = np.bincount(np.array([owner for owner, _, _ in pieces], np.int64), minlength=len(reaches))
    return _Pieces(
        np.array(list(reaches), np.int64),
        counts if counts.max(initial=0) > 1 else None,
        np.flatnonzero(counts == 0),
        [low for low, _, _ in lows],
        np.array([owner for _, owner, _ in lows], np.int64),
        [high for _, _, high in lows],
        [high for high, _ in highs],
        np.array([owner for _, owner in highs], np.int64),
    )
