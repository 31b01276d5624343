"""Where the service is, and who asks."""

from __future__ import annotations

import pytest

import tamis
from tamis.client import AsyncClient, Client, ClientError
from tamis.client.settings import DEFAULT_URL, ClientSettings
from tamis.service.settings import PORT
from tests.client.clients import QUICK
from tests.client.conftest import Connect
from tests.client.server import Served


def settings(url: str | None = None, token: str | None = None) -> ClientSettings:
    return ClientSettings.of(url, token, timeout_seconds=1, quiet_seconds=1, retries=QUICK)


def test_what_is_given_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (settings().url, settings().token) == (DEFAULT_URL, None)
    monkeypatch.setenv("TAMIS_URL", "http://there:1/")
    monkeypatch.setenv("TAMIS_TOKEN", " secret\n")
    assert (settings().url, settings().token) == ("http://there:1", "secret")
    assert settings("https://here/tamis/", "mine").url == "https://here/tamis"
    assert settings("https://here/tamis/", "mine").token == "mine"


def test_the_default_is_where_a_service_listens_by_default() -> None:
    assert DEFAULT_URL.endswith(f":{PORT}")


@pytest.mark.parametrize("url", ["here", "ftp://here", "http://", "http://here?x=1", "http://here#x", "file:///x"])
def test_what_cannot_be_an_address_is_refused(url: str) -> None:
    with pytest.raises(ClientError, match="expected the address of the service") as caught:
        Client(url)
    assert (caught.value.status, caught.value.kind) == (None, "invalid")


@pytest.mark.parametrize("token", ["two words", "é", "a\nb"])
def test_what_cannot_be_a_token_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(ClientError, match="expected a token") as caught:
        AsyncClient("http://here", token=token)
    assert token not in str(caught.value)


def test_a_token_is_not_shown() -> None:
    assert "secret" not in repr(settings(token="secret"))


def test_every_request_says_who_asks(served: Served, connect: Connect, token: str) -> None:
    client = connect()
    [*client.subscriptions()]
    (asked,) = served.requests()
    assert asked.headers["authorization"] == f"Bearer {token}"
    assert asked.headers["user-agent"] == f"tamis/{tamis.__version__}"
    assert client.url == served.url


@pytest.mark.parametrize("token", [None, "tamis_0_wrong"])
def test_nobody_that_is_known_is_unauthorized(connect: Connect, token: str | None) -> None:
    with pytest.raises(ClientError) as caught:
        connect(token=token).get("one")
    assert (caught.value.status, caught.value.kind) == (401, "unauthorized")
