"""From inbox to feed: each match once, by tenant, with fresh subscriptions, quotas, restarts and dead letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.types import StructType

from tamis.events.event_type import EventType
from tamis.operators.discovery import OperatorSettings
from tamis.service.accounts import TenantRights
from tamis.service.stream import STREAM, RestartedQuery, start
from tests.service.living import Living, arrival, until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Start = Callable[..., Living]


@pytest.fixture(params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, living: Start, new_schema: Callable[[], str]) -> Living:
    """A service whose databases are of each kind; its stream does not run yet."""
    names = ("store", "feed", "inbox")
    urls = {} if request.param == "sqlite" else {name: new_schema() for name in names}
    return living(**urls, keep_attributes=("price", "brand"))


def test_what_is_published_and_matches_is_in_the_feed_once(service: Living) -> None:
    service.subscribe("default", "cheap", "price < 5", label="bargains")
    service.start()
    service.publish(*(arrival("default", f"e{number}", {"price": number}) for number in range(10)))
    service.settle()
    service.publish(*(arrival("default", f"e{number}", {"price": number}) for number in range(3, 13)))
    service.settle()
    assert service.pairs("default") == [(f"e{number}", "cheap") for number in range(5)]
    told = {each.event_id: each for each in service.feed.after("default", 0, limit=9)}
    assert {(each.owner, each.label) for each in told.values()} == {("default", "bargains")}
    assert {id: each.attributes for id, each in told.items()} == {
        f"e{number}": {"price": number} for number in range(5)
    }
    first, second = service.reports(2)
    assert (first.events, second.events) == (10, 3)
    assert second.backlog == 0  # that of the first is counted after its commit, when more may have come


def test_conditions_call_operators_of_the_library_with_their_settings(living: Start, tmp_path: Path) -> None:
    zoo = tmp_path / "zoo.ttl"
    zoo.write_text(
        "@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."
        " :poodle rdfs:subClassOf :dog ."
    )
    rules = {"facts": str(zoo), "relations": {"weight": "thing string, kilos double"}, "attribute": "facts"}
    library: dict[str, Any] = {"networks": {"networks": {"home": ["10.0.0.0/8"]}}, "rules": rules}
    service = living(operators=OperatorSettings((), library), call_order="sub-order")
    service.settings.operators.load()  # as the service does before it compiles anything
    service.subscribe("default", "inside", "in_network(address, 'home')")
    service.subscribe("default", "big dog", "is_a(?x, 'dog') AND weight(?x) > 20")
    service.publish(*(arrival("default", each, {"address": each}) for each in ("10.1.2.3", "11.1.2.3")))
    for id, kilos in (("heavy", 31), ("light", 3)):
        service.publish(arrival("default", id, {"facts": f"is_a(rex, poodle); weight(rex, {kilos})"}))
    service.start()
    service.settle()
    assert sorted(service.pairs("default")) == [("10.1.2.3", "inside"), ("heavy", "big dog")]


def test_composite_subscriptions_wait_for_late_events_as_long_as_the_setting_says(living: Start) -> None:
    service = living(composite_lateness_seconds=120.0)
    text = "step = 'cart' THEN step = 'pay' WITHIN INTERVAL '10' MINUTE BY user"
    service.subscribe("default", "checkout", text, dialect="composite")
    service.start()
    # The first event of the match comes in a batch after the last one.
    for id, minute, step in (("e2", 1, "pay"), ("e1", 0, "cart"), ("e3", 9, "other")):
        event = {"time": f"2026-11-18T09:{minute:02d}:00Z", "step": step, "user": "ann"}
        service.publish(arrival("default", id, event))
        service.settle()
    assert service.pairs("default") == [("e1", "checkout")]


def test_a_subscriber_has_one_message_an_event_across_shards_and_restarts(service: Living) -> None:
    for number in range(10):
        service.subscribe("default", f"s{number}", f"price > {number}", owner="default/@ann")
    service.subscribe("default", "alone", "price > 0")
    service.start()
    service.publish(*(arrival("default", f"e{number}", {"price": number}) for number in range(1, 5)))
    service.settle()
    service.stop()
    service.publish(*(arrival("default", f"e{number}", {"price": number}) for number in range(3, 8)))
    service.start()
    service.settle()
    found = service.feed.after("default", 0, limit=100, by="subscriber")
    named = {each.event_id: [one["id"] for one in each.subscriptions] for each in found if each.subscriptions}
    assert named == {f"e{number}": [f"s{under}" for under in range(number)] for number in range(1, 8)}
    assert len(found) == 2 * len(named), "and one that stands alone for each"
    assert len(service.pairs("default")) == sum(number + 1 for number in range(1, 8))


def test_a_tenants_events_meet_its_own_subscriptions_only(living: Start) -> None:
    service = living()
    for tenant in ("a", "b"):
        service.subscribe(tenant, "all", "true")
    service.publish(arrival("a", "e1", {"x": 1}), arrival("b", "e1", {"x": 2}), arrival("b", "e2", {}))
    service.start()
    service.settle()
    assert service.pairs("a") == [("e1", "all")]
    assert service.pairs("b") == [("e1", "all"), ("e2", "all")]


def test_shards_give_the_same_and_a_tenants_events_visit_its_own(living: Start) -> None:
    service = living(shards=3)
    tenants = [f"t{number}" for number in range(3)]
    for tenant in tenants:
        for number in range(4):
            service.subscribe(tenant, f"s{number}", f"x > {number}")
    service.publish(*(arrival(tenant, f"e{x}", {"x": x}) for tenant in tenants for x in range(3)))
    service.start()
    service.settle()
    for tenant in tenants:
        assert service.pairs(tenant) == [("e1", "s0"), ("e2", "s0"), ("e2", "s1")]
    (report,) = service.reports(1)
    assert report.shards == 3
    assert report.visits < 2 * report.events


def test_a_subscription_meets_every_event_that_comes_after_it(living: Start) -> None:
    service = living()
    service.subscribe("default", "s0", "true")
    service.start()
    for number in range(1, 5):
        service.publish(arrival("default", f"e{number}", {}))
        service.settle()
        service.subscribe("default", f"s{number}", "true")
    expected = [(f"e{event}", f"s{number}") for event in range(1, 5) for number in range(event)]
    assert service.pairs("default") == expected


def test_a_subscription_that_is_paused_or_removed_meets_no_later_event(living: Start) -> None:
    service = living()
    for id in ("stays", "pauses", "goes"):
        service.subscribe("default", id, "true")
    service.start()
    service.publish(arrival("default", "e1", {}))
    service.settle()
    service.store.pause("default/pauses")
    service.store.remove("default/goes")
    service.publish(arrival("default", "e2", {}))
    service.settle()
    service.store.pause("default/pauses", paused=False)
    service.publish(arrival("default", "e3", {}))
    service.settle()
    told = Counter(subscription for _, subscription in service.pairs("default"))
    assert told == {"stays": 3, "pauses": 2, "goes": 1}


def test_a_stream_goes_on_where_it_was(living: Start) -> None:
    service = living()
    service.subscribe("default", "all", "true")
    service.start()
    service.publish(arrival("default", "e1", {}))
    service.settle()
    service.stop()
    service.publish(arrival("default", "e2", {}))
    assert service.inbox.waiting() == 1
    service.start()
    service.settle()
    assert service.pairs("default") == [("e1", "all"), ("e2", "all")]
    assert [report.events for report in service.reports(2)] == [1, 1]


def test_dead_letters_are_set_aside_for_their_tenant_under_their_own_ids(living: Start) -> None:
    service = living(on_misfit="refuse")  # too late for that: they are accepted already
    for tenant in ("a", "b"):
        service.store.set_event_type(EventType.of({"name": f"{tenant}/sale", "attributes": {"price": "double"}}))
        service.store.add(f"{tenant}/cheap", "price < 5", event_type=f"{tenant}/sale", owner=tenant)
    bad = b'{"price": "dear"}'
    service.publish(
        *(arrival(tenant, id, bad, "sale") for tenant in ("a", "b") for id in ("e1", "e2")),
        arrival("a", "e3", b'{"price": 1}', "sale"),
        arrival("a", "e4", b"{}", "rent"),
    )
    service.start()
    service.settle()
    assert service.pairs("a") == [("e3", "cheap")]
    found = {
        tenant: {each.event_id: (each.kind, each.original) for each in service.feed.dead_letters(tenant, limit=10)}
        for tenant in ("a", "b")
    }
    wrong = ("wrong type", bad)
    assert found == {"a": {"e1": wrong, "e2": wrong, "e4": ("event type", b"{}")}, "b": {"e1": wrong, "e2": wrong}}
    reasons = {each.reason for each in service.feed.dead_letters("a", limit=10) if each.kind == "event type"}
    assert reasons == {"there is no event type 'rent'"}, "other tenants' types are not told"


def test_each_tenant_has_a_quota_of_its_own_that_may_change(living: Start) -> None:
    service = living()
    for tenant in ("tight", "wide", "free"):
        service.accounts.set_rights(
            tenant, TenantRights(matches_per_minute={"tight": 1, "wide": 1_000}.get(tenant))
        )
        service.subscribe(tenant, "all", "true")
    service.start()

    def publish(batch: str) -> None:
        service.publish(
            *(arrival(tenant, f"{batch}{n}", {}) for tenant in ("tight", "wide", "free") for n in range(7))
        )
        service.settle()

    publish("a")
    assert [len(service.pairs(tenant)) for tenant in ("tight", "wide", "free")] == [1, 7, 7]
    service.accounts.set_rights("tight", TenantRights(matches_per_minute=None))
    publish("b")
    assert [len(service.pairs(tenant)) for tenant in ("tight", "wide", "free")] == [8, 14, 14]
    assert [(report.overflow, report.overflow_by_group) for report in service.reports(2)] == [
        (6, (("tight", 6),)),
        (0, ()),
    ]


def test_a_batch_has_as_many_events_as_the_settings_say(living: Start) -> None:
    service = living(batch_events=4)
    service.subscribe("default", "all", "true")
    service.publish(*(arrival("default", f"e{number}", {}) for number in range(10)))
    service.start()
    service.settle()
    assert [(report.events, report.backlog) for report in service.reports(3)] == [(4, 6), (4, 2), (2, 0)]
    assert len(service.pairs("default")) == 10


def test_when_an_event_happened_is_told_if_it_says_so(living: Start) -> None:
    service = living()
    service.subscribe("default", "all", "true")
    times = {"good": "2026-01-02T03:04:05Z", "odd": {"a": 1}, "text": "soon", "none": None}
    service.publish(*(arrival("default", id, {"time": time}) for id, time in times.items()))
    service.start()
    service.settle()
    told = {each.event_id: each.event_time for each in service.feed.after("default", 0, limit=10)}
    assert told.keys() == times.keys()
    assert {id: time and time.isoformat() for id, time in told.items()} == {
        **{"good": "2026-01-02T03:04:05+00:00"},
        **{"odd": None, "text": None, "none": None},
    }


class LateSource(DataSource):
    """A source that cannot be read before a file is there."""

    @classmethod
    def name(cls) -> str:
        return "late"

    def schema(self) -> str:
        return "number long"

    def simpleStreamReader(self, schema: StructType) -> LateReader:
        return LateReader(Path(self.options["file"]))


class LateReader(SimpleDataSourceStreamReader):
    def __init__(self, file: Path) -> None:
        self._file = file

    def initialOffset(self) -> dict[str, int]:
        assert self._file.exists(), "it is too early"
        return {"number": 0}

    def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[int]], dict[str, int]]:
        return iter([(start["number"],)]), {"number": start["number"] + 1}

    def readBetweenOffsets(self, start: dict[str, int], end: dict[str, int]) -> Iterator[tuple[int]]:
        return iter([(number,) for number in range(start["number"], end["number"])])


@pytest.mark.slow
def test_a_query_that_does_not_begin_is_started_again_in_the_same_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tamis.service.stream._SOURCE_SECONDS", 0.0)
    monkeypatch.setattr("tamis.service.stream._ATTEMPTS", 3)
    spark.dataSource.register(LateSource)
    file, taken, attempts = tmp_path / "file", list[int](), count(1)

    def begin(stack: ExitStack, on_failure: Callable[..., None]) -> Any:
        if next(attempts) == 3:
            file.touch()
        numbers = spark.readStream.format("late").option("file", str(file)).load()
        query = numbers.writeStream.foreachBatch(lambda rows, _: taken.append(rows.count())).start()
        stack.callback(query.stop)
        return query

    running = RestartedQuery(begin)
    try:
        until(lambda: running.is_active() and taken)
        assert next(attempts) == 4
    finally:
        running.close()
    file.unlink()
    hopeless = RestartedQuery(begin)
    until(lambda: not hopeless.is_active())
    assert next(attempts) == 8, "three attempts, and what was asked for here"
    assert "it is too early" in str(hopeless.query.exception())
    hopeless.close()
    monkeypatch.setattr("tamis.service.stream._SOURCE_SECONDS", 600.0)
    quick = RestartedQuery(begin)
    until(lambda: not quick.is_active())
    assert next(attempts) == 10, "one attempt: that was no lack of time"
    quick.close()


@pytest.mark.slow
def test_a_query_whose_batch_fails_is_not_started_again(spark: SparkSession, living: Start) -> None:
    service = living()
    attempts = count()

    def begin(stack: ExitStack, on_failure: Callable[..., None]) -> Any:
        next(attempts)
        return start(service.settings, spark, stack, on_failure=on_failure)

    running = RestartedQuery(begin)
    try:
        snapshot = service.settings.folder / STREAM / "snapshot"
        snapshot.rename(snapshot.with_name("lost"))
        service.publish(arrival("default", "first", {"price": 1}))
        until(lambda: not running.is_active())
        assert next(attempts) == 1
    finally:
        running.close()
