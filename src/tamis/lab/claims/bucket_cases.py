"""Workloads with the parameters of PUBSUB's authors, and contestants.

What the paper leaves open is fixed here, or is a default of `begen`: 1,000 values an attribute, ranges of 4% to
20% of them, a Zipf exponent of 1. Contestants are told by name: "buckets, 5000, it-node" has a capacity and a
structure, and may have an order of attributes or "suffix", too; other names are engines.
"""

from __future__ import annotations

from typing import Any

from tamis.engines import ENGINES
from tamis.engines.base import Engine
from tamis.lab.baselines.betree import BETree
from tamis.lab.baselines.siena import Siena
from tamis.lab.claims.bucket_shape import Shaped
from tamis.lab.measuring.cases import Case
from tamis.lab.mishra_sahni.buckets import Buckets

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
        capacity, structure, *more = options
        chosen: Any = {"structure": structure, "order": next((each for each in more if each in ORDERS), ORDERS[0])}
        chosen["strings"] = "suffix" if "suffix" in more else "automaton"
        return Shaped(Buckets(int(capacity), **chosen))
    return _BASELINES.get(name) or ENGINES.get(name)


def begen(choice: str, dimensions: int = DIMENSIONS, **more: float) -> Case:
    """The paper's data: 5 to 9 predicates, 10 to 20 attributes an event, 30% equalities, 1% matches."""
    parameters = {"attributes": dimensions, "exponent": CHOICES[choice], **more}
    label = [f"begen {choice}", f"{dimensions} dimensions", *(f"{name} {value:g}" for name, value in more.items())]
    return Case(", ".join(label), "begen", parameters)
