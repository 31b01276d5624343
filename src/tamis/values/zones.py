"""Time zones: the wall clock of an instant and the instant of a wall clock, as Java's `java.time` has them.

Times are whole seconds or microseconds since 1970 in unbounded integers, so that every Spark timestamp (years
-290308 to 294247) has a wall clock. The rules come from the `tzdata` package alone: results never depend on the
machine's zone database or on the time zone of the process.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources

import numpy as np

from tamis.arrays import I64
from tamis.errors import EventTypeError
from tamis.values.calendar import MICROS_PER_SECOND, SECONDS_PER_DAY, days_from_civil

_CYCLE_YEARS = 400
_CYCLE = 146_097 * SECONDS_PER_DAY
"""The Gregorian calendar, weekdays included, repeats every 400 years; so do the rules of a zone."""

_MAX_OFFSET = 18 * 3600

# What `ZoneId.SHORT_IDS` adds to the region names.
_SHORT_IDS = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "-05:00",
    "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "-07:00",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
_NOT_IN_JAVA = frozenset({"Factory", "ROC"})

_OFFSET = re.compile(r"([+-])(?:([0-9])|([0-9]{2})(?:([0-9]{2})([0-9]{2})?|:([0-9]{2})(?::([0-9]{2}))?)?)")
_ONE_DIGIT_HOUR = re.compile(r"([+-])([0-9]):")
_ONE_DIGIT_MINUTE = re.compile(r"([+-][0-9]{2}:)([0-9])\Z")


@dataclass(frozen=True, slots=True)
class Zone:
    """The rules of one time zone.

    Attributes:
        instants: When the offset from UTC changes, ascending, in seconds.
        walls: For each change, the wall clock from which on the new offset holds. In an overlap that is
            its end, and in a gap the end too: Java applies the earlier offset within both.
        offsets: Offset in seconds before the first change, then after each one.
        limit: Instant and wall clock from which on the rules repeat with the calendar; None if they end.
    """

    instants: tuple[int, ...]
    walls: tuple[int, ...]
    offsets: tuple[int, ...]
    limit: int | None

    def offset_at(self, second: int) -> int:
        """Offset from UTC, in seconds, at an instant."""
        if not self.instants:
            return self.offsets[0]
        return self.offsets[bisect_right(self.instants, self._fold_into_cycle(second))]

    def to_wall(self, micros: int) -> int:
        """The wall clock of an instant, both in microseconds."""
        return micros + self.offset_at(micros // MICROS_PER_SECOND) * MICROS_PER_SECOND

    def to_instant(self, wall: int) -> int:
        """The instant of a wall clock, both in microseconds.

        A wall clock in a gap moves forward by the length of the gap; in an overlap the earlier instant is chosen.
        """
        if not self.instants:
            return wall - self.offsets[0] * MICROS_PER_SECOND
        return (
            wall
            - self.offsets[bisect_right(self.walls, self._fold_into_cycle(wall // MICROS_PER_SECOND))]
            * MICROS_PER_SECOND
        )

    def start_of_day(self, day: int) -> int:
        """First instant of a day, in microseconds; the end of the gap if midnight is in one."""
        wall = day * SECONDS_PER_DAY
        if not self.instants:
            return (wall - self.offsets[0]) * MICROS_PER_SECOND
        folded = self._fold_into_cycle(wall)
        place = bisect_right(self.walls, folded)
        if place < len(self.instants) and folded >= self.instants[place] + self.offsets[place]:
            change = self.instants[place]
            if self.offsets[place + 1] > self.offsets[place]:
                return (change + wall - folded) * MICROS_PER_SECOND
        return (wall - self.offsets[place]) * MICROS_PER_SECOND

    def offsets_at(self, seconds: I64) -> I64:
        """`offset_at` of every element."""
        return self._lookup(self.instants, seconds)

    def offsets_of_walls(self, seconds: I64) -> I64:
        """What to subtract from each wall clock to get its instant, in seconds."""
        return self._lookup(self.walls, seconds)

    def _lookup(self, changes: tuple[int, ...], seconds: I64) -> I64:
        offsets = np.array(self.offsets, np.int64)
        if not changes:
            return np.full(len(seconds), offsets[0], np.int64)
        if self.limit is not None:
            over = seconds - self.limit
            seconds = np.where(over < 0, seconds, over % _CYCLE + (self.limit - _CYCLE))
        return offsets[np.searchsorted(np.array(changes, np.int64), seconds, side="right")]

    def _fold_into_cycle(self, second: int) -> int:
        """The second of the listed cycle of 400 years at which the same offset applies."""
        if self.limit is None or second < self.limit:
            return second
        return (second - self.limit) % _CYCLE + self.limit - _CYCLE


def is_zone(name: str) -> bool:
    """Does Spark take `name` as a time zone?"""
    offset = _fixed_offset(name)
    return offset is not None or _region(name) in _regions()


@lru_cache(maxsize=4096)
def zone_of(name: str) -> Zone:
    """The zone that Spark means by `name`: an offset, `UTC`, `GMT+1`, a region or one of Java's short ids.

    Raises:
        EventTypeError: There is no such zone.
    """
    found = find_zone(name)
    if found is None:
        msg = f"{name!r} is not a time zone: write a region such as 'Europe/Paris', or an offset as '+01:00'"
        raise EventTypeError(msg)
    return found


def find_zone(name: str) -> Zone | None:
    """The zone that Spark means by `name`, or None."""
    offset = _fixed_offset(name)
    if offset is not None:
        return Zone((), (), (offset,), None)
    region = _region(name)
    return _load(region) if region in _regions() else None


def _region(name: str) -> str:
    return _SHORT_IDS.get(name, name)


def _fixed_offset(name: str) -> int | None:
    # Spark pads one-digit hours and minutes anywhere in the name before it calls Java.
    name = _ONE_DIGIT_HOUR.sub(r"\g<1>0\2:", name, count=1)
    name = _ONE_DIGIT_MINUTE.sub(r"\g<1>0\2", name, count=1)
    name = _SHORT_IDS.get(name, name)
    if name in ("Z", "UTC", "GMT", "UT"):
        return 0
    for prefix in ("UTC", "GMT", "UT"):
        if name.startswith((prefix + "+", prefix + "-")):
            name = name[len(prefix) :]
            break
    found = _OFFSET.fullmatch(name)
    if found is None:
        return None
    sign, hour, hours, minutes, seconds, colon_minutes, colon_seconds = found.groups()
    minute, second = int(minutes or colon_minutes or 0), int(seconds or colon_seconds or 0)
    total = int(hour or hours) * 3600 + minute * 60 + second
    if minute > 59 or second > 59 or total > _MAX_OFFSET:
        return None
    return -total if sign == "-" else total


@cache
def _regions() -> frozenset[str]:
    names = resources.files("tzdata").joinpath("zones").read_text("utf-8").split()
    return frozenset(names) - _NOT_IN_JAVA


@cache
def _load(region: str) -> Zone:
    data = resources.files("tzdata").joinpath("zoneinfo", *region.split("/")).read_bytes()
    changes, first, rule = _parse(data)
    limit = None
    if "," in rule:  # otherwise the last offset applies to all later times
        start_year = 1970 + (changes[-1][0] // (365 * SECONDS_PER_DAY) if changes else 0)
        last = changes[-1][0] if changes else None
        for year in range(start_year - 1, start_year + _CYCLE_YEARS + 2):
            changes += [change for change in _rule_changes(rule, year) if last is None or change[0] > last]
        limit = _year_start(start_year + _CYCLE_YEARS + 1)
    return _zone(first, changes, limit)


def _zone(first: int, changes: list[tuple[int, int]], limit: int | None) -> Zone:
    instants: list[int] = []
    offsets = [first]
    for instant, offset in changes:
        if offset != offsets[-1]:  # TZif also lists changes of the abbreviation alone
            instants.append(instant)
            offsets.append(offset)
    walls = [
        instant + max(before, after)
        for instant, before, after in zip(instants, offsets[:-1], offsets[1:], strict=True)
    ]
    return Zone(tuple(instants), tuple(walls), tuple(offsets), limit)


def _parse(data: bytes) -> tuple[list[tuple[int, int]], int, str]:
    """The changes of a TZif file (RFC 8536), the offset before them, and the POSIX rule for later times."""
    header = struct.Struct(">4sc15x6L")
    _, _, utc, standard, leaps, times, types, chars = header.unpack_from(data)
    at = header.size + times * 5 + types * 6 + chars + leaps * 8 + standard + utc
    _, _, utc, standard, leaps, times, types, chars = header.unpack_from(data, at)
    at += header.size
    instants = struct.unpack_from(f">{times}q", data, at)
    kinds = data[at + times * 8 : at + times * 9]
    at += times * 9
    offsets = [struct.unpack_from(">l", data, at + 6 * place)[0] for place in range(types)]
    at += types * 6 + chars + leaps * 12 + standard + utc
    changes = [(instant, offsets[kind]) for instant, kind in zip(instants, kinds, strict=True)]
    return changes, offsets[0], data[at:].strip(b"\n").decode("ascii")


_RULE = re.compile(
    r"(?:[A-Za-z]+|<[^>]+>)(?P<standard>[+-]?[0-9:]+)"
    r"(?:[A-Za-z]+|<[^>]+>)(?P<summer>[+-]?[0-9:]+)?,(?P<start>[^,]+),(?P<end>[^,]+)"
)


def _rule_changes(rule: str, year: int) -> list[tuple[int, int]]:
    """Both changes of a year under a POSIX TZ rule, as instant and new offset."""
    found = _RULE.fullmatch(rule)
    if found is None:
        msg = f"the zone database holds a rule that cannot be read: {rule!r}"
        raise EventTypeError(msg)
    standard = -_clock(found["standard"])
    summer = -_clock(found["summer"]) if found["summer"] else standard + 3600
    start = _rule_second(found["start"], year) - standard
    end = _rule_second(found["end"], year) - summer
    return sorted([(start, summer), (end, standard)])


def _rule_second(text: str, year: int) -> int:
    """The wall clock of one date of a rule, such as `M3.2.0/2`."""
    date, _, time = text.partition("/")
    clock = _clock(time) if time else 2 * 3600
    if date.startswith("M"):
        month, week, weekday = (int(part) for part in date[1:].split("."))
        first = days_from_civil(year, month, 1)
        day = first + (weekday - (first + 4)) % 7 + 7 * (week - 1)  # 1970-01-01 was a Thursday
        following = days_from_civil(year + month // 12, month % 12 + 1, 1)
        while day >= following:
            day -= 7
    elif date.startswith("J"):
        # Counted without 29 February.
        number = int(date[1:])
        leap = number >= 60 and days_from_civil(year, 3, 1) - days_from_civil(year, 2, 1) == 29
        day = days_from_civil(year, 1, 1) + number - 1 + leap
    else:
        day = days_from_civil(year, 1, 1) + int(date)
    return day * SECONDS_PER_DAY + clock


def _clock(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    parts = [int(part) for part in text.lstrip("+-").split(":")]
    return sign * sum(part * unit for part, unit in zip(parts, (3600, 60, 1), strict=False))


def _year_start(year: int) -> int:
    return days_from_civil(year, 1, 1) * SECONDS_PER_DAY
