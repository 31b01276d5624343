"""The feed: a batch whole and once, numbers that grow, each tenant's own, dead letters, and what is forgotten."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from sqlalchemy import Connection, MetaData, event, inspect

from tamis.notifications import DEAD_LETTERS, NOTIFICATIONS, dead_letter_ids, id_keys, notification_ids
from tamis.service.feed import FeedReader, FeedSink, TenantNotification, message_id
from tamis.service.peers.outbox import Outbox
from tamis.sinks.base import Committed, Delivery, commit_as_one_part
from tamis.sql.database import Database

AT = datetime(2026, 11, 1, 12, tzinfo=UTC)
Pair = tuple[str, str]
Dead = tuple[str | None, str, bytes]


@pytest.fixture
def sink(url: str) -> Iterator[FeedSink]:
    opened = FeedSink(url=url)
    yield opened
    opened.close()


@pytest.fixture
def feed(url: str) -> Iterator[FeedReader]:
    opened = FeedReader(url)
    yield opened
    opened.close()


def delivery(batch: int, pairs: Sequence[Pair] = (), dead: Sequence[Dead] = (), *, at: datetime = AT) -> Delivery:
    """Of pairs of an event and a subscription, and dead letters by id, kind and text; names are those inside."""
    events, subscriptions = (
        pa.array([e for e, _ in pairs], pa.string()),
        pa.array([s for _, s in pairs], pa.string()),
    )
    ones = pa.array([1] * len(pairs), pa.int64())
    told = {
        "id": notification_ids(events, subscriptions, ones),
        "event_id": events,
        "subscription_id": subscriptions,
        "revision": ones,
        "event_type": pa.array(["t/event"] * len(pairs), pa.string()),
        "version": ones,
        "event_time": pa.array([None] * len(pairs), pa.timestamp("us", "UTC")),
        "matched_at": pa.array([at] * len(pairs), pa.timestamp("us", "UTC")),
    }
    kinds, texts = pa.array([k for _, k, _ in dead], pa.string()), pa.array([t for _, _, t in dead], pa.binary())
    bad = {
        "id": dead_letter_ids(kinds, texts),
        "event_id": pa.array([id for id, _, _ in dead], pa.string()),
        "kind": kinds,
        "reason": pa.array([f"there is no event type '{kind}'" for _, kind, _ in dead], pa.string()),
        "original": texts,
        "at": pa.array([at] * len(dead), pa.timestamp("us", "UTC")),
    }
    return Delivery("q", batch, at, 1, pa.table(told), pa.table(bad, schema=DEAD_LETTERS))


def pairs_of(feed: FeedReader, tenant: str) -> list[Pair]:
    return sorted((each.event_id, each.subscription_id) for each in feed.after(tenant, 0, limit=1_000))


def test_a_batch_is_committed_once(sink: FeedSink, feed: FeedReader) -> None:
    given = delivery(0, [("t/e1", "t/a"), ("t/e2", "t/a")])
    assert sink.commit(given) == Committed(2, 0)
    assert sink.commit(given) == Committed(2, 0, again=True)
    assert pairs_of(feed, "t") == [("e1", "a"), ("e2", "a")]


def test_a_notification_that_is_there_stays_where_it_is(sink: FeedSink, feed: FeedReader) -> None:
    sink.commit(delivery(0, [("t/e1", "t/a")]))
    [before] = feed.after("t", 0, limit=9)
    assert sink.commit(delivery(1, [("t/e1", "t/a"), ("t/e2", "t/a")])) == Committed(1, 1)
    first, second = feed.after("t", 0, limit=9)
    assert first == before
    assert (second.event_id, second.batch) == ("e2", 1)


def test_a_batch_that_has_a_match_twice_tells_it_once(sink: FeedSink, feed: FeedReader) -> None:
    assert sink.commit(delivery(0, [("t/e1", "t/a"), ("t/e1", "t/a")])) == Committed(1, 0)
    assert pairs_of(feed, "t") == [("e1", "a")]


def test_nothing_of_a_batch_is_there_if_a_part_cannot_be(
    sink: FeedSink, feed: FeedReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tamis.service import feed as module

    def fail(*_: object) -> None:
        msg = "no more"
        raise RuntimeError(msg)

    with monkeypatch.context() as patch:
        patch.setattr(module, "_dead_rows", fail)
        with pytest.raises(RuntimeError):
            sink.commit(delivery(0, [("t/e1", "t/a")]))
    assert feed.end() == 0
    assert sink.commit(delivery(0, [("t/e1", "t/a")])) == Committed(1, 0)


def test_label_and_attributes_are_those_of_the_batch(sink: FeedSink, feed: FeedReader) -> None:
    given = delivery(0, [("t/e1", "t/a"), ("t/e2", "t/a")])
    table = given.notifications
    for name, values in (("label", ["cheap", None]), ("attributes", ['{"n":1.5}', None])):
        place = table.column_names.index(name)
        table = table.set_column(place, table.schema.field(name), pa.array(values, pa.string()))
    sink.commit(replace(given, notifications=table))
    sink.commit(delivery(1, [("t/e3", "t/a")]))
    found = {each.event_id: (each.owner, each.label, each.attributes) for each in feed.after("t", 0, limit=9)}
    assert found == {"e1": ("t", "cheap", {"n": 1.5}), "e2": ("t", None, None), "e3": ("t", None, None)}


@pytest.mark.parametrize("copies", [1, 300])
def test_within_a_batch_higher_priorities_have_lower_numbers(
    sink: FeedSink, feed: FeedReader, copies: int
) -> None:
    priorities = {"t/a": 0, "t/b": 7, "t/c": -2, "t/d": 7}
    pairs = [(f"t/e{copy}", id) for copy in range(copies) for id in priorities]
    given = delivery(0, pairs)
    column = pa.array([priorities[id] for _, id in pairs], pa.int64())
    table = given.notifications.drop_columns("priority").append_column("priority", column)
    sink.commit(replace(given, notifications=table))
    found = [priorities[f"t/{each.subscription_id}"] for each in feed.after("t", 0, limit=5_000)]
    assert found == sorted(found, reverse=True)
    assert len(found) == len(pairs)


@pytest.mark.parametrize("opened", [FeedReader, FeedSink])
def test_a_feed_of_an_earlier_version_gets_the_columns_that_it_lacks(
    url: str, opened: Callable[..., FeedReader | FeedSink]
) -> None:
    first = FeedSink(url=url)
    first.commit(delivery(0, [("t/e1", "t/a")]))
    first.close()
    database = Database(url)
    with database.writing() as connection:
        for name in ("label", "attributes", "priority"):
            connection.exec_driver_sql(f"ALTER TABLE tamis_feed DROP COLUMN {name}")
    database.close()
    opened(url=url).close()
    sink, feed = FeedSink(url=url), FeedReader(url)
    sink.commit(delivery(1, [("t/e2", "t/a")]))
    found = [(each.event_id, each.label, each.attributes) for each in feed.after("t", 0, limit=9)]
    assert found == [("e1", None, None), ("e2", None, None)]
    sink.close()
    feed.close()


def test_numbers_grow_and_a_reader_that_keeps_the_last_misses_nothing(sink: FeedSink, feed: FeedReader) -> None:
    seen: list[str] = []
    at = 0
    for batch in range(5):
        sink.commit(delivery(batch, [(f"t/e{batch}-{number}", "t/a") for number in range(3)]))
        page = feed.after("t", at, limit=2)
        while page:
            seen += [each.event_id for each in page]
            at = page[-1].seq
            page = feed.after("t", at, limit=2)
    assert sorted(seen) == [f"e{batch}-{number}" for batch in range(5) for number in range(3)]
    assert feed.end() == at


def test_pages_go_back_from_the_newest(sink: FeedSink, feed: FeedReader) -> None:
    for batch in range(4):
        sink.commit(delivery(batch, [(f"t/e{batch}", "t/a")]))
    newest = feed.before("t", None, limit=2)
    assert [each.event_id for each in newest] == ["e3", "e2"]
    assert [each.event_id for each in feed.before("t", newest[-1].seq, limit=9)] == ["e1", "e0"]


def test_a_tenant_sees_its_own_only(sink: FeedSink, feed: FeedReader) -> None:
    sink.commit(delivery(0, [("t/e", "t/a"), ("u/e", "u/a")], [("t/x", "k", b"1"), ("u/x", "k", b"1")]))
    assert pairs_of(feed, "t") == pairs_of(feed, "u") == [("e", "a")]
    [own] = feed.after("t", 0, limit=9)
    assert feed.get("t", own.id) == own
    assert feed.get("u", own.id) is None
    [bad] = feed.dead_letters("t", limit=9)
    assert feed.dead_letter("t", bad.id) == bad
    assert feed.dead_letter("u", bad.id) is None


def test_notifications_of_one_subscription_or_one_event(sink: FeedSink, feed: FeedReader) -> None:
    sink.commit(delivery(0, [("t/e1", "t/a"), ("t/e1", "t/b"), ("t/e2", "t/b")]))
    found = feed.after("t", 0, limit=9, subscription="t/b")
    assert sorted(each.event_id for each in found) == ["e1", "e2"]
    assert sorted(each.subscription_id for each in feed.of_event("t/e1", limit=9)) == ["a", "b"]


def test_the_newest_are_of_a_tenant_or_of_all(sink: FeedSink, feed: FeedReader) -> None:
    sink.commit(delivery(0, [("t/e1", "t/a")]))
    sink.commit(delivery(1, [("t/e2", "t/a")]))
    sink.commit(delivery(2, [("u/e1", "u/a")]))
    assert feed.newest("t", limit=9) == [("t/e2", 1, AT), ("t/e1", 0, AT)]
    assert [(id, batch) for id, batch, _ in feed.newest(None, limit=2)] == [("u/e1", 2), ("t/e2", 1)]


def test_an_event_knows_its_last_dead_letter(sink: FeedSink, feed: FeedReader) -> None:
    sink.commit(delivery(0, dead=[("t/e1", "malformed", b"1"), ("u/e1", "malformed", b"1")]))
    sink.commit(delivery(1, dead=[("t/e1", "other", b"1")]))
    sink.commit(delivery(2, dead=[("u/e1", "another", b"1")]))
    found = feed.dead_letter_of("t/e1")
    assert found is not None and (found.event_id, found.kind) == ("e1", "other")
    assert feed.dead_letter_of("t/e2") is None


def test_the_same_bad_text_of_two_events_is_two_dead_letters(sink: FeedSink, feed: FeedReader) -> None:
    sink.commit(delivery(0, dead=[("t/e1", "k", b"bad"), ("t/e2", "k", b"bad"), ("t/e1", "k", b"bad")]))
    sink.commit(delivery(1, dead=[("t/e1", "k", b"bad")]))
    assert sorted(str(each.event_id) for each in feed.dead_letters("t", limit=9)) == ["e1", "e2"]


def test_a_dead_letter_has_the_id_that_its_tenant_knows(sink: FeedSink, feed: FeedReader) -> None:
    sink.commit(delivery(0, dead=[("t/e1", "rent", b"bad")]))
    [bad] = feed.dead_letters("t", limit=9)
    assert (bad.event_id, bad.reason, bad.original) == ("e1", "there is no event type 'rent'", b"bad")


def test_a_dead_letter_that_was_published_again_is_forgotten(sink: FeedSink, feed: FeedReader) -> None:
    sink.commit(delivery(0, dead=[("t/e1", "k", b"1"), ("u/e1", "k", b"2")]))
    [bad] = feed.dead_letters("t", limit=9)
    feed.forget_dead_letter("u", bad.id)
    assert feed.dead_letters("t", limit=9) == [bad]
    feed.forget_dead_letter("t", bad.id)
    assert feed.dead_letters("t", limit=9) == []
    assert len(feed.dead_letters("u", limit=9)) == 1


@pytest.mark.parametrize("opened", [FeedReader, FeedSink])
def test_dead_letters_of_a_feed_of_an_earlier_version_are_kept(
    url: str, opened: Callable[..., FeedReader | FeedSink]
) -> None:
    """They were in `tamis_bad_events`, and numbers go on from theirs."""
    first = FeedSink(url=url)
    first.commit(delivery(0, dead=[("t/e1", "k", b"1"), ("t/e2", "k", b"2")]))
    first.close()
    old = Database(url)
    with old.writing() as connection:
        connection.exec_driver_sql("ALTER TABLE tamis_feed_dead_letters RENAME TO tamis_bad_events")
        for name in ("tenant", "event"):
            connection.exec_driver_sql(f"DROP INDEX tamis_feed_dead_letters_{name}")
            column = {"tenant": "tenant, seq", "event": "event_id"}[name]
            connection.exec_driver_sql(f"CREATE INDEX tamis_bad_events_{name} ON tamis_bad_events ({column})")
    old.close()
    opened(url=url).close()
    sink, feed = FeedSink(url=url), FeedReader(url)
    sink.commit(delivery(1, dead=[("t/e1", "k", b"1"), ("t/e3", "k", b"3")]))
    found = feed.dead_letters("t", limit=9)
    assert [each.original for each in found] == [b"3", b"2", b"1"]
    assert [each.seq for each in found] == sorted((each.seq for each in found), reverse=True)
    sink.close()
    feed.close()
    with closing(Database(url)) as database, database.reading() as connection:
        inspector = inspect(connection)
        names = {index["name"] for index in inspector.get_indexes("tamis_feed_dead_letters")}
        assert {"tamis_feed_dead_letters_tenant", "tamis_feed_dead_letters_event"} <= names
        assert not any("bad_events" in str(name) for name in names)
        assert "tamis_bad_events" not in inspector.get_table_names()


def test_subscriptions_are_counted_by_their_notifications(sink: FeedSink, feed: FeedReader) -> None:
    sink.commit(delivery(0, [("t/e0", "t/a")], at=AT - timedelta(hours=1)))
    sink.commit(delivery(1, [("t/e1", "t/a"), ("t/e1", "t/b"), ("t/e2", "t/b"), ("u/e", "u/a")]))
    assert feed.counts("t", AT - timedelta(minutes=1), limit=9) == [("b", 2), ("a", 1)]
    assert feed.counts("t", AT - timedelta(days=1), limit=1) == [("a", 2)]


def test_notifications_are_counted_over_time(sink: FeedSink, feed: FeedReader) -> None:
    sink.commit(delivery(0, [("t/e0", "t/a")], at=AT))
    sink.commit(delivery(1, [("t/e1", "t/a"), ("t/e2", "t/b")], at=AT + timedelta(seconds=70)))
    minute = timedelta(minutes=1)
    edges = [AT, AT + minute, AT + 2 * minute, AT + 3 * minute]
    assert feed.spans("t", edges) == [1, 2, 0]


def test_what_is_old_is_forgotten_but_never_the_last_number_and_the_last_commit(
    sink: FeedSink, feed: FeedReader
) -> None:
    old = AT - timedelta(days=40)
    sink.commit(delivery(0, [("t/e0", "t/a")], [("t/x", "k", b"1")], at=old))
    last = delivery(1, [("t/e1", "t/a"), ("t/e2", "t/a")], at=old)
    sink.commit(last)
    end = feed.end()
    assert feed.forget(AT) == 3
    assert feed.end() == end
    assert feed.dead_letters("t", limit=9) == []
    assert sink.commit(last).again, "a batch that is done again late is known all the same"
    sink.commit(delivery(2, [("t/e3", "t/a")]))
    assert feed.end() > end


@pytest.mark.slow
def test_forgetting_costs_no_more_when_more_is_kept(tmp_path: Path) -> None:
    """It is done every minute, and a writer of SQLite holds up all others."""
    sink, feed = FeedSink(url=str(tmp_path / "feed.db")), FeedReader(str(tmp_path / "feed.db"))
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    def watch(connection: Connection) -> None:
        connection.connection.dbapi_connection.set_progress_handler(count, 100)  # type: ignore[union-attr]

    event.listen(feed.database.engine, "begin", watch)
    counted = []
    for batch, size in enumerate((1_000, 9_000)):
        sink.commit(delivery(batch, [(f"t/e{batch}-{number}", "t/a") for number in range(size)]))
        steps = 0
        assert feed.forget(AT - timedelta(days=30)) == 0
        counted.append(steps)
    sink.close()
    feed.close()
    assert counted[1] <= counted[0] + 10, counted


def test_tasks_fill_the_feed_of_postgresql_as_the_driver_fills_that_of_sqlite(
    postgresql_url: str, tmp_path: Path
) -> None:
    bad: list[Dead] = [("t/e7", "malformed", b"\x00{"), ("u/e8", "malformed", b"\x00{"), (None, "malformed", b"x")]
    first = delivery(0, [("t/e1", "t/a"), ("t/e2", "u/a/b"), ("t/e3", "t/a")], bad)
    table, at = first.notifications, AT + timedelta(microseconds=123_457)
    for name, values in (("priority", [0, 5, -1]), ("label", ["é", None, ""]), ("event_time", [at, None, AT])):
        field = table.schema.field(name)
        table = table.set_column(table.column_names.index(name), field, pa.array(values, field.type))
    first = replace(first, notifications=table)
    second = delivery(1, [("t/e1", "t/a"), ("t/e4", "t/a")], bad[:1])
    found = []
    for url in (str(tmp_path / "feed.db"), postgresql_url):
        sink, feed = FeedSink(url=url), FeedReader(url)
        committed = [take(sink, each) for each in (first, second, second)]
        assert [(each.written, each.again) for each in committed] == [(3, False), (1, False), (1, True)]
        rows = [replace(each, seq=0) for name in "tu" for each in feed.after(name, 0, limit=9)]
        letters = [replace(each, seq=0) for name in ("t", "u", "") for each in feed.dead_letters(name, limit=9)]
        found.append((rows, letters))
        with feed.database.reading() as connection:
            dead = connection.exec_driver_sql("SELECT dead FROM tamis_feed_commits ORDER BY batch").scalars().all()
        assert dead == [3, 1]
        sink.close()
        feed.close()
    assert found[0] == found[1]
    assert [each.event_id for each in found[1][0]] == ["e1", "e3", "e4", "e2"]
    assert len(found[1][1]) == 3


def take(sink: FeedSink, given: Delivery) -> Committed:
    """Give a delivery to a feed; tasks write it if they can, some rows and all dead letters in two of them."""
    writer = pickle.loads(pickle.dumps(sink.task_writer(given.key)))
    if writer is None:
        return sink.commit(given)
    parts = []
    for task in range(2):
        part, rows = writer.open(task, 0), given.notifications.slice(task).cast(NOTIFICATIONS)
        part.add(rows, id_keys(rows["id"]), rows["event_id"].unique())
        part.add_dead(given.dead)
        parts.append(part.finish())
    return sink.publish(given.key, parts)


# --- once per subscriber -------------------------------------------------------------------------------------


def owned(batch: int, rows: Sequence[tuple[str, str, str, int]]) -> Delivery:
    """A delivery of events, subscriptions, their owners and priorities."""
    given = delivery(batch, [(event, subscription) for event, subscription, _, _ in rows])
    table = given.notifications
    for name, values in (("owner", [row[2] for row in rows]), ("priority", [row[3] for row in rows])):
        place = table.column_names.index(name)
        table = table.set_column(place, name, pa.array(values, NOTIFICATIONS.field(name).type))
    return replace(given, notifications=table.cast(NOTIFICATIONS))


def messages(feed: FeedReader, tenant: str) -> list[tuple[str, str, list[str] | None]]:
    """Event, subscription or subscriber, and what is named, of each message in the order of the feed."""
    found = feed.after(tenant, 0, limit=1_000, by="subscriber")

    def named(each: TenantNotification) -> list[str] | None:
        return None if each.subscriptions is None else [one["id"] for one in each.subscriptions]

    return [(each.event_id, each.subscription_id, named(each)) for each in found]


def commit_as_stream(sink: FeedSink, given: Delivery) -> Committed:
    """Commit as the stream does: tasks load PostgreSQL, the driver writes to SQLite."""
    return sink.commit(given) if sink.task_writer(given.key) is None else commit_as_one_part(sink, given)


ROWS = [
    ("t/e1", "t/a", "t/@ann", 0),
    ("t/e1", "t/b", "t/@ann", 5),
    ("t/e1", "t/c", "t/@ann", 0),
    ("t/e1", "t/d", "t/@bob", 0),
    ("t/e1", "t/alone", "t", 0),
    ("t/e2", "t/a", "t/@ann", 0),
    ("u/e1", "u/a", "u/@ann", 0),
]


def test_a_subscriber_has_one_message_an_event_that_names_all_its_subscriptions(
    sink: FeedSink, feed: FeedReader
) -> None:
    assert commit_as_stream(sink, owned(0, ROWS)).written == len(ROWS), "matches are counted, not messages"
    assert sorted(messages(feed, "t")) == [
        ("e1", "@ann", ["b", "a", "c"]),
        ("e1", "@bob", ["d"]),
        ("e1", "alone", None),
        ("e2", "@ann", ["a"]),
    ]
    assert pairs_of(feed, "t") == sorted((e[2:], s[2:]) for e, s, _, _ in ROWS if s.startswith("t/"))
    ann = feed.after("t", 0, limit=9, subscription="t/@ann")
    assert {each.id for each in ann} == {message_id("t/e1", "t/@ann"), message_id("t/e2", "t/@ann")}
    assert {each.subscriber for each in ann} == {"ann"}
    [first] = [each for each in ann if each.event_id == "e1"]
    assert (first.subscriptions or [])[0] == {"id": "b", "revision": 1, "label": None}


def test_a_message_is_made_once_whatever_is_done_again(sink: FeedSink, feed: FeedReader) -> None:
    commit_as_stream(sink, owned(0, ROWS))
    before = feed.after("t", 0, limit=99, by="subscriber")
    assert commit_as_stream(sink, owned(0, ROWS)).again
    later = [("t/e1", "t/a", "t/@ann", 0), ("t/e1", "t/new", "t/@ann", 0)]
    assert commit_as_stream(sink, owned(1, later)).written == 1, "one more match, of an event that came again"
    assert feed.after("t", 0, limit=99, by="subscriber") == before
    assert ("e1", "new") in pairs_of(feed, "t")


def test_a_feed_of_an_earlier_version_gets_the_columns_of_messages(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'old.db'}"
    FeedSink(url=url).close()
    old = Database(url, MetaData())
    with old.writing() as connection:
        for name in ("subscriber", "subscriptions"):
            connection.exec_driver_sql(f"ALTER TABLE tamis_feed DROP COLUMN {name}")
    old.close()
    sink, feed = FeedSink(url=url), FeedReader(url)
    try:
        sink.commit(owned(0, ROWS))
        assert ("e2", "@ann", ["a"]) in messages(feed, "t")
    finally:
        sink.close()
        feed.close()


def test_what_satisfies_entries_of_neighbours_is_in_their_outboxes_with_the_batch(
    url: str, feed: FeedReader
) -> None:
    places = {"t/1": (1, ()), "t/2": (2, ("north",))}
    sink = FeedSink(url=url, places=lambda ids: {id: places[id] for id in ids})
    given = delivery(
        0, [("t/1", "t/mine"), ("t/1", "~link/north/k"), ("t/2", "~link/north/k"), ("t/2", "~link/x/k")]
    )
    try:
        assert sink.task_writer(given.key) is None
        assert sink.commit(given) == Committed(1, 0)
        assert sink.commit(given) == Committed(1, 0, again=True)
    finally:
        sink.close()
    outbox = Outbox(feed.database)
    assert (outbox.pending("north", 9), outbox.pending("x", 9)) == ([1], [2])
    assert [each.subscription_id for each in feed.after("t", 0, limit=9)] == ["mine"]
    outbox.acknowledge("north", [1])
    outbox.decide("north", {1: "useful"})
    assert outbox.totals()["north"].useful == outbox.totals()["x"].backlog == 1
    assert outbox.useful_events(["t/1", "t/2", "t/3"]) == {"t/1", "t/2"}
    assert outbox.first_unsent() == 2 and outbox.forget(0, ["north"]) == 1
