"""What tasks and the driver do about operators, called as Spark calls them, without Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tamis import Matcher
from tamis.formulas.expression import OperatorCall
from tamis.operators import Operator, install, uninstall
from tamis.operators.discovery import OperatorSettings
from tamis.operators.meters import reset_meters
from tamis.operators.reports import OperatorLedger, OperatorReport
from tamis.spark.event_reading import Reading
from tamis.spark.snapshot_ref import SnapshotRef
from tamis.spark.stream_task import (
    CALLED,
    ENGINE,
    EVENTS,
    FOUND,
    LEARNED,
    OLDEST,
    PAIR,
    StreamTask,
    reports_in,
    statistics_in,
)
from tamis.values.types import BIGINT

TYPE = {"name": "reading", "attributes": {"id": "string", "n": "bigint"}}
EVENTS_OF_A_TASK = pa.table({"id": [f"e{number}" for number in range(6)], "n": list(range(6))})


@pytest.fixture(autouse=True)
def halved() -> Iterator[Operator]:
    """An operator that fails on 3."""

    def half(value: int) -> int:
        if value == 3:
            msg = "three is odd"
            raise ValueError(msg)
        return value // 2

    made = Operator("halved_here", (BIGINT,), BIGINT, half, batch=False)
    install(made)
    yield made
    uninstall("halved_here")
    reset_meters("halved_here")


@pytest.fixture
def ref(tmp_path: Path) -> SnapshotRef:
    matcher = Matcher(TYPE)
    matcher.add_many([(f"s{number}", f"halved_here(n) = {number}") for number in range(3)])
    return SnapshotRef(str(tmp_path), matcher.publish(tmp_path))


def run(task: StreamTask) -> pa.Table:
    return pa.Table.from_batches(task(iter(EVENTS_OF_A_TASK.to_batches())), FOUND)


def test_a_task_tells_what_operators_did_in_it(ref: SnapshotRef) -> None:
    task = StreamTask((ref,), Reading())
    for _ in range(2):
        found = run(task)
        (report,) = reports_in(found.filter(pc.equal(found["row_kind"], CALLED)))
        assert (report.operator, report.calls, report.failures) == ("halved_here", 6, 1)
        assert [(each.arguments, each.error) for each in report.lately] == [("3", "ValueError: three is odd")]
        assert pc.sum(found.filter(pc.equal(found["row_kind"], EVENTS))["count"]).as_py() == 6


def test_a_task_names_the_engine_that_matched(ref: SnapshotRef) -> None:
    found = run(StreamTask((ref,), Reading()))
    rows = found.filter(pc.equal(found["row_kind"], ENGINE))
    assert rows.select(["kind", "count"]).to_pylist() == [{"kind": "bitslice", "count": 6}]


def test_a_task_knows_what_calls_cost_elsewhere(ref: SnapshotRef) -> None:
    run(StreamTask((ref,), Reading(), costs={"not_called_here": 0.25}))
    assert ref.matchers().only.statistics.costs["not_called_here"] == 0.25


def test_what_calls_gave_goes_to_the_driver_and_to_other_tasks(ref: SnapshotRef, tmp_path: Path) -> None:
    found = run(StreamTask((ref,), Reading()))
    rows = found.filter(pc.equal(found["row_kind"], LEARNED))
    learned = statistics_in(rows)
    ((attribute, known),) = learned["reading"]._attributes.items()
    assert isinstance(attribute, OperatorCall)
    assert (known.events, sorted(known.sample)) == (6, [0, 0, 1, 2, 2])
    ledger = OperatorLedger(tmp_path / "operators.json")
    ledger.add([OperatorReport("halved_here", 6)], learned)
    again = OperatorLedger(tmp_path / "operators.json")
    other = Matcher(TYPE)
    other.add("s", "halved_here(n) = 1")
    elsewhere = SnapshotRef(str(tmp_path / "other"), other.publish(tmp_path / "other"))
    task = StreamTask((elsewhere,), Reading(), learned=again.learned_statistics())
    pa.Table.from_batches(task(iter(EVENTS_OF_A_TASK.slice(5).to_batches())), FOUND)
    adopted = elsewhere.matchers().only.statistics.of(attribute)
    assert adopted is not None
    assert sorted(adopted.sample) == [0, 0, 1, 2, 2, 2], "those of the driver, and its own"


def test_a_task_travels_with_names_and_settings_only(tmp_path: Path) -> None:
    settings = OperatorSettings(("alarms",), {"networks": {"networks": {"home": ["10.0.0.0/8"]}}}, ("/there",))
    task = StreamTask((SnapshotRef(str(tmp_path), 1, operators=settings),), Reading(), costs={"a": 0.5})
    again = pickle.loads(pickle.dumps(task))
    assert again == task
    assert hash(again.shards) == hash(task.shards)


def test_pairs_carry_owner_label_and_the_attributes_that_are_asked_for(tmp_path: Path) -> None:
    matcher = Matcher()
    matcher.add_many(
        [
            {"id": "mine", "condition": "price < 5", "owner": "yuto", "label": "cheap"},
            {"id": "plain", "condition": "price < 3"},
            {"id": "bare", "condition": "cost = 1"},
        ]
    )
    ref = SnapshotRef(str(tmp_path), matcher.publish(tmp_path), "auto")
    reading = Reading(json="value", keep=("price", "shop"))
    lines = [b'{"id": "a", "price": 2, "shop": "x", "more": 1}', b'{"id": "b", "price": 4}', b'{"price": 1}']
    lines.append(b'{"id": "c", "price": null, "cost": 1}')
    batch = pa.record_batch({"value": pa.array(lines, pa.binary())})
    found = pa.Table.from_batches(StreamTask((ref,), reading)(iter([batch])), FOUND)
    pairs = found.filter(pc.equal(found["row_kind"], PAIR)).sort_by(
        [("event_id", "ascending"), ("subscription_id", "ascending")]
    )
    names = ("event_id", "subscription_id", "owner", "label", "attributes")
    assert [tuple(row[name] for name in names) for row in pairs.to_pylist()] == [
        ("a", "mine", "yuto", "cheap", '{"price":2,"shop":"x"}'),
        ("a", "plain", None, None, '{"price":2,"shop":"x"}'),
        ("b", "mine", "yuto", "cheap", '{"price":4}'),
        ("c", "bare", None, None, None),
    ]


def test_a_subscription_that_expired_meets_the_events_that_were_accepted_before(tmp_path: Path) -> None:
    matcher = Matcher()
    matcher.add_many([("stays", "n > 0"), ("early", "n > 0"), ("late", "n > 1")])
    ref = SnapshotRef(str(tmp_path), matcher.publish(tmp_path))
    reading = Reading(json="value", accepted_at="came")
    values = [
        b'{"id": "a", "n": 1}',
        b"no event",
        b'{"id": "b", "n": 2}',
        b'{"id": "c", "n": 3}',
        b'{"id": "d", "n": 4}',
    ]
    came = pa.array([100, 150, 200, 300, None], pa.timestamp("us", "UTC"))
    batch = pa.record_batch({"value": pa.array(values, pa.binary()), "came": came})
    task = StreamTask((ref,), reading, expired={"early": 200, "late": 300})
    found = pa.Table.from_batches(task(iter([batch])), FOUND)
    pairs = found.filter(pc.equal(found["row_kind"], PAIR)).to_pylist()
    assert sorted((row["event_id"], row["subscription_id"]) for row in pairs) == [
        ("a", "early"),
        ("a", "stays"),
        ("b", "late"),
        ("b", "stays"),
        ("c", "stays"),
        ("d", "stays"),
    ]
    assert found.filter(pc.equal(found["row_kind"], OLDEST))["count"].to_pylist() == [100]
