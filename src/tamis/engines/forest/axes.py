"""Axes: how the values of one attribute become whole numbers that keep their order.

Engines compare nothing but 64-bit integers. A type whose keys (`tamis.values.order`) are such integers uses them
as coordinates; every other ordered type uses ranks: the number of an axis' cuts at or below the value. A set of
values is then a list of closed intervals of coordinates, exactly, whatever the type. NULL has no coordinate.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.language.expression import Typed
from tamis.values.column import SHORT_DECIMAL, Column, Numbers, Value
from tamis.values.order import key_bounds, order_key, value_of_key, vector_keys
from tamis.values.ranges import Key
from tamis.values.types import BINARY, DOUBLE, NUMBER, STRING, Type, is_decimal

Ints: TypeAlias = npt.NDArray[np.int64]

LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1
"""What an interval without a lower or upper end has there."""


def has_keys(type_: Type) -> bool:
    """Are the keys of a type 64-bit integers?"""
    return key_bounds(type_) is not None and not (is_decimal(type_) and type_.precision > SHORT_DECIMAL)


class Keys:
    """Coordinates are the keys themselves."""

    def __len__(self) -> int:
        """No cuts."""
        return 0

    def coordinates(self, column: Column) -> Ints:
        """The coordinate of every row; anything where it is NULL."""
        values = column.values
        is_whole = isinstance(values, np.ndarray) and values.dtype.kind == "i"  # these are keys themselves
        return np.ascontiguousarray(values if is_whole else vector_keys(column), np.int64)

    def coordinate(self, type_: Type, value: Value) -> int:
        """The coordinate of one value."""
        return int(order_key(type_)(value))

    def cut(self, _: Type, coordinate: int) -> Key:
        """The cut just below a coordinate."""
        return coordinate


@dataclass(frozen=True, slots=True)
class Texts:
    """Cuts of strings or binaries, sorted by bytes: cut i is `data[offsets[i]:offsets[i + 1]]`."""

    offsets: Ints
    data: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        """Number of cuts."""
        return len(self.offsets) - 1

    def coordinates(self, column: Column) -> Ints:
        """The rank of every row; anything where it is NULL."""
        values = column.values
        large = values.cast(pa.large_binary()) if values.type != pa.large_binary() else values
        offsets = np.frombuffer(large.buffers()[1], np.int64)[large.offset : large.offset + len(large) + 1]
        data = large.buffers()[2]
        text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
        return _text_ranks(self.offsets, self.data, offsets, text)

    def coordinate(self, _: Type, value: Value) -> int:
        """The rank of one value."""
        text = value.encode() if isinstance(value, str) else value
        padded = np.frombuffer(text or b"\0", np.uint8)
        return int(_text_ranks(self.offsets, self.data, np.array([0, len(text)], np.int64), padded)[0])

    def cut(self, type_: Type, coordinate: int) -> Key:
        """The cut just below a coordinate."""
        start, end = self.offsets[coordinate - 1 : coordinate + 1].tolist()
        text = self.data[start:end].tobytes()
        return text.decode() if type_ == STRING else text


@numba.njit(cache=True, nogil=True)
def _text_ranks(offsets: Ints, data: npt.NDArray[np.uint8], starts: Ints, texts: npt.NDArray[np.uint8]) -> Ints:
    """How many cuts are at or below each text."""
    ranks = np.empty(len(starts) - 1, np.int64)
    for row in range(len(ranks)):
        first, length = starts[row], starts[row + 1] - starts[row]
        low, high = 0, len(offsets) - 1
        while low < high:
            middle = (low + high) >> 1
            cut, cut_length = offsets[middle], offsets[middle + 1] - offsets[middle]
            shared = min(length, cut_length)
            place = 0
            while place < shared and texts[first + place] == data[cut + place]:
                place += 1
            if place == shared:
                is_above = cut_length > length
            else:
                is_above = data[cut + place] > texts[first + place]
            if is_above:
                high = middle
            else:
                low = middle + 1
        ranks[row] = low
    return ranks


@dataclass(frozen=True, slots=True)
class Mixed:
    """Cuts of schemaless numbers, which are bigints or doubles and compare by exact value.

    Cut i stands just below the integer `ints[i]` and just below the double with the key `doubles[i]`. Both rise;
    cuts that stand above all integers have no place in `ints`, which is shorter then, and so for `doubles`.
    """

    ints: Ints
    doubles: Ints

    def __len__(self) -> int:
        """Number of cuts."""
        return max(len(self.ints), len(self.doubles))

    def coordinates(self, column: Column) -> Ints:
        """The rank of every row; anything where it is NULL."""
        values: Numbers = column.values
        keys = vector_keys(Column(DOUBLE, values.doubles, column.valid))
        ints = np.searchsorted(self.ints, values.ints, side="right")
        doubles = np.searchsorted(self.doubles, keys, side="right")
        return np.where(values.integral, ints, doubles)

    def coordinate(self, _: Type, value: Value) -> int:
        """The rank of one value."""
        if isinstance(value, int):
            return int(np.searchsorted(self.ints, value, side="right"))
        return int(np.searchsorted(self.doubles, order_key(DOUBLE)(value), side="right"))

    def cut(self, _: Type, coordinate: int) -> Key:
        """The cut just below a coordinate."""
        place = coordinate - 1
        if place >= len(self.doubles):
            return 1, 0, 1
        key = int(self.doubles[place])
        double = value_of_key(DOUBLE)(key)
        if math.isnan(double):
            return 1, 0, 0
        whole = int(self.ints[place]) if place < len(self.ints) else HIGHEST + 1
        if whole <= HIGHEST and whole < double:  # Python compares them exactly
            return 0, whole, 0
        at: Key = order_key(NUMBER)(double)
        if math.isinf(double):
            return at
        # Just below a number and just above the double before it is the same cut; the shorter one reads better.
        _, before, _ = order_key(NUMBER)(value_of_key(DOUBLE)(key - 1))
        above = 0, before, 1
        return above if len(repr(before)) < len(repr(at[1])) and _least_int(above) == whole else at


@dataclass(frozen=True, slots=True)
class Objects:
    """Cuts of a type whose keys are Python objects: decimals of more than 18 digits."""

    cuts: tuple[Key, ...]

    def __len__(self) -> int:
        """Number of cuts."""
        return len(self.cuts)

    def coordinates(self, column: Column) -> Ints:
        """The rank of every row; anything where it is NULL."""
        if not self.cuts:
            return np.zeros(len(column), np.int64)
        ranks = (0 if value is None else bisect_right(self.cuts, value) for value in column.to_list())
        return np.fromiter(ranks, np.int64, len(column))

    def coordinate(self, _: Type, value: Value) -> int:
        """The rank of one value."""
        return bisect_right(self.cuts, value) if self.cuts else 0

    def cut(self, _: Type, coordinate: int) -> Key:
        """The cut just below a coordinate."""
        return self.cuts[coordinate - 1]


Scale: TypeAlias = Keys | Texts | Mixed | Objects

KEYS = Keys()


@dataclass(frozen=True, slots=True)
class Axis:
    """An attribute that predicates ask to be within intervals, and its scale."""

    attribute: Typed
    scale: Scale


def scale_of(type_: Type, cuts: Iterable[Key]) -> tuple[Scale, dict[Key, int]]:
    """The scale with these cuts, and the place of each; without places for a type whose keys are coordinates."""
    if has_keys(type_):
        return KEYS, {}
    if type_ in (STRING, BINARY):
        texts = {cut: cut.encode() if isinstance(cut, str) else cut for cut in cuts}
        ordered = sorted(texts, key=texts.__getitem__)
        return texts_of([texts[cut] for cut in ordered]), {cut: place for place, cut in enumerate(ordered)}
    if type_ == NUMBER:
        ends = {cut: number_ends(cut) for cut in cuts}
        distinct = sorted(set(ends.values()))
        places = {end: place for place, end in enumerate(distinct)}
        return mixed_of(distinct), {cut: places[end] for cut, end in ends.items()}
    ordered = sorted(set(cuts))
    return Objects(tuple(ordered)), {cut: place for place, cut in enumerate(ordered)}


def texts_of(texts: Sequence[bytes]) -> Texts:
    """The scale with these sorted, distinct cuts."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    data = np.frombuffer(b"".join(texts) or b"\0", np.uint8)
    return Texts(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]), data)


