"""The contests of `buckets`: workloads with the parameters of PUBSUB's authors, contestants, and how much effort.

What the paper leaves open is fixed here, or is a default of `begen`: 1,000 values an attribute, ranges of 4% to
20% of them, a Zipf exponent of 1. Contestants are told by name: "buckets, 5000, it-node" has a capacity and a
structure, and may have an order of attributes, too; other names are engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.buckets_shape import Shaped
from benchmarks.engine_cases import Effort
from benchmarks.families import Case
from benchmarks.report import Size
from tamis.engines import ENGINES
from tamis.engines.base import Engine
from tamis.lab.baselines.betree import BETree
from tamis.lab.baselines.siena import Siena
from tamis.lab.mishra_sahni.buckets import Buckets

JUDGED = 1_000_000
"""Subscriptions at which the bars are set."""
CAPACITY = 5_000
"""Of a bucket, in all the paper's experiments but the first."""
DIMENSIONS = 400
STRUCTURES = ("it-node", "it-range", "rbpst-range", "rbpst-hull")
ORDERS = ("rare first", "frequent first", "as they come")
CHOICES: dict[str, float] = {"uniform": 0.0, "zipf": 1.0}
"""How attributes are chosen, and the exponents."""


def pubsub(structure: str, capacity: int = CAPACITY, order: str = ORDERS[0]) -> str:
    """The name of a contestant."""
    options = ["buckets", str(capacity), structure]
    return ", ".join(options if order == ORDERS[0] else [*options, order])


IT, RBPST = pubsub("it-node"), pubsub("rbpst-hull")
OTHERS = ("betree", "siena", "counting")
EVERYBODY = (IT, RBPST, *OTHERS)
_BASELINES: dict[str, Engine] = {"betree": BETree(), "siena": Siena()}


def engine_of(name: str) -> Engine | None:
    """The engine of a contestant; None if there is none of that name."""
    kind, *options = name.split(", ")
    if kind == "buckets" and options:
        capacity, structure, *orders = options
        chosen: Any = {"structure": structure, "order": orders[0] if orders else ORDERS[0]}
        return Shaped(Buckets(int(capacity), **chosen))
    return _BASELINES.get(name) or ENGINES.get(name)


def begen(choice: str, dimensions: int = DIMENSIONS, **more: float) -> Case:
    """The paper's data: 5 to 9 predicates, 10 to 20 attributes an event, 30% equalities, 1% matches."""
    parameters = {"attributes": dimensions, "exponent": CHOICES[choice], **more}
    label = [f"begen {choice}", f"{dimensions} dimensions", *(f"{name} {value:g}" for name, value in more.items())]
    return Case(", ".join(label), "begen", parameters)


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured.

    Attributes:
        effort: Events, batches, rounds; its numbers of subscriptions are not used.
        choices: How attributes are chosen.
        sizes: Numbers of subscriptions.
        swept: Subscriptions where something else is swept: capacities, dimensions, ranges over the middle.
        mixed: Subscriptions with attributes of several types.
        dimensions: Attributes that there are.
        capacities: Of buckets.
        matches: Shares of subscriptions that an event satisfies, where capacities are swept.
        shares: The same, where everybody takes part.
        middles: Shares of ranges that span the middle of the values.
        ranges: Numbers of ranges on one attribute, of which a structure is made.
        links: Numbers of structures that are looked up by bucket and attribute.
    """

    effort: Effort
    choices: tuple[str, ...]
    sizes: tuple[int, ...]
    swept: int
    mixed: int
    dimensions: tuple[int, ...]
    capacities: tuple[int, ...]
    matches: tuple[float, ...]
    shares: tuple[float, ...]
    middles: tuple[float, ...]
    ranges: tuple[int, ...]
    links: tuple[int, ...]


def _effort(events: int, rounds: int, seconds: float, changes: int) -> Effort:
    return Effort((), (), (), 0, 0, 0, events, min(events, 64), rounds, seconds, changes, 0)


EXTENTS: dict[Size, Extent] = {
    "smallest": Extent(
        _effort(16, 1, 0.0, 1),
        choices=("uniform",),
        sizes=(60, 90),
        swept=60,
        mixed=40,
        dimensions=(80, 120),
        capacities=(1, 5),
        matches=(0.05,),
        shares=(0.05,),
        middles=(0.5,),
        ranges=(30, 60),
        links=(30, 60),
    ),
    "quick": Extent(
        _effort(128, 3, 0.03, 1),
        choices=tuple(CHOICES),
        sizes=(2_000, 20_000),
        swept=10_000,
        mixed=1_000,
        dimensions=(100, 1_500),
        capacities=(1, 10, 100, 1_000, CAPACITY),
        matches=(0.001, 0.15),
        shares=(0.0001, 0.01),
        middles=(0.0, 1.0),
        ranges=(1_000, 10_000),
        links=(1_000, 10_000),
    ),
    "full": Extent(
        _effort(256, 5, 0.5, 3),
        choices=tuple(CHOICES),
        sizes=(100_000, 300_000, JUDGED, 2_000_000, 5_000_000),
        swept=JUDGED,
        mixed=100_000,
        dimensions=(100, 200, 400, 700, 1_000, 1_500),
        capacities=(1, 10, 50, 500, 1_000, CAPACITY, 50_000),
        matches=(0.0001, 0.01, 0.05, 0.15),
        shares=(0.0001, 0.001, 0.01),
        middles=(0.0, 0.25, 0.5, 0.75, 1.0),
        ranges=(1_000, 10_000, 100_000, JUDGED),
        links=(1_000, 10_000, 100_000, JUDGED),
    ),
}
