"""Subscriptions from files: JSON lines, CSV, Parquet, a text with one condition a line; or from a store.

A record that is no subscription keeps its place in the result, with everything that is wrong with it; only
what makes the whole file unreadable is an error. Conditions are not looked into here.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tamis.cli.inputs import STDIN, source_name
from tamis.errors import SubscriptionError
from tamis.events.conversion import clean
from tamis.places import is_store

_KEYS = ("id", "condition", "type", "priority", "owner")
_JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
_COMMENTS = ("#", "--")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Entry:
    """One subscription of a file.

    Attributes:
        id: Its own or, in a text of conditions, its line number; may be empty if there are problems.
        condition: Its text.
        file: Where it stands.
        line: Its first line, counted from 1; the row of a Parquet file.
        whole_line: Is the condition the line itself, so that columns are those of the file?
        type: The event type that it says it is for.
        priority: Higher ones come first.
        owner: Whose it is.
        problems: What is wrong with the record, apart from its condition.
    """

    id: str
    condition: str
    file: str
    line: int
    whole_line: bool = False
    type: str | None = None
    priority: int = 0
    owner: str | None = None
    problems: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """`cameras.jsonl:3`."""
        return f"{self.file}:{self.line}"


def read_subscriptions(source: str, *, event_type: str | None = None) -> list[Entry]:
    """The subscriptions of a file, by its suffix, of standard input, or of a store.

    Args:
        source: A path, the URL of a store, or `-` for standard input: JSON lines, conditions, or both.
        event_type: Name of the event type; a subscription to another one has a problem, in a store it is left out.

    Raises:
        SubscriptionError: The file cannot be read as what its suffix says.
    """
    suffix = "" if source == STDIN else Path(source).suffix.lower()
    try:
        found: Iterable[Entry]
        if is_store(source):
            found = _stored(source, event_type)
        elif suffix == ".parquet":
            found = _parquet(source)
        elif suffix == ".csv":
            found = _csv(source, _text(source))
        else:
            found = _lines(source, json_only=suffix in _JSON_SUFFIXES)
        return list(_checked(found, event_type))
    except (csv.Error, UnicodeDecodeError) as error:
        msg = f"{source_name(source)}: {error}"
        raise SubscriptionError(msg) from error


def _stored(source: str, event_type: str | None) -> Iterator[Entry]:
    from tamis.store import Store

    with Store.open(source, create=False) as store:
        for number, each in enumerate(store.list(event_type=event_type), 1):
            yield Entry(
                each.id, each.condition, store.url, number, False, each.event_type, each.priority, each.owner
            )


def _checked(entries: Iterable[Entry], event_type: str | None) -> Iterator[Entry]:
    """The entries, with the problems that show only in company."""
    places: dict[str, int] = {}
    for entry in entries:
        problems = list(entry.problems)
        if entry.id in places:
            problems.append(f"there is already a subscription {entry.id!r}, at line {places[entry.id]}")
        elif entry.id:
            places[entry.id] = entry.line
        if event_type is not None and entry.type is not None and entry.type != event_type:
            problems.append(f"it is for events of type {entry.type!r}, these are of type {event_type!r}")
        yield entry if len(problems) == len(entry.problems) else replace(entry, problems=tuple(problems))


def _bytes(source: str) -> bytes:
    return sys.stdin.buffer.read() if source == STDIN else Path(source).read_bytes()


def _text(source: str) -> str:
    return _bytes(source).decode("utf-8-sig")


def _lines(source: str, *, json_only: bool) -> Iterator[Entry]:
    file = source_name(source)
    for number, line in enumerate(_bytes(source).removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            text = line.decode().removesuffix("\r")
        except UnicodeDecodeError as error:
            problem = f"not UTF-8: {error.reason} at byte {error.start}"
            yield Entry("", "", file, number, problems=(problem,))
            continue
        start = text.lstrip()
        if not start:
            continue
        if json_only or start.startswith("{"):  # no condition starts like that
            yield _json(text, file, number)
        elif not start.startswith(_COMMENTS):
            yield Entry(str(number), text, file, number, whole_line=True)


def _json(text: str, file: str, line: int) -> Entry:
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        return Entry("", "", file, line, problems=(f"not JSON: {error.msg} at column {error.colno}",))
    except (ValueError, RecursionError) as error:
        return Entry("", "", file, line, problems=(f"not JSON: {error}",))
    if not isinstance(record, dict):
        return Entry("", "", file, line, problems=("expected a JSON object with id and condition",))
    return _entry(record, file, line)


def _csv(source: str, text: str) -> Iterator[Entry]:
    file = source_name(source)
    rows = csv.reader(io.StringIO(text, newline=""))
    header = [name.strip() for name in next(rows, [])]
    _check_columns(header, file)
    first = rows.line_num + 1
    for row in rows:
        if row:
            record: dict[str, Any] = {name: cell or None for name, cell in zip(header, row, strict=False)}
            priority = record.get("priority")
            if priority is not None and _INTEGER.fullmatch(priority):
                record["priority"] = int(priority)
            entry = _entry(record, file, first)
            if len(row) > len(header):
                problem = f"expected {len(header)} cells, found {len(row)}; is a comma not quoted?"
                entry = replace(entry, problems=(*entry.problems, problem))
            yield entry
        first = rows.line_num + 1


def _parquet(source: str) -> Iterator[Entry]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names = pq.ParquetFile(source).schema_arrow.names
        _check_columns(names, source)
        table = pq.read_table(source, columns=[name for name in _KEYS if name in names])
    except pa.ArrowException as error:
        msg = f"{source}: {error}"
        raise SubscriptionError(msg) from error
    for row, record in enumerate(table.to_pylist(), 1):
        yield _entry(record, source, row)


def _check_columns(names: list[str], file: str) -> None:
    missing = [name for name in ("id", "condition") if name not in names]
    if missing:
        found = ", ".join(names) or "none"
        msg = f"{file}: there is no column {' and no column '.join(missing)}; found {found}"
        raise SubscriptionError(msg)


def _entry(record: Mapping[str, Any], file: str, line: int) -> Entry:
    """A record as a subscription, with all that is wrong with it."""
    problems: list[str] = []
    id, condition = record.get("id"), record.get("condition")
    if isinstance(id, int) and not isinstance(id, bool):
        id = str(id)
    if not isinstance(id, str) or not id:
        problems.append(_expected("id", "a text or an integer", record))
        id = ""
    if not isinstance(condition, str):
        problems.append(_expected("condition", "a text", record))
        condition = ""
    priority = record.get("priority")
    if priority is None:
        priority = 0
    elif not isinstance(priority, int) or isinstance(priority, bool):
        problems.append(_expected("priority", "an integer", record))
        priority = 0
    texts = {}
    for key in ("type", "owner"):
        texts[key] = record.get(key)
        if texts[key] is not None and not isinstance(texts[key], str):
            problems.append(_expected(key, "a text", record))
            texts[key] = None
    return Entry(
        clean(id),
        clean(condition),
        file,
        line,
        type=texts["type"],
        priority=priority,
        owner=texts["owner"],
        problems=tuple(problems),
    )


def _expected(key: str, kind: str, record: Mapping[str, Any]) -> str:
    value = record.get(key)
    if value is not None:
        return f"{key}: expected {kind}, found {json.dumps(value, default=str)[:80]}"
    unknown = [str(name) for name in record if name not in _KEYS]
    close = get_close_matches(key, unknown, 1)
    return f"{key} is missing" + (f"; is {close[0]!r} meant to be it?" if close else "")
