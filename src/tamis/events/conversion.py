"""Conversion of one value of an event: to a declared type, or to plain JSON where nothing is declared.

The result depends on the value alone: not on other rows, columns or settings of the process. Nothing here raises,
whatever an event holds. A value of another kind than declared is NULL.

Each value first has a JSON meaning (`plain`): a date is its ISO text, a decimal is a number, bytes have none.
What a JSON value means in a declared type follows Spark's `from_json` with a schema:

| declared | taken, beside the type's own Python value |
|---|---|
| integers | JSON integers in range; never 3.0, true or "3" |
| float, double | every number; "NaN", "Infinity", "+Infinity", "-Infinity", "+INF", "-INF" |
| decimal | every number, exact from its text and rounded half up; text such as "1,234.50" |
| boolean | true, false |
| string | numbers, booleans, lists and objects as their JSON text |
| binary | base64 text |
| date | text, by Spark's cast |
| timestamp | text, by Spark's cast in the type's zone; an integer is seconds since 1970 |
| timestamp_ntz | text without a zone, by Spark's cast |
| array | lists; one element of another kind makes the whole list NULL |
| map | objects, if the keys are texts; one value of another kind makes the whole map NULL |
| struct | objects, names exact; a field of another kind is NULL alone |

Where Spark wraps (128 to 255 in a tinyint, seconds beyond the range) the value is NULL.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import json
import math
import re
import struct
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, TypeAlias

import numpy as np

from tamis.values.casts import caster
from tamis.values.column import Value
from tamis.values.datetimes import write_date
from tamis.values.text import as_float
from tamis.values.types import (
    DATE,
    DOUBLE,
    INTEGER_BITS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    integer_bounds,
)

Convert: TypeAlias = Callable[[Any], Value]
"""The function from a value of an event, never None, to a value of a type; None if it has none."""

MAX_DEPTH = 200
"""Deepest nesting of lists and objects in an event."""

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_EPOCH_UTC = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EPOCH_WALL = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_SPECIAL = {
    "NaN": math.nan,
    "Infinity": math.inf,
    "+Infinity": math.inf,
    "+INF": math.inf,
    "-Infinity": -math.inf,
    "-INF": -math.inf,
}
_DECIMAL_TEXT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?")
_WITHOUT_ZONE = re.compile(r"\s*[+-]?[0-9-]+(?:[ T][0-9:.]*)?\s*")
_MAX_INT_BITS = 4096  # of an integer written out: beyond all doubles, within Python's limit of digits


def plain(value: Any, depth: int = 0) -> Value:
    """The JSON meaning of a value: bool, int within 64 bits, float, str, list, dict, or None."""
    kind = type(value)
    if value is None or kind is bool or kind is float:
        return value
    if kind is str:
        return value if value.isascii() else clean(value)
    if kind is int:
        return value if INT64_MIN <= value <= INT64_MAX else double_of(value)
    if kind is list or kind is tuple:
        return None if depth >= MAX_DEPTH else [plain(item, depth + 1) for item in value]
    if isinstance(value, Mapping):
        if depth >= MAX_DEPTH:
            return None
        return {clean(key): plain(item, depth + 1) for key, item in value.items() if isinstance(key, str)}
    if isinstance(value, (Decimal, np.floating)):
        return double_of(value)
    if isinstance(value, dt.date):
        return _iso(value)
    simple = unbox(value)
    return None if simple is None or type(simple) is kind else plain(simple, depth)


def unbox(value: Any) -> Any:
    """The built-in value that a numpy scalar or array, or an object of a derived class, stands for."""
    if isinstance(value, np.datetime64):  # as text, since datetime knows fewer years
        micros = value.astype("datetime64[us]")
        return None if np.isnat(micros) else iso_timestamp(int(micros.astype(np.int64)), zoned=False)
    if isinstance(value, np.timedelta64):
        return None
    if isinstance(value, np.ndarray):
        return [unbox(item) for item in value] if value.dtype.kind == "M" else value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    for kind, base in _BASES:
        if isinstance(value, kind):
            return value if type(value) in (kind, bool) else base(value)
    return value


# Not `str(value)`: a derived class may override it, as Enum does.
_BASES: tuple[tuple[type, Convert], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (list, list),
    (tuple, tuple),
    (bytes, bytes),
)


def clean(text: str) -> str:
    """`text` without lone surrogates: each is '?', which is how Spark stores it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return paired.encode("utf-8", "replace").decode()
    return str.__str__(text)


