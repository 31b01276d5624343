"""What receivers get, and what they have to answer a handshake with."""

from __future__ import annotations

import json

import pytest

from tamis.service.webhooks.client import CallResult
from tamis.service.webhooks.messages import handshake_body, handshake_problem, notification_body
from tamis.service.webhooks.records import FeedRow

NOTIFICATION = FeedRow(
    12,
    "0" * 32,
    "acme/cheap",
    "acme/é1",
    "acme/order",
    2,
    7,
    1_600_000_000_000_000,
    1_700_000_000_000_001,
    5,
    "bargains",
    '{"price":1.5,"shop":"é"}',
)


def test_a_notification_comes_in_the_names_of_its_owner_and_with_its_event_as_it_was() -> None:
    body = notification_body(NOTIFICATION, b'{"price": 1.50, "n": 12345678901234567890.10}')
    assert b'"event":{"price": 1.50, "n": 12345678901234567890.10}' in body
    assert json.loads(body) == {
        "type": "tamis.notification",
        "timestamp": "2023-11-14T22:13:20.000001Z",
        "data": {
            "notification": {
                "seq": 12,
                "id": "0" * 32,
                "subscription_id": "cheap",
                "event_id": "é1",
                "event_type": "order",
                "revision": 2,
                "version": 7,
                "event_time": "2020-09-13T12:26:40.000000Z",
                "matched_at": "2023-11-14T22:13:20.000001Z",
                "batch": 5,
                "owner": "acme",
                "label": "bargains",
                "attributes": {"price": 1.5, "shop": "é"},
            },
            "event": {"price": 1.5, "n": 12345678901234567890.10},
        },
    }
    assert "acme/" not in body.decode()


def test_a_notification_without_label_and_kept_attributes_says_so() -> None:
    message = json.loads(notification_body(NOTIFICATION._replace(label=None, attributes=None), None))
    told = message["data"]["notification"]
    assert (told["owner"], told["label"], told["attributes"]) == ("acme", None, None)


@pytest.mark.parametrize("event_time", [None, 2**62, -(2**62)])
def test_an_event_that_is_gone_or_of_no_time_is_told_all_the_same(event_time: int | None) -> None:
    message = json.loads(notification_body(NOTIFICATION._replace(event_time=event_time), None))
    assert message["data"]["event"] is None
    assert message["data"]["notification"]["event_time"] is None


def test_a_handshake_asks_for_its_challenge() -> None:
    message = json.loads(handshake_body("acme/cheap", "c1", 0))
    assert message == {
        "type": "tamis.handshake",
        "timestamp": "1970-01-01T00:00:00.000000Z",
        "data": {"subscription_id": "cheap", "challenge": "c1"},
    }


@pytest.mark.parametrize("body", [b"c1", b" c1\r\n", b'{"challenge": "c1"}', b'{"challenge": "c1", "more": [1]}'])
def test_these_answers_agree(body: bytes) -> None:
    assert handshake_problem(CallResult(200, None, 0.1, body), "c1") is None


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b""),
        (200, b"ok"),
        (200, b"c2"),
        (200, b"this is c1 of yours"),
        (200, b'["c1"]'),
        (200, b'{"challenge": null}'),
        (200, b'{"challenge": "c1"'),
        (200, b"[" * 60_000),
        (200, b"\xff\xfe"),
        (201, b"c1"),
        (204, b""),
    ],
)
def test_these_do_not(status: int, body: bytes) -> None:
    problem = handshake_problem(CallResult(status, None, 0.1, body), "c1")
    assert problem is not None
    assert "handshake" in problem


def test_a_failed_call_says_why() -> None:
    assert handshake_problem(CallResult(None, "no answer", 0.1), "c1") == "no answer"
