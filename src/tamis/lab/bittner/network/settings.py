"""The settings that all brokers of a network share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tamis.events.event_type import EventType
from tamis.lab.bittner.measures import MEMORY, Measure
from tamis.lab.bittner.pruning import Strategy
from tamis.lab.bittner.ranking import Estimates, Ranking

EngineName: TypeAlias = Literal["hits", "counting"]
Forwarding: TypeAlias = Literal["subscriptions", "advertisements"]


@dataclass(frozen=True, slots=True)
class PrePruning:
    """How far subscriptions are generalised before they are forwarded over a link, see `generalise`."""

    count: int | None = None
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """The settings that all brokers of a network share; see `tamis.lab.bittner.network.overlay.Overlay`.

    Attributes:
        ranking: Of entries, if ranks do not depend on the other entries of a broker.
    """

    event_type: EventType
    table: Estimates
    ranking: Ranking | None
    measure: Measure = MEMORY
    strategy: Strategy = "strict"
    forwarding: Forwarding = "subscriptions"
    engine: EngineName = "hits"
    conjunctive: bool = False
    covering: bool = False
    shortcut: bool = True
    pre: PrePruning | None = None
