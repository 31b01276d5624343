"""Rows of M. R. F. Jewel's thesis (2004): the expression graph, its three filters, and its baselines.

The filters of `dag` are contestants of their own, each with an index of its own, so that insertion and bytes are
those of the filter. Conditions with XOR become AND and OR when they are compiled, so every filter serves them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import inf
from statistics import median

import numpy as np

from tamis.engines.forest.selection import select_formulas
from tamis.events.batch import EventBatch
from tamis.lab.claims.bench import Bench
from tamis.lab.claims.node_counts import conjunctions, left_deep_nodes, top_down_visits
from tamis.lab.claims.row import (
    Direction,
    Figure,
    Outcome,
    Paper,
    UntestableError,
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
from tamis.lab.measuring.curves import Curve, crossing, exponent, exponents, line_of, times
from tamis.lab.measuring.points import Point
from tamis.language.condition import compile_condition
from tamis.reference import evaluate

JEWEL = Paper(
    "jewel",
    "M. R. F. Jewel, A Fast Filtering Engine for Publish/Subscribe System, MSc thesis, Toronto, 2004",
    "`jewel`: ANDs of 6, 10 or 14 equalities on a fixed set of attributes, .38 of the nodes shared, .5% matches",
)
_PATHS, _SUPPRESSION, _GENERAL = FILTERS
_ALL = ("counting", "gryphon", *FILTERS)
_LENGTHS = (6, 10, 14)
_AND_OR = "`jewel`: trees of AND and OR over >, .5 of the nodes shared, 13% matches"
_OVERLAP = "`jewel`: ANDs of 14, >, 40% matches, .1 to .8 of the nodes shared"
_LEAST_POOL = 20
"""Of few conditions; the smaller a pool is, the further matches stray from what is aimed at."""


def _sizes(bench: Bench) -> tuple[int, ...]:
    full = (10_000, 100_000, 400_000, 1_000_000, 4_000_000)
    return bench.pick((50, 60), (2_000, 10_000, 100_000), full)


def _one(bench: Bench) -> int:
    return bench.pick(60, 5_000, 100_000)


def _few(bench: Bench) -> int:
    return bench.pick(40, 500, 2_000)


def _curve(bench: Bench, predicates: int = 10) -> Curve:
    return bench.curve(conjunctive(predicates), _sizes(bench), _ALL)


def _last(curve: Curve, *names: str) -> int:
    """The greatest size at which all of these took part."""
    held = [count for count, points in curve.items() if set(names) <= set(points)]
    if not held:
        msg = f"{', '.join(names)} took part at no size together"
        raise UntestableError(msg)
    return max(held)


@JEWEL.row(
    "J1",
    "1.3",
    "An AND of m ORs of two becomes 2^m conjunctions.",
    "8 for m = 3",
    "conjunctions of the normal form; nodes of `dag` beside them",
    workload="one condition, m from 1 to 10",
)
def _blow_up(_: Bench) -> Outcome:
    found, nodes = {}, {}
    for pairs in range(1, 11):
        text = " AND ".join(f"(a{2 * each} = 1 OR a{2 * each + 1} = 1)" for each in range(pairs))
        formula = compile_condition(text).formula
        found[pairs] = conjunctions(formula)
        nodes[pairs] = Dag().build([formula]).stats().counts["nodes"]
    linear = all(count == 4 * pairs - 1 for pairs, count in nodes.items())
    return Outcome(
        is_true(all(count == 2**pairs for pairs, count in found.items()) and linear),
        [figure("conjunctions for m = 3", found[3], 8), figure("nodes for m = 10", nodes[10])],
        f"m = 10 has {found[10]} conjunctions and {nodes[10]} nodes",
    )


@JEWEL.row(
    "J2",
    "5.4.1",
    "At 100,000 conjunctions of 14 the graph takes in thousands of subscriptions a second.",
    "more than 5,000/s",
    "insertions a second; by those of counting and Gryphon",
)
def _insertion(bench: Bench) -> Outcome:
    count = min(_sizes(bench)[1], 100_000)
    points = bench.lab.points(conjunctive(14), count, _ALL)
    rates = points[_PATHS].inserted
    others = [
        figure(f"{_PATHS} by {name}", times(points, _PATHS, name, "inserted"))
        for name in ("counting", "gryphon")
        if name in points and points[name].inserted
    ]
    return Outcome(above(rates, 5_000), [figure(f"inserted a second at {count}", rates), *others])


@JEWEL.row(
    "J3",
    "5.4.1",
    "How the rate of insertion goes with the number of subscriptions, conjunctions of 6.",
    "more than 1,000/s at millions",
    "exponent of the rate over the number",
    contradicts="itself: the rate is said to fall linearly, and to be hardly affected",
)
def _insertion_by_size(bench: Bench) -> Outcome:
    line = line_of(_curve(bench, 6), _PATHS)
    slopes = exponents(line, "inserted")
    held = "hardly affected" if median(slopes) > -0.25 else "falls, and slower than linearly"
    held = "falls linearly" if median(slopes) < -0.75 else held
    return Outcome(
        above(line[max(line)].inserted, 1_000),
        [figure("exponent", slopes), figure(f"inserted a second at {max(line)}", line[max(line)].inserted)],
        f"the sentence that held: {held}",
    )


@JEWEL.row("J4", "5.4.1", "The three filters insert equally fast.", "equal", "insertions a second, within 5%")
def _insertion_of_filters(bench: Bench) -> Outcome:
    curve = _curve(bench)
    points = curve[_last(curve, *FILTERS)]
    ratios = {name: times(points, name, _PATHS, "inserted") for name in FILTERS[1:]}
    return Outcome(
        all_of(*(near(each, 1, 0.05) for each in ratios.values())),
        [figure(f"{name} by {_PATHS}", each, 1.0) for name, each in ratios.items()],
    )


def _rates(bench: Bench) -> dict[str, dict[int, Point]]:
    curve = _curve(bench)
    lines = {name: line_of(curve, name) for name in _ALL}
    return {name: line for name, line in lines.items() if len(line) > 1 and line[min(line)].inserted}


@JEWEL.row(
    "J5", "5.4.1", "Gryphon inserts fastest, nearly whatever the number.", "trend", "rates and their exponent"
)
def _insertion_of_gryphon(bench: Bench) -> Outcome:
    lines = _rates(bench)
    if "gryphon" not in lines:
        msg = "gryphon does not insert in place here: an index is built at once"
        raise UntestableError(msg)
    slopes = exponents(lines["gryphon"], "inserted")
    count = max(lines["gryphon"])
    at_end = {name: median(line[count].inserted) for name, line in lines.items() if count in line}
    first = max(at_end, key=lambda name: at_end[name])
    return Outcome(
        all_of(is_true(first == "gryphon"), near(slopes, 0, 0.25)),
        [figure("exponent of gryphon", slopes), *(figure(f"{name}, a second", at_end[name]) for name in at_end)],
        f"{first} inserts fastest at {count}",
    )


@JEWEL.row(
    "J6",
    "5.4.1",
    "Counting inserts fast while there are few subscriptions, then its rate collapses.",
    "trend",
    "exponents of the rate between neighbouring sizes",
)
def _insertion_of_counting(bench: Bench) -> Outcome:
    line = _rates(bench)["counting"]
    sizes = [*line]
    steps = [exponents({one: line[one], other: line[other]}, "inserted") for one, other in pairwise(sizes)]
    return Outcome(
        below(steps[-1], -0.5),
        [figure(f"exponent up to {size}", each) for size, each in zip(sizes[1:], steps, strict=True)],
        "lists of counting grow at their ends here, so that nothing collapses",
    )


@JEWEL.row(
    "J7",
    "5.4.1",
    "Counting matches fastest, up to 400,000 subscriptions.",
    "more than 350 events/s at 100,000",
    "time of an event",
)
def _ranks(bench: Bench) -> Outcome:
    figures: list[Figure] = []
    directions: list[Direction] = []
    for predicates in _LENGTHS:
        curve = _curve(bench, predicates)
        for count, points in curve.items():
            if count <= 400_000:
                fastest = min((name for name in _ALL if name in points), key=lambda name: points[name].median)
                rival = _PATHS if fastest == "counting" else fastest
                ratio = times(points, rival, "counting")
                directions.append(above(ratio, 1))
                figures.append(figure(f"L {predicates}, {count}: time of {rival} by counting", ratio))
    return Outcome(all_of(*directions), figures)


@JEWEL.row("J8", "5.4.1", "Beyond half a million Gryphon is faster than counting.", "500,000", "crossing of times")
def _overtaking(bench: Bench) -> Outcome:
    figures, met, largest = [], 0, 0
    for predicates in _LENGTHS:
        curve = _curve(bench, predicates)
        sizes = [count for count in curve if "gryphon" in curve[count] and "counting" in curve[count]]
        ours, theirs = ([curve[each][name].median for each in sizes] for name in ("gryphon", "counting"))
        at, largest = crossing(sizes, ours, theirs), max(largest, *sizes)
        met += at is not None or ours[-1] < theirs[-1]
        if at is not None:
            figures.append(figure(f"L {predicates}: crossing", at, 500_000))
        figures.append(figure(f"L {predicates}, {sizes[-1]}: time of gryphon by counting", ours[-1] / theirs[-1]))
    return Outcome(
        is_true(met == len(_LENGTHS)) if largest >= 500_000 or met == len(_LENGTHS) else "unclear",
        figures,
        f"Gryphon is below counting for {met} of {len(_LENGTHS)} lengths at {largest} or before",
    )


@JEWEL.row(
    "J9",
    "1.3, 5.4.1, 6",
    "On conjunctions the graph trails counting, and nearly reaches it beyond a million.",
    "parity at 1,000,000",
    "time of true-value-path by counting",
    contradicts="chapter 6, which once calls the graph superior to counting",
)
def _against_counting(bench: Bench) -> Outcome:
    figures, directions, last = [], [], []
    for predicates in _LENGTHS:
        curve = _curve(bench, predicates)
        for count in (min(curve), _last(curve, _PATHS, "counting")):
            ratio = times(curve[count], _PATHS, "counting")
            theirs = 1.0 if count >= 1_000_000 else None
            figures.append(figure(f"L {predicates}, {count}", ratio, theirs))
            directions.append(above(ratio, 1))
            last.append(median(ratio))
    held = (
        "superior to counting" if max(last) < 1 else "trails counting" if min(last) > 1 else "neither throughout"
    )
    return Outcome(all_of(*directions), figures, f"the sentence that held: {held}")


@JEWEL.row(
    "J10",
    "1.3, 5.4.1",
    "The number of subscriptions hardly affects Gryphon and the graph, and strongly affects counting.",
    "trend",
    "exponents of time over the number",
)
def _exponents(bench: Bench) -> Outcome:
    figures, directions = [], []
    for predicates in _LENGTHS:
        curve = _curve(bench, predicates)
        found = {name: exponents(line_of(curve, name)) for name in _ALL if len(line_of(curve, name)) > 1}
        figures += [figure(f"L {predicates}: {name}", each) for name, each in found.items()]
        for name in ("gryphon", _PATHS):
            if name in found:
                directions.append(below(found[name], min(found["counting"])))
    return Outcome(all_of(*directions), figures)


@JEWEL.row(
    "J11",
    "5.4.1",
    "True-value-path is far ahead of the other filters at 100,000 to 500,000 and slightly beyond a million.",
    "trend",
    "time of general by true-value-path",
)
def _filters_by_size(bench: Bench) -> Outcome:
    figures, directions = [], []
    for predicates in _LENGTHS:
        curve = _curve(bench, predicates)
        for count, points in curve.items():
            if {_GENERAL, _PATHS} <= set(points):
                ratio = times(points, _GENERAL, _PATHS)
                figures.append(figure(f"L {predicates}, {count}", ratio))
                directions.append(above(ratio, 1))
    return Outcome(all_of(*directions), figures)


@JEWEL.row(
    "J12",
    "T5.3",
    "Brute force: events a second by length, which fall faster than the length grows.",
    "2.56, 1.09, .58 for L 6, 10, 14: exponent 1.75",
    "time of `scan` by length",
)
def _brute_force(bench: Bench) -> Outcome:
    count = bench.pick(50, 1_000, 10_000)
    found = {each: bench.lab.points(conjunctive(each), count, ("scan",))["scan"] for each in _LENGTHS}
    slopes = exponents(found)
    note = f"{count} subscriptions; `scan` evaluates columns of a batch, so its time is less than in proportion"
    return Outcome(above(slopes, 0), [figure("exponent over L", slopes, 1.75)], note)


JEWEL.untestable(
    "J13",
    "T5.4",
    "Brute force needs about 1.5 kB a subscription of 14 predicates.",
    "153 to 768 MB for 100,000 to 500,000",
    "brute force keeps no structure of its own here: it evaluates the formulas of the language as they are",
)


def _memory(bench: Bench, *names: str) -> dict[str, dict[int, Point]]:
    curve = _curve(bench)
    return {name: line_of(curve, name) for name in names if line_of(curve, name)}


def _growth(line: Mapping[int, Point]) -> float:
    return exponent([*line], [count * point.bytes for count, point in line.items()])


@JEWEL.row("J14", "5.4.1", "Counting needs the least memory.", "trend", "bytes a subscription")
def _least_memory(bench: Bench) -> Outcome:
    lines = _memory(bench, *_ALL)
    count = min(max(line) for line in lines.values())
    sizes = {name: line[count].bytes for name, line in lines.items()}
    least = min(sizes, key=lambda name: sizes[name])
    return Outcome(
        is_true(least == "counting"),
        [figure(f"{name}, {count}", size) for name, size in sizes.items()],
        f"{least} needs least",
    )


@JEWEL.row(
    "J15",
    "1.3, 5.4.1",
    "The memory of the graph beside that of Gryphon, with many subscriptions.",
    "trend",
    "bytes a subscription and their growth",
    contradicts="1.3 says that both become equal, 5.4 that the graph is always above and Gryphon grows faster",
)
def _memory_of_trees(bench: Bench) -> Outcome:
    lines = _memory(bench, _PATHS, "gryphon")
    if len(lines) < 2:
        msg = "gryphon was left out at every size"
        raise UntestableError(msg)
    ratios = [lines[_PATHS][count].bytes / lines["gryphon"][count].bytes for count in lines["gryphon"]]
    slopes = {name: _growth(line) for name, line in lines.items()}
    always, faster = min(ratios) > 1, slopes["gryphon"] > slopes[_PATHS]
    equal = abs(ratios[-1] - 1) <= 0.25
    held = "equal (1.3)" if equal else "always above (5.4)" if always else "neither: the graph is below"
    return Outcome(
        is_true(equal or (always and faster)),
        [
            *(figure(f"exponent of bytes, {name}", slope) for name, slope in slopes.items()),
            figure("bytes of the graph by Gryphon, largest", ratios[-1]),
        ],
        f"the sentence that held: {held}; Gryphon {'grows' if faster else 'does not grow'} faster",
    )


@JEWEL.row(
    "J16", "5.4.1", "Four million conjunctions of 14 fit into 1.6 GB.", "400 bytes each", "bytes a subscription"
)
def _largest(bench: Bench) -> Outcome:
    line = line_of(_curve(bench, 14), _PATHS)
    found = line[max(line)].bytes
    return Outcome(
        below(found, 400),
        [figure(f"bytes a subscription at {max(line)}", found, 400, (max(line), 4_000_000))],
    )


@JEWEL.row(
    "J17",
    "5.4.1",
    "Without a fixed set of attributes Gryphon's tree needs several times the memory.",
    "more than 1.8 GB for 300,000 conjunctions of 6",
    "bytes a subscription, free by fixed attributes",
    workload="`jewel`: ANDs of 6 equalities, attributes fixed, and of each condition's own",
)
def _free_attributes(bench: Bench) -> Outcome:
    sizes = []
    for case in (conjunctive(6), conjunctive(6, attribute_set="free")):
        found = bench.lab.weighed(case, _one(bench), ("gryphon",))
        if isinstance(found, Exception):
            raise UntestableError(str(found).splitlines()[0])
        sizes.append(sum(found[1]["gryphon"].bytes.values()) / _one(bench))
    return Outcome(
        above(sizes[1] / sizes[0], 1),
        [
            figure("free by fixed", sizes[1] / sizes[0]),
            figure("bytes a subscription, free", sizes[1], (6_000, inf), (_one(bench), 300_000)),
        ],
    )


@JEWEL.row(
    "J18",
    "5.4.1, 5.5",
    "Zero suppression needs as much memory as general; true-value-path clearly less, having no queues.",
    "trend",
    "bytes a subscription",
)
def _memory_of_filters(bench: Bench) -> Outcome:
    curve = _curve(bench)
    points = curve[_last(curve, *FILTERS)]
    general = points[_GENERAL].bytes
    same, less = points[_SUPPRESSION].bytes / general, points[_PATHS].bytes / general
    return Outcome(
        all_of(near(same, 1, 0.05), below(less, 0.95)),
        [figure("zero suppression by general", same, 1.0), figure("true-value-path by general", less)],
    )


@JEWEL.row(
    "J19",
    "5.4.1",
    "Deletion is faster than insertion, and equally fast with each filter.",
    "20,000/s at 1,000,000",
    "deletions by insertions a second",
)
def _deletion(bench: Bench) -> Outcome:
    curve = _curve(bench)
    count = _last(curve, *FILTERS)
    points = curve[count]
    ratios = {
        name: tuple(one / other for one, other in zip(points[name].deleted, points[name].inserted, strict=True))
        for name in FILTERS
    }
    equal = times(points, _GENERAL, _PATHS, "deleted")
    return Outcome(
        all_of(*(above(each, 1) for each in ratios.values()), near(equal, 1, 0.1)),
        [
            *(figure(f"{name}: deleted by inserted", each) for name, each in ratios.items()),
            figure("general by true-value-path, deleted", equal),
            figure(f"{_PATHS}: deleted a second at {count}", points[_PATHS].deleted),
        ],
    )


def _filters(bench: Bench, case: Case, count: int, slow: str, fast: str, title: str) -> list[Figure]:
    """Visited nodes of two filters, then their times."""
    points = bench.lab.points(case, count, FILTERS)
    visited = points[slow].work["visited nodes"] / points[fast].work["visited nodes"]
    words = f"{title}: {slow.removeprefix('dag, ')} by {fast.removeprefix('dag, ')}"
    return [figure(f"{words}, visited nodes", visited), figure(f"{words}, time", times(points, slow, fast))]


@JEWEL.row(
    "J20",
    "5.5",
    "On AND and OR true-value-path beats the other filters by a great margin.",
    "trend",
    "visited nodes, then time, L 6, 10 and 14",
    workload=_AND_OR,
)
def _paths(bench: Bench) -> Outcome:
    figures: list[Figure] = []
    for predicates in _LENGTHS:
        for count in bench.pick((60,), (2_000, 10_000), (100_000, 1_000_000)):
            for slow in (_GENERAL, _SUPPRESSION):
                title = f"L {predicates}, {count}"
                figures += _filters(bench, and_or(predicates), count, slow, _PATHS, title)
    return Outcome(all_of(*(above(each.ours, 1) for each in figures if "time" in each.what)), figures)


@JEWEL.row(
    "J21",
    "3.5.1",
    "Zero suppression saves much time over general.",
    "trend",
    "visited nodes, then time",
    workload=f"{_AND_OR}; and trees with XOR",
)
def _zero_suppression(bench: Bench) -> Outcome:
    figures = _filters(bench, and_or(), _sizes(bench)[0], _GENERAL, _SUPPRESSION, "AND and OR")
    figures += _filters(bench, mixed(), _few(bench), _GENERAL, _SUPPRESSION, "with XOR")
    return Outcome(all_of(*(above(each.ours, 1) for each in figures)), figures)


@JEWEL.row(
    "J22",
    "5.6",
    "With all operators throughput is well below that of conjunctions, and memory is not excessive.",
    "trend",
    "visited nodes, time and bytes of general",
    workload="`jewel`: trees with XOR, .18 of nodes shared; ANDs with as many, and with .38 shared",
)
def _mixed(bench: Bench) -> Outcome:
    cases = (mixed(), mixed("A"), mixed("A", shared=0.38, both=0.2))
    count = _few(bench)
    found = [bench.lab.points(case, count, FILTERS)[_GENERAL] for case in cases]
    ratios = [
        tuple(one / other for one, other in zip(found[0].microseconds, each.microseconds, strict=True))
        for each in found[1:]
    ]
    bytes_ = found[0].bytes / found[1].bytes
    visited = found[0].work["visited nodes"] / found[1].work["visited nodes"]
    return Outcome(
        all_of(above(ratios[0], 1), below(bytes_, 3)),
        [
            figure("visited nodes by conjunctions that share as much", visited),
            figure("time by conjunctions that share as much", ratios[0]),
            figure("time by conjunctions that share more", ratios[1]),
            figure("bytes by conjunctions that share as much", bytes_),
        ],
        "the cause is the operators: conjunctions that share as little are compared, too",
    )


def _by_length(bench: Bench, lengths: tuple[int, ...]) -> dict[str, dict[int, Point]]:
    names = (_PATHS, _GENERAL)
    found = {
        each: bench.lab.points(
            Case(f"jewel AND, L {each}, matches .45", "jewel", {"predicates": each, "matches": 0.45}),
            _one(bench),
            names,
        )
        for each in lengths
    }
    return {name: {each: points[name] for each, points in found.items()} for name in names}


@JEWEL.row(
    "J23",
    "5.7",
    "Throughput falls strongly with the length.",
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
    "With equalities at a million only Gryphon suffers from the length.",
    "trend",
    "exponents of time over L",
    contradicts="J23, where the graph suffers",
)
def _lengths_of_equalities(bench: Bench) -> Outcome:
    curves = {each: _curve(bench, each) for each in _LENGTHS}
    count = min(_last(curve, *[name for name in _ALL if name != "gryphon"]) for curve in curves.values())
    lines = {
        name: {each: curve[count][name] for each, curve in curves.items() if name in curve[count]} for name in _ALL
    }
    slopes = {name: exponents(line) for name, line in lines.items() if len(line) == len(_LENGTHS)}
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
        pool = max(_LEAST_POOL, _one(bench) // 100)
        parameters = {"predicates": 14, "matches": 0.4, "both": 0.0, "shared": shared, "pool": pool}
        case = Case(f"jewel overlap {shared}", "jewel", parameters)
        found[shared] = bench.lab.points(case, _one(bench), (_PATHS,))[_PATHS]
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
    workload=_OVERLAP,
)
def _overlap_and_time(bench: Bench) -> Outcome:
    found = _overlap(bench)
    visited = [point.work["visited nodes"] for point in found.values()]
    ratio = _first_by_last(found, "microseconds")
    return Outcome(
        all_of(rising(visited[::-1]), above(ratio, 1)),
        [
            *(figure(f"shared {at}: visited nodes", each) for at, each in zip(found, visited, strict=True)),
            figure("time where least is shared by most", ratio),
        ],
    )


@JEWEL.row(
    "J26",
    "5.8",
    "The more nodes are shared, the faster insertion is.",
    "trend",
    "insertions a second",
    workload=_OVERLAP,
)
def _overlap_and_insertion(bench: Bench) -> Outcome:
    found = _overlap(bench)
    ratio = _first_by_last(found, "inserted")
    figures = [figure(f"shared {at}: inserted a second", point.inserted) for at, point in found.items()]
    return Outcome(below(ratio, 1), [figure("rate where least is shared by most", ratio), *figures])


@JEWEL.row(
    "J27",
    "5.8",
    "The more nodes are shared, the fewer nodes and bytes there are.",
    "trend; N (2 L - 1) (1 - shared) nodes",
    "nodes and bytes",
    workload=_OVERLAP,
)
def _overlap_and_memory(bench: Bench) -> Outcome:
    figures, nodes, sizes = [], [], []
    for shared, point in _overlap(bench).items():
        nodes.append(float(point.stats.counts["nodes"]))
        sizes.append(point.bytes)
        expected = point.subscriptions * 27 * (1 - shared)
        figures += [
            figure(f"shared {shared}: nodes", nodes[-1], expected),
            figure(f"shared {shared}: bytes a subscription", sizes[-1]),
        ]
    return Outcome(all_of(rising(nodes[::-1]), rising(sizes[::-1])), figures)


@JEWEL.row(
    "J28",
    "5.9",
    "The more matches an event has, the longer it takes.",
    "trend",
    "exponent of time over matches, reports included",
    workload="`jewel`: ANDs of 14, .35 of the nodes shared, 5% to 80% matches",
)
def _matches(bench: Bench) -> Outcome:
    lines: dict[str, dict[float, Point]] = {}
    for share in bench.pick((0.05, 0.8), (0.05, 0.2, 0.8), (0.05, 0.2, 0.4, 0.8)):
        parameters = {"predicates": 14, "shared": 0.35, "matches": share}
        case = Case(f"jewel matches {share}", "jewel", parameters)
        for name, point in bench.lab.points(case, _one(bench), (_PATHS, "counting")).items():
            lines.setdefault(name, {})[point.pairs] = point
    slopes = {name: exponents(lines[name]) for name in (_PATHS, "counting")}
    return Outcome(
        all_of(*(above(each, 0) for each in slopes.values())),
        [figure(f"{name}: exponent over matches", each) for name, each in slopes.items()],
    )


@JEWEL.row(
    "J29",
    "5.4.1",
    "Counting in slices of bits is faster, and its memory prohibitive.",
    "trend",
    "time and bytes of `bitslice` and counting",
)
def _bitslice(bench: Bench) -> Outcome:
    points = _curve(bench)[_sizes(bench)[0]]
    ratio = times(points, "counting", "bitslice")
    bytes_ = points["bitslice"].bytes / points["counting"].bytes
    return Outcome(
        all_of(above(ratio, 1), above(bytes_, 2)),
        [figure("bytes of bitslice by counting", bytes_), figure("time of counting by bitslice", ratio)],
        "`bitslice` is not the static array of the thesis; it shows that slices need not be prohibitive",
    )


@JEWEL.row(
    "J30",
    "3.2.3",
    "Going up from the predicates visits far fewer nodes than going down from the roots.",
    "trend",
    "visited nodes of an event",
    workload=_AND_OR,
)
def _directions(bench: Bench) -> Outcome:
    data = bench.lab.data(and_or(pool=_LEAST_POOL), _few(bench), 32)
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
    "Sorted parent lists instead of a table of expressions: less memory, slower insertion.",
    "trend",
    "bytes, then insertions a second",
    workload=f"{JEWEL.workload}; {_AND_OR}",
)
def _finding(bench: Bench) -> Outcome:
    figures, directions = [], []
    for case in (conjunctive(), and_or()):
        points = bench.lab.points(case, _one(bench), (_PATHS, "dag, parent lists"))
        bytes_ = points["dag, parent lists"].bytes / points[_PATHS].bytes
        rate = times(points, "dag, parent lists", _PATHS, "inserted")
        figures += [
            figure(f"{case.label}: bytes of lists by table", bytes_),
            figure(f"{case.label}: rate of lists by table", rate),
        ]
        directions += [below(bytes_, 1), below(rate, 1)]
    return Outcome(all_of(*directions), figures)


@JEWEL.row(
    "J32",
    "3.6.2",
    "Choosing brackets by dynamic programming reuses more nodes, in any order of insertion.",
    "5 bracketings of 4 leaves",
    "nodes with chosen brackets in several orders, and with brackets from the left",
    workload=_AND_OR,
)
def _brackets(bench: Bench) -> Outcome:
    data = bench.lab.data(and_or(pool=_LEAST_POOL), _few(bench), 1)
    draws = np.random.default_rng(bench.seed)
    engine = engine_of(_PATHS)
    assert engine is not None
    nodes = []
    for _ in range(bench.pick(2, 5, 20)):
        order = draws.permutation(len(data.forest)).astype(np.int32)
        nodes.append(float(engine.build(select_formulas(data.forest, order)).stats().counts["nodes"]))
    fixed = left_deep_nodes(data.forest)
    return Outcome(
        below(nodes, fixed),
        [figure("nodes by brackets from the left", [each / fixed for each in nodes])],
        f"{len(nodes)} orders",
    )


@JEWEL.row(
    "J33",
    "3.7, A",
    "Levels, use counts, two children and ready operands stay right under insertion and deletion.",
    "theorems 1 to 4, corollaries 1 to 5",
    "graphs that were checked whole",
    workload=_AND_OR,
    contradicts="NOT and NAND as printed: a node is visited only if a child is",
)
def _invariants(bench: Bench) -> Outcome:
    data = bench.lab.data(and_or(pool=_LEAST_POOL), _few(bench), 1)
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
    "A higher priority is reported no later, unless the lower one is a part of it.",
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
    "4.2, 4.4",
    "k-of-n conditions run in the same graph; overlapping phases would raise throughput.",
    "examples; overlap was never measured there",
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
    return Outcome(
        is_true(wrong == 0),
        [figure("answers that differ", wrong)],
        "overlapping phases and pipelining are not built here, so that half of the row is not tested",
    )
