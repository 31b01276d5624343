"""Spark finds the pairs that the matcher in one process finds: in batches, streams and shards, from any source."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis import Matcher
from tamis.errors import EventError, SubscriptionError
from tamis.events import EventBatch, EventType
from tamis.events.reading import read_json_lines
from tamis.lab.workloads import generate
from tamis.matchers import Matchers
from tamis.routing.shards import Routing
from tamis.snapshot import Snapshots
from tamis.spark import Reading, match, prepare, stream
from tamis.spark.shards import assign_segments
from tamis.store import Store
from tests.oracle.rows import SCHEMA, random_table
from tests.spark import connecting
from tests.spark.runs import Run
from tests.worlds import schemaless, typed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]
Pairs = list[tuple[Any, str]]


@dataclass(frozen=True, slots=True)
class Case:
    """Subscriptions and events, with the pairs that the matcher in this process finds.

    Attributes:
        event_type: Of the events.
        subscriptions: `id` and `condition`.
        events: One column of them is `key`, which names the event.
        expected: The pairs, sorted.
    """

    event_type: EventType
    subscriptions: pa.Table
    events: pa.Table
    expected: Pairs


def case_of(
    event_type: EventType, conditions: list[str], events: pa.Table, dialects: list[str] | None = None
) -> Case:
    subscriptions = pa.table({"id": [f"s{number}" for number in range(len(conditions))], "condition": conditions})
    if dialects is not None:
        subscriptions = subscriptions.append_column("dialect", pa.array(dialects))
    named = events.append_column("key", pa.array([f"e{number}" for number in range(events.num_rows)]))
    matcher = Matcher(event_type)
    assert not matcher.add_many(subscriptions)
    return Case(event_type, subscriptions, named, pairs_of(matcher.match_batch(named, event_id="key")))


def random_case(seed: int) -> Case:
    """Rows of every type, and conditions that ask everything of them."""
    chance = random.Random(seed)
    event_type = EventType.from_arrow(SCHEMA, time_zone="UTC")
    texts = [condition.text for condition in typed().accepted(chance, 80)]
    return case_of(event_type, texts, random_table(chance, 150))


def workload_case(name: str, seed: int) -> Case:
    data = generate(name, subscriptions=400, events=300, seed=seed)
    return case_of(data.event_type, data.conditions.to_pylist(), data.events)


def dialects_case() -> Case:
    """Conditions of other dialects, over columns with and without values."""
    event_type = EventType.of(
        {"attributes": {"type": "string", "hop": "int", "hot": "boolean", "tags": "array<string>"}}
    )
    cesql = [
        "type = hop",
        "hop < 5 OR hot",
        "NOT (type LIKE 'a%')",
        "'7' = hop",
        "hop IN ('7', 'x')",
        "SUBSTRING(type, 2) = 'b'",
    ]
    queries = [
        {"term": {"tags": "x"}},
        {"bool": {"must_not": [{"match": {"tags": "X"}}]}},
        {
            "bool": {
                "should": [{"prefix": {"type": "a"}}, {"range": {"hop": {"gte": 7}}}, {"exists": {"field": "hot"}}]
            }
        },
    ]
    conditions = [*cesql, *map(json.dumps, queries)]
    dialects = ["cesql"] * len(cesql) + ["percolator"] * len(queries)
    events = pa.table(
        {
            "type": ["ab", "7", None, "b", ""] * 4,
            "hop": pa.array([7, 7, 3, None, 9] * 4, pa.int32()),
            "hot": [True, None, False, True, None] * 4,
            "tags": [["x", "y"], [], None, ["a X"], [None]] * 4,
        }
    )
    return case_of(event_type, conditions, events, dialects)


WORKLOADS = ("auction", "sparse", "ads")
RANDOM = ("random 0", "random 1")


@pytest.fixture(scope="module", params=[*RANDOM, *WORKLOADS, "dialects"])
def case(request: pytest.FixtureRequest) -> Case:
    name: str = request.param
    if name == "dialects":
        found = dialects_case()
    else:
        found = workload_case(name, 5) if name in WORKLOADS else random_case(RANDOM.index(name))
    assert found.expected, "nothing matches: nothing is tested"
    return found


def pairs_of(table: pa.Table) -> Pairs:
    return sorted(zip(*(table[name].to_pylist() for name in ("event_id", "subscription_id")), strict=True))


def found_by(frame: DataFrame) -> Pairs:
    return pairs_of(frame.toArrow())


def schema_of(case: Case) -> Any:
    """The events' columns as Spark has them; a time without a zone stays one."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(case.events.schema, prefer_timestamp_ntz=True)


