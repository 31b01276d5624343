"""Families of workloads, their plans, and generated workloads.

A family makes a plan from its parameters; a plan makes conditions and events, a block at a time. Condition i
depends on the seed, the parameters and i alone, unless the plan uses the number of subscriptions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from tamis.arrays import I64
from tamis.events.event_type import Attribute, EventType
from tamis.lab.workloads.draws import Draws
from tamis.lab.workloads.text import Phrases
from tamis.values.types import STRING, Type


@dataclass(frozen=True, slots=True)
class WorkloadPlan:
    """How to make the conditions and events of one workload.

    Attributes:
        event_type: Of the events; its first attribute is `id`.
        phrases: The meaning of the codes of conditions.
        conditions: The codes of a block of conditions, a row each (see `tamis.lab.workloads.text`).
        events: The columns of a block of events by name, all but `id`; null where an event has no such attribute.
        facts: Derived from the parameters, for users.
    """

    event_type: EventType
    phrases: Phrases
    conditions: Callable[[Draws], I64]
    events: Callable[[Draws], Mapping[str, pa.Array]]
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of workload.

    Attributes:
        name: As `generate` takes it.
        summary: One line for users.
        parameters: A frozen dataclass; see `tamis.lab.workloads.parameters`.
        plan: From parameters, seed and number of subscriptions to a plan.
    """

    name: str
    summary: str
    parameters: type
    plan: Callable[[Any, int, int], WorkloadPlan]


@dataclass(frozen=True, slots=True)
class Workload:
    """Generated subscriptions and events.

    Attributes:
        name: Of the family.
        seed: Of the random numbers.
        parameters: All of them, as used.
        facts: Derived from the parameters.
        event_type: Of the events.
        ids: Of the subscriptions: "s0", "s1", ...
        conditions: Of the subscriptions.
        events: A column an attribute, null where an event does not have it; `id` is "e0", "e1", ...
    """

    name: str
    seed: int
    parameters: Mapping[str, Any]
    facts: Mapping[str, Any]
    event_type: EventType
    ids: pa.StringArray
    conditions: pa.LargeStringArray
    events: pa.Table

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write everything as plain files into `folder`, which is made if it is not there.

        Returns:
            The files: `conditions.jsonl` (`id` and `condition`), `conditions.txt` (one a line), `events.jsonl`
            (attributes that an event does not have are left out), `events.parquet`, `event_type.json` and
            `workload.json` (family, seed, sizes, parameters).
        """
        from tamis.lab.workloads.files import write

        return write(self, Path(folder))


def event_type_of(name: str, *attributes: Attribute) -> EventType:
    """The event type of that name: `id`, then its own attributes."""
    return EventType(name, attributes=(Attribute("id", STRING, required=True), *attributes))


def numbered_attributes(prefix: str, count: int, type_: Type, **domain: Any) -> tuple[Attribute, ...]:
    """Attributes of one kind: prefix0, prefix1, ..."""
    return tuple(Attribute(f"{prefix}{number}", type_, **domain) for number in range(count))
