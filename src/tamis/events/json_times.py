"""Kernels for dates and timestamps in the form that machines write; other texts are left to the casts.

`2026-01-31`, `2026-01-31T10:00:00`, with a blank for the T, a fraction, and Z or an offset such as +01:00.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import I32, I64, U8
from tamis.events.json_numbers import DONE, FALLBACK, IS_NULL, prefetch
from tamis.events.json_scan import byte_at
from tamis.kernels import kernel

NO_ZONE = 1 << 30
"""The offset of a text without one."""

_MINUS, _PLUS, _COLON, _POINT, _BLANK, _T, _Z, _ZERO, _NINE = b"-+:. TZ09"
_DATE_SIZE, _CLOCK_SIZE, _OFFSET_SIZE = 10, 9, 6
_MOST_HOURS = 18
_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_EPOCH = 719_468  # days from 0000-03-01 to 1970-01-01
_DAY_MICROS, _MICROS, _FRACTION_DIGITS = 86_400_000_000, 1_000_000, 6
_AT_ONCE = 64


@kernel
def _number(block: U8, at: int, size: int) -> np.int64:
    """The number of so many digits; -1 if one of them is no digit."""
    number = np.int64(0)
    for place in range(at, at + size):
        byte = byte_at(block, place)
        if byte < _ZERO or byte > _NINE:
            return np.int64(-1)
        number = number * 10 + (np.int64(byte) - _ZERO)
    return number


@kernel
def _day(year: np.int64, month: np.int64, day: np.int64) -> np.int64:
    """Days since 1970, of a date that exists."""
    if month < 3:
        year -= 1
        month += 12
    leaps = year // 4 - year // 100 + year // 400
    return year * 365 + leaps + ((month - 3) * 153 + 2) // 5 + day - 1 - _EPOCH


@kernel
def _moment(block: U8, at: int, size: int) -> tuple[int, np.int64, np.int64]:
    """State, wall clock in microseconds since 1970, and offset in seconds of a text."""
    if size < _DATE_SIZE or byte_at(block, at + 4) != _MINUS or byte_at(block, at + 7) != _MINUS:
        return FALLBACK, np.int64(0), np.int64(0)
    year, month, day = _number(block, at, 4), _number(block, at + 5, 2), _number(block, at + 8, 2)
    if year < 0 or month < 0 or day < 0:
        return FALLBACK, np.int64(0), np.int64(0)
    clock, offset = np.int64(0), np.int64(NO_ZONE)
    exists = 1 <= month <= 12
    if exists:
        leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        exists = 1 <= day <= _DAYS[month - 1] + (1 if leap else 0)
    if size > _DATE_SIZE:
        end = at + size
        at += _DATE_SIZE
        if size < _DATE_SIZE + _CLOCK_SIZE or (byte_at(block, at) != _BLANK and byte_at(block, at) != _T):
            return FALLBACK, np.int64(0), np.int64(0)
        if byte_at(block, at + 3) != _COLON or byte_at(block, at + 6) != _COLON:
            return FALLBACK, np.int64(0), np.int64(0)
        hour, minute, second = _number(block, at + 1, 2), _number(block, at + 4, 2), _number(block, at + 7, 2)
        if hour < 0 or minute < 0 or second < 0:
            return FALLBACK, np.int64(0), np.int64(0)
        exists = exists and hour <= 23 and minute <= 59 and second <= 59
        clock = (hour * 3600 + minute * 60 + second) * _MICROS
        at += _CLOCK_SIZE
        if at < end and byte_at(block, at) == _POINT:
            at += 1
            first, unit = at, _MICROS
            while at < end and _ZERO <= byte_at(block, at) <= _NINE:
                if at - first < _FRACTION_DIGITS:
                    unit //= 10
                    clock += (np.int64(byte_at(block, at)) - _ZERO) * unit
                at += 1
        if at < end:
            if byte_at(block, at) == _Z and at + 1 == end:
                offset = np.int64(0)
            elif at + _OFFSET_SIZE == end and byte_at(block, at + 3) == _COLON:
                hours, minutes = _number(block, at + 1, 2), _number(block, at + 4, 2)
                sign = byte_at(block, at)
                if hours < 0 or hours >= _MOST_HOURS or minutes < 0 or minutes > 59:
                    return FALLBACK, np.int64(0), np.int64(0)
                if sign != _PLUS and sign != _MINUS:
                    return FALLBACK, np.int64(0), np.int64(0)
                offset = (hours * 3600 + minutes * 60) * (1 if sign == _PLUS else -1)
            else:
                return FALLBACK, np.int64(0), np.int64(0)
    if not exists:
        return IS_NULL, np.int64(0), np.int64(0)
    return DONE, _day(year, month, day) * _DAY_MICROS + clock, offset


@kernel
def moments(block: U8, starts: I64, lengths: I32) -> tuple[I64, I64, U8]:
    """For each text its wall clock in microseconds since 1970, its offset in seconds, and its state."""
    walls, offsets = np.zeros(len(starts), np.int64), np.zeros(len(starts), np.int64)
    states = np.empty(len(starts), np.uint8)
    for place in range(len(starts)):
        if place % _AT_ONCE == 0:
            walls[place] = prefetch(block, starts, place, min(place + _AT_ONCE, len(starts)))
        states[place], walls[place], offsets[place] = _moment(block, starts[place], lengths[place])
    return walls, offsets, states