def frame_of(case: Case, spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(case.events, schema_of(case))


# --- batch -----------------------------------------------------------------------------------------------------


def test_a_batch_finds_what_the_matcher_finds(spark: SparkSession, case: Case) -> None:
    events = frame_of(case, spark)
    ready = prepare(spark.createDataFrame(case.subscriptions), case.event_type, segments=3, spark=spark)
    assert ready.refused.count() == 0
    keep = case.events.column_names[1]
    kept = dict(zip(case.events["key"].to_pylist(), events.select(keep).toArrow()[keep].to_pylist(), strict=True))
    for parts in (1, 7):
        dealt = events.repartition(parts)
        assert found_by(match(dealt, ready, event_id="key")) == case.expected, parts
        for shards in (1, 2):
            options: Any = {"event_id": "key", "output": "grouped", "keep": [keep], "shards": shards}
            rows = match(dealt, ready, **options).toArrow().to_pylist()
            flat = sorted((row["event_id"], id) for row in rows for id in row["subscription_id"])
            assert flat == case.expected, (parts, shards)
            assert sorted(row["event_id"] for row in rows) == sorted(kept)
            assert repr([row[keep] for row in rows]) == repr([kept[row["event_id"]] for row in rows])


# One that snapshots keep, two that every worker builds, one with settings; tests without Spark have every engine.
@pytest.mark.parametrize("engine", ["bitslice", "scan", "hits", "buckets:capacity=2"])
def test_every_kind_of_engine_finds_the_same(spark: SparkSession, case: Case, engine: str) -> None:
    events = frame_of(case, spark)
    subscriptions = spark.createDataFrame(case.subscriptions)
    assert found_by(match(events, subscriptions, event_id="key", engine=engine)) == case.expected


def test_cheap_events_first_find_the_same(spark: SparkSession, case: Case) -> None:
    ready = prepare(spark.createDataFrame(case.subscriptions), case.event_type, spark=spark)
    events = frame_of(case, spark)
    for shards in (1, 2):
        options: Any = {"event_id": "key", "schedule": "shortest-first", "shards": shards}
        assert found_by(match(events, ready, **options)) == case.expected
        rows = match(events, ready, output="grouped", **options).toArrow().to_pylist()
        assert sorted((row["event_id"], id) for row in rows for id in row["subscription_id"]) == case.expected
        assert len(rows) == case.events.num_rows
    with pytest.raises(ValueError, match="no schedule 'random'"):
        match(events, ready, event_id="key", schedule="random")  # type: ignore[arg-type]


@pytest.mark.parametrize("shards", [2, 3, 11])
def test_shards_find_the_same(spark: SparkSession, case: Case, shards: int) -> None:
    events = frame_of(case, spark).repartition(3)
    ready = prepare(spark.createDataFrame(case.subscriptions), case.event_type, segments=4, spark=spark)
    manifest = Snapshots(ready.url).manifest(ready.version)
    dealt = assign_segments(manifest, shards)
    assert sorted(name for names in dealt for name in names) == sorted(entry.segment for entry in manifest.entries)
    assert 1 < len(dealt) <= min(shards, len(manifest.entries))
    assert found_by(match(events, ready, event_id="key", shards=shards)) == case.expected


def test_events_with_the_same_id_stay_apart(spark: SparkSession) -> None:
    rows = [("e", 1, -0.0), ("e", 1, -0.0), ("e", 2, 0.0), (None, 1, 1.0), (None, 3, 1.0)]
    events = spark.createDataFrame(rows, "id string, x int, y double")
    subscriptions = spark.createDataFrame(
        [("one", "x = 1"), ("two", "x = 2"), ("any", "x > 0")], "id string, condition string"
    )
    ready = prepare(subscriptions, EventType.from_spark(events.schema), segments=3, spark=spark)
    for shards in (1, 2, 3):
        found = match(events, ready, output="grouped", keep=["x", "y"], shards=shards).collect()
        got = sorted(repr((row.event_id, sorted(row.subscription_id), row.x, row.y)) for row in found)
        assert got == sorted(
            map(
                repr,
                [
                    ("e", ["any", "one"], 1, -0.0),
                    ("e", ["any", "one"], 1, -0.0),
                    ("e", ["any", "two"], 2, 0.0),
                    (None, ["any", "one"], 1, 1.0),
                    (None, ["any"], 3, 1.0),
                ],
            )
        ), shards
        pairs = match(events, ready, shards=shards).collect()
        assert sorted(str(row.event_id) + " " + row.subscription_id for row in pairs) == sorted(
            ["e any", "e any", "e any", "e one", "e one", "e two", "None any", "None any", "None one"]
        )


# --- where subscriptions come from -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def auction() -> Case:
    return workload_case("auction", 1)


def _frame(case: Case, spark: SparkSession, folder: Path) -> Any:
    return spark.createDataFrame(case.subscriptions)


def _parquet(case: Case, spark: SparkSession, folder: Path) -> Any:
    pq.write_table(case.subscriptions, folder / "subscriptions.parquet")
    return folder / "subscriptions.parquet"


def _parquet_folder(case: Case, spark: SparkSession, folder: Path) -> Any:
    spark.createDataFrame(case.subscriptions).repartition(3).write.parquet(str(folder / "several"))
    return str(folder / "several")


def _json_lines(case: Case, spark: SparkSession, folder: Path) -> Any:
    lines = [json.dumps(row) + "\n" for row in case.subscriptions.to_pylist()]
    (folder / "subscriptions.jsonl").write_text("".join(lines))
    return folder / "subscriptions.jsonl"


def _snapshot(case: Case, spark: SparkSession, folder: Path) -> Any:
    matcher = Matcher(case.event_type)
    matcher.add_many(case.subscriptions)
    matcher.publish(folder / "snapshot")
    return folder / "snapshot"


def _store_path(case: Case, spark: SparkSession, folder: Path) -> Any:
    with Store.open(folder / "store.db") as store:
        store.set_event_type(case.event_type)
        rows = [{**row, "event_type": case.event_type.name} for row in case.subscriptions.to_pylist()]
        assert not store.add_many(rows).refusals
    return folder / "store.db"


SOURCES = {
    "a DataFrame": _frame,
    "a Parquet file": _parquet,
    "a Parquet folder": _parquet_folder,
    "JSON lines": _json_lines,
    "a snapshot": _snapshot,
    "a store's path": _store_path,
}


@pytest.mark.parametrize("source", SOURCES)
def test_subscriptions_come_from_anywhere(spark: SparkSession, auction: Case, tmp_path: Path, source: str) -> None:
    events = frame_of(auction, spark)
    found = match(events, SOURCES[source](auction, spark, tmp_path), event_id="key")
    assert found_by(found) == auction.expected
    assert found.refused.count() == 0  # type: ignore[operator]


def test_subscriptions_come_from_a_store_as_it_is(spark: SparkSession, auction: Case, tmp_path: Path) -> None:
    events = frame_of(auction, spark)
    with Store.open(_store_path(auction, spark, tmp_path)) as store:
        before = match(events, store, event_id="key", snapshot=tmp_path / "published")
        gone = {id for _, id in auction.expected[::2]}
        store.remove_many(gone)
        after = match(events, store, event_id="key", snapshot=tmp_path / "published")
        assert found_by(after) == [pair for pair in auction.expected if pair[1] not in gone]
    assert found_by(before) == auction.expected, "a DataFrame is of the version that was the newest"


def test_composite_subscriptions_are_refused_in_a_batch_with_a_warning(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    events = spark.createDataFrame([(1, 5), (2, 6)], "id int, x int")
    with Store.open(tmp_path / "store.db") as store:
        store.add("plain", "x = 5")
        store.add("both", "x = 5 THEN x = 6 WITHIN INTERVAL '1' HOUR", dialect="composite")
        found = match(events, store, snapshot=tmp_path / "published")
    assert found_by(found) == [(1, "plain")]
    [refused] = found.refused.collect()  # type: ignore[operator]
    assert refused.id == "both"
    assert "only a stream" in refused.reason
    assert ["1 composite" in each.getMessage() for each in caplog.records if each.levelname == "WARNING"] == [True]


def test_what_is_refused_comes_back_with_reasons(spark: SparkSession) -> None:
    events = spark.createDataFrame([(1, 5)], "id int, x int")
    rows = [
        ("good", "x = 5"),
        ("syntax", "x ="),
        ("unknown", "y = 5"),
        ("twice", "x = 5"),
        ("twice", "x = 5"),
        (None, "x = 5"),
        (None, "x = 5"),
        ("nothing", None),
    ]
    found = match(events, spark.createDataFrame(rows, "id string, condition string"))
    assert found_by(found) == [(1, "good"), (1, "twice")]
    refused = [(row.id, row.reason) for row in found.refused.collect()]  # type: ignore[operator]
    assert sorted(str(id) for id, _ in refused) == ["None", "None", "nothing", "syntax", "twice", "unknown"]
    reasons = dict(refused)
    assert "there is already a subscription 'twice'" in reasons["twice"]
    assert "y" in reasons["unknown"] and reasons["syntax"] and reasons["nothing"]
    assert reasons[None] == "a subscription needs an id"


def test_ids_of_subscriptions_may_be_numbers(spark: SparkSession) -> None:
    events = spark.createDataFrame([(1, 5)], "id int, x int")
    subscriptions = spark.createDataFrame([(7, "x = 5")], "id long, condition string")
    assert found_by(match(events, subscriptions)) == [(1, "7")]


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("prioriti", "there is no column 'prioriti'; did you mean 'priority'"),
        ("changes", "there is no column 'changes'; expected id, condition"),
        ("event_type", "the column 'event_type' is for stores only"),
    ],
)
def test_columns_that_no_subscription_has_are_refused_by_name(spark: SparkSession, column: str, said: str) -> None:
    events = spark.createDataFrame([(1, 5)], "id int, x int")
    subscriptions = spark.createDataFrame([("a", "x = 5", "y")], f"id string, condition string, {column} string")
    with pytest.raises(SubscriptionError, match=said):
        match(events, subscriptions)


