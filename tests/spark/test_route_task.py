"""Routing on Spark: the pairs are the same, events visit few shards, and dead letters are told once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tamis import EventBatch, EventType, Matcher, reference
from tamis.lab.workloads import generate
from tamis.language.condition import compile_condition
from tamis.progress import BatchReport
from tamis.routing.shards import Routing
from tamis.spark import Reading, match, prepare
from tamis.spark.event_tables import COUNTED, SHARD, event_count, event_rows, misfit_count, routing_ns
from tamis.spark.route_task import RouteTask
from tamis.spark.snapshot_ref import SnapshotRef
from tamis.store import Store
from tests.spark.runs import Run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DATA = generate("auction", subscriptions=600, events=400, seed=11)
EVENTS = DATA.events.append_column("key", pa.array([f"e{number}" for number in range(400)]))
WAYS = {"similar": Routing(), "small": Routing(budget=6_000), "by id": Routing(by_similarity=False)}


@pytest.fixture(scope="module")
def expected() -> list[tuple[str, str]]:
    matcher = Matcher(DATA.event_type)
    assert not matcher.add_many(pa.table({"id": DATA.ids, "condition": DATA.conditions}))
    found = matcher.match_batch(EVENTS, event_id="key")
    assert found.num_rows
    return pairs_of(found)


def pairs_of(table: pa.Table) -> list[tuple[str, str]]:
    return sorted(zip(*(table[name].to_pylist() for name in ("event_id", "subscription_id")), strict=True))


@pytest.mark.parametrize("way", WAYS)
def test_a_batch_finds_the_same(spark: SparkSession, expected: list[tuple[str, str]], way: str) -> None:
    events = spark.createDataFrame(EVENTS).repartition(3)
    subscriptions = spark.createDataFrame(pa.table({"id": DATA.ids, "condition": DATA.conditions}))
    ready = prepare(subscriptions, DATA.event_type, spark=spark)
    options: Any = {"event_id": "key", "shards": 6, "routing": WAYS[way]}
    assert pairs_of(match(events, ready, **options).toArrow()) == expected
    rows = match(events, ready, output="grouped", keep=["title"], **options).toArrow().to_pylist()
    assert sorted(row["event_id"] for row in rows) == sorted(EVENTS["key"].to_pylist()), "all of them"
    assert sorted((row["event_id"], id) for row in rows for id in row["subscription_id"]) == expected
    titles = dict(zip(EVENTS["key"].to_pylist(), EVENTS["title"].to_pylist(), strict=True))
    assert {row["event_id"]: row["title"] for row in rows} == titles


def test_a_task_sends_events_where_entries_let_them_in(tmp_path: Path) -> None:
    matcher = Matcher({"name": "n", "attributes": {"id": "string", "a": "int"}})
    matcher.add_many([(f"{shard:05}-{number}", f"a = {number}") for shard, number in ((0, 1), (2, 1), (1, 2))])
    routes = SnapshotRef(str(tmp_path), matcher.publish(tmp_path))
    events = pa.table({"id": ["x", "y", None, "z"], "a": pa.array([1, 2, 1, 9], pa.int32())})
    task = RouteTask(routes, Reading())
    sent = pa.Table.from_batches(task(iter(events.to_batches())))
    assert sent.select(["id", SHARD, COUNTED]).to_pylist() == [
        {"id": "x", SHARD: 0, COUNTED: None},
        {"id": "x", SHARD: 2, COUNTED: None},
        {"id": "y", SHARD: 1, COUNTED: None},
        {"id": None, SHARD: 0, COUNTED: None},  # it has no id: the first shard tells
        {"id": None, SHARD: 0, COUNTED: 4},
    ]
    assert event_count(sent) == 4
    assert event_rows(sent).num_rows == 4
    assert misfit_count(sent) == 0
    assert routing_ns(sent) > 0
    every = RouteTask(routes, event_type="n", keeps_all=True)
    sent = event_rows(pa.Table.from_batches(every(iter(events.to_batches()))))
    assert sorted(zip(sent["a"].to_pylist(), sent[SHARD].to_pylist(), strict=True)) == [
        *((1, 0), (1, 0), (1, 2), (1, 2), (2, 1), (9, 0)),
    ]
    assert list(task(iter([]))) == []


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Run:
    return Run(spark, tmp_path)


def test_a_stream_finds_the_same_visits_few_shards_and_tells_dead_letters_once(run: Run, tmp_path: Path) -> None:
    camera = EventType.of({"name": "camera", "attributes": {"id": "string", "brand": "string", "price": "int"}})
    with Store.open(tmp_path / "store.db") as store:
        store.set_event_type(camera)
        for number in range(60):
            store.add(f"s{number}", text(number), event_type="camera")
        events = [{"id": f"e{number}", "brand": f"b{number % 15}", "price": number} for number in range(60)]
        run.feed(*events, b"{bad", {"brand": "b1"}, {"id": "e", "price": "much"})
        reading = Reading(json="value", on_misfit="dead letter")
        (first,) = run.finish(store, shards=4, routing=Routing(slack=0.5), reading=reading)
        matcher = Matcher(camera)
        matcher.add_many([(f"s{number}", text(number)) for number in range(60)])
        wanted = {(event["id"], id) for event in events for id in matcher.match(event)}
        assert set(run.pairs()) == wanted
        assert sorted(each["kind"] for each in run.dead()) == ["malformed", "missing id", "wrong type"]
        assert (first.events, first.shards, first.dead) == (63, 4, 3)
        assert first.useful_visits <= first.visits < 2 * 63
        assert 0 < first.entry_bytes <= first.entry_budget == Routing().budget
        # Subscriptions that came later are dealt, too, and those that went are not found.
        store.add("late", "brand = 'b14'", event_type="camera")
        store.remove("s3")
        run.feed({"id": "f1", "brand": "b14", "price": 1}, {"id": "f2", "brand": "b3", "price": 1})
        run.feed({"id": "m1", "brand": "b3", "price": "much"}, {"id": "m2", "brand": 7, "price": []})
        *_, last = run.finish(store, shards=4, routing=Routing(slack=0.5))
        assert (last.events, last.misfits, last.dead) == (2, 2, 0), "each once, whatever it visits"
        later = {pair for pair in run.pairs() if pair[0].startswith("f")}
        assert later == {("f1", "late"), *(("f2", f"s{number}") for number in (15, 27, 39, 51))}


@pytest.mark.slow
@pytest.mark.parametrize("is_worth_it", [True, False])
def test_a_running_stream_generalises_entries_as_far_as_measurements_say(
    run: Run, tmp_path: Path, is_worth_it: bool
) -> None:
    """An event satisfies as many exact entries as its title has, or none of them; a title alone is one entry."""
    prices = [f"p{number}" for number in range(8)]
    priced = EventType.of(
        {"name": "event", "attributes": {"id": "string", "title": "string", **dict.fromkeys(prices, "int")}}
    )
    conditions = {
        f"s{n}": " AND ".join(
            [f"title = 'book {n % 40}'", *(f"{each} < {1 + (n // 40 + k) % 50}" for k, each in enumerate(prices))]
        )
        for n in range(1200)
    }

    def event(number: int) -> dict[str, Any]:
        costs = dict.fromkeys(prices, 0 if is_worth_it or number % 100 == 0 else 50)
        return {"id": f"e{number}", "title": f"book {number % 40}", **costs}

    def is_enough(reports: list[BatchReport]) -> bool:
        exact, budgets = reports[0].entry_bytes, [each.entry_budget for each in reports]
        # What halving gains is some milliseconds, less than the noise of a busy machine: it is tried in any case.
        # What it loses is a multiple of the cost: it is taken back.
        return exact >> 1 in budgets and (is_worth_it or budgets[-1] == Routing().budget)

    with Store.open(tmp_path / "store.db") as store:
        store.set_event_type(priced)
        rows = [{"id": id, "condition": each, "event_type": "event"} for id, each in conditions.items()]
        assert not store.add_many(rows).refusals
        query = run.start(store, shards=3, routing=Routing(adapts=True, slack=0.5))
        published: list[dict[str, Any]] = []
        for batch in range(60):
            some = [event(len(published) + n) for n in range(500)]
            published += some
            run.feed(*some)
            if is_enough(run.reports.count(batch + 1)):
                break
        query.stop()
    costs = [(each.entry_bytes, each.visits, each.filter_seconds) for each in run.reports.all]
    assert is_enough(run.reports.all), costs
    assert min(costs)[0] < costs[0][0], "entries were generalised"
    chosen, everything = [*conditions][::60], EventBatch.of(published, priced)
    expected = {
        (published[row]["id"], id)
        for id in chosen
        for row in reference.matches(compile_condition(conditions[id], priced), everything)
    }
    assert {pair for pair in run.pairs() if pair[1] in chosen} == expected != set()


def text(number: int) -> str:
    return f"brand = 'b{number % 12}' AND price < {number}"
