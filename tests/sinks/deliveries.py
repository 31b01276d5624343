"""Deliveries for the tests of sinks, made of pairs of small numbers, and reading back what a sink has."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from tamis.notifications import DEAD_LETTERS, NOTIFICATIONS, dead_letter_ids, json_object, notification_ids
from tamis.sinks import (
    Delivery,
    DeltaSink,
    JsonLinesSink,
    ParquetSink,
    Sink,
    SqlSink,
    WebhookSink,
    read_dead_letters,
    read_notifications,
)

START = datetime(2026, 2, 28, 12, 0, 0, 123456, tzinfo=UTC)
RETENTION = timedelta(hours=1)
PRIORITIES = {40: 2**40, 41: 5, 42: -1, 43: -(2**63)}
"""Of subscriptions by number; others have 0."""


def at(batch: int) -> datetime:
    return START + timedelta(minutes=batch)


def notifications(pairs: Iterable[tuple[int, int]], when: datetime, *, version: int = 1) -> pa.Table:
    """A notification of each (event, subscription); every third event has no time."""
    pairs = list(pairs)
    events = pa.array([f"event {event} é" for event, _ in pairs], pa.string())
    subscriptions = pa.array([f"s{subscription}" for _, subscription in pairs], pa.string())
    revisions = pa.array([1 + subscription % 2 for _, subscription in pairs], pa.int64())
    times = [START - timedelta(seconds=event) if event % 3 else None for event, _ in pairs]
    columns = [
        notification_ids(events, subscriptions, revisions),
        events,
        subscriptions,
        revisions,
        pa.array(["offer"] * len(pairs), pa.string()),
        pa.array([version] * len(pairs), pa.int64()),
        pa.array(times, NOTIFICATIONS.field("event_time").type),
        pa.array([when] * len(pairs), NOTIFICATIONS.field("matched_at").type),
        pa.array(["yuto" if subscription % 2 else None for _, subscription in pairs], pa.string()),
        pa.array([f'"{subscription}" é' if subscription % 3 else None for _, subscription in pairs], pa.string()),
        pa.array(
            [json_object({"price": event / 4, "shop": "é\n"}) if event % 2 else None for event, _ in pairs],
            pa.string(),
        ),
        pa.array([PRIORITIES.get(subscription, 0) for _, subscription in pairs], pa.int64()),
    ]
    return pa.table(columns, schema=NOTIFICATIONS)


def dead_letters(originals: Iterable[bytes], when: datetime) -> pa.Table:
    originals = list(originals)
    kinds = pa.array(["malformed"] * len(originals), pa.string())
    bodies = pa.array(originals, pa.binary())
    columns = [
        dead_letter_ids(kinds, bodies),
        pa.array([None] * len(originals), pa.string()),
        kinds,
        pa.array([f"no JSON: {len(original)} bytes" for original in originals], pa.string()),
        bodies,
        pa.array([when] * len(originals), DEAD_LETTERS.field("at").type),
    ]
    return pa.table(columns, schema=DEAD_LETTERS)


def delivery(
    batch: int,
    pairs: Iterable[tuple[int, int]],
    *,
    dead: Iterable[bytes] = (),
    query: str = "a query",
    when: datetime | None = None,
) -> Delivery:
    when = when or at(batch)
    return Delivery(query, batch, when, 1, notifications(pairs, when), dead_letters(dead, when))


def file_sink(kind: str, folder: Path) -> Sink:
    if kind == "delta":
        return DeltaSink(folder=folder / "found", retention=RETENTION)
    if kind == "parquet":
        return ParquetSink(folder=folder / "found", retention=RETENTION)
    if kind == "jsonl":
        return JsonLinesSink(folder=folder / "found", retention=RETENTION)
    return database_sink(kind, f"sqlite:///{folder / 'found.db'}")


def database_sink(kind: str, url: str) -> Sink:
    return WebhookSink(url=url) if kind == "webhook" else SqlSink(url=url)


def rows(table: pa.Table) -> list[dict[str, object]]:
    return sorted(table.to_pylist(), key=lambda row: str(row["id"]))


def rows_of_files(folder: str | os.PathLike[str]) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    return rows(read_notifications(folder)), rows(read_dead_letters(folder))


def rows_of_database(url: str, table: str, schema: pa.Schema) -> list[dict[str, object]]:
    """The rows of a table in the columns of a schema; times with their zone."""
    engine = sa.create_engine(sa.make_url(url))
    found = sa.table(table, *(sa.column(each.name, _type(each)) for each in schema))
    with engine.connect() as connection:
        result = [dict(row) for row in connection.execute(sa.select(*found.c[tuple(schema.names)])).mappings()]
    engine.dispose()
    for row in result:
        for name, value in row.items():
            if isinstance(value, datetime):
                row[name] = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return sorted(result, key=lambda row: str(row["id"]))


def _type(field: pa.Field) -> sa.types.TypeEngine[Any]:
    return sa.DateTime(timezone=True) if pa.types.is_timestamp(field.type) else sa.types.NullType()
