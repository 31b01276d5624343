"""Fields of documents as search engines see them: every field has any number of values, and none is no NULL.

A path goes through arrays: the values of `items.price` are those of all items. So the results here are arrays that
are never NULL and hold no NULL, and a test of their elements is TRUE or FALSE. No function here is one of Spark's,
and each may be called by name in any condition.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from tamis.functions.nested_values import Walk, find_path
from tamis.functions.registry import (
    Argument,
    ArgumentError,
    Function,
    Resolve,
    Signature,
    Vector,
    always,
    check_count,
    register,
    takes,
)
from tamis.functions.rows import Scalar, apply_null_aware
from tamis.values.column import Column, ListValues, Value, column_of
from tamis.values.letter_case import lower
from tamis.values.types import ANY, DOUBLE, STRING, Type, array, is_fractional, struct

POINT = struct(("lon", DOUBLE), ("lat", DOUBLE))

_COORDINATES = re.compile(r"\s*([-+]?[0-9.]+)\s*,\s*([-+]?[0-9.]+)\s*", re.ASCII)
KEYWORD = ("keyword",)
"""The last step of a path to a text as a whole, as dynamic mappings of search engines name it."""
_LONGEST_KEYWORD = 256
_RADIUS_METRES = 6_371_008.7714


def words(text: str) -> list[str]:
    """The words of a text in lower case, as Lucene's standard analyser finds them.

    Runs of letters, digits, underscores and marks are words; a point or an apostrophe between two letters, or a
    point or a comma between two digits, is part of one. Every ideograph is a word.

    >>> words("Nikon D-850, don't pay 1,000.50!")
    ['nikon', 'd', '850', "don't", 'pay', '1,000.50']
    """
    # Letter by letter: the last sigma of a word and the dotted capital i have lower cases of their own elsewhere.
    plain = text.replace("\u03a3", "\u03c3").replace("\u0130", "i")
    return [word for word in _word().findall(lower(plain)) if word.strip("_")]


@lru_cache(maxsize=1)
def _word() -> re.Pattern[str]:
    """The rules of Unicode's word boundaries (UAX 29) that matter outside of Hebrew and emoji."""
    kinds: dict[str, list[str]] = {"M": [], "No": []}
    for code in range(0x10000):
        kind = unicodedata.category(chr(code))
        kinds.get(kind, kinds["M"] if kind[0] == "M" else []).append(chr(code))
    marks, signs = (re.escape("".join(kinds[kind])) for kind in ("M", "No"))
    alone = "\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    letter = f"(?![{signs}{alone}])[^\\W\\d_]"
    after_letter = f"(?:(?<=[^\\W\\d_])|(?<=[{marks}]))"
    inner = f"(?![{signs}{alone}])[\\w{marks}]"
    between = f"{after_letter}['.:\u00b7\u2019](?={letter})|(?<=\\d)['.,;\u2019](?=\\d)"
    return re.compile(f"[{alone}]|(?![{signs}])\\w(?:{inner}|{between})*")


# --- paths -----------------------------------------------------------------------------------------------------


def _path(type_: Type, steps: tuple[str, ...]) -> tuple[Type, Walk]:
    """As `find_path`, of values that may be NULL; NULL is no value of a document."""
    try:
        leaf, walk = find_path(type_, steps, _schemaless)
    except ArgumentError:
        if steps[-1:] != KEYWORD:
            raise
        leaf, inner = find_path(type_, steps[:-1], _schemaless)
        if leaf != STRING:
            raise
        return leaf, lambda value: filter(_is_keyword, () if value is None else inner(value))
    return leaf, lambda value: (found for found in (() if value is None else walk(value)) if found is not None)


def _is_keyword(value: Value) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_KEYWORD


def _schemaless(value: Value, steps: tuple[str, ...]) -> Iterator[Value]:
    if isinstance(value, list):
        for each in value:
            yield from _schemaless(each, steps)
    elif steps:
        if isinstance(value, dict):
            yield from _schemaless(value.get(steps[0]), steps[1:])
        elif steps == KEYWORD and _is_keyword(value):
            yield value
    elif value is not None and value != {}:
        yield value


def _steps(arguments: Sequence[Argument]) -> tuple[str, ...]:
    check_count(arguments, 1)
    for place, argument in enumerate(arguments[1:], 1):
        if not (argument.is_constant and argument.type == STRING and argument.value is not None):
            msg = "expected the name of a field as a constant text"
            raise ArgumentError(msg, place)
    return tuple(argument.value for argument in arguments[1:])


def _resolve(returns: Callable[[Type], Type]) -> Resolve:
    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        leaf, _ = _path(arguments[0].type, _steps(arguments))
        return Signature((arguments[0].type,) + (STRING,) * (len(arguments) - 1), array(returns(leaf)), zone)

    return resolve


def _bind(collect: Callable[[Type, Iterator[Value]], list[Value]]) -> Callable[[Signature], Scalar]:
    """The scalar form: what `collect` makes of the values at the path and their type."""

    def bind(signature: Signature) -> Scalar:
        known: dict[tuple[str, ...], tuple[Type, Walk]] = {}

        def scalar(value: Value, *steps: str) -> list[Value]:
            if steps not in known:
                known[steps] = _path(signature.parameters[0], steps)
            leaf, extract = known[steps]
            return collect(leaf, extract(value))

        return scalar

    return bind


