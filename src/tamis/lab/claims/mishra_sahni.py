"""Rows of T. Banerjee Mishra and S. Sahni (PUBSUB): buckets below range structures, against BE-Tree and Siena.

What the paper leaves open is fixed in `tamis.lab.claims.bucket_cases`. Pairs of all contestants are compared with
those of `bitslice` before any time is taken. Siena's table here is several times as fast as the public program.
"""

from __future__ import annotations

import time
from dataclasses import replace
from math import inf
from statistics import mean, median
from typing import Literal

from tamis.frames import BatchFrame
from tamis.lab.claims.bench import Bench
from tamis.lab.claims.bucket_cases import (
    CAPACITY,
    EVERYBODY,
    IT,
    ORDERS,
    RBPST,
    STRUCTURES,
    begen,
    engine_of,
    pubsub,
)
from tamis.lab.claims.bucket_steps import count_steps, fit_steps, table_against_links
from tamis.lab.claims.row import Direction, Figure, Outcome, Paper, above, all_of, below, figure, is_true, near
from tamis.lab.measuring.cases import Case, Data, data_of
from tamis.lab.measuring.contestants import auction
from tamis.lab.measuring.curves import Curve, Points, exponents, line_of, saved, times
from tamis.lab.measuring.points import Lab, Point
from tamis.lab.mishra_sahni.buckets import Buckets
from tamis.lab.mishra_sahni.buckets.suffix_patterns import SuffixPatterns

MISHRA_SAHNI = Paper(
    "mishra-sahni",
    "T. Banerjee Mishra, S. Sahni, PUBSUB: An Efficient Publish/Subscribe System, University of Florida",
    "`begen`: 5 to 9 predicates, 30% equalities, 400 attributes, 1% matches, uniform or Zipf choice of attributes",
)
_SMALL = 50
_CHOICES = ("uniform", "zipf")
_THEIRS = 100_000
"""Subscriptions of their smallest experiment."""
_CHANGES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999)
"""Of changes among changes and events."""


def _lab(bench: Bench) -> Lab:
    """With contestants told by name, and without statistics, which only `bitslice` would go by."""
    return bench.once(
        "buckets",
        lambda: replace(bench.lab, engines=engine_of, informed=False, _known={}, _slow={}, _warmed=set()),
    )


def _points(bench: Bench, case: Case, count: int, names: tuple[str, ...]) -> Points:
    return _lab(bench).points(case, count, names)


def _sizes(bench: Bench) -> tuple[int, ...]:
    full = (100_000, 300_000, 1_000_000, 2_000_000, 5_000_000)
    return bench.pick((60, 90), (2_000, 20_000), full)


def _swept(bench: Bench) -> int:
    """Subscriptions where something else is swept."""
    return bench.pick(60, 5_000, 1_000_000)


def _by_size(bench: Bench, choice: str) -> Curve:
    case = begen(choice)
    return {count: _points(bench, case, count, EVERYBODY) for count in bench.within_budget(_sizes(bench))}


def _by_dimensions(bench: Bench, choice: str) -> Curve:
    dimensions = bench.pick((80, 120), (100, 400, 1_500), (100, 200, 400, 700, 1_000, 1_500))
    return {each: _points(bench, begen(choice, each), _swept(bench), EVERYBODY) for each in dimensions}


def _savings(
    curve: Curve, other: str, theirs: tuple[float, float], sizes: dict[int, int]
) -> tuple[Direction, list[Figure]]:
    """Which share of the time of another system buckets save, at each point."""
    figures, directions = [], []
    for at, points in curve.items():
        if {RBPST, other} <= set(points):
            share = saved(points, RBPST, other)
            figures.append(figure(f"{at}: time saved against {other}", share, theirs, (sizes[at], _THEIRS)))
            directions.append(above(share, 0))
    return all_of(*directions), figures


def _counted(points: Points) -> list[Figure]:
    """What the contestants counted of an event."""
    return [
        figure(f"{name}: {what} per event", points[name].work[what])
        for name in (RBPST, "betree", "siena")
        if name in points
        for what in ("candidates", "conjunctions", "tests")
        if what in points[name].work
    ]


