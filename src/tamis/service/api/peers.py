"""Links between sites: their administration, and what neighbours call.

The routes of neighbours (`/v1/link/...`) need the token of a link and take nothing else; that token opens nothing
else.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response

from tamis.service.api.auth import CurrentService, Operator, Subscriber, in_thread, service_of
from tamis.service.api.models.peers import PeerGiven, PeerMadeAnswer, PeersAnswer, RouteAnswer, RoutesAnswer
from tamis.service.api.paths import ANY_ID
from tamis.service.api.problems import RESPONSES
from tamis.service.errors import NotFound, Overloaded, Unauthorized
from tamis.service.names import qualified_name
from tamis.service.peers import protocol
from tamis.service.peers.links import Link
from tamis.service.peers.routes import explain_route

router = APIRouter(prefix="/v1", tags=["peers"], responses=RESPONSES)
linked = APIRouter(tags=["peers"], include_in_schema=False)

SiteName = Annotated[str, Path(description="1 to 63 of a-z, 0-9 and -.")]


@router.get("/peers", response_model=PeersAnswer)
async def peers(caller: Operator, service: CurrentService) -> Any:
    """The links of this site, and how they are doing."""
    return {"site": service.site.name, "items": await in_thread(service.site.status)}


@router.put("/peers/{name}", response_model=PeerMadeAnswer)
async def put_peer(name: SiteName, given: PeerGiven, caller: Operator, service: CurrentService) -> Any:
    """Make a link to a neighbour, or change it; without a token it gets one, which the neighbour needs, too."""
    link = await in_thread(service.site.links.put, name, given.url, given.token)
    return {"name": link.name, "url": link.url, "token": link.token, "state": link.state}


@router.delete("/peers/{name}", status_code=204)
async def remove_peer(name: SiteName, caller: Operator, service: CurrentService) -> None:
    """Remove a link, what the neighbour wanted, and what was not sent to it."""
    await in_thread(service.site.remove_link, name)


@router.get(f"/routes/{ANY_ID}", response_model=RouteAnswer)
async def route(
    id: Annotated[str, Path(description="The id of an event.")], caller: Subscriber, service: CurrentService
) -> Any:
    """Where an event went: which entries took it to which sites, whom it concerned there, and what was in vain."""
    found = await explain_route(service, qualified_name(caller.tenant, id))
    if found is None:
        msg = f"there is no event {id!r}"
        raise NotFound(msg)
    return found


async def _link(request: Request) -> Link:
    """The link whose token a request has.

    Raises:
        Unauthorized: It has none.
    """
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    site = service_of(request).site
    name = request.headers.get(protocol.SITE_HEADER, "")
    if site.name and scheme.lower() == "bearer":
        for link in await in_thread(site.links.all):
            if link.name == name and link.opens(token.strip()):
                found: Link = link
                return found
    msg = "that needs the token of a link, and the name of its site"
    raise Unauthorized(msg)


CurrentLink = Annotated[Link, Depends(_link)]


@linked.post(protocol.HELLO)
async def hello(said: protocol.Hello, link: CurrentLink, service: CurrentService) -> protocol.HelloAnswer:
    """Agree to a link, or say why not."""
    found: protocol.HelloAnswer = await in_thread(service.site.hello, link, said)
    return found


@linked.post(protocol.ENTRIES)
async def entries(
    changes: protocol.EntryChanges, link: CurrentLink, service: CurrentService
) -> protocol.EntriesAnswer:
    """Keep and remove entries of a neighbour."""
    found: protocol.EntriesAnswer = await in_thread(service.site.take_entries, link, changes)
    return found


@linked.post(protocol.EVENTS)
async def events(request: Request, link: CurrentLink, service: CurrentService) -> protocol.EventsAnswer:
    """Take events of a neighbour; they are on disk when this answers, each once."""
    if await service.backlog() > service.settings.most_waiting:
        msg = f"over {service.settings.most_waiting:,} events wait for the stream already"
        raise Overloaded(msg, 5.0)
    given = protocol.read_events(await request.body())
    fit = await in_thread(service.site.check_events, link, given)
    is_new = await service.inbox_commits.submit(fit)
    taken = sum(is_new)
    service.site.received[link.name, "taken"] += taken
    service.site.received[link.name, "repeated"] += len(fit) - taken
    return protocol.EventsAnswer(taken=taken, repeated=len(fit) - taken, refused=len(given) - len(fit))


@linked.post(protocol.OUTCOMES)
async def outcomes(
    asked: protocol.EventNames, link: CurrentLink, service: CurrentService
) -> protocol.OutcomesAnswer:
    """What became of events that a neighbour has sent."""
    return protocol.OutcomesAnswer(outcomes=await in_thread(service.site.outcomes, link, asked.ids))


@linked.post(protocol.ROUTE)
async def onward(asked: protocol.EventNames, link: CurrentLink, service: CurrentService) -> Response:
    """Where events that a neighbour has sent went from here."""
    found = [await explain_route(service, id, came_over=link.name) for id in asked.ids]
    answer = RoutesAnswer.model_validate({"items": found})
    return Response(answer.model_dump_json(), media_type="application/json")
