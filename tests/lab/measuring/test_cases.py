"""The data of a case comes from its seed, and its statistics from events before those of the contest."""

from __future__ import annotations

from tamis.lab.measuring.cases import PAST_EVENTS, Case, data_of

CASE = Case("some ranges", "ranges", {"width": 0.3})


def test_data_is_that_of_the_seed() -> None:
    one, same, other = (data_of(CASE, 20, 8, seed=seed) for seed in (1, 1, 2))
    assert one.workload.conditions.equals(same.workload.conditions)
    assert not one.workload.conditions.equals(other.workload.conditions)
    assert (len(one.forest), one.events) == (20, 8)
    assert one.workload.events.num_rows == PAST_EVENTS + 8


def test_data_may_come_without_statistics() -> None:
    assert data_of(CASE, 20, 8).statistics
    assert not data_of(CASE, 20, 8, informed=False).statistics


def test_small_batches_come_event_by_event_and_large_ones_as_columns() -> None:
    data = data_of(CASE, 5, 100)
    assert data.batch(0, 10).rows == 10
    assert data.batch(10, 80).rows == 80
