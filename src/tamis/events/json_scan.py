"""The scan of many JSON objects: one pass over the bytes finds the kind and the span of every value.

    {"a": 12, "b": "x"}        cell 0: key a, kind INTEGER, bytes [6, 8)
     ^         ^               cell 1: key b, kind TEXT, bytes [16, 17), without the quotes

An object is claimed only if Python's `json` would accept it. The scan reports no mistakes: an object with anything
unusual (a mistake of any sort, a key with an escape, nesting beyond `DEEPEST`) is left to `json`, and so are
values that take more than a look: strings with escapes, integers beyond 64 bits, lists and objects.

All kernels are in one file, because numba's cache of compiled code does not notice changes in other files.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from tamis.arrays import I32, I64, U8
from tamis.kernels import kernel

# The state of an object: not yet scanned, scanned, left to `json`, or a blank text.
UNREAD, SCANNED, LEFT, BLANK = range(4)

# The kind of a value. The bytes of a string are those between its quotes.
NULL, FALSE, TRUE, INTEGER, FRACTION, TEXT, ESCAPED, LARGE, WORD, LIST, OBJECT = range(11)
_BAD = 255

DEEPEST = 60
"""Deepest nesting that is scanned: one bit of an integer for each level, set for objects."""

_QUOTE, _BACKSLASH, _COMMA, _COLON, _POINT, _MINUS, _PLUS, _ZERO, _NINE = b'"\\,:.-+09'
_OPEN_LIST, _CLOSE_LIST, _OPEN_OBJECT, _CLOSE_OBJECT = b"[]{}"
_LOWER_A, _LOWER_F, _UPPER_A, _UPPER_F, _LOWER_E, _UPPER_E, _LOWER_U = b"afAFeEu"

# Of a byte in a string: ordinary, the end, an escape, not allowed, the first of a character beyond ASCII.
_ORDINARY, _END, _ESCAPE, _CONTROL, _WIDE = range(5)
_CLASS = np.zeros(256, np.uint8)
_CLASS[:32] = _CONTROL
_CLASS[128:] = _WIDE
_CLASS[_QUOTE], _CLASS[_BACKSLASH] = _END, _ESCAPE
_ESCAPES = np.zeros(256, np.bool_)
_ESCAPES[list(b'"\\/bfnrt')] = True

_WORDS = b"null", b"false", b"true", b"NaN", b"Infinity", b"-Infinity"
_WORD_BYTES = np.frombuffer(b"".join(_WORDS), np.uint8)
_WORD_BOUNDS = np.cumsum([0, *map(len, _WORDS)])
_WORD_KINDS = np.array([NULL, FALSE, TRUE, WORD, WORD, WORD], np.uint8)
_LARGEST = np.frombuffer(b"9223372036854775807", np.uint8)
_LONG_DIGITS = len(_LARGEST)
_LONGEST = (1 << 31) - 1
_LIKELY = 256
"""The number of keys of an object that are first compared with those of the previous object."""


class ValueCells(NamedTuple):
    """The values, in the order of the objects and of their keys; of a key written twice the last value."""

    names: I32
    starts: I64
    lengths: I32
    kinds: U8


class KeyTable(NamedTuple):
    """The distinct keys by number: their bytes in the block, and the cell where each was met last."""

    slots: I32  # a hash table: number + 1, 0 where empty; its size is a power of two
    starts: I64
    lengths: I32
    cells: I64


class ObjectScan(NamedTuple):
    """The scan of objects `[0, counts[0])`: object i has the cells `[firsts[i], firsts[i + 1])`."""

    states: U8
    firsts: I64
    cells: ValueCells
    names: KeyTable
    counts: I64  # of objects, cells and names so far


def _loader(bits: int) -> Any:
    """The function of an array of bytes and a place in it that reads so many bits there, aligned or not.

    Indexing an array costs a second comparison for each byte, since numba takes negative places as well.
    """
    number = types.Integer.from_bitwidth(bits, signed=False)

    @intrinsic
    def load(_: Any, block: Any, at: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            place = builder.gep(array.data, [arguments[1]])
            pointer = context.get_value_type(number).as_pointer()
            return builder.load(builder.bitcast(place, pointer), align=1)

        return number(block, types.int64), generate

    return load


byte_at = _loader(8)
word_at = _loader(64)


@kernel
def _skip_blanks(block: U8, at: int, end: int) -> int:
    """The first place that is not blank, or the end."""
    while at < end:
        byte = byte_at(block, at)
        if byte > 32 or (byte != 32 and byte != 10 and byte != 13 and byte != 9):
            break
        at += 1
    return at


@kernel
def _utf8_size(block: U8, at: int, end: int) -> int:
    """The number of bytes of the UTF-8 character beyond ASCII at `at`; 0 if it is invalid."""
    lead = byte_at(block, at)
    if 0xC2 <= lead <= 0xDF:
        size = 2
    elif 0xE0 <= lead <= 0xEF:
        size = 3
    elif 0xF0 <= lead <= 0xF4:
        size = 4
    else:
        return 0
    if at + size > end:
        return 0
    for place in range(at + 1, at + size):
        if byte_at(block, place) & 0xC0 != 0x80:
            return 0
    second = byte_at(block, at + 1)
    # Not longer than needed, no surrogate, nothing beyond U+10FFFF.
    if (lead == 0xE0 and second < 0xA0) or (lead == 0xED and second > 0x9F):
        return 0
    if (lead == 0xF0 and second < 0x90) or (lead == 0xF4 and second > 0x8F):
        return 0
    return size


@kernel
def _is_hex(byte: int) -> bool:
    return _ZERO <= byte <= _NINE or _LOWER_A <= byte <= _LOWER_F or _UPPER_A <= byte <= _UPPER_F


@kernel
def _closing_quote(block: U8, at: int, end: int) -> tuple[int, bool]:
    """The place of the closing quote of the string whose first byte is at `at`, -1 if none; has it escapes?"""
    escaped = False
    while at < end:
        kind = _CLASS[byte_at(block, at)]
        if kind == _ORDINARY:
            at += 1
        elif kind == _END:
            return at, escaped
        elif kind == _WIDE:
            size = _utf8_size(block, at, end)
            if size == 0:
                break
            at += size
        elif kind == _ESCAPE:
            escaped = True
            if at + 1 < end and _ESCAPES[byte_at(block, at + 1)]:
                at += 2
            elif at + 6 <= end and byte_at(block, at + 1) == _LOWER_U:
                for place in range(at + 2, at + 6):
                    if not _is_hex(byte_at(block, place)):
                        return -1, True
                at += 6
            else:
                break
        else:
            break
    return -1, escaped


@kernel
def _skip_digits(block: U8, at: int, end: int) -> int:
    while at < end and _ZERO <= byte_at(block, at) <= _NINE:
        at += 1
    return at


@kernel
def _is_large(block: U8, first: int, digits: int, negative: bool) -> bool:
    """Is an integer of that many digits beyond 64 bits?"""
    if digits != _LONG_DIGITS:
        return digits > _LONG_DIGITS
    for place in range(_LONG_DIGITS):
        difference = np.int64(byte_at(block, first + place)) - np.int64(_LARGEST[place])
        if difference != 0:
            # The least integer is one further from zero than the greatest.
            least = negative and difference == 1 and place == _LONG_DIGITS - 1
            return bool(difference > 0 and not least)
    return False


@kernel
def _number(block: U8, at: int, end: int) -> tuple[int, int]:
    """Kind and end of a number. The caller refuses what follows it."""
    negative = byte_at(block, at) == _MINUS
    first = at + 1 if negative else at
    at = _skip_digits(block, first, end)
    if at == first:
        return _BAD, at
    if byte_at(block, first) == _ZERO:
        at = first + 1  # a digit after a leading zero is no part of the number
    digits = at - first
    kind = INTEGER
    if at + 1 < end and byte_at(block, at) == _POINT and _ZERO <= byte_at(block, at + 1) <= _NINE:
        kind = FRACTION
        at = _skip_digits(block, at + 2, end)
    if at < end and (byte_at(block, at) == _LOWER_E or byte_at(block, at) == _UPPER_E):
        power = at + 1
        if power < end and (byte_at(block, power) == _PLUS or byte_at(block, power) == _MINUS):
            power += 1
        last = _skip_digits(block, power, end)
        if last > power:
            kind = FRACTION
            at = last
    if kind == INTEGER and _is_large(block, first, digits, negative):
        kind = LARGE
    return kind, at


@kernel
def _word(block: U8, at: int, end: int) -> tuple[int, int]:
    """Kind and end of a value that is one of the words."""
    for word in range(len(_WORD_KINDS)):
        first = _WORD_BOUNDS[word]
        size = _WORD_BOUNDS[word + 1] - first
        if at + size > end:
            continue
        same = 0
        while same < size and byte_at(block, at + same) == _WORD_BYTES[first + same]:
            same += 1
        if same == size:
            return _WORD_KINDS[word], at + size
    return _BAD, at


@kernel
def _scalar(block: U8, at: int, end: int) -> tuple[int, int]:
    """Kind and end of the value at `at`, which is neither a list nor an object."""
    byte = byte_at(block, at)
    if byte == _QUOTE:
        closing, escaped = _closing_quote(block, at + 1, end)
        if closing < 0:
            return _BAD, at
        return (ESCAPED if escaped else TEXT), closing + 1
    if _ZERO <= byte <= _NINE or (byte == _MINUS and at + 1 < end and _ZERO <= byte_at(block, at + 1) <= _NINE):
        return _number(block, at, end)
    return _word(block, at, end)


@kernel
def _end_of_nested(block: U8, at: int, end: int) -> int:
    """One past the end of the list or object that opens at `at`; -1 if it is malformed."""
    depth = 0
    objects = 0  # bit i: is the list or object i levels out an object?
    while True:
        byte = byte_at(block, at)
        opened = False
        if byte == _OPEN_OBJECT or byte == _OPEN_LIST:
            if depth == DEEPEST:
                return -1
            depth += 1
            objects = (objects << 1) | (1 if byte == _OPEN_OBJECT else 0)
            at = _skip_blanks(block, at + 1, end)
            opened = (
                at < end and byte_at(block, at) != byte + 2
            )  # in ASCII, the closing bracket is two after the opening one
        else:
            kind, at = _scalar(block, at, end)
            if kind == _BAD:
                return -1
            at = _skip_blanks(block, at, end)
        while not opened:
            if at == end:
                return -1
            if byte_at(block, at) == _COMMA:
                at = _skip_blanks(block, at + 1, end)
                break
            if byte_at(block, at) != (_CLOSE_OBJECT if objects & 1 else _CLOSE_LIST):
                return -1
            at += 1
            depth -= 1
            objects >>= 1
            if depth == 0:
                return at
            at = _skip_blanks(block, at, end)
        if objects & 1:
            if at == end or byte_at(block, at) != _QUOTE:
                return -1
            at, _ = _closing_quote(block, at + 1, end)
            if at < 0:
                return -1
            at = _skip_blanks(block, at + 1, end)
            if at == end or byte_at(block, at) != _COLON:
                return -1
            at = _skip_blanks(block, at + 1, end)
        if at == end:
            return -1


@kernel
def _equal_bytes(block: U8, one: int, other: int, size: int) -> bool:
    if size < 8:
        for place in range(size):
            if byte_at(block, one + place) != byte_at(block, other + place):
                return False
        return True
    for place in range(0, size - 8, 8):
        if word_at(block, one + place) != word_at(block, other + place):
            return False
    return bool(word_at(block, one + size - 8) == word_at(block, other + size - 8))


@kernel
def _slot(block: U8, start: int, size: int, slots: I32, starts: I64, lengths: I32, seed: np.uint64) -> int:
    """The place of a key in the hash table: its own, or an empty one."""
    mixed = seed ^ np.uint64(size)
    for place in range(0, size, 8):
        word = np.uint64(0)
        if size < 8:
            for each in range(size):
                word = (word << np.uint64(8)) | np.uint64(byte_at(block, start + each))
        else:
            word = word_at(block, start + min(place, size - 8))
        mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    mask = len(slots) - 1
    slot = np.int64(mixed >> np.uint64(20)) & mask
    while slots[slot] != 0:
        name = slots[slot] - 1
        if lengths[name] == size and _equal_bytes(block, start, starts[name], size):
            break
        slot = (slot + 1) & mask
    return int(slot)


@kernel
def fill_slots(block: U8, names: KeyTable, known: int, seed: np.uint64) -> None:
    """Insert the first `known` keys into an empty hash table."""
    slots, starts, lengths, _ = names
    for name in range(known):
        slots[_slot(block, starts[name], lengths[name], slots, starts, lengths, seed)] = name + 1


@kernel
def _key(block: U8, at: int, end: int, opening: int) -> tuple[int, int, int]:
    """Start and end of the key after the byte `opening`, and where its value begins.

    Where the object ends instead, -1 and one past it; without any of them, -1 and -1.
    """
    at = _skip_blanks(block, at, end)
    if at == end:
        return -1, -1, -1
    byte = byte_at(block, at)
    if byte == _CLOSE_OBJECT and opening == _COMMA:
        return -1, at + 1, -1
    if byte != opening:
        return -1, -1, -1
    at = _skip_blanks(block, at + 1, end)
    if at == end:
        return -1, -1, -1
    if byte_at(block, at) == _CLOSE_OBJECT and opening == _OPEN_OBJECT:
        return -1, at + 1, -1
    if byte_at(block, at) != _QUOTE:
        return -1, -1, -1
    start = at + 1
    closing, escaped = _closing_quote(block, start, end)
    if closing < 0 or escaped:
        return -1, -1, -1
    at = _skip_blanks(block, closing + 1, end)
    if at == end or byte_at(block, at) != _COLON:
        return -1, -1, -1
    return start, closing, at + 1


@kernel
def scan_kernel(block: U8, starts: I64, ends: I64, most: int, seed: np.uint64, out: ObjectScan) -> bool:
    """Scan objects from number `counts[0]` on, until `most` are not blank; False if a table is full."""
    done, cells, known = out.counts
    states, firsts = out.states, out.firsts
    slots, name_starts, name_lengths, last_cells = out.names
    cell_names, cell_starts = out.cells.names, out.cells.starts
    cell_lengths, cell_kinds = out.cells.lengths, out.cells.kinds
    found = 0
    for number in range(done):
        found += states[number] != BLANK
    # Objects mostly have the same keys in the same order. So the bytes before value i (comma, key, colon) are
    # first compared with those of the previous object; only if they differ is the key parsed and looked up.
    likely_starts, likely_lengths = np.zeros(_LIKELY, np.int64), np.zeros(_LIKELY, np.int64)
    likely_names = np.zeros(_LIKELY, np.int32)
    room = True
    while room and done < len(starts) and found < most:
        end = ends[done]
        at = _skip_blanks(block, starts[done], end)
        first = cells
        state = LEFT
        if at == end:
            state = BLANK
        elif end - at > _LONGEST:
            at = end
        place = 0
        while at < end:
            gap = at
            name = -1
            if place < _LIKELY:
                size = likely_lengths[place]
                if size > 0 and at + size <= end and _equal_bytes(block, at, likely_starts[place], size):
                    name = likely_names[place]
                    at += size
            if name < 0:
                start, closing, at = _key(block, at, end, _OPEN_OBJECT if place == 0 else _COMMA)
                if start < 0:
                    if closing >= 0 and _skip_blanks(block, closing, end) == end:
                        state = SCANNED
                    break
                slot = _slot(block, start, closing - start, slots, name_starts, name_lengths, seed)
                name = slots[slot] - 1
                if name < 0:
                    if known == len(name_starts):
                        room = False
                        break
                    name = known
                    known += 1
                    slots[slot] = known
                    name_starts[name], name_lengths[name], last_cells[name] = start, closing - start, -1
                if place < _LIKELY:
                    likely_starts[place], likely_lengths[place], likely_names[place] = gap, at - gap, name
            place += 1
            at = _skip_blanks(block, at, end)
            if at == end:
                break

            value = at
            byte = byte_at(block, at)
            if byte == _OPEN_OBJECT or byte == _OPEN_LIST:
                kind = OBJECT if byte == _OPEN_OBJECT else LIST
                at = _end_of_nested(block, at, end)
                if at < 0:
                    break
            else:
                kind, at = _scalar(block, at, end)
                if kind == _BAD:
                    break
            length = at - value
            if kind == TEXT or kind == ESCAPED:
                value += 1
                length -= 2

            cell = last_cells[name]
            if not (first <= cell < cells and cell_names[cell] == name):
                if cells == len(cell_names):
                    room = False
                    break
                cell = cells
                last_cells[name] = cell
                cell_names[cell] = name
                cells += 1
            cell_starts[cell] = value
            cell_lengths[cell] = length
            cell_kinds[cell] = kind
        if state != SCANNED:
            cells = first
        if room:
            states[done] = state
            done += 1
            firsts[done] = cells
            found += state != BLANK
    out.counts[0], out.counts[1], out.counts[2] = done, cells, known
    return room
