"""Tables as bytes and back: Parquet, and JSON with one object a line.

What is read is what was written, to the last microsecond and byte. In JSON a time is
`2026-02-28T12:00:00.000000Z`, and bytes are text in `original`, or base64 in `original_base64` where they are
not UTF-8.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from json.encoder import encode_basestring as quoted
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tamis.notifications import ADDED, JSON_COLUMN, NOTIFICATIONS, json_object, with_added_columns


@dataclass(frozen=True, slots=True)
class Format:
    """How tables are stored.

    Attributes:
        suffix: How names of files end.
        encode: A table as bytes.
        decode: The table of a schema that bytes hold.
    """

    suffix: str
    encode: Callable[[pa.Table], memoryview]
    decode: Callable[[bytes, pa.Schema], pa.Table]


def json_lines(table: pa.Table) -> list[str]:
    """Each row as a JSON object, in one line."""
    members = [_members(name, table[name]) for name in table.column_names]
    return [f"{{{','.join(filter(None, row))}}}" for row in zip(*members, strict=True)]


def time_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times in UTC as `2026-02-28 12:00:00.000000`."""
    # Through a number, since Arrow looks time zones up in a database that not every machine has.
    return column.cast(pa.int64()).cast(pa.timestamp("us")).cast(pa.string())


def _members(name: str, column: pa.ChunkedArray) -> list[str]:
    """The member of the object that each value makes."""
    if pa.types.is_binary(column.type):
        return [_bytes_member(name, value) for value in column.to_pylist()]
    if name == JSON_COLUMN:
        values = [f'"{name}":{value}' if value is not None else None for value in column.to_pylist()]
    elif pa.types.is_string(column.type):
        values = [f'"{name}":{quoted(value)}' if value is not None else None for value in column.to_pylist()]
    elif pa.types.is_timestamp(column.type):
        texts = pc.replace_substring(time_texts(column), " ", "T").to_pylist()
        values = [f'"{name}":"{value}Z"' if value is not None else None for value in texts]
    else:
        nothing = 0 if name in ADDED else None
        values = [f'"{name}":{value}' if value != nothing else None for value in column.to_pylist()]
    missing = "" if name in ADDED else f'"{name}":null'
    return [missing if value is None else value for value in values]


def _bytes_member(name: str, value: bytes) -> str:
    try:
        return f'"{name}":{quoted(value.decode("utf-8"))}'
    except UnicodeDecodeError:
        return f'"{name}_base64":"{base64.b64encode(value).decode("ascii")}"'


def _to_lines(table: pa.Table) -> memoryview:
    return memoryview("".join(f"{line}\n" for line in json_lines(table)).encode("utf-8"))


def _from_lines(content: bytes, schema: pa.Schema) -> pa.Table:
    rows = [json.loads(line) for line in content.splitlines()]
    columns = [_column(rows, field) for field in schema]
    return pa.table(columns, schema=schema)


def _column(rows: list[dict[str, Any]], field: pa.Field) -> pa.Array:
    if pa.types.is_binary(field.type):
        values = [
            row[field.name].encode() if field.name in row else base64.b64decode(row[f"{field.name}_base64"])
            for row in rows
        ]
        return pa.array(values, field.type)
    if field.name == JSON_COLUMN:
        given = [row.get(field.name) for row in rows]
        return pa.array([None if value is None else json_object(value) for value in given], field.type)
    if field.name in ADDED:
        nothing = 0 if pa.types.is_integer(field.type) else None
        return pa.array([row.get(field.name, nothing) for row in rows], field.type)
    if pa.types.is_timestamp(field.type):
        return pa.array([row[field.name] for row in rows], pa.string()).cast(field.type)
    return pa.array([row[field.name] for row in rows], field.type)


def _to_parquet(table: pa.Table) -> memoryview:
    with pa.BufferOutputStream() as stream:
        pq.write_table(table, stream, compression="zstd", use_dictionary=["subscription_id", "event_type", "kind"])
        return memoryview(stream.getvalue())


def _from_parquet(content: bytes, schema: pa.Schema) -> pa.Table:
    found = pq.read_table(pa.BufferReader(content))
    if schema == NOTIFICATIONS:
        found = with_added_columns(found)
    return found.cast(schema)


PARQUET = Format("parquet", _to_parquet, _from_parquet)
JSON_LINES = Format("jsonl", _to_lines, _from_lines)
FORMATS = {format.suffix: format for format in (PARQUET, JSON_LINES)}
"""By suffix."""
