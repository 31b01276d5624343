"""What two linked services say to each other: paths, versions, and events as lines.

All of it goes over HTTP with the token of the link. A site shows its name in a header. Events are pairs of lines:
what a site knows of the event, as JSON, and its text as it was published, so that numbers keep all their digits.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping

from pydantic import BaseModel, Field

from tamis.events.event_type import EventType
from tamis.routing.load import Load
from tamis.service.inbox import Arrival, InboxEvent
from tamis.service.peers.links import LinkError

PROTOCOL = 1
"""The version of all this; services of different ones are not linked."""
SITE_HEADER = "Tamis-Site"
HELLO, ENTRIES, EVENTS, OUTCOMES, ROUTE = (
    f"/v1/link/{each}" for each in ("hello", "entries", "events", "outcomes", "route")
)


class Hello(BaseModel):
    """What a site says of itself when a link begins, and now and then.

    Attributes:
        site: Its name.
        protocol: The version that it speaks.
        tamis: The version of tamis, for people.
        reach: The sites that it reaches without the other.
        types: Hashes of the event types that it knows, by qualified name.
        digest: Of the keys of the entries that it thinks the other has of it.
        announced: Event types and conditions of the events that may come from it; None for any.
        load: What matching costs it, and what it sent the other in vain.
    """

    site: str
    protocol: int
    tamis: str
    reach: list[str]
    types: dict[str, str]
    digest: str = ""
    announced: list[tuple[str, str]] | None = None
    load: Load = Load()


class HelloAnswer(Hello):
    """The same of the other one, and the keys of the entries that it has, unless the digest was that of them."""

    entries: list[str] | None = None


class EntryChanges(BaseModel):
    """Entries to add and to remove, and the descriptions of the event types of those to add."""

    types: dict[str, dict[str, object]] = {}
    add: list[tuple[str, str]] = Field(default=[], description="Event type and condition of each.")
    remove: list[str] = []


class EntriesAnswer(BaseModel):
    """The digest of all entries that there are now, and why some are not, by their keys: tenant or condition."""

    digest: str
    refused: dict[str, str] = {}


class EventsAnswer(BaseModel):
    """How many events are new there, were there before, or have no tenant or event type there."""

    taken: int
    repeated: int
    refused: int


class EventNames(BaseModel):
    """Qualified ids of events that were sent before."""

    ids: list[str]


class OutcomesAnswer(BaseModel):
    """What became of events, by id; of those that are not matched yet, nothing."""

    outcomes: dict[str, str]


def type_hashes(types: Mapping[str, EventType]) -> dict[str, str]:
    """Of each event type a hash that tells whether another site means the same by its name."""
    return {
        name: hashlib.blake2b(json.dumps(each.to_dict(), sort_keys=True).encode(), digest_size=8).hexdigest()
        for name, each in types.items()
    }


def check_hello(said: Hello, name: str, types: Mapping[str, str]) -> None:
    """Refuse a neighbour that is another one, or that means something else by a name.

    Raises:
        LinkError: Of the kind name, protocol or event type.
    """
    if said.site != name:
        msg = f"the service at the other end of the link to {name!r} is called {said.site!r}"
        raise LinkError(msg, "name")
    if said.protocol != PROTOCOL:
        msg = f"site {name!r} speaks version {said.protocol} of the protocol, this one {PROTOCOL}"
        raise LinkError(msg, "protocol")
    differ = sorted(each for each, hash in said.types.items() if types.get(each, hash) != hash)
    if differ:
        msg = f"site {name!r} has declared the event type {differ[0]!r} in another way"
        raise LinkError(msg, "event type")


def write_events(events: Iterable[InboxEvent], site: str) -> bytes:
    """Events as lines, which have passed this site as well."""
    lines: list[bytes] = []
    for each in events:
        about = {"id": each.id, "type": each.event_type, "path": [*each.path, site]}
        lines += [json.dumps(about).encode(), each.value]
    return b"\n".join(lines)


def read_events(body: bytes) -> list[Arrival]:
    """Events of lines.

    Raises:
        LinkError: They are not what `write_events` gives.
    """
    lines = body.split(b"\n") if body else []
    try:
        found = []
        for about, value in zip(lines[::2], lines[1::2], strict=True):
            said = json.loads(about)
            found.append(Arrival(str(said["id"]), str(said["type"]), value, tuple(map(str, said["path"]))))
    except (ValueError, KeyError, TypeError) as error:
        msg = f"expected pairs of lines, what is known of an event and its text: {error}"
        raise LinkError(msg, "protocol") from error
    return found
