"""Numbers for the keys of composite subscriptions: the values of BY in an event as one integer.

Equal values have equal numbers as long as somebody keeps the number; then it is given to another key. A key is
looked up by its bytes, in a hash table with open addressing: a single text as it is, after a byte that says so;
anything else as the text that `key_text` gives.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import I32, I64, U8, U64, Mask
from tamis.composite.parts import key_text
from tamis.events.batch import EventBatch
from tamis.interpretation import Allowance, unless_few
from tamis.kernels import kernel
from tamis.values.column import Column

_SPARE = 10_000
"""Numbers that may be unused before anybody looks for them."""
_LEAST_FOR_KERNEL = 32
"""Fewer keys are looked up without a kernel, even a compiled one."""
_allowance = Allowance(to_load=0, to_compile=200_000)
"""Of keys that are looked up before a kernel is compiled for that."""
_SHORT = 16
"""A key of fewer bytes is also kept as two words."""
_TEXT, _JSON = 0, 1
"""The first byte of a key: how the others are to be read."""


_ESCAPED = r"[^ !#-\[\]-~]"
"""What JSON writes with a backslash."""


class _Keys(NamedTuple):
    """Keys by number, and where they are by hash.

    bounds: int64[numbers, 2], where the bytes of a number are in `data`; equal if it is free.
    hashes: By number, 31 bits.
    words: uint64[numbers, 2]: the bytes of a short key, with its size and kind; the second is 0 for others.
    places: The table: hash and number, or -1. Whoever looks there rarely has to look at the key of another hash.
    free: Numbers to give, the next one last. sizes: How many bytes are used, and how many numbers are free.
    """

    data: U8
    bounds: I64
    hashes: I32
    words: U64
    places: I64
    free: I32
    sizes: I64


class KeyNumbers:
    """Keys and their numbers."""

    def __init__(self) -> None:
        self._keys = _empty(16, 256)
        self._in_use = 0

    def of_rows(self, batch: EventBatch, paths: Sequence[tuple[str, ...]], rows: I64) -> I64:
        """By row of a batch, the numbers of some events' keys; -1 elsewhere, and where a value is NULL."""
        numbers = np.full(batch.rows, -1, np.int64)
        columns = [batch.column(path) for path in paths]
        for column in columns:
            rows = rows if column.valid.all() else rows[column.valid[rows]]
        if len(columns) == 1 and isinstance(columns[0].values, pa.StringArray):
            numbers[rows] = self._number(columns[0].values, rows, _TEXT)
            return numbers
        columns = [column.take(rows) for column in columns]
        texts, kind = _joined_texts(columns)
        if texts is not None:
            numbers[rows] = self._number(texts, np.arange(len(rows)), kind)
            return numbers
        lists = [column.to_list() for column in columns]
        numbers[rows] = self._of_values([*zip(*lists, strict=True)] if lists else [()] * len(rows))
        return numbers

    def of_texts(self, texts: Sequence[str]) -> I64:
        """The numbers of keys with these texts, as `texts` gives them."""
        return self._of_values([json.loads(text) for text in texts])

    def texts(self) -> dict[int, str]:
        """The text of each number's key, as `key_text` has it."""
        keys, data = self._keys, self._keys.data.tobytes()
        used = np.flatnonzero(_is_used(keys))
        texts = {number: data[slice(*keys.bounds[number])] for number in used.tolist()}
        return {
            number: key_text((text[1:].decode("utf-8", "surrogatepass"),))
            if text[0] == _TEXT
            else text[1:].decode()
            for number, text in texts.items()
        }

    def forget_unused(self, in_use: Callable[[], Sequence[I64]]) -> None:
        """Forget the numbers that nobody keeps, if there are many."""
        keys = self._keys
        if len(keys.bounds) - keys.sizes[1] <= 2 * self._in_use + _SPARE:
            return
        is_kept = np.zeros(len(keys.bounds), np.bool_)
        for numbers in in_use():
            is_kept[numbers] = True
        self._remake(is_kept, 0, 0)
        self._in_use = int(np.count_nonzero(is_kept))

    def _of_values(self, values: Sequence[Sequence[Any]]) -> I64:
        """The numbers of lists of values."""
        numbers = np.empty(len(values), np.int64)
        is_text = np.array([len(each) == 1 and type(each[0]) is str for each in values], np.bool_)
        for kind, rows in ((_TEXT, np.flatnonzero(is_text)), (_JSON, np.flatnonzero(~is_text))):
            own = [values[row] for row in rows.tolist()]
            # Escapes of JSON may be half a character, which Arrow's texts cannot be.
            texts = [
                each[0].encode("utf-8", "surrogatepass") if kind == _TEXT else key_text(each).encode()
                for each in own
            ]
            numbers[rows] = self._number(pa.array(texts, pa.binary()), np.arange(len(texts)), kind)
        return numbers

    def _number(self, texts: pa.Array, rows: I64, kind: int) -> I64:
        """The numbers of some texts or bytes of an array."""
        if not len(rows):
            return np.empty(0, np.int64)
        _, offsets, data = texts.buffers()
        ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
        given = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
        size = int(ends[-1] - ends[0]) + len(texts)
        if self._keys.sizes[1] < len(rows) or self._keys.sizes[0] + size > len(self._keys.data):
            self._remake(_is_used(self._keys), len(rows), size)
        is_few = len(rows) < _LEAST_FOR_KERNEL or _allowance.covers(__name__, len(rows))
        look_up = unless_few(_look_up, is_few)
        return look_up(self._keys, given, ends, rows, kind)

    def _remake(self, is_kept: Mask, more: int, more_bytes: int) -> None:
        """Make room for so many more keys and bytes, and leave out those that are not kept."""
        old = self._keys
        kept = np.flatnonzero(is_kept)
        sizes = np.diff(old.bounds[kept]).ravel()
        ends = np.cumsum(sizes)
        used = int(ends[-1]) if len(ends) else 0
        count = max(int(kept[-1]) + 1 if len(kept) else 0, 3 * (len(kept) + more) // 2)
        made = _empty(count, 3 * (used + more_bytes) // 2)
        made.bounds[kept, 0], made.bounds[kept, 1], made.hashes[kept] = ends - sizes, ends, old.hashes[kept]
        made.words[kept] = old.words[kept]
        made.data[:used] = old.data[np.repeat(old.bounds[kept, 0] - ends + sizes, sizes) + np.arange(used)]
        is_free = np.ones(count, np.bool_)
        is_free[kept] = False
        free = np.flatnonzero(is_free)[::-1]
        made.free[: len(free)] = free
        made.sizes[:] = used, len(free)
        # From its place on, each key takes the first that is free: those that find none yet try the next one.
        mask = len(made.places) - 1
        at, rest = made.hashes[kept].astype(np.int64) & mask, kept
        while len(rest):
            entry = made.hashes[rest].astype(np.int64) << 32 | rest
            is_open = made.places[at] < 0
            made.places[at[is_open]] = entry[is_open]
            is_placed = made.places[at] == entry
            at, rest = (at[~is_placed] + 1) & mask, rest[~is_placed]
        self._keys = made


def _is_used(keys: _Keys) -> Mask:
    used: Mask = keys.bounds[:, 1] > keys.bounds[:, 0]
    return used


def _empty(count: int, size: int) -> _Keys:
    """Room for so many keys and bytes."""
    places = np.full(1 << (2 * count - 1).bit_length(), -1, np.int64)
    free, sizes = np.arange(count, dtype=np.int32)[::-1].copy(), np.array([0, count])
    bounds, hashes = np.zeros((count, 2), np.int64), np.zeros(count, np.int32)
    return _Keys(np.zeros(size, np.uint8), bounds, hashes, np.zeros((count, 2), np.uint64), places, free, sizes)


def _texts(column: Column) -> pa.Array:
    """The values as texts, if all are; as whole numbers, if all are; else nulls. None of them is NULL."""
    values = column.values
    if isinstance(values, pa.StringArray):
        return values
    if isinstance(values, np.ndarray) and values.dtype == np.int64:
        return pa.array(values)
    if isinstance(values, np.ndarray) and values.dtype == np.object_:
        listed = values.tolist()
        kinds = {*map(type, listed)}
        if kinds <= {str}:
            return pa.array(listed, pa.string())
        if kinds == {int} and all(-(1 << 63) <= each < 1 << 63 for each in listed):
            return pa.array(listed, pa.int64())
    return pa.nulls(len(column))


def _joined_texts(columns: Sequence[Column]) -> tuple[pa.Array | None, int]:
    """Keys as texts, and their kind; none if a value is no whole number, and no text that JSON has as it is."""
    found = [_texts(column) for column in columns]
    if len(found) == 1 and pa.types.is_string(found[0].type):
        return found[0], _TEXT
    pieces: list[Any] = ["["]
    for texts in found:
        quote = '"' if pa.types.is_string(texts.type) else ""
        if pa.types.is_null(texts.type) or (quote and pc.any(pc.match_substring_regex(texts, _ESCAPED)).as_py()):
            return None, _JSON
        pieces += [quote, texts.cast(pa.string()), f"{quote}, "]
    if not found:
        return None, _JSON
    pieces[-1] = pieces[-1].removesuffix(", ") + "]"
    return pc.binary_join_element_wise(*pieces, ""), _JSON


@kernel
def _look_up(keys: _Keys, given: U8, ends: I32, rows: I64, kind: int) -> I64:
    """The number of each key, given to it if it is new; there is room for all.

    Three loops instead of one: where no turn has to wait for the one before, memory is read ahead. The hash is
    FNV-1a over bytes; of a short key, it is over its two words, by which it is also known again.
    """
    hashes, numbers = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    words = np.empty((len(rows), 2), np.uint64)
    for at in range(len(rows)):
        start, end = ends[rows[at]], ends[rows[at] + 1]
        low = high = np.uint64(0)
        mixed = (np.uint64(0xCBF29CE484222325) ^ np.uint64(kind)) * np.uint64(0x100000001B3)
        if end - start < _SHORT:
            for place in range(start, min(end, start + 8)):
                low |= np.uint64(given[place]) << np.uint64(8 * (place - start))
            for place in range(start + 8, end):
                high |= np.uint64(given[place]) << np.uint64(8 * (place - start - 8))
            high |= np.uint64(0x80 | kind << 4 | (end - start)) << np.uint64(56)
            mixed = (mixed ^ low) * np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(32)) ^ high) * np.uint64(0x9E3779B97F4A7C15)
        else:
            for place in range(start, end):
                mixed = (mixed ^ np.uint64(given[place])) * np.uint64(0x100000001B3)
        words[at, 0], words[at, 1] = low, high
        hashes[at] = np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(0x7FFFFFFF))
    mask = len(keys.places) - 1
    for at in range(len(rows)):
        place = hashes[at] & mask
        while keys.places[place] >= 0 and keys.places[place] >> 32 != hashes[at]:
            place = (place + 1) & mask
        if keys.places[place] < 0:
            _insert(keys, place, hashes[at], given[ends[rows[at]] : ends[rows[at] + 1]], words[at], kind)
        numbers[at] = keys.places[place] & 0xFFFFFFFF
    for at in range(len(rows)):
        own, found = words[at], keys.words[numbers[at]]
        if own[1] and found[0] == own[0] and found[1] == own[1]:
            continue
        key = given[ends[rows[at]] : ends[rows[at] + 1]]
        if _is_key(keys, numbers[at], key, kind):
            continue
        place = hashes[at] & mask  # the key of another has the same hash
        while keys.places[place] >= 0 and not (
            keys.places[place] >> 32 == hashes[at] and _is_key(keys, keys.places[place] & 0xFFFFFFFF, key, kind)
        ):
            place = (place + 1) & mask
        if keys.places[place] < 0:
            _insert(keys, place, hashes[at], key, words[at], kind)
        numbers[at] = keys.places[place] & 0xFFFFFFFF
    return numbers


@kernel(forceinline=True)
def _is_key(keys: _Keys, number: int, key: U8, kind: int) -> bool:
    """Has this number this key?"""
    start = keys.bounds[number, 0]
    if keys.bounds[number, 1] - start != len(key) + 1 or keys.data[start] != kind:
        return False
    for at in range(len(key)):
        if keys.data[start + 1 + at] != key[at]:
            return False
    return True


@kernel
def _insert(keys: _Keys, place: int, hash_: int, key: U8, words: U64, kind: int) -> None:
    """Give the next free number to a key, at its place in the table."""
    keys.sizes[1] -= 1
    number, start = keys.free[keys.sizes[1]], keys.sizes[0]
    end = start + 1 + len(key)
    keys.places[place], keys.hashes[number] = hash_ << 32 | number, hash_
    keys.bounds[number, 0], keys.bounds[number, 1] = start, end
    keys.words[number, 0], keys.words[number, 1] = words[0], words[1]
    keys.data[start] = kind
    keys.data[start + 1 : end] = key
    keys.sizes[0] = end
