"""Validation tells what matching keeps silent about."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

from tamis.events import EventBatch, EventType, validate

TYPE = EventType.from_dict(
    {
        "attributes": {
            "format": {"type": "string", "values": ["hard", "soft"], "required": True},
            "price": {"type": "decimal(8,2)", "min": 0, "max": 1000},
            "weight": {"type": "double", "max": 10},
            "author": "struct<name:string,born:date>",
            "tags": "array<string>",
        }
    }
)


def problems(events: Any) -> list[tuple[int | None, str, str]]:
    found = validate(EventBatch.of(events, TYPE))
    return [(problem.row, problem.attribute, problem.message) for problem in found]


def test_an_event_as_declared_has_no_problems() -> None:
    author = {"name": "x", "born": "1900-01-01"}
    assert problems({"format": "hard", "price": 5, "weight": 1, "author": author, "tags": []}) == []


def test_a_required_attribute_must_be_there() -> None:
    assert problems([{"format": "soft"}, {"format": None}, {}]) == [
        (1, "format", "is required"),
        (2, "format", "is required"),
    ]


def test_values_outside_the_domain() -> None:
    events = [
        {"format": "gone", "price": -0.01},
        {"format": "hard", "price": 1000.01, "weight": math.nan},
        {"format": "hard", "price": 1000, "weight": -math.inf},
    ]
    assert problems(events) == [
        (0, "format", "expected one of the values declared, found 'gone'"),
        (0, "price", "expected at least the min declared, found -0.01"),
        (1, "price", "expected at most the max declared, found 1000.01"),
        (1, "weight", "expected at most the max declared, found nan"),
    ]


def test_values_of_another_kind() -> None:
    event = {"format": "hard", "price": True, "author": {"born": "never"}, "tags": "x"}
    assert problems(event) == [
        (0, "price", "expected decimal(8,2), found True"),
        (0, "author.born", "expected date, found 'never'"),
        (0, "tags", "expected array<string>, found 'x'"),
    ]


def test_unknown_attributes_come_with_a_suggestion() -> None:
    assert problems({"format": "hard", "Price": 1, "wieght": 2, "zzz": 3}) == [
        (0, "Price", "is no attribute of the type; did you mean 'price'?"),
        (0, "wieght", "is no attribute of the type; did you mean 'weight'?"),
        (0, "zzz", "is no attribute of the type"),
    ]


def test_an_unknown_column_is_told_once() -> None:
    table = pa.table({"format": ["hard", "soft"], "prise": [1, 2], "price": ["a", "2"]})
    assert problems(table) == [
        (None, "prise", "is no attribute of the type; did you mean 'price'?"),
        (0, "price", "expected decimal(8,2), found 'a'"),
    ]


def test_what_cannot_be_shown_is_no_error() -> None:
    assert problems({"format": "hard", "price": 10**5000}) == [
        (0, "price", "expected decimal(8,2), found a value of int")
    ]


def test_schemaless_events_have_no_problems() -> None:
    assert validate(EventBatch.of([{"a": object()}])) == []
