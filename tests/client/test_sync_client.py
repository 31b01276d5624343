"""What the client adds to its calls: chunks of events, and pages one after the other."""

from __future__ import annotations

import pytest

from tamis.client import Client, ClientError
from tests.client.server import Served


def test_each_chunk_has_its_answer(client: Client) -> None:
    answers = client.publish_chunks(({"id": number} for number in range(5)), chunk=2)
    assert [answer.ids for answer in answers] == [("0", "1"), ("2", "3"), ("4",)]


def test_events_have_the_type_that_is_named(client: Client) -> None:
    client.declare({"name": "camera", "attributes": {"price": "decimal(8,2)"}})
    client.publish({"id": "e1", "price": 1}, type="camera")
    assert client.event("e1").event_type == "camera"
    with pytest.raises(ClientError, match="there is no event type 'tripod'") as caught:
        client.publish({"id": "e2"}, type="tripod")
    assert caught.value.kind == "not-found"


def test_lists_of_events_come_page_by_page(served: Served, client: Client) -> None:
    client.publish({"id": number} for number in range(7))
    found = [*client.events(page=3)]
    assert [each.id for each in found] == ["6", "5", "4", "3", "2", "1", "0"]
    assert len(served.requests("/v1/events", "GET")) == 3
    assert [each.id for each in client.events(before=found[4].number)] == ["1", "0"]
