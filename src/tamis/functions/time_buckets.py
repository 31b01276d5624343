"""time_bucket: the start of the bucket, of equal intervals from an origin, that a timestamp falls into.

Buckets of a day or more follow the clock of the signature's zone, as the origin plus so many intervals does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tamis.functions.clock_moves import add_days, add_months
from tamis.functions.registry import Argument, ArgumentError, Function, Signature, check_count, register
from tamis.functions.rows import Scalar
from tamis.values import calendar
from tamis.values.calendar import MICROS_PER_DAY
from tamis.values.datetimes import in_timestamp_range
from tamis.values.types import ANY, DAY_TIME, NULL, TIMESTAMP, TIMESTAMP_NTZ, is_interval, is_year_month
from tamis.values.zones import Zone, zone_of


def _resolve(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 3)
    size, moment = arguments[0], arguments[1].type
    if size.type != NULL and not is_interval(size.type):
        msg = f"expected an interval, found {size.type}"
        raise ArgumentError(msg, 0, "write INTERVAL 15 MINUTES")
    if not size.is_constant or (size.value is not None and size.value <= 0):
        msg = "expected a constant interval above zero"
        raise ArgumentError(msg, 0)
    if moment not in (TIMESTAMP, TIMESTAMP_NTZ, NULL, ANY):
        msg = f"expected a timestamp, found {moment}"
        raise ArgumentError(msg, 1, "write CAST(x AS TIMESTAMP)")
    returns = TIMESTAMP_NTZ if moment == TIMESTAMP_NTZ else TIMESTAMP
    for origin in arguments[2:]:
        if not origin.is_constant or origin.type not in (returns, NULL):
            msg = f"expected a constant {returns}, found {origin.type}"
            raise ArgumentError(msg, 2)
    parameters = (DAY_TIME if size.type == NULL else size.type, returns, returns)
    return Signature(parameters[: len(arguments)], returns, zone)


def _bind(signature: Signature) -> Scalar:
    zone = zone_of(signature.zone if signature.returns == TIMESTAMP else "UTC")
    start = _start_of_months if is_year_month(signature.parameters[0]) else _start_of_days
    epoch = zone.to_instant(0)
    return lambda size, micros, origin=epoch: start(zone, size, micros, origin)


def _start_of_months(zone: Zone, size: int, micros: int, origin: int) -> int | None:
    walls = (zone.to_wall(micros), zone.to_wall(origin))
    later, earlier = (calendar.civil_from_days(wall // MICROS_PER_DAY) for wall in walls)
    months = (later[0] - earlier[0]) * 12 + later[1] - earlier[1]
    return _last_start(lambda count: add_months(zone, origin, count * size), months // size, micros)


def _start_of_days(zone: Zone, size: int, micros: int, origin: int) -> int | None:
    if size < MICROS_PER_DAY:
        return in_timestamp_range(micros - (micros - origin) % size)
    # A change of the clock moves it by a day at most.
    guess = (zone.to_wall(micros) - zone.to_wall(origin)) // size
    return _last_start(lambda count: add_days(zone, origin, count * size), guess, micros)


def _last_start(start: Callable[[int], int | None], guess: int, micros: int) -> int | None:
    """The last start that is not after the moment, a few places around the guess."""
    for count in range(guess + 1, guess - 3, -1):
        found = start(count)
        if found is not None and found <= micros:
            return found
    return None


register(Function("time_bucket", _resolve, _bind))
