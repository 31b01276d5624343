"""The list of events: the newest first, each with its number of matches."""

from __future__ import annotations

from collections.abc import Callable

from tamis.service.page import events
from tamis.service.page.page_request import PageRequest


def test_events_have_their_matches_and_only_those_of_the_tenant_are_shown(ask: Callable[..., PageRequest]) -> None:
    data = events.data(ask())
    matches = {each["id"]: each["matches"] for each in data["items"]}
    assert (matches["e1"], matches["half"]) == (2, 0)
    assert "acme-event" not in matches
    numbers = [each["number"] for each in data["items"]]
    assert numbers == sorted(numbers, reverse=True)
    assert data["next"] is None


def test_a_filter_and_a_place_to_begin(ask: Callable[..., PageRequest]) -> None:
    assert events.data(ask(event_type="other"))["items"] == []
    first = events.data(ask())["items"][0]
    later = events.data(ask(before=str(first["number"])))
    assert first["id"] not in {each["id"] for each in later["items"]}
