"""Dates and timestamps as text; the expected values are Spark's."""

from __future__ import annotations

import pytest

from tamis.values.calendar import GREATEST_MICROS, LEAST_MICROS
from tamis.values.datetimes import (
    is_special_word,
    is_time_alone,
    literal_date,
    literal_timestamp,
    literal_timestamp_ntz,
    read_date,
    read_timestamp,
    read_timestamp_ntz,
    write_date,
    write_wall,
)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("1970-01-01", 0),
        (" 2020-2-9\x7f", 18_301),
        ("2020", 18_262),
        ("2000-02-29", 11_016),
        ("1900-02-29", None),
        ("2020-13-01", None),
        ("2020-01-01 noon", 18_262),
        ("+5881580-07-11", (1 << 31) - 1),
        ("5881580-07-12", None),
        ("20", None),
    ],
)
def test_dates_are_read_by_spark_s_grammar(text: str, days: int | None) -> None:
    assert read_date(text) == days


@pytest.mark.parametrize("days", [-719_529, -1, 0, 18_321, 2_932_897, (1 << 31) - 1, -(1 << 31)])
def test_a_written_date_reads_back(days: int) -> None:
    assert read_date(write_date(days)) == days


@pytest.mark.parametrize("wall", [LEAST_MICROS, -1, 0, 1_583_652_607_123_456, GREATEST_MICROS])
def test_a_written_clock_reads_back(wall: int) -> None:
    assert read_timestamp_ntz(write_wall(wall)) == wall


@pytest.mark.parametrize(
    ("text", "alone"), [("12:30", True), ("T1", True), (" T1", False), ("12", False), ("2020", False)]
)
def test_which_texts_are_a_time_alone(text: str, alone: bool) -> None:
    assert is_time_alone(text) is alone


def test_a_wall_clock_in_a_gap_moves_on_and_in_an_overlap_means_the_earlier() -> None:
    assert read_timestamp("2020-03-29 02:30:00", "Europe/Paris") == read_timestamp("2020-03-29 01:30:00Z", "UTC")
    assert read_timestamp("2020-10-25 02:30:00", "Europe/Paris") == read_timestamp("2020-10-25 00:30:00Z", "UTC")


def test_a_time_without_date_is_null_whatever_the_day() -> None:
    assert read_timestamp("T12:30", "UTC") is None


def test_literals_that_depend_on_the_day_are_refused() -> None:
    for text in ("now", " Epoch ", "today", "tomorrow Europe/Paris"):
        assert is_special_word(text)
        assert literal_date(text) is literal_timestamp(text, "UTC") is literal_timestamp_ntz(text) is None
    assert not is_special_word("now UTC")
    assert literal_timestamp("12:30", "UTC") is None


def test_literals() -> None:
    assert literal_date("2020") == 18262
    assert literal_timestamp("2020-01-01", "Europe/Paris") == 1577833200000000
    assert literal_timestamp_ntz("2020-01-01 00:00:00+05:00") == 1577836800000000
