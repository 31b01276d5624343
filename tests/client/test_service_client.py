"""What both clients have in common."""

from __future__ import annotations

import pytest

from tamis.client import AsyncClient, Client, ClientError
from tamis.client.calls.events import event_types
from tamis.client.service_client import ServiceClient


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_request_is_what_its_call_and_the_settings_say(kind: type[Client] | type[AsyncClient]) -> None:
    client = kind("http://127.0.0.1:9/", token="secret", timeout_seconds=7.0)
    request = client._request(event_types())
    assert client.url == "http://127.0.0.1:9"
    assert str(request.url) == client.url + event_types().path
    assert request.headers["Authorization"] == "Bearer secret"
    assert set(request.extensions["timeout"].values()) == {7.0}


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_an_address_that_cannot_be_one_is_refused(kind: type[Client] | type[AsyncClient]) -> None:
    with pytest.raises(ClientError, match="expected the address of the service"):
        kind("here")


def test_it_is_no_client_by_itself() -> None:
    with pytest.raises(TypeError, match="abstract"):
        ServiceClient("http://127.0.0.1:9")  # type: ignore[abstract]
