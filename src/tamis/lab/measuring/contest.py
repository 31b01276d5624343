"""A contest: engines with the same subscriptions, matched against the same events in turns.

No time is taken before the pairs of all contestants were compared. `bitslice` always gets whole batches.
`postings` and `bitset` treat events one by one, so that a batch may be cut for them when it would take too long.
`scan` takes time for every subscription and every part of a batch; it gets some of the subscriptions and one part,
and since that is less than the whole, its time is a lower bound, and so is every "times as fast as scan".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from statistics import median
from typing import TypeAlias

import numpy as np

from tamis.arrays import I64
from tamis.engines import ENGINES
from tamis.engines.base import Index
from tamis.engines.scan import MASK_BYTES, MIN_ROWS
from tamis.events.batch import EventBatch
from tamis.lab.measuring.cases import Data
from tamis.lab.measuring.timing import Times, timed
from tamis.language.condition import compile_condition
from tamis.reference import evaluate

Keys: TypeAlias = I64

OURS = "bitslice"
NAMES = (OURS, "bitset", "postings", "scan")
_FEWEST_ROWS = 8
_TRIED_ROWS = 4
_MOST_CALLS = 256
_SCAN_ROUNDS = 2
_MOST_CHECKED = 2.0
"""Seconds that a contestant may take for the comparison of pairs."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """An engine with its subscriptions: all, or the first of them.

    Attributes:
        name: Of the engine.
        index: Its subscriptions.
        subscriptions: How many.
        most_rows: Events of a batch that it gets at most.
        seconds: Of the processor for one event, roughly.
    """

    name: str
    index: Index
    subscriptions: int
    most_rows: int
    seconds: float

    def rows(self, batch: int, seconds: float) -> int:
        """How many events of a batch it gets."""
        if self.name == OURS:
            return batch
        if self.name == "scan":
            return min(batch, self.most_rows)
        return min(batch, max(_FEWEST_ROWS, int(seconds / self.seconds)))


@dataclass(slots=True)
class Run:
    """What one contestant did with batches of one size.

    Attributes:
        name: Of the engine.
        batch: The size asked for.
        rows: Events of each call.
        calls: In a round.
        lower_bound: Did it have fewer subscriptions than the others?
        times: Of an event, a measurement a round.
        pairs: Of an event, a number a round.
    """

    name: str
    batch: int
    rows: int
    calls: int
    lower_bound: bool
    times: Times = field(default_factory=Times)
    pairs: list[float] = field(default_factory=list)

    @property
    def microseconds(self) -> list[float]:
        """Of the processor for an event, a number a round."""
        return [seconds * 1e6 for seconds in self.times.cpu]

    @property
    def median(self) -> float:
        """Microseconds of the processor for an event."""
        return median(self.microseconds)


def enter(name: str, data: Data, scanned: int, built: Times | None = None) -> Contestant:
    """Build the index of a contestant, and match a few events, so that nothing is left to be made."""
    everyone = len(data.forest)
    count = min(scanned, everyone) if name == "scan" else everyone
    formulas = data.forest if count == everyone else data.forest[:count]
    first = data.batch(0, 1)
    with (built or Times()).taken():
        index = ENGINES[name].build(formulas, data.statistics)
        index.match(first)
    part = max(MIN_ROWS, MASK_BYTES // everyone)  # as scan would cut a batch if it had all subscriptions
    few = data.batch(0, _TRIED_ROWS)
    index.match(few)
    return Contestant(name, index, count, part, timed(lambda: index.match(few)) / _TRIED_ROWS)


def compare_pairs(contestants: Sequence[Contestant], data: Data, batches: Sequence[int]) -> dict[str, int]:
    """Make sure that all find the same pairs; gives the number of events that each was compared on.

    `bitslice` goes another way with batches of another size, so it is asked with each.

    Raises:
        SystemExit: With a pair that some find and others do not.
    """
    compared: dict[str, tuple[int, Keys]] = {}
    for other in contestants:
        if other.name != OURS:
            rows = min(data.events, max(_FEWEST_ROWS, min(other.rows(data.events, _MOST_CHECKED), max(batches))))
            compared[other.name] = rows, keys_of(other.index, [data.batch(0, rows)])
    ours = next(each for each in contestants if each.name == OURS)
    most = max((rows for rows, _ in compared.values()), default=min(data.events, max(batches)))
    for batch in batches:
        # Small batches take long for many events; a prefix goes the same way as the rest.
        last = min(most, max(batch, 128))
        keys = keys_of(
            ours.index, [data.batch(start, min(batch, last - start)) for start in range(0, last, batch)]
        )
        for other in contestants:
            if other.name != OURS:
                rows, theirs = compared[other.name]
                rows = min(rows, last)
                mine = keys[(keys >> 32 < rows) & (keys & 0xFFFFFFFF < other.subscriptions)]
                _same(f"{OURS} in batches of {batch}", mine, other.name, theirs[theirs >> 32 < rows], data)
    return {name: rows for name, (rows, _) in compared.items()}


def keys_of(index: Index, batches: Sequence[EventBatch]) -> Keys:
    """Pairs of consecutive batches as numbers, sorted: the row in the upper half, the slot in the lower."""
    found: list[Keys] = []
    start = 0
    for batch in batches:
        rows, slots = index.match(batch)
        found.append((rows.astype(np.int64) + start) << 32 | slots)
        start += batch.rows
    return np.sort(np.concatenate(found))


def _same(one: str, mine: Keys, other: str, theirs: Keys, data: Data) -> None:
    """Raise if they differ, with an example."""
    for name, keys in ((one, mine), (other, theirs)):
        if len(keys) and (np.diff(keys) == 0).any():
            key = int(keys[:-1][np.diff(keys) == 0][0])
            msg = f"{name} finds a pair twice: {_described(key, data)}"
            raise SystemExit(msg)
    if not np.array_equal(mine, theirs):
        differing = np.setxor1d(mine, theirs)
        key = int(differing[0])
        finder, misser = (one, other) if key in mine else (other, one)
        msg = f"{len(differing)} pairs differ; {finder} finds, {misser} does not: {_described(key, data)}"
        raise SystemExit(msg)


def _described(key: int, data: Data) -> str:
    row, slot = key >> 32, key & 0xFFFFFFFF
    workload = data.workload
    text = workload.conditions[slot].as_py()
    batch = data.batch(row, 1)
    verdict = evaluate(compile_condition(text, workload.event_type), batch)[0]
    present = {name: batch.column((name,)).to_list()[0] for _, name in batch.names()}
    return f"event {row} {present}, subscription {slot} {text}; the reference says {verdict}"


def contest(contestants: Sequence[Contestant], data: Data, batch: int, rounds: int, seconds: float) -> list[Run]:
    """Let contestants take turns with batches of one size, for some seconds each in a round if events allow."""
    everyone = len(data.forest)

    @cache
    def events(rows: int, place: int) -> EventBatch:
        return data.batch(place * rows, rows)

    runs: list[Run] = []
    for each in contestants:
        rows = min(each.rows(batch, seconds), data.events)
        first = events(rows, 0)
        if each.name != "scan":
            each.index.match(first)
        taken = timed(partial(each.index.match, first))
        calls = 1 if each.name == "scan" else min(max(1, int(seconds / taken)), _MOST_CALLS)
        runs.append(Run(each.name, batch, rows, calls, each.subscriptions < everyone))
    for turn in range(rounds):
        pairs = list(zip(contestants, runs, strict=True))
        for each, run in pairs if turn % 2 == 0 else reversed(pairs):
            if each.name == "scan" and turn >= _SCAN_ROUNDS:
                continue
            # A round begins at the same event for all, so that those who get fewer get some of the same.
            places = data.events // run.rows
            first_place = turn * data.events // rounds // run.rows
            batches = [events(run.rows, (first_place + call) % places) for call in range(run.calls)]
            _take_turn(each, run, batches)
    return runs


def _take_turn(contestant: Contestant, run: Run, batches: Sequence[EventBatch]) -> None:
    times = Times()
    found = 0
    match = contestant.index.match
    with times.taken():
        for batch in batches:
            found += len(match(batch).slots)
    events = run.rows * len(batches)
    run.times.cpu.append(times.cpu[0] / events)
    run.times.wall.append(times.wall[0] / events)
    run.pairs.append(found / events)