@MISHRA_SAHNI.row(
    "P1",
    "4.1",
    "Large buckets are best, whatever the share of matches and the structure.",
    "5,000 and more",
    "share of structures that ever split; time by size of buckets",
    workload="`begen`, 1,000 attributes, .01% to 15% matches, buckets of 1 to 50,000",
)
def _capacities(bench: Bench) -> Outcome:
    figures, directions = [], []
    for share in bench.pick((0.05,), (0.001, 0.15), (0.0001, 0.01, 0.05, 0.15)):
        for structure in (STRUCTURES[0], STRUCTURES[-1]):
            held = _by_capacity(bench, share, structure)
            largest = max(held)
            best = min(held, key=lambda size: held[size].median)
            counts = held[largest].stats.counts
            split = counts["split_structures"] / max(counts["structures"], 1)
            ratio = _ratio(held[largest], held[best])
            title = f"matches {share:g}, {structure}"
            figures += [
                figure(f"{title}: structures split at {largest}", split),
                figure(f"{title}: time of {largest} / best, {best}", ratio),
            ]
            directions.append(below(ratio, 1.1))
    return Outcome(all_of(*directions), figures)


def _by_capacity(bench: Bench, share: float, structure: str) -> dict[int, Point]:
    capacities = bench.pick((1, 5), (1, 10, 100, 1_000, CAPACITY), (1, 10, 50, 500, 1_000, CAPACITY, 50_000))
    names = tuple(pubsub(each, size) for each in (STRUCTURES[0], STRUCTURES[-1]) for size in capacities)
    case = begen("uniform", bench.pick(120, 1_000, 1_000), matches=share)
    points = _points(bench, case, _swept(bench), names)
    return {size: points[pubsub(structure, size)] for size in capacities if pubsub(structure, size) in points}


def _ratio(one: Point, other: Point) -> tuple[float, ...]:
    return tuple(a / b for a, b in zip(one.microseconds, other.microseconds, strict=True))


def _against(
    id_: str, where: str, choice: str, other: str, sweep: str, theirs: tuple[float, float], words: str
) -> None:
    """A row on the share of another system's time that buckets save."""

    @MISHRA_SAHNI.row(
        id_,
        where,
        words,
        f"{theirs[0]:.1%} to {theirs[1]:.1%} less time",
        "candidates; share of the other's time that is saved",
        workload=f"`begen`, {choice} choice of attributes, by {sweep}",
    )
    def measure(bench: Bench) -> Outcome:
        if sweep == "subscriptions":
            curve = _by_size(bench, choice)
            sizes = {count: count for count in curve}
        else:
            curve = _by_dimensions(bench, choice)
            sizes = dict.fromkeys(curve, _swept(bench))
        direction, figures = _savings(curve, other, theirs, sizes)
        return Outcome(direction, [*_counted(curve[max(curve)]), *figures])


_against("P2", "4.2", "uniform", "betree", "subscriptions", (0.19, 0.31), "Uniform data: less time than BE-Tree.")
_against("P3", "4.2", "uniform", "siena", "subscriptions", (0.97, 0.99), "Uniform data: far less time than Siena.")
_against(
    "P9",
    "4.3",
    "uniform",
    "betree",
    "attributes",
    (0.24, 0.30),
    "Uniform data, 100 to 1,500 attributes: less time than BE-Tree.",
)
_against(
    "P10",
    "4.3",
    "zipf",
    "betree",
    "attributes",
    (0.062, 0.075),
    "Zipf data, 100 to 1,500 attributes: less time than BE-Tree.",
)


@MISHRA_SAHNI.row("P4", "4.2", "Zipf data: comparable to BE-Tree.", "about 1", "time of BE-Tree / buckets")
def _comparable(bench: Bench) -> Outcome:
    ratios = {
        count: times(points, "betree", RBPST)
        for count, points in _by_size(bench, "zipf").items()
        if {"betree", RBPST} <= set(points)
    }
    return Outcome(
        all_of(*(near(each, 1, 0.25) for each in ratios.values())),
        [figure(f"{count}", each, 1.0, (count, _THEIRS)) for count, each in ratios.items()],
    )


@MISHRA_SAHNI.row(
    "P5", "4.2", "Zipf data: many times as fast as Siena.", "38 to 147 times", "time of Siena / buckets"
)
def _siena_on_zipf(bench: Bench) -> Outcome:
    ratios = {
        count: times(points, "siena", RBPST)
        for count, points in _by_size(bench, "zipf").items()
        if {"siena", RBPST} <= set(points)
    }
    return Outcome(
        all_of(*(above(each, 1) for each in ratios.values())),
        [figure(f"{count}", each, (38.0, 147.0), (count, _THEIRS)) for count, each in ratios.items()],
        "our Siena is several times as fast as the public one",
    )