def test_columns_that_are_missing_are_named(spark: SparkSession) -> None:
    events = spark.createDataFrame([(1, 5)], "id int, x int")
    subscriptions = spark.createDataFrame([("a", "x = 5")], "id string, condition string")
    with pytest.raises(EventError, match="no column number; there are id, x"):
        match(events, subscriptions, event_id="number")
    with pytest.raises(EventError, match="no column colour"):
        match(events, subscriptions, keep=["colour"])
    with pytest.raises(SubscriptionError, match="columns id and condition"):
        match(events, subscriptions.withColumnRenamed("condition", "text"))
    with pytest.raises(ValueError, match="expected output"):
        match(events, subscriptions, output="rows")  # type: ignore[arg-type]


def test_no_subscriptions_and_no_events_give_no_pairs(spark: SparkSession) -> None:
    events = spark.createDataFrame([(1, 5)], "id int, x int")
    none = spark.createDataFrame([], "id string, condition string")
    one = spark.createDataFrame([("a", "x = 5")], "id string, condition string")
    assert found_by(match(events, none)) == []
    assert found_by(match(events, none, shards=3)) == []
    assert found_by(match(events.limit(0), one)) == []
    assert [list(row) for row in match(events, none, output="grouped").collect()] == [[1, []]]


def test_a_snapshot_of_several_event_types(spark: SparkSession, tmp_path: Path) -> None:
    matchers = Matchers([EventType("sale"), EventType("visit")])
    matchers["sale"].add("cheap", "x < 10")
    matchers["visit"].add("early", "x < 3")
    matchers.publish(tmp_path / "snapshot")
    events = spark.createDataFrame([(1, 2), (2, 5)], "id int, x int")
    assert found_by(match(events, tmp_path / "snapshot", event_type="sale")) == [(1, "cheap"), (2, "cheap")]
    assert found_by(match(events, tmp_path / "snapshot", event_type="visit", shards=2)) == [(1, "early")]
    with pytest.raises(SubscriptionError, match="sale, visit"):
        match(events, tmp_path / "snapshot")
    with pytest.raises(SubscriptionError, match=r"'rent'.*sale, visit"):
        match(events, tmp_path / "snapshot", event_type="rent")


