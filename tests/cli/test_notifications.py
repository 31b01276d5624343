"""`tamis notifications`: what a folder of a sink holds, as people and programs read it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tamis.sinks import DeltaSink, JsonLinesSink, ParquetSink
from tests.cli.conftest import Run
from tests.sinks.deliveries import delivery


@pytest.fixture
def out(tmp_path: Path) -> Path:
    sink = DeltaSink(folder=tmp_path / "out")
    sink.commit(delivery(0, [(1, 1), (2, 1)], dead=[b"{bad"]))
    sink.commit(delivery(1, [(1, 2)]))
    sink.close()
    return tmp_path / "out"


def test_the_newest_comes_last(run: Run, out: Path) -> None:
    outcome = run("notifications", "list", str(out), "--limit", "2")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert len(lines) == 2
    assert lines[-1].startswith("2026-02-28 12:01:00  s2  event 1 é")


def test_options_choose(run: Run, out: Path) -> None:
    found = run("notifications", "list", str(out), "--subscription", "s1", "--json").json
    assert sorted(row["event_id"] for row in found) == ["event 1 é", "event 2 é"]
    assert {row["subscription_id"] for row in found} == {"s1"}
    assert len(run("notifications", "list", str(out), "--event", "event 1 é", "--json").json) == 2
    assert len(run("notifications", "list", str(out), "--since", "2026-02-28T12:01", "--json").json) == 1
    assert run("notifications", "list", str(out), "--since", "1d", "--json").json == []
    assert run("notifications", "list", str(out), "--since", "tomorrow").code == 2


def test_dead_letters_are_shown_with_their_reason(run: Run, out: Path) -> None:
    assert "malformed: no JSON: 4 bytes  {bad" in run("notifications", "list", str(out), "--dead").out


def test_dead_letters_are_chosen_by_event_and_time(run: Run, out: Path) -> None:
    assert run("notifications", "list", str(out), "--dead", "--event", "nobody", "--json").json == []
    assert run("notifications", "list", str(out), "--dead", "--since", "1h", "--json").json == []
    assert len(run("notifications", "list", str(out), "--dead", "--since", "2026-02-28", "--json").json) == 1


@pytest.mark.parametrize("option", ["--subscription", "--owner"])
def test_a_dead_letter_has_no_subscription(run: Run, out: Path, option: str) -> None:
    outcome = run("notifications", "list", str(out), "--dead", option, "s1")
    assert outcome.code == 2
    assert f"{option}: a dead letter was matched with no subscription" in outcome.err


@pytest.mark.parametrize("kind", [ParquetSink, JsonLinesSink])
def test_folders_of_files_are_read_as_well(
    run: Run, tmp_path: Path, kind: type[ParquetSink | JsonLinesSink]
) -> None:
    kind(folder=tmp_path / "out").commit(delivery(0, [(1, 1)]))
    assert len(run("notifications", "list", str(tmp_path / "out"), "--json").json) == 1
    refused = run("notifications", "compact", str(tmp_path / "out"))
    assert refused.code == 2
    assert "only output of the sink delta" in refused.err


def test_a_folder_that_is_missing_is_an_error(run: Run, tmp_path: Path) -> None:
    outcome = run("notifications", "list", str(tmp_path / "none"))
    reason = "no such folder; `tamis run` creates that of a pipeline's sink"
    assert (outcome.code, outcome.err) == (2, f"tamis: error: {tmp_path / 'none'}: {reason}\n")


def test_a_folder_that_no_sink_has_written_is_an_error_and_an_empty_one_is_not(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    reason = "not the folder of a sink delta, parquet or jsonl"
    outcome = run("notifications", "list", ".")
    assert outcome.code == 2
    assert outcome.err == f"tamis: error: .: {reason}; `tamis run PIPELINE --dry-run` prints that of a pipeline\n"
    assert run("notifications", "list", "empty").code == 0


def test_compacting_joins_files_and_keeps_rows(run: Run, out: Path) -> None:
    (done,) = run("notifications", "compact", str(out), "--json").json
    assert done["notifications"] == {"joined": 2, "into": 1, "removed": 0}
    assert len(run("notifications", "list", str(out), "--json").json) == 3
    assert "0 files joined" in run("notifications", "compact", str(out)).out


@pytest.mark.slow
def test_following_prints_what_is_committed_until_it_is_interrupted(out: Path) -> None:
    command = [sys.executable, "-m", "tamis", "notifications", "list", str(out), "--follow", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        before = [json.loads(process.stdout.readline()) for _ in range(3)]
        assert len({row["id"] for row in before}) == 3
        DeltaSink(folder=out).commit(delivery(2, [(7, 7)]))
        assert json.loads(process.stdout.readline())["subscription_id"] == "s7"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in (0, 130)


@pytest.mark.slow
def test_dead_letters_are_followed(out: Path) -> None:
    command = [sys.executable, "-m", "tamis", "notifications", "list", str(out), "--dead", "--follow", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["original"] == "{bad"
        DeltaSink(folder=out).commit(delivery(2, [(7, 7)], dead=[b"{worse"]))
        assert json.loads(process.stdout.readline())["original"] == "{worse"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in (0, 130)
