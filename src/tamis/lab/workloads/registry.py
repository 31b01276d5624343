"""The families by name, and the way from a name to a workload.

A workload is made in blocks of rows that depend on nothing but its arguments and their number: whoever makes the
blocks, in whichever order, makes the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.arrays import I64
from tamis.lab.workloads.ads import ADS
from tamis.lab.workloads.advertisements import ADVERTISEMENTS
from tamis.lab.workloads.artificial import ARTIFICIAL
from tamis.lab.workloads.auction import AUCTION
from tamis.lab.workloads.base import Family, Workload, WorkloadPlan
from tamis.lab.workloads.begen import BEGEN
from tamis.lab.workloads.boxes import BOXES
from tamis.lab.workloads.draws import BLOCK_CONDITIONS, BLOCK_EVENTS, Draws
from tamis.lab.workloads.equality import EQUALITY
from tamis.lab.workloads.jewel import JEWEL
from tamis.lab.workloads.overlap import OVERLAP
from tamis.lab.workloads.parameters import WorkloadError, check_parameters, check_sizes
from tamis.lab.workloads.ranges import RANGES
from tamis.lab.workloads.sparse import SPARSE
from tamis.lab.workloads.strings import STRINGS
from tamis.lab.workloads.text import Phrases, integers, render

WORKLOADS: dict[str, Family] = {
    family.name: family
    for family in (
        RANGES,
        EQUALITY,
        SPARSE,
        ADS,
        STRINGS,
        AUCTION,
        ADVERTISEMENTS,
        ARTIFICIAL,
        JEWEL,
        BEGEN,
        BOXES,
        OVERLAP,
    )
}
"""The families of workloads by name."""


def generate(
    name: str, *, subscriptions: int = 10_000, events: int = 1_024, seed: int = 0, **parameters: Any
) -> Workload:
    """Generate a workload; the same arguments give the same data.

    Args:
        name: Of a family in `WORKLOADS`.
        subscriptions: How many conditions; fewer are the first of more, unless a parameter depends on it.
        events: How many events; fewer are the first of more.
        seed: Any whole number that is not negative.
        parameters: Of the family; those not given have their defaults.

    Raises:
        WorkloadError: With everything that is wrong with the arguments.

    >>> data = generate("equality", subscriptions=2, events=1, seed=1)
    >>> data.conditions.to_pylist()
    ['a1 = 12 AND a7 = 12 AND a11 = 19', 'a4 = 8 AND a0 = 2 AND a6 = 9']
    """
    made = generator(name, subscriptions=subscriptions, events=events, seed=seed, **parameters)
    conditions = _concatenate(made.conditions, made.condition_blocks)
    return Workload(
        name=name,
        seed=seed,
        parameters=asdict(made.parameters),
        facts=made.plan.facts,
        event_type=made.plan.event_type,
        ids=conditions["id"].chunk(0),
        conditions=conditions["condition"].chunk(0),
        events=_concatenate(made.events, made.event_blocks),
    )


@dataclass(frozen=True, slots=True)
class Generator:
    """Makes a workload block by block.

    Attributes:
        name: Of the family.
        seed: That it is made from.
        parameters: Of the family, as used.
        plan: How rows are made.
        subscription_count: How many subscriptions there are.
        event_count: How many events there are.
    """

    name: str
    seed: int
    parameters: Any
    plan: WorkloadPlan
    subscription_count: int
    event_count: int

    @property
    def condition_blocks(self) -> int:
        """Number of blocks of subscriptions."""
        return -(-self.subscription_count // BLOCK_CONDITIONS)

    @property
    def event_blocks(self) -> int:
        """Number of blocks of events."""
        return -(-self.event_count // BLOCK_EVENTS)

    def conditions(self, block: int) -> pa.Table:
        """`id` and `condition` of the subscriptions of a block."""
        first = block * BLOCK_CONDITIONS
        rows = min(BLOCK_CONDITIONS, self.subscription_count - first)
        codes = self.plan.conditions(Draws(self.seed, self.name, "conditions", block, BLOCK_CONDITIONS))
        texts = render(codes[:rows], self.plan.phrases.table())
        return pa.table({"id": _ids("s", first, rows), "condition": texts})

    def events(self, block: int) -> pa.Table:
        """The events of a block: a column an attribute, in the order of the event type."""
        first = block * BLOCK_EVENTS
        rows = min(BLOCK_EVENTS, self.event_count - first)
        columns = self.plan.events(Draws(self.seed, self.name, "events", block, BLOCK_EVENTS))
        own = [each.name for each in self.plan.event_type.attributes or () if each.name != "id"]
        return pa.table({"id": _ids("e", first, rows), **{name: columns[name].slice(0, rows) for name in own}})


def generator(name: str, *, subscriptions: int, events: int, seed: int, **parameters: Any) -> Generator:
    """What makes the workload that `generate` gives for the same arguments.

    Raises:
        WorkloadError: With everything that is wrong with the arguments.
    """
    family = WORKLOADS.get(name)
    if family is None:
        msg = f"there is no workload {name!r}; known are {', '.join(WORKLOADS)}"
        raise WorkloadError(msg)
    check_sizes(name, subscriptions=subscriptions, events=events, seed=seed)
    used = check_parameters(name, family.parameters, parameters)
    return Generator(name, seed, used, family.plan(used, seed, subscriptions), subscriptions, events)


def _concatenate(make: Callable[[int], pa.Table], blocks: int) -> pa.Table:
    """All blocks as one; without any, the first one, which is empty, so that there are columns."""
    return pa.concat_tables([make(number) for number in range(max(1, blocks))]).combine_chunks()


def _ids(prefix: str, first: int, count: int) -> pa.StringArray:
    phrases = Phrases()
    codes: I64 = np.empty((count, 2), np.int64)
    codes[:, 0] = phrases.code(prefix)
    codes[:, 1] = integers(np.arange(first, first + count))
    return render(codes, phrases.table()).cast(pa.string())
