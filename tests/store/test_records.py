"""Records of subscriptions: what is taken, what is refused, and times."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest

from tamis.errors import SubscriptionError
from tamis.store.records import (
    GivenRecords,
    StoredSubscription,
    SubscriptionFields,
    is_storable,
    microseconds,
    moment,
    parse_record,
    parse_time,
    read_records,
)
from tamis.store.tables import ACTIVE, Row

NOW = 1_000_000


def test_what_is_not_given_has_defaults() -> None:
    assert parse_record({"id": "a", "condition": "x = 1"}, NOW) == SubscriptionFields("a", "x = 1", "event")
    assert parse_record({"id": "a", "condition": "x = 1", "priority": None, "owner": None}, NOW).priority == 0


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"id": ""}, "id: expected a text"),
        ({"id": "x" * 513}, "id: expected at most 512 characters"),
        ({"condition": None}, "condition: expected a text, found None"),
        ({"label": "a\0b"}, r"label: a text may not have the character U\+0000, found at offset 1"),
        ({"owner": "\ud800"}, "owner: not a text in UTF-8"),
        ({"priority": 1 << 63}, "priority: expected an integer of 64 bits"),
        ({"priority": True}, "priority: expected an integer of 64 bits"),
        ({"expires": "soon"}, "expires: expected a time"),
        ({"expires": 5}, "expires: expected a time"),
        ({"expires": "1970-01-01T00:00:01Z"}, "expires: expected a time after now"),
        (
            {"valid_from": "2030-01-01", "expires": "2029-01-01"},
            "expires: expected a time after valid_from, 2030-01-01",
        ),
    ],
)
def test_a_field_that_is_not_what_it_should_be_is_named(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(SubscriptionError, match=problem):
        parse_record({"id": "a", "condition": "x = 1", **fields}, NOW)


def test_records_come_as_mappings_or_as_an_arrow_table() -> None:
    rows: list[Mapping[str, Any]] = [
        {"id": "a", "condition": "true"},
        {"id": "b", "condition": "true", "label": "x"},
    ]
    assert read_records(rows) == GivenRecords(rows, frozenset({"id", "condition", "label"}), False)
    found = read_records(pa.table({"id": ["a"], "condition": ["true"]}))
    assert found == GivenRecords([{"id": "a", "condition": "true"}], frozenset({"id", "condition"}), False)
    assert read_records([]) == GivenRecords([], frozenset(), False)


def test_the_event_type_may_be_called_type() -> None:
    record = {"id": "a", "condition": "true", "type": "offer"}
    for rows in ([record], pa.Table.from_pylist([record])):
        found = read_records(rows)
        assert found.records == [{"id": "a", "condition": "true", "event_type": "offer"}]
        assert found.has_old_name
    with pytest.raises(SubscriptionError, match="give one of them"):
        read_records([{**record, "event_type": "order"}])


@pytest.mark.parametrize(
    ("record", "problem"),
    [({"id": "a"}, "the field 'condition' is missing"), ({"id": "a", "condition": "", "x": 1}, "no field 'x'")],
)
def test_fields_are_checked_for_all_records_at_once(record: dict[str, Any], problem: str) -> None:
    with pytest.raises(SubscriptionError, match=problem):
        read_records([record])


def test_times_are_microseconds_in_utc() -> None:
    noon = datetime(2026, 7, 1, 12, 0, 0, 5, tzinfo=UTC)
    east = noon.astimezone(timezone(timedelta(hours=2)))
    assert moment(microseconds(noon)) == noon
    assert microseconds(east) == microseconds(noon) == microseconds(noon.replace(tzinfo=None))
    assert parse_time("a", "expires", "2026-07-01T14:00:00.000005+02:00") == microseconds(noon)
    assert (parse_time("a", "expires", None), moment(None)) == (None, None)


def test_only_texts_that_every_database_holds_are_storable() -> None:
    assert [is_storable(text) for text in ("a", "é", "a\0b", "\ud800")] == [True, True, False, False]


def test_a_row_becomes_a_subscription_with_times() -> None:
    row = Row("a", 1, "true", "event", None, None, 0, None, 2 * NOW, 0, NOW, ACTIVE, None)
    stored = StoredSubscription.of(row)
    assert (stored.id, stored.valid_from, stored.expires) == ("a", None, moment(2 * NOW))
    assert stored.created == datetime(1970, 1, 1, tzinfo=UTC)
