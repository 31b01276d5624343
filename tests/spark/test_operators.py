"""Conditions that call operators, on Spark: the pairs of one process, shared calls, failures, and figures."""

from __future__ import annotations

import importlib
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tamis import Matcher
from tamis.events import EventType
from tamis.operators import OPERATORS, Operator, OperatorError, install, uninstall
from tamis.operators.discovery import OperatorSettings
from tamis.operators.reports import OperatorLedger, OperatorReport
from tamis.progress import BatchReport
from tamis.spark import match, prepare
from tamis.spark.dry_run import try_pipeline
from tamis.spark.pipeline import PipelineError
from tamis.spark.pipeline_run import failure_reason, start_pipeline
from tamis.spark.stream_query import OPERATORS_FILE
from tamis.store import Store
from tamis.values.types import BIGINT
from tests.spark.pipelines import pipeline, put_events, put_subscriptions
from tests.spark.runs import PATIENCE_SECONDS, Run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

MODULE = "operators_of_a_temporary_folder"
TEXT = """
import time

from tamis.operators import operator


@operator("squared", ["bigint"], "bigint")
def squared(values):
    return [value * value for value in values.to_pylist()]


@operator("slow", ["bigint"], "bigint")
def slow(values):
    time.sleep(0.005 * len(values))
    return [value % 10 for value in values.to_pylist()]


@operator("brittle", ["bigint"], "bigint", batch=False)
def brittle(value):
    if value % 5 == 2:
        raise LookupError(f"no answer to {value}")
    return value
"""
TYPE = {"name": "reading", "attributes": {"id": "string", "n": "bigint", "m": "bigint"}}


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[OperatorSettings]:
    """A module in a folder that only its settings name; forgotten after the test."""
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / f"{MODULE}.py").write_text(TEXT)
    importlib.invalidate_caches()
    path = [*sys.path]
    yield OperatorSettings((MODULE,), {}, (str(folder),))
    sys.path[:] = path
    for name in {"squared", "slow", "brittle"} & OPERATORS.keys():
        uninstall(name)


@pytest.fixture
def alien() -> Iterator[str]:
    """An operator that only the driver has."""
    install(Operator("only_here", (BIGINT,), BIGINT, lambda values: values))
    yield "only_here"
    uninstall("only_here")


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Iterator[Run]:
    yield Run(spark, tmp_path)
    for query in spark.streams.active:
        query.stop()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "subscriptions.db") as opened:
        yield opened


def readings(count: int) -> list[dict[str, Any]]:
    rng = random.Random(count)
    return [{"id": f"e{number}", "n": rng.randrange(40), "m": rng.randrange(5)} for number in range(count)]


def conditions(count: int) -> dict[str, str]:
    rng = random.Random(count)
    texts = ("squared(n) > {a} AND m = {b}", "slow(n) = {b} OR m > 3", "NOT (squared(n) = {a}) AND slow(m) < {b}")
    return {
        f"s{number}": rng.choice(texts).format(a=rng.randrange(1_600), b=rng.randrange(5))
        for number in range(count)
    }


def pairs_here(settings: OperatorSettings, wanted: dict[str, str], events: list[dict[str, Any]]) -> set[Any]:
    settings.load()
    matcher = Matcher(TYPE)
    assert not matcher.add_many(wanted.items())
    table = matcher.match_batch(events, event_id="id")
    return set(zip(table["event_id"].to_pylist(), table["subscription_id"].to_pylist(), strict=True))


def frame(spark: SparkSession, events: list[dict[str, Any]]) -> DataFrame:
    return spark.createDataFrame(events, "id string, n long, m long").repartition(3)


def fill(store: Store, wanted: dict[str, str]) -> None:
    store.set_event_type(EventType.of(TYPE))
    rows = [{"id": id, "condition": text, "event_type": "reading"} for id, text in wanted.items()]
    assert not store.add_many(rows).refusals


def only(reports: list[BatchReport], operator: str) -> OperatorReport:
    (found,) = [each for report in reports for each in report.operators if each.operator == operator]
    return found


