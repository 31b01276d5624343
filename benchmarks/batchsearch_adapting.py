"""Parts of `batchsearch` in which the level turns itself: where it ends, what it costs while the index grows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.batchsearch_data import (
    MOST,
    SEED,
    SKEWS,
    Bench,
    Boxes,
    boxes_of,
    check_pairs,
    costs_of,
    drawn,
    inserted,
    packed,
)
from benchmarks.batchsearch_levels import best_level
from benchmarks.report import Bar, Figures
from benchmarks.timing import Times, rates
from tamis.arrays import F64
from tamis.lab.wang.rtree.kernels.tree import height_of
from tamis.report import charts
from tamis.schedule.controller import ROUNDS, Controller

_FEW = 8
_EVENTS = (_FEW, MOST)
_REPEATS = 8
"""Controllers that see the same index grow, with other arrays each."""
_MOST_EXCESS = 0.1


def settling(bench: Bench) -> Figures:
    """Where controllers end, by rounds of a loop and by the level they start at."""
    figures: Figures = {}
    for workload in SKEWS:
        title = f"{workload}, {bench.scale.one} boxes, {_FEW} events"
        bench.progress(f"{title}: packing and counting")
        given = boxes_of(workload, bench.scale.one, bench.scale.pool)
        tree = packed(given)
        check_pairs(tree, given, title)
        costs = costs_of(tree, given.points)
        means = costs.means(drawn(len(costs.totals), _FEW, 8 * bench.scale.arrays))
        best, height = best_level(means), costs.levels
        figures[f"{title}: best level"] = f"{best} of {height}"
        draws = np.random.default_rng(SEED)
        for rounds in bench.scale.rounds:
            for start in sorted({height, height - 1, max(1, height - 3), 1}, reverse=True):
                ends, loops, excess = [], [], []
                for _ in range(bench.scale.runs):
                    knob = Controller(1, height, rounds=rounds, start=start)
                    settled_levels(knob, means, draws)
                    loops.append(knob.loops)
                    ends.append(knob.current)
                    excess.append(float(means[knob.current - 1].mean() / means[best - 1].mean()) - 1)
                figures[f"{title}, N {rounds}, from level {start}: ends at the best"] = (
                    f"{np.mean(np.array(ends) == best):.0%}, {np.mean(excess):.1%} above it, "
                    f"after {np.mean(loops):.1f} loops"
                )
    return figures


def settled_levels(knob: Controller, means: F64, draws: np.random.Generator) -> tuple[list[int], list[int]]:
    """Serve arrays, each at the level of its turn, until the level is settled; gives levels and arrays."""
    levels: list[int] = []
    served: list[int] = []
    ahead: list[int] = []
    while not knob.settled:
        # Arrays that come again do so in another order: each should meet every level.
        ahead = ahead or draws.permutation(means.shape[1]).tolist()
        level, array = knob.level, ahead.pop()
        knob.observe(level, float(means[level - 1, array]))
        levels.append(level)
        served.append(array)
    return levels, served


@dataclass(slots=True)
class _Phase:
    """What happened between two insertions, for arrays of one size: see `growth`."""

    boxes: int
    arrays: int
    level: int
    best: int
    excess: float
    settled: float
    ratio: float


@dataclass(slots=True)
class _Run:
    """A controller and its phases."""

    events: int
    knob: Controller
    draws: np.random.Generator
    phases: list[_Phase] = field(default_factory=list)
    losses: dict[int, list[float]] = field(default_factory=dict)

    def serve(self, means: F64, boxes: int) -> None:
        """Serve arrays until the level is settled."""
        levels, served = settled_levels(self.knob, means, self.draws)
        over = means.mean(axis=1)
        fixed = means[:, served].mean(axis=1) if served else over
        adaptive = float(means[np.array(levels, np.int64) - 1, served].mean()) if served else float(over.min())
        self.phases.append(
            _Phase(
                boxes,
                len(served),
                self.knob.current,
                int(over.argmin()) + 1,
                adaptive / float(fixed.min()) - 1,
                float(over[self.knob.current - 1] / over.min()) - 1,
                adaptive / float(fixed[0]),
            )
        )


def growth(bench: Bench) -> Figures:
    """The adaptive run: boxes are inserted each time the level is settled.

    Of each phase: how much more the arrays served in it waited than at the best fixed level, probing included;
    how much more they would wait at the level that was settled; and how much they waited against arrival order.
    """
    figures: Figures = {}
    for workload in SKEWS:
        start, step, phases = bench.scale.growth
        given = boxes_of(workload, start + phases * step, bench.scale.pool)
        tree = packed(given, start)
        runs = [
            _Run(
                events,
                Controller(1, height_of(tree), rounds=_rounds(bench), threshold=step),
                np.random.default_rng((SEED, events, repeat)),
            )
            for events in _EVENTS
            for repeat in range(_REPEATS)
        ]
        means = _means(tree, given, bench)
        times = Times()
        for phase in range(phases + 1):
            boxes = start + phase * step
            bench.progress(f"{workload}, {boxes} boxes: settling")
            for run in runs:
                run.serve(means[run.events], boxes)
            if phase < phases:
                means = _grown(tree, given, runs, bench, boxes, times)
        check_pairs(tree, given, f"{workload}, grown to {len(given)} boxes")
        figures[f"{workload}: inserted a second, from {start} to {len(given)} boxes"] = (
            rates(times, bench.scale.thresholds[0]) if phases else "-"
        )
        for events in _EVENTS:
            title = f"{workload}, {events} events"
            figures |= _told(bench, title, [run for run in runs if run.events == events])
    return figures


def _rounds(bench: Bench) -> int:
    return ROUNDS if bench.size != "smallest" else 2


def _means(tree: Any, given: Boxes, bench: Bench) -> dict[int, F64]:
    """Mean responses by level and array, by events of an array."""
    costs = costs_of(tree, given.points)
    # As many arrays as a controller needs for some loops.
    return {events: costs.means(drawn(len(costs.totals), events, 12 * _rounds(bench))) for events in _EVENTS}


def _grown(tree: Any, given: Boxes, runs: list[_Run], bench: Bench, boxes: int, times: Times) -> dict[int, F64]:
    """Insert a step; what the settled level loses at each threshold on the way, and the means at its end."""
    means: dict[int, F64] = {}
    last = boxes
    step = bench.scale.growth[1]
    for threshold in sorted({*(each for each in bench.scale.thresholds if each < step), step}):
        if threshold == bench.scale.thresholds[0]:
            with times.taken():
                inserted(tree, given, last, boxes + threshold)
        else:
            inserted(tree, given, last, boxes + threshold)
        last = boxes + threshold
        means = _means(tree, given, bench)
        for run in runs:
            over = means[run.events].mean(axis=1)
            run.losses.setdefault(threshold, []).append(float(over[run.knob.current - 1] / over.min()) - 1)
    for run in runs:
        run.knob.resize(1, height_of(tree))
        run.knob.update(step)
    return means


def _told(bench: Bench, title: str, runs: list[_Run]) -> Figures:
    """The phases, each over all controllers, and the bars."""
    figures: Figures = {}
    settled: list[tuple[float, float]] = []
    probing: list[tuple[float, float]] = []
    for phases in zip(*(run.phases for run in runs), strict=True):
        boxes = phases[0].boxes
        settled.append((float(boxes), float(np.mean([each.settled for each in phases]))))
        probing.append((float(boxes), float(np.mean([each.excess for each in phases]))))
        figures[f"{title}, {boxes} boxes: above the best fixed level"] = (
            f"{settled[-1][1]:.1%} settled, {probing[-1][1]:.1%} while probing; "
            f"{np.mean([each.ratio for each in phases]):.2f} of arrival order while probing; "
            f"at the best level {phases[0].best}: {np.mean([each.level == each.best for each in phases]):.0%}; "
            f"{np.mean([each.arrays for each in phases]):.0f} arrays"
        )
    for threshold in runs[0].losses:
        losses = [loss for run in runs for loss in run.losses[threshold]]
        figures[f"{title}: lost if the level outlives {threshold} inserts"] = (
            f"{np.mean(losses):.1%} on average, {max(losses):.1%} at most"
        )
    every = [phase for run in runs for phase in run.phases]
    weights = [max(each.arrays, 1) for each in every]
    excess = float(np.average([each.excess for each in every], weights=weights))
    for what, value in (("settled, worst phase", max(each for _, each in settled)), ("while probing", excess)):
        bench.bars[f"{title}: above the best fixed level, {what}"] = Bar(
            round(value, 3), _MOST_EXCESS, at_most=True
        )
    lines = {
        name: [(boxes, 1 + each) for boxes, each in curve]
        for name, curve in (("settled", settled), ("probing", probing))
    }
    bench.drawings.append(charts.lines(f"{title}: mean response by boxes", "times the best fixed level", lines))
    return figures
