"""Sets of values of an ordered type, as cuts of the axis of its keys.

`Ranges` is the algebra behind comparisons: `<`, `=`, IN, BETWEEN, `<>` and a prefix are all sets of keys, so
that AND is intersection, OR is union, NOT is complement, and a condition that is never true is the empty set.

Keys come from `tamis.values.order`: one total order, in which equal values have equal keys. A cut lies just below
a key, and membership changes at every cut:

    inside=False, cuts=(3, 7, 9)        the keys 3 <= k < 7 and 9 <= k

So a key is in the set if the number of cuts at or below it is odd (even, if `inside`). Every key has a next cut
above it (`after`), so half-open intervals express closed ones, too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from tamis.values.order import key_bounds
from tamis.values.types import BINARY, NUMBER, STRING, Type

Key: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Ranges:
    """A set of keys.

    Attributes:
        inside: Does the set contain everything below the first cut?
        cuts: Strictly ascending; membership changes at each.
    """

    inside: bool
    cuts: tuple[Key, ...] = ()

    def __contains__(self, key: Key) -> bool:
        return bool(self.inside ^ (bisect_right(self.cuts, key) & 1))

    def __invert__(self) -> Ranges:
        return Ranges(not self.inside, self.cuts)

    def __and__(self, other: Ranges) -> Ranges:
        return _combine(self, other, lambda a, b: a and b)

    def __or__(self, other: Ranges) -> Ranges:
        return _combine(self, other, lambda a, b: a or b)

    def pieces(self) -> Iterator[tuple[Key | None, Key | None]]:
        """The set as half-open intervals [from, to) in ascending order; None is unbounded."""
        cuts: list[Key | None] = list(self.cuts)
        if self.inside:
            cuts.insert(0, None)
        if len(cuts) % 2:
            cuts.append(None)
        yield from zip(cuts[0::2], cuts[1::2], strict=True)

    def points(self) -> list[Key] | None:
        """The keys, if the set consists of single keys, else None."""
        keys = []
        for low, high in self.pieces():
            if low is None or high is None or after(low) != high:
                return None
            keys.append(low)
        return keys


NONE = Ranges(False)
ALL = Ranges(True)


def after(key: Key) -> Key:
    """The lowest cut above a key."""
    if isinstance(key, int):
        return key + 1
    if isinstance(key, str):
        return key + "\0"
    if isinstance(key, bytes):
        return key + b"\0"
    return (*key[:-1], 1)


def _combine(a: Ranges, b: Ranges, keep: Callable[[bool, bool], bool]) -> Ranges:
    if not a.cuts and not b.cuts:
        return Ranges(keep(a.inside, b.inside))
    in_a, in_b = a.inside, b.inside
    state = first = keep(in_a, in_b)
    cuts: list[Key] = []
    i = j = 0
    while i < len(a.cuts) or j < len(b.cuts):
        if j == len(b.cuts) or (i < len(a.cuts) and a.cuts[i] <= b.cuts[j]):
            cut = a.cuts[i]
        else:
            cut = b.cuts[j]
        if i < len(a.cuts) and a.cuts[i] == cut:
            in_a = not in_a
            i += 1
        if j < len(b.cuts) and b.cuts[j] == cut:
            in_b = not in_b
            j += 1
        if keep(in_a, in_b) != state:
            state = not state
            cuts.append(cut)
    return Ranges(first, tuple(cuts))


def points_of(type_: Type, keys: Iterable[Key]) -> Ranges:
    """The set that contains exactly these keys."""
    cuts: list[Key] = []
    for key in sorted(set(keys)):
        if cuts and cuts[-1] == key:
            cuts[-1] = after(key)
        else:
            cuts += (key, after(key))
    return within_bounds(type_, Ranges(False, tuple(cuts)))


def comparison_ranges(type_: Type, operator: str, key: Key) -> Ranges:
    """The keys k for which `k operator key` holds."""
    match operator:
        case "<":
            ranges = Ranges(True, (key,))
        case "<=":
            ranges = Ranges(True, (after(key),))
        case ">":
            ranges = Ranges(False, (after(key),))
        case ">=":
            ranges = Ranges(False, (key,))
        case "=" | "<=>":
            ranges = Ranges(False, (key, after(key)))
        case _:
            ranges = Ranges(True, (key, after(key)))
    return within_bounds(type_, ranges)


def between_ranges(type_: Type, low: Key, high: Key) -> Ranges:
    """The keys from `low` to `high`, both included."""
    return within_bounds(type_, Ranges(False, (low, after(high)))) if low <= high else NONE


def starting_with(prefix: str) -> Ranges:
    """The strings that start with a prefix: from the prefix to the next string of its length."""
    if not prefix:
        return ALL
    rest = prefix
    while rest and rest[-1] == "\U0010ffff":
        rest = rest[:-1]
    if not rest:
        return Ranges(False, (prefix,))
    code = ord(rest[-1]) + 1
    following = chr(0xE000 if code == 0xD800 else code)
    return Ranges(False, (prefix, rest[:-1] + following))


@lru_cache(maxsize=1_000)  # every comparison of every condition asks
def _bounds_of(type_: Type) -> tuple[Key, Key | None] | None:
    """The least key of a type, and the greatest one if there is one; None if there is no least one."""
    if type_ in (STRING, BINARY):
        return ("" if type_ == STRING else b""), None
    return None if type_ == NUMBER else key_bounds(type_)


def within_bounds(type_: Type, ranges: Ranges) -> Ranges:
    """The same set without the cuts outside the range of the type."""
    bounds = _bounds_of(type_)
    if bounds is None:
        return ranges
    least, greatest = bounds
    cuts = ranges.cuts
    below = bisect_right(cuts, least)
    above = len(cuts) if greatest is None else bisect_right(cuts, greatest)
    if below == 0 and above == len(cuts):
        return ranges
    return Ranges(bool(ranges.inside ^ (below & 1)), cuts[below:above])
