"""Validation reports what matching ignores."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.events import EventBatch, EventType, validate
from tamis.events.misfits import misfit_rows
from tamis.events.reading import read_json_lines

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
        (0, "price", "expected at least 0.00 (min), found -0.01"),
        (1, "price", "expected at most 1000.00 (max), found 1000.01"),
        (1, "weight", "expected at most 10.0 (max), found nan"),
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
        (0, "Price", "is not an attribute of the type; did you mean 'price'?"),
        (0, "wieght", "is not an attribute of the type; did you mean 'weight'?"),
        (0, "zzz", "is not an attribute of the type"),
    ]


def test_an_unknown_column_is_told_once() -> None:
    table = pa.table({"format": ["hard", "soft"], "prise": [1, 2], "price": ["a", "2"]})
    assert problems(table) == [
        (None, "prise", "is not an attribute of the type; did you mean 'price'?"),
        (0, "price", "expected decimal(8,2), found 'a'"),
    ]


def test_what_cannot_be_shown_is_no_error() -> None:
    assert problems({"format": "hard", "price": 10**5000}) == [
        (0, "price", "expected decimal(8,2), found a value of int")
    ]


def test_schemaless_events_have_no_problems() -> None:
    assert validate(EventBatch.of([{"a": object()}])) == []


STRUCTS = EventType.of(
    {"attributes": {"a": "int", "s": {"type": "struct", "attributes": {"b": "string"}}, "n": "double"}}
)
EVENTS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "a": st.one_of(st.none(), st.integers(-(2**40), 2**40), st.text(max_size=3), st.booleans()),
            "n": st.one_of(st.none(), st.floats(allow_nan=False), st.integers(-5, 5), st.just("1")),
            "s": st.one_of(
                st.none(), st.just(1), st.fixed_dictionaries({"b": st.one_of(st.text(max_size=2), st.integers())})
            ),
        },
    ),
    max_size=6,
)


@pytest.mark.slow
@given(EVENTS, st.booleans())
def test_invalid_rows_are_those_that_validation_finds(events: list[dict[str, Any]], scanned: bool) -> None:
    text = "".join(json.dumps(event) + "\n" for event in events).encode()
    for batch in read_json_lines(text, STRUCTS, _scan=scanned):
        expected = {problem.row for problem in validate(batch)}
        assert set(np.flatnonzero(misfit_rows(batch)).tolist()) == expected
        for path in (("a",), ("n",), ("s",), ("s", "b")):
            raw = batch.raw(path)
            there = raw.to_pylist() if isinstance(raw, pa.Array) else list(raw)
            assert batch.source.present(path).tolist() == [value is not None for value in there]


def test_what_is_required_must_be_there() -> None:
    event_type = EventType.of({"name": "e", "attributes": {"a": {"type": "int", "required": True}}})
    assert misfit_rows(EventBatch.of([{"a": 1}, {}, {"a": None}, {"a": "x"}], event_type)).tolist() == [
        False,
        True,
        True,
        True,
    ]
    table = pa.table({"a": pa.array([1, None], pa.int32())})
    assert misfit_rows(EventBatch.of(table, event_type)).tolist() == [False, True]


def test_no_row_is_invalid_without_declarations() -> None:
    assert misfit_rows(EventBatch.of([{"a": 1}, {"a": "x"}])).tolist() == [False, False]
