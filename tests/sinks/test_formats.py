"""What is written can be read again, to the last byte."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.notifications import ADDED, DEAD_LETTERS, NOTIFICATIONS, json_object
from tamis.sinks.formats import FORMATS, Format, json_lines
from tests.sinks.deliveries import START, dead_letters, notifications

formats = pytest.mark.parametrize("format", FORMATS.values(), ids=FORMATS)


@formats
@settings(max_examples=30)
@given(st.lists(st.binary(max_size=20)))
def test_dead_letters_come_back(format: Format, originals: list[bytes]) -> None:
    table = dead_letters(originals, START)
    assert format.decode(bytes(format.encode(table)), DEAD_LETTERS).equals(table)


instants = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))
notification_rows = st.fixed_dictionaries(
    {
        "id": st.just("0" * 32),
        "event_id": st.text(),
        "subscription_id": st.text(),
        "revision": st.integers(0, 2**63 - 1),
        "event_type": st.text(),
        "version": st.integers(0, 2**63 - 1),
        "event_time": st.none() | instants,
        "matched_at": instants,
        "owner": st.none() | st.text(),
        "label": st.none() | st.text(),
        "attributes": st.none()
        | st.dictionaries(st.text(), st.text() | st.integers() | st.floats()).map(json_object),
        "priority": st.just(0) | st.integers(-(2**63), 2**63 - 1),
    }
)


@formats
@settings(max_examples=30)
@given(st.lists(notification_rows, max_size=5))
def test_notifications_come_back(format: Format, made: list[dict[str, object]]) -> None:
    table = pa.Table.from_pylist(made, NOTIFICATIONS)
    assert format.decode(bytes(format.encode(table)), NOTIFICATIONS).equals(table)


@formats
def test_files_of_before_come_back_without_what_was_added(format: Format) -> None:
    before = notifications([(2, 0)], START).select(NOTIFICATIONS.names[:8])
    found = format.decode(bytes(format.encode(before)), NOTIFICATIONS)
    assert found.select(before.column_names).equals(before)
    assert [found[name].to_pylist() for name in ADDED] == [[None], [None], [None], [0]]


def test_json_is_for_everybody() -> None:
    row = json.loads(json_lines(notifications([(1, 7)], START))[0])
    assert row == {
        "id": row["id"],
        "event_id": "event 1 é",
        "subscription_id": "s7",
        "revision": 2,
        "event_type": "offer",
        "version": 1,
        "event_time": "2026-02-28T11:59:59.123456Z",
        "matched_at": "2026-02-28T12:00:00.123456Z",
        "owner": "yuto",
        "label": '"7" é',
        "attributes": {"price": 0.25, "shop": "é\n"},
    }
    assert list(json.loads(json_lines(notifications([(2, 0)], START))[0])) == NOTIFICATIONS.names[:8], "no nulls"
    assert json.loads(json_lines(notifications([(2, 42)], START))[0])["priority"] == -1
    letters = [json.loads(line) for line in json_lines(dead_letters(["é{".encode(), b"\xff"], START))]
    assert letters[0]["original"] == "é{"
    assert letters[1]["original_base64"] == "/w=="
