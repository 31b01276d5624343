"""A workload with its parameters, and the subscriptions and events that it gives; all come from one seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tamis.engines.forest import Forest, forest_of
from tamis.events.batch import EventBatch
from tamis.frames import BatchFrame
from tamis.lab.measuring.timing import Times
from tamis.lab.workloads import Workload, generate
from tamis.language.bulk import compile_conditions
from tamis.statistics import Statistics

SEED = 2026
PAST_EVENTS = 1_024
"""Events that statistics are learned from, before those of the contest."""
_AS_DICTS = 64
"""Batches smaller than this come as dicts, as from a program that has an event at a time; others as Arrow."""


@dataclass(frozen=True, slots=True)
class Case:
    """One workload.

    Attributes:
        label: As figures name it.
        family: Of `tamis.lab.workloads`.
        parameters: Of the family.
    """

    label: str
    family: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Data:
    """Subscriptions of a case, as text and compiled, and its events.

    Attributes:
        workload: What was generated; its first `PAST_EVENTS` events are past.
        forest: Its conditions, compiled, as arrays that engines build from.
        statistics: Learned from past events.
        compiled: What it took to compile the conditions.
        filed: What it took to make arrays of them.
    """

    workload: Workload
    forest: Forest
    statistics: Statistics
    compiled: Times
    filed: Times

    @property
    def events(self) -> int:
        """Number of events that are not past."""
        return int(self.workload.events.num_rows) - PAST_EVENTS

    def batch(self, start: int, rows: int) -> EventBatch:
        """Some events, their values read."""
        table = self.workload.events.slice(PAST_EVENTS + start, rows)
        source: Any = table
        if rows < _AS_DICTS:
            source = [
                {name: value for name, value in event.items() if value is not None} for event in table.to_pylist()
            ]
        batch = EventBatch.of(source, self.workload.event_type)
        for _, name in batch.names():
            batch.column((name,))
        return batch


def data_of(case: Case, subscriptions: int, events: int, *, informed: bool = True, seed: int = SEED) -> Data:
    """The data of a case, with statistics unless they are not wanted; a condition that is refused is a mistake."""
    workload = generate(
        case.family, subscriptions=subscriptions, events=PAST_EVENTS + events, seed=seed, **case.parameters
    )
    compiled, filed = Times(), Times()
    with compiled.taken():
        column = compile_conditions(workload.conditions, workload.event_type)
    if column.refused:
        first = column.refused[0]
        msg = f"{case.label}: condition {first} is refused: {workload.conditions[first]}\n{column[first]}"
        raise SystemExit(msg)
    with filed.taken():
        forest = forest_of(column)
    return Data(workload, forest, learned(workload, forest) if informed else Statistics(), compiled, filed)


def learned(workload: Workload, forest: Forest) -> Statistics:
    """What past events tell of the attributes that conditions ask for."""
    statistics = Statistics()
    attributes = [axis.attribute for axis in forest.axes]
    for start in range(0, PAST_EVENTS, 64):
        batch = EventBatch.of(workload.events.slice(start, 64), workload.event_type)
        statistics.observe(BatchFrame(batch), attributes)
    return statistics
