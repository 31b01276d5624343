"""Results are kept row by row; a run that was killed goes on where it stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tamis.lab.claims.bench import Bench
from tamis.lab.claims.registry import select_rows
from tamis.lab.claims.row import Outcome, Paper, UntestableError, figure
from tamis.lab.claims.run import Record, Results, ResultsError, figure_of, measure_row, run_rows, verdicts

_NOBODY, _MISTAKEN = "nobody", "mistaken"
PAPER = Paper("some", "Some paper", "some workload")


@PAPER.row("S1", "1", "One is one.", "1", "ones")
def _one(bench: Bench) -> Outcome:
    bench.notes.append("no more than one")
    return Outcome("holds", [figure("one", 1, 1), figure("open", 3, (2, float("inf")))], "it is")


@PAPER.row("S2", "2", "Nobody runs.", "trend", "nothing")
def _nobody(bench: Bench) -> Outcome:
    bench.lab.left_out["some, 10: nobody"] = "there is no such engine"
    raise KeyError(_NOBODY)


@PAPER.row("S3", "3", "A mistake is a mistake.", "trend", "nothing")
def _mistake(_: Bench) -> Outcome:
    raise KeyError(_MISTAKEN)


def test_a_result_has_verdicts_figures_seed_and_notes() -> None:
    record = measure_row(PAPER.rows["S1"], Bench("smallest", 7))
    assert (record["direction"], record["figure"], record["seed"]) == ("holds", "agrees", 7)
    assert record["note"] == "it is; no more than one"
    assert record["figures"][1]["theirs"] == [2, None]
    again = json.loads(json.dumps(record))
    assert [figure_of(each) for each in again["figures"]] == _one(Bench("smallest")).figures


def test_a_row_whose_contestant_was_left_out_cannot_be_tested() -> None:
    record = measure_row(PAPER.rows["S2"], Bench("smallest"))
    assert record["direction"] == record["figure"] == "cannot be tested"
    assert record["reason"] == "nobody did not take part: some, 10: nobody left out: there is no such engine"
    with pytest.raises(KeyError, match="mistaken"):
        measure_row(PAPER.rows["S3"], Bench("smallest"))


def test_what_parts_print_to_standard_error_is_progress(capsys: pytest.CaptureFixture[str]) -> None:
    paper = Paper("some", "Some paper", "some workload")

    @paper.row("S4", "4", "It says so.", "trend", "nothing")
    def _says(_: Bench) -> Outcome:
        sys.stderr.write("working\n")
        raise UntestableError(_NOBODY)

    said: list[str] = []
    assert measure_row(paper.rows["S4"], Bench("smallest", progress=said.append))["reason"] == _NOBODY
    assert said == ["working"]
    assert capsys.readouterr().err == ""


def test_rows_are_measured_again_unless_resumed(tmp_path: Path) -> None:
    path = tmp_path / "claims.json"
    seen: list[tuple[str, int, int]] = []

    def done(record: Record, left: int) -> None:
        seen.append((record["id"], record["seed"], left))
        kept = Results(path).of(["S1", "S2"], "smallest")
        assert record in kept[record["id"]], "a result is in the file before the next row begins"

    rows = [PAPER.rows["S1"], PAPER.rows["S2"]]
    run_rows(rows[:1], Results(path), size="smallest", seeds=[1], done=done)
    run_rows(rows, Results(path), size="smallest", seeds=[1, 2], resume=True, done=done)
    assert seen == [("S1", 1, 0), ("S2", 1, 2), ("S1", 2, 1), ("S2", 2, 0)]
    seen.clear()
    run_rows(rows, Results(path), size="smallest", seeds=[1], done=done)
    assert [id_ for id_, _, _ in seen] == ["S1", "S2"]


def test_results_of_the_greatest_size_are_shown(tmp_path: Path) -> None:
    results = Results(tmp_path / "claims.json")
    for size, seed in (("small", 2), ("small", 1), ("smallest", 1)):
        results.put(measure_row(PAPER.rows["S1"], Bench("smallest", seed)) | {"size": size})
    assert [(each["size"], each["seed"]) for each in results.of(["S1"])["S1"]] == [("small", 1), ("small", 2)]
    assert [each["size"] for each in results.of(["S1"], "smallest")["S1"]] == ["smallest"]
    assert results.of(["S9"]) == {}


def test_a_direction_must_hold_with_every_seed() -> None:
    def record(direction: str, agreement: str) -> Record:
        return {"direction": direction, "figure": agreement}

    assert verdicts([record("holds", "agrees"), record("holds", "agrees")]) == ("holds", "agrees")
    assert verdicts([record("holds", "agrees"), record("fails", "differs")]) == ("fails", "partly")
    assert verdicts([record("holds", "agrees"), record("unclear", "agrees")]) == ("unclear", "agrees")
    assert verdicts([record("none claimed", "agrees")]) == ("none claimed", "agrees")


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    for text in ("[]", "no JSON", '{"results": [{}]}'):
        (tmp_path / "other.json").write_text(text)
        with pytest.raises(ResultsError, match=r"other\.json holds no results of claims"):
            Results(tmp_path / "other.json")


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "claims.json"
    command = [sys.executable, "-m", "tamis", "lab", "claims", "--size", "smallest", "--results", str(path)]
    wanted = ["J1", "J13", "J20", "J21", "J34"]
    command += [part for id_ in wanted for part in ("--claim", id_)]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    kept = Results(path).of(wanted)
    assert kept and list(kept) == wanted[: len(kept)]
    again = subprocess.run([*command, "--resume", "--json"], check=True, capture_output=True, text=True)
    measured = [json.loads(line)["id"] for line in again.stdout.splitlines()]
    assert measured == wanted[len(kept) :]
    assert set(Results(path).of([row.id for row in select_rows()])) == set(wanted)
