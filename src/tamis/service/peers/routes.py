"""Where an event went: this site tells which entries took it to which neighbours, and asks them for the rest."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx2

from tamis.service.names import local_name
from tamis.service.peers import protocol
from tamis.service.peers.outbox import Forward

if TYPE_CHECKING:
    from tamis.service.core import Service

_SHOWN = 100
"""Subscriptions that are named, of those that an event concerned at a site."""
_TIMEOUT_SECONDS = 10.0


async def explain_route(service: Service, id: str, came_over: str | None = None) -> dict[str, Any] | None:
    """What this site and those behind it know of an event; None if that is nothing.

    Args:
        service: Of this site.
        id: The qualified id of the event.
        came_over: The link that the event must have come over, for a neighbour that asks.
    """
    found = await asyncio.to_thread(_look, service, id)
    if found is None or (came_over is not None and [*found["path"]][-1:] != [came_over]):
        return None
    forwards = found.pop("forwards")
    onward = await asyncio.gather(*(_ask(service, each) for each in forwards))
    conditions = await asyncio.to_thread(_conditions, service, forwards)
    return {
        **found,
        "forwards": [
            {
                "link": each.link,
                "entry": conditions.get(each.entry),
                "is_sent": each.sent is not None,
                "outcome": each.outcome,
                "there": there,
            }
            for each, there in zip(forwards, onward, strict=True)
        ],
    }


def _look(service: Service, id: str) -> dict[str, Any] | None:
    event = service.inbox.get([id]).get(id)
    if event is None:
        return None
    told = service.feed.of_event(id, limit=_SHOWN)
    return {
        "site": service.site.name,
        "event": local_name(id),
        "path": list(event.path),
        "accepted": event.at,
        "is_matched": event.number <= service.inbox.done(),
        "found": sorted({each.subscription_id for each in told}),
        "forwards": service.site.outbox.of_event(id),
    }


def _conditions(service: Service, forwards: list[Forward]) -> dict[str, str]:
    """The conditions of entries, as far as the neighbours still want them."""
    with service.store.view() as view:
        return {
            id: row.condition for id, row in view.rows([each.entry for each in forwards]).items() if row.living
        }


async def _ask(service: Service, forward: Forward) -> dict[str, Any] | None:
    """What a neighbour knows of an event that was sent to it; None if it does not answer."""
    links = {each.name: each for each in await asyncio.to_thread(service.site.links.all)}
    if forward.sent is None or forward.link not in links:
        return None
    link = links[forward.link]
    headers = {"Authorization": f"Bearer {link.token}", protocol.SITE_HEADER: service.site.name}
    names = protocol.EventNames(ids=[forward.event_id])
    try:
        async with httpx2.AsyncClient(headers=headers, timeout=_TIMEOUT_SECONDS, trust_env=False) as client:
            answer = await client.post(link.url + protocol.ROUTE, json=names.model_dump())
            if answer.status_code != httpx2.codes.OK:
                return None
            found: dict[str, Any] | None = answer.json()["items"][0]
            return found
    except (httpx2.HTTPError, ValueError):
        return None  # the neighbour is away; what is known here is shown all the same
