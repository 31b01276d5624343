"""Dates and times by patterns: date_format, to_date with a pattern, unix_timestamp; timestamps made of fields.

A pattern is a constant; what it may hold is in `tamis.values.date_patterns`. What does not fit it is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tamis.errors import PatternError
from tamis.functions.registry import Argument, ArgumentError, Function, Signature, check_count, register, takes
from tamis.functions.rows import Scalar
from tamis.values import calendar
from tamis.values.calendar import MICROS_PER_DAY, MICROS_PER_SECOND
from tamis.values.date_patterns import DAYS, MONTHS, Element, parse_pattern, read_moment, write_moment
from tamis.values.datetimes import in_timestamp_range
from tamis.values.intervals import truncate
from tamis.values.types import (
    BIGINT,
    DATE,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    decimal,
    is_numeric,
)
from tamis.values.zones import find_zone, zone_of

_STANDARD = "yyyy-MM-dd HH:mm:ss"


def check_pattern(argument: Argument, place: int, *, reading: bool) -> None:
    """Raise ArgumentError unless the argument is a constant pattern that is supported."""
    if not argument.is_constant or argument.type not in (STRING, NULL):
        msg = f"expected a constant pattern (string), found {argument.type}"
        raise ArgumentError(msg, place)
    if argument.value is not None:
        try:
            parse_pattern(argument.value, reading=reading)
        except PatternError as error:
            raise ArgumentError(str(error), place) from error


# Writing


def _resolve_format(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    check_pattern(arguments[1], 1, reading=False)
    return Signature((TIMESTAMP, STRING), STRING, zone)


def _bind_format(signature: Signature) -> Scalar:
    write = _writer(signature.zone)
    return lambda micros, pattern: write(micros, parse_pattern(pattern, reading=False))


def _writer(zone: str) -> Callable[[int, tuple[Element, ...]], str]:
    rules = zone_of(zone)

    def write(micros: int, elements: tuple[Element, ...]) -> str:
        offset = rules.offset_at(micros // MICROS_PER_SECOND)
        return write_moment(elements, micros + offset * MICROS_PER_SECOND, offset, zone)

    return write


def _resolve_from_unix(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 2)
    if len(arguments) > 1:
        check_pattern(arguments[1], 1, reading=False)
    return Signature((BIGINT, STRING)[: len(arguments)], STRING, zone)


def _bind_from_unix(signature: Signature) -> Scalar:
    write = _writer(signature.zone)

    def scalar(seconds: int, pattern: str = _STANDARD) -> str | None:
        micros = in_timestamp_range(seconds * MICROS_PER_SECOND)
        return None if micros is None else write(micros, parse_pattern(pattern, reading=False))

    return scalar


# Reading


def resolve_reading(returns: Type) -> Callable[[Sequence[Argument], str], Signature]:
    """`resolve` of a function of text and a pattern; a moment is cast, whatever the pattern is."""

    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        check_count(arguments, 2, 2)
        check_pattern(arguments[1], 1, reading=True)
        source = arguments[0].type
        if source in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
            return Signature((returns, STRING), returns, zone)
        if is_numeric(source):
            msg = f"expected text, found {source}"
            raise ArgumentError(msg, 0)
        return Signature((STRING, STRING), returns, zone)

    return resolve


def bind_reading(signature: Signature) -> Scalar:
    """Text by a pattern, as a date, a timestamp or a timestamp_ntz."""
    returns, rules = signature.returns, zone_of(signature.zone)
    if signature.parameters[0] != STRING:
        return lambda moment, _: moment

    def scalar(text: str, pattern: str) -> int | None:
        found = read_moment(parse_pattern(pattern, reading=True), text)
        if found is None:
            return None
        wall, zone = found
        if returns == TIMESTAMP:
            return in_timestamp_range((zone or rules).to_instant(wall))
        if returns == TIMESTAMP_NTZ:
            return in_timestamp_range(wall)
        if zone is not None:
            wall = rules.to_wall(zone.to_instant(wall))
        days = wall // MICROS_PER_DAY
        return days if calendar.LEAST_DAY <= days <= calendar.GREATEST_DAY else None

    return scalar


def _register_reading(name: str, returns: Type, *other_names: str) -> None:
    """A cast with one argument, a reading with a pattern as the second."""
    read = resolve_reading(returns)

    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        check_count(arguments, 1, 2)
        return Signature((returns,), returns, zone) if len(arguments) == 1 else read(arguments, zone)

    def bind(signature: Signature) -> Scalar:
        return (lambda moment: moment) if len(signature.parameters) == 1 else bind_reading(signature)

    register(Function(name, resolve, bind), *other_names)


def _resolve_unix(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 2)
    if len(arguments) > 1:
        check_pattern(arguments[1], 1, reading=True)
    source = arguments[0].type
    if is_numeric(source):
        msg = f"expected text or a moment, found {source}"
        raise ArgumentError(msg, 0)
    # A timestamp_ntz counts as if its clock were that of UTC.
    kept = source if source in (TIMESTAMP, TIMESTAMP_NTZ) else TIMESTAMP if source == DATE else STRING
    return Signature((kept, STRING)[: len(arguments)], BIGINT, zone)


def _bind_unix(signature: Signature) -> Scalar:
    if signature.parameters[0] != STRING:
        return lambda micros, *_: truncate(micros, MICROS_PER_SECOND) // MICROS_PER_SECOND
    read = bind_reading(Signature((STRING, STRING), TIMESTAMP, signature.zone))

    def scalar(text: str, pattern: str = _STANDARD) -> int | None:
        micros: int | None = read(text, pattern)
        return None if micros is None else truncate(micros, MICROS_PER_SECOND) // MICROS_PER_SECOND

    return scalar


# Made of fields

_SECONDS = decimal(16, 6)


def _resolve_made(returns: Type) -> Callable[[Sequence[Argument], str], Signature]:
    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        check_count(arguments, 6, 7 if returns == TIMESTAMP else 6)
        return Signature((*(INT,) * 5, _SECONDS, STRING)[: len(arguments)], returns, zone)

    return resolve


def _bind_made(signature: Signature) -> Scalar:
    rules = zone_of(signature.zone)

    def scalar(year: int, month: int, day: int, hour: int, minute: int, second: int, *zone: str) -> int | None:
        inside = 1 <= month <= 12 and 0 <= hour < 24 and 0 <= minute < 60 and 0 <= second <= 60 * MICROS_PER_SECOND
        if not inside or not 1 <= day <= calendar.month_length(year, month):
            return None
        found = find_zone(zone[0]) if zone else rules
        if found is None:
            return None
        days = calendar.days_from_civil(year, month, day)
        wall = days * MICROS_PER_DAY + (hour * 3600 + minute * 60) * MICROS_PER_SECOND + second
        return in_timestamp_range(wall if signature.returns == TIMESTAMP_NTZ else found.to_instant(wall))

    return scalar


def _name_of_day(days: int) -> str:
    return DAYS[calendar.weekday(days)][:3]


def _name_of_month(days: int) -> str:
    return MONTHS[calendar.civil_from_days(days)[1] - 1][:3]


register(Function("date_format", _resolve_format, _bind_format))
register(Function("from_unixtime", _resolve_from_unix, _bind_from_unix))
_register_reading("to_date", DATE, "try_to_date")
_register_reading("to_timestamp_ntz", TIMESTAMP_NTZ)
_register_reading("to_timestamp_ltz", TIMESTAMP)
register(Function("unix_timestamp", _resolve_unix, _bind_unix), "to_unix_timestamp")
register(
    Function("make_timestamp", _resolve_made(TIMESTAMP), _bind_made),
    "make_timestamp_ltz",
    "try_make_timestamp",
    "try_make_timestamp_ltz",
)
register(Function("make_timestamp_ntz", _resolve_made(TIMESTAMP_NTZ), _bind_made), "try_make_timestamp_ntz")
register(Function("dayname", takes(DATE, returns=STRING), lambda _: _name_of_day))
register(Function("monthname", takes(DATE, returns=STRING), lambda _: _name_of_month))
