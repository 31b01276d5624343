"""Deliveries are checked when they are made; arguments of sinks are checked by type."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tamis.notifications import NOTIFICATIONS
from tamis.sinks import Delivery, SinkError
from tamis.sinks.base import require, require_duration, without_duplicates
from tests.sinks.deliveries import START, at, dead_letters, delivery, notifications


def test_a_delivery_has_the_columns_of_its_schema() -> None:
    dead = dead_letters([], START)
    with pytest.raises(SinkError, match=r"batch 3: notifications: expected the columns id .*found id "):
        Delivery("q", 3, START, 1, notifications([], START).drop_columns(["version"]), dead)
    with pytest.raises(SinkError, match="batch 3: dead: expected"):
        Delivery("q", 3, START, 1, NOTIFICATIONS.empty_table(), NOTIFICATIONS.empty_table())


@pytest.mark.parametrize(
    ("query", "batch", "when", "problem"),
    [("", 1, at(1), "a query"), ("q", -1, at(1), "from 0 on"), ("q", 1, datetime(2026, 2, 28), "no time zone")],
)
def test_a_delivery_says_which_batch_it_is(query: str, batch: int, when: datetime, problem: str) -> None:
    with pytest.raises(SinkError, match=problem):
        Delivery(query, batch, when, 1, NOTIFICATIONS.empty_table(), dead_letters([], START))


def test_duplicates_are_left_out_and_rows_are_in_the_order_of_ids() -> None:
    twice = delivery(0, [(2, 1), (1, 1), (2, 1)], dead=[b"x", b"x"])
    once = without_duplicates(twice)
    ids = once.notifications["id"].to_pylist()
    assert ids == sorted(set(twice.notifications["id"].to_pylist()))
    assert once.dead.num_rows == 1


def test_higher_priorities_come_first_and_then_lower_ids() -> None:
    given = delivery(0, [(event, subscription) for subscription in (43, 1, 41, 42, 40) for event in range(3)])
    once = without_duplicates(given).notifications
    assert once["priority"].to_pylist() == [2**40] * 3 + [5] * 3 + [0] * 3 + [-1] * 3 + [-(2**63)] * 3
    for start in range(0, 15, 3):
        ids = once["id"].to_pylist()[start : start + 3]
        assert ids == sorted(ids)


@pytest.mark.parametrize("value", [3, "", None])
def test_an_argument_of_another_type_is_refused(value: object) -> None:
    require("parquet", "folder", "some", str, "a path")
    with pytest.raises(SinkError, match=f"sink parquet: folder must be a path, found {value!r}"):
        require("parquet", "folder", value, str, "a path")


@pytest.mark.parametrize("value", [timedelta(0), timedelta(seconds=-1), 5])
def test_a_duration_is_positive(value: object) -> None:
    require_duration("parquet", "retention", timedelta(seconds=1))
    with pytest.raises(SinkError, match="sink parquet: retention must be "):
        require_duration("parquet", "retention", value)