# --- pairs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shards", "call_order"), [(1, "greedy"), (2, "sub-order")])
def test_match_finds_the_same_pairs(
    spark: SparkSession, settings: OperatorSettings, shards: int, call_order: str
) -> None:
    wanted, events = conditions(50), readings(30)
    subscriptions = spark.createDataFrame(list(wanted.items()), "id string, condition string")
    found = match(frame(spark, events), subscriptions, operators=settings, shards=shards, call_order=call_order)
    assert found.refused.collect() == []  # type: ignore[operator]
    expected = pairs_here(settings, wanted, events)
    assert {tuple(row) for row in found.collect()} == expected
    assert expected


def test_stream_finds_the_same_pairs(run: Run, store: Store, settings: OperatorSettings) -> None:
    wanted, events = conditions(50), readings(30)
    expected = pairs_here(settings, wanted, events)
    fill(store, wanted)
    run.feed(*events[:20])
    run.feed(*events[20:])
    reports = run.finish(store, operators=settings)
    assert set(run.pairs()) == expected
    assert [{each.operator for each in report.operators} for report in reports] == [{"slow", "squared"}] * 2
    assert all(each.failures == each.skipped == 0 for report in reports for each in report.operators)


def test_conditions_that_call_what_the_driver_does_not_know_are_refused(spark: SparkSession) -> None:
    subscriptions = spark.createDataFrame([("s", "squared(n) > 3")], "id string, condition string")
    (refused,) = prepare(subscriptions, TYPE, spark=spark).refused.collect()
    assert "squared" in refused["reason"], "a worker that has it from another query may not take it for known"


# --- what calls cost ---------------------------------------------------------------------------------------


def test_a_slow_operator_is_called_once_an_event_for_all_who_ask(
    run: Run, store: Store, settings: OperatorSettings
) -> None:
    settings.load()
    fill(store, {f"s{number}": f"slow(n) = {number % 10} AND m >= {number % 7 - 3}" for number in range(2_000)})
    events = readings(12)
    run.feed(*events)
    found = only(run.finish(store, operators=settings), "slow")
    assert 0 < found.calls <= len(events)
    assert found.saved > 0
    assert found.seconds >= 0.005 * found.calls

    ledger = OperatorLedger(run.checkpoint / "tamis" / OPERATORS_FILE)
    assert ledger.costs()["slow"] == pytest.approx(found.seconds / found.calls)
    run.feed(*({**event, "id": f"again {event['id']}"} for event in events))
    again = only(run.finish(store, operators=settings), "slow")
    assert again.calls <= len(events)
    (kept,) = OperatorLedger(run.checkpoint / "tamis" / OPERATORS_FILE).reports()
    assert kept.calls == found.calls + again.calls, "what was learned outlives the query"


def test_an_operator_that_raises_concerns_nobody_else(run: Run, store: Store, settings: OperatorSettings) -> None:
    settings.load()
    wanted = {"fails": "brittle(n) >= 0", "spared": "brittle(n) >= 0 OR n = 7", "other": "squared(n) >= 0"}
    fill(store, wanted)
    run.feed(*({"id": f"e{number}", "n": number, "m": 0} for number in range(10)))
    reports = run.finish(store, operators=settings)
    good = {f"e{number}" for number in range(10)} - {"e2", "e7"}
    assert set(run.pairs()) == {
        *((event, "fails") for event in good),
        *((event, "spared") for event in {*good, "e7"}),
        *((f"e{number}", "other") for number in range(10)),
    }
    found = only(reports, "brittle")
    assert found.failures == 2
    assert {(each.arguments, each.error) for each in found.lately} == {
        (str(number), f"LookupError: no answer to {number}") for number in (2, 7)
    }
    assert only(reports, "squared").failures == 0
    (line,) = (run.checkpoint / "tamis" / "progress.jsonl").read_text().splitlines()
    assert {each["operator"]: each["failures"] for each in json.loads(line)["operators"]} == {
        "brittle": 2,
        "squared": 0,
    }


# --- who lacks an operator -----------------------------------------------------------------------------------


