"""Events from files and streams, a batch at a time: JSON lines, CSV, Parquet.

Memory holds one batch, however long the input. A line that is no event becomes a `DeadLetter` and
never stops the rest; what makes the whole source unreadable is an EventError that names it.

JSON is read strictly, one object a line. As in Spark: NaN, Infinity and -Infinity are numbers, of a key
written twice the last counts, a lone surrogate is '?', blank lines are skipped. Unlike in Spark, which is
lenient there, text after the object, single quotes and arrays of objects are dead letters.

CSV has a header and quotes as RFC 4180 has them. An empty cell is NULL. With an event type a cell is cast to
its attribute's type as Spark casts strings (lists and objects are JSON); without one a cell is what it looks
like by itself: `12` an integer, `1.5` a double, `true` a boolean, anything else a string.
"""

from __future__ import annotations

import csv
import io
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Context, Decimal
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tamis.errors import EventError
from tamis.events.batch import EventBatch
from tamis.events.dead_letters import DeadLetter, DeadLetterKind
from tamis.events.event_type import EventType
from tamis.events.json_text import json_decoder, json_parser, loose_integer, strip_text
from tamis.events.line_buffer import LineBuffer
from tamis.values.casts import caster
from tamis.values.column import Value
from tamis.values.types import DOUBLE, FLOAT, INTEGER_BITS, MAX_PRECISION, NESTED, STRING

EventSource: TypeAlias = "str | os.PathLike[str] | bytes | IO[bytes]"

BATCH_ROWS = 65_536
MAX_LINE_BYTES = 16 << 20
_LEAST_ROWS_TO_SCAN = 256
LEAST_BYTES_TO_COMPILE = 1 << 20
"""Shorter batches and inputs are read line by line: loading the kernels, or compiling them, would take longer."""
_KEPT_BYTES = 1 << 10
_SUFFIXES = {".jsonl": "json", ".ndjson": "json", ".json": "json", ".csv": "csv", ".parquet": "parquet"}


@dataclass(slots=True)
class EventReader:
    """The batches of one source, to be iterated once.

    Attributes:
        batches: What iterating the reader gives.
        dead_letters: Those met so far. The caller may clear the list between batches.
    """

    batches: Iterator[EventBatch] = field(init=False, repr=False)
    dead_letters: list[DeadLetter] = field(default_factory=list)

    def __iter__(self) -> Iterator[EventBatch]:
        return self.batches


def read_events(
    source: EventSource,
    event_type: Any = None,
    *,
    format: str | None = None,
    event_id: str | None = None,
    batch_rows: int = BATCH_ROWS,
) -> EventReader:
    """The events of a file or stream.

    Args:
        source: A path, `-` for standard input, a binary file, or bytes.
        event_type: Whatever `EventType.of` takes; None for schemaless.
        format: `json`, `csv` or `parquet`; by default by the suffix of the path, JSON lines without one.
        event_id: Name of the attribute that holds the events' ids. By default the id is the position in the
            source, counted from 0; in JSON lines that of the line, bad and blank ones included.
        batch_rows: Most events of a batch.

    Raises:
        EventError: The format is unknown. While iterating: the source cannot be read.
    """
    read = {"json": read_json_lines, "csv": read_csv, "parquet": read_parquet}.get(format or _format(source))
    if read is None:
        msg = f"{_name(source)}: unknown format {format or ''}; expected json, csv or parquet"
        raise EventError(msg)
    return read(source, event_type, event_id=event_id, batch_rows=batch_rows)


def _format(source: EventSource) -> str:
    if isinstance(source, (str, os.PathLike)) and os.fspath(source) != "-":
        return _SUFFIXES.get(Path(source).suffix.lower(), "")
    return "json"


def _name(source: EventSource) -> str:
    if isinstance(source, (str, os.PathLike)):
        return "standard input" if os.fspath(source) == "-" else os.fspath(source)
    return "bytes" if isinstance(source, bytes) else str(getattr(source, "name", "stream"))


@contextmanager
def _open(source: EventSource) -> Iterator[IO[bytes]]:
    """The source as a binary file, closed in the end if we opened it."""
    if isinstance(source, bytes):
        yield io.BytesIO(source)
    elif not isinstance(source, (str, os.PathLike)):
        yield source
    elif os.fspath(source) == "-":
        yield sys.stdin.buffer
    else:
        with Path(source).open("rb") as file:
            yield file


