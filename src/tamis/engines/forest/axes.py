"""Axes: map the values of one attribute to 64-bit integers, the coordinates, in the same order.

Engines compare coordinates only. A type whose keys (`tamis.values.order`) are 64-bit integers uses them as
coordinates. Every other ordered type uses ranks: the number of the axis' cuts at or below the value, where the
cuts are all the bounds that predicates have. So any set of values that a predicate asks for is exactly a list of
closed intervals of coordinates. NULL has no coordinate.

    cuts of a string axis     'b'   'd'
    rank of a value        0   |  1  |  2        'a' -> 0, 'b' -> 1, 'cat' -> 1, 'z' -> 2
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from tamis.arrays import I64, U8
from tamis.formulas.expression import Typed
from tamis.kernels import kernel
from tamis.values.column import SHORT_DECIMAL, Column, NumberValues, Value
from tamis.values.order import key_bounds, order_key, value_of_key, vector_keys
from tamis.values.ranges import Key
from tamis.values.types import BINARY, DOUBLE, NUMBER, STRING, Type, is_decimal

LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1
"""The ends of an interval that is open below or above."""


def has_keys(type_: Type) -> bool:
    """Are the keys of a type 64-bit integers?"""
    return key_bounds(type_) is not None and not (is_decimal(type_) and type_.precision > SHORT_DECIMAL)


class KeyScale:
    """The scale of a type whose keys are coordinates; it has no cuts."""

    def __len__(self) -> int:
        return 0

    def coordinates(self, column: Column) -> I64:
        """The coordinate of every row; undefined where it is NULL."""
        values = column.values
        is_whole = isinstance(values, np.ndarray) and values.dtype.kind == "i"  # integers are their own keys
        return np.ascontiguousarray(values if is_whole else vector_keys(column), np.int64)

    def coordinate(self, type_: Type, value: Value) -> int:
        """The coordinate of one value."""
        return int(order_key(type_)(value))

    def cut(self, _: Type, coordinate: int) -> Key:
        """The cut just below a coordinate."""
        return coordinate


@dataclass(frozen=True, slots=True)
class TextScale:
    """The scale of strings or binaries: cut i is `data[offsets[i]:offsets[i + 1]]`, sorted by bytes."""

    offsets: I64
    data: U8

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def coordinates(self, column: Column) -> I64:
        """The rank of every row; undefined where it is NULL."""
        values = column.values
        if not len(values):
            return np.empty(0, np.int64)
        _, bounds, data = values.buffers()
        # Read as they are: a cast to large_binary costs a single event more than the search.
        width = np.int64 if values.type in (pa.large_string(), pa.large_binary()) else np.int32
        offsets = np.frombuffer(bounds, width)[values.offset : values.offset + len(values) + 1].astype(np.int64)
        text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
        return self._ranks(offsets, text)

    def coordinate(self, _: Type, value: Value) -> int:
        """The rank of one value."""
        text = value.encode() if isinstance(value, str) else value
        padded = np.frombuffer(text or b"\0", np.uint8)
        return int(self._ranks(np.array([0, len(text)], np.int64), padded)[0])

    def _ranks(self, starts: I64, texts: U8) -> I64:
        """How many cuts are at or below each text; all bytes are read-only to the kernel, whoever owns them."""
        cuts = self.data.view()
        cuts.flags.writeable = texts.flags.writeable = False
        return _text_ranks(self.offsets, cuts, starts, texts)

    def cut(self, type_: Type, coordinate: int) -> Key:
        """The cut just below a coordinate."""
        start, end = self.offsets[coordinate - 1 : coordinate + 1].tolist()
        text = self.data[start:end].tobytes()
        return text.decode() if type_ == STRING else text


@kernel
def _text_ranks(offsets: I64, data: U8, starts: I64, texts: U8) -> I64:
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
class NumberScale:
    """The scale of schemaless numbers, which are bigints or doubles and compare by exact value.

    Cut i is just below the integer `ints[i]` and just below the double with the key `doubles[i]`; both are sorted.
    Cuts above all integers have no entry in `ints`, which is shorter then; the same holds for `doubles`.
    """

    ints: I64
    doubles: I64

    def __len__(self) -> int:
        return max(len(self.ints), len(self.doubles))

    def coordinates(self, column: Column) -> I64:
        """The rank of every row; undefined where it is NULL."""
        values: NumberValues = column.values
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
        # Just below a number and just above the double before it are the same cut; the shorter text is better to
        # read.
        _, before, _ = order_key(NUMBER)(value_of_key(DOUBLE)(key - 1))
        above = 0, before, 1
        return above if len(repr(before)) < len(repr(at[1])) and _least_int(above) == whole else at


@dataclass(frozen=True, slots=True)
class ObjectScale:
    """The scale of a type whose keys are Python objects: decimals of more than 18 digits."""

    cuts: tuple[Key, ...]

    def __len__(self) -> int:
        return len(self.cuts)

    def coordinates(self, column: Column) -> I64:
        """The rank of every row; undefined where it is NULL."""
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


Scale: TypeAlias = KeyScale | TextScale | NumberScale | ObjectScale

KEY_SCALE = KeyScale()


@dataclass(frozen=True, slots=True)
class Axis:
    """An attribute with interval predicates, and its scale."""

    attribute: Typed
    scale: Scale


def scale_of(type_: Type, cuts: Iterable[Key]) -> tuple[Scale, dict[Key, int]]:
    """The scale with these cuts, and the index of each; no indices for a type whose keys are coordinates."""
    if has_keys(type_):
        return KEY_SCALE, {}
    if type_ in (STRING, BINARY):
        texts = {cut: cut.encode() if isinstance(cut, str) else cut for cut in cuts}
        ordered = sorted(texts, key=texts.__getitem__)
        return text_scale([texts[cut] for cut in ordered]), {cut: place for place, cut in enumerate(ordered)}
    if type_ == NUMBER:
        ends = {cut: number_ends(cut) for cut in cuts}
        distinct = sorted(set(ends.values()))
        places = {end: place for place, end in enumerate(distinct)}
        return number_scale(distinct), {cut: places[end] for cut, end in ends.items()}
    ordered = sorted(set(cuts))
    return ObjectScale(tuple(ordered)), {cut: place for place, cut in enumerate(ordered)}


def text_scale(texts: Sequence[bytes]) -> TextScale:
    """The scale with these sorted, distinct cuts."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    data = np.frombuffer(b"".join(texts) or b"\0", np.uint8)
    return TextScale(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]), data)


def number_ends(cut: Key) -> tuple[int, int]:
    """The integer and the key of the double that a cut of schemaless numbers is just below."""
    return _least_int(cut), _least_double(cut)


def number_scale(ends: Sequence[tuple[int, int]]) -> NumberScale:
    """The scale with these sorted, distinct cuts, as `number_ends` has them."""
    ints = [whole for whole, _ in ends if whole <= HIGHEST]
    doubles = [key for _, key in ends if key <= HIGHEST]
    return NumberScale(np.array(ints, np.int64), np.array(doubles, np.int64))


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
