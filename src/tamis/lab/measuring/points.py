"""One case at one size: engines that take turns, what they did, what they take, and how fast they change.

Pairs first: all contestants are compared with `bitslice` before a time is taken, and again after subscriptions
were deleted and inserted. A contestant that would take too long, or for which there is no memory, is left out by
name and with the reason; nothing is scaled or guessed.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from tamis.engines.base import Engine, Index, Stats
from tamis.engines.forest.selection import select_formulas
from tamis.lab.measuring.cases import SEED, Case, Data, data_of
from tamis.lab.measuring.contest import OURS, Contestant, compare_pairs, contest, keys_of
from tamis.lab.measuring.contestants import engine_of
from tamis.lab.measuring.timing import Times, timed
from tamis.lab.workloads import WorkloadError

_TRIED_ROWS = 4
_CHECKED_ROWS = 8
_LONGEST_BUILD = 900.0
_LONGEST_EVENT = 3.0
"""Seconds; a contestant that should need more, by what it needed at a smaller size, is left out."""
_SPARE_BYTES = 3 << 30
"""Memory that must be free before a contestant is built."""
_WARM = 60


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured at a point.

    Attributes:
        events: That there are.
        batch: Events of a batch.
        rounds: In which contestants take turns.
        seconds: That a contestant may take in a round, if its events allow.
        changes: Times that a tenth of the subscriptions is deleted and inserted again.
        scanned: Subscriptions beyond which `scan` is left out.
    """

    events: int
    batch: int
    rounds: int
    seconds: float
    changes: int
    scanned: int


@dataclass(frozen=True, slots=True)
class Point:
    """What one contestant did.

    Attributes:
        name: Of the contestant.
        subscriptions: How many it had.
        microseconds: Of the processor for an event, a number a round.
        pairs: Of an event.
        work: What it counts itself, of an event.
        stats: Counts, and bytes by structure.
        built: Subscriptions a second when it was built.
        inserted: Subscriptions a second, a number a change; nothing if it does not change in place.
        deleted: As `inserted`.
    """

    name: str
    subscriptions: int
    microseconds: tuple[float, ...]
    pairs: float
    work: Mapping[str, float]
    stats: Stats
    built: float
    inserted: tuple[float, ...]
    deleted: tuple[float, ...]

    @property
    def median(self) -> float:
        """Microseconds of an event."""
        return median(self.microseconds)

    @property
    def bytes(self) -> float:
        """Of all structures, a subscription."""
        return sum(self.stats.bytes.values()) / self.subscriptions

    def structures(self) -> dict[str, float]:
        """Bytes a subscription by structure; arrays of an engine go by the first part of their names."""
        found: dict[str, float] = {}
        for name, size in self.stats.bytes.items():
            structure = name.split(".")[0]
            found[structure] = found.get(structure, 0.0) + size / self.subscriptions
        return found