# --- streams -----------------------------------------------------------------------------------------------------


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Iterator[Run]:
    yield Run(spark, tmp_path)
    for query in spark.streams.active:
        query.stop()


@pytest.mark.parametrize(("files", "parts", "shards"), [(1, 1, 1), (4, 3, 1), (3, 2, 3)])
def test_a_stream_of_columns_finds_the_same(run: Run, case: Case, files: int, parts: int, shards: int) -> None:
    rows = -(-case.events.num_rows // files)
    for number in range(files):
        pq.write_table(case.events.slice(number * rows, rows), run.folder / "aside" / f"{number}.parquet")
        (run.folder / "aside" / f"{number}.parquet").rename(run.input / f"{number}.parquet")
    events = run.spark.readStream.schema(schema_of(case)).option("maxFilesPerTrigger", 1).parquet(str(run.input))
    subscriptions = _store_path(case, run.spark, run.folder)
    reports = run.finish(
        subscriptions, events=events.repartition(parts), reading=Reading(event_id="key"), shards=shards
    )
    assert run.dead() == []
    assert run.pairs() == case.expected
    assert len(reports) == files
    assert sum(report.events for report in reports) == case.events.num_rows


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("files", "parts", "shards"), [(1, 1, 1), (3, 4, 2)])
def test_a_stream_of_json_finds_the_same(run: Run, seed: int, files: int, parts: int, shards: int) -> None:
    chance = random.Random(seed)
    world = schemaless()
    conditions = [condition.text for condition in world.accepted(chance, 60)]
    events = [{**event, "key": f"e{number}"} for number, event in enumerate(world.draw_events(chance, 120))]
    lines = [json.dumps(event).encode() for event in events]
    matcher = Matcher()
    assert not matcher.add_many([(f"s{number}", text) for number, text in enumerate(conditions)])
    [batch] = read_json_lines(b"\n".join(lines))
    assert isinstance(batch, EventBatch)
    found = matcher.match_batch(batch)
    keys = batch.raw(("key",))
    names = keys.to_pylist() if isinstance(keys, pa.Array) else keys
    first = batch.ids[0].as_py()
    expected = sorted((names[row - first], id) for row, id in pairs_of(found))

    for number in range(files):
        run.feed(*lines[number::files])
    with Store.open(run.folder / "store.db") as store:
        store.add_many([{"id": f"s{number}", "condition": text} for number, text in enumerate(conditions)])
    reading = Reading(json="value", event_id="key")
    reports = run.finish(
        run.folder / "store.db", events=run.events().repartition(parts), reading=reading, shards=shards
    )
    assert expected and run.pairs() == expected
    assert [len(reports), sum(report.dead for report in reports)] == [files, 0]


