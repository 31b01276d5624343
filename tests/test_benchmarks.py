"""Every benchmark runs, checks its contestants and ends with a line of JSON; its speed does not matter here."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import compare
from benchmarks.__main__ import main
from benchmarks.engine_cases import ENTRIES, NESTED, entries_of
from benchmarks.families import CASES, cases_of
from benchmarks.federation import forwards_with
from benchmarks.growth import Point, exponent
from benchmarks.limits import HEADS, Limit, Memory, Touched, limit_of, measure_memory
from benchmarks.memory import array_bytes, can_reset_peak
from benchmarks.plain_spark import largest
from benchmarks.process_tree import end, family
from benchmarks.report import Bar, Report, html
from benchmarks.scale_changes import ChangePlan, Published, publish_changes, read_log, seconds_until_seen
from benchmarks.service_data import data_of as auctions_of
from benchmarks.service_load import received
from benchmarks.spark_data import ATTRIBUTES, check, first_of
from benchmarks.spark_data import Data as SparkData
from benchmarks.verdict import less_is_better, mann_whitney, verdict
from tamis import Matcher
from tamis.engines.bitslice import Bitslice
from tamis.events.batch import EventBatch
from tamis.lab.workloads import generate
from tamis.language.condition import compile_condition
from tamis.sizing import read_coefficients

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


BARS = {
    "match": {
        "ranges 0.3, batch 64: times as fast as the best other": 20,
        "ranges 0.1-0.5, batch 64: times as fast as the best other": 10,
        "ranges 0.6, batch 64: times as fast as the best other": 2,
        "equality, batch 64: times as fast as the best other": 15,
        "sparse, batch 1: times as fast as postings": 80,
        "sparse, batch 64: times as fast as postings": 80,
        "ads, batch 64: times as fast as bitset": 58,
        "strings, batch 64: times as fast as the best other": 10,
        "strings: building from text, a second": 50_000,
        "strings: building from formulas, a second": 200_000,
        "ranges 0.6, one event: time against the best other": 1.0,
        "jewel AND/OR, L 10, one event: time against the best other": 1.0,
        "advertisements, one event: time against the best other": 1.0,
        "ranges 0.3: index arrays, bytes/subscription": 100,
        "ranges 0.3: adding texts one by one, segments settled, a second": 8_000,
        "equality: adding texts one by one, segments settled, a second": 20_000,
        "ranges 0.3: longest addition beside a merge, ms": 100.0,
        "ranges 0.3: slower with a tenth unmerged, ratio": 1.3,
        "ranges 0.3: peak while adding, of what is kept": 1.5,
        "ranges 0.3, batch 128: times as fast with two threads": 1.8,
        "ads, batch 128: times as fast with two threads": 1.7,
        "sparse, batch 64: Arrow against JSON, ratio": 1.0,
    },
    "parse": {f"{name}, one by one: times sqlglot": 5.0 for name in ("equality", "ranges", "ads")},
    "engines": {f"{label}, 60: times as fast as the best other": 1.0 for label in NESTED},
    "schedule": {"mean response with an expensive operator, of arrival order": 0.6},
    "operators": {"calls of 1 us, 1 event at a time: greedy against naive, time": 1.0},
}
"""Bars that must be judged, by how their names begin, at the sizes of the smallest run."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["match", "parse", "read", "engines", "schedule", "operators", "composite", "start"]
)
def test_runs_at_its_smallest(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bars = _runs([name, "--smallest"], capsys, tmp_path)["bars"]
    for title, bar in BARS.get(name, {}).items():
        if "peak while adding" in title and not can_reset_peak():
            continue
        found = [each["bar"] for known, each in bars.items() if known.startswith(title)]
        assert found and set(found) == {bar}, title


@pytest.mark.slow
def test_compiling_is_timed_by_kernel(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    figures = _runs(["start", "--part", "compile", "--smallest"], capsys, tmp_path)["figures"]
    assert figures["hashing._hash_rows: specialisations"] == 1
    assert figures["kernels"] == figures["specialisations"] == 3
    assert float(figures["all kernels: CPU seconds"]) > 0


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_routing_runs_at_its_smallest(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    outcome = _runs(["routing", "--smallest"], capsys, tmp_path)
    assert "spark: bytes of routed against plain shards" in outcome["figures"]


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_spark_runs_at_its_smallest(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    figures = _runs(["spark", "--smallest"], capsys, tmp_path)["figures"]
    assert figures["300 subscriptions: plain Spark, cross join: size"] == "256 events, 300 subscriptions"


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_states_of_composite_subscriptions_run_at_their_smallest(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The benchmark compares the matches of both contestants."""
    figures = _runs(["composite", "--part", "states", "--smallest"], capsys, tmp_path)["figures"]
    assert figures["completed matches"] > 0


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_sizing_runs_at_its_smallest_and_keeps_coefficients(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "coefficients.json"
    figures = _runs(["sizing", "--smallest", "--write", str(file)], capsys, tmp_path)["figures"]
    assert "matches" in figures["sparse: model, us/event"]
    known = read_coefficients(file)
    assert known.workloads["sparse"].validated == 8_000
    assert min(known.spark_us, known.notification_us, known.batch_seconds, known.version_bytes) > 0


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_stream_runs_at_its_smallest(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    outcome = _runs(["stream", "--smallest"], capsys, tmp_path)
    expected = {f"batches of 100: {each}" for each in ("driver: events/s", "workers: events/s", "commit, s")}
    expected |= {f"routed, {way}: us an event" for way in ("texts", "columns", "messages")}
    assert expected <= outcome["figures"].keys()


def test_unknown_parts_of_stream_are_named() -> None:
    with pytest.raises(SystemExit, match="there is no part nothing; parts are contest"):
        main(["stream", "--part", "nothing"])


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_scale_runs_at_its_smallest(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    figures = _runs(["scale", "--smallest"], capsys, tmp_path)["figures"]
    assert figures["sparse 600: changes published, versions"].startswith("40, ")
    assert "sparse: written bytes a change, growth exponent" in figures


def test_a_change_is_seen_by_the_first_batch_of_its_version_or_a_later_one() -> None:
    versions = [Published(2, 0, 2, 10.5, 0.1, 0, 0, 0, False), Published(3, 2, 1, 10.9, 0.1, 0, 0, 0, True)]
    seen = seconds_until_seen(versions, 10.0, 4.0, [(1, 10.6), (3, 11.0), (3, 11.5)])
    assert seen == [1.0, 0.75, 0.5]
    assert seconds_until_seen(versions, 10.0, 4.0, [(1, 10.6)]) == []


def test_changes_remove_and_add_and_count_what_they_took(tmp_path: Path) -> None:
    data = generate("sparse", subscriptions=60, events=1, seed=3)
    matcher = Matcher(data.event_type)
    matcher.add_many(pa.table({"id": data.ids, "condition": data.conditions}))
    matcher.publish(tmp_path / "snapshot")
    log = tmp_path / "log.jsonl"
    publish_changes(ChangePlan(str(tmp_path / "snapshot"), "sparse", 60, 400.0, 0.05, str(log)))
    _, published = read_log(log)
    assert sum(each.changes for each in published) == 20
    assert min(each.written_bytes for each in published) > 0
    ids = {each.id for each in Matcher.open(tmp_path / "snapshot")}
    assert len(ids) == 60 and sum(id.startswith("new") for id in ids) == 10


@pytest.mark.slow
@pytest.mark.spark
def test_service_runs_at_its_smallest(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    outcome = _runs(["service", "--smallest"], capsys, tmp_path)
    figures = outcome["figures"]
    assert figures["events"] == 800
    assert len(figures["accept to notification, s"].split(", ")) == 3


@pytest.mark.slow
@pytest.mark.spark
def test_federation_runs_at_its_smallest(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, spark: SparkSession
) -> None:
    """Three services in processes of their own, with streams in one Spark; the benchmark compares every pair."""
    outcome = _runs(["federation", "--smallest"], capsys, tmp_path)
    assert outcome["figures"]["events"] == 1_000
    assert len(outcome["figures"]["0.1 of the bytes: p99 by hops, s"].split(", ")) == 3
    assert outcome["bars"]["forwarded / necessary"]["value"] >= 1.0
    assert spark.range(1).count() == 1, "it is still there"


def test_pruned_entries_send_what_is_wanted_and_more() -> None:
    data = auctions_of(300, 400)
    exact, pruned = forwards_with(data, 1.0), forwards_with(data, 0.5)
    assert exact.forwarded == exact.necessary <= pruned.forwarded
    assert pruned.entry_bytes <= exact.entry_bytes * 0.5


def _runs(arguments: list[str], capsys: pytest.CaptureFixture[str], folder: Path) -> dict[str, Any]:
    """Run a benchmark, check the shape of what it tells, and give its last line."""
    page, file = folder / "figures.html", folder / "figures.json"
    status = main([*arguments, "--html", str(page), "--json", str(file)])
    outcome: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(outcome) == {"benchmark", "revision", "figures", "bars"}
    assert outcome["benchmark"] == arguments[0]
    assert outcome["figures"]
    is_judged = outcome["figures"].get("bars", "judged") == "judged"
    assert status == (1 if is_judged and not all(bar["ok"] for bar in outcome["bars"].values()) else 0)
    assert outcome["bars"]
    assert all(set(bar) == {"value", "bar", "ok"} for bar in outcome["bars"].values())
    assert json.loads(file.read_text("utf-8")) == outcome
    assert arguments[0] in page.read_text("utf-8")
    return outcome


def test_a_bar_is_the_least_or_the_most() -> None:
    assert Bar(20, 20).ok and not Bar(19.9, 20).ok
    assert Bar(20, 20, at_most=True).ok and not Bar(20.1, 20, at_most=True).ok


def test_bars_count_only_where_they_are_meant() -> None:
    missed = Report("some", {}, {"speed": Bar(1, 2)})
    assert not missed.ok
    assert replace(missed, judged=False).ok
    assert "not judged" in html(replace(missed, judged=False))


# --- match ---------------------------------------------------------------------------------------------------


def test_families_are_chosen_by_name_or_label() -> None:
    assert cases_of([]) == CASES
    assert {case.family for case in cases_of(["ranges"])} == {"ranges"}
    assert [case.label for case in cases_of(["ranges 0.6", "ads"])] == ["ranges 0.6", "ads"]
    with pytest.raises(SystemExit, match="there is no family nothing; known are"):
        cases_of(["nothing"])


def test_nested_conditions_are_judged_at_both_sizes() -> None:
    assert {
        entry.case.label: entry.most >= 100_000 for entry in ENTRIES if entry.case.label in NESTED
    } == dict.fromkeys(NESTED, True)


def test_unknown_cases_are_named() -> None:
    assert {entry.case.family for entry in entries_of(["auction"])} == {"auction"}
    with pytest.raises(SystemExit, match="nothing"):
        entries_of(["nothing"])


def test_growth_is_the_slope_of_logarithms() -> None:
    points = [Point(size, (size**0.5, size**0.5 * 1.1, 1.0), 5.0) for size in (100, 1_000, 10_000)]
    assert exponent(points) == pytest.approx(0.5)


def test_the_limit_is_that_of_bytes_read_and_written() -> None:
    touched = Touched(entries=20e3, masks=1e3, coordinates=500.0, residuals=300.0, patterns=200.0, pairs=4e3)
    found = Limit(1_000, touched, pairs=500, events=10, microseconds=4.0, memory=Memory(2e9, 1e9))
    assert found.limit == pytest.approx((22e3 / 2e9 + 5.5e3 / 1e9) * 1e6 / 10)
    row = dict(zip(HEADS, found.cells(), strict=True))
    assert row["ns an entry"] == pytest.approx(40.0)
    assert row["KB of entries"] == pytest.approx(20.0)
    assert row["share"] == pytest.approx(found.limit / 4.0)


MEMORY = Memory(1e9, 1e9)


def _limit(conditions: Sequence[str], events: list[dict[str, Any]]) -> Limit:
    index = Bitslice().build([compile_condition(text).formula for text in conditions])
    return limit_of(index, EventBatch.of(events), 1.0, MEMORY)


def test_entries_that_several_events_reach_count_once() -> None:
    conditions = [f"a = {number % 10} AND b > {number % 3}" for number in range(40)]
    found = _limit(conditions, [{"a": 1, "b": 50}, {"a": 1, "b": 20}, {"a": 3, "b": 0}, {"c": 1}])
    assert (found.entries, found.pairs, found.events) == (4 + 4, 4 + 4, 4)
    assert found.touched.entries > 0
    assert found.touched.coordinates > 4 * 2 * 8, "four events of two attributes"
    assert (found.touched.patterns, found.touched.residuals) == (0, 0)


def test_residuals_count_for_what_was_found_and_texts_once() -> None:
    nested = [f"a = {number % 5} AND (b = {number} OR c = 'x{number}' AND d > 3)" for number in range(20)]
    found = _limit(nested, [{"a": 1, "b": 6, "d": 9}, {"a": 2, "b": 0}])
    assert found.pairs == 1
    assert found.touched.residuals > 0
    texts = _limit(["t LIKE '%ab%cd%'", "t RLIKE 'x[0-9]+y'"], [{"t": "abcd"}, {"t": "abcd"}, {"t": "x1y"}])
    assert texts.touched.patterns == (4 + 3) * 5


def test_masks_are_read_for_every_strip() -> None:
    conditions = [f"a BETWEEN {number} AND {number + 40} AND b > {number}" for number in range(3_000)]
    few, many = (
        _limit(conditions, [{"a": row % 3_000, "b": row % 2_900} for row in range(rows)]) for rows in (512, 1_024)
    )
    assert few.touched.masks > 0
    assert many.touched.masks > few.touched.masks
    assert many.touched.entries > few.touched.entries


def test_speeds_of_memory_are_measured() -> None:
    memory = measure_memory()
    assert min(memory) > 1e6


def test_arrays_are_counted_once() -> None:
    array = np.zeros(1_000, np.int64)
    held: dict[str, Any] = {"whole": array, "part": array[10:20], "others": (np.zeros(5, np.int32), [array])}
    assert array_bytes(held) == 8_000 + 20


# --- spark ---------------------------------------------------------------------------------------------------


def test_pairs_of_spark_are_compared_one_by_one() -> None:
    pairs = np.array([3, (1 << 32) + 5, (2 << 32) + 9], np.int64)
    check("a", pairs, pairs, str)
    assert first_of(pairs, 2, 5).tolist() == [3]
    with pytest.raises(
        SystemExit, match="a has 2 pairs, 3 were expected; 1 differ; it does not find event 2 with"
    ):
        check("a", pairs[:2], pairs, str)
    with pytest.raises(SystemExit, match="it finds event 1 with subscription 5: 5"):
        check("a", pairs, pairs[[0, 2]], str)
    with pytest.raises(SystemExit, match="finds a pair twice"):
        check("a", np.sort(np.append(pairs, pairs[0])), pairs, str)


def test_bounds_of_ranges_are_columns(tmp_path: Path) -> None:
    data = SparkData(generate("ranges", subscriptions=50, events=200, width=0.5, ranges=2), tmp_path)
    bounds, events = pq.read_table(data.bounds(50)), data.workload.events
    matcher = Matcher(data.workload.event_type)
    matcher.add_many(pa.table({"id": data.workload.ids, "condition": data.workload.conditions}))
    held = np.ones((200, 50), np.bool_)
    for name in ATTRIBUTES:
        values = events[name].to_numpy()[:, None]
        held &= (values >= bounds[f"low_{name}"].to_numpy()) & (values <= bounds[f"high_{name}"].to_numpy())
    found = matcher.match_batch(events, event_id="id").to_pylist()
    expected = {(f"e{event}", f"s{slot}") for event, slot in np.argwhere(held)}
    assert {(pair["event_id"], pair["subscription_id"]) for pair in found} == expected


def test_a_notification_is_timed_when_the_chunk_with_its_end_is_there() -> None:
    events = [
        b'event: notification\ndata: {"event_id": "e%d", "subscription_id": "s%d"}\nid: 1\n\n' % pair
        for pair in ((7, 3), (8, 4), (9, 5))
    ]
    chunks = [b": welcome\n\n", events[0] + events[1][:20], events[1][20:], events[2]]
    answer = [b"HTTP/1.1 200 OK\r\n\r\n", *(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)]
    blocks = [answer[0] + answer[1] + answer[2][:9], answer[2][9:], answer[3], answer[4][:-3]]
    ends = np.cumsum([len(block) for block in blocks])
    found = received(b"".join(blocks), ends, np.array([1.0, 2.0, 3.0, 4.0]), 0.5)
    assert (found.events.tolist(), found.subscriptions.tolist()) == ([7, 8], [3, 4]), "the last one is cut off"
    assert found.at.tolist() == [2.0, 3.0]
    with pytest.raises(SystemExit, match="401"):
        received(b"HTTP/1.1 401 Unauthorized\r\n\r\n", ends, np.zeros(4), 0.5)


def test_a_process_that_does_not_end_is_killed() -> None:
    stubborn = subprocess.Popen(
        [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(600)"], stdout=subprocess.PIPE
    )
    assert stubborn.stdout is not None and stubborn.stdout.readline()
    found = family(stubborn.pid)
    assert [each.pid for each in found] == [stubborn.pid]
    end(found, 0.0)
    assert stubborn.wait(10) == -signal.SIGKILL
    stubborn.stdout.close()
    assert family(stubborn.pid) == []


def test_the_largest_size_is_looked_for_within_a_budget() -> None:
    tried: list[tuple[int, int]] = []
    found = largest(lambda *size: tried.append(size), (10, 20, 40), 5_000, 3_600.0)
    assert (found.subscriptions, found.events) in tried
    assert [events for size, events in tried if size == 10] == [256, 256, 5_000]
    assert {size for size, _ in tried} == {10, 20, 40}
    tried.clear()
    assert largest(lambda *size: tried.append(size), (10, 20, 40), 5_000, 0.0).events == 256
    assert tried == [(10, 256), (10, 256)]


# --- compare -------------------------------------------------------------------------------------------------

STEADY = [10.0, 10.1, 9.9, 10.05, 9.95, 10.0]


def test_a_clear_change_is_faster_or_slower() -> None:
    half = [value / 2 for value in STEADY]
    assert verdict("x, us/event", STEADY, half).word == "faster"
    assert verdict("x, us/event", STEADY, half).times == pytest.approx(2)
    assert verdict("x, us/event", half, STEADY).word == "slower"
    assert verdict("x, events/s", STEADY, half).word == "slower"
    assert verdict("x, bytes/subscription", STEADY, half).word == "smaller"


def test_a_change_within_the_spread_is_noise() -> None:
    wide = [8.0, 12.5, 9.0, 13.0, 7.5, 11.0]
    assert verdict("x, us/event", STEADY, wide).word == "noise"


def test_a_steady_change_that_does_not_matter_is_noise() -> None:
    found = verdict("x, us/event", [10.0] * 6, [10.2] * 6)
    assert found.p is not None and found.p < 0.01
    assert found.word == "noise"


def test_one_slow_run_decides_nothing() -> None:
    assert verdict("x, us/event", STEADY, [*STEADY[:-1], 100.0]).word == "noise"


def test_few_runs_show_nothing() -> None:
    assert verdict("x, us/event", [10.0] * 4, [1.0] * 4).word == "noise"
    assert verdict("x, us/event", [10.0] * 5, [1.0] * 5).word == "faster"


def test_what_is_no_measure_is_the_same_or_not() -> None:
    assert verdict("x: matches an event", [5.0, 5.0], [5.0, 5.0]).word == "same"
    assert verdict("x: matches an event", [5.0, 5.0], [5.0, 6.0]).word == "differs"
    assert verdict("x, us/event", [5.0], []).word == "only one"


def test_mann_whitney_is_exact() -> None:
    low, high = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]
    assert mann_whitney(low, high) == pytest.approx(2 / 20)
    assert mann_whitney(high, low) == pytest.approx(2 / 20)
    assert mann_whitney([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]) == 1.0
    assert mann_whitney([1.0, 3.0, 5.0], [2.0, 4.0, 6.0]) == pytest.approx(14 / 20)


@pytest.mark.parametrize(
    ("name", "less"),
    [
        ("ads, batch 1: scan, wall us/event", True),
        ("shapes: tamis, us a condition", True),
        ("sparse: opening, ms", True),
        ("growth: exponent", True),
        ("shapes: tamis, conditions a second", False),
        ("ads, batch 1: times counting", False),
        ("ads: matches an event", None),
    ],
)
def test_names_tell_what_is_better(name: str, less: bool | None) -> None:
    assert less_is_better(name) is less


def _commit(repository: Path, microseconds: float) -> str:
    """A revision whose benchmark needs so long, by its own account."""
    (repository / "src" / "tamis" / "__init__.py").write_text(f"MICROSECONDS = {microseconds}\n", "utf-8")
    identity = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    for command in (("add", "."), (*identity, "commit", "-q", "-m", "measure")):
        subprocess.run(["git", *command], cwd=repository, check=True, capture_output=True)
    found = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=repository, check=True, capture_output=True, text=True
    )
    return found.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a benchmark that tells what its own tamis says."""
    root = tmp_path / "repository"
    (root / "src" / "tamis").mkdir(parents=True)
    (root / "benchmarks").mkdir()
    (root / "benchmarks" / "__init__.py").touch()
    (root / "benchmarks" / "__main__.py").write_text(
        "import json, tamis\n"
        "def main(arguments):\n"
        "    assert arguments == ['match', '--quick']\n"
        "    figures = {'a match, us/event': f'{tamis.MICROSECONDS} (0-100)', 'other': 'words'}\n"
        "    print(json.dumps({'figures': figures}))\n"
        "    return 1\n",
        "utf-8",
    )
    subprocess.run(["git", "init", "-q", str(root)], check=True, capture_output=True)
    return root


@pytest.mark.slow
def test_revisions_are_compared_each_with_its_own_tamis(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = _commit(repository, 30.0), _commit(repository, 10.0)
    report = compare.run(first, second, ["match", "--quick"], rounds=5, own=True, repository=repository)
    figure = report.figures["a match, us/event"]
    assert figure["verdict"] == "faster"
    assert figure["times"] == pytest.approx(3)
    assert report.figures["verdicts"] == {"faster": 1}
    assert "faster" in capsys.readouterr().out
    trees = subprocess.run(["git", "worktree", "list"], cwd=repository, check=True, capture_output=True, text=True)
    assert len(trees.stdout.splitlines()) == 1, "the work trees are gone"


def test_a_benchmark_that_fails_is_shown(repository: Path) -> None:
    commit = _commit(repository, 1.0)
    with pytest.raises(SystemExit, match=r"(?s)gave no figures.*AssertionError"):
        compare.run(commit, commit, ["parse"], rounds=1, own=True, repository=repository)


def test_an_unknown_revision_is_named(repository: Path) -> None:
    commit = _commit(repository, 1.0)
    with pytest.raises(SystemExit, match="nowhere"):
        compare.run(commit, "nowhere", ["match"], rounds=1, repository=repository)


@pytest.mark.slow
def test_a_revision_against_itself(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["compare", "HEAD", "HEAD", "--benchmark", "parse", "--smallest", "--rounds", "1"])
    outcome = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert status == 0
    assert outcome["benchmark"] == "compare"
    assert outcome["figures"]["shapes: tamis, us a condition"]["verdict"] == "noise"
    assert outcome["figures"]["conditions"]["verdict"] == "same"