@dataclass(slots=True)
class Lab:
    """Where points are measured, and remembered.

    Attributes:
        effort: How much is measured.
        engines: The engine of a contestant, by name; None if there is no such engine.
        seed: Of all data.
        informed: Do engines get statistics?
        progress: Reports what goes on.
        left_out: Why a contestant was not measured, by case, size and name.
    """

    effort: Effort
    engines: Callable[[str], Engine | None] = engine_of
    seed: int = SEED
    informed: bool = True
    progress: Callable[[str], None] = lambda _: None
    left_out: dict[str, str] = field(default_factory=dict)
    _known: dict[tuple[str, int, tuple[str, ...]], dict[str, Point]] = field(default_factory=dict)
    _slow: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    _warmed: set[tuple[str, tuple[str, ...]]] = field(default_factory=set)

    def points(self, case: Case, count: int, names: Sequence[str]) -> dict[str, Point]:
        """The points of contestants by name, `bitslice` always among them."""
        wanted = tuple(dict.fromkeys((OURS, *names)))
        key = case.label, count, wanted
        if key not in self._known:
            self._warm(case, count, wanted)
            self.progress(f"{case.label}, {count}: generating and compiling")
            data = self.data(case, count, self.effort.events)
            self._known[key] = self.measure(f"{case.label}, {count}", data, wanted)
        return self._known[key]

    def data(self, case: Case, count: int, events: int) -> Data:
        """The subscriptions and events of a case."""
        return data_of(case, count, events, informed=self.informed, seed=self.seed)

    def curve(self, case: Case, sizes: Sequence[int], names: Sequence[str]) -> dict[int, dict[str, Point]]:
        """Points by size."""
        return {count: self.points(case, count, names) for count in sizes}

    def weighed(
        self, case: Case, count: int, names: Sequence[str]
    ) -> tuple[Data, dict[str, Stats]] | WorkloadError:
        """What indexes hold, without matching; or why there is no such workload."""
        self.progress(f"{case.label}, {count}: weighing")
        try:
            data = self.data(case, count, 1)
        except WorkloadError as refused:
            return refused
        engines = {name: self.engines(name) for name in names}
        return data, {
            name: engine.build(data.forest, data.statistics).stats()
            for name, engine in engines.items()
            if engine is not None
        }

    def _warm(self, case: Case, count: int, names: tuple[str, ...]) -> None:
        """Compile the kernels: everything once, on little data."""
        if count > 10 * _WARM and (case.family, names) not in self._warmed:
            self._warmed.add((case.family, names))
            self.progress(f"{case.label}: warming up")
            effort = replace(
                self.effort, rounds=1, seconds=0.0, changes=1, scanned=_WARM, events=self.effort.batch
            )
            quiet = replace(self, effort=effort, left_out={}, _slow={})
            quiet.measure(case.label, self.data(case, _WARM, effort.events), names, quiet=True)

    def measure(self, label: str, data: Data, names: Sequence[str], *, quiet: bool = False) -> dict[str, Point]:
        """Build, compare pairs, match in turns, change."""
        effort = self.effort
        contestants, built = self._entered(label, data, names, quiet=quiet)
        gc.collect()
        if not quiet:
            self.progress(f"{label}: comparing pairs, then matching in turns")
        compare_pairs(contestants, data, (effort.batch,))
        runs = contest(contestants, data, effort.batch, effort.rounds, effort.seconds)
        counted = min(run.rows for run in runs)  # the same events for all
        found: dict[str, Point] = {}
        for each, run in zip(contestants, runs, strict=True):
            work = _work(each.index, data, counted)
            stats = each.index.stats()
            deleted, inserted = self._changed(label, each.index, data)
            found[each.name] = Point(
                each.name,
                each.subscriptions,
                tuple(run.microseconds),
                median(run.pairs),
                work,
                stats,
                built[each.name],
                inserted,
                deleted,
            )
            self._slow[label.rsplit(",", 1)[0], each.name] = (
                1 / built[each.name],
                found[each.name].median / 1e6 / each.subscriptions,
            )
        return found

    def _entered(
        self, label: str, data: Data, names: Sequence[str], *, quiet: bool
    ) -> tuple[list[Contestant], dict[str, float]]:
        """Build the indexes of those who may take part."""
        count = len(data.forest)
        contestants: list[Contestant] = []
        built: dict[str, float] = {}
        first, few = data.batch(0, 1), data.batch(0, min(_TRIED_ROWS, data.events))
        for name in names:
            engine = self.engines(name)
            reason = "there is no such engine" if engine is None else self._reason(label, name, count)
            if engine is None or reason is not None:
                self.left_out[f"{label}: {name}"] = str(reason)
                continue
            if not quiet:
                self.progress(f"{label}: building {name}")
            times = Times()
            with times.taken():
                index = engine.build(data.forest, data.statistics)
                index.match(first)
            built[name] = count / max(times.cpu[0], 1e-9)
            index.match(few)
            seconds = timed(partial(index.match, few)) / few.rows
            contestants.append(Contestant(name, index, count, self.effort.batch, seconds))
        return contestants, built

    def _reason(self, label: str, name: str, count: int) -> str | None:
        """Why a contestant does not take part; None if it does."""
        if name == OURS:
            return None
        if name == "scan" and count > self.effort.scanned:
            return f"takes part up to {self.effort.scanned} subscriptions"
        building, matching = self._slow.get((label.rsplit(",", 1)[0], name), (0.0, 0.0))
        if count * building > _LONGEST_BUILD or count * matching > _LONGEST_EVENT:
            return f"would take {count * building:.0f} s to build, {count * matching:.1f} s an event"
        free = _free_bytes()
        return f"{free >> 20} MiB of memory are left" if free < _SPARE_BYTES else None

    def _changed(self, label: str, index: Index, data: Data) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Delete a tenth and insert it again; rates, and the same pairs as before."""
        changing: Any = index
        if not hasattr(changing, "insert_many"):
            return (), ()
        count = len(data.forest)
        some = [data.batch(0, min(_CHECKED_ROWS, data.events))]
        before, first = keys_of(index, some), data.batch(0, 1)
        deleted, inserted = Times(), Times()
        draws = np.random.default_rng(self.seed)
        for _ in range(self.effort.changes):
            slots = np.sort(draws.choice(count, max(1, count // 10), replace=False)).astype(np.int32)
            part = select_formulas(data.forest, slots)
            with deleted.taken():
                changing.delete_many(slots)
            with inserted.taken():
                changing.insert_many(slots, part)
                index.match(first)  # something may be made only then
        if not np.array_equal(before, keys_of(index, some)):
            msg = f"{label}: {type(index).__name__} finds other pairs after a tenth was deleted and inserted again"
            raise SystemExit(msg)
        moved = max(1, count // 10)
        return tuple(moved / max(each, 1e-9) for each in deleted.cpu), tuple(
            moved / max(each, 1e-9) for each in inserted.cpu
        )


def _work(index: Index, data: Data, rows: int) -> dict[str, float]:
    """What an index counts while it matches some events, of an event."""
    counting: Any = index
    batch = data.batch(0, min(rows, data.events))
    if hasattr(counting, "work"):
        counting.work()
        index.match(batch)
        return {name: count / batch.rows for name, count in counting.work().items()}
    if hasattr(counting, "visited"):
        index.match(batch)
        return {"visited nodes": float(np.mean(counting.visited))}
    return {}


def _free_bytes() -> int:
    """Memory that is left, as the system tells; a great deal where it does not."""
    memory = Path("/proc/meminfo")
    if not memory.exists():
        return 1 << 62
    lines = dict(line.split(":", 1) for line in memory.read_text("ascii").splitlines())
    return int(lines["MemAvailable"].split()[0]) << 10
