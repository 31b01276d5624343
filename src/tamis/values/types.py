"""The types of values: Spark's, plus the two that schemaless events need.

A `Type` is a plain value; two equal types are the same type. Widths matter everywhere: nothing here or
downstream may treat `int` as `bigint` or `float` as `double`.

The Python form of a value, in every scalar function, constant and reference evaluation:

| type | Python value |
|---|---|
| boolean | `bool` |
| tinyint, smallint, int, bigint | `int` |
| float, double | `float` (a float is already rounded to 32 bits) |
| decimal(p,s) | `int`, the unscaled value: 12.30 in decimal(8,2) is 1230 |
| string, binary | `str`, `bytes` |
| date | `int`, days since 1970-01-01 (proleptic Gregorian) |
| timestamp, timestamp_ntz | `int`, microseconds since 1970-01-01T00:00:00 (UTC; wall clock for ntz) |
| interval | `int`, months, or microseconds; `precision` and `scale` are its first and last field |
| calendar interval | `tuple` of months, days and microseconds |
| array, struct | `list` of values; `tuple` of values in the order of the fields |
| map | `list` of pairs, `tuple`s of key and value, as if it were the array of its entries |
| any (schemaless) | what JSON gave: `bool`, `int`, `float`, `str`, `list`, `dict` |
| number (schemaless) | `int` within 64 bits, or `float` |

NULL is `None` in all of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeVar

from tamis.arrays import I64
from tamis.errors import EventTypeError

Ints = TypeVar("Ints", int, I64)
"""One integer, or an array with one per row."""


@dataclass(frozen=True, slots=True)
class Type:
    """A type; use the constants and the functions below to make one."""

    name: str
    precision: int = 0
    scale: int = 0
    element: Type | None = None
    fields: tuple[tuple[str, Type], ...] = ()

    def __eq__(self, other: object) -> bool:
        """Same type; most types are one object, or differ in name."""
        if self is other:
            return True
        if not isinstance(other, Type) or self.name != other.name:
            return False
        mine = (self.precision, self.scale, self.element, self.fields)
        return mine == (other.precision, other.scale, other.element, other.fields)

    def __hash__(self) -> int:
        """Leaves out elements and fields: types are hashed with every expression, and nested types are rare."""
        return hash((self.name, self.precision, self.scale))

    def __str__(self) -> str:
        """The type as Spark's DDL writes it."""
        if self.name == "decimal":
            return f"decimal({self.precision},{self.scale})"
        if self.name == "array":
            return f"array<{self.element}>"
        if self.name == "map":
            return f"map<{self.item.fields[0][1]},{self.item.fields[1][1]}>"
        if self.name == "calendar interval":
            return "interval"
        if self.name == "interval":
            first, last = INTERVAL_FIELDS[self.precision], INTERVAL_FIELDS[self.scale]
            return f"interval {first}" if first == last else f"interval {first} to {last}"
        if self.name == "struct":
            inner = ",".join(f"{_quote_field(name)}:{type_}" for name, type_ in self.fields)
            return f"struct<{inner}>"
        return self.name

    @property
    def item(self) -> Type:
        """The element type of an array, `any` for one of a schemaless event; of a map the struct of an entry."""
        return self.element if self.element is not None else ANY


