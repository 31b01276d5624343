"""Patterns of dates and times, as `yyyy-MM-dd HH:mm`: a part of Java's DateTimeFormatter, as Spark uses it.

A pattern is compiled once, or refused with the offset of what is not known; then texts are read and moments
written. Reading is strict in the number of digits, as Java is, ignores the case of names, and gives None for what
does not fit. Fields that a pattern lacks are those of 1970-01-01 00:00.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from tamis.errors import PatternError
from tamis.values import calendar
from tamis.values.calendar import MICROS_PER_DAY, MICROS_PER_SECOND
from tamis.values.zones import Zone, find_zone

MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_LONGEST = {
    **dict.fromkeys("dHhKkms", 2),
    "D": 3,
    "y": 6,
    "M": 4,
    "L": 4,
    "S": 9,
    "a": 1,
    "E": 4,
    "X": 3,
    "x": 3,
    "Z": 3,
    "V": 2,
    "Q": 2,
    "G": 3,
}
_READABLE = "yMLdDHhKkmsSaXxZV"
_BOUNDS = {
    "d": (1, 31),
    "D": (1, 366),
    "H": (0, 23),
    "h": (1, 12),
    "K": (0, 11),
    "k": (1, 24),
    "m": (0, 59),
    "s": (0, 59),
}
_CLOCKS: dict[str, Callable[[int], int]] = {
    "H": lambda hour: hour,
    "k": lambda hour: hour or 24,
    "K": lambda hour: hour % 12,
    "h": lambda hour: hour % 12 or 12,
}


@dataclass(frozen=True, slots=True)
class Element:
    """A letter and how often it stands there, or a literal text; a tuple of elements is optional."""

    letter: str
    count: int = 0
    text: str = ""
    inner: tuple[Element, ...] = ()


@lru_cache(maxsize=4096)
def parse_pattern(pattern: str, *, reading: bool) -> tuple[Element, ...]:
    """The elements of a pattern.

    Raises:
        PatternError: It has a letter or a sign that is not supported, for reading or for writing.
    """
    levels: list[list[Element]] = [[]]
    at = 0
    while at < len(pattern):
        start, sign = at, pattern[at]
        at += 1
        if sign.isascii() and sign.isalpha():
            while at < len(pattern) and pattern[at] == sign:
                at += 1
            levels[-1].append(_letter(sign, at - start, start, reading=reading))
        elif sign == "'":
            end = pattern.find("'", at)
            if end < 0:
                message = "this quote has no end"
                raise PatternError(message, start)
            levels[-1].append(Element("", text=pattern[at:end] or "'"))
            at = end + 1
        elif sign == "[":
            levels.append([])
        elif sign == "]" and len(levels) > 1:
            inner = tuple(levels.pop())
            levels[-1].append(Element("[", inner=inner))
        elif sign in "{}#]":
            message = f"`{sign}` is reserved"
            raise PatternError(message, start)
        else:
            levels[-1].append(Element("", text=sign))
    while len(levels) > 1:
        inner = tuple(levels.pop())
        levels[-1].append(Element("[", inner=inner))
    return tuple(levels[0])


def _letter(letter: str, count: int, at: int, *, reading: bool) -> Element:
    is_known = count <= _LONGEST.get(letter, 0) and (letter in _READABLE or not reading)
    if letter == "V":
        is_known = count == 2
    if letter == "D" and count == 2:
        is_known = False
    if not is_known:
        message = f"`{letter * count}` is not a supported part of a pattern"
        raise PatternError(message, at)
    return Element(letter, count)


# Writing


def write_moment(elements: tuple[Element, ...], wall: int, offset: int, zone: str) -> str:
    """A wall clock in microseconds, by a pattern; `offset` and `zone` are for the letters that show them."""
    return "".join(_write(each, wall, offset, zone) for each in elements)


def _write(element: Element, wall: int, offset: int, zone: str) -> str:
    letter, count = element.letter, element.count
    if letter == "":
        return element.text
    if letter == "[":
        return write_moment(element.inner, wall, offset, zone)
    days, clock = divmod(wall, MICROS_PER_DAY)
    year, month, day = calendar.civil_from_days(days)
    second = clock // MICROS_PER_SECOND
    if letter == "y":
        return _year(year if year > 0 else 1 - year, count)
    if letter in "ML":
        return MONTHS[month - 1] if count == 4 else MONTHS[month - 1][:3] if count == 3 else f"{month:0{count}d}"
    if letter == "E":
        name = DAYS[calendar.weekday(days)]
        return name if count == 4 else name[:3]
    if letter == "a":
        return "AM" if second < 43_200 else "PM"
    if letter == "S":
        return f"{clock % MICROS_PER_SECOND:06d}".ljust(9, "0")[:count]
    if letter == "G":
        return "AD" if year > 0 else "BC"
    if letter in "XxZ":
        return _offset(letter, count, offset)
    if letter == "V":
        return zone
    numbers = {"d": day, "D": calendar.day_of_year(days), "m": second // 60 % 60, "s": second % 60}
    numbers["Q"] = (month + 2) // 3
    value = _CLOCKS[letter](second // 3600) if letter in _CLOCKS else numbers[letter]
    return f"{value:0{count}d}"


def _year(year: int, count: int) -> str:
    if count == 2:
        return f"{year % 100:02d}"
    sign = "+" if count >= 4 and year >= 10**count else ""
    return f"{sign}{year:0{count}d}"


def _offset(letter: str, count: int, offset: int) -> str:
    if letter == "X" and offset == 0:
        return "Z"
    minutes = abs(offset) // 60
    text = f"{'-' if offset < 0 else '+'}{minutes // 60:02d}"
    if letter == "Z":
        return f"{text}{minutes % 60:02d}"
    if count == 1:
        return text + (f"{minutes % 60:02d}" if minutes % 60 else "")
    return f"{text}{':' if count == 3 else ''}{minutes % 60:02d}"


# Reading


@lru_cache(maxsize=4096)
def _expression(elements: tuple[Element, ...]) -> re.Pattern[str]:
    return re.compile(_source(elements, [0]), re.IGNORECASE | re.ASCII)


def _source(elements: tuple[Element, ...], number: list[int]) -> str:
    parts = []
    for place, each in enumerate(elements):
        following = elements[place + 1] if place + 1 < len(elements) else Element("")
        if each.letter == "":
            parts.append(
                "".join(f"(?-i:{re.escape(sign)})" if sign.isalpha() else re.escape(sign) for sign in each.text)
            )
        elif each.letter == "[":
            parts.append(f"(?:{_source(each.inner, number)})?")
        else:
            number[0] += 1
            adjacent = following.letter != "" and following.letter in "yMLdDHhKkmsS" and following.count < 3
            letter = "Y" if (each.letter, each.count) == ("y", 2) else each.letter  # of this century
            parts.append(f"(?P<{letter}{number[0]}>{_digits(each, adjacent=adjacent)})")
    return "".join(parts)


def _digits(element: Element, *, adjacent: bool) -> str:
    letter, count = element.letter, element.count
    if letter == "y":
        if count == 2:
            return r"\d\d"
        if count >= 4:
            exact = rf"-?\d{{{count}}}"
            return exact if adjacent else rf"{exact}|[+-]\d{{{count + 1},9}}"
        return rf"-?\d{{{count},9}}"
    if letter in "ML" and count > 2:
        return "|".join(MONTHS if count == 4 else [name[:3] for name in MONTHS])
    if letter == "a":
        return "AM|PM"
    if letter == "S":
        return rf"\d{{1,{count}}}"
    if letter in "Xx":
        colon = ":" if count == 3 else ""
        hours = r"[+-]\d\d" + (r"(?:\d\d)?" if count == 1 else rf"{colon}\d\d")
        return f"{hours}|Z" if letter == "X" else hours
    if letter == "Z":
        return r"[+-]\d\d\d\d"
    if letter == "V":
        return r"[A-Za-z][A-Za-z0-9_/+-]*|[+-]\d\d:\d\d"
    if count == 1:
        most = 3 if letter == "D" else 19
        return r"\d" if adjacent else rf"\d{{1,{most}}}"
    return rf"\d{{{count}}}"


def read_moment(elements: tuple[Element, ...], text: str) -> tuple[int, Zone | None] | None:
    """The wall clock of a text, in microseconds, and its zone if the text names one; None if it does not fit."""
    found = _expression(elements).fullmatch(text)
    if found is None:
        return None
    fields: dict[str, int] = {}
    zone: Zone | None = None
    for name, value in found.groupdict().items():
        letter = name[0]
        if value is None:
            continue
        if letter in "XxZV":
            zone = find_zone("UTC" if value in ("Z", "z") else _spelt(value))
            if zone is None:
                return None
            continue
        number = _number(letter, value)
        if number is None or fields.setdefault(letter.replace("Y", "y"), number) != number:
            return None
    wall = _wall(fields)
    return None if wall is None else (wall, zone)


def _spelt(offset: str) -> str:
    """An offset with a colon, as zones are spelt."""
    if offset[0] in "+-" and ":" not in offset:
        return f"{offset[:3]}:{offset[3:] or '00'}"
    return offset


def _number(letter: str, value: str) -> int | None:
    if letter in "ML" and not value.isdigit():
        return [name[:3].lower() for name in MONTHS].index(value[:3].lower()) + 1
    if letter == "a":
        return int(value.lower() == "pm")
    if letter == "S":
        return int(value.ljust(9, "0")[:6])
    number = int(value)
    if letter == "Y":
        number += 2000
    least, most = _BOUNDS.get(letter, (1, 12) if letter in "ML" else (number, number))
    return number if least <= number <= most else None


def _wall(fields: dict[str, int]) -> int | None:
    year = fields.get("y", 1970)
    month = fields.get("M", fields.get("L", 1))
    if fields.get("L", month) != month:
        return None
    if "D" in fields:
        days = calendar.days_from_civil(year, 1, 1) + fields["D"] - 1
        found = calendar.civil_from_days(days)
        if found != (year, fields.get("M", fields.get("L", found[1])), fields.get("d", found[2])):
            return None
    else:
        day = fields.get("d", 1)
        if day > calendar.month_length(year, month):
            return None
        days = calendar.days_from_civil(year, month, day)
    hour = _hour(fields)
    if hour is None:
        return None
    seconds = hour * 3600 + fields.get("m", 0) * 60 + fields.get("s", 0)
    return days * MICROS_PER_DAY + seconds * MICROS_PER_SECOND + fields.get("S", 0)


def _hour(fields: dict[str, int]) -> int | None:
    """The hour of the day; one that is named twice must be the same."""
    named = [fields["H"]] if "H" in fields else []
    if "k" in fields:
        named.append(fields["k"] % 24)
    for letter in "hK":
        if letter in fields:
            named.append(fields[letter] % 12 + 12 * fields.get("a", 0))
    if not named:
        return 12 * fields.get("a", 0)
    return named[0] if len(set(named)) == 1 else None
