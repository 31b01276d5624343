"""Records: the subscriptions of a segment in columns, and where each id is.

Immutable. Ids are distinct within a segment; the table that finds them is an array like the others, so that
nothing is read but the pages that a look-up touches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tamis.arrays import I32, I64, U8, AnyArray
from tamis.interpretation import Allowance
from tamis.kernels import kernel
from tamis.language.dialects import SQL

_TEXTS = ("ids", "conditions", "owners")
_OPTIONAL = {"labels": "labelled", "dialects": "translated"}
"""Columns of texts that may be missing, and the array that says which of their rows have one."""
_allowance = Allowance(to_load=1_000, to_compile=30_000)
"""Of ids that are looked up or entered without kernels."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A standing condition.

    Attributes:
        id: Chosen by whoever registers it.
        condition: Its text.
        priority: Higher ones are reported first by `Matcher.match`.
        owner: Whose it is, for the owner's own use.
        revision: 1 when added, one more with each replacement.
        label: What people call it.
        dialect: Of the condition.
    """

    id: str
    condition: str
    priority: int = 0
    owner: str | None = None
    revision: int = 1
    label: str | None = None
    dialect: str = SQL


class TextColumn(NamedTuple):
    """A column of texts as kernels see it."""

    offsets: I64
    data: U8


class Records:
    """The columns of a segment's subscriptions, and an open-addressing hash table from ids to slots.

    table: int32[power of two, at least twice the slots], -1 where nothing is: the slot of an id stands at the
    first place, from its hash on, that was free. Segments are immutable, so nothing is ever taken out of it.
    """

    __slots__ = (
        "_ids",
        "conditions",
        "dialects",
        "has_priorities",
        "ids",
        "labels",
        "owners",
        "priorities",
        "revisions",
        "table",
    )

    def __init__(
        self,
        ids: pa.LargeStringArray,
        conditions: pa.LargeStringArray,
        owners: pa.LargeStringArray,
        priorities: I64,
        revisions: I32,
        table: I32 | None = None,
        labels: pa.LargeStringArray | None = None,
        dialects: pa.LargeStringArray | None = None,
    ) -> None:
        """Columns of equal length; the table of ids is made if it is not given, and the last two may be missing.

        A condition without a dialect is SQL.
        """
        self.ids = ids
        self.conditions = conditions
        self.owners = owners
        self.labels = _unless_empty(labels)
        self.dialects = _unless_empty(dialects)
        self.priorities = priorities
        self.revisions = revisions
        self.has_priorities = len(priorities) > 0
        self._ids = _texts(ids)
        if table is None:
            table = np.full(1 << max(3, (2 * len(ids)).bit_length()), -1, np.int32)
            _allowance.choose(_fill, len(ids))(table, self._ids)
        self.table = table

    @classmethod
    def of(cls, subscriptions: Sequence[Subscription]) -> Records:
        """The records of some subscriptions."""
        return cls.of_columns(
            pa.array([each.id for each in subscriptions], pa.large_string()),
            pa.array([each.condition for each in subscriptions], pa.large_string()),
            pa.array([each.owner for each in subscriptions], pa.large_string()),
            np.fromiter((each.priority for each in subscriptions), np.int64, len(subscriptions)),
            np.fromiter((each.revision for each in subscriptions), np.int32, len(subscriptions)),
            pa.array([each.label for each in subscriptions], pa.large_string()),
            dialect_column(each.dialect for each in subscriptions),
        )

    @classmethod
    def of_columns(
        cls,
        ids: pa.LargeStringArray,
        conditions: pa.LargeStringArray,
        owners: pa.LargeStringArray,
        priorities: I64,
        revisions: I32,
        labels: pa.LargeStringArray | None = None,
        dialects: pa.LargeStringArray | None = None,
    ) -> Records:
        """As the constructor; priorities that are all 0 are left out."""
        given = priorities if priorities.any() else np.empty(0, np.int64)
        return cls(ids, conditions, owners, given, revisions, None, labels, dialects)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, slot: int) -> Subscription:
        """The subscription in a slot."""
        return Subscription(
            self.ids[slot].as_py(),
            self.conditions[slot].as_py(),
            int(self.priorities[slot]) if self.has_priorities else 0,
            self.owners[slot].as_py(),
            int(self.revisions[slot]),
            None if self.labels is None else self.labels[slot].as_py(),
            (None if self.dialects is None else self.dialects[slot].as_py()) or SQL,
        )

    def slots(self, ids: pa.LargeStringArray) -> I32:
        """The slot of each id, -1 where there is none."""
        return _allowance.choose(_find, len(ids))(self.table, self._ids, _texts(ids))

    def slot(self, id: str) -> int:
        """The slot of one id, -1 if there is none."""
        text = id.encode()
        wanted = _read_only(np.array([0, len(text)], np.int64), np.frombuffer(text, np.uint8))
        return int(_allowance.choose(_find, 1)(self.table, self._ids, wanted)[0])

    def columns(self, slots: I64) -> tuple[Any, ...]:
        """The columns of some slots, for `join_records`."""
        some = pa.array(slots)
        priorities = self.priorities[slots] if self.has_priorities else np.zeros(len(slots), np.int64)
        texts = (self.ids.take(some), self.conditions.take(some), self.owners.take(some))
        optional = (_take(column, slots) for column in (self.labels, self.dialects))
        return (*texts, priorities, self.revisions[slots], *optional)

    def labels_of(self, slots: I32 | I64) -> pa.LargeStringArray:
        """The labels of some slots."""
        return _take(self.labels, slots)

    def arrays(self) -> dict[str, AnyArray]:
        """Everything, to be saved."""
        found: dict[str, AnyArray] = {
            "priorities": self.priorities,
            "revisions": self.revisions,
            "table": self.table,
            "owned": np.asarray(self.owners.is_valid()),
        }
        for name in _TEXTS:
            offsets, data = _texts(getattr(self, name))
            found[f"{name}.offsets"], found[f"{name}.data"] = offsets, data
        for name, valid in _OPTIONAL.items():
            column = getattr(self, name)
            if column is not None:
                offsets, data = _texts(column)
                found |= {f"{name}.offsets": offsets, f"{name}.data": data, valid: np.asarray(column.is_valid())}
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, AnyArray]) -> Records:
        """What `arrays` gave, without copying."""
        ids, conditions = (_column(arrays, name) for name in _TEXTS[:2])
        owners = _column(arrays, "owners", "owned")
        optional = (
            _column(arrays, name, valid) if f"{name}.offsets" in arrays else None
            for name, valid in _OPTIONAL.items()
        )
        return cls(ids, conditions, owners, arrays["priorities"], arrays["revisions"], arrays["table"], *optional)


def dialect_column(names: Iterable[str | None]) -> pa.LargeStringArray:
    """The dialects of subscriptions; nothing where it is SQL."""
    return pa.array([None if name == SQL else name for name in names], pa.large_string())


def _unless_empty(column: pa.LargeStringArray | None) -> pa.LargeStringArray | None:
    return None if column is None or column.null_count == len(column) else column


def _take(column: pa.LargeStringArray | None, slots: I32 | I64) -> pa.LargeStringArray:
    return pa.nulls(len(slots), pa.large_string()) if column is None else column.take(pa.array(slots))


def _column(arrays: Mapping[str, AnyArray], name: str, valid: str | None = None) -> pa.LargeStringArray:
    """A column of texts from its arrays; where `valid` says so it has none."""
    offsets, data = arrays[f"{name}.offsets"], arrays[f"{name}.data"]
    bits = None if valid is None or arrays[valid].all() else pa.array(arrays[valid]).buffers()[1]
    buffers = [bits, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)


def join_records(parts: Iterable[tuple[Any, ...]]) -> Records:
    """The records of several groups of columns, one after the other."""
    columns = list(zip(*parts, strict=True))
    ids, conditions, owners, *optional = (pa.concat_arrays(columns[place]) for place in (0, 1, 2, 5, 6))
    numbers = np.concatenate(columns[3]), np.concatenate(columns[4])
    return Records.of_columns(ids, conditions, owners, *numbers, *optional)


def _texts(column: pa.LargeStringArray) -> TextColumn:
    """The bytes of a column without its neighbours'; its offsets begin at 0."""
    if not len(column):
        return _read_only(np.zeros(1, np.int64), np.zeros(0, np.uint8))
    _, ends, content = column.buffers()  # of which some can be written, and kernels would be compiled for both
    offsets = np.frombuffer(ends, np.int64)[column.offset : column.offset + len(column) + 1]
    data = np.frombuffer(content, np.uint8) if content is not None and content.size else np.zeros(0, np.uint8)
    if offsets[0]:
        return _read_only(offsets - offsets[0], data[offsets[0] : offsets[-1]])
    return _read_only(offsets, data[: offsets[-1]])


