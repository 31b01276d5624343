"""Tasks load rows into PostgreSQL, and one transaction takes over those of the tasks that succeeded."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import closing

import psycopg
import pytest
import sqlalchemy as sa

from tamis.notifications import DEAD_LETTERS, NOTIFICATIONS, id_keys
from tamis.sinks import Committed, Delivery, Part, Sink, SinkError, SqlSink, WebhookSink
from tamis.sinks.staging import STAGED_NOTIFICATIONS, StagingTaskWriter
from tests.sinks.conftest import empty_database
from tests.sinks.deliveries import database_sink, delivery, rows, rows_of_database

TABLES = {"sql": "tamis_notifications", "webhook": "tamis_deliveries"}


@pytest.fixture(params=TABLES)
def sink(request: pytest.FixtureRequest) -> Iterator[tuple[SqlSink | WebhookSink, str, str]]:
    """A sink, its database and the table that it fills."""
    url = empty_database(request)
    made = database_sink(request.param, url)
    assert isinstance(made, SqlSink | WebhookSink)
    yield made, url, TABLES[request.param]
    made.close()


def stage(sink: Sink, deliveries: Sequence[Delivery], attempt: int = 0) -> list[Part]:
    """What tasks write, each in its own process: one for each delivery."""
    writer = pickle.loads(pickle.dumps(sink.task_writer(deliveries[0].key)))
    parts = []
    for partition, each in enumerate(deliveries):
        part = writer.open(partition, attempt)
        part.add(each.notifications, id_keys(each.notifications["id"]), each.notifications["event_id"].unique())
        part.add_dead(each.dead)
        parts.append(part.finish())
    return parts


def test_one_transaction_takes_what_tasks_loaded(sink: tuple[SqlSink | WebhookSink, str, str]) -> None:
    made, url, table = sink
    strange = [b'\x00\xff,"\n', b""]
    first = [delivery(0, pairs, dead=strange) for pairs in ([(1, 1), (2, 1)], [(2, 1), (3, 1)])]
    parts = stage(made, first)
    assert rows_of_database(url, table, NOTIFICATIONS) == [], "what is staged is not there yet"
    assert made.publish(first[0].key, parts) == Committed(3, 1)
    second = [delivery(1, pairs) for pairs in ([(3, 1)], [(4, 1)])]
    assert made.publish(second[0].key, stage(made, second)) == Committed(1, 1)

    expected = [
        *rows(delivery(0, [(1, 1), (2, 1), (3, 1)]).notifications),
        *rows(delivery(1, [(4, 1)]).notifications),
    ]
    found = rows_of_database(url, table, NOTIFICATIONS)
    assert found == sorted(expected, key=lambda row: str(row["id"]))
    assert rows_of_database(url, "tamis_dead_letters", DEAD_LETTERS) == rows(first[0].dead)
    with closing(psycopg.connect(url.replace("+psycopg", ""))) as connection:
        assert connection.execute("SELECT dead FROM tamis_commits ORDER BY batch").fetchall() == [(2,), (0,)]
    assert rows_of_database(url, STAGED_NOTIFICATIONS, NOTIFICATIONS) == []


def test_the_password_of_the_database_is_not_printed(sink: tuple[SqlSink | WebhookSink, str, str]) -> None:
    made, url, _ = sink
    writer = made.task_writer(delivery(0, []).key)
    assert isinstance(writer, StagingTaskWriter)
    assert writer.connect["dbname"] == sa.make_url(url).database
    assert writer.connect["dbname"] not in repr(writer)


def test_a_batch_that_is_done_again_changes_nothing(sink: tuple[SqlSink | WebhookSink, str, str]) -> None:
    made, url, table = sink
    batch = [delivery(0, [(1, 1)])]
    assert made.publish(batch[0].key, stage(made, batch)) == Committed(1, 0)
    assert made.publish(batch[0].key, stage(made, batch, attempt=1)) == Committed(1, 0, again=True)
    assert len(rows_of_database(url, table, NOTIFICATIONS)) == 1
    assert rows_of_database(url, STAGED_NOTIFICATIONS, NOTIFICATIONS) == []


def test_attempts_that_nobody_reports_are_never_seen(sink: tuple[SqlSink | WebhookSink, str, str]) -> None:
    made, url, table = sink
    batch = delivery(0, [(1, 1)])
    stage(made, [delivery(0, [(9, 9)])])
    assert made.publish(batch.key, stage(made, [batch], attempt=1)) == Committed(1, 0)
    assert rows_of_database(url, table, NOTIFICATIONS) == rows(batch.notifications)
    assert rows_of_database(url, STAGED_NOTIFICATIONS, NOTIFICATIONS) == []


def test_rows_that_a_crash_of_the_server_took_are_missed(sink: tuple[SqlSink | WebhookSink, str, str]) -> None:
    made, url, table = sink
    batch = delivery(0, [(1, 1), (2, 1)])
    parts = stage(made, [batch])
    engine = sa.create_engine(url)
    with engine.begin() as connection:  # what a crash does to a table that is not logged
        connection.execute(sa.text(f"TRUNCATE {STAGED_NOTIFICATIONS}"))
    engine.dispose()
    with pytest.raises(SinkError, match="has 0 rows of 2 that tasks wrote"):
        made.publish(batch.key, parts)
    assert rows_of_database(url, table, NOTIFICATIONS) == []
    assert made.publish(batch.key, stage(made, [batch], attempt=1)) == Committed(2, 0)


def test_sqlite_has_one_writer(tmp_path_factory: pytest.TempPathFactory) -> None:
    sink = SqlSink(url=f"sqlite:///{tmp_path_factory.mktemp('found') / 'found.db'}")
    assert sink.task_writer(delivery(0, []).key) is None
    sink.close()
