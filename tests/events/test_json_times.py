"""The kernel for timestamps: the forms that machines write, compared with `datetime`; others are left to casts."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from tamis.events.json_numbers import DONE, FALLBACK, IS_NULL
from tamis.events.json_times import NO_ZONE, moments

EPOCH = dt.datetime(1970, 1, 1)


def moment(text: str) -> tuple[int, int, int]:
    """Wall clock in microseconds, offset in seconds, and state of one text."""
    block = np.frombuffer(text.encode() or b" ", np.uint8)
    walls, offsets, states = moments(block, np.zeros(1, np.int64), np.array([len(text)], np.int32))
    return int(walls[0]), int(offsets[0]), int(states[0])


@pytest.mark.parametrize(
    "text",
    [
        *("2026-01-31", "1970-01-01", "2024-02-29", "0001-01-01", "9999-12-31", "1900-03-01"),
        *("2026-01-31T10:20:30", "2026-01-31 10:20:30", "2026-01-31T10:20:30.5", "2026-01-31T23:59:59.123456"),
        *("2026-01-31T10:20:30Z", "2026-01-31T10:20:30+01:00", "2026-01-31T10:20:30.25-11:30"),
    ],
)
def test_common_forms_are_those_of_datetime(text: str) -> None:
    expected = dt.datetime.fromisoformat(text)
    offset = expected.utcoffset()
    wall = (expected.replace(tzinfo=None) - EPOCH) // dt.timedelta(microseconds=1)
    assert moment(text) == (wall, NO_ZONE if offset is None else int(offset.total_seconds()), DONE)


def test_digits_beyond_microseconds_are_cut() -> None:
    assert moment("1970-01-01T00:00:00.0000019")[0] == 1


@pytest.mark.parametrize(
    "text", ["2026-02-29", "2026-13-01", "2026-00-10", "2026-01-32", "2026-01-31T24:00:00", "2026-01-31T10:60:00"]
)
def test_moments_that_do_not_exist_are_null(text: str) -> None:
    assert moment(text)[2] == IS_NULL


@pytest.mark.parametrize(
    "text",
    ["", "2026", "2026-1-31", "26-01-31", "2026-01-31T", "2026-01-31T10", "2026-01-31T10:20:30 Europe/Paris"],
)
def test_other_forms_are_left_to_the_casts(text: str) -> None:
    assert moment(text)[2] == FALLBACK
