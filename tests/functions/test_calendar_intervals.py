"""Arithmetic of calendar intervals: typing, and what is no value."""

from __future__ import annotations

import pytest

from tamis import Matcher
from tamis.errors import ConditionError, EventTypeError
from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument
from tamis.values.column import column_of
from tamis.values.types import parse_type


@pytest.mark.parametrize(
    ("name", "types", "returns"),
    [
        ("+", ("date", "interval"), "date"),
        ("-", ("timestamp_ntz", "interval"), "timestamp_ntz"),
        ("+", ("interval", "string"), "string"),
        ("*", ("int", "interval"), "interval"),
        ("/", ("interval", "decimal(5,2)"), "interval"),
        ("-", ("interval", "interval"), "interval"),
        ("make_interval", ("int",), "interval"),
    ],
)
def test_types_of_results(name: str, types: tuple[str, ...], returns: str) -> None:
    found = FUNCTIONS[name].resolve([Argument(parse_type(each)) for each in types], "UTC")
    assert str(found.returns) == returns


def test_columns_are_added_as_single_values() -> None:
    types = [parse_type("date"), parse_type("interval")]
    signature = FUNCTIONS["+"].resolve([Argument(each) for each in types], "UTC")
    days, lengths = [0, 30, 5, None], [(1, 1, 0), (0, 0, 1), None, (0, 0, 0)]
    columns = [column_of(types[0], days), column_of(types[1], lengths)]
    assert FUNCTIONS["+"].apply(signature, columns, 4).to_list() == [32, None, None, None]


def test_a_condition_on_them_matches_with_every_kind_of_event() -> None:
    typed = Matcher({"attributes": {"due": "date", "months": "int"}})
    for matcher in (typed, Matcher()):
        matcher.add("late", "DATE(due) + make_interval(0, CAST(months AS INT), 0, 1) > DATE '2024-03-01'")
        matcher.add("none", "make_interval(CAST(months AS INT)) IS NULL")
        assert matcher.match({"due": "2024-01-31", "months": 1}) == []
        assert matcher.match({"due": "2024-01-31", "months": 2}) == ["late"]
        assert matcher.match({"due": "2024-01-31", "months": None}) == ["none"]


def test_they_are_not_compared_and_are_no_attributes() -> None:
    with pytest.raises(ConditionError, match="does not take intervals of months and days"):
        Matcher().add("order", "make_interval(1) < make_interval(2)")
    with pytest.raises(EventTypeError, match="attributes cannot be intervals"):
        Matcher({"attributes": {"length": "interval"}})
