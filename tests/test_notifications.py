"""Ids of notifications can be computed by anybody, and tell different things apart."""

from __future__ import annotations

import hashlib
import json
import math
import random
import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.notifications import NOTIFICATIONS, dead_letter_ids, distinct, id_keys, json_object, notification_ids

texts = st.text(max_size=8)
numbers = st.integers(-(2**63), 2**63 - 1)


def id_by_hand(event_id: str, subscription_id: str, revision: int) -> str:
    content = b""
    for text in (event_id, subscription_id):
        content += struct.pack("<I", len(text.encode())) + text.encode()
    return hashlib.blake2b(content + struct.pack("<q", revision), digest_size=16).hexdigest()


@pytest.mark.slow
@given(st.lists(st.tuples(texts, texts, numbers), max_size=20))
def test_ids_are_what_the_documentation_says(pairs: list[tuple[str, str, int]]) -> None:
    kinds = [pa.string(), pa.string(), pa.int64()]
    columns = [pa.array([pair[i] for pair in pairs], kind) for i, kind in enumerate(kinds)]
    assert notification_ids(*columns).to_pylist() == [id_by_hand(*pair) for pair in pairs]


def test_ids_of_slices_and_chunks_are_those_of_the_rows() -> None:
    events = pa.chunked_array([["a", "b"], ["c", "d"]])
    subscriptions = pa.array(["-", "s", "t", "u", "v"]).slice(1)
    revisions = pa.array([0, 1, 2, 3, 4]).slice(1)
    expected = [id_by_hand(e, s, r) for e, s, r in zip("abcd", "stuv", (1, 2, 3, 4), strict=True)]
    assert notification_ids(events, subscriptions, revisions).to_pylist() == expected


def test_what_is_cut_elsewhere_has_another_id() -> None:
    ids = notification_ids(pa.array(["ab", "a"]), pa.array(["c", "bc"]), pa.array([1, 1])).to_pylist()
    assert ids[0] != ids[1]


def test_ids_cannot_be_made_of_null() -> None:
    with pytest.raises(ValueError, match="NULL"):
        notification_ids(pa.array(["a", None]), pa.array(["s", "s"]), pa.array([1, 1]))


def test_ids_of_dead_letters_are_what_the_documentation_says() -> None:
    content = struct.pack("<I", 3) + b"bad" + struct.pack("<I", 2) + b"\xff{"
    expected = hashlib.blake2b(content, digest_size=16).hexdigest()
    assert dead_letter_ids(pa.array(["bad"]), pa.array([b"\xff{"])).to_pylist() == [expected]


@given(st.lists(st.binary(min_size=16, max_size=16)))
def test_keys_sort_as_ids_do(values: list[bytes]) -> None:
    ids = pa.array([value.hex() for value in values], pa.string())
    keys = id_keys(ids)
    assert keys.shape == (2, len(values))
    order = np.lexsort((keys[1], keys[0]))
    assert [values[i] for i in order] == sorted(values)


@pytest.mark.parametrize("bad", ["", "ab", "0" * 33, "g" * 32, "0 " * 16, None])
def test_what_is_no_id_is_refused(bad: str | None) -> None:
    with pytest.raises(ValueError, match="hexadecimal"):
        id_keys(pa.array(["0" * 32, bad], pa.string()))


def test_distinct_does_not_depend_on_the_order_of_rows() -> None:
    times = [datetime(2026, 2, day, tzinfo=UTC) if day else None for day in (0, 3, 2)]
    made = [
        {
            "id": f"{number:032x}",
            "event_id": "e",
            "subscription_id": "s",
            "revision": 1,
            "event_type": "offer",
            "version": 1,
            "event_time": time,
            "matched_at": times[1],
        }
        for number in (5, 2**70, 9)
        for time in times
    ]
    chance = random.Random(1)
    for _ in range(5):
        chance.shuffle(made)
        kept = distinct(pa.Table.from_pylist(made, NOTIFICATIONS))
        assert kept["id"].to_pylist() == [f"{number:032x}" for number in (5, 9, 2**70)]
        assert kept["event_time"].to_pylist() == [times[2]] * 3


def test_distinct_of_nothing_is_nothing() -> None:
    assert distinct(NOTIFICATIONS.empty_table()).equals(NOTIFICATIONS.empty_table())


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"a": 1, "b": "é", "c": None}, '{"a":1,"b":"é","c":null}'),
        ({"at": date(2026, 1, 2), "price": Decimal("1.50")}, '{"at":"2026-01-02","price":"1.50"}'),
        ({"a": [math.nan, -math.inf]}, '{"a":["NaN","-Infinity"]}'),
        ({"a": "\ud800", "\udfff": math.nan}, '{"a":"?","?":"NaN"}'),
    ],
    ids=["plain", "no types of JSON", "no numbers of JSON", "half a character"],
)
def test_attributes_are_json_whatever_they_hold(values: dict[str, Any], text: str) -> None:
    assert json_object(values) == text
    assert json_object(json.loads(text)) == text