@MISHRA_SAHNI.row(
    "P6",
    "4.2",
    "On Zipf data, trees are deeper and an event visits more buckets, because attributes are shared.",
    "trend",
    "mean depth, and buckets that an event visits",
)
def _depth(bench: Bench) -> Outcome:
    count = max(size for size in _sizes(bench) if size <= 1_000_000)
    found = {choice: _points(bench, begen(choice), count, EVERYBODY)[RBPST] for choice in _CHOICES}
    depths = {
        choice: point.stats.counts["depths"] / max(point.stats.counts["conjunctions"], 1)
        for choice, point in found.items()
    }
    buckets = {choice: point.work["buckets"] for choice, point in found.items()}
    return Outcome(
        all_of(above(depths["zipf"], depths["uniform"]), above(buckets["zipf"], buckets["uniform"])),
        [
            *(figure(f"{choice}: mean depth", each) for choice, each in depths.items()),
            *(figure(f"{choice}: buckets per event", each) for choice, each in buckets.items()),
        ],
    )


@MISHRA_SAHNI.row(
    "P7",
    "4.2",
    "Priority search trees are slightly faster than interval trees beyond a million and with overlapping ranges.",
    "trend",
    "time of interval / priority search trees, buckets of 50, 500 and 5,000",
)
def _structures(bench: Bench) -> Outcome:
    count = max(size for size in _sizes(bench) if size <= 1_000_000)
    names = tuple(pubsub(each, size) for size in (50, 500, CAPACITY) for each in ("it-node", "rbpst-hull"))
    figures = []
    for choice in _CHOICES:
        points = _points(bench, begen(choice), count, names)
        for size in (50, 500, CAPACITY):
            ratio = times(points, pubsub("it-node", size), pubsub("rbpst-hull", size))
            figures.append(figure(f"{choice}, {size}", ratio))
    return Outcome(all_of(*(above(each.ours, 1) for each in figures)), figures, f"{count} subscriptions")


@MISHRA_SAHNI.row(
    "P8", "4.3", "All systems become slightly faster with more attributes.", "trend", "exponents of time"
)
def _dimensions(bench: Bench) -> Outcome:
    figures = []
    for choice in _CHOICES:
        curve = _by_dimensions(bench, choice)
        for name in EVERYBODY:
            line = line_of(curve, name)
            if len(line) > 1:
                figures.append(figure(f"{choice}: {name}", exponents(line)))
    return Outcome(all_of(*(below(each.ours, 0) for each in figures)), figures)


@MISHRA_SAHNI.row(
    "P11", "4.3", "BE-Tree is faster than Siena on both kinds of data.", "trend", "time of Siena / BE-Tree"
)
def _betree_against_siena(bench: Bench) -> Outcome:
    figures = []
    for choice in _CHOICES:
        for dimensions, points in _by_dimensions(bench, choice).items():
            if {"siena", "betree"} <= set(points):
                figures.append(figure(f"{choice}, {dimensions}", times(points, "siena", "betree")))
    return Outcome(all_of(*(above(each.ours, 1) for each in figures)), figures)


def _overall(bench: Bench, other: str, choices: tuple[str, ...]) -> list[float]:
    """Medians of the ratio at every point of both sweeps."""
    curves = [sweep(bench, choice) for choice in choices for sweep in (_by_size, _by_dimensions)]
    return [
        median(times(points, other, own))
        for curve in curves
        for points in curve.values()
        for own in (IT, RBPST)
        if {own, other} <= set(points)
    ]


@MISHRA_SAHNI.row(
    "P12",
    "5, abstract, 1",
    "Overall speed compared with Siena.",
    "38 to 330 times, 201 on average; in the abstract 98% less time, in the introduction 97%",
    "mean and range of ratios of time",
    contradicts="itself: 201 times is 99.5%, not 98% (50 times) or 97% (33 times)",
)
def _siena_overall(bench: Bench) -> Outcome:
    ratios = _overall(bench, "siena", _CHOICES)
    size = (min(_sizes(bench)), _THEIRS)
    nearest = min({"201 times": 201, "98%": 50, "97%": 33}.items(), key=lambda each: abs(each[1] - mean(ratios)))
    return Outcome(
        above(ratios, 1),
        [
            figure("mean", mean(ratios), 201.0, size),
            figure("least", min(ratios), (38.0, inf), size),
            figure("greatest", max(ratios), (-inf, 330.0), size),
        ],
        f"the sentence that comes nearest: {nearest[0]}",
    )


