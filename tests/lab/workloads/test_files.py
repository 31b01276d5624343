from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis import EventType, Matcher
from tamis.events import read_events
from tamis.lab.workloads import WORKLOADS, Workload, generate
from tamis.lab.workloads.overlap import arrays, probe_operator
from tamis.operators import install, uninstall

QUICK: dict[str, dict[str, Any]] = {
    "ads": {"segments": 200},
    "strings": {"vocabulary": 1_000},
    "sparse": {"width": 0.9},
}
NAMES = [
    "conditions.jsonl",
    "conditions.txt",
    "events.jsonl",
    "events.parquet",
    "event_type.json",
    "workload.json",
]


@pytest.fixture(scope="module", autouse=True)
def probe() -> Iterator[None]:
    """The operator that the conditions of `overlap` call."""
    install(probe_operator(arrays(subscriptions=200, events=40, seed=5).selectivities))
    yield
    uninstall("probe")


@pytest.fixture(scope="module", params=list(WORKLOADS))
def data(request: pytest.FixtureRequest) -> Workload:
    name = request.param
    return generate(name, subscriptions=200, events=40, seed=5, **QUICK.get(name, {}))


@pytest.fixture(scope="module")
def folder(data: Workload, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workloads") / "made" / data.name
    assert [file.name for file in data.write(folder)] == NAMES
    return folder


def test_conditions(data: Workload, folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / "conditions.jsonl").read_text("utf-8").splitlines()]
    assert [line["id"] for line in lines] == data.ids.to_pylist()
    assert [line["condition"] for line in lines] == data.conditions.to_pylist()
    assert (folder / "conditions.txt").read_text("utf-8").splitlines() == data.conditions.to_pylist()


def test_json_leaves_absent_attributes_out(data: Workload, folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / "events.jsonl").read_text("utf-8").splitlines()]
    present = [{name for name, value in event.items() if value is not None} for event in data.events.to_pylist()]
    assert [set(line) for line in lines] == present
    assert [line["id"] for line in lines] == [f"e{number}" for number in range(40)]


def test_parquet_is_the_table(data: Workload, folder: Path) -> None:
    assert pq.read_table(folder / "events.parquet").equals(data.events)


def test_the_event_type_is_read_back(data: Workload, folder: Path) -> None:
    assert EventType.load(folder / "event_type.json") == data.event_type


def test_the_manifest_makes_the_same_again(data: Workload, folder: Path) -> None:
    told = json.loads((folder / "workload.json").read_text("utf-8"))
    again = generate(
        told["workload"],
        subscriptions=told["subscriptions"],
        events=told["events"],
        seed=told["seed"],
        **told["parameters"],
    )
    assert again.conditions.equals(data.conditions)
    assert again.events.equals(data.events)
    assert told.get("facts", {}) == data.facts


@pytest.mark.slow
@pytest.mark.parametrize("file", ["events.jsonl", "events.parquet"])
@pytest.mark.parametrize("typed", [True, False])
def test_files_give_the_pairs_of_the_table(data: Workload, folder: Path, file: str, typed: bool) -> None:
    event_type = data.event_type if typed else None
    matcher = Matcher(event_type, engine="scan")
    assert matcher.add_many(pa.table({"id": data.ids, "condition": data.conditions})) == []
    reading = read_events(folder / file, event_type, event_id="id")
    tables = [matcher.match_batch(batch) for batch in reading]
    assert reading.dead_letters == []
    found = pa.concat_tables(tables)
    assert found.to_pylist() == matcher.match_batch(data.events, event_id="id").to_pylist()
