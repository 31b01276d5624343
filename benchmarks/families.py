"""The contests of `match`: which workload with which parameters, how many subscriptions, which bars.

A case is data; what is done with it is told in `benchmarks.contest`. All of its numbers come from one seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.report import Size
from benchmarks.timing import Times
from tamis.engines.forest import Forest, forest_of
from tamis.events.batch import EventBatch
from tamis.frames import BatchFrame
from tamis.lab.workloads import Workload, generate
from tamis.language.bulk import compile_conditions
from tamis.statistics import Statistics

SEED = 2026
BATCHES = (1, 8, 64, 256, 1_024, 4_096)
BAR_BATCH = 1_024
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
        subscriptions: At which the bars are set.
        times: How many times as fast as each of these `bitslice` should be in a batch of 1,024; "best" is
            whichever of the others is fastest.
        every_batch: Do they hold for a batch of any size?
        alone: How many times the time of the best contestant one event may take.
        bytes: That a subscription may take in the arrays of the index.
    """

    label: str
    family: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    subscriptions: int = 1_000_000
    times: Mapping[str, float] = field(default_factory=dict)
    every_batch: bool = False
    alone: float | None = 1.3
    bytes: float | None = None


CASES = (
    Case("ranges 0.3", "ranges", {"width": 0.3}, times={"best": 20}, alone=2.5, bytes=100),
    Case("ranges 0.1-0.5", "ranges", {"width": (0.1, 0.5)}, times={"best": 10}, alone=2.5),
    Case("ranges 0.6", "ranges", {"width": 0.6}, times={"best": 2}, alone=2.5),
    Case("ranges double", "ranges", {"width": 0.3, "kind": "double"}, alone=2.5, bytes=250),
    Case("equality", "equality", times={"best": 15}),
    Case("sparse", "sparse", times={"postings": 80}, every_batch=True),
    Case("ads", "ads", times={"scan": 20, "postings": 20}),
    Case("strings", "strings", times={"scan": 20}),
    Case("auction", "auction", subscriptions=500_000, times={"postings": 20}),
)


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured.

    Attributes:
        subscriptions: Of a case, at most.
        events: That there are.
        batches: Sizes.
        rounds: In which contestants take turns.
        seconds: That a contestant may take in a round, if its batch allows.
        scanned: Subscriptions that `scan` gets, at most.
        builds: Times that an index is built.
        growth: Numbers of subscriptions.
        changed: Subscriptions that are added one by one.
    """

    subscriptions: int
    events: int
    batches: tuple[int, ...]
    rounds: int
    seconds: float
    scanned: int
    builds: int
    growth: tuple[int, ...]
    changed: int


SCALES: dict[Size, Scale] = {
    "smallest": Scale(300, 128, (1, 64), 1, 0.0, 100, 1, (200, 400, 800), 100),
    "quick": Scale(20_000, 2_048, (1, 64, 1_024), 3, 0.03, 500, 3, (5_000, 15_000, 50_000), 1_000),
    "full": Scale(
        1_000_000,
        8_192,
        BATCHES,
        5,
        0.3,
        10_000,
        2,
        (10_000, 30_000, 100_000, 300_000, 1_000_000, 5_000_000),
        20_000,
    ),
}


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


def data_of(case: Case, subscriptions: int, events: int, *, informed: bool = True) -> Data:
    """The data of a case, with statistics unless they are not wanted; a condition that is refused is a mistake."""
    workload = generate(
        case.family, subscriptions=subscriptions, events=PAST_EVENTS + events, seed=SEED, **case.parameters
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


def cases_of(names: Sequence[str]) -> tuple[Case, ...]:
    """The cases of these families, or of these labels; all if there are no names."""
    known = {case.family for case in CASES} | {case.label for case in CASES}
    unknown = sorted(set(names) - known)
    if unknown:
        msg = f"there is no family {', '.join(unknown)}; known are {', '.join(sorted(known))}"
        raise SystemExit(msg)
    return tuple(case for case in CASES if not names or {case.family, case.label} & set(names))