@MISHRA_SAHNI.row(
    "P13",
    "5, abstract, 1",
    "Overall speed compared with BE-Tree on uniform data.",
    "1.23 to 1.48 times, 1.36 on average; in the introduction up to 95% less time",
    "mean and range of ratios of time",
    contradicts="P2 and P9: 1.48 times is 32.4% less, outside of both; and the 95% of the introduction",
)
def _betree_overall(bench: Bench) -> Outcome:
    ratios = _overall(bench, "betree", ("uniform",))
    size = (min(_sizes(bench)), _THEIRS)
    held = "up to 95%" if max(ratios) > 3 else "1.23 to 1.48" if max(ratios) < 1.85 else "neither"
    return Outcome(
        above(ratios, 1),
        [
            figure("mean", mean(ratios), 1.36, size),
            figure("least", min(ratios), (1.23, inf), size),
            figure("greatest", max(ratios), (-inf, 1.48), size),
        ],
        f"the sentence that held: {held}",
    )


@MISHRA_SAHNI.row(
    "P14",
    "4",
    "Testing rare attributes first helps, above all on Zipf data.",
    "trend",
    "candidates, then time, frequent first / rare first",
)
def _orders(bench: Bench) -> Outcome:
    names = tuple(pubsub("rbpst-hull", CAPACITY, order) for order in ORDERS)
    figures, ratios = [], {}
    for choice in _CHOICES:
        points = _points(bench, begen(choice), _swept(bench), names)
        ratios[choice] = times(points, names[1], names[0])
        work = [points[name].work["candidates"] for name in names[:2]]
        figures += [
            figure(f"{choice}: candidates, frequent / rare first", work[1] / max(work[0], 1e-9)),
            figure(f"{choice}: time, frequent / rare first", ratios[choice]),
        ]
    return Outcome(all_of(above(ratios["zipf"], 1), above(ratios["zipf"], max(ratios["uniform"]))), figures)


@MISHRA_SAHNI.row(
    "P15",
    "2, 3.3",
    "BE-Tree is slow if ranges span the values at which it splits.",
    "trend",
    "time where all ranges span the middle / none do",
    workload="`begen`, uniform, 0 to 100% of the ranges around the middle of the values",
)
def _middles(bench: Bench) -> Outcome:
    shares = bench.pick((0.0, 1.0), (0.0, 1.0), (0.0, 0.25, 0.5, 0.75, 1.0))
    found = {each: _points(bench, begen("uniform", middle=each), _swept(bench), EVERYBODY) for each in shares}
    first, last = found[min(found)], found[max(found)]
    figures = []
    ratios = {}
    for name in EVERYBODY:
        if name in first and name in last:
            ratios[name] = _ratio(last[name], first[name])
            pairs = last[name].pairs / max(first[name].pairs, 1e-9)
            figures.append(figure(f"{name}: time", ratios[name]))
    figures.insert(0, figure("matches per event", pairs))
    return Outcome(
        all_of(above(ratios["betree"], 1), above(ratios["betree"], max(ratios[RBPST]))),
        figures,
    )


@MISHRA_SAHNI.row(
    "P16",
    "3.2.2, 4.1",
    "Small buckets are better if subscriptions change often.",
    "trend",
    "best size of buckets by share of changes, from the times of both",
    workload="`begen`, 1,000 attributes; 0 to 99.9% changes among changes and events",
)
def _mixes(bench: Bench) -> Outcome:
    share = bench.pick((0.05,), (0.001, 0.15), (0.0001, 0.01, 0.05, 0.15))[-1]
    held = _by_capacity(bench, share, STRUCTURES[-1])
    best = []
    for changes in _CHANGES:
        costs = {size: (1 - changes) * each.median + changes * _change(each) for size, each in held.items()}
        best.append(min(costs, key=lambda size: costs[size]))
    return Outcome(
        is_true(best[-1] < best[0]),
        [figure(f"{changes:.1%} changes: best size", size) for changes, size in zip(_CHANGES, best, strict=True)],
    )


def _change(point: Point) -> float:
    """Microseconds of a change, half of them insertions."""
    return 1e6 * (1 / median(point.inserted) + 1 / median(point.deleted)) / 2


