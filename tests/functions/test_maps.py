"""Maps: values of Spark, repeated keys, objects of schemaless events, events of every source, what is refused."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tamis import Matcher
from tamis.errors import ConditionError
from tests.functions.values import value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("map('a', 1, 'b', NULL)", [("a", 1), ("b", None)]),
        ("map(1, 2, 1, 3)", None),
        ("map(array(1), 2, array(1), 3)", None),
        ("map_from_arrays(array('a'), array(1, 2))", None),
        ("map_from_arrays(array('a', NULL), array(1, 2))", None),
        ("map_concat(map('a', 1), map('a', 2))", None),
        ("map_contains_key(map(1, 'x'), 1L)", True),
        ("element_at(map('a', 1), 'z')", None),
        ("CAST(map('a', 1, 'b', NULL) AS STRING)", "{a -> 1, b -> null}"),
    ],
)
def test_values(text: str, expected: Any) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "map('a')",
        "map(map(1, 2), 3)",
        "map('a', 1) = map('a', 1)",
        "array(map('a', 1)) = array(map('a', 1))",
        "map('a', 1) IN (map('a', 1))",
        "element_at(map(1, 'x'), '1')",
        "map_contains_key(map(1, 'x'), NULL)",
        "map_keys(array(1))",
        "CAST(map('a', 1) AS MAP<INT, INT>)",
        "lower(map('a', 1))",
    ],
)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(ConditionError):
        value(text)


CONDITIONS = {
    "key": "map_contains_key(tags, 'b')",
    "value": "tags.a > 1",
    "none": "tags IS NULL",
    "empty": "size(tags) = 0",
}
EVENTS: list[tuple[Any, list[str]]] = [
    ({"a": 2}, ["value"]),
    ({"a": 1, "b": None}, ["key"]),
    ({}, ["empty"]),
    (None, ["none"]),
    ({"a": "x"}, ["none"]),
    ([["a", 2]], ["none"]),
]


def test_events_of_every_source() -> None:
    matcher = Matcher({"attributes": {"tags": "map<string,int>"}})
    for name, text in CONDITIONS.items():
        matcher.add(name, text)
    rows = [{"tags": tags} for tags, _ in EVENTS]
    expected = [sorted(found) for _, found in EVENTS]
    assert [sorted(matcher.match(row)) for row in rows] == expected
    kept = rows[:4]
    pairs = [None if row["tags"] is None else list(row["tags"].items()) for row in kept]
    table = pa.table({"tags": pa.array([[("z", 9)], *pairs], pa.map_(pa.string(), pa.int32()))}).slice(1)
    found = {(row, name) for row, names in enumerate(expected[:4]) for name in names}
    assert set(zip(*matcher.match_batch(table).to_pydict().values(), strict=True)) == found


def test_objects_of_schemaless_events_are_maps_of_texts() -> None:
    matcher = Matcher()
    matcher.add("key", "map_contains_key(tags, 'b')")
    matcher.add("value", "exists(map_values(tags), v -> v = 5)")
    assert matcher.match({"tags": {"b": 5}}) == ["key", "value"]
    assert matcher.match({"tags": [5]}) == []
