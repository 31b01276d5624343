from __future__ import annotations

import json
from pathlib import Path

import pytest

from tamis.lab.workloads import WORKLOADS, generate
from tests.cli.conftest import Run


def test_writes_the_files_of_the_library(run: Run, tmp_path: Path) -> None:
    outcome = run(
        *("generate", "ranges", "--subscriptions", "30", "--events", "5", "--seed", "9", "--out", "made"),
        *("--set", "width=0.1-0.5", "--set", "kind=double"),
    )
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "tamis: 30 subscriptions and 5 events of ranges, seed 9, in made\n"
    data = generate("ranges", subscriptions=30, events=5, seed=9, width=(0.1, 0.5), kind="double")
    data.write(tmp_path / "expected")
    for file in (tmp_path / "expected").iterdir():
        assert (tmp_path / "made" / file.name).read_bytes() == file.read_bytes(), file.name


@pytest.mark.slow
def test_what_is_written_can_be_matched(run: Run) -> None:
    sizes = ("--subscriptions", "200", "--events", "50")
    assert run("generate", "equality", *sizes, "--out", "x", "--set", "values=3", "--quiet").err == ""
    pairs = run(
        *("match", "--subscriptions", "x/conditions.jsonl", "--events", "x/events.jsonl"),
        *("--event-type", "x/event_type.json"),
    )
    assert pairs.code == 0
    assert {pair["event_id"][0] + pair["subscription_id"][0] for pair in pairs.json} == {"es"}


def test_lists_workloads_and_their_parameters(run: Run) -> None:
    out = run("generate").out
    assert "ranges: AND of ranges over attributes that every event has\n" in out
    assert "  width       0.3  of a range" in out
    for family in WORKLOADS.values():
        assert f"{family.name}: {family.summary}\n" in out


def test_lists_as_json(run: Run) -> None:
    listed = {each["name"]: each for each in run("generate", "--json").json}
    assert list(listed) == list(WORKLOADS)
    parameters = {each["name"]: each for each in listed["ranges"]["parameters"]}
    assert parameters["kind"]["default"] == "int"
    assert parameters["kind"]["expected"] == "one of int, double"


def test_tells_what_was_made_as_json(run: Run, tmp_path: Path) -> None:
    (told,) = run("generate", "equality", "--subscriptions", "1", "--out", "x", "--json").json
    assert told == {**json.loads((tmp_path / "x" / "workload.json").read_text("utf-8")), "folder": "x"}
    assert told["parameters"] == {"attributes": 20, "equalities": 3, "values": 20}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rangs", "--out", "x"), "there is no workload 'rangs'; known are ranges, "),
        (("ranges",), "--out FOLDER is missing"),
        (("ranges", "--out", "x", "--set", "widht=3"), "there is no parameter 'widht'; did you mean width?"),
        (("ranges", "--out", "x", "--set", "width=wide"), "width: expected a number from 0 to 1, or two"),
        (("ranges", "--out", "x", "--set", "ranges=30"), "30 ranges need as many attributes"),
        (("ranges", "--out", "x", "--set", "width"), "--set width: expected KEY=VALUE"),
        (("ranges", "--out", "x", "--set", "width=1", "--set", "width=1"), "width is set twice"),
        (("ranges", "--out", "x", "--seed", "-1"), "--seed"),
        (("ranges", "--out", "file/x", "--subscriptions", "1"), "file/x: Not a directory"),
    ],
)
def test_mistakes_are_exit_code_2(run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    outcome = run("generate", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert not (tmp_path / "x").exists()
