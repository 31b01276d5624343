"""Claims on the time of direct Boolean filtering and of conjunctions: S. Bittner's thesis (2008), ids B9 to B22.

`hits` is measured beside `hits, thesis`, which has what was built for the thesis: short-circuiting alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.claim_tools import (
    Claims,
    Curve,
    Points,
    bend,
    caches,
    crossing,
    rate,
    rate_ratio,
    saved,
    series,
    times,
)
from benchmarks.engine_cases import DISTRIBUTIONS, auction
from benchmarks.engine_points import Lab
from benchmarks.families import data_of
from benchmarks.report import Figures, number
from tamis.engines.conjunctions.dnf import conjunctions_of
from tamis.engines.forest import Forest, Nodes
from tamis.lab.bittner.hits import Hits
from tamis.lab.bittner.memory import MemoryParameters

BOOLEAN = Claims()
_CLASSES = (1, 2, 3)
_PAIR = ("hits", "hits, thesis", "counting")


def _curve(lab: Lab, only: int | None = None) -> Curve:
    return lab.curve(auction(only=only), lab.effort.curve, _PAIR)


def _against_counting(curve: Curve) -> Figures:
    """Ratios by size, work at the greatest, crossings and slopes."""
    figures: Figures = {}
    for name in _PAIR[:2]:
        for count, points in curve.items():
            figures[f"{name} saves of counting's time at {count}"] = saved(points, name, "counting")
        sizes, ours = series(curve, name)
        _, theirs = series(curve, "counting")
        figures[f"{name} becomes faster than counting at"] = crossing(sizes, ours, theirs)
        gaps = [other - one for one, other in zip(ours, theirs, strict=True)]
        figures[f"{name}: gap to counting, us by size"] = [round(gap, 1) for gap in gaps]
        figures[f"{name}: slope of the gap over the last third, us/subscription"] = number(_late(sizes, gaps))
        figures[f"{name}: slope over the last third, us/subscription"] = number(_late(sizes, ours))
        figures[f"counting: slope over the last third, us/subscription beside {name}"] = number(
            _late(sizes, theirs)
        )
    return figures | _work(curve[max(curve)])


def _late(sizes: list[float], values: list[float]) -> float:
    """The slope over the last third of the sizes."""
    last = max(2, len(sizes) // 3)
    return float(np.polyfit(sizes[-last:], values[-last:], 1)[0])


def _work(points: Points) -> Figures:
    return {
        f"{name}: {what} an event": number(count)
        for name, point in points.items()
        for what, count in point.work.items()
    }


@BOOLEAN.add("B9", "time of counting that hits saves on the combined classes, by size and by distribution")
def _combined(lab: Lab) -> Figures:
    figures = _against_counting(_curve(lab))
    for operands in DISTRIBUTIONS[1:]:
        points = lab.points(auction(operands), max(lab.effort.curve), _PAIR)
        for name in _PAIR[:2]:
            figures[f"{operands}: {name} saves of counting's time"] = saved(points, name, "counting")
    return figures


@BOOLEAN.add("B10", "the gap between hits and counting by size and its slope over the last third of sizes")
def _gap(lab: Lab) -> Figures:
    figures = _against_counting(_curve(lab))
    return {name: value for name, value in figures.items() if "gap" in name}


@BOOLEAN.add("B11", "greatest by least time over the five distributions, and over the three classes")
def _distributions(lab: Lab) -> Figures:
    most = max(lab.effort.curve)
    by_operands = [lab.points(auction(operands), most, _PAIR) for operands in DISTRIBUTIONS]
    by_class = [lab.points(auction(only=number_), most, _PAIR) for number_ in _CLASSES]
    figures: Figures = {}
    for name in _PAIR:
        for what, several in (("distributions", by_operands), ("classes", by_class)):
            medians = [points[name].median for points in several]
            figures[f"{name}: greatest by least over {what}"] = number(max(medians) / min(medians))
    return figures


@BOOLEAN.add("B12", "where the curves of the combined classes bend, beside where the hits leave each cache")
def _bends(lab: Lab) -> Figures:
    return _bent(lab, None)


@BOOLEAN.add("B16", "where the curves of each class bend, and how far apart those of hits and counting lie")
def _bends_by_class(lab: Lab) -> Figures:
    return {f"class {each}: {name}": told for each in _CLASSES for name, told in _bent(lab, each).items()}


def _bent(lab: Lab, only: int | None) -> Figures:
    curve = _curve(lab, only)
    figures: Figures = {}
    at: dict[str, float] = {}
    for name in _PAIR:
        found = bend(*series(curve, name))
        figures[f"{name}: bend"] = str(found) if found else "too few sizes"
        if found:
            at[name] = found.at
        point = curve[max(curve)][name]
        counters = point.stats.bytes["hits"] / point.subscriptions
        for level, size in caches().items():
            figures[f"{name}: subscriptions whose hits fill {level}"] = number(size / counters)
    for name in _PAIR[:2]:
        if {name, "counting"} <= set(at):
            figures[f"{name}: bend by that of counting"] = number(at[name] / at["counting"])
    return figures


for _name, _only in (("B13", 1), ("B14", 2), ("B15", 3)):

    @BOOLEAN.add(_name, f"time of counting that hits saves on class {_only}, by size; crossing, gap and slopes")
    def _class(lab: Lab, only: int = _only) -> Figures:
        return _against_counting(_curve(lab, only))


def _terms(forest: Forest) -> Forest:
    """A forest of the conjunctions of another, each as a formula of its own."""
    found = conjunctions_of(forest)
    lengths = np.diff(found.firsts)
    several = lengths > 1
    kept = np.repeat(several, lengths)
    firsts = np.concatenate([[0], np.cumsum(lengths[several])]).astype(np.int64)
    nodes = Nodes(lengths[several].astype(np.int32), firsts, ~found.leaves[kept].astype(np.int32))
    roots = np.empty(len(lengths), np.int32)
    roots[several] = np.arange(np.count_nonzero(several), dtype=np.int32)
    roots[~several] = ~found.leaves[found.firsts[:-1][~several]]
    return replace(forest, nodes=nodes, roots=roots)


@BOOLEAN.add(
    "B17", "time of hits by time of counting where subscriptions are conjunctions; candidates beside matches"
)
def _conjunctions(lab: Lab) -> Figures:
    case = auction()
    data = data_of(case, max(lab.effort.curve) // 4, lab.effort.events)
    data = replace(data, forest=_terms(data.forest))
    points = lab.measure(f"{case.label} as conjunctions, {len(data.forest)}", data, ("bitslice", *_PAIR))
    figures: Figures = {"conjunctions": len(data.forest)}
    for name in _PAIR[:2]:
        figures[f"{name}: times the time of counting"] = times(points, name, "counting")
        extra = points[name].median - points["counting"].median
        figures[f"{name}: more than counting, us/event"] = number(extra)
        for what in ("candidates", "matches"):
            figures[f"{name}: {what} an event"] = number(points[name].work[what])
    return figures


@BOOLEAN.add("B18", "time and tree bytes of the encoding with widths by those of the plain one; bytes of one tree")
def _encodings(lab: Lab) -> Figures:
    figures: Figures = {}
    for number_ in _CLASSES:
        case = auction(only=number_)
        points = lab.points(case, lab.effort.one, ("hits", "hits, widths"))
        figures[f"class {number_}: times the time of plain"] = times(points, "hits, widths", "hits")
        wide, plain = (points[name].stats.bytes["trees"] for name in ("hits, widths", "hits"))
        figures[f"class {number_}: times the tree bytes of plain"] = number(wide / plain)
        forest = data_of(case, 1, 1).forest
        for encoding, engine in (("plain", Hits()), ("widths", Hits(encoding="widths"))):
            figures[f"class {number_}: bytes of a tree, {encoding}"] = len(engine.build(forest).tree(0))
    return figures


@BOOLEAN.add(
    "B19", "candidates and time of class 2 without short-circuits, partly, fully, with p_min 5 and 6, weighted"
)
def _short_circuits(lab: Lab) -> Figures:
    names = (
        *("hits, thesis, no short-circuit", "hits, thesis", "hits, thesis, widths"),
        *("hits, thesis, ordered", "hits, thesis, semantic", "hits, thesis, weighted", "hits", "counting"),
    )
    points = lab.points(auction(only=2), lab.effort.one, names)
    figures: Figures = {}
    for name in names[:-1]:
        figures[f"{name}: candidates an event"] = number(points[name].work["candidates"])
        figures[f"{name}: times the time of counting"] = times(points, name, "counting")
    figures["matches an event"] = number(points["hits"].work["matches"])
    forest = data_of(auction(only=2), 1, 1).forest
    for semantic in (False, True):
        engine = Hits(semantic=semantic, weighted=False)
        figures[f"needed hits, {'semantic' if semantic else 'syntactic'}"] = engine.build(forest).required_hits(0)
    return figures


@BOOLEAN.add("B20", "conjunctions of a subscription and predicates in all of them, by class; the mean")
def _conversion(lab: Lab) -> Figures:
    figures: Figures = {}
    growth = []
    for number_ in _CLASSES:
        given = MemoryParameters.of(data_of(auction(only=number_), lab.effort.few, 1).forest)
        places = given.conjunctions_per_predicate * given.predicates
        figures[f"class {number_}"] = f"{number(given.conjunctions)} conjunctions, {number(places)} predicates"
        growth.append(given.conjunctions)
    return figures | {"mean": number(sum(growth) / len(growth))}


@BOOLEAN.add("B22", "subscriptions deleted and inserted a second by hits and counting, random tenths; ratios")
def _churn(lab: Lab) -> Figures:
    figures: Figures = {}
    for only in (None, *_CLASSES):
        case = auction(only=only)
        points = lab.points(case, max(lab.effort.curve), _PAIR)
        for name in ("hits", "counting"):
            figures[f"{case.label}: {name}, deleted a second"] = rate(points[name].deleted)
            figures[f"{case.label}: {name}, inserted a second"] = rate(points[name].inserted)
        for what in ("deleted", "inserted"):
            figures[f"{case.label}: hits by counting, {what}"] = rate_ratio(points, "hits", "counting", what)
    return figures