def double_of(number: Any) -> float:
    """The nearest double, infinite if the number is beyond all of them."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
    except ValueError:  # a signalling NaN
        return math.nan


def iso_timestamp(micros: int, *, zoned: bool) -> str:
    """A moment as ISO text, 2026-01-01T10:00:00Z, with six digits of fraction if there is any."""
    seconds, fraction = divmod(micros, 1_000_000)
    days, second = divmod(seconds, 86_400)
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    return write_date(days) + "T" + clock + (f".{fraction:06}" if fraction else "") + ("Z" if zoned else "")


def _iso(value: dt.date) -> str | None:
    if not isinstance(value, dt.datetime):
        return value.isoformat()
    micros = _micros(value)
    return None if micros is None else iso_timestamp(micros, zoned=value.utcoffset() is not None)


def _micros(value: dt.datetime) -> int | None:
    """Microseconds since 1970: UTC for an aware datetime, else wall clock; None for pandas' NaT."""
    if value != value:  # noqa: PLR0124
        return None
    return (value - (_EPOCH_WALL if value.utcoffset() is None else _EPOCH_UTC)) // _MICROSECOND


def converter(type_: Type, zone: str) -> Convert:
    """The function from values of events to values of `type_`; None for a value of another kind."""
    return _any_class(_converter(type_, zone))


def _any_class(convert: Convert) -> Convert:
    """`convert` for numpy scalars and objects of derived classes, too."""

    def convert_unboxed(value: Any) -> Value:
        value = unbox(value)
        return None if value is None else convert(value)

    return convert_unboxed


def _converter(type_: Type, zone: str) -> Convert:
    if type_ in INTEGER_BITS:
        return _integer(*integer_bounds(type_))
    match type_.name:
        case "boolean":
            return lambda value: value if isinstance(value, bool) else None
        case "float":
            return _float
        case "double":
            return _double
        case "decimal":
            return lambda value: _decimal(value, type_.precision, type_.scale)
        case "string":
            return _text(zone)
        case "binary":
            return _bytes
        case "date":
            return _date(zone)
        case "timestamp":
            return _timestamp(zone)
        case "timestamp_ntz":
            return _wall_clock(zone)
        case "array":
            return _list(converter(type_.item, zone))
        case "map":
            (_, key), (_, value) = type_.item.fields
            return _map(converter(key, zone), converter(value, zone))
        case "struct":
            return _struct([(name, converter(inner, zone)) for name, inner in type_.fields])
    msg = f"{type_} is no type of an attribute"
    raise ValueError(msg)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _integer(least: int, greatest: int) -> Convert:
    return lambda value: value if _is_integer(value) and least <= value <= greatest else None


def _double(value: Any) -> float | None:
    if isinstance(value, (float, Decimal)) or _is_integer(value):
        return double_of(value)
    return _SPECIAL.get(value) if isinstance(value, str) else None


def _float(value: Any) -> float | None:
    double = _double(value)
    if double is None or not math.isfinite(double):
        return double
    if not isinstance(value, (float, str)) and value != double:
        double = _to_odd(double, above=value > double)
    return as_float(double)


def _to_odd(double: float, *, above: bool) -> float:
    """The neighbour of a rounded number with an odd last bit: rounding that to a float rounds only once."""
    if struct.unpack("<q", struct.pack("<d", double))[0] & 1:
        return double
    return math.nextafter(double, math.inf if above else -math.inf)


def _decimal(value: Any, precision: int, scale: int) -> int | None:
    if isinstance(value, Decimal):
        number = value
    elif _is_integer(value):
        return decimal_unscaled(Decimal(value), precision, scale) if abs(value) < 10**precision else None
    elif isinstance(value, float):
        number = Decimal(repr(value))
    elif isinstance(value, str) and _DECIMAL_TEXT.fullmatch(text := value.replace(",", "")):
        number = Decimal(text)
    else:
        return None
    return decimal_unscaled(number, precision, scale)


_ROUNDING = Context(prec=80, rounding=ROUND_HALF_UP)


