"""Calls about links between sites, and the way of events over them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tamis.client.calls.base import ApiCall, delete, get, put, under, without_none
from tamis.client.decoding import decode, decode_items, member
from tamis.client.models import Peer, PeerLink

_PEERS = "/v1/peers"


def peers() -> ApiCall[tuple[Peer, ...]]:
    """The links of the service's site; for the operator of the service only."""
    return get(_PEERS, lambda answer: decode_items(Peer, member(answer, "items")))


def link_peer(name: str, url: str, *, token: str | None = None) -> ApiCall[PeerLink]:
    """Make a link to a neighbour, or change it; for the operator of the service only.

    Args:
        name: Of the neighbour's site.
        url: Where its service is.
        token: That of the link, if the other end has made one; by default a new one.

    Raises:
        ClientError: "invalid" if the name, URL or token cannot be one, or the service has no name among sites.
    """
    return put(
        under(_PEERS, name), lambda answer: decode(PeerLink, answer), {"url": url, **without_none(token=token)}
    )


def unlink_peer(name: str) -> ApiCall[None]:
    """Remove a link, and what was not sent over it; for the operator of the service only.

    Raises:
        ClientError: "not-found".
    """
    return delete(under(_PEERS, name))


def route(event_id: str) -> ApiCall[Mapping[str, Any]]:
    """Where an event went: which entries took it to which sites, and whom it concerned there.

    Raises:
        ClientError: "not-found".
    """
    return get(under("/v1/routes", event_id), lambda answer: answer)
