"""What the paper says without figures: depth, structures, orders, ranges over the middle, changes, choices.

Ids are those of the claims in our notes: P6, P7, P14, P15, P16 and P18. What is counted is told before what a
clock says; shares and ratios are within one run.
"""

from __future__ import annotations

from statistics import median

from benchmarks.buckets_bench import Bench, Part, shape, work
from benchmarks.buckets_cases import (
    CAPACITY,
    EVERYBODY,
    IT,
    JUDGED,
    ORDERS,
    OTHERS,
    RBPST,
    STRUCTURES,
    begen,
    pubsub,
)
from benchmarks.buckets_curves import capacity_points
from benchmarks.claim_tools import rate, rate_ratio, times
from benchmarks.engine_cases import auction
from benchmarks.engine_points import Point
from benchmarks.report import number

_CAPACITIES = (50, 500, CAPACITY)
_SMALL = 50
_SHARES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999)
"""Of changes among changes and events."""
_CHOSEN = pubsub("auto", _SMALL)
_ALIKE = tuple(pubsub(structure, _SMALL) for structure in ("hash", *STRUCTURES))


def _judged(bench: Bench) -> int:
    return max(size for size in bench.extent.sizes if size <= JUDGED)


def _depth(bench: Bench) -> None:
    for choice in bench.extent.choices:
        points = bench.points(begen(choice), _judged(bench), EVERYBODY)
        for name in (IT, RBPST):
            if name in points:
                bench.tell(f"P6, {choice}: {name}", shape(points[name]))
                bench.tell(f"P6, {choice}: {name}, of an event", work(points[name]))


def _structures(bench: Bench) -> None:
    names = tuple(pubsub(structure, size) for size in _CAPACITIES for structure in STRUCTURES)
    for choice in bench.extent.choices:
        points = bench.points(begen(choice), _judged(bench), names)
        for size in _CAPACITIES:
            for structure in STRUCTURES:
                name = pubsub(structure, size)
                if name in points:
                    bench.tell(f"P7, {choice}: {name}", shape(points[name]))
                    bench.tell(f"P7, {choice}: {name}, of an event", work(points[name]))
            for slow, fast in (("it-node", "rbpst-hull"), ("it-range", "rbpst-range")):
                told = times(points, pubsub(slow, size), pubsub(fast, size))
                bench.tell(f"P7, {choice}, capacity {size}: time of {slow} by {fast}", told)


def _orders(bench: Bench) -> None:
    names = tuple(pubsub("rbpst-hull", size, order) for size in (CAPACITY, _SMALL) for order in ORDERS)
    for choice in bench.extent.choices:
        points = bench.points(begen(choice), bench.extent.swept, names)
        for name in names:
            if name in points:
                bench.tell(f"P14, {choice}: {name}", shape(points[name]))
                bench.tell(f"P14, {choice}: {name}, of an event", work(points[name]))
        for size in (CAPACITY, _SMALL):
            rare_first, *others = (pubsub("rbpst-hull", size, order) for order in ORDERS)
            for name in others:
                bench.tell(f"P14, {choice}: time of {name} by {ORDERS[0]}", times(points, name, rare_first))


def _middles(bench: Bench) -> None:
    names = (pubsub("it-node", _SMALL), pubsub("rbpst-hull", _SMALL), *EVERYBODY)
    curves = {}
    for share in bench.extent.middles:
        points = curves[share] = bench.points(begen("uniform", middle=share), bench.extent.swept, names)
        for name in names:
            if name in points:
                bench.tell(f"P15, {share:.0%} span the middle: {name}, of an event", work(points[name]))
    first, last = curves[min(curves)], curves[max(curves)]
    for name in names:
        if name in first and name in last:
            grown = last[name].median / first[name].median
            title = f"P15, {name}: time at {max(curves):.0%} by time at {min(curves):.0%}"
            bench.tell(title, number(grown))
    # A chart of logarithms has no place for 0.
    bench.draw(
        "by share of ranges that span the middle, %", {100 * at + 1: found for at, found in curves.items()}, names
    )


def _mixes(bench: Bench) -> None:
    names = tuple(pubsub("rbpst-hull", size) for size in bench.extent.capacities)
    points = capacity_points(bench, bench.extent.matches[len(bench.extent.matches) // 2])
    held = {
        size: points[name] for size, name in zip(bench.extent.capacities, names, strict=True) if name in points
    }
    for size, point in held.items():
        bench.tell(
            f"P16, capacity {size}: an event, a change, us", f"{number(point.median)}, {number(_change(point))}"
        )
    for share in _SHARES:
        costs = {size: (1 - share) * point.median + share * _change(point) for size, point in held.items()}
        best = min(costs, key=lambda size: costs[size])
        told = f"{best}; the largest takes {number(costs[max(costs)] / costs[best])} times as long"
        bench.tell(f"P16, {share:.1%} changes: best capacity, from the times of both", told)


def _change(point: Point) -> float:
    """Microseconds of a change, half of them insertions."""
    return 1e6 * (1 / median(point.inserted) + 1 / median(point.deleted)) / 2


def _choices(bench: Bench) -> None:
    case = auction()
    points = bench.points(case, bench.extent.mixed, (_CHOSEN, *_ALIKE, "betree", "siena"))
    held = [name for name in _ALIKE if name in points]
    for name in (_CHOSEN, *held):
        bench.tell(f"P18, {case.label}: {name}, of an event", work(points[name]))
    best = min(held, key=lambda name: points[name].median)
    bench.tell(f"P18, {case.label}: best single structure", best)
    bench.tell(
        f"P18, {case.label}: time of the best single structure by chosen ones", times(points, best, _CHOSEN)
    )
    for what in ("inserted", "deleted"):
        for other in ("betree", "siena"):
            told = rate_ratio(points, _CHOSEN, other, what)
            bench.tell(f"P18, {case.label}: {what} a second, {_CHOSEN} by {other}", told)


def _changes(bench: Bench) -> None:
    names = (*(pubsub(structure, size) for size in (CAPACITY, _SMALL) for structure in STRUCTURES), *OTHERS)
    for choice in bench.extent.choices:
        points = bench.points(begen(choice), bench.extent.swept, names)
        for name in names:
            if name in points:
                point = points[name]
                bench.tell(f"P18, {choice}: {name}, inserted a second", rate(point.inserted))
                bench.tell(f"P18, {choice}: {name}, deleted a second", rate(point.deleted))
                sizes = ", ".join(f"{what} {number(each)}" for what, each in point.structures().items())
                bench.tell(f"{choice}: {name}, bytes a subscription", f"{number(point.bytes)}: {sizes}")


COUNTS = {
    "P6": Part("depth, buckets and candidates, uniform and Zipf", _depth),
    "P7": Part("interval trees against priority search trees, capacities 50, 500 and 5,000", _structures),
    "P14": Part("orders of attributes", _orders),
    "P15": Part("ranges that span the middle of the values", _middles),
    "P16": Part("best capacity by share of changes", _mixes),
    "P18": Part("structures chosen by attribute against one for all, on several types", _choices),
    "changes": Part("insertions and deletions a second, and bytes, of every structure", _changes),
}
