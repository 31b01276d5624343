"""Moments in other time zones: from_utc_timestamp, to_utc_timestamp, convert_timezone; and months_between."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tamis.functions.registry import Argument, Function, Signature, check_count, register, takes
from tamis.functions.rows import Scalar
from tamis.values import calendar
from tamis.values.calendar import MICROS_PER_DAY, MICROS_PER_SECOND
from tamis.values.datetimes import in_timestamp_range
from tamis.values.types import BOOLEAN, DOUBLE, STRING, TIMESTAMP, TIMESTAMP_NTZ
from tamis.values.zones import find_zone, zone_of

_SECONDS_PER_MONTH = 31 * 86_400


def _from_utc(micros: int, name: str) -> int | None:
    zone = find_zone(name)
    return None if zone is None else in_timestamp_range(zone.to_wall(micros))


def _to_utc(micros: int, name: str) -> int | None:
    zone = find_zone(name)
    return None if zone is None else in_timestamp_range(zone.to_instant(micros))


def _resolve_convert(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 3)
    return Signature((*(STRING,) * (len(arguments) - 1), TIMESTAMP_NTZ), TIMESTAMP_NTZ, zone)


def _bind_convert(signature: Signature) -> Scalar:
    def convert(*given: str | int) -> int | None:
        *names, wall = given
        assert isinstance(wall, int), "the call was resolved"
        source, target = (find_zone(str(name)) for name in ([signature.zone, *names])[-2:])
        if source is None or target is None:
            return None
        return in_timestamp_range(target.to_wall(source.to_instant(wall)))

    return convert


def _bind_months(signature: Signature) -> Scalar:
    """Whole months if the days of the month are equal or the last ones, else parts of a month of 31 days."""
    rules = zone_of(signature.zone)

    def months(end: int, start: int, is_rounded: bool = True) -> float:
        (later, late), (earlier, early) = (divmod(rules.to_wall(each), MICROS_PER_DAY) for each in (end, start))
        year, month, day = calendar.civil_from_days(later)
        other_year, other_month, other_day = calendar.civil_from_days(earlier)
        whole = 12 * (year - other_year) + month - other_month
        is_last = day == calendar.month_length(year, month)
        if day == other_day or (is_last and other_day == calendar.month_length(other_year, other_month)):
            return float(whole)
        seconds = (day - other_day) * 86_400 + late // MICROS_PER_SECOND - early // MICROS_PER_SECOND
        found = whole + seconds / _SECONDS_PER_MONTH
        return math.floor(found * 1e8 + 0.5) / 1e8 if is_rounded else found

    return months


register(Function("from_utc_timestamp", takes(TIMESTAMP, STRING, returns=TIMESTAMP), lambda _: _from_utc))
register(Function("to_utc_timestamp", takes(TIMESTAMP, STRING, returns=TIMESTAMP), lambda _: _to_utc))
register(Function("convert_timezone", _resolve_convert, _bind_convert))
register(
    Function("months_between", takes(TIMESTAMP, TIMESTAMP, BOOLEAN, returns=DOUBLE, optional=1), _bind_months)
)
