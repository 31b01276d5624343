"""`tamis demo`: in a process of its own, as `make demo` runs it; and its parts that need no Spark."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tamis.cli.demo import Changes, Stages
from tamis.cli.output import Screen
from tamis.lab.workloads import generate
from tamis.sinks.reading import read_commits, read_notifications
from tamis.store import Store
from tests.reports import report


@pytest.mark.spark
@pytest.mark.slow
def test_the_demo_measures_what_it_shows(spark_environment: None, tmp_path: Path) -> None:
    size = ["--subscriptions", "200", "--events", "400", "--folder", "demo"]
    command = [sys.executable, "-m", "tamis", "demo", *size]
    done = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *reports, result = map(json.loads, done.stdout.splitlines())
    found = read_notifications(tmp_path / "demo" / "notifications")
    assert sum(each["events"] for each in reports) == result["events"] == 400
    assert found.num_rows == result["notifications"] == result["distinct"] > 0
    assert reports[-1]["backlog"] == 0
    assert len(read_commits(tmp_path / "demo" / "notifications")) == len(reports) == 20
    versions = [each["version"] for each in reports]
    assert all(before < after for before, after in pairwise(versions)), "each batch sees a new version"
    assert (result["warm_up"]["batches"], result["warm_up"]["events"]) == (2, 40)
    assert (result["measured"]["batches"], result["measured"]["events"]) == (18, 360)
    assert result["subscriptions"] | {"matched": 0} == {
        **{"at_first": 200, "added": 38, "removed": 19, "ever": 238, "matched": 0}
    }
    assert result["engine"] == "bitslice"
    assert (result["plain_spark"]["subscriptions"], result["plain_spark"]["events"]) == (25, 400)
    assert result["plain_spark"]["pairs"] > 0, "or nothing was compared"
    assert result["plain_spark"]["extrapolated_seconds"] > result["plain_spark"]["seconds"] > 0
    assert result["explained"]["matched"] is True
    assert result["event"]["id"] in found["event_id"].to_pylist()
    page = (tmp_path / "demo" / "report.html").read_text()
    for shown in ("<svg", "warm-up: 2 micro-batches", "plain Spark", "extrapolated", result["busiest"][0]["id"]):
        assert shown in page
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "demo is not empty" in again.stderr


@pytest.mark.slow
def test_subscriptions_come_and_go_after_every_batch_but_the_last(tmp_path: Path) -> None:
    workload = generate("auction", subscriptions=110, events=100, seed=1)
    with Store.open(tmp_path / "s.db") as store:
        store.set_event_type(workload.event_type)
        for id, condition in zip(workload.ids.to_pylist()[:100], workload.conditions.to_pylist(), strict=False):
            store.add(id, condition, event_type=workload.event_type.name)
        changes = Changes(store, workload, 100)
        seen = []
        for backlog in (20, 10, 0):
            seen.append((len(store), store.version()))
            changes.show(report(backlog=backlog))
        assert [count for count, _ in seen] == changes.existing == [100, 101, 102] == [100, 101, len(store)]
        assert seen[0][1] < seen[1][1] < seen[2][1] == store.version()
        assert (changes.added, changes.removed) == (4, 2)
        assert "s0" not in store
        assert "s103" in store


def test_stages_are_timed_and_told() -> None:
    screen = Screen()
    screen.file = io.StringIO()
    stages = Stages(screen)
    with stages.stage("one", "doing one"):
        assert screen.file.getvalue() == "doing one\n"
    with stages.stage("two"):
        pass
    assert list(stages.seconds) == ["one", "two"]
    stages.seconds["two"] = 10.0
    stages.split("two", {"first": 4.0}, "rest")
    assert {**stages.seconds, "one": 0.0} == {"one": 0.0, "first": 4.0, "rest": 6.0}
