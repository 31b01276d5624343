"""Events as JSON texts in a column, as from Kafka or a text file: one text, one event.

A text that is no event never stops the others: it comes back as a `DeadLetter` with its row. The texts are scanned
where Arrow has them; nothing is copied. A few are read one by one by Python's `json`: the events are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from tamis.arrays import I64, U8
from tamis.events.batch import EventBatch
from tamis.events.dead_letters import DeadLetter, DeadLetterKind
from tamis.events.event_type import EventType
from tamis.events.json_columns import JsonSource
from tamis.events.json_objects import JsonObjects, scan, select_objects
from tamis.events.json_scan import BLANK, LEFT
from tamis.events.json_text import json_decoder, json_parser, strip_text
from tamis.events.reading import LEAST_BYTES_TO_COMPILE, MAX_LINE_BYTES
from tamis.kernels import is_compiled

_LEAST_BYTES = 1 << 10
_LEAST_ROWS = 32
"""Fewer bytes or rows are read one by one: making the columns of a scan takes longer than that."""
_BATCH_BYTES = 1 << 28
"""Of texts in one batch, however few they are."""
_KERNELS = tuple(f"{__package__}.{name}" for name in ("json_scan", "json_objects", "json_numbers", "json_times"))
_NO_BYTES = np.empty(0, np.uint8)

ReadRow: TypeAlias = Callable[[int, bytes], dict[str, Any] | None]
"""The function from a row and its text to its event or None."""


@dataclass(frozen=True, slots=True)
class JsonValues:
    """The events of a column of texts.

    Attributes:
        batches: Their ids are the rows of the column.
        dead_letters: Texts that are no events, each after its row.
    """

    batches: list[EventBatch]
    dead_letters: list[tuple[int, DeadLetter]]


class Texts(NamedTuple):
    """Texts in a block of bytes; one that is null is empty."""

    block: U8
    starts: I64
    ends: I64


def read_json_values(
    values: pa.Array | pa.ChunkedArray,
    event_type: Any = None,
    *,
    most_bytes: int = MAX_LINE_BYTES,
    _scan: bool | None = None,
) -> JsonValues:
    """The events of a column of strings or bytes; a row that is null or blank has none.

    Args:
        values: One JSON object a row. A line end within it is white space.
        event_type: Whatever `EventType.of` takes.
        most_bytes: Longer texts are dead letters.
        _scan: Tests choose by it between scanning and reading one by one.
    """
    type_ = EventType.of(event_type)
    decode = json_decoder(type_)
    parse = json_parser(decode)
    batches: list[EventBatch] = []
    dead_letters: list[tuple[int, DeadLetter]] = []

    def read(row: int, text: bytes) -> dict[str, Any] | None:
        if len(text) > most_bytes:
            reason = f"the event is longer than {most_bytes} bytes"
            dead_letters.append((row, DeadLetter(DeadLetterKind.OVERSIZED, reason, text)))
            return None
        stripped = strip_text(text)
        event = parse(stripped) if stripped else None
        if isinstance(event, str):
            dead_letters.append((row, DeadLetter(DeadLetterKind.MALFORMED, event, text)))
            return None
        return event

    first = 0
    for part in _parts(values):
        texts = _texts_of(part)
        if _is_worth_a_scan(texts) if _scan is None else _scan:
            source, rows = _scan_texts(texts, first, most_bytes, read, decode)
            batch = EventBatch(type_, len(rows), source, numbers=rows)
        else:
            batch = _read_one_by_one(texts, first, type_, read)
        if batch.rows:
            batches.append(batch)
        first += len(part)
    return JsonValues(batches, dead_letters)


def rows_of(batch: EventBatch) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The rows of the column that the events of a batch came from."""
    rows: np.ndarray[Any, np.dtype[np.int64]] = batch.ids.to_numpy()
    return rows


def _parts(values: pa.Array | pa.ChunkedArray) -> Iterator[pa.Array]:
    """The column in order, in arrays of bytes that are few, and no longer than a batch may be."""
    waiting: list[pa.Array] = []
    size = 0
    for chunk in values.chunks if isinstance(values, pa.ChunkedArray) else [values]:
        for piece in _pieces(_as_bytes(chunk)):
            if waiting and size + _size(piece) > _BATCH_BYTES:
                yield pa.concat_arrays(waiting)
                waiting, size = [], 0
            waiting.append(piece)
            size += _size(piece)
    if waiting:
        yield waiting[0] if len(waiting) == 1 else pa.concat_arrays(waiting)


