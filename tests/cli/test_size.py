"""`tamis size` says what a load takes, and what its figures are worth."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis import Matcher
from tamis.lab.workloads import generate
from tamis.sizing import Demand, estimate, read_coefficients
from tests.cli.conftest import Run

LOAD = ("--subscriptions", "100e6", "--events-per-second", "1e6")


def test_a_load_has_a_size(run: Run) -> None:
    out = run("size", *LOAD, "--like", "sparse").out
    lines = dict(line.split(maxsplit=1) for line in out.splitlines() if line)
    assert {"cores", "shards", "memory", "disk", "network", "driver"} <= lines.keys()
    known = read_coefficients()
    assert known.machine in out and known.measured in out
    assert "times as many" in out, "it is more than was measured"


def test_json_has_the_figures_of_the_model(run: Run) -> None:
    found = json.loads(run("size", *LOAD, "--like", "auction", "--matches", "20", "--json").out)
    known = read_coefficients()
    size = estimate(Demand(100e6, 1e6, 20.0), known, known.workloads["auction"])
    assert found["cores"] == pytest.approx(size.cores)
    assert (found["shards"], found["matches"]) == (size.shards, 20.0)
    assert found["coefficients"]["largest"] == known.workloads["auction"].largest


def test_a_cluster_is_simulated(run: Run) -> None:
    options = ("--simulate", "--nodes", "100", "--changes-per-second", "1000", "--batch-seconds", "2")
    load = ("--subscriptions", "1e6", "--events-per-second", "1e5")
    out = run("size", *load, *options).out
    assert "1,600 cores" in out
    assert "p99.9" in out and "bottleneck" in out
    found = json.loads(run("size", *load, *options, "--json").out)["simulation"]
    assert found["p50"] <= found["p99"] <= found["p999"]
    too_few = run("size", *LOAD, "--simulate", "--nodes", "1").out
    assert "it does not keep up" in too_few


def test_own_subscriptions_are_measured(run: Run, tmp_path: Path) -> None:
    data = generate("equality", subscriptions=1_500, events=100, seed=4)
    matcher = Matcher(data.event_type)
    matcher.add_many(pa.table({"id": data.ids, "condition": data.conditions}))
    matcher.publish(tmp_path / "own")
    pq.write_table(data.events, tmp_path / "events.parquet")
    like = ("--like", str(tmp_path / "own"), "--events", str(tmp_path / "events.parquet"))
    found = json.loads(run("size", *LOAD, *like, "--json").out)
    assert found["coefficients"]["largest"] == 1_500
    without = run("size", *LOAD, "--like", str(tmp_path / "own"))
    assert without.code == 2 and "--events" in without.err


def test_what_there_is_not_is_refused(run: Run, tmp_path: Path) -> None:
    unknown = run("size", *LOAD, "--like", "nothing")
    assert unknown.code == 2 and "or the URL of a snapshot" in unknown.err
    missing = run("size", *LOAD, "--coefficients", str(tmp_path / "missing.json"))
    assert missing.code == 2 and "missing.json: no coefficients" in missing.err
