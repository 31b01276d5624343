"""Dates and timestamps as text: what Spark's casts from string accept, and what its casts to string write.

The calendar is the proleptic Gregorian one, over all years that the types hold. A text outside the grammar, or a
value outside the type, gives None. So do a time without a date, which Spark takes to be today's, and in literals
words such as `now`: the meaning of a condition must not depend on when it is read.
"""

from __future__ import annotations

import re

from tamis.values.calendar import (
    GREATEST_DAY,
    GREATEST_MICROS,
    LEAST_DAY,
    LEAST_MICROS,
    MICROS_PER_DAY,
    MICROS_PER_SECOND,
    civil_from_days,
    days_from_civil,
)
from tamis.values.text import JAVA_BLANKS, trim
from tamis.values.zones import Zone, find_zone, zone_of

_DATE = re.compile(
    r"([+-]?[0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?",
    re.DOTALL,
)
_CLOCK = (
    r"(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{1,2})"
    r"(?::(?P<second>[0-9]{1,2})(?:\.(?P<fraction>[0-9]*))?(?P<zone>[^0-9].*)?)?)?"
)
_TIMESTAMP = re.compile(
    rf"(?P<year>[+-]?[0-9]{{4,6}})(?:-(?P<month>[0-9]{{1,2}})(?:-(?P<day>[0-9]{{1,2}})(?:[ T]{_CLOCK})?)?)?",
    re.DOTALL,
)
# A time alone needs a colon, or a T as the very first character.
_TIME = re.compile(rf"(?:(?=[0-9]{{1,2}}:)|T){_CLOCK}", re.DOTALL)
_SPECIAL = re.compile(r"(epoch|now|today|tomorrow|yesterday)[ \t]*(.*)", re.IGNORECASE)
_DAYS_OF_MONTH = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def day_of(year: int, month: int, day: int) -> int | None:
    """Days since 1970-01-01, or None if there is no such date."""
    if not 1 <= month <= 12:
        return None
    leap_day = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= day <= _DAYS_OF_MONTH[month - 1] + leap_day:
        return None
    return days_from_civil(year, month, day)


def read_date(text: str) -> int | None:
    """The result of `try_cast(text AS DATE)`."""
    found = _DATE.fullmatch(trim(text))
    if found is None:
        return None
    year, month, day = found.groups()
    days = day_of(int(year), int(month or 1), int(day or 1))
    return days if days is not None and LEAST_DAY <= days <= GREATEST_DAY else None


def read_timestamp(text: str, zone: str) -> int | None:
    """The result of `try_cast(text AS TIMESTAMP)` in a session with this time zone.

    A time without a date is NULL, whereas Spark adds today's date: a match must not depend on the day.
    """
    found = _TIMESTAMP.fullmatch(trim(text))
    if found is None:
        return None
    clock, rules = _clock(found), _rules(found, zone)
    days = day_of(int(found["year"]), int(found["month"] or 1), int(found["day"] or 1))
    if clock is None or days is None or rules is None:
        return None
    return in_timestamp_range(rules.to_instant(days * MICROS_PER_DAY + clock))


def read_timestamp_ntz(text: str) -> int | None:
    """The result of `try_cast(text AS TIMESTAMP_NTZ)`; a time zone in the text must exist, and is ignored."""
    found = _TIMESTAMP.fullmatch(trim(text))
    if found is None or _rules(found, "UTC") is None:
        return None
    clock = _clock(found)
    days = day_of(int(found["year"]), int(found["month"] or 1), int(found["day"] or 1))
    return None if clock is None or days is None else in_timestamp_range(days * MICROS_PER_DAY + clock)


def literal_date(text: str) -> int | None:
    """The value of `DATE 'text'`; None if it is malformed or depends on when it is read."""
    return None if is_special_word(text) else read_date(text)


def literal_timestamp(text: str, zone: str) -> int | None:
    """The value of `TIMESTAMP 'text'`; None if it is malformed or depends on when it is read."""
    return None if is_special_word(text) else read_timestamp(text, zone)


def literal_timestamp_ntz(text: str) -> int | None:
    """The value of `TIMESTAMP_NTZ 'text'`; None if it is malformed or depends on when it is read."""
    return None if is_special_word(text) else read_timestamp_ntz(text)


def is_special_word(text: str) -> bool:
    """Is it a word such as `now`, which Spark replaces in constants cast to a date or timestamp?"""
    found = _SPECIAL.fullmatch(text.strip(JAVA_BLANKS))
    if found is None:
        return False
    word, zone = found.groups()
    return not zone or (word.lower() != "now" and find_zone(zone) is not None)


def is_time_alone(text: str) -> bool:
    """Is it a time without a date, which Spark takes to be today's when cast to a timestamp?"""
    return _time_alone(text) is not None


def in_timestamp_range(micros: int) -> int | None:
    """The value if a timestamp holds it, else None."""
    return micros if LEAST_MICROS <= micros <= GREATEST_MICROS else None


def _time_alone(text: str) -> re.Match[str] | None:
    body = trim(text)
    if body.startswith("T") and not text.startswith("T"):
        return None  # Spark looks for the T before it trims
    return _TIME.fullmatch(body)


def _clock(found: re.Match[str]) -> int | None:
    """Microseconds since midnight, or None if there is no such time; digits after the sixth are dropped."""
    hour, minute, second = (int(found[name] or 0) for name in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        return None
    fraction = int((found["fraction"] or "")[:6].ljust(6, "0"))
    return (hour * 3600 + minute * 60 + second) * MICROS_PER_SECOND + fraction


def _rules(found: re.Match[str], zone: str) -> Zone | None:
    """The zone that a text names, else the session's; None if it names one that does not exist."""
    name = found["zone"]
    return zone_of(zone) if name is None else find_zone(name.strip(JAVA_BLANKS))


def write_date(days: int) -> str:
    """`CAST(value AS STRING)` of a date."""
    year, month, day = civil_from_days(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def write_wall(wall: int) -> str:
    """`CAST(value AS STRING)` of a timestamp_ntz, or of a timestamp by its wall clock."""
    days, micros = divmod(wall, MICROS_PER_DAY)
    seconds, fraction = divmod(micros, MICROS_PER_SECOND)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    tail = f".{fraction:06}".rstrip("0") if fraction else ""
    return f"{write_date(days)} {hour:02}:{minute:02}:{second:02}{tail}"
