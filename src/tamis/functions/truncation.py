"""trunc and date_trunc: the start of the year, month, day, hour, ... of a date or timestamp.

An unknown level gives NULL, as in Spark. Timestamps are truncated by the wall clock of the signature's zone; in
an hour that the clock shows twice, the offset is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tamis.arrays import I64
from tamis.functions.registry import Function, Signature, always, register, takes
from tamis.functions.rows import Scalar, apply_strict
from tamis.functions.vectorization import Ints, is_constant, value_of
from tamis.values import calendar
from tamis.values.calendar import (
    GREATEST_DAY,
    GREATEST_MICROS,
    LEAST_DAY,
    LEAST_MICROS,
    MICROS_PER_SECOND,
    SECONDS_PER_DAY,
    wrap_int32,
)
from tamis.values.column import Column
from tamis.values.types import DATE, STRING, TIMESTAMP
from tamis.values.zones import Zone, zone_of

_STARTS: dict[str, Callable[[Ints], Ints]] = {
    level: formula
    for levels, formula in (
        ("YEAR YYYY YY", lambda days: wrap_int32(calendar.year_start(days))),
        ("QUARTER", calendar.quarter_start),  # Spark raises here instead of wrapping
        ("MONTH MON MM", lambda days: wrap_int32(days - calendar.civil_from_days(days)[2] + 1)),
        ("WEEK", lambda days: calendar.next_weekday(wrap_int32(days - 7), calendar.MONDAY)),
    )
    for level in levels.split()
}
_CLOCK_UNITS = {"DAY": SECONDS_PER_DAY, "DD": SECONDS_PER_DAY, "HOUR": 3_600, "MINUTE": 60}
_FRACTIONS = {"SECOND": 1_000_000, "MILLISECOND": 1_000, "MICROSECOND": 1}
"""Offsets are whole seconds, so truncation to these does not depend on the zone."""

_LAST_SECOND = GREATEST_MICROS // MICROS_PER_SECOND


def _trunc(days: int, level: str) -> int | None:
    start = _STARTS.get(level.upper())
    cut = LEAST_DAY - 1 if start is None else start(days)
    return cut if LEAST_DAY <= cut <= GREATEST_DAY else None


def _trunc_vector(signature: Signature, columns: Sequence[Column]) -> Column:
    dates, levels = columns
    start = _STARTS.get(value_of(levels).upper()) if is_constant(levels) else None
    if start is None:
        return apply_strict(_trunc, signature.returns, columns)
    cut = start(dates.values)
    return Column(DATE, cut, dates.valid & (cut >= LEAST_DAY) & (cut <= GREATEST_DAY))


def _bind_date_trunc(signature: Signature) -> Scalar:
    zone = zone_of(signature.zone)

    def date_trunc(level: str, micros: int) -> int | None:
        level = level.upper()
        if level in _FRACTIONS:
            cut = micros - micros % _FRACTIONS[level]
        elif level in _CLOCK_UNITS:
            cut = _cut_clock(zone, micros // MICROS_PER_SECOND, _CLOCK_UNITS[level]) * MICROS_PER_SECOND
        elif level in _STARTS:
            second = micros // MICROS_PER_SECOND
            day = (second + zone.offset_at(second)) // SECONDS_PER_DAY
            cut = zone.start_of_day(_STARTS[level](day))
        else:
            return None
        return cut if LEAST_MICROS <= cut <= GREATEST_MICROS else None

    return date_trunc


def _cut_clock(zone: Zone, second: int, unit: int) -> int:
    offset = zone.offset_at(second)
    wall = (second + offset) // unit * unit
    if zone.offset_at(wall - offset) == offset:
        return wall - offset
    return zone.to_instant(wall * MICROS_PER_SECOND) // MICROS_PER_SECOND


def _date_trunc_vector(signature: Signature, columns: Sequence[Column]) -> Column:
    levels, moments = columns
    level = value_of(levels).upper() if is_constant(levels) else ""
    micros = moments.values
    if level in _FRACTIONS:
        cut = micros - micros % _FRACTIONS[level]
        return Column(TIMESTAMP, cut, moments.valid & (cut <= micros))  # an overflow would be greater
    zone = zone_of(signature.zone)
    second = micros // MICROS_PER_SECOND
    if level in _CLOCK_UNITS:
        second = _cut_clocks(zone, second, _CLOCK_UNITS[level])
    elif level in _STARTS:
        days = (second + zone.offsets_at(second)) // SECONDS_PER_DAY
        # Values in NULL rows are arbitrary, and may be outside the range of days.
        starts, places = np.unique(_STARTS[level](np.where(moments.valid, days, 0)), return_inverse=True)
        seconds = [zone.start_of_day(day) // MICROS_PER_SECOND for day in starts.tolist()]
        second = np.array(seconds, np.int64)[places]
    else:
        return apply_strict(_bind_date_trunc(signature), signature.returns, columns)
    return Column(TIMESTAMP, second * MICROS_PER_SECOND, moments.valid & (abs(second) <= _LAST_SECOND))


def _cut_clocks(zone: Zone, second: I64, unit: int) -> I64:
    offset = zone.offsets_at(second)
    wall = (second + offset) // unit * unit
    kept = zone.offsets_at(wall - offset) == offset
    return wall - np.where(kept, offset, zone.offsets_of_walls(wall))


register(Function("trunc", takes(DATE, STRING, returns=DATE), always(_trunc), _trunc_vector))
register(Function("date_trunc", takes(STRING, TIMESTAMP, returns=TIMESTAMP), _bind_date_trunc, _date_trunc_vector))
