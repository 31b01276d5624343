"""The scheduler: which rows when, how wide parts are, and what it remembers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tamis.schedule import scheduler
from tamis.schedule.scheduler import Done, Places, Schedule, Scheduler, check_schedule

WORK = np.array([5, 1, 4, 1, 9, 0, 2])


def never() -> Places:
    pytest.fail("the estimate does not matter here")


def run(made: Scheduler, schedule: Schedule = "shortest-first", width: int | None = None, **settings: Any) -> Any:
    settings.setdefault("estimate", lambda: WORK)
    done: list[Done[list[int]]] = list(
        made.run(len(WORK), lambda rows: rows.tolist(), schedule=schedule, width=width, **settings)
    )
    assert all(each.found == each.rows.tolist() for each in done)
    return done


def test_rows_of_little_work_come_first() -> None:
    assert [each.found for each in run(Scheduler(), width=3)] == [[5, 1, 3], [6, 2, 0], [4]]


def test_by_arrival_nobody_estimates() -> None:
    assert [each.found for each in run(Scheduler(), "arrival", 4, estimate=never)] == [[0, 1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("width", [7, 100])
def test_one_part_is_the_batch_as_it_is(width: int) -> None:
    assert [each.found for each in run(Scheduler(), width=width, estimate=never)] == [list(range(7))]


def test_no_rows_are_no_parts() -> None:
    made = Scheduler()
    assert list(made.run(0, lambda rows: rows, schedule="shortest-first", width=None, estimate=never)) == []
    assert made.stats()["batches"] == 0


def test_a_pool_gives_the_same_parts_in_the_same_order() -> None:
    with ThreadPoolExecutor(3) as pool:
        assert [each.found for each in run(Scheduler(), width=2, pool=pool)] == [[5, 1], [3, 6], [2, 0], [4]]


def test_seconds_rise_and_leave_out_what_is_done_between_parts() -> None:
    """The clock is one that is moved by hand: a second a row of work, ten while somebody reads an answer."""
    now = [0.0]

    def work(rows: Places) -> None:
        now[0] += len(rows)

    made = Scheduler(clock=lambda: now[0])
    seconds = []
    for done in made.run(7, work, schedule="arrival", width=3, estimate=never):
        seconds.append(done.seconds)
        now[0] += 10
    assert seconds == [3, 6, 7]
    found = made.stats()
    assert (found["batches"], found["events"], found["p50"], found["max"]) == (1, 7, 6, 7)
    assert found["mean"] == pytest.approx((3 * 3 + 3 * 6 + 7) / 7)


def test_the_width_follows_the_mean_response_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part costs as much as 32 events besides its events: of 2,048 then 8 parts of 256 are best."""
    now = [0.0]
    monkeypatch.setattr(scheduler, "_ROUNDS", 1)

    def work(rows: Places) -> None:
        now[0] += 32 + len(rows)

    made = Scheduler(clock=lambda: now[0])
    assert made.width(2048, "arrival") == 1024
    for _ in range(30):
        for _ in made.run(2048, work, schedule="arrival", width=None, estimate=never):
            pass
    assert made.width(2048, "arrival") == 256
    assert made.stats()["widths"] == {"arrival": {2048: 256}, "shortest-first": {}}
    made.updated(20_000)
    assert [made.width(2048, "arrival")] == [256]
    for _ in made.run(2048, work, schedule="arrival", width=None, estimate=never):
        pass
    assert made.width(2048, "arrival") == 128, "after many updates the neighbours are tried again"


def test_a_given_width_teaches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "_ROUNDS", 1)
    made = Scheduler()
    for _ in range(10):
        run(made, width=1)
    assert made.stats()["widths"] == {"arrival": {}, "shortest-first": {}}


def test_only_the_last_batches_are_remembered() -> None:
    made = Scheduler()
    for _ in range(100):
        run(made, width=2)
    found = made.stats()
    assert (found["batches"], found["events"]) == (64, 64 * 7)
    assert 0 < found["p50"] <= found["p90"] <= found["p99"] <= found["max"]


def test_a_batch_that_is_left_half_done_is_not_remembered() -> None:
    made = Scheduler()
    next(made.run(7, lambda rows: rows, schedule="shortest-first", width=2, estimate=lambda: WORK))
    assert made.stats()["batches"] == 0


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no schedule 'longest'; known are arrival, shortest-first"):
        check_schedule("longest")
    with pytest.raises(ValueError, match="expected a width of at least one event, found 0"):
        check_schedule("arrival", 0)
