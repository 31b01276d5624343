"""Claims on the filters of the expression graph and on its nodes: M. R. F. Jewel's thesis (2004), all operators.

Conditions with XOR become AND and OR when they are compiled, so that every filter serves them.
"""

from __future__ import annotations

from statistics import median

import numpy as np

from benchmarks.claim_tools import (
    Claims,
    Points,
    exponent,
    rate,
    times,
)
from benchmarks.engine_cases import FILTERS, and_or, conjunctive, engine_of, mixed
from benchmarks.engine_points import Lab, Point
from benchmarks.families import SEED, Case, data_of
from benchmarks.node_counts import conjunctions, left_deep_nodes, top_down_visits
from benchmarks.report import Figures, number, spread
from tamis.engines.forest.selection import select_formulas
from tamis.lab.jewel.dag import Dag
from tamis.language.condition import compile_condition

FILTERING = Claims()
_PATHS, _SUPPRESSION, _GENERAL = FILTERS
_LENGTHS = (6, 10, 14)
_LEAST_POOL = 20
"""Of few conditions; the smaller a pool is, the further matches stray from what is aimed at."""


@FILTERING.add("J1", "conjunctions of an AND of m ORs of two, and nodes of dag for it, m from 1 to 10")
def _blow_up(_: Lab) -> Figures:
    figures: Figures = {}
    for pairs in range(1, 11):
        text = " AND ".join(f"(a{2 * each} = 1 OR a{2 * each + 1} = 1)" for each in range(pairs))
        formula = compile_condition(text).formula
        nodes = Dag().build([formula]).stats().counts["nodes"]
        figures[f"m {pairs}"] = f"{conjunctions(formula)} conjunctions, {nodes} nodes"
    return figures


def _filters(points: Points, title: str) -> Figures:
    """Visited nodes and ratios of time of the three filters."""
    figures: Figures = {}
    for name in FILTERS:
        if name in points:
            figures[f"{title}: {name}, visited nodes an event"] = number(points[name].work["visited nodes"])
    for slow, fast in ((_GENERAL, _PATHS), (_SUPPRESSION, _PATHS), (_GENERAL, _SUPPRESSION)):
        figures[f"{title}: time of {slow.removeprefix('dag, ')} by {fast.removeprefix('dag, ')}"] = times(
            points, slow, fast
        )
    return figures


@FILTERING.add("J20", "visited nodes and times of the three filters on AND and OR, L 6, 10 and 14, two sizes")
def _paths(lab: Lab) -> Figures:
    figures: Figures = {}
    for predicates in _LENGTHS:
        for count in lab.effort.graph[:2]:
            points = lab.points(and_or(predicates), count, FILTERS)
            figures |= _filters(points, f"L {predicates}, {count}")
    return figures


@FILTERING.add("J21", "visited nodes and times of zero-suppression and general on AND and OR, and on set C")
def _suppression(lab: Lab) -> Figures:
    figures = _filters(lab.points(and_or(), lab.effort.graph[0], FILTERS), "AND and OR")
    return figures | _filters(lab.points(mixed(), lab.effort.few, FILTERS), "set C")


@FILTERING.add(
    "J22", "time and bytes of general on set C, and on conjunctions with as many and with more shared nodes"
)
def _mixed(lab: Lab) -> Figures:
    figures: Figures = {}
    cases = (mixed(), mixed("A"), mixed("A", shared=0.38, both=0.2))
    for case in cases:
        point = lab.points(case, lab.effort.few, FILTERS)[_GENERAL]
        figures[f"{case.label}: us/event"] = spread(point.microseconds)
        figures[f"{case.label}: visited nodes an event"] = number(point.work["visited nodes"])
        figures[f"{case.label}: matches an event"] = number(point.pairs)
        figures[f"{case.label}: bytes/subscription"] = number(point.bytes)
    return figures


@FILTERING.add(
    "J23", "exponents over L (6 to 14) of time and visited nodes, AND, greater-than, general and true-value-path"
)
def _lengths(lab: Lab) -> Figures:
    figures: Figures = {}
    lengths = (6, 8, 10, 12, 14)
    cases = [
        Case(f"jewel AND, L {each}, matches .45", "jewel", {"predicates": each, "matches": 0.45})
        for each in lengths
    ]
    found = [lab.points(case, lab.effort.one, (_PATHS, _GENERAL)) for case in cases]
    for name in (_PATHS, _GENERAL):
        points = [each[name] for each in found]
        figures[f"{name}: us/event by L"] = [round(point.median, 1) for point in points]
        figures[f"{name}: exponent of time"] = number(exponent(lengths, [point.median for point in points]))
        visited = [point.work["visited nodes"] for point in points]
        figures[f"{name}: exponent of visited nodes"] = number(exponent(lengths, visited))
    return figures


