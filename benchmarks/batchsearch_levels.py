"""Parts of `batchsearch` at fixed levels: what the best one gains, by events, boxes, dimensions and capacities."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from benchmarks.batchsearch_data import (
    MOST,
    SKEWS,
    Bench,
    Boxes,
    Costs,
    boxes_of,
    check_costs,
    check_pairs,
    costs_of,
    drawn,
    packed,
)
from benchmarks.report import Bar, Figures, number
from benchmarks.timing import timed
from tamis.arrays import F64, I64
from tamis.lab.wang.rtree.batch_search import batch_search, estimate
from tamis.lab.wang.rtree.kernels.point_query import search
from tamis.lab.wang.rtree.kernels.tree import height_of
from tamis.report import charts
from tamis.schedule.response import Response, gini

_LEAST_GAIN, _LEAST_SHARE = 0.3, 0.7
_CAPACITIES = ((10, 20), (50, 100))


def gain_by_events(bench: Bench) -> Figures:
    """Curves over levels for each number of events in an array, and what they say."""
    figures: Figures = {}
    for workload in SKEWS:
        title = f"{workload}, {bench.scale.one} boxes"
        bench.progress(f"{title}: packing")
        given = boxes_of(workload, bench.scale.one, bench.scale.pool)
        tree = packed(given)
        check_pairs(tree, given, title)
        bench.progress(f"{title}: pairs are those of a scan; counting")
        costs = costs_of(tree, given.points)
        weighted = costs_of(tree, given.points, weighted=True)
        check_costs(tree, given, costs, title)
        figures[f"{title}: height"] = costs.levels
        figures[f"{title}: tests an event"] = number(float(costs.totals.mean()))
        figures[f"{title}: unbiased Gini of tests"] = number(gini(costs.totals))
        curves = {
            count: costs.means(drawn(len(costs.totals), count, bench.scale.arrays)) for count in bench.scale.counts
        }
        for count, means in curves.items():
            figures |= _told(f"{title}, {count} events", costs, weighted, means, drawn_like(costs, count, means))
        figures |= _judged(bench, title, workload, costs, weighted)
        bench.progress(f"{title}: serving arrays, for visits and time")
        for count in bench.scale.counts:
            figures |= _served(f"{title}, {count} events", tree, given, count, bench.scale.tried)
        figures |= _shares(title, tree, given, costs, bench)
        bench.drawings.append(
            charts.lines(
                f"{title}: mean response by level, against level 1",
                "of arrival order",
                {
                    f"{count} events": [
                        (float(level + 1), float(each)) for level, each in enumerate(relative(curves[count]))
                    ]
                    for count in bench.scale.counts[:: max(1, len(bench.scale.counts) // 4)]
                },
            )
        )
        bench.drawings.append(_gains(title, costs, curves))
    return figures


def gain_by_size(bench: Bench) -> Figures:
    """The best level and what it gains, by the number of boxes, and heights."""
    figures: Figures = {}
    for workload in SKEWS:
        points: dict[str, list[tuple[float, float]]] = {}
        for boxes in bench.scale.sizes:
            title = f"{workload}, {boxes} boxes"
            bench.progress(f"{title}: packing and counting")
            given = boxes_of(workload, boxes, bench.scale.pool)
            tree = packed(given)
            check_pairs(tree, given, title)
            costs = costs_of(tree, given.points)
            figures[f"{title}: height"] = costs.levels
            figures[f"{title}: tests an event"] = number(float(costs.totals.mean()))
            for count in bench.scale.counts:
                means = costs.means(drawn(len(costs.totals), count, bench.scale.arrays))
                figures[f"{title}, {count} events: best level, gain"] = f"{best_level(means)}, {_percent(means)}"
                points.setdefault(f"{count} events", []).append((float(boxes), float(relative(means).min())))
        some = dict(list(points.items())[:: max(1, len(points) // 4)])
        bench.drawings.append(
            charts.lines(f"{workload}: mean response at the best level by boxes", "of arrival order", some)
        )
    return figures


def gain_by_shape(bench: Bench) -> Figures:
    """What the best level gains by dimensions and by capacities of nodes."""
    figures: Figures = {}
    for workload in SKEWS:
        for dimensions in bench.scale.dimensions:
            for inner, leaf in _CAPACITIES:
                title = f"{workload}, {bench.scale.shaped} boxes, {dimensions} dimensions, nodes of {inner}/{leaf}"
                bench.progress(f"{title}: packing and counting")
                given = boxes_of(workload, bench.scale.shaped, bench.scale.pool // 2, attributes=dimensions)
                tree = packed(given, inner=inner, leaf=leaf)
                check_pairs(tree, given, title)
                costs = costs_of(tree, given.points)
                count = min(MOST, len(given.points))
                arrays = drawn(len(costs.totals), count, bench.scale.arrays)
                means = costs.means(arrays)
                figures[f"{title}: gain, level"] = (
                    f"{_percent(means)} of at most {costs.most(arrays):.1%}, level {best_level(means)} "
                    f"of {costs.levels}, {number(float(costs.totals.mean()))} tests an event"
                )
    return figures


def relative(means: F64) -> F64:
    """float64[levels]: the mean response by that of arrival order, which is level 1."""
    over = means.mean(axis=1)
    return np.asarray(over / over[0])


def best_level(means: F64) -> int:
    """Of the least mean response."""
    return int(means.mean(axis=1).argmin()) + 1


def drawn_like(costs: Costs, count: int, means: F64) -> I64:
    """The arrays that means are of."""
    return drawn(len(costs.totals), count, means.shape[1])


def _percent(means: F64) -> str:
    return f"{1 - relative(means).min():.1%}"


def _told(title: str, costs: Costs, weighted: Costs, means: F64, arrays: I64) -> Figures:
    """Gain, bound and curve of arrays of one size."""
    level = best_level(means)
    waits = [Response.of(costs.responses(each, arrays).ravel().tolist()) for each in (level, 1)]
    others = ", ".join(
        f"{name} {getattr(waits[0], name) / max(getattr(waits[1], name), 1):.2f}"
        for name in ("p50", "p90", "p99", "most")
    )
    shape = "falls, then rises" if is_bent(relative(means)) else "does not fall, then rise"
    return {
        f"{title}: gain": (
            f"{_percent(means)} of at most {costs.most(arrays):.1%}, weighted {_percent(weighted.means(arrays))}; "
            f"level {level} of {costs.levels}"
        ),
        f"{title}: mean response by level": f"{_listed(relative(means))} of arrival order: {shape}",
        f"{title}: other responses": f"{others} of arrival order",
    }


def _listed(values: F64) -> str:
    return " ".join(f"{each:.3f}" for each in values)


def is_bent(curve: F64) -> bool:
    """Does it never fall after it has risen?"""
    steps = np.sign(np.diff(curve))
    return bool((np.diff(steps) >= 0).all())


def _judged(bench: Bench, title: str, workload: str, costs: Costs, weighted: Costs) -> Figures:
    """The bars of the skewed workload; by the weighted estimate if the plain one misses them."""
    arrays = drawn(len(costs.totals), min(MOST, len(costs.totals)), bench.scale.arrays)
    most = costs.most(arrays)
    gain = 1 - float(relative(costs.means(arrays)).min())
    if workload != "skewed":
        return {f"{title}: share of the gain of perfect knowledge, {MOST} events": number(gain / most)}
    by = "paths"
    if gain < _LEAST_GAIN or gain < _LEAST_SHARE * most:
        by, gain = "boxes below nodes", 1 - float(relative(weighted.means(arrays)).min())
    bench.bars[f"{title}, {MOST} events: gain over arrival order, in tests"] = Bar(round(gain, 3), _LEAST_GAIN)
    bench.bars[f"{title}, {MOST} events: share of the gain of perfect knowledge"] = Bar(
        round(gain / most, 3), _LEAST_SHARE
    )
    return {f"{title}: bars are judged with the estimate by": by}


def _served(title: str, tree: Any, given: Boxes, count: int, tried: int) -> Figures:
    """Curves over levels in visits, and in time of the processor, of arrays that are really served."""
    levels = range(1, height_of(tree) + 1)
    visits, seconds = np.zeros(len(levels)), np.zeros(len(levels))
    _clocked(tree, given.points[:2], levels[-1])  # compiles
    for array in drawn(len(given.points), count, tried):
        points = given.points[array]
        for level in levels:
            visits[level - 1] += float(batch_search(tree, points, level).response_visits.mean())
            seconds[level - 1] += _clocked(tree, points, level)
    return {
        f"{title}: in {what}": (
            f"gain {1 - each.min() / each[0]:.1%} at level {each.argmin() + 1}; by level {_listed(each / each[0])}"
        )
        for what, each in (("visits", visits), ("time", seconds))
    }


def _clocked(tree: Any, points: I64, level: int) -> float:
    """Seconds of the processor until the mean event is done."""
    begun = time.process_time()
    table = estimate(tree, points, level)
    done = 0.0
    for event in table.order:
        search(tree, table.nodes_of(event), points[event])
        done += time.process_time() - begun
    return done / len(points)


def _shares(title: str, tree: Any, given: Boxes, costs: Costs, bench: Bench) -> Figures:
    """What the estimate takes: tests, visits with and without the rule to leave out empty nodes, and time."""
    share = costs.tests.sum(axis=1) / costs.totals.sum()
    figures: Figures = {f"{title}: share of tests in the estimate by level": _listed(share)}
    counts, height = bench.scale.counts, height_of(tree)
    for count in dict.fromkeys((counts[0], counts[len(counts) // 2], counts[-1])):
        for level in (height - 1, height):
            plain = full = total = 0
            seconds, whole = 0.0, 0.0
            for array in drawn(len(given.points), count, bench.scale.tried):
                points = given.points[array]
                answers = batch_search(tree, points, level)
                plain += answers.table.visits
                total += answers.table.visits + int(answers.visits.sum())
                full += estimate(tree, points, level, pruned=False).visits
                seconds += timed(partial(estimate, tree, points, level))
                whole += timed(partial(batch_search, tree, points, level))
            figures[f"{title}, {count} events, level {level}: estimate"] = (
                f"{plain / total:.1%} of visits, {full / total:.1%} of as many if empty nodes are visited; "
                f"{seconds / max(whole, 1e-9):.1%} of the time"
            )
    return figures


def _gains(title: str, costs: Costs, curves: dict[int, F64]) -> str:
    """Mean response by events, beside that with perfect knowledge."""
    found = [(float(count), float(relative(means).min())) for count, means in curves.items()]
    bounds = [(float(count), 1 - costs.most(drawn_like(costs, count, means))) for count, means in curves.items()]
    lines = {"best level": found, "perfect knowledge": bounds}
    return charts.lines(f"{title}: mean response by events of an array", "of arrival order", lines)
