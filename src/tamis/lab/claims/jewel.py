"""Rows of M. R. F. Jewel's thesis (2004): the expression graph, its three filters, and its baselines.

The filters of `dag` are contestants of their own, each with an index of its own, so that insertion and bytes are
those of the filter. To true-value-path XOR is AND and OR, so every filter serves every condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import inf
from statistics import median

from tamis.lab.claims.bench import Bench
from tamis.lab.claims.node_counts import conjunctions
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
)
from tamis.lab.jewel.dag import Dag
from tamis.lab.measuring.contestants import FILTERS, conjunctive
from tamis.lab.measuring.curves import Curve, crossing, exponent, exponents, line_of, times
from tamis.lab.measuring.points import Point
from tamis.language.condition import compile_condition

JEWEL = Paper(
    "jewel",
    "M. R. F. Jewel, A Fast Filtering Engine for Publish/Subscribe System, MSc thesis, Toronto, 2004",
    "`jewel`: ANDs of 6, 10 or 14 equalities on a fixed set of attributes, .38 of the nodes shared, .5% matches",
)
PATHS, SUPPRESSION, GENERAL = FILTERS
ALL = ("counting", "gryphon", *FILTERS)
LENGTHS = (6, 10, 14)
AND_OR = "`jewel`: trees of AND and OR over >, .5 of the nodes shared, 13% matches"
OVERLAP = "`jewel`: ANDs of 14, >, 40% matches, .1 to .8 of the nodes shared"
LEAST_POOL = 20
"""Of few conditions; the smaller a pool is, the further matches stray from what is aimed at."""


def sizes(bench: Bench) -> tuple[int, ...]:
    full = (10_000, 100_000, 400_000, 1_000_000, 4_000_000)
    return bench.pick((50, 60), (2_000, 10_000, 100_000), full)


def one_size(bench: Bench) -> int:
    return bench.pick(60, 5_000, 100_000)


def few(bench: Bench) -> int:
    return bench.pick(40, 500, 2_000)


def equality_curve(bench: Bench, predicates: int = 10) -> Curve:
    return bench.curve(conjunctive(predicates), sizes(bench), ALL)


def last_size(curve: Curve, *names: str) -> int:
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
    "conjunctions of the normal form; nodes of `dag`",
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
    "A graph of 100,000 conjunctions of 14 predicates takes thousands of insertions per second.",
    "more than 5,000/s",
    "insertions per second; ratio to counting and Gryphon",
)
def _insertion(bench: Bench) -> Outcome:
    count = min(sizes(bench)[1], 100_000)
    points = bench.lab.points(conjunctive(14), count, ALL)
    rates = points[PATHS].inserted
    others = [
        figure(f"{PATHS} / {name}", times(points, PATHS, name, "inserted"))
        for name in ("counting", "gryphon")
        if name in points and points[name].inserted
    ]
    return Outcome(above(rates, 5_000), [figure(f"insertions per second at {count}", rates), *others])


@JEWEL.row(
    "J3",
    "5.4.1",
    "The insertion rate as the number of subscriptions grows, with conjunctions of 6 predicates.",
    "more than 1,000/s at millions",
    "exponent of the rate over the number of subscriptions",
    contradicts="itself: the rate is said to fall linearly, and to be hardly affected",
)
def _insertion_by_size(bench: Bench) -> Outcome:
    line = line_of(equality_curve(bench, 6), PATHS)
    slopes = exponents(line, "inserted")
    held = "hardly affected" if median(slopes) > -0.25 else "falls, and slower than linearly"
    held = "falls linearly" if median(slopes) < -0.75 else held
    return Outcome(
        above(line[max(line)].inserted, 1_000),
        [figure("exponent", slopes), figure(f"insertions per second at {max(line)}", line[max(line)].inserted)],
        f"the sentence that held: {held}",
    )


@JEWEL.row("J4", "5.4.1", "The three filters insert equally fast.", "equal", "insertions a second, within 5%")
def _insertion_of_filters(bench: Bench) -> Outcome:
    curve = equality_curve(bench)
    points = curve[last_size(curve, *FILTERS)]
    ratios = {name: times(points, name, PATHS, "inserted") for name in FILTERS[1:]}
    return Outcome(
        all_of(*(near(each, 1, 0.05) for each in ratios.values())),
        [figure(f"{name} / {PATHS}", each, 1.0) for name, each in ratios.items()],
    )


def _rates(bench: Bench) -> dict[str, dict[int, Point]]:
    curve = equality_curve(bench)
    lines = {name: line_of(curve, name) for name in ALL}
    return {name: line for name, line in lines.items() if len(line) > 1 and line[min(line)].inserted}


@JEWEL.row(
    "J5",
    "5.4.1",
    "Gryphon inserts fastest, at a rate that hardly depends on the number of subscriptions.",
    "trend",
    "rates and their exponent",
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
        [figure("exponent of gryphon", slopes), *(figure(f"{name}, per second", at_end[name]) for name in at_end)],
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
    for predicates in LENGTHS:
        curve = equality_curve(bench, predicates)
        for count, points in curve.items():
            if count <= 400_000:
                fastest = min((name for name in ALL if name in points), key=lambda name: points[name].median)
                rival = PATHS if fastest == "counting" else fastest
                ratio = times(points, rival, "counting")
                directions.append(above(ratio, 1))
                figures.append(figure(f"L {predicates}, {count}: time of {rival} / counting", ratio))
    return Outcome(all_of(*directions), figures)


@JEWEL.row(
    "J8",
    "5.4.1",
    "Beyond half a million subscriptions, Gryphon is faster than counting.",
    "500,000",
    "crossing of times",
)
def _overtaking(bench: Bench) -> Outcome:
    figures, met, largest = [], 0, 0
    for predicates in LENGTHS:
        curve = equality_curve(bench, predicates)
        sizes = [count for count in curve if "gryphon" in curve[count] and "counting" in curve[count]]
        ours, theirs = ([curve[each][name].median for each in sizes] for name in ("gryphon", "counting"))
        at, largest = crossing(sizes, ours, theirs), max(largest, *sizes)
        met += at is not None or ours[-1] < theirs[-1]
        if at is not None:
            figures.append(figure(f"L {predicates}: crossing", at, 500_000))
        figures.append(figure(f"L {predicates}, {sizes[-1]}: time of gryphon / counting", ours[-1] / theirs[-1]))
    return Outcome(
        is_true(met == len(LENGTHS)) if largest >= 500_000 or met == len(LENGTHS) else "unclear",
        figures,
        f"Gryphon is below counting for {met} of {len(LENGTHS)} lengths at {largest} or before",
    )


@JEWEL.row(
    "J9",
    "1.3, 5.4.1, 6",
    "On conjunctions the graph is slower than counting, and nearly as fast beyond a million.",
    "parity at 1,000,000",
    "time of true-value-path / counting",
    contradicts="chapter 6, which once calls the graph superior to counting",
)
def _against_counting(bench: Bench) -> Outcome:
    figures, directions, last = [], [], []
    for predicates in LENGTHS:
        curve = equality_curve(bench, predicates)
        for count in (min(curve), last_size(curve, PATHS, "counting")):
            ratio = times(curve[count], PATHS, "counting")
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
    for predicates in LENGTHS:
        curve = equality_curve(bench, predicates)
        found = {name: exponents(line_of(curve, name)) for name in ALL if len(line_of(curve, name)) > 1}
        figures += [figure(f"L {predicates}: {name}", each) for name, each in found.items()]
        for name in ("gryphon", PATHS):
            if name in found:
                directions.append(below(found[name], min(found["counting"])))
    return Outcome(all_of(*directions), figures)


@JEWEL.row(
    "J11",
    "5.4.1",
    "True-value-path is much faster than other filters from 100,000 to 500,000, and slightly beyond a million.",
    "trend",
    "time of general / true-value-path",
)
def _filters_by_size(bench: Bench) -> Outcome:
    figures, directions = [], []
    for predicates in LENGTHS:
        curve = equality_curve(bench, predicates)
        for count, points in curve.items():
            if {GENERAL, PATHS} <= set(points):
                ratio = times(points, GENERAL, PATHS)
                figures.append(figure(f"L {predicates}, {count}", ratio))
                directions.append(above(ratio, 1))
    return Outcome(all_of(*directions), figures)


@JEWEL.row(
    "J12",
    "T5.3",
    "Brute force: the event rate falls faster than the length L of conditions grows.",
    "2.56, 1.09, .58 events/s for L 6, 10, 14: exponent 1.75",
    "time of `scan` by length",
)
def _brute_force(bench: Bench) -> Outcome:
    count = bench.pick(50, 1_000, 10_000)
    found = {each: bench.lab.points(conjunctive(each), count, ("scan",))["scan"] for each in LENGTHS}
    slopes = exponents(found)
    note = f"{count} subscriptions; `scan` evaluates columns of a batch, so its time is less than in proportion"
    return Outcome(above(slopes, 0), [figure("exponent over L", slopes, 1.75)], note)


JEWEL.untestable(
    "J13",
    "T5.4",
    "Brute force needs about 1.5 kB for a subscription of 14 predicates.",
    "153 to 768 MB for 100,000 to 500,000",
    "brute force keeps no structure of its own here: it evaluates the formulas of the language as they are",
)


def _memory(bench: Bench, *names: str) -> dict[str, dict[int, Point]]:
    curve = equality_curve(bench)
    return {name: line_of(curve, name) for name in names if line_of(curve, name)}


def _growth(line: Mapping[int, Point]) -> float:
    return exponent([*line], [count * point.bytes for count, point in line.items()])


@JEWEL.row("J14", "5.4.1", "Counting needs the least memory.", "trend", "bytes per subscription")
def _least_memory(bench: Bench) -> Outcome:
    lines = _memory(bench, *ALL)
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
    "The memory of the graph compared with that of Gryphon, with many subscriptions.",
    "trend",
    "bytes per subscription and their growth",
    contradicts="1.3 says that both become equal, 5.4 that the graph is always above and Gryphon grows faster",
)
def _memory_of_trees(bench: Bench) -> Outcome:
    lines = _memory(bench, PATHS, "gryphon")
    if len(lines) < 2:
        msg = "gryphon was left out at every size"
        raise UntestableError(msg)
    ratios = [lines[PATHS][count].bytes / lines["gryphon"][count].bytes for count in lines["gryphon"]]
    slopes = {name: _growth(line) for name, line in lines.items()}
    always, faster = min(ratios) > 1, slopes["gryphon"] > slopes[PATHS]
    equal = abs(ratios[-1] - 1) <= 0.25
    held = "equal (1.3)" if equal else "always above (5.4)" if always else "neither: the graph is below"
    return Outcome(
        is_true(equal or (always and faster)),
        [
            *(figure(f"exponent of bytes, {name}", slope) for name, slope in slopes.items()),
            figure("bytes of the graph / Gryphon, largest", ratios[-1]),
        ],
        f"the sentence that held: {held}; Gryphon {'grows' if faster else 'does not grow'} faster",
    )


@JEWEL.row(
    "J16", "5.4.1", "Four million conjunctions of 14 fit into 1.6 GB.", "400 bytes each", "bytes per subscription"
)
def _largest(bench: Bench) -> Outcome:
    line = line_of(equality_curve(bench, 14), PATHS)
    found = line[max(line)].bytes
    return Outcome(
        below(found, 400),
        [figure(f"bytes per subscription at {max(line)}", found, 400, (max(line), 4_000_000))],
    )


@JEWEL.row(
    "J17",
    "5.4.1",
    "Without a fixed set of attributes Gryphon's tree needs several times the memory.",
    "more than 1.8 GB for 300,000 conjunctions of 6",
    "bytes per subscription, free / fixed attributes",
    workload="`jewel`: ANDs of 6 equalities, attributes fixed, and of each condition's own",
)
def _free_attributes(bench: Bench) -> Outcome:
    sizes = []
    for case in (conjunctive(6), conjunctive(6, attribute_set="free")):
        found = bench.lab.weighed(case, one_size(bench), ("gryphon",))
        if isinstance(found, Exception):
            raise UntestableError(str(found).splitlines()[0])
        sizes.append(sum(found[1]["gryphon"].bytes.values()) / one_size(bench))
    return Outcome(
        above(sizes[1] / sizes[0], 1),
        [
            figure("free / fixed", sizes[1] / sizes[0]),
            figure("bytes per subscription, free", sizes[1], (6_000, inf), (one_size(bench), 300_000)),
        ],
    )


@JEWEL.row(
    "J18",
    "5.4.1, 5.5",
    "Zero suppression needs as much memory as general; true-value-path, which has no queues, clearly less.",
    "trend",
    "bytes per subscription",
)
def _memory_of_filters(bench: Bench) -> Outcome:
    curve = equality_curve(bench)
    points = curve[last_size(curve, *FILTERS)]
    general = points[GENERAL].bytes
    same, less = points[SUPPRESSION].bytes / general, points[PATHS].bytes / general
    return Outcome(
        all_of(near(same, 1, 0.05), below(less, 0.95)),
        [figure("zero suppression / general", same, 1.0), figure("true-value-path / general", less)],
    )


@JEWEL.row(
    "J19",
    "5.4.1",
    "Deletion is faster than insertion, and equally fast with each filter.",
    "20,000/s at 1,000,000",
    "deletions / insertions per second",
)
def _deletion(bench: Bench) -> Outcome:
    curve = equality_curve(bench)
    count = last_size(curve, *FILTERS)
    points = curve[count]
    ratios = {
        name: tuple(one / other for one, other in zip(points[name].deleted, points[name].inserted, strict=True))
        for name in FILTERS
    }
    equal = times(points, GENERAL, PATHS, "deleted")
    return Outcome(
        all_of(*(above(each, 1) for each in ratios.values()), near(equal, 1, 0.1)),
        [
            *(figure(f"{name}: deleted / inserted", each) for name, each in ratios.items()),
            figure("general / true-value-path, deleted", equal),
            figure(f"{PATHS}: deletions per second at {count}", points[PATHS].deleted),
        ],
    )
