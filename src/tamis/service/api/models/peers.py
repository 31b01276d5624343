"""Links to other services, and the ways of events across them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from tamis.service.api.models.fields import RequestModel, Text


class PeerGiven(RequestModel):
    """A neighbour: where its service is, and the token that both sides of the link know."""

    url: Text
    token: Text | None = None


class PeerMadeAnswer(BaseModel):
    """A link, with the token that its other end needs."""

    name: str
    url: str
    token: str
    state: str


class PeerAnswer(BaseModel):
    """A link and how it is doing; counts of events are of those that are kept, or since the start."""

    name: str
    url: str
    origin: str
    state: str
    since: datetime | None
    kind: str | None
    reason: str | None
    reach: list[str]
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


class PeersAnswer(BaseModel):
    """The links of a site."""

    site: str
    items: list[PeerAnswer]


class ForwardAnswer(BaseModel):
    """The way of an event to a neighbour: the entry that took it there, and what happened there."""

    link: str
    entry: str | None
    is_sent: bool
    outcome: Literal["useful", "in vain", "unknown"] | None
    there: RouteAnswer | None


class RouteAnswer(BaseModel):
    """What a site knows of an event: the sites before it, whom it concerned there, and the sites behind."""

    site: str
    event: str
    path: list[str]
    accepted: datetime
    is_matched: bool
    found: list[str]
    forwards: list[ForwardAnswer]


class RoutesAnswer(BaseModel):
    """The same of several events."""

    items: list[RouteAnswer | None]
