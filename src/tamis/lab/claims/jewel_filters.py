"""Rows of M. R. F. Jewel's thesis (2004), J20 to J35: filters of the expression graph, shared nodes and order."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from statistics import median

import numpy as np

from tamis.engines.forest.selection import select_formulas
from tamis.events.batch import EventBatch
from tamis.lab.claims.bench import Bench
from tamis.lab.claims.jewel import (
    ALL,
    AND_OR,
    GENERAL,
    JEWEL,
    LEAST_POOL,
    LENGTHS,
    OVERLAP,
    PATHS,
    SUPPRESSION,
    equality_curve,
    few,
    last_size,
    one_size,
    sizes,
)
from tamis.lab.claims.node_counts import left_deep_nodes, top_down_visits
from tamis.lab.claims.row import (
    Figure,
    Outcome,
    above,
    all_of,
    below,
    figure,
    is_true,
    near,
    rising,
)
from tamis.lab.jewel.dag import Dag
from tamis.lab.measuring.cases import Case
from tamis.lab.measuring.contestants import FILTERS, and_or, conjunctive, engine_of, mixed
from tamis.lab.measuring.curves import exponent, exponents, times
from tamis.lab.measuring.points import Point
from tamis.language.condition import compile_condition
from tamis.reference import evaluate

__all__ = ("JEWEL",)
EXPANDED = "dag, expanded"


def _filters(bench: Bench, case: Case, count: int, slow: str, fast: str, title: str) -> list[Figure]:
    """Visited nodes of two filters, then their times."""
    points = bench.lab.points(case, count, FILTERS)
    visited = points[slow].work["visited nodes"] / points[fast].work["visited nodes"]
    words = f"{title}: {slow.removeprefix('dag, ')} / {fast.removeprefix('dag, ')}"
    return [figure(f"{words}, visited nodes", visited), figure(f"{words}, time", times(points, slow, fast))]


@JEWEL.row(
    "J20",
    "5.5",
    "On conditions of AND and OR, true-value-path is much faster than the other filters.",
    "trend",
    "visited nodes, then time, L 6, 10 and 14",
    workload=AND_OR,
)
def _paths(bench: Bench) -> Outcome:
    figures: list[Figure] = []
    for predicates in LENGTHS:
        for count in bench.pick((60,), (2_000, 10_000), (100_000, 1_000_000)):
            for slow in (GENERAL, SUPPRESSION):
                title = f"L {predicates}, {count}"
                figures += _filters(bench, and_or(predicates), count, slow, PATHS, title)
    return Outcome(all_of(*(above(each.ours, 1) for each in figures if "time" in each.what)), figures)


@JEWEL.row(
    "J21",
    "3.5.1",
    "Zero suppression is much faster than general.",
    "trend",
    "visited nodes, then time",
    workload=f"{AND_OR}; and trees with XOR",
)
def _zero_suppression(bench: Bench) -> Outcome:
    figures = _filters(bench, and_or(), sizes(bench)[0], GENERAL, SUPPRESSION, "AND and OR")
    figures += _filters(bench, mixed(), few(bench), GENERAL, SUPPRESSION, "with XOR")
    return Outcome(all_of(*(above(each.ours, 1) for each in figures)), figures)


@JEWEL.row(
    "J22",
    "5.6",
    "With all operators, throughput is well below that of conjunctions, and memory stays moderate.",
    "trend",
    "visited nodes, time and bytes of general; the same of XOR as one node against AND and OR",
    workload="`jewel`: trees with XOR, .18 of nodes shared; ANDs with as many, and with .38 shared",
)
def _mixed(bench: Bench) -> Outcome:
    cases = (mixed(), mixed("A"), mixed("A", shared=0.38, both=0.2))
    count = few(bench)
    found = [bench.lab.points(case, count, FILTERS)[GENERAL] for case in cases]
    ratios = [
        tuple(one / other for one, other in zip(found[0].microseconds, each.microseconds, strict=True))
        for each in found[1:]
    ]
    bytes_ = found[0].bytes / found[1].bytes
    visited = found[0].work["visited nodes"] / found[1].work["visited nodes"]
    points = bench.lab.points(cases[0], count, (GENERAL, EXPANDED))
    made = [points[name].stats.counts["nodes"] for name in (GENERAL, EXPANDED)]
    seen = [points[name].work["visited nodes"] for name in (GENERAL, EXPANDED)]
    return Outcome(
        all_of(above(ratios[0], 1), below(bytes_, 3)),
        [
            figure("visited nodes / that of conjunctions that share as much", visited),
            figure("time / that of conjunctions that share as much", ratios[0]),
            figure("time / that of conjunctions that share more", ratios[1]),
            figure("bytes / that of conjunctions that share as much", bytes_),
            figure("nodes, XOR as one node / that of AND and OR", made[0] / made[1]),
            figure("visited nodes, XOR as one node / that of AND and OR", seen[0] / seen[1]),
            figure("time, XOR as one node / that of AND and OR", times(points, GENERAL, EXPANDED)),
        ],
        "the cause is the operators: conjunctions that share as little are compared, too",
    )


def _by_length(bench: Bench, lengths: tuple[int, ...]) -> dict[str, dict[int, Point]]:
    names = (PATHS, GENERAL)
    found = {
        each: bench.lab.points(
            Case(f"jewel AND, L {each}, matches .45", "jewel", {"predicates": each, "matches": 0.45}),
            one_size(bench),
            names,
        )
        for each in lengths
    }
    return {name: {each: points[name] for each, points in found.items()} for name in names}


@JEWEL.row(
    "J23",
    "5.7",
    "Throughput falls strongly with the length of conditions.",
    "trend",
    "exponents over L of visited nodes and time",
    workload="`jewel`: ANDs of 6 to 14, >, 45% matches",
)
def _lengths(bench: Bench) -> Outcome:
    lengths = bench.pick((6, 14), (6, 10, 14), (6, 8, 10, 12, 14))
    figures, directions = [], []
    for name, line in _by_length(bench, lengths).items():
        slopes = exponents(line)
        visited = exponent(lengths, [point.work["visited nodes"] for point in line.values()])
        figures += [figure(f"{name}, visited nodes", visited), figure(f"{name}, time", slopes)]
        directions.append(above(slopes, 0))
    return Outcome(all_of(*directions), figures)


@JEWEL.row(
    "J24",
    "5.7",
    "With a million conditions of equalities, only Gryphon slows down with their length.",
    "trend",
    "exponents of time over L",
    contradicts="J23, where the graph suffers",
)
def _lengths_of_equalities(bench: Bench) -> Outcome:
    curves = {each: equality_curve(bench, each) for each in LENGTHS}
    count = min(last_size(curve, *[name for name in ALL if name != "gryphon"]) for curve in curves.values())
    lines = {
        name: {each: curve[count][name] for each, curve in curves.items() if name in curve[count]} for name in ALL
    }
    slopes = {name: exponents(line) for name, line in lines.items() if len(line) == len(LENGTHS)}
    others = [near(each, 0, 0.25) for name, each in slopes.items() if name != "gryphon"]
    gryphon = above(slopes["gryphon"], 0.25) if "gryphon" in slopes else "unclear"
    suffering = [name for name, each in slopes.items() if median(each) > 0.25]
    return Outcome(
        all_of(gryphon, *others),
        [figure(f"{name}, {count}", each) for name, each in slopes.items()],
        f"these suffer: {', '.join(suffering) or 'none'}",
    )


def _overlap(bench: Bench) -> dict[float, Point]:
    """Points by the share of shared nodes."""
    found: dict[float, Point] = {}
    for shared in bench.pick((0.1, 0.8), (0.1, 0.3, 0.5, 0.8), (0.1, 0.3, 0.5, 0.8)):
        pool = max(LEAST_POOL, one_size(bench) // 100)
        parameters = {"predicates": 14, "matches": 0.4, "both": 0.0, "shared": shared, "pool": pool}
        case = Case(f"jewel overlap {shared}", "jewel", parameters)
        found[shared] = bench.lab.points(case, one_size(bench), (PATHS,))[PATHS]
    return found


def _first_by_last(found: Mapping[float, Point], what: str) -> tuple[float, ...]:
    """How many times as much there is where least is shared as where most is."""
    one, other = found[min(found)], found[max(found)]
    return tuple(a / b for a, b in zip(getattr(one, what), getattr(other, what), strict=True))


@JEWEL.row(
    "J25",
    "5.8",
    "The more nodes are shared, the faster matching is.",
    "trend",
    "visited nodes, then time of true-value-path",
    workload=OVERLAP,
)
def _overlap_and_time(bench: Bench) -> Outcome:
    found = _overlap(bench)
    visited = [point.work["visited nodes"] for point in found.values()]
    ratio = _first_by_last(found, "microseconds")
    return Outcome(
        all_of(rising(visited[::-1]), above(ratio, 1)),
        [
            *(figure(f"shared {at}: visited nodes", each) for at, each in zip(found, visited, strict=True)),
            figure("time where least / where most is shared", ratio),
        ],
    )


@JEWEL.row(
    "J26",
    "5.8",
    "The more nodes are shared, the faster insertion is.",
    "trend",
    "insertions per second",
    workload=OVERLAP,
)
def _overlap_and_insertion(bench: Bench) -> Outcome:
    found = _overlap(bench)
    ratio = _first_by_last(found, "inserted")
    figures = [figure(f"shared {at}: insertions per second", point.inserted) for at, point in found.items()]
    return Outcome(below(ratio, 1), [figure("rate where least / where most is shared", ratio), *figures])


@JEWEL.row(
    "J27",
    "5.8",
    "The more nodes are shared, the fewer nodes and bytes there are.",
    "trend; N (2 L - 1) (1 - shared) nodes",
    "nodes and bytes",
    workload=OVERLAP,
)
def _overlap_and_memory(bench: Bench) -> Outcome:
    figures, nodes, sizes = [], [], []
    for shared, point in _overlap(bench).items():
        nodes.append(float(point.stats.counts["nodes"]))
        sizes.append(point.bytes)
        expected = point.subscriptions * 27 * (1 - shared)
        figures += [
            figure(f"shared {shared}: nodes", nodes[-1], expected),
            figure(f"shared {shared}: bytes per subscription", sizes[-1]),
        ]
    return Outcome(all_of(rising(nodes[::-1]), rising(sizes[::-1])), figures)


@JEWEL.row(
    "J28",
    "5.9",
    "The more subscriptions an event matches, the longer matching takes.",
    "trend",
    "exponent of time over matches, including reports",
    workload="`jewel`: ANDs of 14, .35 of the nodes shared, 5% to 80% matches",
)
def _matches(bench: Bench) -> Outcome:
    lines: dict[str, dict[float, Point]] = {}
    for share in bench.pick((0.05, 0.8), (0.05, 0.2, 0.8), (0.05, 0.2, 0.4, 0.8)):
        parameters = {"predicates": 14, "shared": 0.35, "matches": share}
        case = Case(f"jewel matches {share}", "jewel", parameters)
        for name, point in bench.lab.points(case, one_size(bench), (PATHS, "counting")).items():
            lines.setdefault(name, {})[point.pairs] = point
    slopes = {name: exponents(lines[name]) for name in (PATHS, "counting")}
    return Outcome(
        all_of(*(above(each, 0) for each in slopes.values())),
        [figure(f"{name}: exponent over matches", each) for name, each in slopes.items()],
    )


@JEWEL.row(
    "J29",
    "5.4.1",
    "Counting with bit slices is faster, but needs too much memory.",
    "trend",
    "time and bytes of `bitslice` and counting",
)
def _bitslice(bench: Bench) -> Outcome:
    points = equality_curve(bench)[sizes(bench)[0]]
    ratio = times(points, "counting", "bitslice")
    bytes_ = points["bitslice"].bytes / points["counting"].bytes
    return Outcome(
        all_of(above(ratio, 1), above(bytes_, 2)),
        [figure("bytes of bitslice / counting", bytes_), figure("time of counting / bitslice", ratio)],
        "`bitslice` is not the static array of the thesis; it shows that slices need not be prohibitive",
    )


@JEWEL.row(
    "J30",
    "3.2.3",
    "Evaluating upwards from the predicates visits far fewer nodes than downwards from the roots.",
    "trend",
    "visited nodes of an event",
    workload=AND_OR,
)
def _directions(bench: Bench) -> Outcome:
    data = bench.lab.data(and_or(pool=LEAST_POOL), few(bench), 32)
    batch = data.batch(0, 32)
    index = Dag().build(data.forest, data.statistics)
    up = {}
    for name in FILTERS:
        index.match(batch, filter=name.removeprefix("dag, "))  # type: ignore[arg-type]
        up[name] = float(np.mean(index.visited))
    down = top_down_visits(list(data.forest), batch)
    return Outcome(
        is_true(max(up.values()) < min(down)),
        [
            *(figure(name, each) for name, each in up.items()),
            figure("from the roots", down[0]),
            figure("from the roots, none twice", down[1]),
        ],
    )


@JEWEL.row(
    "J31",
    "3.8",
    "Sorted parent lists need less memory than a table of expressions, and slow insertion down.",
    "trend",
    "bytes, then insertions per second",
    workload=f"{JEWEL.workload}; {AND_OR}",
)
def _finding(bench: Bench) -> Outcome:
    figures, directions = [], []
    for case in (conjunctive(), and_or()):
        points = bench.lab.points(case, one_size(bench), (PATHS, "dag, parent lists"))
        bytes_ = points["dag, parent lists"].bytes / points[PATHS].bytes
        rate = times(points, "dag, parent lists", PATHS, "inserted")
        figures += [
            figure(f"{case.label}: bytes of lists / table", bytes_),
            figure(f"{case.label}: rate of lists / table", rate),
        ]
        directions += [below(bytes_, 1), below(rate, 1)]
    return Outcome(all_of(*directions), figures)


@JEWEL.row(
    "J32",
    "3.6.2",
    "Choosing the bracketing by dynamic programming shares more nodes, in any order of insertion.",
    "5 bracketings of 4 leaves",
    "nodes with chosen brackets in several orders, and with brackets from the left",
    workload=AND_OR,
)
def _brackets(bench: Bench) -> Outcome:
    data = bench.lab.data(and_or(pool=LEAST_POOL), few(bench), 1)
    draws = np.random.default_rng(bench.seed)
    engine = engine_of(PATHS)
    assert engine is not None
    nodes = []
    for _ in range(bench.pick(2, 5, 20)):
        order = draws.permutation(len(data.forest)).astype(np.int32)
        nodes.append(float(engine.build(select_formulas(data.forest, order)).stats().counts["nodes"]))
    fixed = left_deep_nodes(data.forest)
    return Outcome(
        below(nodes, fixed),
        [figure("nodes / nodes with brackets from the left", [each / fixed for each in nodes])],
        f"{len(nodes)} orders",
    )


@JEWEL.row(
    "J33",
    "3.7, A",
    "Levels, use counts, binary nodes and ready operands stay correct under insertion and deletion.",
    "theorems 1 to 4, corollaries 1 to 5",
    "graphs that were checked whole",
    workload=AND_OR,
    contradicts="NOT and NAND as printed: a node is visited only if a child is",
)
def _invariants(bench: Bench) -> Outcome:
    data = bench.lab.data(and_or(pool=LEAST_POOL), few(bench), 1)
    index = Dag().build(data.forest)
    draws = np.random.default_rng(bench.seed)
    turns = bench.pick(2, 20, 200)
    for _ in range(turns):
        slots = np.sort(draws.choice(len(data.forest), len(data.forest) // 3, replace=False)).astype(np.int32)
        index.delete_many(slots)
        index.check()
        index.insert_many(slots, select_formulas(data.forest, slots))
        index.check()
    return Outcome(
        "holds", [figure("graphs checked", 2 * turns)], "conditions have no NOT left when an engine gets them"
    )


@JEWEL.row(
    "J34",
    "4.1",
    "A higher priority is reported no later than a lower one, unless the lower one is part of it.",
    "no figure",
    "pairs of reports in the wrong order",
    workload="conditions that share nothing, random priorities; and one that is a part of another",
)
def _priorities(bench: Bench) -> Outcome:
    draws = np.random.default_rng(bench.seed)
    priorities = draws.integers(0, 8, 60).tolist()
    index = Dag().build([])
    for slot, priority in enumerate(priorities):
        index.insert(slot, compile_condition(f"a{slot} = 1 AND b{slot} = 1").formula, priority=priority)
    event = {f"{side}{slot}": 1 for side in "ab" for slot in range(len(priorities))}
    found = [priorities[slot] for slot in index.match(EventBatch.of([event], None)).slots]
    wrong = sum(one < other for one, other in pairwise(found))
    parts = Dag().build([])
    parts.insert(0, compile_condition("a = 1 AND b = 1").formula, priority=0)
    parts.insert(1, compile_condition("a = 1 AND b = 1 AND c = 1").formula, priority=7)
    order = parts.match(EventBatch.of([{"a": 1, "b": 1, "c": 1}], None)).slots.tolist()
    return Outcome(
        is_true(wrong == 0 and len(found) == len(priorities)),
        [figure("in the wrong order", wrong)],
        f"the exception: a part of priority 0 comes {'first' if order[0] == 0 else 'last'}",
    )


@JEWEL.row(
    "J35",
    "4.2",
    "Conditions 'k of n' run in the same graph.",
    "examples",
    "answers that differ from the reference",
    workload="at least k of 5 comparisons of a price, k from 1 to 5",
)
def _partial_matching(_: Bench) -> Outcome:
    texts = [f"AT_LEAST({k}, a > 1, a > 3, a > 5, b > 2, b > 4)" for k in range(1, 6)]
    compiled = [compile_condition(text) for text in texts]
    events = EventBatch.of([{"a": a, "b": b} for a in range(7) for b in range(7)], None)
    rows, slots = Dag().build([each.formula for each in compiled]).match(events)
    expected = np.array([[bool(held) for held in evaluate(each, events)] for each in compiled])
    found = np.zeros_like(expected)
    found[slots, rows] = True
    wrong = int((found != expected).sum())
    return Outcome(is_true(wrong == 0), [figure("answers that differ", wrong)])