def _overlap(lab: Lab) -> dict[float, Point]:
    """Points by the share of shared nodes."""
    found: dict[float, Point] = {}
    for shared in (0.1, 0.3, 0.5, 0.8):
        pool = max(_LEAST_POOL, lab.effort.one // 100)
        parameters = {"predicates": 14, "matches": 0.4, "both": 0.0, "shared": shared, "pool": pool}
        case = Case(f"jewel overlap {shared}", "jewel", parameters)
        found[shared] = lab.points(case, lab.effort.one, (_PATHS,))[_PATHS]
    return found


@FILTERING.add("J25", "visited nodes and time of true-value-path over shared nodes, L 14; matches beside them")
def _overlap_and_time(lab: Lab) -> Figures:
    figures: Figures = {}
    for shared, point in _overlap(lab).items():
        figures[f"SNPS {shared}: visited nodes an event"] = number(point.work["visited nodes"])
        figures[f"SNPS {shared}: us/event"] = spread(point.microseconds)
        figures[f"SNPS {shared}: matches an event"] = number(point.pairs)
    return figures


@FILTERING.add("J26", "subscriptions inserted a second, and when an index is built, over shared nodes, L 14")
def _overlap_and_insertion(lab: Lab) -> Figures:
    figures: Figures = {}
    for shared, point in _overlap(lab).items():
        figures[f"SNPS {shared}: inserted a second"] = rate(point.inserted)
        figures[f"SNPS {shared}: built a second"] = number(point.built)
    return figures


@FILTERING.add("J27", "nodes and bytes over shared nodes, L 14, beside N (2 L - 1) (1 - SNPS)")
def _overlap_and_memory(lab: Lab) -> Figures:
    figures: Figures = {}
    for shared, point in _overlap(lab).items():
        expected = point.subscriptions * 27 * (1 - shared)
        figures[f"SNPS {shared}: nodes"] = f"{point.stats.counts['nodes']}, expected {expected:.0f}"
        figures[f"SNPS {shared}: bytes/subscription"] = number(point.bytes)
    return figures


@FILTERING.add(
    "J28", "exponents of time over matches of an event, L 14, reporting included: true-value-path and counting"
)
def _matches(lab: Lab) -> Figures:
    figures: Figures = {}
    shares = (0.05, 0.2, 0.4, 0.8)
    cases = [
        Case(f"jewel matches {share}", "jewel", {"predicates": 14, "shared": 0.35, "matches": share})
        for share in shares
    ]
    found = [lab.points(case, lab.effort.one, (_PATHS, "counting")) for case in cases]
    pairs = [points[_PATHS].pairs for points in found]
    figures["matches an event"] = [round(each, 1) for each in pairs]
    for name in (_PATHS, "counting"):
        each = [points[name].median for points in found]
        figures[f"{name}: us/event"] = [round(value, 1) for value in each]
        figures[f"{name}: exponent over matches"] = number(exponent(pairs, each))
    return figures


@FILTERING.add("J30", "nodes visited an event on AND and OR: by filters from below, by walks from the roots")
def _directions(lab: Lab) -> Figures:
    data = data_of(and_or(pool=_LEAST_POOL), lab.effort.few, 32)
    batch = data.batch(0, min(32, data.events))
    index = Dag().build(data.forest, data.statistics)
    figures: Figures = {"nodes": index.stats().counts["nodes"]}
    for name in FILTERS:
        index.match(batch, filter=name.removeprefix("dag, "))  # type: ignore[arg-type]
        figures[f"{name}: visited nodes an event"] = number(float(np.mean(index.visited)))
    forgetful, remembering = top_down_visits(list(data.forest), batch)
    figures["from the roots: visited nodes an event"] = number(forgetful)
    figures["from the roots, none twice: visited nodes an event"] = number(remembering)
    return figures


@FILTERING.add("J31", "bytes and rate of insertion with a table of expressions, and with parent lists alone")
def _finding(lab: Lab) -> Figures:
    figures: Figures = {}
    for case in (conjunctive(), and_or()):
        points = lab.points(case, lab.effort.one, (_PATHS, "dag, parent lists"))
        for name, point in points.items():
            if name.startswith("dag"):
                title = f"{case.label}: {'table' if name == _PATHS else 'parent lists'}"
                figures[f"{title}, bytes/subscription"] = number(point.bytes)
                figures[f"{title}, inserted a second"] = rate(point.inserted)
                figures[f"{title}, built a second"] = number(point.built)
    return figures


@FILTERING.add(
    "J32",
    "nodes on AND and OR with chosen brackets in several orders of insertion, and with brackets from the left",
)
def _brackets(lab: Lab) -> Figures:
    data = data_of(and_or(pool=_LEAST_POOL), lab.effort.few, 1)
    draws = np.random.default_rng(SEED)
    engine = engine_of(_PATHS)
    assert engine is not None
    nodes = []
    for _ in range(lab.effort.orders):
        order = draws.permutation(len(data.forest)).astype(np.int32)
        nodes.append(float(engine.build(select_formulas(data.forest, order)).stats().counts["nodes"]))
    fixed = left_deep_nodes(data.forest)
    return {
        f"chosen brackets, {lab.effort.orders} orders": spread(nodes),
        "brackets from the left": fixed,
        "saved by choosing": number(1 - median(nodes) / fixed),
    }
