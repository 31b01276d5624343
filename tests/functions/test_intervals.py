"""Arithmetic of intervals: typing, ranges, and the vector forms equal to the scalar ones."""

from __future__ import annotations

import pytest

from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument, ArgumentError
from tamis.values.column import column_of
from tamis.values.types import Type, parse_type


def signature_types(name: str, *types: str) -> str:
    found = FUNCTIONS[name].resolve([Argument(parse_type(each)) for each in types], "UTC")
    return str(found.returns)


@pytest.mark.parametrize(
    ("name", "types", "returns"),
    [
        ("-", ("timestamp", "timestamp"), "interval day to second"),
        ("-", ("date", "date"), "interval day"),
        ("+", ("date", "interval day"), "date"),
        ("+", ("date", "interval hour"), "timestamp"),
        ("+", ("interval month", "date"), "date"),
        ("-", ("timestamp_ntz", "interval year to month"), "timestamp_ntz"),
        ("+", ("interval day", "interval minute"), "interval day to minute"),
        ("*", ("int", "interval day"), "interval day to second"),
        ("/", ("interval month", "double"), "interval year to month"),
    ],
)
def test_types_of_results(name: str, types: tuple[str, ...], returns: str) -> None:
    assert signature_types(name, *types) == returns


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("+", ("interval day", "interval month")),
        ("-", ("interval day", "date")),
        ("/", ("int", "interval day")),
        ("*", ("interval day", "interval day")),
        ("%", ("interval day", "int")),
        ("=", ("interval day", "interval month")),
    ],
)
def test_what_does_not_go_together(name: str, types: tuple[str, ...]) -> None:
    with pytest.raises(ArgumentError):
        signature_types(name, *types)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize("name", ["+", "-"])
def test_columns_are_added_as_single_values(name: str, zone: str) -> None:
    moments = [0, -1, 1_710_054_000_000_000, 1_710_000_000_000_000, 2**63 - 1, None]
    lengths = [86_400_000_000, -3_600_000_000, 1, 90_000_000_000, 2**63 - 1, 5]
    timestamp, length = parse_type("timestamp"), parse_type("interval day to second")
    for types in ((timestamp, length), (length, length), (timestamp, timestamp)):
        if types == (timestamp, timestamp) and name == "+":
            continue
        _compare(name, types, list(zip(moments, lengths, strict=True)), zone)
        _compare(name, types, list(zip(moments[:4], lengths[:4], strict=True)), zone)


def _compare(name: str, types: tuple[Type, Type], rows: list[tuple[int | None, int]], zone: str) -> None:
    function = FUNCTIONS[name]
    signature = function.resolve([Argument(type_) for type_ in types], zone)
    scalar = function.scalar(signature)
    columns = [column_of(type_, [row[at] for row in rows]) for at, type_ in enumerate(signature.parameters)]
    assert function.apply(signature, columns, len(rows)).to_list() == [scalar(*row) for row in rows]


def test_what_leaves_the_range_is_null() -> None:
    days = FUNCTIONS["*"]
    signature = days.resolve([Argument(parse_type("interval day")), Argument(parse_type("bigint"))], "UTC")
    assert days.scalar(signature)(86_400_000_000, 10**9) is None
    assert days.scalar(signature)(86_400_000_000, 2) == 172_800_000_000
