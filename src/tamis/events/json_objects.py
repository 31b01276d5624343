"""The values of many JSON objects by key: bytes that a scan has found, decoded on demand.

The object of a row is either scanned, and then its values are cells of the scan, or it is one of `others`, read by
Python's `json`; results do not depend on which. Nothing changes after construction but caches.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tamis.arrays import I32, I64, U8, AnyArray, Bools
from tamis.events.json_numbers import join_as_list, take_cells
from tamis.events.json_scan import (
    ESCAPED,
    LEFT,
    NULL,
    OBJECT,
    SCANNED,
    TEXT,
    KeyTable,
    ObjectScan,
    ValueCells,
    fill_slots,
    scan_kernel,
)
from tamis.kernels import kernel

Decode: TypeAlias = Callable[[str], Any]
"""From JSON to Python values."""

_LEAST_NAMES, _LEAST_CELLS = 64, 4096
_SEED = np.uint64(secrets.randbits(64))  # secret, so that nobody can choose keys that all collide


class ValueSpans(NamedTuple):
    """The values of one key: their rows, in order, their bytes and kinds."""

    rows: I32
    starts: I64
    lengths: I32
    kinds: U8

    def where(self, chosen: Bools) -> ValueSpans:
        """The spans that a mask selects."""
        return self if chosen.all() else self.at(np.flatnonzero(chosen))

    def at(self, at: I64) -> ValueSpans:
        """The spans at these places."""
        return ValueSpans(self.rows[at], self.starts[at], self.lengths[at], self.kinds[at])


_NO_SPANS = ValueSpans(np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.uint8))


class JsonObjects:
    """At most one object for each row.

    Attributes:
        rows: The number of rows.
        block: The bytes of all of them.
        others: By row, the objects that were not scanned.
    """

    __slots__ = (
        "_bounds",
        "_children",
        "_decode",
        "_names",
        "_order",
        "_order_rows",
        "_rows",
        "_scan",
        "block",
        "others",
        "rows",
    )

    def __init__(
        self,
        block: U8,
        rows: int,
        scan: ObjectScan,
        rows_of: I64,
        others: Mapping[int, Mapping[str, Any]],
        decode: Decode,
    ) -> None:
        """Objects of a scan; `rows_of` holds the row of each."""
        self.block = block
        self.rows = rows
        self.others = others
        self._scan = scan
        self._rows = rows_of
        self._decode = decode
        self._names: dict[str, int] | None = None
        self._bounds = np.zeros(1, np.int64)
        self._order = self._order_rows = np.empty(0, np.int32)
        self._children: dict[str, JsonObjects] = {}

    @property
    def present(self) -> Bools:
        """In which rows there is an object."""
        found = np.zeros(self.rows, np.bool_)
        count = self._scan.counts[0]
        found[self._rows[:count][self._scan.states[:count] == SCANNED]] = True
        found[list(self.others)] = True
        return found

    def spans(self, name: str) -> ValueSpans:
        """The scanned values of a key, without nulls."""
        part = self._part(name)
        if part is None:
            return _NO_SPANS
        _, starts, lengths, kinds = self._scan.cells
        return ValueSpans(self._order_rows[part], *take_cells(self._order[part], starts, lengths, kinds))

    def rows_with(self, name: str) -> Bools:
        """In which rows a key has a value that is not null."""
        found = np.zeros(self.rows, np.bool_)
        part = self._part(name)
        if part is not None:
            found[self._order_rows[part]] = True
        if self.others:
            found[self.other_values(name)[0]] = True
        return found

    def _part(self, name: str) -> slice | None:
        """Where the values of a key are among those in the order of keys; None if there is no such key."""
        if self._names is None:
            self._bounds, self._order, self._order_rows = _by_name(self._scan, self._rows)
            self._names = {name: number for number, name in enumerate(self._key_names())}
        number = self._names.get(name)
        return None if number is None else slice(self._bounds[number], self._bounds[number + 1])

    def other_values(self, name: str) -> tuple[list[int], list[Any]]:
        """Rows and values of a key in the objects that were not scanned, without nulls."""
        found = [(row, value) for row, each in self.others.items() if (value := each.get(name)) is not None]
        return [row for row, _ in found], [value for _, value in found]

    def decode(self, spans: ValueSpans) -> list[Any]:
        """The Python values of spans."""
        quoted = (spans.kinds == TEXT) | (spans.kinds == ESCAPED)
        text = join_as_list(self.block, spans.starts - quoted, spans.lengths + 2 * quoted.astype(np.int32))
        values: list[Any] = self._decode(text.tobytes().decode())
        return values

    def values(self, name: str) -> list[Any]:
        """The Python value of a key in each row, None where there is none."""
        spans = self.spans(name)
        if len(spans.rows) == self.rows:
            return self.decode(spans)
        values: list[Any] = [None] * self.rows
        for row, value in zip(spans.rows.tolist(), self.decode(spans), strict=True):
            values[row] = value
        for row, value in zip(*self.other_values(name), strict=True):
            values[row] = value
        return values

    def child(self, name: str) -> JsonObjects:
        """The objects that are values of a key."""
        known = self._children.get(name)
        if known is None:
            known = self._children[name] = self._make_child(name)
        return known

    def _make_child(self, name: str) -> JsonObjects:
        spans = self.spans(name)
        spans = spans.where(spans.kinds == OBJECT)
        scanned = scan(self.block, spans.starts, spans.starts + spans.lengths, len(spans.rows))
        left = spans.where(scanned.states == LEFT)
        others = dict(zip(left.rows.tolist(), self.decode(left), strict=True))
        rows, values = self.other_values(name)
        others |= {row: value for row, value in zip(rows, values, strict=True) if isinstance(value, dict)}
        return JsonObjects(self.block, self.rows, scanned, spans.rows.astype(np.int64), others, self._decode)

    def names(self) -> Iterator[tuple[int, str]]:
        """The key of every value with its row, in the order of the rows and as each object has them."""
        names = self._key_names()
        keys: dict[int, list[str]] = {row: list(each) for row, each in self.others.items()}
        objects, cells, _ = self._scan.counts.tolist()
        firsts, numbers = self._scan.firsts.tolist(), self._scan.cells.names[:cells].tolist()
        for each in np.flatnonzero(self._scan.states[:objects] == SCANNED).tolist():
            keys[int(self._rows[each])] = [names[number] for number in numbers[firsts[each] : firsts[each + 1]]]
        return ((row, name) for row in sorted(keys) for name in keys[row])

    def _key_names(self) -> list[str]:
        count = int(self._scan.counts[2])
        bounds = zip(
            self._scan.names.starts[:count].tolist(), self._scan.names.lengths[:count].tolist(), strict=True
        )
        return [self.block[start : start + length].tobytes().decode() for start, length in bounds]


def scan(block: U8, starts: I64, ends: I64, most: int, before: ObjectScan | None = None) -> ObjectScan:
    """Scan these objects, until `most` of them are not blank.

    Args:
        block: All bytes.
        starts: The first byte of each object.
        ends: One past the last byte of each object; a blank text is no object.
        most: The number of objects to scan.
        before: A scan of the first of these objects to continue; its arrays are reused.
    """
    out = _allocate(len(starts), before)
    while not scan_kernel(block, starts, ends, most, _SEED, out):
        if out.counts[2] == len(out.names.starts):
            out = out._replace(names=_more_names(block, out))
        else:
            done, cells, _ = out.counts.tolist()
            expected = int(1.05 * cells / max(1, done) * len(starts))
            size = max(2 * len(out.cells.names), expected)
            out = out._replace(cells=ValueCells(*(_extend(each, size) for each in out.cells)))
    return out


def select_objects(scanned: ObjectScan, kept: I64) -> ObjectScan:
    """The scan of some of its objects; the others must have no cells."""
    done = int(scanned.counts[0])
    if len(kept) == done == len(scanned.states):
        return scanned
    scanned.counts[0] = len(kept)
    firsts = np.append(scanned.firsts[kept], scanned.firsts[done])
    return scanned._replace(states=scanned.states[kept], firsts=firsts)


def _allocate(objects: int, before: ObjectScan | None) -> ObjectScan:
    if before is not None:
        states, firsts = _extend(before.states, objects), _extend(before.firsts, objects + 1)
        return before._replace(states=states, firsts=firsts)
    room = _LEAST_CELLS
    names, starts, lengths = np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int32)
    cells = ValueCells(names, starts, lengths, np.empty(room, np.uint8))
    states, firsts = np.zeros(objects, np.uint8), np.zeros(objects + 1, np.int64)
    return ObjectScan(states, firsts, cells, _no_names(_LEAST_NAMES), np.zeros(3, np.int64))


def _no_names(room: int) -> KeyTable:
    slots = np.zeros(4 * room, np.int32)
    return KeyTable(slots, np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room, np.int64))


def _more_names(block: U8, scan: ObjectScan) -> KeyTable:
    known = int(scan.counts[2])
    names = _no_names(2 * known)
    names.starts[:known], names.lengths[:known] = scan.names.starts, scan.names.lengths
    names.cells[:known] = scan.names.cells
    fill_slots(block, names, known, _SEED)
    return names


def _extend(array: AnyArray, size: int) -> AnyArray:
    longer = np.empty(size, array.dtype)
    longer[: len(array)] = array
    return longer


@kernel
def _by_name(scan: ObjectScan, rows_of: I64) -> tuple[I64, I32, I32]:
    """Numbers and rows of cells that are not null, by name; those of name i are `[bounds[i], bounds[i + 1])`."""
    objects, cells, known = scan.counts
    firsts, names, kinds = scan.firsts, scan.cells.names, scan.cells.kinds
    bounds = np.zeros(known + 1, np.int64)
    for cell in range(cells):
        if kinds[cell] != NULL:
            bounds[names[cell] + 1] += 1
    for name in range(known):
        bounds[name + 1] += bounds[name]
    following = bounds.copy()
    order, rows = np.empty(bounds[-1], np.int32), np.empty(bounds[-1], np.int32)
    for each in range(objects):
        for cell in range(firsts[each], firsts[each + 1]):
            if kinds[cell] != NULL:
                place = following[names[cell]]
                following[names[cell]] = place + 1
                order[place], rows[place] = cell, rows_of[each]
    return bounds, order, rows