def _quote_field(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", name) else "`" + name.replace("`", "``") + "`"


BOOLEAN = Type("boolean")
TINYINT = Type("tinyint")
SMALLINT = Type("smallint")
INT = Type("int")
BIGINT = Type("bigint")
FLOAT = Type("float")
DOUBLE = Type("double")
STRING = Type("string")
BINARY = Type("binary")
DATE = Type("date")
TIMESTAMP = Type("timestamp")
TIMESTAMP_NTZ = Type("timestamp_ntz")
CALENDAR_INTERVAL = Type("calendar interval")
"""Spark's `interval` without fields, of months, days and microseconds, which has no order."""
NULL = Type("null")
"""The type of the literal NULL."""
ANY = Type("any")
"""The type of a path of a schemaless event: each event has a kind of its own."""
NUMBER = Type("number")
"""bigint or double, which varies per event; values are compared exactly."""

MAX_PRECISION = 38
NESTED = ("array", "map", "struct")
"""The names of types that have types inside of them."""

INTEGER_BITS = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}
"""Integral types, narrowest first."""
# The predicates below run for every expression; looking up a name is faster than comparing types.
_INTEGRAL_NAMES = frozenset(type_.name for type_ in INTEGER_BITS)
_NUMERIC_NAMES = _INTEGRAL_NAMES | {"float", "double", "decimal", "number"}


def decimal(precision: int, scale: int) -> Type:
    return Type("decimal", precision, scale)


def array(element: Type) -> Type:
    return Type("array", element=element)


def map_of(key: Type, value: Type) -> Type:
    """A map; its `item` is a struct of key and value."""
    return Type("map", element=struct(("key", key), ("value", value)))


def struct(*fields: tuple[str, Type]) -> Type:
    """A struct with these fields, as pairs of name and type."""
    return Type("struct", fields=fields)


INTERVAL_FIELDS = ("year", "month", "day", "hour", "minute", "second")


def interval(first: int, last: int) -> Type:
    """An interval from one field to another, by their places in `INTERVAL_FIELDS`."""
    return Type("interval", first, last)


YEAR_MONTH, DAY_TIME, DAYS = interval(0, 1), interval(2, 5), interval(2, 2)


def is_interval(type_: Type) -> bool:
    """Is it an interval of any fields?"""
    return type_.name == "interval"


def is_year_month(type_: Type) -> bool:
    """Is it an interval of years and months?"""
    return type_.name == "interval" and type_.precision < 2


def is_integral(type_: Type) -> bool:
    """Is it one of tinyint, smallint, int, bigint?"""
    return type_.name in _INTEGRAL_NAMES


def is_decimal(type_: Type) -> bool:
    """Is it a decimal of any precision?"""
    return type_.name == "decimal"


def is_fractional(type_: Type) -> bool:
    """Is it float or double?"""
    return type_.name in ("float", "double")


def is_numeric(type_: Type) -> bool:
    """Is it a number of any type, the schemaless `number` included?"""
    return type_.name in _NUMERIC_NAMES


def is_ordered(type_: Type) -> bool:
    """Are the values totally ordered, so that a comparison with a constant selects an interval?"""
    return type_.name not in (*NESTED, "null", "any", "calendar interval")


def holds_map(type_: Type) -> bool:
    """Is it a map, or is there one inside of it?"""
    return type_.name == "map" or any(map(holds_map, _inner_types(type_)))


def is_comparable(type_: Type) -> bool:
    """Can values be equal, and be in an order? Maps and calendar intervals cannot, nor what holds them."""
    return type_.name not in ("map", "calendar interval") and all(map(is_comparable, _inner_types(type_)))


def _inner_types(type_: Type) -> list[Type]:
    return [each for _, each in type_.fields] + ([] if type_.element is None else [type_.element])


def integer_bounds(type_: Type) -> tuple[int, int]:
    """Least and greatest value of an integral type."""
    bits = INTEGER_BITS[type_]
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def wrap_integer(value: Ints, bits: int) -> Ints:
    """The low bits of `value` as a signed integer: what Java's arithmetic of that width leaves of it.

    Arrays are of int64, so for them `bits` is less than 64.
    """
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half


def integral_as_decimal(type_: Type) -> Type:
    """The narrowest decimal that holds every value of an integral type, as Spark widens it."""
    return decimal({TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 20}[type_], 0)


_SIMPLE = {
    **{type_.name: type_ for type_ in INTEGER_BITS},
    **{type_.name: type_ for type_ in (BOOLEAN, FLOAT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ)},
    "byte": TINYINT,
    "short": SMALLINT,
    "integer": INT,
    "long": BIGINT,
    "real": FLOAT,
    "timestamp_ltz": TIMESTAMP,
}
_TOKEN = re.compile(r"\s*(`(?:[^`]|``)+`|[A-Za-z_][A-Za-z_0-9]*|\d+|[<>():,])")


def parse_type(text: str) -> Type:
    """Read a type as Spark's DDL writes it, in any case.

    >>> str(parse_type("array<struct<name: string, price: DECIMAL(8, 2)>>"))
    'array<struct<name:string,price:decimal(8,2)>>'
    """
    tokens: list[str] = []
    at = 0
    while at < len(text.rstrip()):
        found = _TOKEN.match(text, at)
        if found is None:
            msg = f"{text!r} is not a type: unexpected {text[at:].strip()[:10]!r}"
            raise EventTypeError(msg)
        tokens.append(found.group(1))
        at = found.end()
    type_, end = _type_at(tokens, 0, text, 0)
    if end != len(tokens):
        msg = f"{text!r} is not a type: unexpected {tokens[end]!r}"
        raise EventTypeError(msg)
    return type_


_MAX_TYPE_DEPTH = 50


def _type_at(tokens: list[str], at: int, text: str, depth: int) -> tuple[Type, int]:
    def expect(position: int, *wanted: str) -> str:
        found = tokens[position] if position < len(tokens) else "the end"
        if found not in wanted:
            msg = f"{text!r} is not a type: expected {' or '.join(wanted)}, found {found!r}"
            raise EventTypeError(msg)
        return found

    if depth > _MAX_TYPE_DEPTH:
        msg = f"a type may be nested {_MAX_TYPE_DEPTH} deep at most"
        raise EventTypeError(msg)
    name = tokens[at].lower() if at < len(tokens) else ""
    if name in _SIMPLE:
        return _SIMPLE[name], at + 1
    if name in ("decimal", "dec", "numeric"):
        return _decimal_at(tokens, at + 1, text)
    if name in ("varchar", "char", "character") and tokens[at + 1 : at + 4 : 2] == ["(", ")"]:
        # Spark casts to these without cutting or padding.
        return STRING, at + 4
    if name == "interval":
        return _interval_at(tokens, at + 1, text)
    if name == "array":
        expect(at + 1, "<")
        element, end = _type_at(tokens, at + 2, text, depth + 1)
        expect(end, ">")
        return array(element), end + 1
    if name == "map":
        expect(at + 1, "<")
        key, end = _type_at(tokens, at + 2, text, depth + 1)
        expect(end, ",")
        value, end = _type_at(tokens, end + 1, text, depth + 1)
        expect(end, ">")
        if holds_map(key):
            msg = f"{text!r} is not a type: a map cannot be the key of a map"
            raise EventTypeError(msg)
        return map_of(key, value), end + 1
    if name == "struct":
        expect(at + 1, "<")
        fields: list[tuple[str, Type]] = []
        end = at + 1
        while tokens[end] != ">":
            field = tokens[end + 1] if end + 1 < len(tokens) else ""
            field = field[1:-1].replace("``", "`") if field.startswith("`") else field
            colon = tokens[end + 2 : end + 3] == [":"]
            type_, end = _type_at(tokens, end + (3 if colon else 2), text, depth + 1)
            fields.append((field, type_))
            expect(end, ",", ">")
        return struct(*fields), end + 1
    found = tokens[at] if at < len(tokens) else "the end"
    msg = f"{text!r} is not a type: {found!r} is unknown"
    raise EventTypeError(msg)


def _interval_at(tokens: list[str], at: int, text: str) -> tuple[Type, int]:
    """`interval day to second`: fields of one kind, the wider one first. Without any, a calendar interval."""
    if at >= len(tokens) or tokens[at].lower() not in INTERVAL_FIELDS:
        return CALENDAR_INTERVAL, at
    words = [token.lower() for token in tokens[at : at + 3]]
    wide = len(words) == 3 and words[1] == "to"
    fields = [words[0], words[2]] if wide else words[:1]
    places = [INTERVAL_FIELDS.index(field) for field in fields if field in INTERVAL_FIELDS]
    mixed = wide and len(places) == 2 and (places[0] >= places[1] or places[0] < 2 <= places[1])
    if not places or len(places) < len(fields) or mixed:
        msg = f"{text!r} is not a type: write interval year to month or interval day to second"
        raise EventTypeError(msg)
    return interval(places[0], places[-1]), at + (3 if wide else 1)


def _decimal_at(tokens: list[str], at: int, text: str) -> tuple[Type, int]:
    if at >= len(tokens) or tokens[at] != "(":
        return decimal(10, 0), at
    inner = tokens[at + 1 : at + 5]
    if len(inner) > 1 and inner[0].isdigit() and inner[1] == ")":
        precision, scale, end = int(inner[0]), 0, at + 3
    elif len(inner) > 3 and inner[0].isdigit() and inner[2].isdigit() and (inner[1], inner[3]) == (",", ")"):
        precision, scale, end = int(inner[0]), int(inner[2]), at + 5
    else:
        msg = f"{text!r} is not a type: write decimal(precision, scale)"
        raise EventTypeError(msg)
    if not (0 < precision <= MAX_PRECISION and scale <= precision):
        msg = f"{text!r} is not a type: precision is 1 to {MAX_PRECISION}, scale 0 to precision"
        raise EventTypeError(msg)
    return decimal(precision, scale), end