def test_a_worker_without_the_operator_names_it(spark: SparkSession, alien: str, tmp_path: Path) -> None:
    from pyspark.errors import PythonException

    matcher = Matcher(TYPE)
    matcher.add("s", f"{alien}(n) > 3")
    matcher.publish(tmp_path / "snapshot")
    found = match(frame(spark, readings(4)), tmp_path / "snapshot")
    with pytest.raises(PythonException) as raised:
        found.collect()
    assert failure_reason(raised.value).startswith(
        f"subscriptions call operators that are not known in this process: {alien};"
    )


def test_a_driver_without_the_operator_fails_before_spark_starts_a_task(
    spark: SparkSession, alien: str, tmp_path: Path
) -> None:
    matcher = Matcher(TYPE)
    matcher.add("s", f"{alien}(n) > 3")
    matcher.publish(tmp_path / "snapshot")
    known = OPERATORS[alien]
    uninstall(alien)
    try:
        with pytest.raises(OperatorError, match=alien):
            match(frame(spark, readings(4)), tmp_path / "snapshot")
    finally:
        install(known)


def test_a_stream_whose_workers_lack_the_operator_names_it(run: Run, store: Store, alien: str) -> None:
    from pyspark.errors import StreamingQueryException

    fill(store, {"s": f"{alien}(n) > 3"})
    run.feed(*readings(3))
    query = run.start(store, trigger={"availableNow": True})
    with pytest.raises(StreamingQueryException) as raised:
        query.awaitTermination(PATIENCE_SECONDS)
    assert f"not known in this process: {alien};" in failure_reason(raised.value)


# --- pipelines -----------------------------------------------------------------------------------------------


def test_a_pipeline_brings_its_operators(spark: SparkSession, settings: OperatorSettings, tmp_path: Path) -> None:
    settings.load()
    (tmp_path / f"{MODULE}.py").write_text(TEXT)
    put_events(tmp_path / "in", "one.jsonl", *readings(20))
    put_subscriptions(tmp_path / "subs.db", conditions(10), TYPE)
    made = pipeline(tmp_path, operators=f'modules = ["{MODULE}"]\nallowed = ["slow", "squared"]')
    plan = try_pipeline(made, lambda: spark)
    assert plan.problems == []
    assert plan.sample is not None

    running = start_pipeline(made, spark)
    try:
        assert running.query.awaitTermination(PATIENCE_SECONDS)
    finally:
        running.close()
    (report,) = running.reports()
    assert report.notifications == plan.sample.matches > 0
    assert {each.operator for each in report.operators} == {"slow", "squared"}


def test_a_pipeline_refuses_what_is_not_allowed_and_lacks_what_is_not_there(
    spark: SparkSession, settings: OperatorSettings, tmp_path: Path
) -> None:
    settings.load()
    (tmp_path / "in").mkdir()
    (tmp_path / "changes").mkdir()
    put_events(tmp_path / "in", "one.jsonl", *readings(5))
    lines = [{"id": "good", "condition": "squared(n) >= 0"}, {"id": "bad", "condition": "slow(n) >= 0"}]
    (tmp_path / "changes" / "1.jsonl").write_text("\n".join(map(json.dumps, lines)))
    made = pipeline(
        tmp_path,
        subscriptions='changes = "changes"',
        operators=f'modules = ["{MODULE}"]\nallowed = ["squared"]',
    )
    running = start_pipeline(made, spark)
    try:
        assert running.query.awaitTermination(PATIENCE_SECONDS)
    finally:
        running.close()
    (report,) = running.reports()
    assert report.busiest == (("good", 5),)

    for table, message in (
        (f'modules = ["{MODULE}"]\nallowed = ["sqared"]', "operators.allowed: there is no operator sqared"),
        ('modules = ["nowhere_at_all"]', "module nowhere_at_all cannot be loaded: ModuleNotFoundError"),
    ):
        with pytest.raises(PipelineError, match=message):
            start_pipeline(pipeline(tmp_path, operators=table), spark)
        (problem,) = try_pipeline(pipeline(tmp_path, operators=table), lambda: spark).problems[:1]
        assert problem.startswith("operators: ")
