"""Reads subscriptions from files (JSON lines, CSV, Parquet, a text with one condition per line) or from a store.

A malformed record gives an entry with its problems; only an unreadable file raises an error. Conditions are not
compiled here.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tamis.cli.inputs import STDIN, source_name
from tamis.cli.output import note
from tamis.errors import SubscriptionError
from tamis.events.conversion import clean
from tamis.language.dialects import SQL, dialect_of, record_of
from tamis.segments.fields import OLD_TYPE, RENAME, unknown_field, with_event_type
from tamis.urls import is_store

_STORED = ("label", "valid_from", "expires", "state")
_KEYS = ("id", "condition", "event_type", "priority", "owner", *_STORED, "dialect")
_JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
_COMMENTS = ("#", "--")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class SubscriptionEntry:
    """One subscription of a file.

    Attributes:
        id: The id or, in a text of conditions, the line number; may be empty if there are problems.
        condition: The text of the condition.
        file: The name of the file.
        line: The first line of the record, counted from 1; the row in a Parquet file.
        whole_line: Is the condition the whole line, so that its columns are those of the file?
        event_type: The event type that the record names.
        priority: Subscriptions of higher priority come first.
        owner: The owner of the subscription.
        stored: The fields that only a store keeps, as far as the record has them.
        is_old: Does the record name the event type as `type`?
        problems: The problems of the record, apart from its condition.
        dialect: Of the condition.
    """

    id: str
    condition: str
    file: str
    line: int
    whole_line: bool = False
    event_type: str | None = None
    priority: int = 0
    owner: str | None = None
    stored: Mapping[str, Any] = field(default_factory=dict)
    is_old: bool = False
    problems: tuple[str, ...] = ()
    dialect: str = SQL

    @property
    def place(self) -> str:
        """File and line, such as `cameras.jsonl:3`."""
        return f"{self.file}:{self.line}"

    @property
    def is_paused(self) -> bool:
        """Is it left out of matching?"""
        return self.stored.get("state") == "paused"


def read_subscriptions(
    source: str, *, event_type: str | None = None, dialect: str = SQL
) -> list[SubscriptionEntry]:
    """The subscriptions of a file, by its suffix, of standard input, or of a store.

    Args:
        source: A path, the URL of a store, or `-` for standard input: JSON lines, conditions, or both.
        event_type: Name of the event type; subscriptions to another one get a problem, in a store they are
            left out.
        dialect: Of the conditions of a file that name none.

    Raises:
        SubscriptionError: The file does not have the format of its suffix.
        DialectError: There is no such dialect.
    """
    dialect_of(dialect)
    suffix = "" if source == STDIN else Path(source).suffix.lower()
    try:
        found: Iterable[SubscriptionEntry]
        if is_store(source):
            found = _read_store(source, event_type)
        elif suffix == ".parquet":
            found = _parquet(source, dialect)
        elif suffix == ".csv":
            found = _csv(source, _text(source), dialect)
        else:
            found = _lines(source, json_only=suffix in _JSON_SUFFIXES, dialect=dialect)
        entries = list(_check_together(found, event_type))
    except (csv.Error, UnicodeDecodeError) as error:
        msg = f"{source_name(source)}: {error}"
        raise SubscriptionError(msg) from error
    old = next((entry for entry in entries if entry.is_old), None)
    if old is not None:
        note(f"tamis: warning: {old.place}: {RENAME}")
    return entries


def _read_store(source: str, event_type: str | None) -> Iterator[SubscriptionEntry]:
    from tamis.store import Store
    from tamis.store.tables import PAUSED

    with Store.open(source, create=False) as store:
        for number, each in enumerate(store.list(event_type=event_type), 1):
            named = each.event_type, each.priority, each.owner
            paused = {"state": PAUSED} if each.state == PAUSED else {}
            yield SubscriptionEntry(
                each.id, each.condition, store.url, number, False, *named, paused, dialect=each.dialect
            )


def _check_together(entries: Iterable[SubscriptionEntry], event_type: str | None) -> Iterator[SubscriptionEntry]:
    """The entries, with problems that involve several entries or the event type added."""
    places: dict[str, int] = {}
    for entry in entries:
        problems = list(entry.problems)
        if entry.id in places:
            problems.append(f"there is already a subscription {entry.id!r}, at line {places[entry.id]}")
        elif entry.id:
            places[entry.id] = entry.line
        if event_type is not None and entry.event_type is not None and entry.event_type != event_type:
            problems.append(f"it is for events of type {entry.event_type!r}, these are of type {event_type!r}")
        yield entry if len(problems) == len(entry.problems) else replace(entry, problems=tuple(problems))


def _bytes(source: str) -> bytes:
    return sys.stdin.buffer.read() if source == STDIN else Path(source).read_bytes()


def _text(source: str) -> str:
    return _bytes(source).decode("utf-8-sig")


def _lines(source: str, *, json_only: bool, dialect: str) -> Iterator[SubscriptionEntry]:
    file = source_name(source)
    for number, line in enumerate(_bytes(source).removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            text = line.decode().removesuffix("\r")
        except UnicodeDecodeError as error:
            problem = f"not UTF-8: {error.reason} at byte {error.start}"
            yield SubscriptionEntry("", "", file, number, problems=(problem,))
            continue
        start = text.lstrip()
        if not start:
            continue
        if json_only or (start.startswith("{") and _is_record(text, dialect)):
            yield _json(text, file, number, dialect)
        elif not start.startswith(_COMMENTS):
            yield SubscriptionEntry(str(number), text, file, number, whole_line=True, dialect=dialect)


def _is_record(text: str, dialect: str) -> bool:
    """Is a line with a brace a record? No condition in SQL starts so; elsewhere it is one if it has a plain id."""
    if dialect == SQL:
        return True
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False  # the dialect says what is wrong, and where
    return isinstance(found, dict) and isinstance(found.get("id", found.get("_id")), str | int)


def _json(text: str, file: str, line: int, dialect: str) -> SubscriptionEntry:
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        return SubscriptionEntry("", "", file, line, problems=(f"not JSON: {error.msg} at column {error.colno}",))
    except (ValueError, RecursionError) as error:
        return SubscriptionEntry("", "", file, line, problems=(f"not JSON: {error}",))
    if not isinstance(record, dict):
        return SubscriptionEntry("", "", file, line, problems=("expected a JSON object with id and condition",))
    if record_of(record, dialect) is not record:
        record = {"id": str(line), **record_of(record, dialect)}
    if isinstance(record.get("condition"), dict) and record.get("dialect", dialect) != SQL:
        record["condition"] = json.dumps(record["condition"], ensure_ascii=False)  # a pattern, not its text
    return _entry(record, file, line, dialect)


def _csv(source: str, text: str, dialect: str) -> Iterator[SubscriptionEntry]:
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
            entry = _entry(record, file, first, dialect)
            if len(row) > len(header):
                problem = f"expected {len(header)} cells, found {len(row)}; is a comma not quoted?"
                entry = replace(entry, problems=(*entry.problems, problem))
            yield entry
        first = rows.line_num + 1


def _parquet(source: str, dialect: str) -> Iterator[SubscriptionEntry]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names = pq.ParquetFile(source).schema_arrow.names
        _check_columns(names, source)
        table = pq.read_table(source)
    except pa.ArrowException as error:
        msg = f"{source}: {error}"
        raise SubscriptionError(msg) from error
    for row, record in enumerate(table.to_pylist(), 1):
        yield _entry(record, source, row, dialect)


def _check_columns(names: list[str], file: str) -> None:
    missing = [name for name in ("id", "condition") if name not in names]
    if missing:
        found = ", ".join(names) or "none"
        msg = f"{file}: there is no column {' and no column '.join(missing)}; found {found}"
        raise SubscriptionError(msg)
    unknown = _unknown_keys(names, "column")
    if unknown:
        msg = f"{file}: {'; '.join(unknown)}"
        raise SubscriptionError(msg)


def _entry(record: Mapping[str, Any], file: str, line: int, dialect: str) -> SubscriptionEntry:
    """The entry of a record, with all of its problems."""
    problems = _unknown_keys(record, "key")
    is_old = False
    try:
        record, is_old = with_event_type(record)
    except SubscriptionError as error:
        problems.append(str(error))
    id, condition = record.get("id"), record.get("condition")
    if isinstance(id, int) and not isinstance(id, bool):
        id = str(id)
    if not isinstance(id, str) or not id:
        problems.append(_expected_text("id", "a text or an integer", record))
        id = ""
    if not isinstance(condition, str):
        problems.append(_expected_text("condition", "a text", record))
        condition = ""
    priority = record.get("priority")
    if priority is None:
        priority = 0
    elif not isinstance(priority, int) or isinstance(priority, bool):
        problems.append(_expected_text("priority", "an integer", record))
        priority = 0
    texts = {}
    for key in ("event_type", "owner", "dialect"):
        texts[key] = record.get(key)
        if texts[key] is not None and not isinstance(texts[key], str):
            problems.append(_expected_text(key, "a text", record))
            texts[key] = None
    return SubscriptionEntry(
        clean(id),
        clean(condition),
        file,
        line,
        event_type=texts["event_type"],
        priority=priority,
        owner=texts["owner"],
        stored={key: record[key] for key in _STORED if key in record},
        is_old=is_old,
        problems=tuple(problems),
        dialect=texts["dialect"] or dialect,
    )


def _expected_text(key: str, kind: str, record: Mapping[str, Any]) -> str:
    value = record.get(key)
    if value is not None:
        return f"{key}: expected {kind}, found {json.dumps(value, default=str)[:80]}"
    return f"{key} is missing"


def _unknown_keys(names: Iterable[str], what: str) -> list[str]:
    """The problems of keys that no subscription has."""
    return [unknown_field(name, _KEYS, what) for name in names if name not in (*_KEYS, OLD_TYPE)]
