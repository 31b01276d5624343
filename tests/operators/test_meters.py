"""Meters: counters, a mean cost that follows recent calls, and a circuit that opens after failures in a row."""

from __future__ import annotations

import pytest

from tamis.operators.meters import BREAK_AFTER, BREAK_SECONDS, Meter, Recent, meter, meters, reset_meters


def test_runs_and_calls_are_counted() -> None:
    counted = Meter()
    counted.record_run(10, 2.0)
    counted.record_run(30, 2.0)
    counted.count(cached=3, saved=5, skipped=1)
    found = counted.counts()
    assert (found["calls"], found["runs"], found["seconds"]) == (40, 2, 4.0)
    assert (found["cached"], found["saved"], found["skipped"], found["failures"]) == (3, 5, 1, 0)
    assert counted.cost == 0.1


def test_failures_are_kept_with_their_arguments() -> None:
    failing = Meter()
    for number in range(8):
        failing.record_failure(1, 0.1, str(number), ValueError(f"no {number}"))
    failing.record_failure(2, 0.1, "slow", TimeoutError("late"))
    assert (failing.failures, failing.timeouts, failing.calls) == (10, 1, 10)
    assert [each.arguments for each in failing.lately] == ["4", "5", "6", "7", "slow"]
    assert failing.lately[0].error == "ValueError: no 4"
    assert "ValueError: no 4" in failing.lately[0].traceback


def test_the_circuit_opens_after_failures_in_a_row_and_closes_with_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("tamis.operators.meters.time.monotonic", lambda: now)
    failing = Meter()
    for _ in range(BREAK_AFTER - 1):
        failing.record_failure(1, 0.1, "", ValueError())
    assert not failing.is_open()
    failing.record_run(1, 0.1)
    for _ in range(BREAK_AFTER):
        failing.record_failure(1, 0.1, "", ValueError())
    assert failing.is_open()
    now += BREAK_SECONDS
    assert not failing.is_open()


def test_the_mean_cost_follows_recent_calls() -> None:
    recent = Recent()
    assert recent.cost is None
    for _ in range(50):
        recent = recent.after(1_000, 1_000.0)
    assert recent.cost == 1.0
    for _ in range(50):
        recent = recent.after(1_000, 1.0)
    assert recent.cost == pytest.approx(0.001, rel=0.1)


def test_every_operator_has_one_meter_until_it_is_reset() -> None:
    first = meter("some_operator")
    assert meter("some_operator") is meters()["some_operator"] is first
    reset_meters("some_operator")
    assert "some_operator" not in meters()
    assert meter("some_operator") is not first
    reset_meters("some_operator")
