"""The files in examples/ and what `make tour` shows."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tamis.events.reading import read_events
from tamis.events.validation import validate
from tests.cli.conftest import EXAMPLES, Run

MATCH = ["--subscriptions", "cameras.jsonl", "--events", "events.jsonl", "--event-type", "camera.json"]


@pytest.fixture
def there(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(EXAMPLES)
    return run


def test_conditions_are_fine(there: Run) -> None:
    outcome = there("lint", "cameras.jsonl", "--event-type", "camera.json")
    assert (outcome.code, outcome.out) == (0, "")


def test_events_are_what_their_type_expects() -> None:
    (batch,) = read_events(EXAMPLES / "events.jsonl", EXAMPLES / "camera.json")
    assert validate(batch) == []


def test_every_subscription_is_matched_and_some_events_match_several(there: Run) -> None:
    pairs = there("match", *MATCH).json
    assert len({pair["subscription_id"] for pair in pairs}) == 8
    events = Counter(pair["event_id"] for pair in pairs)
    assert events["e1"] == 6
    assert "e9" not in events


def test_cases_pass(there: Run) -> None:
    assert there("test", "cameras_test.yaml").code == 0


@pytest.mark.slow
def test_tour_runs(tmp_path: Path) -> None:
    command = tmp_path / "tamis"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tamis "$@"\n')
    command.chmod(0o755)
    script = EXAMPLES.parent / "scripts" / "tour.sh"
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", script], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n$ tamis ") == 6
    assert "\x1b" not in done.stdout
    assert "Traceback" not in done.stderr