def _as_bytes(values: pa.Array) -> pa.Array:
    """The same bytes, not decoded: a string of Spark's need not be valid UTF-8."""
    is_long = pa.types.is_large_string(values.type) or pa.types.is_large_binary(values.type)
    return values.cast(pa.large_binary() if is_long else pa.binary())


def _pieces(values: pa.Array) -> Iterator[pa.Array]:
    """Slices of so many bytes that each is one batch."""
    if _size(values) <= _BATCH_BYTES:
        yield values
        return
    offsets = _offsets(values)
    first = 0
    while first < len(values):
        last = int(np.searchsorted(offsets, offsets[first] + _BATCH_BYTES, "right")) - 1
        last = max(first + 1, last)  # at least one text, however long
        yield values.slice(first, last - first)
        first = last


def _offsets(values: pa.Array) -> Any:
    """Where each text begins in the bytes of the array, and where the last one ends."""
    _, offsets, _ = values.buffers()
    if offsets is None or not offsets.size:  # as it may be without a row
        return np.zeros(1, np.int64)
    kind = np.int64 if pa.types.is_large_binary(values.type) else np.int32
    return np.frombuffer(offsets, kind)[values.offset : values.offset + len(values) + 1]


def _size(values: pa.Array) -> int:
    offsets = _offsets(values)
    return int(offsets[-1]) - int(offsets[0])


def _texts_of(values: pa.Array) -> Texts:
    offsets = _offsets(values).astype(np.int64)
    starts, ends = offsets[:-1], offsets[1:]
    if values.null_count:  # there may be bytes under a null
        ends = np.where(values.is_valid().to_numpy(zero_copy_only=False), ends, starts)
    data = values.buffers()[2]
    return Texts(_NO_BYTES if data is None or not data.size else np.asarray(_Bytes(data)), starts, ends)


class _Bytes:
    """The memory of a buffer for numpy, which holds on to it.

    numpy would make an array that is read-only, for which numba compiles every kernel a second time. No kernel of
    the scan writes to its block.
    """

    __slots__ = ("__array_interface__", "_buffer")

    def __init__(self, buffer: pa.Buffer) -> None:
        self._buffer = buffer
        self.__array_interface__ = {
            "shape": (buffer.size,),
            "typestr": "|u1",
            "data": (buffer.address, False),
            "version": 3,
        }


def _is_worth_a_scan(texts: Texts) -> bool:
    """Is the scan quicker, and, unless there is much to do, compiled?"""
    size = int((texts.ends - texts.starts).sum())
    if size < _LEAST_BYTES or len(texts.starts) < _LEAST_ROWS:
        return False
    return size >= LEAST_BYTES_TO_COMPILE or all(map(is_compiled, _KERNELS))


def _scan_texts(
    texts: Texts, first: int, most_bytes: int, read: ReadRow, decode: Callable[[str], Any]
) -> tuple[JsonSource, I64]:
    """The events, and the row of each; what the scan leaves is read by `read`, in order."""
    block, starts, ends = texts
    is_long = ends - starts > most_bytes
    scanned = scan(block, starts, np.where(is_long, starts, ends), len(starts))  # blank for the scan
    others: dict[int, dict[str, Any]] = {}
    for row in np.flatnonzero((scanned.states == LEFT) | is_long).tolist():
        event = read(first + row, block[starts[row] : ends[row]].tobytes())
        if event is None:
            scanned.states[row] = BLANK
        else:
            others[row] = event
    kept = np.flatnonzero(scanned.states != BLANK)
    by_place = dict(zip(np.searchsorted(kept, list(others)).tolist(), others.values(), strict=True))
    count = len(kept)
    objects = JsonObjects(block, count, select_objects(scanned, kept), np.arange(count), by_place, decode)
    return JsonSource(objects), first + kept


def _read_one_by_one(texts: Texts, first: int, event_type: EventType, read: ReadRow) -> EventBatch:
    bounds = zip(texts.starts.tolist(), texts.ends.tolist(), strict=True)
    content = texts.block.data
    read_rows = ((row, read(row, bytes(content[start:end]))) for row, (start, end) in enumerate(bounds, first))
    found = [(row, event) for row, event in read_rows if event is not None]
    rows = np.fromiter((row for row, _ in found), np.int64, len(found))
    return EventBatch.of([event for _, event in found], event_type, numbers=rows)
