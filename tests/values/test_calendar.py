"""The calendar agrees with Python's where that reaches, and with itself beyond."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.values import calendar

EPOCH = datetime.date(1970, 1, 1).toordinal()
DAYS = st.integers(calendar.LEAST_DAY, calendar.GREATEST_DAY)


@given(st.dates())
def test_python_s_dates(date: datetime.date) -> None:
    days = date.toordinal() - EPOCH
    assert calendar.civil_from_days(days) == (date.year, date.month, date.day)
    assert calendar.days_from_civil(date.year, date.month, date.day) == days
    assert calendar.weekday(days) == date.weekday()
    assert calendar.iso_week(days) == date.isocalendar()[:2]
    assert calendar.day_of_year(days) == date.timetuple().tm_yday


@given(DAYS)
def test_there_and_back_over_the_whole_range(days: int) -> None:
    year, month, day = calendar.civil_from_days(days)
    assert 1 <= day <= calendar.month_length(year, month)
    assert calendar.days_from_civil(year, month, day) == days


@pytest.mark.slow
@given(st.lists(DAYS, min_size=1), st.integers(-(2**31), 2**31 - 1))
def test_arrays_give_what_integers_give(days: list[int], months: int) -> None:
    array = np.array(days, np.int64)
    for function in (calendar.year_start, calendar.quarter_start, calendar.weekday, calendar.day_of_year):
        assert function(array).tolist() == [function(each) for each in days]
    for pair in (calendar.civil_from_days, calendar.iso_week):
        assert [tuple(row) for row in np.array(pair(array)).T.tolist()] == [pair(each) for each in days]
    moved = calendar.plus_months(array, np.full(len(days), months))
    assert moved.tolist() == [calendar.plus_months(each, months) for each in days]
    assert calendar.next_weekday(array, 2).tolist() == [calendar.next_weekday(each, 2) for each in days]


@pytest.mark.parametrize(
    ("days", "civil"),
    [(calendar.LEAST_DAY, (-5877641, 6, 23)), (calendar.GREATEST_DAY, (5881580, 7, 11)), (-719_528, (0, 1, 1))],
)
def test_bounds(days: int, civil: tuple[int, int, int]) -> None:
    assert calendar.civil_from_days(days) == civil


def test_a_longer_month_s_last_days_become_the_last_day_of_a_shorter_one() -> None:
    january = calendar.days_from_civil(2020, 1, 31)
    assert calendar.civil_from_days(calendar.plus_months(january, 1)) == (2020, 2, 29)
    assert calendar.civil_from_days(calendar.plus_months(january, -11)) == (2019, 2, 28)


def test_week_days_before_the_first_date_come_out_as_in_java() -> None:
    assert calendar.next_weekday(calendar.LEAST_DAY, calendar.MONDAY) == calendar.LEAST_DAY + 2
