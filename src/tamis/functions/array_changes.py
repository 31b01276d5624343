"""Functions that make arrays of arrays: sorting, joining, appending, removing, slicing; and named_struct.

Elements are equal as in comparisons: NaN equals NaN, -0.0 equals 0.0, and here NULL equals NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cmp_to_key
from typing import Any

from tamis.functions.clock_moves import add_calendar_interval
from tamis.functions.registry import (
    Argument,
    ArgumentError,
    Function,
    Resolve,
    Signature,
    always,
    check_count,
    register,
)
from tamis.functions.rows import Scalar
from tamis.functions.unify import type_mismatch
from tamis.values.calendar import MICROS_PER_DAY
from tamis.values.calendar_intervals import CalendarInterval
from tamis.values.coercion import contained_type, tightest_type
from tamis.values.intervals import truncate
from tamis.values.order import compare
from tamis.values.types import (
    ANY,
    BOOLEAN,
    CALENDAR_INTERVAL,
    DATE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    array,
    is_integral,
    is_interval,
    is_year_month,
    struct,
)
from tamis.values.zones import Zone, zone_of

LONGEST = 1_000_000
"""The greatest number of elements of an array that a function makes out of shorter ones."""


def _items(arguments: Sequence[Argument], place: int = 0, *, ordered: bool = False) -> Type:
    """The array type of an argument; a path of a schemaless event is one of any values, which have no order."""
    found = arguments[place].type
    if found == ANY and not ordered:
        return array(ANY)
    if found.name != "array":
        msg = f"expected an array, found {found}"
        hint = "read it by a typed event type" if found == ANY else None
        raise ArgumentError(msg, place, hint)
    return found


def _same_array(*others: Type, optional: int = 0, ordered: bool = False) -> Resolve:
    """An array and other arguments; the result is an array of the same type."""

    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        check_count(arguments, 1 + len(others) - optional, 1 + len(others))
        found = _items(arguments, ordered=ordered)
        return Signature((found, *others)[: len(arguments)], found, zone)

    return resolve


def _resolve_sequence(arguments: Sequence[Argument], zone: str) -> Signature:
    """Whole numbers; dates a number of days apart; dates or timestamps an interval apart."""
    check_count(arguments, 2, 3)
    found = tightest_type(arguments[0].type, arguments[1].type)
    step = arguments[2].type if len(arguments) == 3 else None
    if found in (DATE, TIMESTAMP, TIMESTAMP_NTZ) and step is None:
        return Signature((found, found), array(found), zone)
    if found in (DATE, TIMESTAMP, TIMESTAMP_NTZ) and step is not None:
        if not (is_interval(step) or step == CALENDAR_INTERVAL):
            msg = f"expected an interval, found {step}"
            raise ArgumentError(msg, 2)
        return Signature((found, found, step), array(found), zone)
    if found is not None and step is not None:
        found = tightest_type(found, step)
    if found is None or not is_integral(found):
        raise type_mismatch(arguments, "made a sequence")
    return Signature((found,) * len(arguments), array(found), zone)


def _bind_sequence(signature: Signature) -> Scalar:
    moment = signature.returns.item
    if is_integral(moment) or (moment == DATE and len(signature.parameters) == 2):
        return _sequence
    zone = zone_of("UTC" if moment == TIMESTAMP_NTZ else signature.zone)
    unit = _steps_of(signature.parameters[2]) if len(signature.parameters) == 3 else None

    def scalar(first: int, last: int, *step: Any) -> list[int] | None:
        by = (0, 1 if first <= last else -1, 0) if unit is None else unit(step[0])
        if moment != DATE:
            return _moments(zone, first, last, by)
        found = None if not any(by) else _moments(zone, zone.start_of_day(first), zone.start_of_day(last), by)
        return None if found is None else [zone.to_wall(each) // MICROS_PER_DAY for each in found]

    return scalar


def _steps_of(type_: Type) -> Callable[[Any], CalendarInterval]:
    """Months, days and microseconds of an interval: days move the clock, the rest the instant."""
    if type_ == CALENDAR_INTERVAL:
        return lambda step: step
    if is_year_month(type_):
        return lambda months: (months, 0, 0)

    def split(micros: int) -> CalendarInterval:
        whole = truncate(micros, MICROS_PER_DAY)
        return 0, whole // MICROS_PER_DAY, micros - whole

    return split


def _moments(zone: Zone, first: int, last: int, by: CalendarInterval) -> list[int] | None:
    """Each is so many steps after the first, not one after the one before: months may be shorter than its day."""
    months, days, micros = by
    # The sign and the length are those of months of 28 days, as in Spark.
    about = (28 * months + days) * MICROS_PER_DAY + micros
    if about == 0 or (last - first) * about < 0:
        return [first] if first == last else None
    if (last - first) // about >= LONGEST:
        return None
    found: list[int] = []
    moment: int | None = first
    while moment is not None and (moment <= last if about > 0 else moment >= last):
        found.append(moment)
        steps = len(found)
        moment = add_calendar_interval(zone, first, steps * months, steps * days, steps * micros)
    return None if moment is None else found


def _sequence(start: int, stop: int, *step: int) -> list[int] | None:
    by = step[0] if step else 1 if start <= stop else -1
    if by == 0 or (stop - start) * by < 0:
        return [start] if start == stop else None
    return list(range(start, stop + (1 if by > 0 else -1), by)) if (stop - start) // by < LONGEST else None


def _with_element(arguments: Sequence[Argument], zone: str) -> Signature:
    """An array and an element, in a common type."""
    check_count(arguments, 2, 2)
    found = contained_type(_items(arguments).item, arguments[1].type)
    if found is None:
        raise type_mismatch(arguments)
    return Signature((array(found), found), array(found), zone)


def _two_arrays(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    found = tightest_type(_items(arguments, 0).item, _items(arguments, 1).item)
    if found is None:
        raise type_mismatch(arguments)
    return Signature((array(found), array(found)), array(found), zone)


def _within_limit(items: list[Any]) -> list[Any] | None:
    return items if len(items) <= LONGEST else None


# Order


def _bind_sort(*, nulls_last: bool) -> Callable[[Signature], Scalar]:
    def bind(signature: Signature) -> Scalar:
        comparator = compare(signature.returns.item)
        key = cmp_to_key(lambda one, other: comparator(one, other) or 0)

        def scalar(items: list[Any], ascending: bool = True) -> list[Any]:
            known = sorted((item for item in items if item is not None), key=key, reverse=not ascending)
            nulls = [None] * (len(items) - len(known))
            return known + nulls if nulls_last or not ascending else nulls + known

        return scalar

    return bind


def _resolve_join(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 3)
    _items(arguments)
    return Signature((array(STRING), STRING, STRING)[: len(arguments)], STRING, zone)


def _join(items: list[str | None], separator: str, *missing: str) -> str | None:
    found = [missing[0] if item is None else item for item in items if item is not None or missing]
    length = sum(map(len, found)) + len(separator) * max(0, len(found) - 1)
    return separator.join(found) if length <= LONGEST else None


# Elements more or less


def _resolve_insert(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 3, 3)
    found = contained_type(_items(arguments).item, arguments[2].type)
    if found is None:
        raise type_mismatch((arguments[0], arguments[2]))
    return Signature((array(found), INT, found), array(found), zone)


def _insert(items: list[Any] | None, place: int | None, value: Any) -> list[Any] | None:
    if items is None or place is None or place == 0 or abs(place) > LONGEST:
        return None
    if place > 0:
        gap = [None] * (place - 1 - len(items))
        return [*items[: place - 1], *gap, value, *items[place - 1 :]]
    at = len(items) + place + 1
    return [*items[:at], value, *items[at:]] if at >= 0 else [value, *[None] * -at, *items]


def _append(items: list[Any] | None, value: Any) -> list[Any] | None:
    return None if items is None else _within_limit([*items, value])


def _prepend(items: list[Any] | None, value: Any) -> list[Any] | None:
    return None if items is None else _within_limit([value, *items])


def _compact(items: list[Any]) -> list[Any]:
    return [item for item in items if item is not None]


def _bind_remove(signature: Signature) -> Scalar:
    comparator = compare(signature.returns.item)
    return lambda items, value: [item for item in items if item is None or comparator(item, value) != 0]


def _slice(items: list[Any], start: int, length: int) -> list[Any] | None:
    if start == 0 or length < 0:
        return None
    first = start - 1 if start > 0 else len(items) + start
    return items[first : first + length] if 0 <= first < len(items) else []


def _resolve_flatten(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    found = array(array(ANY)) if arguments[0].type == ANY else _items(arguments)
    if found.item.name != "array":
        msg = f"expected an array of arrays, found {found}"
        raise ArgumentError(msg, 0)
    return Signature((found,), found.item, zone)


def _flatten(items: list[list[Any] | None]) -> list[Any] | None:
    known = [item for item in items if item is not None]
    return _within_limit([each for item in known for each in item]) if len(known) == len(items) else None


def _resolve_repeat(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    return Signature((arguments[0].type, INT), array(arguments[0].type), zone)


def _repeat(value: Any, count: int | None) -> list[Any] | None:
    return None if count is None or count > LONGEST else [value] * max(0, count)


# Sets


def _bind_set(keep: Callable[[bool, bool], bool], *, both: bool = False) -> Callable[[Signature], Scalar]:
    """Distinct elements of the first array, or of both, chosen by whether they are in each."""

    def bind(signature: Signature) -> Scalar:
        comparator = compare(signature.returns.item)

        def has(items: list[Any], sought: Any) -> bool:
            if sought is None:
                return any(item is None for item in items)
            return any(item is not None and comparator(item, sought) == 0 for item in items)

        def scalar(left: list[Any], right: list[Any] | None = None) -> list[Any]:
            found: list[Any] = []
            for item in [*left, *(right or [])] if both else left:
                if keep(has(left, item), has(right or [], item)) and not has(found, item):
                    found.append(item + 0.0 if isinstance(item, float) else item)  # no negative zero
            return found

        return scalar

    return bind


# Structs


def _resolve_named_struct(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2)
    names = arguments[0::2]
    if len(arguments) % 2 or any(not each.is_constant or not isinstance(each.value, str) for each in names):
        msg = "expected pairs of a constant name and a value"
        raise ArgumentError(msg)
    pairs = list(zip(names, arguments[1::2], strict=True))
    fields = struct(*((str(name.value), given.type) for name, given in pairs))
    return Signature(tuple(type_ for _, given in pairs for type_ in (STRING, given.type)), fields, zone)


def _register() -> None:
    register(Function("sort_array", _same_array(BOOLEAN, optional=1, ordered=True), _bind_sort(nulls_last=False)))
    register(Function("array_sort", _same_array(ordered=True), _bind_sort(nulls_last=True)))
    register(Function("array_join", _resolve_join, always(_join)))
    register(Function("array_insert", _resolve_insert, always(_insert), sees_null=True))
    register(Function("array_append", _with_element, always(_append), sees_null=True))
    register(Function("array_prepend", _with_element, always(_prepend), sees_null=True))
    register(Function("array_compact", _same_array(), always(_compact)))
    register(Function("array_remove", _with_element, _bind_remove))
    register(Function("array_distinct", _same_array(), _bind_set(lambda _left, _right: True)))
    register(Function("array_union", _two_arrays, _bind_set(lambda _left, _right: True, both=True)))
    register(Function("array_intersect", _two_arrays, _bind_set(lambda _left, right: right)))
    register(Function("array_except", _two_arrays, _bind_set(lambda _left, right: not right)))
    register(Function("slice", _same_array(INT, INT), always(_slice)))
    register(Function("flatten", _resolve_flatten, always(_flatten)))
    register(Function("array_repeat", _resolve_repeat, always(_repeat), sees_null=True))
    register(Function("named_struct", _resolve_named_struct, always(lambda *given: given[1::2]), sees_null=True))


_register()
register(Function("sequence", _resolve_sequence, _bind_sequence))
