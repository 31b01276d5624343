"""The paper's three experiments: time by size of buckets, by number of subscriptions and by number of attributes.

They serve the claims P1 to P5 and P8 to P13, and the bars: buckets with their usual structure against the other
two systems, at the size for which they are set or at the largest below it.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import mean

from benchmarks.buckets_bench import Bench, Curves, Part, shape
from benchmarks.buckets_cases import EVERYBODY, IT, JUDGED, RBPST, STRUCTURES, begen, pubsub
from benchmarks.claim_tools import Points, exponent, saved, times
from benchmarks.engine_points import Point
from benchmarks.engines import ratio
from benchmarks.report import Bar, number

_BARS = {"betree": 1.0, "siena": 20.0}
"""How many times as fast as these buckets should be."""
_USUAL = (STRUCTURES[0], STRUCTURES[-1])
_THOUSAND = 1_000


def capacity_points(bench: Bench, share: float) -> Points:
    """The first experiment with one share of matches: every capacity, with either structure."""
    names = tuple(pubsub(structure, size) for structure in _USUAL for size in bench.extent.capacities)
    # As many attributes as in the paper, unless even the most here are fewer.
    dimensions = min(_THOUSAND, max(bench.extent.dimensions))
    return bench.points(begen("uniform", dimensions, matches=share), bench.extent.swept, names)


def _capacities(bench: Bench) -> None:
    for share in bench.extent.matches:
        points = capacity_points(bench, share)
        curves: dict[float, dict[str, Point]] = {}
        for structure in _USUAL:
            held = {
                size: points[pubsub(structure, size)]
                for size in bench.extent.capacities
                if pubsub(structure, size) in points
            }
            for size, point in held.items():
                bench.tell(f"P1, matches {share:g}, {structure}, capacity {size}", shape(point))
                curves.setdefault(float(size), {})[structure] = point
            if held:
                best = min(held, key=lambda size: held[size].median)
                bench.tell(f"P1, matches {share:g}, {structure}: best capacity", f"{best}")
                largest = held[max(held)].median / held[best].median
                bench.tell(f"P1, matches {share:g}, {structure}: time of the largest by the best", number(largest))
        bench.draw(f"begen uniform, matches {share:g}, by capacity", curves, _USUAL)


def _subscriptions(bench: Bench) -> None:
    for choice in bench.extent.choices:
        case = begen(choice)
        curves: dict[float, Points] = {}
        for count in bench.extent.sizes:
            points = curves[float(count)] = bench.points(case, count, EVERYBODY)
            _against(bench, f"P2 to P5, {choice}, {count}", points)
        _exponents(bench, f"P2 to P5, {choice}, subscriptions", curves)
        bench.draw(f"{case.label}, by subscriptions", curves, EVERYBODY)
        _overall(bench, f"P12, P13, {choice}, by subscriptions", curves)
        if choice == "uniform":
            _judge(bench, choice, curves)


def _sweep_dimensions(bench: Bench) -> None:
    for choice in bench.extent.choices:
        curves: dict[float, Points] = {}
        for dimensions in bench.extent.dimensions:
            case = begen(choice, dimensions)
            points = curves[float(dimensions)] = bench.points(case, bench.extent.swept, EVERYBODY)
            _against(bench, f"P9 to P11, {choice}, {dimensions} dimensions", points)
            bench.tell(
                f"P11, {choice}, {dimensions} dimensions: time of siena by betree",
                times(points, "siena", "betree"),
            )
        _exponents(bench, f"P8, {choice}, dimensions", curves)
        bench.draw(f"begen {choice}, by dimensions", curves, EVERYBODY)
        _overall(bench, f"P12, P13, {choice}, by dimensions", curves)


def _sweep_shares(bench: Bench) -> None:
    """The fewer pairs there are, the less of the time goes into what all contestants have to do alike."""
    curves: dict[float, Points] = {}
    for share in bench.extent.shares:
        points = curves[share] = bench.points(begen("uniform", matches=share), bench.extent.swept, EVERYBODY)
        _against(bench, f"P2 to P5, uniform, matches {share:g}", points)
    bench.draw("begen uniform, by share of matches", curves, EVERYBODY)


def _against(bench: Bench, title: str, points: Points) -> None:
    """Both structures against the other systems, as a share of time and as a ratio."""
    for own in (IT, RBPST):
        for other in _BARS:
            bench.tell(f"{title}: {own}, share of the time of {other} that it saves", saved(points, own, other))
            bench.tell(f"{title}: time of {other} by {own}", times(points, other, own))
    bench.tell(f"P7, {title.split(', ', 1)[1]}: time of {IT} by {RBPST}", times(points, IT, RBPST))


def _exponents(bench: Bench, title: str, curves: Curves) -> None:
    for name in EVERYBODY:
        held = {at: points[name].median for at, points in curves.items() if name in points}
        if len(held) > 1:
            bench.tell(f"{title}: {name}, exponent of the time", number(exponent([*held], [*held.values()])))


def _overall(bench: Bench, title: str, curves: Curves) -> None:
    """Mean and range of the ratios of a sweep."""
    for other in _BARS:
        each = [
            ratio(points[other], points[own])
            for points in curves.values()
            for own in (IT, RBPST)
            if {own, other} <= set(points)
        ]
        if each:
            told = f"{number(mean(each))} on average, {number(min(each))} to {number(max(each))}"
            bench.tell(f"{title}: time of {other} by buckets", told)


def _judge(bench: Bench, choice: str, curves: Mapping[float, Points]) -> None:
    """At the size for which bars are set, or at the largest below it that was measured."""
    sizes = [size for size, points in curves.items() if {RBPST, *_BARS} <= set(points)]
    judged = max((size for size in sizes if size <= JUDGED), default=None)
    if judged is not None:
        for other, bar in _BARS.items():
            value = ratio(curves[judged][other], curves[judged][RBPST])
            bench.bars[f"{choice}, {judged:.0f}: {RBPST} against {other}, times as fast"] = Bar(value, bar)


CURVES = {
    "capacity": Part("time by size of buckets and by share of matches (4.1)", _capacities),
    "subscriptions": Part("time by number of subscriptions (4.2)", _subscriptions),
    "matches": Part("time by share of matches", _sweep_shares),
    "dimensions": Part("time by number of attributes (4.3)", _sweep_dimensions),
}
