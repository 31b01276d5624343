"""What every sink promises: a batch is taken once, and a notification once within the retention time."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa

from tamis.sinks import SINKS, Committed
from tests.sinks.conftest import World
from tests.sinks.deliveries import PRIORITIES, RETENTION, START, delivery, rows


def test_what_was_delivered_is_there(world: World) -> None:
    first = delivery(0, [(event, event % 5) for event in range(50)], dead=[b"\xff{", b"", "é".encode()])
    second = delivery(1, [(event, 1) for event in range(50, 60)])
    sink = world.sink
    assert sink.commit(first) == Committed(50, 0)
    assert sink.commit(second) == Committed(10, 0)
    assert world.notifications() == rows(pa.concat_tables([first.notifications, second.notifications]))
    assert world.dead() == rows(first.dead)


def test_a_notification_has_the_priority_of_its_subscription(world: World) -> None:
    pairs = [(1, 1), (1, 42), (1, 40), (1, 43)]
    world.sink.commit(delivery(0, pairs))
    assert sorted(str(each["priority"]) for each in world.notifications()) == sorted(
        str(PRIORITIES.get(subscription, 0)) for _, subscription in pairs
    )


def test_a_repeated_commit_changes_nothing_and_says_the_same(world: World) -> None:
    sink = world.sink
    sink.commit(delivery(0, [(1, 1)]))
    assert sink.commit(delivery(1, [(1, 1), (2, 1)], dead=[b"bad"])) == Committed(1, 1)
    before = world.notifications(), world.dead()
    for repeated in (sink, world.sink):
        assert repeated.commit(delivery(1, [(1, 1), (2, 1)], dead=[b"bad"])) == Committed(1, 1, again=True)
    assert (world.notifications(), world.dead()) == before


def test_batches_of_different_queries_are_different_batches(world: World) -> None:
    for query in ("b", "a/../b", "b.000000000001", "." * 300):
        assert world.sink.commit(delivery(1, [(len(query), 1)], query=query)) == Committed(1, 0)
    assert len(world.notifications()) == 4


def test_a_notification_is_told_once_whatever_the_batch_and_query(world: World) -> None:
    assert world.sink.commit(delivery(0, [(1, 1), (2, 1)])) == Committed(2, 0)
    assert world.sink.commit(delivery(1, [(2, 1), (3, 1)])) == Committed(1, 1)
    assert world.sink.commit(delivery(0, [(1, 1), (2, 1), (3, 1), (4, 1)], query="another")) == Committed(1, 3)
    ids = [row["id"] for row in world.notifications()]
    assert len(ids) == len(set(ids)) == 4


def test_after_the_retention_a_notification_is_new_unless_a_database_has_its_row(world: World) -> None:
    is_database = world.kind in ("sqlite", "webhook", "postgresql")
    sink = world.sink
    sink.commit(delivery(0, [(1, 1)], when=START))
    late = START + RETENTION
    assert sink.commit(delivery(1, [(1, 1)], when=late - timedelta(microseconds=1))) == Committed(0, 1)
    assert sink.commit(delivery(2, [(1, 1)], when=late)) == (Committed(0, 1) if is_database else Committed(1, 0))
    assert sink.commit(delivery(3, [(1, 1)], when=late)) == Committed(0, 1)


def test_an_id_that_comes_twice_in_a_batch_is_written_once(world: World) -> None:
    twice = delivery(0, [(1, 1), (2, 1), (1, 1)], dead=[b"bad", b"bad"])
    assert world.sink.commit(twice) == Committed(2, 0)
    assert len(world.notifications()) == 2
    assert len(world.dead()) == 1


def test_an_empty_batch_is_committed_as_well(world: World) -> None:
    sink = world.sink
    assert sink.commit(delivery(0, [])) == Committed(0, 0)
    assert sink.commit(delivery(0, [])) == Committed(0, 0, again=True)
    assert sink.commit(delivery(1, [], dead=[b"bad"])) == Committed(0, 0)
    assert world.notifications() == []
    assert len(world.dead()) == 1


def test_checking_writes_nothing(world: World) -> None:
    sink = world.sink
    sink.check()
    assert sink.commit(delivery(0, [(1, 1)])) == Committed(1, 0)
    sink.check()
    assert len(world.notifications()) == 1


def test_a_sink_says_what_it_is(world: World) -> None:
    sink = world.sink
    assert SINKS[sink.name] is type(sink)
    assert ("exactly once" in sink.describe()) == sink.exactly_once
    assert "\n" not in sink.describe()