def _read_only(offsets: I64, data: U8) -> TextColumn:
    offsets.flags.writeable = data.flags.writeable = False
    return TextColumn(offsets, data)


@kernel
def _hash(texts: TextColumn, row: int) -> np.uint64:
    hash_ = np.uint64(14695981039346656037)
    for place in range(texts.offsets[row], texts.offsets[row + 1]):
        hash_ = (hash_ ^ np.uint64(texts.data[place])) * np.uint64(1099511628211)
    return hash_ ^ (hash_ >> np.uint64(32))


@kernel
def _fill(table: I32, ids: TextColumn) -> None:
    """Put every id's row into the first free place from its hash on."""
    mask = np.uint64(len(table) - 1)
    for row in range(len(ids.offsets) - 1):
        place = _hash(ids, row) & mask
        while table[place] >= 0:
            place = (place + np.uint64(1)) & mask
        table[place] = row


@kernel
def _find(table: I32, ids: TextColumn, wanted: TextColumn) -> I32:
    """The row of each wanted id, -1 where there is none."""
    found = np.full(len(wanted.offsets) - 1, -1, np.int32)
    mask = np.uint64(len(table) - 1)
    for row in range(len(found)):
        length = wanted.offsets[row + 1] - wanted.offsets[row]
        place = _hash(wanted, row) & mask
        while table[place] >= 0:
            other = table[place]
            if ids.offsets[other + 1] - ids.offsets[other] == length:
                equal = True
                for byte in range(length):
                    if ids.data[ids.offsets[other] + byte] != wanted.data[wanted.offsets[row] + byte]:
                        equal = False
                        break
                if equal:
                    found[row] = other
                    break
            place = (place + np.uint64(1)) & mask
    return found
