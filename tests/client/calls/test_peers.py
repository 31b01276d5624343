"""Links and routes, with both clients."""

from __future__ import annotations

import pytest

from tamis.client import Client, ClientError
from tests.client.conftest import Connect
from tests.client.server import Served


def test_links_are_for_the_operator_of_a_service_with_a_name(
    client: Client, connect: Connect, served: Served
) -> None:
    operator = connect(token=served.token("default"))
    assert operator.peers() == ()
    with pytest.raises(ClientError, match="set site") as caught:
        operator.link_peer("north", "http://127.0.0.1:9")
    assert caught.value.kind == "invalid"
    with pytest.raises(ClientError) as caught:
        operator.unlink_peer("north")
    assert caught.value.kind == "not-found"
    with pytest.raises(ClientError) as caught:
        client.peers()
    assert caught.value.kind == "forbidden"


def test_a_route_is_that_of_an_event(client: Client) -> None:
    client.publish({"id": "way/1", "x": 1})
    found = client.route("way/1")
    assert (found["event"], found["path"], found["forwards"]) == ("way/1", [], [])
    with pytest.raises(ClientError) as caught:
        client.route("nothing")
    assert caught.value.kind == "not-found"
