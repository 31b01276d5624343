"""The families by name, and the way from a name to a workload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.workloads.ads import ADS
from tamis.workloads.auction import AUCTION
from tamis.workloads.base import Family, Plan, Workload
from tamis.workloads.draws import BLOCK_CONDITIONS, BLOCK_EVENTS, Draws, Whole
from tamis.workloads.equality import EQUALITY
from tamis.workloads.parameters import WorkloadError, checked
from tamis.workloads.ranges import RANGES
from tamis.workloads.sparse import SPARSE
from tamis.workloads.strings import STRINGS
from tamis.workloads.text import Phrases, integers, render

WORKLOADS: dict[str, Family] = {
    family.name: family
    for family in (
        RANGES,
        EQUALITY,
        SPARSE,
        ADS,
        STRINGS,
        AUCTION,
    )
}


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
    family = WORKLOADS.get(name)
    if family is None:
        msg = f"there is no workload {name!r}; known are {', '.join(WORKLOADS)}"
        raise WorkloadError(msg)
    _check_sizes(name, subscriptions=subscriptions, events=events, seed=seed)
    used = checked(name, family.parameters, parameters)
    plan = family.plan(used, seed, subscriptions)
    return Workload(
        name=name,
        seed=seed,
        parameters=asdict(used),
        facts=plan.facts,
        event_type=plan.event_type,
        ids=_ids("s", subscriptions),
        conditions=_conditions(plan, name, seed, subscriptions),
        events=_events(plan, name, seed, events),
    )


def _check_sizes(name: str, **numbers: Any) -> None:
    for label, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            msg = f"workload {name}: {label}: expected a whole number that is not negative, found {number!r}"
            raise WorkloadError(msg)


def _conditions(plan: Plan, name: str, seed: int, wanted: int) -> pa.LargeStringArray:
    table = plan.phrases.table()

    def block(draws: Draws, rows: int) -> pa.LargeStringArray:
        return render(plan.conditions(draws)[:rows], table)

    return pa.concat_arrays(_blocks(block, seed, name, "conditions", wanted, BLOCK_CONDITIONS))


def _events(plan: Plan, name: str, seed: int, wanted: int) -> pa.Table:
    own = [each for each in plan.event_type.attributes or () if each.name != "id"]

    def block(draws: Draws, rows: int) -> pa.Table:
        columns = plan.events(draws)
        return pa.table({each.name: columns[each.name] for each in own}).slice(0, rows)

    table = pa.concat_tables(_blocks(block, seed, name, "events", wanted, BLOCK_EVENTS)).combine_chunks()
    return table.add_column(0, "id", _ids("e", wanted))


def _blocks(
    make: Callable[[Draws, int], Any], seed: int, name: str, part: str, wanted: int, block_rows: int
) -> list[Any]:
    """As many blocks as are wanted, the last one cut; one at least, so that there is something to join."""
    return [
        make(Draws(seed, name, part, number, block_rows), min(block_rows, wanted - number * block_rows))
        for number in range(max(1, -(-wanted // block_rows)))
    ]


def _ids(prefix: str, count: int) -> pa.StringArray:
    phrases = Phrases()
    codes: Whole = np.empty((count, 2), np.int64)
    codes[:, 0] = phrases.code(prefix)
    codes[:, 1] = integers(np.arange(count))
    return render(codes, phrases.table()).cast(pa.string())
