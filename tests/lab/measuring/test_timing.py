"""Times are those of the processor, a measurement each time."""

from __future__ import annotations

from tamis.lab.measuring.timing import Times, rates, timed


def test_every_measurement_is_kept() -> None:
    times = Times()
    for _ in range(3):
        with times.taken():
            sum(range(1_000))
    assert len(times.cpu) == len(times.wall) == 3
    assert min(times.wall) > 0


def test_rates_are_things_a_second() -> None:
    assert rates(Times([0.5, 1.0, 2.0]), 100) == "100 (50-200)"


def test_what_runs_is_timed_once() -> None:
    calls: list[int] = []
    assert timed(lambda: calls.append(1)) >= 0
    assert calls == [1]
