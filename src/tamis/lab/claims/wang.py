"""Rows of B. Wang, W. Zhang and M. Kitsuregawa: cheap events of an array first, at a level that adapts.

Responses are counted in tests of a point against a box, so that they do not depend on a clock. What a point costs
at a level is counted once; arrays are then served by arithmetic (`tamis.lab.claims.box_costs`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.arrays import F64
from tamis.lab.claims.bench import Bench
from tamis.lab.claims.box_costs import (
    SKEWS,
    Boxes,
    Costs,
    boxes_of,
    check_costs,
    check_pairs,
    costs_of,
    drawn,
    inserted,
    packed,
)
from tamis.lab.claims.row import Outcome, Paper, above, all_of, below, figure, is_true, near
from tamis.lab.measuring.cases import Case
from tamis.lab.measuring.curves import times
from tamis.lab.wang.rtree.batch_search import estimate
from tamis.lab.wang.rtree.kernels.tree import height_of
from tamis.schedule.controller import Controller
from tamis.schedule.response import gini

WANG = Paper(
    "wang",
    "B. Wang, W. Zhang, M. Kitsuregawa, A Self-Adaptive Model to Improve Average Response Time of Multiple-Event "
    "Filtering for Pub/Sub System, University of Tokyo",
    "`boxes`: random boxes and points in 12 dimensions, uniform and skewed, nodes of 10, leaves of 20",
)
_MOST, _FEW = 128, 8


def _counts(bench: Bench) -> tuple[int, ...]:
    return bench.pick((2, _MOST), (2, 4, 8, 16, 32, 64, _MOST), (2, 4, 8, 16, 32, 64, _MOST))


def _arrays(bench: Bench) -> int:
    return bench.pick(4, 256, 1_024)


def _one(bench: Bench) -> int:
    return bench.pick(500, 100_000, 1_500_000)


def _sizes(bench: Bench) -> tuple[int, ...]:
    full = (500_000, 1_000_000, 1_500_000, 2_000_000, 3_000_000)
    return bench.pick((200, 500), (10_000, 30_000, 100_000), full)


def _tree(bench: Bench, workload: str, boxes: int, **parameters: Any) -> tuple[Boxes, Any, Costs]:
    """Boxes, a tree of them whose pairs were checked, and what points cost in it."""

    def make() -> tuple[Boxes, Any, Costs]:
        bench.progress(f"{workload}, {boxes} boxes {parameters or ''}: packing and counting")
        nodes = {name: parameters[name] for name in ("inner", "leaf") if name in parameters}
        others = {name: each for name, each in parameters.items() if name not in nodes}
        given = boxes_of(workload, boxes, bench.pick(128, 512, 1_024), seed=bench.seed, **others)
        tree = packed(given, **nodes)
        check_pairs(tree, given, workload)
        costs = costs_of(tree, given.points)
        check_costs(tree, given, costs, workload)
        return given, tree, costs

    return bench.once(("tree", workload, boxes, *sorted(parameters.items())), make)


def _means(bench: Bench, costs: Costs, count: int) -> F64:
    return costs.means(drawn(len(costs.totals), count, _arrays(bench)))


def relative(means: F64) -> F64:
    """float64[levels]: the mean response by that of arrival order, which is level 1."""
    over = means.mean(axis=1)
    return np.asarray(over / over[0])


def best_level(means: F64) -> int:
    """Of the least mean response."""
    return int(means.mean(axis=1).argmin()) + 1


def is_bent(curve: F64) -> bool:
    """Does it never fall after it has risen?"""
    steps = np.sign(np.diff(curve))
    return bool((np.diff(steps) >= 0).all())


def _gain(means: F64) -> float:
    return float(1 - relative(means).min())


@WANG.row(
    "W1",
    "abstract, 5.2",
    "The mean response time improves by nearly half.",
    "50%",
    "tests until an event is done, relative to arrival order; the bound for any order",
    contradicts="its own data: for uniform work no order can gain more than a third",
)
def _half(bench: Bench) -> Outcome:
    figures, gains = [], []
    for workload in SKEWS:
        _, _, costs = _tree(bench, workload, _one(bench))
        means = _means(bench, costs, _MOST)
        gains.append(_gain(means))
        most = costs.most(drawn(len(costs.totals), _MOST, _arrays(bench)))
        figures += [
            figure(f"{workload}: gain", gains[-1], 0.5, (_one(bench), 500_000)),
            figure(f"{workload}: the most that any order gains", most),
            figure(f"{workload}: Gini of the work", gini(costs.totals)),
        ]
    return Outcome(above(gains, 0), figures, f"{_MOST} events, {_one(bench)} boxes; work is far from uniform")


@WANG.row("W2", "5.2", "The more events a batch has, the larger the gain.", "trend", "gain by events per batch")
def _more_events(bench: Bench) -> Outcome:
    figures, directions = [], []
    for workload in SKEWS:
        _, _, costs = _tree(bench, workload, _one(bench))
        gains = [_gain(_means(bench, costs, count)) for count in _counts(bench)]
        figures += [
            figure(f"{workload}, {count} events", gain) for count, gain in zip(_counts(bench), gains, strict=True)
        ]
        # A gain may stay the same to a hundredth where it is near its limit.
        directions.append(is_true(bool((np.diff(gains) > -0.01).all() and gains[-1] > gains[0])))
    return Outcome(all_of(*directions), figures)


@WANG.row("W3", "5.2", "The gain persists as the index grows.", "trend", "gain by boxes, 128 events")
def _persists(bench: Bench) -> Outcome:
    figures, directions = [], []
    for workload in SKEWS:
        gains = []
        for boxes in bench.within_budget(_sizes(bench)):
            _, _, costs = _tree(bench, workload, boxes)
            gains.append(_gain(_means(bench, costs, _MOST)))
            figures.append(figure(f"{workload}, {boxes} boxes", gains[-1]))
        directions.append(above(gains[-1], 0.9 * gains[0]))
    return Outcome(all_of(*directions), figures)


@WANG.row(
    "W4",
    "5.2",
    "The cost of the estimate is negligible.",
    "trend",
    "share of tests in the estimate at the best level; visits with empty nodes, as printed",
)
def _estimate(bench: Bench) -> Outcome:
    figures, shares = [], []
    for workload in SKEWS:
        given, tree, costs = _tree(bench, workload, _one(bench))
        level = best_level(_means(bench, costs, _FEW))
        shares.append(float(costs.tests[level - 1].sum() / costs.totals.sum()))
        plain = full = 0
        for array in drawn(len(given.points), _FEW, bench.pick(1, 4, 4)):
            plain += estimate(tree, given.points[array], level).visits
            full += estimate(tree, given.points[array], level, pruned=False).visits
        figures += [
            figure(f"{workload}, level {level}: share of tests", shares[-1]),
            figure(f"{workload}, level {level}: visits as printed / ours", full / max(plain, 1)),
        ]
    return Outcome(
        below(shares, 0.1),
        figures,
        "tests of the estimate are not lost: the search goes on from the nodes that it found",
    )


@WANG.row(
    "W5",
    "4.1",
    "Going down the levels, the mean response time falls, then rises: one level is best.",
    "Fig. 5 at 1,500,000",
    "curves over levels that never fall after they rose",
    contradicts="the word concave, which would mean the opposite shape",
)
def _one_best(bench: Bench) -> Outcome:
    bent, best = [], []
    for workload in SKEWS:
        _, _, costs = _tree(bench, workload, _one(bench))
        for count in _counts(bench):
            means = _means(bench, costs, count)
            bent.append(is_bent(np.round(relative(means), 3)))
            best.append(best_level(means))
    return Outcome(
        is_true(all(bent)),
        [figure("share of curves", float(np.mean(bent)))],
        f"best levels {min(best)} to {max(best)} of {costs.levels}; the shape is convex",
    )


@WANG.row(
    "W6",
    "5.2",
    "The best level changes slowly with the size of the index: one level can serve for 100,000 insertions.",
    "trend",
    "best level by boxes; loss of a level that is kept during insertions",
)
def _slow_level(bench: Bench) -> Outcome:
    figures, spans = [], []
    for workload in SKEWS:
        levels = []
        for boxes in bench.within_budget(_sizes(bench)):
            _, _, costs = _tree(bench, workload, boxes)
            levels.append(best_level(_means(bench, costs, _FEW)))
            figures.append(figure(f"{workload}, {boxes} boxes: best level", levels[-1]))
        spans.append(max(levels) - min(levels))
    losses = [loss for run in _growing(bench).values() for loss in run["losses"]]
    figures.append(figure("greatest loss of a level that outlives a step of inserts", max(losses)))
    return Outcome(all_of(below(spans, 2.5), below(losses, 0.1)), figures)


@WANG.row("W7", "5.2", "With fewer events, the best level is closer to the root.", "trend", "best level by events")
def _nearer(bench: Bench) -> Outcome:
    figures, directions = [], []
    for workload in SKEWS:
        _, _, costs = _tree(bench, workload, _one(bench))
        levels = [best_level(_means(bench, costs, count)) for count in _counts(bench)]
        figures += [
            figure(f"{workload}, {count} events", level)
            for count, level in zip(_counts(bench), levels, strict=True)
        ]
        directions.append(is_true(bool((np.diff(levels) >= 0).all()) and levels[0] < levels[-1]))
    return Outcome(all_of(*directions), figures)


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


@WANG.row(
    "W8",
    "4.2",
    "Averages over 4 or 16 batches mislead the search for the level; 64 batches suffice.",
    "64",
    "mean response where the search ends, above the best",
)
def _rounds(bench: Bench) -> Outcome:
    figures, directions = [], []
    for workload in SKEWS:
        _, _, costs = _tree(bench, workload, _one(bench))
        means = costs.means(drawn(len(costs.totals), _FEW, 8 * _arrays(bench)))
        over, best, height = means.mean(axis=1), best_level(means), costs.levels
        excess: dict[int, float] = {}
        draws = np.random.default_rng(bench.seed)
        for rounds in bench.pick((4, 8), (4, 16, 64), (4, 16, 64, 256)):
            ends = []
            for _ in range(bench.pick(2, 40, 200)):
                knob = Controller(1, height, rounds=rounds, start=height - 1)
                settled_levels(knob, means, draws)
                ends.append(knob.current)
            excess[rounds] = float(np.mean([over[each - 1] / over.min() - 1 for each in ends]))
            share = float(np.mean(np.array(ends) == best))
            figures += [
                figure(f"{workload}, {rounds}: above the best", excess[rounds]),
                figure(f"{workload}, {rounds}: ends at the best", share),
            ]
        directions.append(below(excess[max(excess)], excess[min(excess)]))
    return Outcome(all_of(*directions), figures)


def _growing(bench: Bench) -> dict[tuple[str, int], dict[str, list[float]]]:
    """Controllers that serve while boxes are inserted: by workload and events, a number a phase.

    excess: of the arrays served, probing included, over the best fixed level; settled: of the level that was
    settled; ratio: to arrival order; losses: of the settled level after the next boxes came.
    """
    start, step, phases = bench.pick((200, 100, 1), (20_000, 10_000, 4), (500_000, 300_000, 7))
    rounds, repeats = bench.pick(2, 64, 64), bench.pick(2, 8, 8)

    def make() -> dict[tuple[str, int], dict[str, list[float]]]:
        found: dict[tuple[str, int], dict[str, list[float]]] = {}
        for workload in SKEWS:
            total = start + phases * step
            given = boxes_of(workload, total, bench.pick(128, 512, 1_024), seed=bench.seed)
            tree = packed(given, start)
            counts = (_FEW, _MOST)
            runs = {
                (count, turn): (
                    Controller(1, height_of(tree), rounds=rounds, threshold=step),
                    np.random.default_rng((bench.seed, count, turn)),
                )
                for count in counts
                for turn in range(repeats)
            }
            for phase in range(phases + 1):
                boxes = start + phase * step
                bench.progress(f"{workload}, {boxes} boxes: settling")
                costs = costs_of(tree, given.points)
                for count in counts:
                    means = costs.means(drawn(len(costs.totals), count, 12 * rounds))
                    over = means.mean(axis=1)
                    told = found.setdefault(
                        (workload, count), {"excess": [], "settled": [], "ratio": [], "losses": []}
                    )
                    several: dict[str, list[float]] = {name: [] for name in told}
                    for turn in range(repeats):
                        knob, draws = runs[count, turn]
                        if phase:
                            stale = min(knob.current, len(over))
                            several["losses"].append(float(over[stale - 1] / over.min() - 1))
                            knob.resize(1, height_of(tree))
                            knob.update(step)
                        levels, served = settled_levels(knob, means, draws)
                        fixed = means[:, served].mean(axis=1)
                        adaptive = float(means[np.array(levels) - 1, served].mean())
                        several["excess"].append(adaptive / float(fixed.min()) - 1)
                        several["ratio"].append(adaptive / float(fixed[0]))
                        several["settled"].append(float(over[knob.current - 1] / over.min() - 1))
                    for name, values in several.items():
                        told[name] += [float(np.mean(values))] if values else []
                if phase < phases:
                    inserted(tree, given, boxes, boxes + step)
            check_pairs(tree, given, f"{workload}, grown")
        return found

    return bench.once("growing", make)


@WANG.row(
    "W9",
    "abstract, 5.2",
    "The adaptive level is almost as good as the best possible one.",
    "indistinguishable",
    "mean response above that of the best fixed level, settled and while probing",
)
def _adaptive(bench: Bench) -> Outcome:
    figures, worst = [], []
    for (workload, count), run in _growing(bench).items():
        worst.append(max(run["settled"]))
        figures += [
            figure(f"{workload}, {count} events: settled, worst phase", worst[-1]),
            figure(f"{workload}, {count} events: while probing, mean", float(np.mean(run["excess"]))),
        ]
    return Outcome(below(worst, 0.05), figures)


@WANG.row(
    "W10",
    "5.2",
    "Even while the level is unstable, the response time is far better than in arrival order.",
    "trend",
    "mean response while probing, relative to arrival order",
)
def _unstable(bench: Bench) -> Outcome:
    found = {key: run["ratio"] for key, run in _growing(bench).items()}
    return Outcome(
        all_of(*(below(ratios, 1) for ratios in found.values())),
        [figure(f"{workload}, {count} events", ratios) for (workload, count), ratios in found.items()],
        "the spread is that of the phases",
    )


@WANG.row("W11", "4.1", "The tree of 1,500,000 boxes has 7 levels.", "7", "height")
def _height(bench: Bench) -> Outcome:
    boxes = _one(bench)
    height = height_of(_tree(bench, "uniform", boxes)[1])
    return Outcome("none claimed", [figure(f"height at {boxes}", height, 7, (boxes, 1_500_000))])


@WANG.row(
    "W12",
    "1, 2",
    "An R-tree and a UB-tree beat counting.",
    "trend",
    "time of counting / `rtree`",
    workload="`boxes`, and `sparse` conditions over many attributes",
)
def _engines(bench: Bench) -> Outcome:
    count = bench.pick(60, 5_000, 100_000)
    cases = [Case(f"boxes, {name}", "boxes", {"skew": skew}) for name, skew in SKEWS.items()]
    figures = []
    for case in (*cases, Case("sparse", "sparse")):
        points = bench.lab.points(case, count, ("rtree", "counting"))
        for what, done in points["rtree"].work.items():
            figures.append(figure(f"{case.label}: {what} of rtree per event", done))
        figures.append(figure(f"{case.label}: time of counting / rtree", times(points, "counting", "rtree")))
    boxed = [each for each in figures if each.what.startswith("boxes") and "time" in each.what]
    return Outcome(
        all_of(*(above(each.ours, 1) for each in boxed)), figures, "a UB-tree is not built here, and not tested"
    )


@WANG.row(
    "W13",
    "5.1",
    "The number of dimensions and the node capacity do not change the gain.",
    "trend",
    "gain by dimensions and node capacity, 128 events; the bound for any order",
)
def _shapes(bench: Bench) -> Outcome:
    boxes = bench.pick(200, 20_000, 300_000)
    figures, gains, shares = [], [], []
    for dimensions in bench.pick((4, 12), (4, 12, 24), (4, 8, 12, 16, 24)):
        for inner, leaf in ((10, 20), (50, 100)):
            _, _, costs = _tree(bench, "uniform", boxes, attributes=dimensions, inner=inner, leaf=leaf)
            gains.append(_gain(_means(bench, costs, _MOST)))
            most = costs.most(drawn(len(costs.totals), _MOST, _arrays(bench)))
            shares.append(gains[-1] / most)
            figures.append(figure(f"{dimensions} dimensions, {inner}/{leaf}: gain", gains[-1]))
            figures.append(figure(f"{dimensions} dimensions, {inner}/{leaf}: of the most possible", shares[-1]))
    return Outcome(
        near(max(gains) - min(gains), 0, 0.1),
        figures,
        "the bound changes: with more dimensions, or fuller nodes, the work of events differs less or more; of "
        f"what is possible, {min(shares):.0%} to {max(shares):.0%} are gained",
    )
