"""Pipelined events and overlapping phases (thesis, 4.4): stages in threads, some events in each at a time.

A pipeline takes a batch in parts of `width` events. A part goes from stage to stage; while one thread matches
it, the thread of the stage before has the next part. The thesis has a lock for each queue and one event in a
stage; here a part is handed over, since a hand-over may take longer than an event. Nothing may change or match the
index meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import Queue
from typing import Any, TypeAlias

import numpy as np

from tamis.arrays import F64, I32, I64
from tamis.engines.base import Matches, frame_of
from tamis.events.batch import EventBatch
from tamis.lab.jewel.dag.index import DagIndex, FilterError
from tamis.lab.jewel.dag.kernels.inspection import graph_counts
from tamis.lab.jewel.dag.kernels.stages import LevelStage, phase_one, phase_two, reach_of, run_levels

Stage: TypeAlias = Callable[[Any], Any]
"""What one thread does with a part that the stage before made."""


class Pipeline:
    """The stages of an index of AND and OR for one batch of events.

    Attributes:
        highest: The highest level of the graph.
        visits: int64[levels + 1]: nodes that were visited by one thread in stages of levels so far.
        seconds: float64[parts, stages]: of the processor, in the last run of one thread.
    """

    def __init__(self, index: DagIndex, events: EventBatch, width: int = 64) -> None:
        if index._choose_filter("auto"):
            message = "a pipeline supports AND and OR only"
            raise FilterError(message)
        self._graph = index._graph
        self._predicates = index._predicates.predicates
        self._event = index._predicates.encode(frame_of(events))
        self._parts = np.split(np.arange(events.rows), np.arange(width, events.rows, width))
        self._reach = reach_of(self._graph)
        self._found: list[tuple[I32, I32]] = []
        counts = graph_counts(self._graph)
        self.highest, self._nodes = int(counts.highest), int(counts.room)
        self.visits = np.zeros(self.highest + 2, np.int64)
        self.seconds: F64 = np.zeros((0, 0))

    def one_thread(self, cuts: Sequence[int] | None = None) -> Matches:
        """Both phases of one part after the other; by levels, cut into stages, or by true value paths (None)."""
        stages = self._stages(cuts)
        self.seconds = np.zeros((len(self._parts), len(stages)))
        for turn, part in enumerate(self._parts):
            made: Any = part
            for place, stage in enumerate(stages):
                begun = time.thread_time()
                made = stage(made)
                self.seconds[turn, place] = time.thread_time() - begun
        return self._matches()

    def overlapped(self, cuts: Sequence[int] | None = None) -> Matches:
        """A thread for each stage: phase 1, and phase 2 as a whole or cut above these levels."""
        stages = self._stages(cuts)
        queues: list[Queue[Any]] = [Queue() for _ in stages]

        def work(place: int) -> None:
            following = queues[place + 1] if place + 1 < len(stages) else None
            try:
                while (part := queues[place].get()) is not None:
                    made = stages[place](part)
                    if following is not None:
                        following.put(made)
            finally:
                if following is not None:
                    following.put(None)

        return self._in_threads([partial(work, place) for place in range(len(stages))], queues[0])

    def shared_out(self, threads: int = 2) -> Matches:
        """Each thread takes the next part and does all of it: what a pipeline has to be compared with."""
        queue: Queue[Any] = Queue()

        def work() -> None:
            stages = self._stages([])
            while (part := queue.get()) is not None:
                for stage in stages:
                    part = stage(part)

        return self._in_threads([work] * threads, queue)

    def _in_threads(self, work: Sequence[Callable[[], None]], queue: Queue[Any]) -> Matches:
        for part in [*self._parts, *[None] * len(work)]:
            queue.put(part)
        with ThreadPoolExecutor(len(work)) as pool:
            for each in [pool.submit(one) for one in work]:
                each.result()
        return self._matches()

    def _stages(self, cuts: Sequence[int] | None) -> list[Stage]:
        def first(rows: I64) -> Any:
            return int(rows[0]), phase_one(self._graph, self._predicates, *self._event, rows)

        if cuts is None:

            def paths(part: Any) -> None:
                self._keep(part[0], *phase_two(self._graph, part[1]))

            return [first, paths]
        ends = [*cuts, max(self.highest, 2)]
        return [first, *(self._level_stage(low + 1, high) for low, high in zip([1, *ends], ends, strict=False))]

    def _level_stage(self, lowest: int, highest: int) -> Stage:
        def fresh(count: int, value: int) -> I32:
            return np.full(count, value, np.int32)

        stage = LevelStage(
            *(lowest, highest, self._reach, np.zeros(1, np.int64), fresh(self._nodes, 0)),
            *(fresh(highest + 1, -1), fresh(self._nodes, -1), fresh(self._nodes, 0)),
            np.zeros(highest + 1, np.int64),
        )

        def levels(part: Any) -> Any:
            before = stage.visits.copy()
            rows, slots, true = run_levels(self._graph, stage, part[1])
            self._keep(part[0], rows, slots)
            self.visits[lowest : highest + 1] += (stage.visits - before)[lowest:]
            return part[0], true

        return levels

    def _keep(self, first: int, rows: I32, slots: I32) -> None:
        self._found.append((rows + np.int32(first), slots))

    def _matches(self) -> Matches:
        found, self._found = self._found, []
        none = np.empty(0, np.int32)
        return Matches(
            np.concatenate([none, *(rows for rows, _ in found)]),
            np.concatenate([none, *(slots for _, slots in found)]),
        )


def makespan(seconds: F64) -> float:
    """How long a pipeline takes with a core for each stage, by what the stages took for each part in one thread.

    A stage begins a part when it has done the part before, and the stage before has done this one.
    """
    done = np.zeros(seconds.shape[1])
    for part in seconds:
        for stage, taken in enumerate(part):
            done[stage] = max(done[stage], done[stage - 1] if stage else 0.0) + taken
    return float(done[-1])