def _event_reader(source: EventSource, batches: Callable[[list[DeadLetter]], Iterator[EventBatch]]) -> EventReader:
    reader = EventReader()

    def run() -> Iterator[EventBatch]:
        try:
            yield from batches(reader.dead_letters)
        except (OSError, pa.ArrowException, csv.Error) as error:
            msg = f"{_name(source)}: {error}"
            raise EventError(msg) from error

    reader.batches = run()
    return reader


def read_json_lines(
    source: EventSource,
    event_type: Any = None,
    *,
    event_id: str | None = None,
    batch_rows: int = BATCH_ROWS,
    max_line_bytes: int = MAX_LINE_BYTES,
    _scan: bool | None = None,
) -> EventReader:
    """Events from JSON lines; see `read_events`.

    Long inputs are scanned in blocks, short ones are read line by line; the events are the same. Tests choose
    between the two by `_scan`.
    """
    type_ = EventType.of(event_type)
    decode = json_decoder(type_)
    parse = json_parser(decode)

    def read_line(
        number: int, line: bytes, too_long: bool, dead_letters: list[DeadLetter]
    ) -> dict[str, Any] | None:
        if too_long:
            kept = line[: min(_KEPT_BYTES, max_line_bytes + 1)].rstrip(b"\r\n")
            reason = f"the line is longer than {max_line_bytes} bytes"
            dead_letters.append(DeadLetter(DeadLetterKind.OVERSIZED, reason, kept, line_number=number + 1))
            return None
        line = line.rstrip(b"\r\n")
        text = strip_text(line)
        if not text:
            return None
        event = parse(text)
        if isinstance(event, str):
            dead_letters.append(DeadLetter(DeadLetterKind.MALFORMED, event, line, line_number=number + 1))
            return None
        return event

    def line_by_line(file: IO[bytes], dead_letters: list[DeadLetter]) -> Iterator[EventBatch]:
        numbered = enumerate(_lines(file, max_line_bytes))
        events = (
            (number, read_line(number, line, too_long, dead_letters)) for number, (line, too_long) in numbered
        )
        found = ((number, event) for number, event in events if event is not None)
        return _batches(found, type_, event_id, batch_rows)

    def scan_lines(lines: LineBuffer, dead_letters: list[DeadLetter]) -> Iterator[EventBatch]:
        from tamis.events.json_lines import scanned_batches

        found = scanned_batches(lines, batch_rows, partial(read_line, dead_letters=dead_letters), decode)
        return (EventBatch(type_, len(numbers), part, event_id, numbers) for part, numbers in found)

    def batches(dead_letters: list[DeadLetter]) -> Iterator[EventBatch]:
        with _open(source) as file:
            if _scan is False or (_scan is None and batch_rows < _LEAST_ROWS_TO_SCAN):
                yield from line_by_line(file, dead_letters)
                return
            lines = LineBuffer(file, max_line_bytes)
            lines.fill(batch_rows, LEAST_BYTES_TO_COMPILE)
            if _scan or not (lines.ended and lines.used < LEAST_BYTES_TO_COMPILE):
                yield from scan_lines(lines, dead_letters)
            else:
                yield from line_by_line(io.BytesIO(lines.block[: lines.used].tobytes()), dead_letters)

    return _event_reader(source, batches)


def _batches(
    events: Iterator[tuple[int, dict[str, Any]]], type_: EventType, event_id: str | None, batch_rows: int
) -> Iterator[EventBatch]:
    while part := list(itertools.islice(events, batch_rows)):
        numbers = np.fromiter((number for number, _ in part), np.int64, len(part))
        yield EventBatch.of([event for _, event in part], type_, event_id, numbers=numbers)


def _lines(file: IO[bytes], limit: int) -> Iterator[tuple[bytes, bool]]:
    """Each line, cut where it is too long, and whether it is."""
    while line := file.readline(limit + 1):
        too_long = len(line) > limit and not line.endswith(b"\n")
        rest = line
        while too_long and rest and not rest.endswith(b"\n"):
            rest = file.readline(limit)
        yield line, too_long


