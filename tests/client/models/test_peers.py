"""Links as the service answers them."""

from __future__ import annotations

from tamis.client.decoding import decode
from tamis.client.models import PeerLink


def test_the_token_of_a_link_is_never_shown_by_accident() -> None:
    made = decode(PeerLink, {"name": "n", "url": "http://n", "token": "link_secret", "state": "new"})
    assert made.token == "link_secret"
    assert "secret" not in repr(made)
