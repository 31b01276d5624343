"""Event types are read whole or refused whole, and written as they are read."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tamis.errors import EventTypeError
from tamis.events import Attribute, EventType
from tamis.values.types import BIGINT, DATE, INT, STRING, TIMESTAMP, array, decimal, struct

BOOK: dict[str, Any] = {
    "name": "book",
    "time_zone": "Europe/Paris",
    "attributes": {
        "title": "string",
        "format": {"type": "string", "values": ["hard", "soft"], "required": True},
        "price": {"type": "decimal(8,2)", "min": 0, "max": 999.5},
        "out": {"type": "date", "min": "2026-01-01"},
        "sold": {"type": "timestamp", "max": "2026-01-01T00:00:00"},
        "author": {"type": "struct", "attributes": {"name": "string", "born": {"type": "date"}}},
        "prices": {"type": "array", "items": {"type": "array", "items": "int"}},
        "ratio": {"type": "double", "max": "Infinity"},
    },
}


def attribute(content: Any) -> Attribute:
    (found,) = EventType.from_dict({"attributes": {"a": content}}).attributes or ()
    return found


def problem(content: Any) -> str:
    with pytest.raises(EventTypeError) as caught:
        EventType.from_dict(content)
    return str(caught.value)


def test_operands_are_held_as_values_of_the_type() -> None:
    found = {one.name: one for one in EventType.from_dict(BOOK).attributes or ()}
    assert found["price"] == Attribute("price", decimal(8, 2), min=0, max=99950)
    assert found["out"] == Attribute("out", DATE, min=20454)
    assert found["sold"].max == 1767222000000000  # midnight in Paris
    assert found["format"] == Attribute("format", STRING, ("hard", "soft"), required=True)


def test_types_may_be_written_as_objects() -> None:
    found = {one.name: one.type for one in EventType.from_dict(BOOK).attributes or ()}
    assert found["author"] == struct(("name", STRING), ("born", DATE))
    assert found["prices"] == array(array(INT))


def test_to_dict_is_read_back_as_the_same_type() -> None:
    event_type = EventType.from_dict(BOOK)
    assert EventType.from_dict(json.loads(json.dumps(event_type.to_dict()))) == event_type


def test_a_decimal_operand_of_38_digits_survives_the_round_trip() -> None:
    text = "1234567890123456789012345678.1234567891"
    event_type = EventType.from_dict({"attributes": {"a": {"type": "decimal(38,10)", "min": text}}})
    assert EventType.from_dict(event_type.to_dict()) == event_type


def test_without_attributes_a_type_is_schemaless() -> None:
    assert EventType.from_dict({}).is_schemaless
    assert EventType.from_dict({}).to_dict() == {"name": "event", "time_zone": "UTC"}
    assert not EventType.from_dict({"attributes": {}}).is_schemaless


def test_names_are_found_without_regard_to_case() -> None:
    event_type = EventType.from_dict({"attributes": {"Price": "int", "PRICE": "bigint", "title": "string"}})
    assert [one.type for one in event_type.find("price")] == [INT, BIGINT]
    assert [one.name for one in event_type.find("TITLE")] == ["title"]
    assert event_type.find("tilte") == []


def test_all_problems_are_raised_at_once() -> None:
    message = problem(
        {
            "nam": "x",
            "time_zone": "Mars/Base",
            "attributes": {
                "a": "strin",
                "b": {"type": "int", "min": "1", "maxx": 2},
                "c": {"type": "struct", "attributes": {"d": {"type": "int", "min": 1}}},
            },
        }
    )
    assert [line.partition(":")[0].strip() for line in message.splitlines()[1:]] == [
        "nam",
        "time_zone",
        "attributes.a",
        "attributes.b.maxx",
        "attributes.b.min",
        "attributes.c.attributes.d.min",
    ]
    assert "did you mean 'name'?" in message


@pytest.mark.parametrize(
    ("content", "path"),
    [
        ({"type": "int", "min": 3.0}, "min"),
        ({"type": "int", "min": True}, "min"),
        ({"type": "tinyint", "max": 128}, "max"),
        ({"type": "decimal(8,2)", "min": 0.001}, "min"),
        ({"type": "decimal(8,2)", "max": 1e9}, "max"),
        ({"type": "string", "values": ["a", 1]}, "values[1]"),
        ({"type": "string", "values": []}, "values"),
        ({"type": "string", "values": ["a", None]}, "values"),
        ({"type": "date", "min": "2026-02-30"}, "min"),
        ({"type": "date", "min": 5}, "min"),
        ({"type": "timestamp", "min": 5}, "min"),
        ({"type": "boolean", "min": False}, "min"),
        ({"type": "array<int>", "values": [[1]]}, "values[0]"),
        ({"type": "double", "min": "NaN"}, "min"),
        ({"type": "int", "min": 2, "max": 1}, "min"),
        ({"type": "int", "required": "yes"}, "required"),
        ({"type": "int", "items": "int"}, "items"),
        ({"type": "struct", "attributes": {}}, "attributes"),
    ],
)
def test_a_malformed_domain_is_refused_by_its_path(content: Any, path: str) -> None:
    assert f"attributes.a.{path}:" in problem({"attributes": {"a": content}})


@pytest.mark.parametrize("content", [None, 3, [], {}, {"typ": "int"}, "struct<a:int"])
def test_what_is_no_type_is_refused(content: Any) -> None:
    assert "attributes.a" in problem({"attributes": {"a": content}})


def test_a_description_must_be_an_object() -> None:
    assert "expected an object" in problem([1])  # type: ignore[arg-type, unused-ignore]


def test_decimals_of_a_file_are_exact_from_their_text(tmp_path: Path) -> None:
    path = tmp_path / "book.json"
    path.write_text(
        '\ufeff{"attributes": {"a": {"type": "decimal(30,20)", "min": 0.10000000000000000001}}}', "utf-8"
    )
    (found,) = EventType.load(path).attributes or ()
    assert found.min == 10000000000000000001


def test_a_key_written_twice_in_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "book.json"
    path.write_text('{"attributes": {"a": "int", "a": "string"}}')
    with pytest.raises(EventTypeError, match="a: is written twice"):
        EventType.load(path)


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000, b"1"])
def test_a_broken_file_is_an_error_that_names_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises(EventTypeError, match=r"broken\.json"):
        EventType.load(path)


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(EventTypeError, match=r"nowhere\.json"):
        EventType.of(tmp_path / "nowhere.json")


def test_of_takes_every_description(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"attributes": {"a": "int"}}')
    expected = EventType(attributes=(Attribute("a", INT),))
    spark = {"type": "struct", "fields": [{"name": "a", "type": "integer", "nullable": True, "metadata": {}}]}
    arrow = pa.schema([("a", pa.int32())])
    for source in (path, str(path), {"attributes": {"a": "int"}}, spark, arrow, expected):
        assert EventType.of(source) == expected
    assert EventType.of(None).is_schemaless


def test_event_types_are_values() -> None:
    event_type = EventType.from_dict(BOOK)
    assert pickle.loads(pickle.dumps(event_type)) == event_type
    assert hash(event_type) == hash(EventType.from_dict(BOOK))
    assert pickle.loads(pickle.dumps(event_type)).find("TITLE")


def test_a_zone_that_spark_does_not_know_is_refused() -> None:
    with pytest.raises(EventTypeError, match="time_zone"):
        EventType(time_zone="Nowhere")


def test_an_attribute_may_not_be_there_twice() -> None:
    with pytest.raises(EventTypeError, match="twice"):
        EventType(attributes=(Attribute("a", INT), Attribute("a", TIMESTAMP)))
