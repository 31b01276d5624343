"""The names of fields of subscriptions, and what is said of others."""

from __future__ import annotations

import pytest

from tamis.errors import SubscriptionError
from tamis.segments.fields import with_event_type


def test_the_old_name_of_the_event_type_is_taken_for_the_new_one() -> None:
    assert with_event_type({"id": "a", "type": "offer"}) == ({"id": "a", "event_type": "offer"}, True)
    assert with_event_type({"id": "a", "event_type": "offer"}) == ({"id": "a", "event_type": "offer"}, False)
    assert with_event_type({"type": "offer", "event_type": "offer"}) == ({"event_type": "offer"}, True)
    assert with_event_type({"id": "a"}) == ({"id": "a"}, False)


def test_two_names_that_differ_are_refused() -> None:
    with pytest.raises(SubscriptionError, match="give one of them"):
        with_event_type({"type": "offer", "event_type": "order"})
