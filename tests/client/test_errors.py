"""Errors of the client: parts for programs, a message for people."""

from __future__ import annotations

import pickle

import pytest

from tamis.client import Client, ClientError


def test_an_error_survives_pickling(client: Client) -> None:
    with pytest.raises(ClientError) as caught:
        client.test("price <")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.status, again.kind, again.problems) == (422, "condition", caught.value.problems)
    assert str(again) == str(caught.value)
