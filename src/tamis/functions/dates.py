"""Functions of dates and timestamps: their parts, and arithmetic of days and months.

Parts of a timestamp are those of the wall clock in the signature's zone; a timestamp_ntz is its own wall clock.
Sums of days wrap to 32 bits where Spark's do, and are NULL where Spark raises. Nothing here reads the clock or
the zone of the process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tamis.functions import date_formats, epoch, truncation  # noqa: F401 (registers the rest of this subject)
from tamis.functions.intervals import part_of_interval
from tamis.functions.registry import (
    Argument,
    ArgumentError,
    Function,
    Signature,
    always,
    check_count,
    register,
    takes,
)
from tamis.functions.rows import Scalar, all_valid, apply_strict
from tamis.functions.vectorization import Ints, elementwise
from tamis.values import calendar
from tamis.values.calendar import GREATEST_DAY, LEAST_DAY, MICROS_PER_SECOND, wrap_int32
from tamis.values.column import Column
from tamis.values.types import (
    ANY,
    BIGINT,
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    decimal,
    is_decimal,
    is_fractional,
    is_interval,
)
from tamis.values.zones import zone_of

_SECOND_WITH_FRACTION = decimal(8, 6)
_WEEKDAYS = {
    name[:size]: place
    for place, name in enumerate(("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"))
    for size in (2, 3, len(name))
}


# Parts of a date

_PARTS_OF_DATES: dict[str, Callable[[Ints], Ints]] = {
    "year": lambda days: calendar.civil_from_days(days)[0],
    "quarter": lambda days: (calendar.civil_from_days(days)[1] + 2) // 3,
    "month": lambda days: calendar.civil_from_days(days)[1],
    "day": lambda days: calendar.civil_from_days(days)[2],
    "dayofweek": lambda days: (calendar.weekday(days) + 1) % 7 + 1,
    "weekday": calendar.weekday,
    "dayofyear": calendar.day_of_year,
    "weekofyear": lambda days: calendar.iso_week(days)[1],
}
_OF_DATE = takes(DATE, returns=INT)
for _name, _formula in _PARTS_OF_DATES.items():
    elementwise(_name, *(("dayofmonth",) if _name == "day" else ()), resolve=_OF_DATE, formula=_formula)

# Parts of a wall clock

_PARTS_OF_CLOCKS: dict[str, Callable[[Ints, Ints], Ints]] = {
    "hour": lambda second, _: second // 3600 % 24,
    "minute": lambda second, _: second // 60 % 60,
    "second": lambda second, _: second % 60,
}


def _moment(type_: Type) -> Type:
    """The type whose clock is read: timestamp_ntz stays, anything else is cast to timestamp."""
    return TIMESTAMP_NTZ if type_ == TIMESTAMP_NTZ else TIMESTAMP


def _resolve_clock(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    return Signature((_moment(arguments[0].type),), INT, zone)


def _clock_scalar(type_: Type, zone: str, formula: Callable[[Ints, Ints], Ints]) -> Scalar:
    if type_ == TIMESTAMP_NTZ:
        return lambda micros: formula(micros // MICROS_PER_SECOND, micros % MICROS_PER_SECOND)
    offset_at = zone_of(zone).offset_at

    def of_instant(micros: int) -> int:
        second, fraction = divmod(micros, MICROS_PER_SECOND)
        return int(formula(second + offset_at(second), fraction))

    return of_instant


def _clock_values(column: Column, zone: str, formula: Callable[[Ints, Ints], Ints]) -> Ints:
    second, fraction = column.values // MICROS_PER_SECOND, column.values % MICROS_PER_SECOND
    if column.type == TIMESTAMP:
        second = second + zone_of(zone).offsets_at(second)
    return formula(second, fraction)


def _clock_part(name: str, formula: Callable[[Ints, Ints], Ints]) -> None:
    def bind(signature: Signature) -> Scalar:
        return _clock_scalar(signature.parameters[0], signature.zone, formula)

    def vector(signature: Signature, columns: Sequence[Column]) -> Column:
        return Column(INT, _clock_values(columns[0], signature.zone, formula), columns[0].valid)

    register(Function(name, _resolve_clock, bind, vector))


for _name, _clock_formula in _PARTS_OF_CLOCKS.items():
    _clock_part(_name, _clock_formula)

# EXTRACT and date_part

_FIELDS_OF_DATES: dict[str, Callable[[Ints], Ints]] = {
    field: formula
    for fields, formula in (
        ("YEAR Y YEARS YR YRS", _PARTS_OF_DATES["year"]),
        ("YEAROFWEEK", lambda days: calendar.iso_week(days)[0]),
        ("QUARTER QTR", _PARTS_OF_DATES["quarter"]),
        ("MONTH MON MONS MONTHS", _PARTS_OF_DATES["month"]),
        ("WEEK W WEEKS", _PARTS_OF_DATES["weekofyear"]),
        ("DAY D DAYS", _PARTS_OF_DATES["day"]),
        ("DAYOFWEEK DOW", _PARTS_OF_DATES["dayofweek"]),
        ("DAYOFWEEK_ISO DOW_ISO", lambda days: calendar.weekday(days) + 1),
        ("DOY", _PARTS_OF_DATES["dayofyear"]),
    )
    for field in fields.split()
}
_SECOND_FIELDS = ("SECOND", "S", "SEC", "SECONDS", "SECS")
_FIELDS_OF_CLOCKS: dict[str, Callable[[Ints, Ints], Ints]] = {
    field: formula
    for fields, formula in (
        ("HOUR H HOURS HR HRS", _PARTS_OF_CLOCKS["hour"]),
        ("MINUTE M MIN MINS MINUTES", _PARTS_OF_CLOCKS["minute"]),
    )
    for field in fields.split()
} | dict.fromkeys(_SECOND_FIELDS, lambda second, fraction: second % 60 * MICROS_PER_SECOND + fraction)


def _resolve_date_part(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    field, source = arguments
    if not field.is_constant or field.type not in (STRING, NULL):
        msg = f"expected the name of a field, a constant string, found {field.type}"
        raise ArgumentError(msg, 0)
    if field.value is None:
        return Signature((STRING, _moment(source.type)), DOUBLE, zone)
    name = field.value.upper()
    if is_interval(source.type) or source.type == CALENDAR_INTERVAL:
        return Signature((STRING, source.type), part_of_interval(name, source.type)[1], zone)
    if name in _FIELDS_OF_DATES:
        return Signature((STRING, DATE), INT, zone)
    if name in _FIELDS_OF_CLOCKS:
        returns = _SECOND_WITH_FRACTION if name in _SECOND_FIELDS else INT
        return Signature((STRING, _moment(source.type)), returns, zone)
    msg = f"{field.value!r} is not a field of a date or timestamp"
    raise ArgumentError(msg, 0, "fields are year, quarter, month, week, day, dow, doy, hour, minute, second")


def _bind_date_part(signature: Signature) -> Scalar:
    type_ = signature.parameters[1]
    if is_interval(type_) or type_ == CALENDAR_INTERVAL:
        return lambda field, value: part_of_interval(field.upper(), type_)[0](value)
    if type_ == DATE:
        return lambda field, days: _FIELDS_OF_DATES[field.upper()](days)
    parts = {field: _clock_scalar(type_, signature.zone, formula) for field, formula in _FIELDS_OF_CLOCKS.items()}
    return lambda field, micros: parts[field.upper()](micros)


def _date_part_vector(signature: Signature, columns: Sequence[Column]) -> Column:
    field, source = columns
    valid = all_valid(columns)
    if not valid.any():
        dtype = np.float64 if signature.returns == DOUBLE else np.int64
        return Column(signature.returns, np.zeros(len(valid), dtype), valid)
    name = field.values.drop_null()[0].as_py().upper()
    if is_interval(source.type) or source.type == CALENDAR_INTERVAL:
        return apply_strict(_bind_date_part(signature), signature.returns, columns)
    if source.type == DATE:
        return Column(INT, _FIELDS_OF_DATES[name](source.values), valid)
    values = _clock_values(source, signature.zone, _FIELDS_OF_CLOCKS[name])
    return Column(signature.returns, values, valid)


register(Function("date_part", _resolve_date_part, _bind_date_part, _date_part_vector), "datepart")

# Days


def _resolve_add_days(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    found = arguments[1].type
    if found == BIGINT or is_fractional(found) or is_decimal(found):
        msg = f"expected a number of days of type int, found {found}"
        raise ArgumentError(msg, 1, "cast it: try_cast(x AS int)")
    return Signature((DATE, INT), DATE, zone)


def _resolve_unix_date(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    if arguments[0].type not in (DATE, NULL, ANY):
        msg = f"expected a date, found {arguments[0].type}"
        raise ArgumentError(msg, 0, "cast it: try_cast(x AS date)")
    return Signature((DATE,), INT, zone)


def _same(value: Ints) -> Ints:
    return value


def _last_day(days: Ints) -> Ints:
    year, month, day = calendar.civil_from_days(days)
    return wrap_int32(days - day + calendar.month_length(year, month))


elementwise("date_add", "dateadd", resolve=_resolve_add_days, formula=lambda days, more: wrap_int32(days + more))
elementwise("date_sub", resolve=_resolve_add_days, formula=lambda days, fewer: wrap_int32(days - fewer))
elementwise(
    "datediff",
    "date_diff",
    resolve=takes(DATE, DATE, returns=INT),
    formula=lambda end, start: wrap_int32(end - start),
)
elementwise("last_day", resolve=takes(DATE, returns=DATE), formula=_last_day)
elementwise("unix_date", resolve=_resolve_unix_date, formula=_same)
elementwise("date_from_unix_date", resolve=takes(INT, returns=DATE), formula=_same)


def _date_or_null(days: int) -> int | None:
    return days if LEAST_DAY <= days <= GREATEST_DAY else None


def _add_months(days: int, months: int) -> int | None:
    return _date_or_null(calendar.plus_months(days, months))


def _add_months_vector(_: Signature, columns: Sequence[Column]) -> Column:
    values = calendar.plus_months(columns[0].values, columns[1].values)
    return Column(DATE, values, all_valid(columns) & (values >= LEAST_DAY) & (values <= GREATEST_DAY))


def _make_date(year: int, month: int, day: int) -> int | None:
    if not (1 <= month <= 12 and 1 <= day <= calendar.month_length(year, month)):
        return None
    return _date_or_null(calendar.days_from_civil(year, month, day))


def _next_day(days: int, name: str) -> int | None:
    day_of_week = _WEEKDAYS.get(name.upper())
    return None if day_of_week is None else calendar.next_weekday(days, day_of_week)


register(Function("add_months", takes(DATE, INT, returns=DATE), always(_add_months), _add_months_vector))
register(Function("make_date", takes(INT, INT, INT, returns=DATE), always(_make_date)))
register(Function("next_day", takes(DATE, STRING, returns=DATE), always(_next_day)))