def _values(_: Type, values: Iterator[Value]) -> list[Value]:
    return list(values)


def _words(leaf: Type, values: Iterator[Value]) -> list[Value]:
    return [word for value in values if leaf in (STRING, ANY) and isinstance(value, str) for word in words(value)]


def _vector_values(signature: Signature, columns: Sequence[Column]) -> Column:
    """A field without a path that holds one value a row is an array as it stands."""
    column = columns[0]
    if len(columns) > 1 or column.type.name in ("any", "array"):
        return apply_null_aware(_bind(_values)(signature), signature.returns, columns)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(column.valid)])
    items = column.take(np.flatnonzero(column.valid))
    return Column(signature.returns, ListValues(offsets, items), np.ones(len(column), np.bool_))


def _vector_words(signature: Signature, columns: Sequence[Column]) -> Column:
    """One call for each text that occurs."""
    column = columns[0]
    if len(columns) > 1 or not isinstance(column.values, pa.StringArray):
        return apply_null_aware(_bind(_words)(signature), signature.returns, columns)
    encoded = column.values.dictionary_encode()
    texts = [*map(words, encoded.dictionary.to_pylist()), []]  # NULL rows get the last entry
    found = column_of(signature.returns, texts)
    return found.take(encoded.indices.fill_null(len(texts) - 1).to_numpy().astype(np.int64))


def _define(
    name: str, resolve: Resolve, bind: Callable[[Signature], Scalar], vector: Vector | None = None
) -> None:
    register(Function(name, resolve, bind, vector, sees_null=True))


_define("field_values", _resolve(lambda leaf: leaf), _bind(_values), _vector_values)
_define("field_words", _resolve(lambda _: STRING), _bind(_words), _vector_words)


# --- positions -------------------------------------------------------------------------------------------------


def point_of(value: Value) -> tuple[float, float] | None:
    """Longitude and latitude of a position, None if it is none on earth.

    >>> point_of({"lat": 52.5, "lon": 13.4}), point_of([13.4, 52.5]), point_of("52.5, 13.4")
    ((13.4, 52.5), (13.4, 52.5), (13.4, 52.5))
    """
    lon: Value = None
    lat: Value = None
    if isinstance(value, dict):
        lon, lat = value.get("lon"), value.get("lat")
    elif isinstance(value, list) and len(value) in (2, 3):
        lon, lat = value[0], value[1]
    elif isinstance(value, str):
        match = _COORDINATES.fullmatch(value)
        try:
            lat, lon = (float(match[1]), float(match[2])) if match else (None, None)
        except ValueError:
            return None  # such as 1.2.3
    if not (_is_number(lon) and _is_number(lat) and abs(lon) <= 180 and abs(lat) <= 90):
        return None
    return float(lon), float(lat)


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _points(value: Value, steps: Sequence[str]) -> Iterator[Value]:
    """Positions at a path of a schemaless value: numbers in an array are one position, not several."""
    if isinstance(value, list) and (steps or not all(map(_is_number, value))):
        for each in value:
            yield from _points(each, steps)
    elif steps:
        if isinstance(value, dict):
            yield from _points(value.get(steps[0]), steps[1:])
    elif (found := point_of(value)) is not None:
        yield found


def _resolve_points(arguments: Sequence[Argument], zone: str) -> Signature:
    steps = _steps(arguments)
    leaf, _ = _path(arguments[0].type, steps)
    if leaf not in (ANY, STRING) and _places(leaf) is None:
        msg = f"expected positions: struct<lon: double, lat: double> or string, found {leaf}"
        raise ArgumentError(msg, 0)
    return Signature((arguments[0].type,) + (STRING,) * len(steps), array(POINT), zone)


def _places(leaf: Type) -> tuple[int, int] | None:
    """Where longitude and latitude stand in a struct."""
    fields = {name.lower(): place for place, (name, inner) in enumerate(leaf.fields) if is_fractional(inner)}
    return (fields["lon"], fields["lat"]) if {"lon", "lat"} <= fields.keys() else None


def _bind_points(signature: Signature) -> Scalar:
    type_ = signature.parameters[0]
    if type_ == ANY:
        return lambda value, *steps: list(_points(value, steps))

    def collect(leaf: Type, values: Iterator[Value]) -> list[Value]:
        places = _places(leaf)
        found = (value if places is None else [value[places[0]], value[places[1]]] for value in values)
        return [point for value in found if (point := point_of(value)) is not None]

    return _bind(collect)(signature)


_define("field_points", _resolve_points, _bind_points)


def _arc_metres(lon: float, lat: float, other_lon: float, other_lat: float) -> float:
    """Haversines; on a sphere with the mean radius of the earth."""
    north, other_north = math.radians(lat), math.radians(other_lat)
    east = math.sin(math.radians(other_lon - lon) / 2) ** 2
    square = math.sin((other_north - north) / 2) ** 2 + math.cos(north) * math.cos(other_north) * east
    return 2 * _RADIUS_METRES * math.asin(min(1.0, math.sqrt(square)))


register(Function("arc_metres", takes(DOUBLE, DOUBLE, DOUBLE, DOUBLE, returns=DOUBLE), always(_arc_metres)))
