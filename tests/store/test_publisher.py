"""A snapshot follows its store, by differences, and holds exactly one version of it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from tamis.errors import SnapshotError
from tamis.events.event_type import EventType
from tamis.matcher import Matcher
from tamis.matchers import Matchers
from tamis.snapshot import Snapshots
from tamis.store import Publisher, Store, StoreError
from tamis.store.view import StoreView

HOUR = timedelta(hours=1)
WIDE = EventType.from_dict({"name": "offer", "attributes": {"price": "int", "brand": "string"}})
NARROW = EventType.from_dict({"name": "offer", "attributes": {"price": "int"}})


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    return str(tmp_path / "snapshot")


@pytest.fixture
def publisher(store: Store, snapshot: str) -> Publisher:
    return Publisher(store, snapshot)


def held(snapshot: str) -> dict[str, tuple[str, int]]:
    """By id, event type and revision of what the newest version holds."""
    opened = Matchers.open(snapshot)
    return {each.id: (name, each.revision) for name in opened for each in opened[name]}


def test_an_empty_store_is_an_empty_snapshot(store: Store, publisher: Publisher, snapshot: str) -> None:
    published = publisher.sync()
    assert (published.snapshot_version, published.store_version, published.changed) == (1, 0, True)
    assert len(Matchers.open(snapshot)) == 0
    assert not publisher.sync().changed


@pytest.mark.slow
def test_what_changes_is_published(store: Store, publisher: Publisher, snapshot: str) -> None:
    store.set_event_type(WIDE)
    store.add("a", "price < 3", event_type="offer", priority=2, owner="ines")
    store.add("b", "x = 1", event_type="event")
    first = publisher.sync()
    assert (first.changed, first.added, first.removed, first.subscriptions) == (True, 2, 0, 2)
    assert held(snapshot) == {"a": ("offer", 1), "b": ("event", 1)}
    assert Matchers.open(snapshot)["offer"].match({"price": 1}) == ["a"]
    stored = Matchers.open(snapshot)["offer"].subscription("a")
    assert (stored.priority, stored.owner) == (2, "ines")
    again = publisher.sync()
    assert (again.changed, again.snapshot_version, again.store_version) == (False, 1, 3)

    store.replace("a", "price < 5")
    store.remove("b")
    store.add("c", "x = 2", event_type="event")
    second = publisher.sync()
    assert (second.snapshot_version, second.added, second.removed, second.subscriptions) == (2, 2, 2, 2)
    assert held(snapshot) == {"a": ("offer", 2), "c": ("event", 1)}
    assert Matchers.open(snapshot).extra["store"] == {
        "id": store.identity,
        "version": store.version(),
        "refused": 0,
    }
    assert Matchers.open(snapshot, 1)["offer"].subscription("a").revision == 1


def test_a_dropped_event_type_leaves_the_snapshot(store: Store, publisher: Publisher, snapshot: str) -> None:
    store.set_event_type(WIDE)
    store.add("a", "price < 3", event_type="offer")
    store.add("x", "vlaue > 1", event_type="event")
    publisher.sync()
    store.remove("x")
    store.drop_event_type("event")
    published = publisher.sync()
    assert (published.added, published.removed, published.subscriptions) == (0, 1, 1)
    assert [*Matchers.open(snapshot)] == ["offer"]
    store.add("x", "vlaue > 1", event_type="event")
    store.remove("x")
    store.drop_event_type("event")  # come and gone between two versions of the snapshot
    assert publisher.sync().subscriptions == 1


def test_a_snapshot_says_how_many_subscriptions_are_refused(
    store: Store, publisher: Publisher, snapshot: str
) -> None:
    store.set_event_type(WIDE)
    store.add("a", "price < 3", event_type="offer")
    store.add("b", "brand = 'x'", event_type="offer")
    store.add("c", "price < 4", event_type="offer")
    store.pause("c")
    store.set_event_type(NARROW)
    publisher.sync()
    assert Snapshots(snapshot).manifest().extra["store"]["refused"] == 1
    store.set_event_type(WIDE)
    publisher.sync()
    assert Snapshots(snapshot).manifest().extra["store"]["refused"] == 0


def test_a_store_is_counted_only_where_something_may_be_refused(
    store: Store, publisher: Publisher, snapshot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[StoreView] = []
    count = StoreView.count

    def counting(view: StoreView, **how: Any) -> int:
        counted.append(view)
        return count(view, **how)

    monkeypatch.setattr(StoreView, "count", counting)
    store.set_event_type(EventType.of({"name": "sale", "attributes": {"price": "double"}}))
    store.add_many([{"id": f"s{number}", "condition": "price < 5"} for number in range(5)])
    publisher.sync()
    counted.clear()
    store.add("more", "price < 6")
    store.remove("s1")
    publisher.sync()
    assert not counted, "nothing was refused, and nothing new is"
    store.set_event_type(EventType.of({"name": "sale", "attributes": {"size": "int"}}))
    store.add("other", "size < 6")
    publisher.sync()
    store.remove("s2")
    publisher.sync()
    assert len(counted) == 2
    source = Snapshots(snapshot).manifest().extra["store"]
    assert source["refused"] == len(store) - len(Matcher.open(snapshot))


def test_an_id_that_is_changed_often_ends_in_its_last_state(
    store: Store, publisher: Publisher, snapshot: str
) -> None:
    store.add("a", "x = 1")
    publisher.sync()
    store.replace("a", "x = 2")
    store.remove("a")
    store.add("a", "x = 3")
    store.add("b", "x = 1")
    store.remove("b")
    publisher.sync()
    assert held(snapshot) == {"a": ("event", 3)}
    assert Matchers.open(snapshot)["event"].match({"x": 3}) == ["a"]


def test_a_subscription_moves_to_another_event_type(store: Store, publisher: Publisher, snapshot: str) -> None:
    store.add("a", "price = 1")
    publisher.sync()
    store.set_event_type(WIDE)
    store.replace("a", event_type="offer")
    publisher.sync()
    assert held(snapshot) == {"a": ("offer", 2)}
    store.replace("a", event_type="event")
    publisher.sync()
    assert held(snapshot) == {"a": ("event", 3)}


def test_what_is_due_is_published(store: Store, snapshot: str) -> None:
    time = datetime.now(UTC)
    store.add("ends", "x = 1", expires=time + HOUR)
    store.add("starts", "x = 1", valid_from=time + HOUR)
    Publisher(store, snapshot).sync()
    assert held(snapshot).keys() == {"ends"}
    store.expire(time + 2 * HOUR)
    Publisher(store, snapshot).sync()
    assert held(snapshot).keys() == {"starts"}


def test_what_expired_lately_stays_for_events_that_were_accepted_before(store: Store, snapshot: str) -> None:
    start = datetime.now(UTC)
    for hours in (1, 2, 3):
        store.add(f"ends{hours}", "x = 1", expires=start + hours * HOUR)
    store.add("stays", "x = 1")
    store.add("cancelled", "x = 1", expires=start + HOUR)
    publisher = Publisher(store, snapshot)
    publisher.sync(_us(start))
    store.remove("cancelled")
    store.expire(start + 2.5 * HOUR)

    assert publisher.sync(_us(start + 1.5 * HOUR)).subscriptions == 3
    opened = Matchers.open(snapshot, expired=True)
    assert {each.id for each in opened.only} == {"ends2", "ends3", "stays"}
    assert opened.extra["expired"] == {"ends2": _us(start + 2 * HOUR)}
    assert opened.extra["store"]["refused"] == 0
    assert held(snapshot).keys() == {"ends3", "stays"}, "whoever asks what is valid now"
    assert {each.id for each in Matcher.open(snapshot)} == {"ends3", "stays"}
    assert not publisher.sync(_us(start + 1.7 * HOUR)).changed

    again = Publisher(store, snapshot)  # in another process
    assert again.sync(_us(start + 2.2 * HOUR)).changed, "all events of its time have been matched"
    assert {each.id for each in Matchers.open(snapshot, expired=True).only} == {"ends3", "stays"}
    assert "expired" not in Matchers.open(snapshot).extra


def test_what_expired_goes_with_its_event_type(store: Store, snapshot: str) -> None:
    start = datetime.now(UTC)
    store.set_event_type(WIDE)
    store.add("stays", "x = 1", event_type="event")
    store.add("ends", "price < 3", event_type="offer", expires=start + HOUR)
    publisher = Publisher(store, snapshot)
    store.expire(start + 2 * HOUR)
    publisher.sync(0)
    assert Matchers.open(snapshot).extra["expired"].keys() == {"ends"}
    store.drop_event_type("offer")
    publisher.sync(0)
    found = Matchers.open(snapshot, expired=True)
    assert ("expired" in found.extra, found.extra["store"]["refused"], len(found)) == (False, 0, 1)


def test_what_was_paused_when_it_expired_is_gone(store: Store, snapshot: str) -> None:
    start = datetime.now(UTC)
    store.add("paused", "x = 1", expires=start + HOUR)
    store.pause("paused")
    store.expire(start + 2 * HOUR)
    Publisher(store, snapshot).sync(0)
    assert len(Matchers.open(snapshot, expired=True)) == 0


def test_trimmed_changes_take_expired_conditions_with_them(store: Store, snapshot: str) -> None:
    start = datetime.now(UTC)
    store.add("ends", "x = 1", expires=start + timedelta(milliseconds=500))
    store.expire(start + HOUR)
    sleep(0.5)
    store.add("later", "x = 1")
    store.trim(store.version() + 1)
    Publisher(store, snapshot).sync(0)
    assert {each.id for each in Matchers.open(snapshot, expired=True).only} == {"later"}


def test_a_snapshot_that_is_built_anew_has_what_expired_lately(store: Store, snapshot: str) -> None:
    start = datetime.now(UTC)
    for hours in (1, 2):
        store.add(f"ends{hours}", "x = 1", expires=start + hours * HOUR)
    store.expire(start + 3 * HOUR)
    Publisher(store, snapshot).sync(_us(start + 1.5 * HOUR))
    opened = Matchers.open(snapshot, expired=True)
    assert {each.id for each in opened.only} == {"ends2"} == opened.extra["expired"].keys()


def test_who_subscribes_again_under_an_id_that_expired_is_matched_as_ever(store: Store, snapshot: str) -> None:
    start = datetime.now(UTC)
    store.add("a", "x = 1", expires=start + HOUR)
    publisher = Publisher(store, snapshot)
    publisher.sync(0)
    store.expire(start + 2 * HOUR)
    publisher.sync(0)
    assert Matchers.open(snapshot).extra["expired"].keys() == {"a"}
    store.add("a", "x = 2")
    publisher.sync(0)
    assert "expired" not in Matchers.open(snapshot).extra
    assert Matchers.open(snapshot).only.match({"x": 2}) == ["a"]


def _us(time: datetime) -> int:
    return round(time.timestamp() * 1_000_000)


def test_a_renewal_writes_no_segment(store: Store, publisher: Publisher, snapshot: str) -> None:
    store.add("a", "x = 1")
    publisher.sync()
    store.renew("a", datetime.now(UTC) + HOUR)
    published = publisher.sync()
    assert (published.store_version, published.added, published.removed) == (2, 0, 0)
    first, second = (Snapshots(snapshot).manifest(version) for version in (1, 2))
    assert first.entries == second.entries


def test_another_type_is_compiled_anew(store: Store, publisher: Publisher, snapshot: str) -> None:
    store.set_event_type(WIDE)
    store.add("brand", "brand = 'Sony'", event_type="offer")
    store.add("price", "price < 3", event_type="offer")
    publisher.sync()
    store.set_event_type(NARROW)
    store.add("other", "price < 4", event_type="offer")
    published = publisher.sync()
    assert held(snapshot).keys() == {"price", "other"}
    assert (published.added, published.removed, published.refusals) == (2, 2, [])
    assert Matchers.open(snapshot)["offer"].event_type == NARROW
    store.set_event_type(WIDE)
    publisher.sync()
    assert held(snapshot).keys() == {"brand", "price", "other"}
    store.set_event_type(NARROW)
    store.set_event_type(WIDE)
    assert publisher.sync().removed == 1  # refused and accepted: taken out and put in again
    assert held(snapshot).keys() == {"brand", "price", "other"}


def test_a_small_change_writes_little(store: Store, publisher: Publisher, snapshot: str) -> None:
    store.add_many([{"id": f"s{n}", "condition": f"x = {n}"} for n in range(3_000)])
    publisher.sync()
    (large,) = Snapshots(snapshot).manifest().entries
    for number in range(10):
        store.replace(f"s{number}", f"y = {number}")
    Publisher(store, snapshot).sync()
    entries = Snapshots(snapshot).manifest().entries
    assert [entry.segment for entry in entries if entry.slots > 100] == [large.segment]
    assert sum(entry.slots for entry in entries) == 3_010
    assert sum(entry.dead for entry in entries) == 10


def test_what_was_not_published_is_made_up_for(store: Store, snapshot: str) -> None:
    store.add("a", "x = 1")
    Publisher(store, snapshot).sync()
    store.add("b", "x = 1")
    store.remove("a")
    interrupted = Publisher(store, snapshot)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Matchers, "publish", _fail)
        with pytest.raises(OSError, match="disk full"):
            interrupted.sync()
    assert held(snapshot).keys() == {"a"}
    published = interrupted.sync()
    assert (published.added, published.removed) == (1, 1)
    assert held(snapshot).keys() == {"b"}


def _fail(*_: Any, **__: Any) -> None:
    msg = "disk full"
    raise OSError(msg)


def test_who_was_overtaken_goes_on_from_the_newest(store: Store, snapshot: str) -> None:
    slow, quick = Publisher(store, snapshot), Publisher(store, snapshot)
    slow.sync()
    store.add("a", "x = 1")
    quick.sync()
    with pytest.raises(SnapshotError) as caught:
        slow.sync()
    assert caught.value.kind == "conflict"
    assert not slow.sync().changed


def test_a_cut_log_means_building_anew(store: Store, snapshot: str) -> None:
    store.add_many([{"id": f"s{n}", "condition": f"x = {n}"} for n in range(10)])
    Publisher(store, snapshot).sync()
    store.remove("s1")
    store.replace("s2", "x = 0")
    store.trim(store.version() + 1)
    published = Publisher(store, snapshot).sync()
    assert (published.snapshot_version, published.removed, published.added) == (2, 10, 9)
    assert held(snapshot) == {f"s{n}": ("event", 2 if n == 2 else 1) for n in range(10) if n != 1}
    store.remove("s3")
    assert Publisher(store, snapshot).sync().removed == 1


def test_a_snapshot_of_others_is_refused(store: Store, snapshot: str, tmp_path: Path) -> None:
    with Store.open(tmp_path / "other.db") as other:
        Publisher(other, snapshot).sync()
    with pytest.raises(StoreError, match="version 1 is that of another store"):
        Publisher(store, snapshot).sync()
    Matcher().publish(tmp_path / "direct")
    with pytest.raises(StoreError, match="version 1 was not published from a store"):
        Publisher(store, str(tmp_path / "direct")).sync()


def test_a_store_that_went_back_is_refused(store: Store, snapshot: str) -> None:
    store.add("a", "x = 1")
    store.add("b", "x = 1")
    Publisher(store, snapshot).sync()
    with store._database.writing() as connection:
        connection.exec_driver_sql("UPDATE tamis_meta SET version = 1")
    with pytest.raises(StoreError, match=r"holds version 2 of the store .*, which has 1 only"):
        Publisher(store, snapshot).sync()


def _conditions(chance: random.Random) -> Iterator[str]:
    while True:
        parts = [
            f"x {chance.choice('<=>')} {chance.randrange(20)}",
            f"y IN ({chance.randrange(5)}, {chance.randrange(5)})",
            f"NOT z LIKE '{chance.choice('abc')}%'",
            f"coalesce(x, y) = {chance.randrange(9)}",
        ]
        yield chance.choice([" AND ", " OR "]).join(chance.sample(parts, chance.randrange(1, 4)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_pairs_are_those_of_a_matcher_filled_directly(store: Store, snapshot: str, seed: int) -> None:
    chance = random.Random(seed)
    conditions = _conditions(chance)
    ids = [f"s{n}" for n in range(150)]
    publisher = Publisher(store, snapshot)
    for _ in range(5):
        some = chance.sample(ids, 40)
        store.add_many([{"id": id, "condition": next(conditions)} for id in some], replace=True)
        store.remove_many(chance.sample(ids, 15))
        store.replace(store.list(limit=1)[0].id, next(conditions))
        if chance.random() < 0.3:
            store.trim(chance.randrange(store.version()))
        publisher = publisher if chance.random() < 0.5 else Publisher(store, snapshot)
        publisher.sync()
    direct = Matcher()
    direct.add_many([(each.id, each.condition) for each in store.list()])
    events = [
        {"x": chance.randrange(20), "y": chance.choice([None, 1, 2, 3]), "z": chance.choice("abcd")}
        for _ in range(200)
    ]
    opened = Matchers.open(snapshot)["event"]
    pairs = [sorted(matcher.match_batch(events).to_pylist(), key=str) for matcher in (direct, opened)]
    assert pairs[0] == pairs[1]
    assert pairs[0]
