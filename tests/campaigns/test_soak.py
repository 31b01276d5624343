"""The campaign `soak` at its smallest, and what it calls growth."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from tests.campaigns import soak
from tests.campaigns.outcome import Outcome


@pytest.mark.parametrize(
    ("value", "is_growing"),
    [
        (lambda at: 500.0, False),
        (lambda at: 500 + at / 20, True),
        (lambda at: 500 * (1 - math.exp(-at / 300)), False),
        (lambda at: 500 + 100 * math.sin(at / 30), False),
        (lambda at: at % 200, False),
        (lambda at: 1 + at / 1_000, False),
        (lambda at: 500 - at / 20, False),
    ],
    ids=["flat", "a leak", "fills up", "waves", "is cut now and then", "below the floor", "shrinks"],
)
def test_what_rises_in_the_second_half_grows(value: object, is_growing: bool) -> None:
    assert callable(value)
    noise = random.Random(0)
    points = [(float(at), value(at) + noise.uniform(-1, 1)) for at in range(0, 7_200, 30)]
    assert soak.verdict(points, floor=10.0).is_growing is is_growing


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes under /proc")
def test_a_short_soak_has_a_series_of_everything(spark_environment: None, tmp_path: Path) -> None:
    outcome = Outcome("soak", seed=0)
    soak.run(outcome, tmp_path, minutes=0.1, samples=6)
    assert outcome.ok, outcome.text()
    named = " ".join(outcome.figures["series"])
    for each in ("memory, service", "threads, stream's Java", "open files, stream's driver", "rows, tamis_feed"):
        assert each in named
    for each in (
        "memory, pipeline's Java",
        "size, pipeline's notifications",
        "rows, pipeline's tamis_changes",
        "rows, tamis_attempts",
        "rows, tamis_subscriptions",
        "size, inbox.db",
        "size, checkpoint",
        "size, snapshot",
        "files in, checkpoint",
        "rows, tamis_events",
    ):
        assert each in named
    outcome.write(tmp_path / "report.json")
    assert (tmp_path / "report.html").read_text().count("<svg") == len(outcome.drawings) > 10
