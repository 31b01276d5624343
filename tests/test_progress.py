"""Reports survive the way to a file and back, whatever killed their writer; summaries are what counting gives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from tamis.operators.reports import FailedCall, OperatorReport
from tamis.progress import (
    TOP,
    BatchReport,
    History,
    Percentiles,
    ProgressError,
    RunFailure,
    Summary,
    busiest,
)
from tests.reports import START, random_reports, report

# --- reports ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("each", [report(), *random_reports(1, 10)], ids=lambda each: f"batch {each.batch}")
def test_json_and_back(each: BatchReport) -> None:
    assert BatchReport.from_json(each.to_json()) == each


def test_what_operators_did_comes_back_and_may_be_missing() -> None:
    failed = FailedCall(1.5, "'\ud800'", "LookupError: no")
    each = report(operators=(OperatorReport("people", 3, 1, 0.5, failures=1, is_open=True, lately=(failed,)),))
    assert BatchReport.from_json(each.to_json()) == each
    values = json.loads(report().to_json())
    del values["operators"]
    assert BatchReport.from_json(json.dumps(values)) == report(), "written before there were operators"


def test_a_report_of_an_earlier_version_has_defaults_for_what_came_later() -> None:
    later: dict[str, Any] = {"entry_bytes": 5, "entry_budget": 9, "filter_seconds": 0.25, "late": 2, "visits": 3}
    values = json.loads(report(**later).to_json())
    assert BatchReport.from_json(json.dumps(values)) == report(**later)
    assert BatchReport.from_json(json.dumps({k: v for k, v in values.items() if k not in later})) == report()


def test_dead_letters_by_kind_come_back_and_may_be_missing() -> None:
    each = report(dead=3, dead_by_kind=(("malformed", 2), ("missing id", 1)))
    assert BatchReport.from_json(each.to_json()) == each
    values = json.loads(each.to_json())
    del values["dead_by_kind"]
    assert BatchReport.from_json(json.dumps(values)) == report(dead=3), "written before they were counted by kind"


def test_json_is_one_line_whatever_an_id_holds() -> None:
    each = report(query="a\nb\u2028", busiest=(("\ud800 'quoted' \x00\r\n", 3),))
    line = each.to_json()
    assert len(line.splitlines()) == 1
    assert BatchReport.from_json(line.encode()) == each


def test_the_time_is_written_in_utc() -> None:
    there = START.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert json.loads(report(at=there).to_json())["at"] == "2026-03-01T09:30:00+00:00"


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match=r"batch 0 of 'alerts'.*has no time zone, expected UTC"):
        report(at=datetime(2026, 3, 1))


def test_fields_of_a_newer_writer_are_ignored() -> None:
    values = json.loads(report().to_json())
    assert BatchReport.from_json(json.dumps({**values, "mood": "good"})) == report()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"events": "many"}, "field 'events': expected int, found 'many'"),
        ({"events": True}, "field 'events': expected int, found True"),
        ({"events": 1.5}, "field 'events': expected int, found 1.5"),
        ({"events": None}, "field 'events': expected int, found None"),
        ({"query": 7}, "field 'query': expected str, found 7"),
        ({"backlog": "x"}, r"field 'backlog': expected int \| None, found 'x'"),
        ({"at": "yesterday"}, "field 'at': .*yesterday"),
        ({"at": "2026-03-01T09:30:00"}, "has no time zone"),
        ({"operators": [{"operator": "people"}]}, "field 'operators': expected operator, .*, found"),
        ({"operators": {}}, "field 'operators': expected .*, found"),
        ({"busiest": [["s1"]]}, "field 'busiest': expected .*, found"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, object], problem: str) -> None:
    values = {**json.loads(report().to_json()), **change}
    with pytest.raises(ProgressError, match=problem):
        BatchReport.from_json(json.dumps(values))


@pytest.mark.parametrize(("text", "problem"), [("{", "not JSON"), ("[]", "expected a JSON object, found list")])
def test_what_is_no_report_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ProgressError, match=problem):
        BatchReport.from_json(text)


def test_a_missing_field_is_named() -> None:
    values = json.loads(report().to_json())
    del values["dead"]
    with pytest.raises(ProgressError, match="field 'dead' is missing"):
        BatchReport.from_json(json.dumps(values))


def test_the_rate_of_a_batch_that_took_no_time_is_zero() -> None:
    assert report(seconds=0.0).events_per_second == 0
    assert report(seconds=0.5, events=1_000).events_per_second == 2_000


# --- history ---------------------------------------------------------------------------------------------------


def written(file: Path, reports: list[BatchReport]) -> History:
    history = History(file)
    for each in reports:
        history.append(each)
    return history


def test_reports_come_back_in_order(tmp_path: Path) -> None:
    reports = random_reports(2, 20)
    file = tmp_path / "state" / "progress.jsonl"
    assert History(file).read() == []
    assert written(file, reports).read() == reports
    assert History(file).read() == reports


def test_of_a_batch_reported_twice_the_last_counts(tmp_path: Path) -> None:
    again = report(1, notifications=9)
    history = written(tmp_path / "p.jsonl", [report(0), report(1), report(1, query="other"), again, report(2)])
    assert history.read() == [report(0), report(1, query="other"), again, report(2)]


def test_wherever_a_writer_is_killed_whole_lines_are_kept_and_the_next_one_goes_on(tmp_path: Path) -> None:
    reports = random_reports(3, 2)
    content = written(tmp_path / "whole.jsonl", reports).file.read_bytes()
    torn = tmp_path / "torn.jsonl"
    line = content.index(b"\n")
    for size in {*range(0, len(content), 11), line, line + 1, line + 2, len(content) - 1, len(content)}:
        torn.write_bytes(content[:size])
        kept = reports[: content[:size].count(b"\n")]
        assert History(torn).read() == kept
        written(torn, [report(99)])
        assert History(torn).read() == [*kept, report(99)]


def test_a_torn_line_may_be_long(tmp_path: Path) -> None:
    file = written(tmp_path / "p.jsonl", [report(0)]).file
    with file.open("ab") as stream:
        stream.write(b"x" * 200_000)
    assert written(file, [report(1)]).read() == [report(0), report(1)]


def test_a_file_that_is_too_long_is_cut_to_its_newest_reports(tmp_path: Path) -> None:
    line = len(report(10).to_json()) + 1
    history = History(tmp_path / "progress.jsonl", most_bytes=8 * line)
    longest = 0
    for batch in range(10, 90):
        history.append(report(batch))
        found = [each.batch for each in history.read()]
        longest = max(longest, history.file.stat().st_size)
        assert found == [*range(found[0], batch + 1)]
    assert longest <= 8 * line
    assert {each.name for each in tmp_path.iterdir()} == {"progress.jsonl"}


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    file = written(tmp_path / "p.jsonl", [report(0), report(1)]).file
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0][:20] + b"\n" + lines[1])
    with pytest.raises(ProgressError, match=r"p\.jsonl, line 1: not JSON"):
        History(file).read()


@pytest.mark.slow
def test_what_was_appended_outlives_a_kill(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    script = (
        "import sys\nfrom tamis.progress import BatchReport, History\n"
        "history = History(sys.argv[1])\n"
        "for line in sys.stdin:\n"
        "    history.append(BatchReport.from_json(line))\n"
        "    print('done', flush=True)\n"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", script, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        for each in (report(0), report(1)):
            writer.stdin.write(each.to_json() + "\n")
            writer.stdin.flush()
            assert writer.stdout.readline() == "done\n"
        os.kill(writer.pid, signal.SIGKILL)
    assert History(file).read() == [report(0), report(1)]


# --- summary ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_a_summary_is_what_counting_gives(seed: int) -> None:
    reports = random_reports(seed, 37)
    summary = Summary.of(reports)
    sums = dict.fromkeys(("events", "matched_events", "notifications", "repeated", "overflow", "dead"), 0)
    matches: dict[str, int] = {}
    for each in reports:
        for name in sums:
            sums[name] += getattr(each, name)
        for subscription, count in each.busiest:
            matches[subscription] = matches.get(subscription, 0) + count
    assert {name: getattr(summary, name) for name in sums} == sums
    assert summary.batches == len(reports)
    assert summary.seconds == pytest.approx(sum(each.seconds for each in reports))
    assert summary.events_per_second == pytest.approx(sums["events"] / summary.seconds)
    assert summary.matched_share == pytest.approx(sums["matched_events"] / sums["events"])
    assert summary.versions == tuple(range(5))
    assert summary.lag_seconds == 400
    ranked = sorted(matches, key=lambda name: (-matches[name], name))
    assert summary.top == tuple((name, matches[name]) for name in ranked[:TOP])


def test_dead_letters_are_summed_by_kind_the_most_first() -> None:
    first = report(0, dead=3, dead_by_kind=(("malformed", 2), ("missing id", 1)))
    second = report(1, dead=4, dead_by_kind=(("missing id", 3), ("wrong type", 1)))
    assert Summary.of([first, second]).dead_by_kind == (("missing id", 4), ("malformed", 2), ("wrong type", 1))


@pytest.mark.parametrize(
    ("failure", "place"),
    [
        (RunFailure("start", "no store"), "before its first batch"),
        (RunFailure("matching", "no", 3), "in batch 3, while events were read and matched"),
        (RunFailure("delivery", "no", 3), "in batch 3, while results were handed to the sink"),
        (RunFailure("spark", "no"), "within Spark, outside of a batch"),
    ],
    ids=lambda each: each.stage if isinstance(each, RunFailure) else "",
)
def test_a_failure_says_where_it_was(failure: RunFailure, place: str) -> None:
    assert failure.place == place


def test_a_slow_or_an_empty_batch_leaves_the_median_rate_as_it_is() -> None:
    batches = [report(0, seconds=60.0), report(1), report(2), report(3, seconds=0.25), report(4, events=0)]
    assert Summary.of(batches).median_events_per_second == 2_000
    assert Summary.of(batches[4:]).median_events_per_second == 0


def test_a_summary_of_nothing() -> None:
    summary = Summary.of([])
    assert (summary.events, summary.events_per_second, summary.matched_share) == (0, 0, 0)
    assert summary.latency == Percentiles(0, 0, 0, 0)
    assert (summary.top, summary.versions, summary.lag_seconds) == ((), (), None)


@pytest.mark.parametrize("count", [1, 2, 3, 10, 99, 100, 101, 250])
def test_a_percentile_is_the_least_time_that_enough_batches_kept(count: int) -> None:
    seconds = [each.seconds for each in random_reports(count, count)]
    found = Percentiles.of(seconds)
    for percent, value in ((50, found.p50), (90, found.p90), (99, found.p99), (100, found.most)):
        enough = [one for one in seconds if 100 * sum(other <= one for other in seconds) >= percent * count]
        assert value == min(enough)


def test_what_operators_did_is_summed() -> None:
    reports = [report(batch, operators=(OperatorReport("people", calls=batch),)) for batch in (1, 2)]
    assert Summary.of([report(0), *reports]).operators == (OperatorReport("people", calls=3),)


def test_equally_busy_subscriptions_come_by_id() -> None:
    assert busiest({"b": 2, "c": 5, "a": 2, "d": 1}, 3) == (("c", 5), ("a", 2), ("b", 2))


def test_a_lag_of_zero_is_known() -> None:
    assert Summary.of([report(0), replace(report(1), lag_seconds=None)]).lag_seconds == 0
