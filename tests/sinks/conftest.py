"""What the tests of sinks share: one test body for every sink, whatever it writes to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pytest
import sqlalchemy as sa

from tamis.notifications import DEAD_LETTERS, NOTIFICATIONS
from tamis.sinks import CallbackSink, Delivery, Sink
from tests.sinks.deliveries import RETENTION, database_sink, file_sink, rows, rows_of_database, rows_of_files

Rows: TypeAlias = list[dict[str, object]]


@dataclass
class World:
    """A sink that can be opened anew, as another process would, and what it has."""

    kind: str
    open: Callable[[], Sink]
    notifications: Callable[[], Rows]
    dead: Callable[[], Rows]
    opened: list[Sink]

    @property
    def sink(self) -> Sink:
        self.opened.append(self.open())
        return self.opened[-1]


KINDS = ["delta", "parquet", "jsonl", "callback", "sqlite", "webhook", "postgresql"]


@pytest.fixture(params=KINDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made = make_world(request.param, request, tmp_path)
    yield made
    for sink in made.opened:
        sink.close()


def make_world(kind: str, request: pytest.FixtureRequest, folder: Path) -> World:
    if kind in ("delta", "parquet", "jsonl"):
        found = folder / "found"
        return World(
            kind,
            lambda: file_sink(kind, folder),
            lambda: rows_of_files(found)[0],
            lambda: rows_of_files(found)[1],
            [],
        )
    if kind == "callback":
        taken: list[Delivery] = []
        return World(
            kind,
            lambda: CallbackSink(call=taken.append, state=folder / "state", retention=RETENTION),
            lambda: _taken(taken, "notifications", NOTIFICATIONS),
            lambda: _taken(taken, "dead", DEAD_LETTERS),
            [],
        )
    url = f"sqlite:///{folder / 'found.db'}" if kind != "postgresql" else empty_database(request)
    table = "tamis_deliveries" if kind == "webhook" else "tamis_notifications"
    return World(
        kind,
        lambda: database_sink(kind, url),
        lambda: rows_of_database(url, table, NOTIFICATIONS),
        lambda: rows_of_database(url, "tamis_dead_letters", DEAD_LETTERS),
        [],
    )


def _taken(taken: list[Delivery], what: str, schema: pa.Schema) -> Rows:
    return rows(pa.concat_tables([schema.empty_table(), *(getattr(each, what) for each in taken)]))


def empty_database(request: pytest.FixtureRequest) -> str:
    """The URL of a PostgreSQL in which there are none of our tables."""
    url: str = request.getfixturevalue("postgresql_url")
    engine = sa.create_engine(sa.make_url(url).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        for table in ("tamis_commits", "tamis_dead_letters", "tamis_notifications", "tamis_deliveries"):
            connection.execute(sa.text(f"DROP TABLE IF EXISTS {table}"))
    engine.dispose()
    return str(engine.url.render_as_string(hide_password=False))
