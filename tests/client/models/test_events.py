"""Events and advertisements as the service answers them."""

from __future__ import annotations

from tamis.client.decoding import decode
from tamis.client.models import Accepted, Conformity, Event

AT = "2026-07-01T12:00:00Z"
ADVERTISEMENT = {"id": "a", "condition": "x > 0", "event_type": "event", "created": AT}


def test_the_event_itself_is_kept_as_json_has_it() -> None:
    event = decode(Event, {"number": 3, "id": "e", "event_type": "event", "at": AT, "event": {"x": [1, None]}})
    assert (event.event, event.notifications) == ({"x": [1, None]}, ())


def test_counts_of_a_publish_and_of_an_advertisement() -> None:
    assert decode(Accepted, {"accepted": 1, "repeated": 2}) == Accepted(1, 2, ())
    found = decode(Conformity, {"advertisement": ADVERTISEMENT, "events": 5, "conforming": 4})
    assert (found.advertisement.condition, found.events, found.conforming) == ("x > 0", 5, 4)
