"""The values of many JSON objects by key, as bytes that a scan has found, made into Python values on demand.

An object of a row is either scanned, and then its values are cells of the table, or it is one of `others`, read
by Python's `json`; which of the two never shows. Nothing changes after a table is made, except that things are
kept once they were asked for.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.events.json_numbers import listed, picked
from tamis.events.json_scan import (
    ESCAPED,
    LEFT,
    NULL,
    OBJECT,
    SCANNED,
    TEXT,
    Bytes,
    Cells,
    Ints,
    Names,
    Scan,
    Shorts,
    fill_slots,
    scan_kernel,
)

Decode: TypeAlias = Callable[[str], Any]
"""From JSON to Python values."""

_LEAST_NAMES, _LEAST_CELLS = 64, 4096
_SEED = np.uint64(secrets.randbits(64))  # nobody can choose keys that all fall into one slot


class Spans(NamedTuple):
    """The values of one key: their rows, in order, their bytes and kinds."""

    rows: Shorts
    starts: Ints
    lengths: Shorts
    kinds: Bytes

    def where(self, chosen: npt.NDArray[np.bool_]) -> Spans:
        """Some of them."""
        return self if chosen.all() else self.at(np.flatnonzero(chosen))

    def at(self, at: Ints) -> Spans:
        """Those at these places."""
        return Spans(self.rows[at], self.starts[at], self.lengths[at], self.kinds[at])


_NO_SPANS = Spans(np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.uint8))


class JsonObjects:
    """One object, or none, a row.

    Attributes:
        rows: How many.
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
        block: Bytes,
        rows: int,
        scan: Scan,
        rows_of: Ints,
        others: Mapping[int, Mapping[str, Any]],
        decode: Decode,
    ) -> None:
        """Objects of a scan; `rows_of` tells the row of each of them."""
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
    def present(self) -> npt.NDArray[np.bool_]:
        """In which rows there is an object."""
        found = np.zeros(self.rows, np.bool_)
        count = self._scan.counts[0]
        found[self._rows[:count][self._scan.states[:count] == SCANNED]] = True
        found[list(self.others)] = True
        return found

    def spans(self, name: str) -> Spans:
        """The scanned values of a key."""
        if self._names is None:
            self._bounds, self._order, self._order_rows = _by_name(self._scan, self._rows)
            self._names = {name: number for number, name in enumerate(self._listed_names())}
        number = self._names.get(name)
        if number is None:
            return _NO_SPANS
        part = slice(self._bounds[number], self._bounds[number + 1])
        _, starts, lengths, kinds = self._scan.cells
        return Spans(self._order_rows[part], *picked(self._order[part], starts, lengths, kinds))

    def other_values(self, name: str) -> tuple[list[int], list[Any]]:
        """Rows and values of a key among the objects that were not scanned, as far as they are not null."""
        found = [(row, value) for row, each in self.others.items() if (value := each.get(name)) is not None]
        return [row for row, _ in found], [value for _, value in found]

    def decoded(self, spans: Spans) -> list[Any]:
        """The Python values of spans."""
        quoted = (spans.kinds == TEXT) | (spans.kinds == ESCAPED)
        text = listed(self.block, spans.starts - quoted, spans.lengths + 2 * quoted.astype(np.int32))
        values: list[Any] = self._decode(text.tobytes().decode())
        return values

    def values(self, name: str) -> list[Any]:
        """The Python value of a key in each row, None where there is none."""
        spans = self.spans(name)
        if len(spans.rows) == self.rows:
            return self.decoded(spans)
        values: list[Any] = [None] * self.rows
        for row, value in zip(spans.rows.tolist(), self.decoded(spans), strict=True):
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
        others = dict(zip(left.rows.tolist(), self.decoded(left), strict=True))
        rows, values = self.other_values(name)
        others |= {row: value for row, value in zip(rows, values, strict=True) if isinstance(value, dict)}
        return JsonObjects(self.block, self.rows, scanned, spans.rows.astype(np.int64), others, self._decode)

    def names(self) -> Iterator[tuple[int, str]]:
        """The key of every value with its row, in the order of the rows and as each object has them."""
        names = self._listed_names()
        keys: dict[int, list[str]] = {row: list(each) for row, each in self.others.items()}
        objects, cells, _ = self._scan.counts.tolist()
        firsts, numbers = self._scan.firsts.tolist(), self._scan.cells.names[:cells].tolist()
        for each in np.flatnonzero(self._scan.states[:objects] == SCANNED).tolist():
            keys[int(self._rows[each])] = [names[number] for number in numbers[firsts[each] : firsts[each + 1]]]
        return ((row, name) for row in sorted(keys) for name in keys[row])

    def _listed_names(self) -> list[str]:
        count = int(self._scan.counts[2])
        bounds = zip(
            self._scan.names.starts[:count].tolist(), self._scan.names.lengths[:count].tolist(), strict=True
        )
        return [self.block[start : start + length].tobytes().decode() for start, length in bounds]


def scan(block: Bytes, starts: Ints, ends: Ints, most: int, before: Scan | None = None) -> Scan:
    """What stands in the bytes of these objects, of which at most `most` that are not blank.

    Args:
        block: All bytes.
        starts: Of each object.
        ends: Of each object; what is blank is no object.
        most: How many objects to scan.
        before: A scan of the first of these objects, to go on from; it is of no use afterwards.
    """
    out = _with_room(len(starts), before)
    while not scan_kernel(block, starts, ends, most, _SEED, out):
        if out.counts[2] == len(out.names.starts):
            out = out._replace(names=_more_names(block, out))
        else:
            done, cells, _ = out.counts.tolist()
            expected = int(1.05 * cells / max(1, done) * len(starts))
            size = max(2 * len(out.cells.names), expected)
            out = out._replace(cells=Cells(*(_longer(each, size) for each in out.cells)))
    return out


def _with_room(objects: int, before: Scan | None) -> Scan:
    if before is not None:
        states, firsts = _longer(before.states, objects), _longer(before.firsts, objects + 1)
        return before._replace(states=states, firsts=firsts)
    room = _LEAST_CELLS
    names, starts, lengths = np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int32)
    cells = Cells(names, starts, lengths, np.empty(room, np.uint8))
    states, firsts = np.zeros(objects, np.uint8), np.zeros(objects + 1, np.int64)
    return Scan(states, firsts, cells, _no_names(_LEAST_NAMES), np.zeros(3, np.int64))


def _no_names(room: int) -> Names:
    slots = np.zeros(4 * room, np.int32)
    return Names(slots, np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room, np.int64))


def _more_names(block: Bytes, scan: Scan) -> Names:
    known = int(scan.counts[2])
    names = _no_names(2 * known)
    names.starts[:known], names.lengths[:known] = scan.names.starts, scan.names.lengths
    names.cells[:known] = scan.names.cells
    fill_slots(block, names, known, _SEED)
    return names


def _longer(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    longer = np.empty(size, array.dtype)
    longer[: len(array)] = array
    return longer


@numba.njit(cache=True, nogil=True)
def _by_name(scan: Scan, rows_of: Ints) -> tuple[Ints, Shorts, Shorts]:
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
