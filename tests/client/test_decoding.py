"""JSON of answers as records: newer services are read, other answers are named."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tamis.client import Accepted, ClientError, Notification, Rights, Subscription
from tamis.client.decoding import decode, decode_items, member

NOTIFICATION = {
    "seq": 7,
    "id": "abc",
    "subscription_id": "cheap",
    "event_id": "e1",
    "event_type": "event",
    "revision": 1,
    "version": 2,
    "matched_at": "2026-01-02T03:04:05.000006Z",
    "batch": 3,
}


def test_a_record_is_read_with_its_times() -> None:
    found = decode(Notification, NOTIFICATION)
    assert found.matched_at == datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert (found.seq, found.event_time) == (7, None)


def test_what_a_newer_service_says_besides_is_left_out() -> None:
    assert decode(Notification, {**NOTIFICATION, "mood": "good"}) == decode(Notification, NOTIFICATION)


def test_a_whole_number_will_do_for_any_number() -> None:
    rate = decode(Rights, {"requests_per_second": 5}).requests_per_second
    assert (rate, type(rate)) == (5.0, float)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seq": "7"}, "Notification.seq: expected a number, found '7'"),
        ({"seq": True}, "Notification.seq: expected a number, found True"),
        ({"id": 7}, "Notification.id: expected a text, found 7"),
        ({"matched_at": "yesterday"}, "Notification.matched_at: expected a time in ISO 8601, found 'yesterday'"),
        ({"matched_at": 5}, "Notification.matched_at: expected a time"),
        ({"event_id": "x" * 500, "seq": "y" * 500}, r"found 'y{79}\.\.\.$"),
    ],
)
def test_a_value_of_another_type_is_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ClientError, match=message) as caught:
        decode(Notification, NOTIFICATION | wrong)
    assert (caught.value.status, caught.value.kind) == (None, "unexpected")


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ClientError, match=r"lacks Notification\.seq"):
        decode(Notification, {name: value for name, value in NOTIFICATION.items() if name != "seq"})


def test_places_lead_into_lists_and_records() -> None:
    with pytest.raises(ClientError, match=r"Accepted\[1\]\.ids\[0\]: expected a text"):
        decode_items(Accepted, [{"accepted": 1, "repeated": 0}, {"accepted": 1, "repeated": 0, "ids": [3]}])
    with pytest.raises(ClientError, match=r"Accepted\.ids: expected an array"):
        decode(Accepted, {"accepted": 1, "repeated": 0, "ids": "e1"})
    stored = {"id": "s", "revision": 1, "condition": "x", "event_type": "event", "state": "active", "delivery": {}}
    with pytest.raises(ClientError, match=r"Subscription\.delivery\.kind"):
        decode(Subscription, stored)


@pytest.mark.parametrize("answer", [None, [], "text", 7])
def test_what_is_no_object_is_named(answer: Any) -> None:
    for ask in (lambda: decode(Accepted, answer), lambda: member(answer, "items")):
        with pytest.raises(ClientError, match="expected an object"):
            ask()
    with pytest.raises(ClientError, match="Accepted: expected an array"):
        decode_items(Accepted, {"items": []})
