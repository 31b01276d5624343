"""Rows of M. R. F. Jewel's thesis (2004), J36 and J37: pipelined events and overlapping phases."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np

from tamis.arrays import I64
from tamis.engines.base import Matches
from tamis.lab.claims.bench import Bench
from tamis.lab.claims.jewel import AND_OR, JEWEL
from tamis.lab.claims.row import Outcome, below, figure
from tamis.lab.jewel.dag import Dag
from tamis.lab.jewel.dag.pipelines import Pipeline, makespan
from tamis.lab.measuring.cases import data_of
from tamis.lab.measuring.contestants import and_or

__all__ = ("JEWEL",)


def _pipeline(bench: Bench) -> Pipeline:
    """Over a graph of AND and OR; its contestants find the same pairs as the engine."""
    count, events = bench.pick((60, 128), (10_000, 128), (100_000, 512))
    data = data_of(and_or(), count, events, informed=False, seed=bench.seed)
    index, batch = Dag().build(data.forest), data.batch(0, events)
    pipeline = Pipeline(index, batch, width=8)
    expected = _pairs(index.match(batch))
    for name, run in {**_phases(pipeline), **_levels(pipeline)}.items():
        if not np.array_equal(_pairs(run()), expected):
            msg = f"{name} found other pairs than the engine"
            raise AssertionError(msg)
    return pipeline


def _pairs(matches: Matches) -> I64:
    return np.sort(matches.rows.astype(np.int64) << 32 | matches.slots)


def _phases(pipeline: Pipeline) -> dict[str, Callable[[], Matches]]:
    return {"one thread": pipeline.one_thread, "phases overlap": pipeline.overlapped}


def _levels(pipeline: Pipeline) -> dict[str, Callable[[], Matches]]:
    cut = [_middle(pipeline)]
    return {
        "levels, one thread": lambda: pipeline.one_thread([]),
        "levels pipelined": lambda: pipeline.overlapped(cut),
        "events shared out": pipeline.shared_out,
    }


def _middle(pipeline: Pipeline) -> int:
    """The level up to which half of the visits happen."""
    pipeline.visits[:] = 0
    pipeline.one_thread([])
    return max(2, int(np.argmax(2 * np.cumsum(pipeline.visits) >= pipeline.visits.sum())))


def _times(bench: Bench, runs: Mapping[str, Callable[[], Matches]]) -> dict[str, list[float]]:
    """By the clock: what each takes of the time of the first, a number a round, in which they take turns."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(bench.pick(1, 5, 5)):
        seconds = {}
        for name, run in runs.items():
            begun = time.perf_counter()
            run()
            seconds[name] = time.perf_counter() - begun
        base = next(iter(seconds.values()))
        for name, each in seconds.items():
            found[name].append(each / base)
    return found


def _with_cores(bench: Bench, pipeline: Pipeline, whole: list[int] | None, cuts: list[int] | None) -> list[float]:
    """With a core for each stage: what a pipeline takes of the time of one thread, a number a round."""
    found = []
    for _ in range(bench.pick(1, 5, 5)):
        pipeline.one_thread(whole)
        base = float(pipeline.seconds.sum())
        pipeline.one_thread(cuts)
        found.append(makespan(pipeline.seconds) / base)
    return found


@JEWEL.row(
    "J36",
    "4.4.1",
    "While one event is on a level, the next may be on the level below: pipelining raises throughput.",
    "no figure",
    "time of phase 1 and two stages of levels over that of one thread: with a core each, and by the clock",
    workload=f"{AND_OR}; parts of 8 events",
)
def _pipelined(bench: Bench) -> Outcome:
    pipeline = bench.once("pipeline", lambda: _pipeline(bench))
    cut = _middle(pipeline)
    visits = pipeline.visits / pipeline.visits.sum()
    with_cores = _with_cores(bench, pipeline, [], [cut])
    clock = _times(bench, _levels(pipeline))
    return Outcome(
        below(with_cores, 1),
        [
            figure("share of visits on the busiest level", float(visits.max())),
            figure("levels pipelined, a core for each of three stages", with_cores),
            figure("levels pipelined, by the clock", clock["levels pipelined"]),
            figure("events shared out among two threads, by the clock", clock["events shared out"]),
        ],
        f"the stages are cut above level {cut} of {pipeline.highest}; the clock is that of two shared cores",
    )


@JEWEL.row(
    "J37",
    "4.4.2",
    "True-value-path need not wait for phase 1: overlapping the phases raises throughput.",
    "no figure",
    "time of two threads, a phase each, over that of one: with a core each, and by the clock",
    workload=f"{AND_OR}; parts of 8 events",
)
def _overlapping(bench: Bench) -> Outcome:
    pipeline = bench.once("pipeline", lambda: _pipeline(bench))
    with_cores = _with_cores(bench, pipeline, None, None)
    first = pipeline.seconds.sum(axis=0)[0] / pipeline.seconds.sum()
    clock = _times(bench, _phases(pipeline))
    return Outcome(
        below(with_cores, 1),
        [
            figure("share of phase 1", float(first)),
            figure("phases overlap, a core for each", with_cores),
            figure("phases overlap, by the clock", clock["phases overlap"]),
        ],
        "no more can be gained than the share of phase 1; the clock is that of two shared cores",
    )
