"""The proleptic Gregorian calendar in integers: days since 1970-01-01 to year, month, day and back.

Floor divisions without branches, so that every function takes one `int` or an `int64` array and covers all of
Spark's dates (years -5877641 to 5881580), which Python's `datetime` does not. Time zones and NULL are not known
here; the caller checks whether a date fits 32 bits.
"""

from __future__ import annotations

from typing import Any

from tamis.values.types import Ints, wrap_integer

LEAST_DAY, GREATEST_DAY = -(1 << 31), (1 << 31) - 1
"""The range of a date, in days since 1970-01-01."""
LEAST_MICROS, GREATEST_MICROS = -(1 << 63), (1 << 63) - 1
"""The range of a timestamp, in microseconds since 1970-01-01."""

MICROS_PER_SECOND = 1_000_000
SECONDS_PER_DAY = 86_400
MICROS_PER_DAY = MICROS_PER_SECOND * SECONDS_PER_DAY

MONDAY = 0
"""Week days count from Monday, 0, to Sunday, 6."""

_CYCLE_DAYS = 146_097  # the calendar repeats every 400 years
_SHIFT = 719_468  # days from 0000-03-01 to 1970-01-01


def civil_from_days(days: Ints) -> tuple[Ints, Ints, Ints]:
    """Year, month and day of the month.

    >>> civil_from_days(18_321)
    (2020, 2, 29)
    """
    # Years are counted from March, so that the leap day is the last day and all months start at fixed offsets.
    cycle = (days + _SHIFT) // _CYCLE_DAYS
    rest = (days + _SHIFT) % _CYCLE_DAYS
    year = (rest - rest // 1_460 + rest // 36_524 - rest // 146_096) // 365
    rest = rest - (365 * year + year // 4 - year // 100)
    from_march = (5 * rest + 2) // 153
    day = rest - (153 * from_march + 2) // 5 + 1
    next_year = from_march // 10
    return year + cycle * 400 + next_year, from_march + 3 - 12 * next_year, day


def days_from_civil(year: Ints, month: Ints | int, day: Ints | int = 1) -> Ints:
    """Days since 1970-01-01; the month is 1 to 12, the day is not checked.

    >>> days_from_civil(2020, 2, 29)
    18321
    """
    earlier: Any = (month + 9) // 12 - 1  # -1 before March
    year = year + earlier
    from_march = month - earlier * 12 - 3
    leaps = year // 4 - year // 100 + year // 400
    days: Ints = year * 365 + leaps + (from_march * 153 + 2) // 5 + day - 1 - _SHIFT
    return days


def month_length(year: Ints, month: Ints) -> Ints:
    turn = month // 12
    return days_from_civil(year + turn, month + 1 - 12 * turn) - days_from_civil(year, month)


def day_of_year(days: Ints) -> Ints:
    """Number of the day in its year, 1 to 366."""
    return days - year_start(days) + 1


def year_start(days: Ints) -> Ints:
    year, _, _ = civil_from_days(days)
    return days_from_civil(year, 1)


def quarter_start(days: Ints) -> Ints:
    year, month, _ = civil_from_days(days)
    return days_from_civil(year, (month - 1) // 3 * 3 + 1)


def weekday(days: Ints) -> Ints:
    """0 for Monday to 6 for Sunday."""
    return (days + 3) % 7


def iso_week(days: Ints) -> tuple[Ints, Ints]:
    """Year and week of ISO 8601: weeks begin on Monday and belong to the year of their Thursday."""
    thursday = days - weekday(days) + 3
    year, _, _ = civil_from_days(thursday)
    return year, (thursday - days_from_civil(year, 1)) // 7 + 1


def plus_months(days: Ints, months: Ints) -> Ints:
    """The same day of a later month, or the last day if that is shorter; may exceed the range of dates."""
    year, month, day = civil_from_days(days)
    month_number = year * 12 + month - 1 + months
    year, month = month_number // 12, month_number % 12 + 1
    surplus = day - month_length(year, month)
    return days_from_civil(year, month, day - surplus * (surplus > 0))


def wrap_int32(days: Ints) -> Ints:
    """Days as Java's `int` arithmetic gives them."""
    return wrap_integer(days, 32)


def next_weekday(days: Ints, day_of_week: int) -> Ints:
    """The first such day of the week (0 is Monday) after `days`, in Java's arithmetic of 32 bits."""
    # Java's difference may wrap before its remainder is taken, and 2**32 is not a multiple of 7.
    ahead = wrap_int32((day_of_week + 4) % 7 - 1 - days) % 7
    return wrap_int32(days + 1 + ahead)
