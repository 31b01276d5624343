"""Claims on the expression graph beside its baselines: M. R. F. Jewel's thesis (2004), conjunctions of equalities.

The filters of `dag` are contestants of their own, each with an index of its own, so that insertion and bytes are
those of the filter.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from benchmarks.claim_tools import (
    Claims,
    Curve,
    Points,
    crossing,
    exponent,
    exponent_of,
    rate,
    rate_ratio,
    series,
    times,
)
from benchmarks.engine_cases import FILTERS, conjunctive
from benchmarks.engine_points import Lab
from benchmarks.report import Figures, number, spread
from tamis.lab.workloads import WorkloadError

GRAPH = Claims()
_PATHS, _SUPPRESSION, _GENERAL = FILTERS
_ALL = ("counting", "gryphon", *FILTERS)
_LENGTHS = (6, 10, 14)


def _curve(lab: Lab, predicates: int) -> Curve:
    return lab.curve(conjunctive(predicates), lab.effort.graph, _ALL)


def _per_length(lab: Lab) -> dict[int, Curve]:
    return {predicates: _curve(lab, predicates) for predicates in _LENGTHS}


def _inserted(curve: Curve, name: str) -> tuple[list[float], list[float]]:
    here = [(float(count), median(points[name].inserted)) for count, points in curve.items() if name in points]
    return [count for count, _ in here], [value for _, value in here]


def _fastest(points: Points, names: Sequence[str]) -> str:
    present = sorted((name for name in names if name in points), key=lambda name: points[name].median)
    return " < ".join(f"{name} {number(points[name].median)}" for name in present)


@GRAPH.add("J2", "subscriptions inserted a second at the second size, L 14: dag by counting and by gryphon")
def _insertion(lab: Lab) -> Figures:
    points = _curve(lab, 14)[lab.effort.graph[1]]
    figures: Figures = {f"{name}, inserted a second": rate(point.inserted) for name, point in points.items()}
    for other in ("counting", "gryphon"):
        figures[f"{_PATHS} by {other}"] = rate_ratio(points, _PATHS, other, "inserted")
    return figures


@GRAPH.add("J3", "exponent of the rate of insertion over size, L 6")
def _insertion_by_size(lab: Lab) -> Figures:
    sizes, rates = _inserted(_curve(lab, 6), _PATHS)
    return {
        "exponent": number(exponent(sizes, rates)) if len(sizes) > 1 else "left out",
        "inserted a second by size": [round(each) for each in rates],
    }


@GRAPH.add("J4", "rate of insertion of the three filters, by that of true-value-path")
def _insertion_of_filters(lab: Lab) -> Figures:
    points = _curve(lab, 10)[lab.effort.graph[-1]]
    return {name: rate_ratio(points, name, _PATHS, "inserted") for name in FILTERS[1:]}


def _insertion_of(lab: Lab, *names: str) -> Figures:
    figures: Figures = {}
    curve = _curve(lab, 10)
    for name in names:
        sizes, rates = _inserted(curve, name)
        if len(sizes) > 1:
            figures[f"{name}: exponent"] = number(exponent(sizes, rates))
            steps = zip(sizes, sizes[1:], rates, rates[1:], strict=False)
            figures[f"{name}: exponents by step"] = [round(exponent((a, b), (c, d)), 3) for a, b, c, d in steps]
            figures[f"{name}: inserted a second by size"] = [round(each) for each in rates]
    return figures


@GRAPH.add("J5", "exponents of the rate of insertion over size, and rates by size: gryphon beside others")
def _insertion_of_gryphon(lab: Lab) -> Figures:
    return _insertion_of(lab, "gryphon", "counting", _PATHS)


@GRAPH.add("J6", "exponents of the rate of insertion of counting over size, between neighbours and over all sizes")
def _insertion_of_counting(lab: Lab) -> Figures:
    return _insertion_of(lab, "counting")


@GRAPH.add("J7", "contestants by time of an event at each size, L 6, 10 and 14")
def _ranks(lab: Lab) -> Figures:
    return {
        f"L {predicates}, {count}": _fastest(points, _ALL)
        for predicates, curve in _per_length(lab).items()
        for count, points in curve.items()
    }


@GRAPH.add("J8", "size at which gryphon becomes faster than counting, per L")
def _overtaking(lab: Lab) -> Figures:
    figures: Figures = {}
    for predicates, curve in _per_length(lab).items():
        sizes, ours = series(curve, "gryphon")
        theirs = [curve[int(size)]["counting"].median for size in sizes]
        figures[f"L {predicates}"] = crossing(sizes, ours, theirs) if len(sizes) > 1 else "left out: gryphon"
    return figures


def _ratios(lab: Lab, slow: str, fast: str) -> Figures:
    return {
        f"L {predicates}, {count}": times(points, slow, fast)
        for predicates, curve in _per_length(lab).items()
        for count, points in curve.items()
    }


@GRAPH.add("J9", "time of true-value-path by that of counting, by size and L")
def _against_counting(lab: Lab) -> Figures:
    return _ratios(lab, _PATHS, "counting")


@GRAPH.add("J10", "exponents of time over size, per L")
def _exponents(lab: Lab) -> Figures:
    return {
        f"L {predicates}: {name}": exponent_of(curve, name)
        for predicates, curve in _per_length(lab).items()
        for name in _ALL
    }


@GRAPH.add("J11", "time of general by that of true-value-path, by size and L")
def _filters_by_size(lab: Lab) -> Figures:
    return _ratios(lab, _GENERAL, _PATHS)


@GRAPH.add("J12", "time of brute force (scan) at the least size, and its exponent over L")
def _brute_force(lab: Lab) -> Figures:
    count = min(lab.effort.graph[0], lab.effort.scanned)
    found = {each: lab.points(conjunctive(each), count, ("scan",))["scan"] for each in _LENGTHS}
    figures: Figures = {
        f"L {each}, {count}: us/event": spread(point.microseconds) for each, point in found.items()
    }
    return figures | {"exponent over L": number(exponent(_LENGTHS, [point.median for point in found.values()]))}


def _memory(lab: Lab, *names: str) -> Figures:
    figures: Figures = {}
    curve = _curve(lab, 10)
    for name in names:
        sizes = [count for count, points in curve.items() if name in points]
        own = [curve[count][name].bytes for count in sizes]
        if len(sizes) < 2:
            figures[name] = "left out"
            continue
        figures[f"{name}: bytes/subscription by size"] = [round(each, 1) for each in own]
        totals = [size * each for size, each in zip(sizes, own, strict=True)]
        figures[f"{name}: exponent of all bytes"] = number(exponent(sizes, totals))
        structures = curve[sizes[-1]][name].structures()
        figures[f"{name}: by structure"] = {each: round(size, 1) for each, size in structures.items()}
    return figures


@GRAPH.add("J14", "bytes a subscription of the contestants, by size and structure, L 10")
def _memory_of_all(lab: Lab) -> Figures:
    return _memory(lab, *_ALL)


@GRAPH.add("J15", "bytes a subscription of dag and gryphon by size, and exponents of all bytes over size")
def _memory_of_trees(lab: Lab) -> Figures:
    return _memory(lab, _PATHS, "gryphon")


@GRAPH.add("J18", "bytes a subscription of the three filters, with those of queues")
def _memory_of_filters(lab: Lab) -> Figures:
    return _memory(lab, *FILTERS)


@GRAPH.add("J16", "bytes a subscription of true-value-path at the greatest size, L 14")
def _largest(lab: Lab) -> Figures:
    points = _curve(lab, 14)[lab.effort.graph[-1]]
    return {"bytes/subscription": number(points[_PATHS].bytes) if _PATHS in points else "left out"}


@GRAPH.add(
    "J17", "bytes a subscription of gryphon, L 6, with attributes of each subscription's own by a fixed set"
)
def _free_attributes(lab: Lab) -> Figures:
    figures: Figures = {}
    sizes = []
    for case in (conjunctive(6), conjunctive(6, attribute_set="free")):
        found = lab.weighed(case, lab.effort.one, ("gryphon",))
        if isinstance(found, WorkloadError):
            return {"refused": str(found)}
        if "gryphon" not in found[1]:
            return {"gryphon": "left out: there is no such engine"}
        sizes.append(sum(found[1]["gryphon"].bytes.values()) / lab.effort.one)
        figures[f"{case.label}: bytes/subscription"] = number(sizes[-1])
    return figures | {"free by fixed": number(sizes[1] / sizes[0])}


@GRAPH.add(
    "J19", "subscriptions deleted a second at the greatest size by those inserted, and by those of other filters"
)
def _deletion(lab: Lab) -> Figures:
    points = _curve(lab, 10)[lab.effort.graph[-1]]
    figures: Figures = {}
    for name in FILTERS:
        if name in points:
            point = points[name]
            figures[f"{name}: deleted a second"] = rate(point.deleted)
            figures[f"{name}: deleted by inserted"] = number(median(point.deleted) / median(point.inserted))
    return figures


@GRAPH.add("J24", "exponents of time over L on equalities at the greatest size, all contestants")
def _lengths_of_equalities(lab: Lab) -> Figures:
    points = [curve[lab.effort.graph[-1]] for curve in _per_length(lab).values()]
    figures: Figures = {}
    for name in _ALL:
        if all(name in each for each in points):
            figures[name] = number(exponent(_LENGTHS, [each[name].median for each in points]))
        else:
            figures[name] = "left out"
    return figures


@GRAPH.add("J29", "time and bytes of bitslice by those of counting on equalities at the least size")
def _bitslice(lab: Lab) -> Figures:
    points = _curve(lab, 10)[lab.effort.graph[0]]
    return {
        "time of counting by bitslice": times(points, "counting", "bitslice"),
        "bytes of bitslice by counting": number(points["bitslice"].bytes / points["counting"].bytes),
    }