# --- Spark Connect -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_spark_connect_finds_the_same_and_refuses_streams(spark_environment: None, tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.connecting", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads((tmp_path / "told.json").read_text())
    assert told["module"].startswith("pyspark.sql.connect")
    matcher = Matcher()
    matcher.add_many([each for each in connecting.SUBSCRIPTIONS if each[0] != "bad"])
    events = [dict(zip(("id", "price", "shop"), event, strict=True)) for event in connecting.EVENTS]
    expected = [list(pair) for pair in pairs_of(matcher.match_batch(events, event_id="id"))]
    assert told["pairs"] == told["sharded"] == expected
    grouped = [
        [event["id"], sorted(id for key, id in expected if key == event["id"]), event["shop"]] for event in events
    ]
    assert told["grouped"] == grouped
    assert told["refused"] == ["bad"]
    assert "stream does not work over Spark Connect" in told["stream"]


@pytest.mark.parametrize("given", [[{"id": 1}], pd.DataFrame({"id": [1]}), None])
def test_events_that_are_no_spark_dataframe_are_refused_with_what_to_do(given: Any) -> None:
    with pytest.raises(EventError, match=r"spark\.createDataFrame\(events\).*Matcher\.match_batch"):
        match(given, "nowhere")
    with pytest.raises(EventError, match=r"spark\.createDataFrame"):
        stream(given, "nowhere", None, checkpoint="nowhere")  # type: ignore[arg-type]


