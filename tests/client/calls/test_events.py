"""Event types and advertisements, with both clients."""

from __future__ import annotations

import pytest

from tamis.client import Client, ClientError

CAMERA = {"name": "camera", "attributes": {"price": "decimal(8,2)", "brand": "string"}}


def test_event_types_are_declared_and_given_back(client: Client) -> None:
    declared = client.declare(CAMERA)
    assert declared.event_type["attributes"] == CAMERA["attributes"]
    assert declared.refused == ()
    assert client.event_type("camera") == declared
    assert "camera" in [each["name"] for each in client.event_types()]
    with pytest.raises(ClientError, match="there is no event type 'tripod'"):
        client.event_type("tripod")
    with pytest.raises(ClientError, match="event type with a name"):
        client.declare({"attributes": {}})


def test_an_event_type_that_nothing_needs_is_dropped(client: Client) -> None:
    client.declare(CAMERA)
    client.subscribe("price < 3", id="cheap", event_type="camera")
    with pytest.raises(ClientError, match="has 1 living subscription") as refused:
        client.drop_event_type("camera")
    assert refused.value.kind == "conflict"
    client.unsubscribe("cheap")
    client.drop_event_type("camera")
    assert "camera" not in [each["name"] for each in client.event_types()]


def test_what_a_change_would_refuse_is_told_before_it_is_made(client: Client) -> None:
    client.declare(CAMERA)
    client.subscribe("brand = 'Sony'", id="sony", event_type="camera")
    narrow = {"name": "camera", "attributes": {"price": "decimal(8,2)"}}
    (refused,) = client.declare(narrow, dry_run=True).refused
    assert (refused.id, [each.start for each in refused.problems]) == ("sony", [0])
    assert client.get("sony").refusal is None
    assert [each.id for each in client.declare(narrow).refused] == ["sony"]
    assert "brand" in (client.get("sony").refusal or "")
    assert [each.id for each in client.event_type("camera").refused] == ["sony"]


def test_an_advertisement_is_compared_with_what_was_published(client: Client) -> None:
    said = client.advertise("cheap things", "price < 100")
    assert (said.id, said.condition, said.event_type) == ("cheap things", "price < 100", "event")
    assert client.advertisements() == (said,)
    client.publish([{"price": 1}, {"price": 2}, {"price": 200}])
    found = client.advertisement("cheap things")
    assert (found.advertisement, found.events, found.conforming) == (said, 3, 2)
    client.withdraw("cheap things")
    assert client.advertisements() == ()
    for ask in (client.advertisement, client.withdraw):
        with pytest.raises(ClientError, match="there is no advertisement 'cheap things'"):
            ask("cheap things")
