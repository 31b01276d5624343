"""What tasks and the driver do about operators, called as Spark calls them, without Spark."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tamis import EventType, Matcher
from tamis.language.expression import Call
from tamis.operators import Operator, OperatorError, install, uninstall
from tamis.operators.finding import OperatorSettings
from tamis.operators.meters import forget
from tamis.operators.reporting import Ledger, OperatorReport
from tamis.spark.event_reading import Reading
from tamis.spark.live import LiveSubscriptions
from tamis.spark.stream_task import CALLED, EVENTS, FOUND, LEARNED, StreamTask, learned_in, reports_in
from tamis.spark.worker import Edition
from tamis.store import Store
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
    forget("halved_here")


@pytest.fixture
def edition(tmp_path: Path) -> Edition:
    matcher = Matcher(TYPE)
    matcher.add_many([(f"s{number}", f"halved_here(n) = {number}") for number in range(3)])
    return Edition(str(tmp_path), matcher.publish(tmp_path))


def run(task: StreamTask) -> pa.Table:
    return pa.Table.from_batches(task(iter(EVENTS_OF_A_TASK.to_batches())), FOUND)


def test_a_task_tells_what_operators_did_in_it(edition: Edition) -> None:
    task = StreamTask((edition,), Reading())
    for _ in range(2):
        found = run(task)
        (report,) = reports_in(found.filter(pc.equal(found["row_kind"], CALLED)))
        assert (report.operator, report.calls, report.failures) == ("halved_here", 6, 1)
        assert [(each.arguments, each.error) for each in report.lately] == [("3", "ValueError: three is odd")]
        assert pc.sum(found.filter(pc.equal(found["row_kind"], EVENTS))["count"]).as_py() == 6


def test_a_task_knows_what_calls_cost_elsewhere(edition: Edition) -> None:
    run(StreamTask((edition,), Reading(), costs={"not_called_here": 0.25}))
    assert edition.matchers().only.statistics.costs["not_called_here"] == 0.25


def test_what_calls_gave_goes_to_the_driver_and_to_other_tasks(edition: Edition, tmp_path: Path) -> None:
    found = run(StreamTask((edition,), Reading()))
    rows = found.filter(pc.equal(found["row_kind"], LEARNED))
    learned = learned_in(rows)
    ((attribute, known),) = learned["reading"]._attributes.items()
    assert isinstance(attribute, Call)
    assert (known.events, sorted(known.sample)) == (6, [0, 0, 1, 2, 2])
    ledger = Ledger(tmp_path / "operators.json")
    ledger.add([OperatorReport("halved_here", 6)], learned)
    again = Ledger(tmp_path / "operators.json")
    other = Matcher(TYPE)
    other.add("s", "halved_here(n) = 1")
    elsewhere = Edition(str(tmp_path / "other"), other.publish(tmp_path / "other"))
    task = StreamTask((elsewhere,), Reading(), learned=again.learned())
    pa.Table.from_batches(task(iter(EVENTS_OF_A_TASK.slice(5).to_batches())), FOUND)
    adopted = elsewhere.matchers().only.statistics.of(attribute)
    assert adopted is not None
    assert sorted(adopted.sample) == [0, 0, 1, 2, 2, 2], "those of the driver, and its own"


def test_a_task_travels_with_names_and_settings_only(tmp_path: Path) -> None:
    settings = OperatorSettings(("alarms",), {"networks": {"networks": {"home": ["10.0.0.0/8"]}}}, ("/there",))
    task = StreamTask((Edition(str(tmp_path), 1, operators=settings),), Reading(), costs={"a": 0.5})
    again = pickle.loads(pickle.dumps(task))
    assert again == task
    assert hash(again.editions) == hash(task.editions)


def test_an_edition_whose_operators_are_not_known_is_not_opened(edition: Edition, halved: Operator) -> None:
    assert len(edition.matchers()) == 3
    uninstall("halved_here")
    try:
        with pytest.raises(OperatorError, match="not known in this process: halved_here;"):
            edition.matchers()
    finally:
        install(halved)
    assert len(edition.matchers()) == 3


def test_an_edition_that_calls_nothing_loads_nothing(tmp_path: Path) -> None:
    matcher = Matcher(TYPE)
    matcher.add("plain", "n > 3")
    nowhere = OperatorSettings(("there_is_no_such_module",))
    edition = Edition(str(tmp_path), matcher.publish(tmp_path), operators=nowhere)
    assert len(edition.matchers()) == 1


def test_what_the_driver_refuses_of_a_store_is_told(
    tmp_path: Path, halved: Operator, caplog: pytest.LogCaptureFixture
) -> None:
    with Store.open(tmp_path / "subs.db") as store:
        store.set_event_type(EventType.of(TYPE))
        store.add("calls", "halved_here(n) = 1", event_type="reading")
        store.add("plain", "n = 1", event_type="reading")
        uninstall("halved_here")
        try:
            live = LiveSubscriptions(store, tmp_path / "snapshot", tmp_path)
            with caplog.at_level(logging.WARNING):
                live.publish()
        finally:
            install(halved)
    assert "the store has subscriptions that are refused, and not matched (1): 'calls': " in caplog.text
    assert len(Matcher.open(tmp_path / "snapshot")) == 1