@MISHRA_SAHNI.row(
    "P17",
    "3.2.1, 3.2.3",
    "A hash table is faster than links; queries take O(s + log n) steps, in an interval tree O(s + log K).",
    "orders of growth",
    "steps as a sum of s, log n and log K; time of links / table",
    workload="ranges of one attribute: 1,000 to 1,000,000, 4 and 64 found, 2^20 and 2^40 values",
    contradicts="our trees: K does not matter to an interval tree whose values are those that are used",
)
def _steps(bench: Bench) -> Outcome:
    figures: list[Figure] = []
    directions = []
    for structure in STRUCTURES:
        bench.progress(f"{structure}: counting steps")
        counted = [
            count_steps(structure, count, found, values, bench.seed)
            for count in bench.pick((30, 60), (1_000, 10_000), (1_000, 10_000, 100_000, 1_000_000))
            for values in (1 << 20, 1 << 40)
            for found in (4, 64)
        ]
        fit = fit_steps(counted)
        figures += [
            figure(f"{structure}: steps / log2 n", fit.ranges),
            figure(f"{structure}: steps / log2 K", fit.values),
            figure(f"{structure}: greatest residual", fit.residual),
        ]
        directions.append(below(fit.residual, 0.3))
    for children in (8, 400):
        count = bench.pick(400, 10_000, 1_000_000)
        ratio = table_against_links(count, children, bench.seed, bench.pick(1, 5, 5))
        figures.append(figure(f"{children} structures per bucket: time of links / table", ratio))
    directions.append(above(figures[-1].ours, 1))
    return Outcome(all_of(*directions), figures, "with few structures a bucket links may win; the header has many")


@MISHRA_SAHNI.row(
    "P18",
    "3.3, 5",
    "Choosing the structure for each attribute is best; changes are incremental, unlike Siena's.",
    "no figure",
    "time of the best single structure / chosen ones; changes per second / Siena's",
    workload="`auction`: strings, numbers and Booleans",
)
def _choices(bench: Bench) -> Outcome:
    chosen = pubsub("auto", _SMALL)
    alike = tuple(pubsub(structure, _SMALL) for structure in ("hash", *STRUCTURES))
    count = bench.pick(40, 2_000, 100_000)
    points = _points(bench, auction(), count, (chosen, *alike, "betree", "siena"))
    best = min((name for name in alike if name in points), key=lambda name: points[name].median)
    ratio = times(points, best, chosen)
    figures = [figure(f"time of {best} / chosen", ratio)]
    for what in ("inserted", "deleted"):
        for other in ("betree", "siena"):
            if other in points and points[other].inserted:
                figures.append(figure(f"{what} / {other}", times(points, chosen, other, what)))
    against_siena = [above(each.ours, 1) for each in figures if each.what.endswith("siena")]
    return Outcome(all_of(above(ratio, 1), *against_siena), figures)


@MISHRA_SAHNI.row(
    "P19",
    "3.2.3, 5",
    "A suffix structure serves operators on substrings and suffixes, and changes as cheaply as the others.",
    "planned there",
    "steps; time of a change and an event, then of an event alone, automaton / suffix structure",
    workload="`strings`: suffixes and parts of titles and paths",
)
def _strings(bench: Bench) -> Outcome:
    case = Case("strings, suffixes and parts", "strings", {"kinds": (0.0, 1.0, 1.0, 0.0, 0.0)})
    automaton, suffixes = pubsub("auto"), f"{pubsub('auto')}, suffix"
    count, turns = bench.pick((60, 3), (20_000, 50), (500_000, 200))
    points = _points(bench, case, count, (automaton, suffixes))
    ratio = times(points, automaton, suffixes)
    data = data_of(case, count, 64, informed=False, seed=bench.seed)
    changes = [
        _change_and_match(data, turns, "automaton") / _change_and_match(data, turns, "suffix")
        for _ in range(bench.pick(1, 5, 5))
    ]
    walked = SuffixPatterns()
    for number in range(len(data.forest.tests)):
        walked.number(data.forest.tests[number])
    walked.satisfied_tests(BatchFrame(data.batch(0, 64)))
    nodes, size = walked.size()
    figures = [
        figure("steps of an event", walked.steps / 64),
        figure("nodes a pattern", nodes / len(data.forest.tests)),
        figure("bytes a pattern", size / len(data.forest.tests)),
        figure("time of a change and an event, automaton / suffix structure", changes),
        figure("time of an event, automaton / suffix structure", ratio),
    ]
    return Outcome(above(changes, 1), figures, "the automaton is ours, and is built again where patterns change")


def _change_and_match(data: Data, turns: int, strings: Literal["automaton", "suffix"]) -> float:
    """Seconds of turns in which one subscription is deleted and inserted, and one event is matched."""
    index, batch = Buckets(strings=strings).build(data.forest), data.batch(0, 1)
    index.match(batch)
    begun = time.process_time()
    for slot in range(turns):
        index.delete(slot)
        index.insert(slot, data.forest[slot])
        index.match(batch)
    return time.process_time() - begun
