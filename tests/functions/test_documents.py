"""Fields of documents: all values at a path, their words, positions and distances; batches equal single rows."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tamis.functions import FUNCTIONS
from tamis.functions.documents import POINT, point_of, words
from tamis.functions.registry import Argument, ArgumentError
from tamis.values.column import column_of
from tamis.values.types import ANY, DOUBLE, INT, STRING, Type, array, parse_type


def found(name: str, type_: Type, values: list[Any], *steps: str) -> list[Any]:
    """The results for values at a path, after checking that the batch form agrees."""
    function = FUNCTIONS[name]
    path = [Argument(STRING, is_constant=True, value=step) for step in steps]
    signature = function.resolve([Argument(type_), *path], "UTC")
    expected = [function.scalar(signature)(value, *steps) for value in values]
    columns = [column_of(type_, values), *(column_of(STRING, [step] * len(values)) for step in steps)]
    assert function.apply(signature, columns, len(values)).to_list() == expected
    return expected


def test_values_of_schemaless_fields() -> None:
    assert found("field_values", ANY, [1, "x", None, [1, None, [2]], {}, {"b": 1}]) == [
        [1],
        ["x"],
        [],
        [1, 2],
        [],
        [{"b": 1}],
    ]
    nested = [{"b": 1}, [{"b": [1, 2]}, {"c": 3}, 4], {"b": {"c": 1}}, None, 5]
    assert found("field_values", ANY, nested, "b") == [[1], [1, 2], [{"c": 1}], [], []]
    assert found("field_values", ANY, nested, "b", "c") == [[], [], [1], [], []]


@pytest.mark.parametrize(
    ("type_", "values", "steps", "expected"),
    [
        ("int", [1, None, 3], (), [[1], [], [3]]),
        ("string", ["x", None], (), [["x"], []]),
        ("array<int>", [[1, None, 2], None, []], (), [[1, 2], [], []]),
        ("array<array<int>>", [[[1], None, [2, None]]], (), [[1, 2]]),
        ("struct<b: int>", [(1,), (None,), None], ("B",), [[1], [], []]),
        ("array<struct<b: array<int>, c: int>>", [[([1, 2], 0), None, (None, 9)]], ("b",), [[1, 2]]),
    ],
)
def test_values_of_declared_fields(type_: str, values: list[Any], steps: tuple[str, ...], expected: Any) -> None:
    assert found("field_values", parse_type(type_), values, *steps) == expected


def test_empty_batches() -> None:
    for name in ("field_values", "field_words"):
        assert found(name, STRING, []) == []


def test_words() -> None:
    assert words("It's 3.5 km_h, naïve İstanbul! ΟΔΟΣ") == ["it's", "3.5", "km_h", "naïve", "istanbul", "οδοσ"]
    assert words("U.S.A. a.b 1,000 a.1 x..y _ _a_ m² 東京 ひ हिन्दी") == [
        *("u.s.a", "a.b", "1,000", "a", "1", "x", "y", "_a_", "m", "東", "京", "ひ", "हिन्दी")
    ]
    assert found("field_words", STRING, ["A b", None, "A b", ""]) == [["a", "b"], [], ["a", "b"], []]
    assert found("field_words", ANY, ["A", 5, ["B c", 1, None]]) == [["a"], [], ["b", "c"]]
    assert found("field_words", parse_type("array<string>"), [["A", None, "b c"]]) == [["a", "b", "c"]]
    assert found("field_words", INT, [5]) == [[]]


@pytest.mark.parametrize(
    ("value", "point"),
    [
        ({"lat": 1, "lon": 2}, (2.0, 1.0)),
        ([2, 1], (2.0, 1.0)),
        ([2, 1, 99], (2.0, 1.0)),
        ("1, 2", (2.0, 1.0)),
        (" -1.5,+2 ", (2.0, -1.5)),
        ({"lat": 1}, None),
        ({"lat": "1", "lon": 2}, None),
        ({"lat": True, "lon": 2}, None),
        ([2, 91], None),
        ([181, 1], None),
        ([1], None),
        ("1.2.3, 4", None),
        ("u33d", None),
        (None, None),
        (math.nan, None),
    ],
)
def test_positions(value: Any, point: tuple[float, float] | None) -> None:
    assert point_of(value) == point


def test_positions_of_fields() -> None:
    values = [[2, 1], [[2, 1], {"lat": 3, "lon": 4}, "x"], [{"at": [2, 1]}], None]
    assert found("field_points", ANY, values) == [[(2.0, 1.0)], [(2.0, 1.0), (4.0, 3.0)], [], []]
    assert found("field_points", ANY, values, "at") == [[], [], [(2.0, 1.0)], []]
    declared = parse_type("array<struct<lat: double, name: string, lon: double>>")
    assert found("field_points", declared, [[(1.0, "x", 2.0), (None, "y", 2.0)]]) == [[(2.0, 1.0)]]
    assert found("field_points", STRING, ["1,2", "x", None]) == [[(2.0, 1.0)], [], []]


def test_types() -> None:
    signature = FUNCTIONS["field_points"].resolve([Argument(ANY)], "UTC")
    assert signature.returns == array(POINT)
    for name, type_, message in (
        ("field_points", INT, "expected positions"),
        ("field_points", parse_type("struct<lat: double>"), "expected positions"),
    ):
        with pytest.raises(ArgumentError, match=message):
            FUNCTIONS[name].resolve([Argument(type_)], "UTC")
    step = Argument(STRING, is_constant=True, value="x")
    for type_ in (INT, parse_type("struct<b: int>")):
        with pytest.raises(ArgumentError, match="there is no field 'x'"):
            FUNCTIONS["field_values"].resolve([Argument(type_), step], "UTC")
    with pytest.raises(ArgumentError, match="expected the name of a field as a constant"):
        FUNCTIONS["field_values"].resolve([Argument(ANY), Argument(STRING)], "UTC")


def test_distances() -> None:
    function = FUNCTIONS["arc_metres"]
    signature = function.resolve([Argument(DOUBLE)] * 4, "UTC")
    metres = function.scalar(signature)
    half = math.pi * 6_371_008.7714
    assert metres(0.0, 0.0, 0.0, 0.0) == 0
    assert metres(0.0, 90.0, 77.0, -90.0) == pytest.approx(half)
    assert metres(179.0, 0.0, -179.0, 0.0) == pytest.approx(half / 90)
    north, other, east = math.radians(52.52), math.radians(52.39), math.radians(13.405 - 13.06)
    cosine = math.sin(north) * math.sin(other) + math.cos(north) * math.cos(other) * math.cos(east)
    assert metres(13.405, 52.52, 13.06, 52.39) == pytest.approx(half / math.pi * math.acos(cosine), rel=1e-6)