def read_csv(
    source: EventSource, event_type: Any = None, *, event_id: str | None = None, batch_rows: int = BATCH_ROWS
) -> EventReader:
    """Events from CSV; see `read_events`."""
    type_ = EventType.of(event_type)

    def batches(dead_letters: list[DeadLetter]) -> Iterator[EventBatch]:
        with _open(source) as file:
            text = io.TextIOWrapper(file, "utf-8-sig", errors="replace", newline="")
            try:
                yield from _batches(_csv_events(text, type_, dead_letters), type_, event_id, batch_rows)
            finally:
                text.detach()  # the file is not ours to close

    return _event_reader(source, batches)


def _csv_events(
    text: io.TextIOWrapper, type_: EventType, dead_letters: list[DeadLetter]
) -> Iterator[tuple[int, dict[str, Any]]]:
    rows = csv.reader(text)
    header = next(rows, [])
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        msg = f"the header names {', '.join(map(repr, twice))} twice"
        raise csv.Error(msg)
    cells = [_cell_reader(type_, name) for name in header]
    number = -1
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            number += 1
            reason = f"not CSV: {error}"
            dead_letters.append(DeadLetter(DeadLetterKind.MALFORMED, reason, b"", line_number=rows.line_num))
            continue
        if row:
            number += 1
            pairs = zip(header, cells, row, strict=False)
            yield number, {name: _value(read, cell) if cell else None for name, read, cell in pairs}


def _value(read: Callable[[str], Any], cell: str) -> Any:
    """The value of a cell; of one that does not fit, its bytes, so that it is known that there was something.

    Not its text: an attribute of another type might take that for a value.
    """
    value = read(cell)
    return cell.encode() if value is None else value


def _cell_reader(event_type: EventType, name: str) -> Callable[[str], Any]:
    """The function from a cell to the Python value that an event of JSON would have."""
    if event_type.is_schemaless:
        return loose_value
    declared = [attribute.type for attribute in event_type.find(name) if attribute.name == name]
    if not declared:
        return str
    type_ = declared[0]
    if type_ in INTEGER_BITS or type_.name == "boolean" or type_ in (FLOAT, DOUBLE):
        return caster(STRING, type_, event_type.time_zone)
    if type_.name == "decimal":
        cast = caster(STRING, type_, event_type.time_zone)
        return lambda cell: _unscaled_decimal(cast(cell), type_.scale)
    if type_.name == "binary":
        return str.encode
    return _parse_cell if type_.name in NESTED else str


_EXACT = Context(prec=MAX_PRECISION)


def _unscaled_decimal(unscaled: Value, scale: int) -> Decimal | None:
    return None if unscaled is None else Decimal(unscaled).scaleb(-scale, _EXACT)


def _parse_cell(cell: str) -> Any:
    parsed = json_parser(json_decoder(EventType()))(b'{"cell":' + cell.encode() + b"}")
    return None if isinstance(parsed, str) else parsed["cell"]


_NUMBER = re.compile(r"[+-]?(?:[0-9]+|(?P<fraction>[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?)")


def loose_value(cell: str) -> bool | int | float | str:
    """The value of a cell of a schemaless CSV, by its form alone."""
    found = _NUMBER.fullmatch(cell)
    if found is None:
        return {"true": True, "false": False}.get(cell.lower(), cell)
    return float(cell) if found["fraction"] is not None else loose_integer(cell)


def read_parquet(
    source: EventSource, event_type: Any = None, *, event_id: str | None = None, batch_rows: int = BATCH_ROWS
) -> EventReader:
    """Events from a Parquet file, or a directory of them; see `read_events`."""
    type_ = EventType.of(event_type)

    def record_batches() -> Iterator[pa.RecordBatch]:
        if isinstance(source, (str, os.PathLike)) and Path(source).is_dir():
            import pyarrow.dataset as pds  # imports pandas, if it is there, which takes 0.4 s

            yield from pds.dataset(source, format="parquet").to_batches(batch_size=batch_rows)
            return
        with _open(source) as file:
            seekable = file if file.seekable() else io.BytesIO(file.read())
            yield from pq.ParquetFile(seekable).iter_batches(batch_rows)

    def batches(_: list[DeadLetter]) -> Iterator[EventBatch]:
        first = 0
        for records in record_batches():
            if records.num_rows:
                numbers = np.arange(first, first + records.num_rows)
                yield EventBatch.of(records, type_, event_id, numbers=numbers)
                first += records.num_rows

    return _event_reader(source, batches)
