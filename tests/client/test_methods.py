"""Methods that descriptions of calls become."""

from __future__ import annotations

import inspect
import pydoc

import pytest

from tamis.client import AsyncClient, Client, ClientError, Retries
from tamis.client.calls.conditions import lint


def test_both_clients_have_the_same_methods_arguments_and_words() -> None:
    def public(kind: type[object]) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")} - {"close", "aclose"}

    assert public(Client) == public(AsyncClient)
    for name in public(Client):
        one, other = getattr(Client, name), getattr(AsyncClient, name)
        assert inspect.getdoc(one) == inspect.getdoc(other), name
        if callable(one):
            assert [*inspect.signature(one).parameters] == [*inspect.signature(other).parameters], name
            assert inspect.getdoc(one), name


def test_a_method_of_a_call_is_a_method_with_its_words() -> None:
    for client in (Client("http://127.0.0.1:9"), AsyncClient("http://127.0.0.1:9")):
        assert inspect.ismethod(client.lint)
        assert (client.lint.__name__, client.lint.__doc__) == ("lint", lint.__doc__)
        assert [*inspect.signature(client.lint).parameters] == [*inspect.signature(lint).parameters]
        shown = pydoc.plain(pydoc.render_doc(type(client)))
        assert "lint(self, /, " in shown


def test_calls_are_sent_by_the_client_they_are_called_on() -> None:
    with Client("http://127.0.0.1:9", retries=Retries(attempts=1)) as client, pytest.raises(ClientError):
        client.event_types()
    waiting = AsyncClient("http://127.0.0.1:9").event_types()
    assert inspect.iscoroutine(waiting)
    waiting.close()
