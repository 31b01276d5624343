"""The scheduler: which rows when, how wide parts are, and what it remembers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tamis.arrays import RowIndices
from tamis.schedule import scheduler
from tamis.schedule.scheduler import EXPENSIVE_WORK, MOST_WORK, Schedule, Scheduler, check_schedule

WORK = np.array([5, 1, 4, 1, 9, 0, 2])


def never() -> RowIndices:
    pytest.fail("the estimate does not matter here")


def parts(made: Scheduler, schedule: Schedule = "shortest-first", width: int | None = None) -> list[list[int]]:
    plan = made.plan(len(WORK), schedule=schedule, width=width, estimate=lambda: WORK)
    return [rows.tolist() for rows in plan.parts]


def serve(made: Scheduler, rows: int, cost: Callable[[int], float], width: int | None = None) -> None:
    """Match a batch by arrival, where a part of n events takes `cost(n)` seconds."""
    plan = made.plan(rows, schedule="arrival", width=width, estimate=never)
    made.record(plan, np.cumsum([cost(len(part)) for part in plan.parts]).tolist())


def test_rows_of_little_work_come_first() -> None:
    assert parts(Scheduler(), width=3) == [[5, 1, 3], [6, 2, 0], [4]]


@pytest.mark.parametrize(
    ("schedule", "width", "expected"),
    [
        ("arrival", 4, [[0, 1, 2, 3], [4, 5, 6]]),
        ("shortest-first", 7, [list(range(7))]),
        ("shortest-first", 100, [list(range(7))]),
    ],
)
def test_the_work_is_estimated_only_where_the_order_depends_on_it(
    schedule: Schedule, width: int, expected: list[list[int]]
) -> None:
    plan = Scheduler().plan(7, schedule=schedule, width=width, estimate=never)
    assert [rows.tolist() for rows in plan.parts] == expected


def test_expensive_rows_are_in_parts_of_their_own() -> None:
    long = 40 * EXPENSIVE_WORK
    work = np.array([7, long, 3, long + 1, 5, MOST_WORK, long])
    plan = Scheduler().plan(7, schedule="shortest-first", width=None, estimate=lambda: work, expensive=True)
    assert [part.tolist() for part in plan.parts if len(part)] in (
        [[2, 4, 0], [1], [6], [3], [5]],
        [[2, 4], [0], [1], [6], [3], [5]],
    )
    narrow = Scheduler().plan(7, schedule="shortest-first", width=2, estimate=lambda: work, expensive=True)
    assert [part.tolist() for part in narrow.parts] == [[2, 4], [0], [1], [6], [3], [5]]


def test_no_rows_are_no_parts() -> None:
    made = Scheduler()
    plan = made.plan(0, schedule="shortest-first", width=None, estimate=never)
    made.record(plan, [])
    assert plan.parts == ()
    assert made.stats()["batches"] == 0


def test_response_times_are_those_of_events() -> None:
    made = Scheduler()
    made.record(made.plan(7, schedule="arrival", width=3, estimate=never), [3.0, 6.0, 7.0])
    found = made.stats()
    assert (found["batches"], found["events"], found["p50"], found["max"]) == (1, 7, 6, 7)
    assert found["mean"] == pytest.approx((3 * 3 + 3 * 6 + 7) / 7)


def test_the_width_follows_the_mean_response_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part costs as much as 32 events besides its events: of 2,048 then 8 parts of 256 are best."""
    monkeypatch.setattr(scheduler, "_ROUNDS", 1)
    made = Scheduler()
    assert made.width(2048, "arrival") == 1024
    for _ in range(30):
        serve(made, 2048, lambda events: 32 + events)
    assert made.width(2048, "arrival") == 256
    assert made.stats()["widths"] == {"arrival": {2048: 256}, "shortest-first": {}}
    made.observe_updates(20_000)
    assert [made.width(2048, "arrival")] == [256]
    serve(made, 2048, lambda events: 32 + events)
    assert made.width(2048, "arrival") == 128, "after many updates the neighbours are tried again"


def test_a_given_width_teaches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "_ROUNDS", 1)
    made = Scheduler()
    for _ in range(10):
        serve(made, 7, lambda events: events, width=1)
    assert made.stats()["widths"] == {"arrival": {}, "shortest-first": {}}


def test_only_the_last_batches_are_remembered() -> None:
    made = Scheduler()
    for _ in range(100):
        serve(made, 7, lambda events: events, width=2)
    found = made.stats()
    assert (found["batches"], found["events"]) == (64, 64 * 7)
    assert 0 < found["p50"] <= found["p90"] <= found["p99"] <= found["max"]


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no schedule 'longest'; known are arrival, shortest-first"):
        check_schedule("longest")
    with pytest.raises(ValueError, match="expected a width of at least one event, found 0"):
        check_schedule("arrival", 0)