def test_a_column_of_another_type_that_no_condition_reads_is_no_matter(spark: SparkSession) -> None:
    events = spark.sql("SELECT 1 AS id, 5 AS price, map('a', 1) AS tags, INTERVAL '1' DAY AS span")
    subscriptions = spark.createDataFrame(
        [("cheap", "price < 9"), ("long", "span IS NOT NULL")], "id string, condition string"
    )
    found = match(events, subscriptions, keep=["tags"])
    assert [(row.event_id, row.subscription_id, row.tags) for row in found.collect()] == [(1, "cheap", {"a": 1})]
    assert [row.id for row in found.refused.collect()] == ["long"]  # type: ignore[operator]
    with pytest.raises(SubscriptionError, match=r"spark\.createDataFrame\(subscriptions\)"):
        match(events, [("cheap", "price < 9")])


@pytest.mark.parametrize("options", [{}, {"shards": 3}, {"shards": 3, "routing": Routing()}])
def test_an_owner_has_one_row_an_event_that_names_all_its_subscriptions(
    spark: SparkSession, options: dict[str, Any]
) -> None:
    rows = [(f"s{n:02}", f"x >= {n}", ("ann", "bob", None)[n % 3], n % 5) for n in range(30)]
    events = spark.createDataFrame([(f"e{x}", x) for x in (-1, 0, 7, 29)], "id string, x int")
    subscriptions = spark.createDataFrame(rows, "id string, condition string, owner string, priority int")
    apart = ["s03", "s04", "s05"]
    found = match(events, subscriptions, by="owner", apart=apart, keep=["x"], **options).toArrow().to_pylist()
    matcher = Matcher({"attributes": {"x": "int"}})
    matcher.add_many({"id": id, "condition": text, "owner": owner} for id, text, owner, _ in rows)
    expected = [
        {"event_id": f"e{x}", "owner": each.owner, "subscription_id": each.subscription_ids, "x": x}
        for x in (-1, 0, 7, 29)
        for each in matcher.match({"x": x}, by="owner", apart=apart)
    ]

    def by_place(row: dict[str, Any]) -> tuple[str, list[str]]:
        return row["event_id"], row["subscription_id"]

    assert sorted(found, key=by_place) == sorted(expected, key=by_place)


def test_owners_and_grouped_output_exclude_each_other(spark: SparkSession) -> None:
    events = spark.createDataFrame([(1,)], "id int")
    with pytest.raises(ValueError, match="expected by='owner' without an output"):
        match(events, events, by="owner", output="grouped")