def decimal_unscaled(number: Decimal, precision: int, scale: int) -> int | None:
    """The number in decimal(precision, scale), rounded half up; None if it does not fit."""
    if not number.is_finite() or (number and number.adjusted() > precision - scale):
        return None
    if not number or number.adjusted() < -scale - 1:
        return 0  # before `quantize`, which has limits to its exponents
    rounded = int(number.quantize(Decimal((0, (1,), -scale)), context=_ROUNDING).scaleb(scale, _ROUNDING))
    return rounded if abs(rounded) < 10**precision else None


def _text(zone: str) -> Convert:
    number_text = caster(DOUBLE, STRING, zone)

    def text(value: Any) -> str | None:
        if isinstance(value, str):
            return clean(value)
        if _is_integer(value) and value.bit_length() <= _MAX_INT_BITS:
            return str(value)
        value = plain(value)
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, float):
            return str(number_text(value))
        return _json_text(value, number_text)

    return text


def _json_text(value: Value, number_text: Convert) -> str:
    if isinstance(value, float):
        text = str(number_text(value))
        return text if math.isfinite(value) else f'"{text}"'
    if isinstance(value, list):
        return "[" + ",".join(_json_text(item, number_text) for item in value) + "]"
    if isinstance(value, dict):
        pairs = (f"{_json_text(key, number_text)}:{_json_text(item, number_text)}" for key, item in value.items())
        return "{" + ",".join(pairs) + "}"
    return json.dumps(value, ensure_ascii=False)


def _bytes(value: Any) -> bytes | None:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        return None
    try:
        return base64.b64decode(value.strip(), validate=True)
    except (binascii.Error, ValueError):
        return None


def _date(zone: str) -> Convert:
    parse = caster(STRING, DATE, zone)

    def date(value: Any) -> int | None:
        if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
            return value.toordinal() - _EPOCH_DAY
        text = _iso(value) if isinstance(value, dt.datetime) else value
        return parse(clean(text)) if isinstance(text, str) else None

    return date


def _timestamp(zone: str) -> Convert:
    parse = caster(STRING, TIMESTAMP, zone)

    def timestamp(value: Any) -> int | None:
        if isinstance(value, dt.datetime) and value.utcoffset() is not None:
            return _micros(value)
        if _is_integer(value):
            micros = value * 1_000_000
            return micros if INT64_MIN <= micros <= INT64_MAX else None
        text = _iso(value) if isinstance(value, dt.date) else value
        return parse(clean(text)) if isinstance(text, str) else None

    return timestamp


def _wall_clock(zone: str) -> Convert:
    parse = caster(STRING, TIMESTAMP_NTZ, zone)

    def wall_clock(value: Any) -> int | None:
        if isinstance(value, dt.datetime):
            return _micros(value) if value.utcoffset() is None else None
        text = value.isoformat() if isinstance(value, dt.date) else value
        return parse(text) if isinstance(text, str) and _WITHOUT_ZONE.fullmatch(text) else None

    return wall_clock


def _list(convert: Convert) -> Convert:
    def items(value: Any) -> list[Value] | None:
        if not isinstance(value, (list, tuple)):
            return None
        converted: list[Value] = []
        for item in value:
            element = None if item is None else convert(item)
            if element is None and item is not None:
                return None
            converted.append(element)
        return converted

    return items


def _map(convert_key: Convert, convert_value: Convert) -> Convert:
    """Of a dict; or of a list of pairs, which is what Arrow makes of a map."""

    def entries(value: Any) -> list[tuple[Value, Value]] | None:
        pairs = list(value.items()) if isinstance(value, Mapping) else value
        if not isinstance(pairs, list) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
            return None
        found = [(convert_key(key), None if item is None else convert_value(item)) for key, item in pairs]
        both = zip(found, pairs, strict=True)
        kept = (key is not None and (new is None) is (old is None) for (key, new), (_, old) in both)
        return found if all(kept) else None

    return entries


def _struct(fields: list[tuple[str, Convert]]) -> Convert:
    def members(value: Any) -> tuple[Value, ...] | None:
        if not isinstance(value, Mapping):
            return None
        found = [(value.get(name), convert) for name, convert in fields]
        return tuple(None if member is None else convert(member) for member, convert in found)

    return members