def number_ends(cut: Key) -> tuple[int, int]:
    """Where a cut of schemaless numbers stands: below which integer, and below the double of which key."""
    return _least_int(cut), _least_double(cut)


def mixed_of(ends: Sequence[tuple[int, int]]) -> Mixed:
    """The scale with these sorted, distinct cuts, as `number_ends` has them."""
    ints = [whole for whole, _ in ends if whole <= HIGHEST]
    doubles = [key for _, key in ends if key <= HIGHEST]
    return Mixed(np.array(ints, np.int64), np.array(doubles, np.int64))


def _least_int(cut: Key) -> int:
    """The least bigint at or above the cut; one more than the greatest if there is none."""
    is_nan, value, side = cut
    if is_nan or value == math.inf:
        return HIGHEST + 1
    if value == -math.inf:
        return LOWEST
    least: int = math.ceil(value) if side == 0 else math.floor(value) + 1
    return min(max(least, LOWEST), HIGHEST + 1)


def _least_double(cut: Key) -> int:
    """The key of the least double at or above the cut; more than any key if there is none."""
    is_nan, value, side = cut
    key = order_key(DOUBLE)
    if is_nan:
        return int(key(math.nan)) if side == 0 else HIGHEST + 1
    try:
        bound = float(value)
    except OverflowError:
        bound = math.inf if value > 0 else -math.inf
    at_or_above = bound >= value if side == 0 else bound > value
    return int(key(bound)) + (0 if at_or_above else 1)
