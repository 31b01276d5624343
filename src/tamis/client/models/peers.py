"""Links between sites, and the way of events over them, as the service answers it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class PeerLink:
    """A link that was made or changed.

    Attributes:
        name: Of the neighbour's site.
        url: Where its service is.
        token: What the neighbour needs for its end of the link.
        state: How the link is doing.
    """

    name: str
    url: str
    token: str = field(repr=False)
    state: str


@dataclass(frozen=True, slots=True)
class Peer:
    """A link and how it is doing.

    Attributes:
        name: Of the neighbour's site.
        url: Where its service is.
        origin: "settings" or "api".
        state: new, linked, down, refused or cut.
        since: When it came into that state.
        kind: Why it is not linked, for programs.
        reason: Why, for people.
        reach: The sites behind the neighbour.
        tamis: The version of tamis there, as of the last handshake since the service was started; None before.
        protocol: The version of the protocol of links that it speaks.
        entries_in: Routing entries that the neighbour has sent.
        entries_in_bytes: Bytes of their texts.
        entries_out: Routing entries for the neighbour.
        entries_out_bytes: Bytes of their texts.
        subscriptions_out: Distinct conditions that these stand for.
        is_over_budget: Are they longer than the setting `link_bytes` allows?
        halvings: How often their bytes were halved, by what was measured (`link_cutoff`).
        announced_in: Conditions of the events that may come from the neighbour; None if any may.
        announced_out: Conditions of the events that may go to it; None if any may.
        backlog: Events that wait to be sent.
        lag_seconds: How long the oldest of them has waited.
        forwarded: Events that were sent, as far as they are kept.
        useful: Of these, those that concerned somebody there or went on from there.
        in_vain: Those that did not.
        taken: Events that came over the link since the service was started.
        repeated: Those that had come before.
        refused: Those without a tenant or event type here.
        looped: Those that had been here before.
    """

    name: str
    url: str
    origin: str
    state: str
    since: datetime | None
    kind: str | None
    reason: str | None
    reach: tuple[str, ...]
    tamis: str | None
    protocol: int | None
    entries_in: int
    entries_in_bytes: int
    entries_out: int
    entries_out_bytes: int
    subscriptions_out: int
    is_over_budget: bool
    halvings: int
    announced_in: int | None
    announced_out: int | None
    backlog: int
    lag_seconds: float
    forwarded: int
    useful: int
    in_vain: int
    taken: int
    repeated: int
    refused: int
    looped: int
