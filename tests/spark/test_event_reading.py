"""Events that are named and typed by columns beside them, read without Spark."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from tamis.errors import MisfitError
from tamis.events.dead_letters import DeadLetter
from tamis.events.event_type import EventType
from tamis.matchers import Matchers
from tamis.spark.event_reading import Reading

READING = Reading(json="value", id_column="name", type_column="kind", most_bytes=40)
SALE = EventType.of({"name": "sale", "attributes": {"price": "double"}})


def read(
    *rows: tuple[str | None, str | None, bytes], reading: Reading = READING
) -> tuple[dict[str, Any], list[DeadLetter]]:
    """The ids of the events that can be matched, by type, and what cannot."""
    names, kinds, values = ([row[place] for row in rows] for place in range(3))
    columns = {"name": pa.array(names, pa.string()), "kind": pa.array(kinds, pa.string())}
    table = pa.table({**columns, "value": pa.array(values, pa.binary())})
    dead: list[DeadLetter] = []
    found: dict[str, Any] = {}
    for each in reading.read(Matchers([SALE, EventType("any")]), table, dead):
        ids, good, _ = reading.check_events(each, reading.originals(table), dead)
        found.setdefault(each.matcher.event_type.name, []).extend(ids.filter(pa.array(good)).to_pylist())
    return found, dead


def test_columns_beside_an_event_name_it_and_its_type() -> None:
    found, dead = read(
        ("e1", "sale", b'{"id": "other", "price": 1}'),
        ("e2", "any", b'{"price": "x"}'),
        ("e3", "sale", b'{"price": 2}'),
    )
    assert found == {"sale": ["e1", "e3"], "any": ["e2"]}
    assert dead == []


def test_a_value_that_does_not_fit_is_null_and_counted() -> None:
    rows = pa.table({"id": ["a", "b", None], "price": ["1", "2", "3"]})
    (events,) = Reading(event_type="sale").read(Matchers([SALE]), rows, [])
    dead: list[DeadLetter] = []
    checked = Reading().check_events(events, Reading().originals(rows), dead)
    assert (checked.good.tolist(), checked.misfits) == ([True, True, False], 2)
    assert [each.kind for each in dead] == ["missing id"]
    assert read(("e1", "sale", b'{"price": "dear"}')) == ({"sale": ["e1"]}, [])


def test_a_misfit_may_be_refused() -> None:
    with pytest.raises(MisfitError) as caught:
        read(
            ("e1", "sale", b'{"price": 1}'),
            ("e2", "sale", b'{"price": "dear"}'),
            reading=replace(READING, on_misfit="refuse"),
        )
    error = caught.value
    assert (error.event, error.attribute, error.expected, error.found) == ("e2", "price", "double", "'dear'")
    with pytest.raises(ValueError, match="on_misfit: expected 'null', 'dead letter' or 'refuse', found 'drop'"):
        Reading(on_misfit="drop")  # type: ignore[arg-type]


def test_dead_letters_keep_the_names_of_their_columns() -> None:
    found, dead = read(
        ("e1", "sale", b'{"price": "dear"}'),
        ("e2", "sale", b"nonsense"),
        ("e3", "any", b'{"long": "' + b"x" * 50 + b'"}'),
        ("e4", "sale", b'{"price": 1}'),
        reading=replace(READING, on_misfit="dead letter"),
    )
    assert found["sale"] == ["e4"]
    assert {(each.event_id, each.kind) for each in dead} == {
        ("e1", "wrong type"),
        ("e2", "malformed"),
        ("e3", "oversized"),
    }


def test_an_unknown_type_is_told_without_the_types_of_others() -> None:
    _, dead = read(("e1", "rent", b"{}"), ("e2", None, b"{}"))
    assert {each.event_id: each.reason for each in dead} == {
        "e1": "there is no event type 'rent'",
        "e2": "kind is missing",
    }


def test_an_unknown_type_is_called_as_the_reader_of_dead_letters_calls_it() -> None:
    reading = replace(READING, shown_type=str.upper)
    _, dead = read(("e1", "rent", b"{}"), reading=reading)
    assert [each.reason for each in dead] == ["there is no event type 'RENT'"]
    assert pickle.loads(pickle.dumps(reading)) == reading


def test_a_type_that_events_name_themselves_is_told_with_those_that_are_known() -> None:
    reading = Reading(json="value", type_attribute="kind", id_column="name")
    _, dead = read(("e1", None, b'{"kind": "rent"}'), reading=reading)
    assert [(each.event_id, each.reason) for each in dead] == [
        ("e1", "there is no event type 'rent'; known are any, sale")
    ]


def test_an_event_without_a_name_is_dead() -> None:
    found, dead = read((None, "any", b'{"id": "x"}'))
    assert found == {"any": []}
    assert [(each.kind, each.original) for each in dead] == [("missing id", b'{"id": "x"}')]


def test_the_columns_that_are_read_must_be_there() -> None:
    assert READING.columns() == ["value", "name", "kind"]
    assert Reading(json="value").columns() == ["value"]


def test_an_attribute_tells_types_apart_whatever_comes_between() -> None:
    reading = Reading(json="value", type_attribute="kind")
    values = [b"nonsense", b'{"id": 1, "kind": "any"}', b"worse", b'{"id": 2, "kind": "sale"}', b"{}"]
    values += [b'{"id": 3, "kind": "any"}', b'{"id": 4, "kind": "sale"}']
    found, dead = read(*((None, None, value) for value in values), reading=reading)
    assert found == {"sale": ["2", "4"], "any": ["1", "3"]}
    assert sorted(each.original for each in dead) == sorted([values[0], values[2], values[4]])
