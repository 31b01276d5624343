"""Values of many JSON objects by key: the same whether an object was scanned or read by Python."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tamis.events.json_objects import JsonObjects, scan
from tamis.events.json_scan import LEFT

EVENTS: list[dict[str, Any]] = [
    {"a": 1, "b": "x", "c": {"d": [1, 2], "e": None}},
    {"b": "é\n", "a": None},
    {},
    {"a": 1.5, "c": {"d": '"quoted"', "f": {"g": True}}},
    {"c": 7, "a": [1, {"x": 2}]},
]


def objects_of(events: list[dict[str, Any]], read_by_python: frozenset[int]) -> JsonObjects:
    """Objects, some of which are left to Python by a key with an escape."""
    texts = []
    for row, event in enumerate(events):
        text = json.dumps(event)
        texts.append(text.replace('"a"', '"\\u0061"') if row in read_by_python else text)
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(text) for text in encoded])
    block = np.frombuffer(b"".join(encoded), np.uint8)
    scanned = scan(block, ends - [len(text) for text in encoded], ends, len(encoded))
    left = np.flatnonzero(scanned.states == LEFT).tolist()
    assert set(left) == {row for row in read_by_python if "a" in events[row]}
    others = {row: json.loads(texts[row]) for row in left}
    return JsonObjects(block, len(events), scanned, np.arange(len(events)), others, json.loads)


@pytest.mark.parametrize("read_by_python", [frozenset(), frozenset({0}), frozenset({1, 3}), frozenset(range(5))])
def test_values_presence_and_names_by_key(read_by_python: frozenset[int]) -> None:
    objects = objects_of(EVENTS, read_by_python)
    for name in ("a", "b", "c", "missing"):
        assert objects.values(name) == [event.get(name) for event in EVENTS]
    inner = [event["c"] if isinstance(event.get("c"), dict) else {} for event in EVENTS]
    child = objects.child("c")
    assert child.present.tolist() == [bool(each) for each in inner]
    for name in ("d", "e", "f"):
        assert child.values(name) == [each.get(name) for each in inner]
    assert child.child("f").values("g") == [None, None, None, True, None]
    assert sorted(objects.names()) == sorted((row, name) for row, event in enumerate(EVENTS) for name in event)


def test_of_a_key_written_twice_the_last_value_counts() -> None:
    text = b'{"a": 1, "b": 2, "a": 3}'
    block = np.frombuffer(text, np.uint8)
    scanned = scan(block, np.zeros(1, np.int64), np.array([len(text)]), 1)
    assert JsonObjects(block, 1, scanned, np.zeros(1, np.int64), {}, json.loads).values("a") == [3]


def test_tables_grow_with_keys_and_values() -> None:
    events = [{f"k{row} {key}": key for key in range(60)} for row in range(150)]
    objects = objects_of(events, frozenset())
    assert objects.values("k149 59") == [*[None] * 149, 59]
