"""Rows of S. Bittner's thesis (2008) on routing, B23 to B56: pruned entries, covering, advertisements.

The networks and their checks (clients get what a matcher of all subscriptions finds) are those of the benchmark
`routing`, which is part of the repository and not of the installed package; without it these rows say so. Work is
counted: predicates that hold, hits and candidates. Times are those of the fastest round of five.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from math import inf
from typing import Any

import numpy as np

from tamis.lab.bittner.measures import MEASURES
from tamis.lab.bittner.memory import MemoryParameters, memory
from tamis.lab.bittner.network.topology import line, star
from tamis.lab.bittner.overlap import ConjunctiveIndex
from tamis.lab.claims.bench import Bench
from tamis.lab.claims.bittner import BITTNER
from tamis.lab.claims.row import (
    Direction,
    Figure,
    Outcome,
    UntestableError,
    above,
    all_of,
    below,
    figure,
    is_true,
    near,
    rising,
)
from tamis.lab.measuring.curves import bend, exponent
from tamis.lab.measuring.timing import timed
from tamis.lab.workloads import generate
from tamis.lab.workloads.advertisements import CLASSES
from tamis.language.bulk import compile_conditions
from tamis.routing.overlap import OverlapIndex

__all__ = ("BITTNER",)

_LINE = "`auction` in a line of five brokers, subscribers and publishers spread evenly"
_THEIRS = 200_000
_ROUNDS = 5


def _part(name: str) -> Any:
    """A module of the benchmark.

    Raises:
        UntestableError: It is not there.
    """
    try:
        return import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as error:
        msg = "broker networks are measured by the benchmark `routing`, which is in the repository only"
        raise UntestableError(msg) from error


def _count(bench: Bench) -> int:
    return bench.pick(20, 200, 12_500)


def _events(bench: Bench) -> int:
    return bench.pick(60, 1_000, 10_000)


def _network(bench: Bench, count: int, topology: Any = None, *, data: Any = None, **settings: Any) -> Any:
    network = _part("routing_network")
    given = data if data is not None else network.auctions(count, _events(bench))
    return network.Network(topology or line(5), given, rounds=bench.pick(1, _ROUNDS, _ROUNDS), **settings)


def _path(bench: Bench, measure: str, count: int = 0, topology: Any = None, **more: Any) -> Any:
    """A network that is pruned to the end, step by step."""
    count = count or _count(bench)
    key = ("path", measure, count, str(topology), *sorted((name, str(value)) for name, value in more.items()))
    steps = bench.pick(3, 12, 20)
    prunings = 12 if more.get("conjunctive") or more.get("covering") else 5

    def make() -> Any:
        bench.progress(f"{measure}, {count} subscriptions: pruning step by step")
        per_book = {"auctions_per_book": more.pop("auctions_per_book")} if "auctions_per_book" in more else {}
        data = _part("routing_network").auctions(count, _events(bench), **per_book)
        network = _network(bench, count, topology, data=data, measure=MEASURES[measure], **more)
        return _part("routing_network").pruned(network, steps, prunings)

    return bench.once(key, make)


def _cut(path: Any, shares: tuple[float, float]) -> list[Figure]:
    """M and the share of prunings at the cut-off beside theirs, and what is saved there."""
    place = path.cut_off
    return [
        figure("M at the cut-off", path.points[place].report.removed_share, shares[0]),
        figure("prunings at the cut-off", path.shares[place], shares[1]),
        figure("work saved at the cut-off", path.saved(place, work=True)),
        figure("time saved at the cut-off", path.saved(place)),
    ]


def _told(bench: Bench) -> str:
    return f"{_count(bench)} subscriptions, theirs {_THEIRS}"


# --- 8.2: nothing is optimised -----------------------------------------------------------------------------------


@BITTNER.row(
    "B23",
    "8.2.1",
    "In a network without optimisation Boolean filtering is faster, by less than centrally.",
    "14% to 17% at 500,000",
    "candidates; share of the time that is saved",
    workload=_LINE,
)
def _plain(bench: Bench) -> Outcome:
    count = bench.pick(20, 2_000, 40_000)
    boolean, terms = (_network(bench, count, **settings).measured() for settings in ({}, {"engine": "counting"}))
    share = 1 - boolean.microseconds / terms.microseconds
    met = [point.per_event(point.report.work.get("candidates", 0)) for point in (boolean, terms)]
    return Outcome(
        above(share, 0),
        [
            figure("candidates an event at all brokers, Boolean", met[0]),
            figure("time saved", share, (0.14, 0.17), (count, 500_000)),
        ],
        f"{count} subscriptions; one ratio of the fastest rounds",
    )


@BITTNER.row(
    "B24",
    "8.2.2",
    "Not filtering further for a neighbour once it is known to want the event gains more with more subscriptions.",
    "5 ms at 250,000, 10 ms at 500,000",
    "entries found true an event, with and without",
    workload=_LINE,
)
def _shortcut(bench: Bench) -> Outcome:
    gains, figures = [], []
    for count in bench.pick((20, 40), (500, 2_000), (10_000, 40_000)):
        short, long = (_network(bench, count, shortcut=each).measured() for each in (True, False))
        met = [point.per_event(point.report.work["matches"]) for point in (long, short)]
        gains.append(met[0] - met[1])
        figures += [
            figure(f"{count}: entries found true that are saved an event", gains[-1]),
            figure(f"{count}: microseconds saved", long.microseconds - short.microseconds),
        ]
    return Outcome(rising(gains), figures, "milliseconds of 2008 are not compared")


# --- 8.3: pruning ------------------------------------------------------------------------------------------------


@BITTNER.row(
    "B25",
    "8.3.1",
    "Pruning by accuracy halves the time until a cut-off; after it every broker gets every event.",
    "E 15 to 7 ms; M .66 at .75 of prunings; then N to 1",
    "N, M and work over prunings; cut-off where N begins to rise",
    workload=_LINE,
)
def _accuracy(bench: Bench) -> Outcome:
    path = _path(bench, "accuracy")
    saves = path.saved(path.cut_off, work=True)
    figures = [
        *_cut(path, (0.66, 0.75)),
        figure("best time, of that before", 1 - path.saved(path.fastest), 7 / 15, (_count(bench), _THEIRS)),
        figure("N in the end", path.loads[-1], 1.0),
    ]
    return Outcome(all_of(above(saves, 0), above(path.loads[-1], path.loads[path.cut_off])), figures, _told(bench))


@BITTNER.row(
    "B26",
    "8.3.1",
    "Pruning by efficiency gains fastest at first, then suffers from false positives.",
    "E 15 to 10 ms; M .34 at .5 of prunings; leads until .3",
    "N, M and work over prunings",
    workload=_LINE,
)
def _efficiency(bench: Bench) -> Outcome:
    path = _path(bench, "efficiency")
    early = {name: _at(_path(bench, name), 0.3, "work") for name in _COMPARED}
    first = min(early, key=lambda name: early[name])
    figures = [
        *_cut(path, (0.34, 0.5)),
        figure("best time, of that before", 1 - path.saved(path.fastest), 10 / 15, (_count(bench), _THEIRS)),
    ]
    return Outcome(
        is_true(first == "efficiency"), figures, f"{_told(bench)}; least work at .3 of prunings: {first}"
    )


_COMPARED = ("accuracy", "efficiency", "memory", "occurrence")


def _at(path: Any, share: float, what: str) -> float:
    """A property of the point nearest to a share of prunings."""
    place = min(range(len(path.shares)), key=lambda each: abs(path.shares[each] - share))
    point = path.points[place]
    values = {"N": point.report.load, "M": point.report.removed_share, "work": point.work}
    return float(values[what])


@BITTNER.row(
    "B27",
    "8.3.1",
    "Pruning by memory drops bytes fastest and reaches its cut-off first.",
    "M .07 at .05 of prunings; N 1 at M .2; leads in M until .7",
    "N and M over prunings",
    workload=_LINE,
)
def _memory(bench: Bench) -> Outcome:
    path = _path(bench, "memory")
    early = {name: _at(_path(bench, name), 0.5, "M") for name in _COMPARED}
    first = max(early, key=lambda name: early[name])
    loads = np.interp(0.2, [point.report.removed_share for point in path.points], path.loads)
    return Outcome(
        is_true(first == "memory"),
        [*_cut(path, (0.07, 0.05)), figure("N at M .2", float(loads), 1.0)],
        f"{_told(bench)}; greatest M at .5 of prunings: {first}",
    )


@BITTNER.row(
    "B28",
    "8.3.1",
    "Accuracy with occurrence has a minor cut-off only: the load stays low to the end.",
    "E 15 to 7 to 9 ms; M .75 at .85 of prunings; N .08 to .17",
    "N, M and work over prunings",
    workload=_LINE,
)
def _occurrence(bench: Bench) -> Outcome:
    path, other = _path(bench, "occurrence"), _path(bench, "accuracy")
    return Outcome(
        below(path.loads[-1], other.loads[-1]),
        [
            *_cut(path, (0.75, 0.85)),
            figure("N before", path.loads[0], 0.08),
            figure("N in the end", path.loads[-1], 0.17),
            figure("time in the end, of that before", 1 - path.saved(-1), 9 / 15, (_count(bench), _THEIRS)),
        ],
        _told(bench),
    )


@BITTNER.row(
    "B29",
    "8.3.1",
    "Pruned to the end, all measures leave the same table.",
    "M .84",
    "M in the end",
    workload=_LINE,
)
def _full(bench: Bench) -> Outcome:
    ends = {name: _path(bench, name).points[-1].report.removed_share for name in _COMPARED}
    same = max(ends.values()) - min(ends.values())
    return Outcome(
        below(same, 0.02),
        [figure(name, each, 0.84) for name, each in ends.items()],
        "it follows from the classes: 1, 1 and 2 of 6, 12 and 7 predicates are left",
    )


@BITTNER.row(
    "B30",
    "8.3.1",
    "Both kinds of accuracy are best overall.",
    "47% of the time; 67 to 143 events/s",
    "least work, then least time over all prunings",
    workload=_LINE,
)
def _best(bench: Bench) -> Outcome:
    least = {
        name: min(1 - path.saved(place, work=True) for place in range(len(path.points)))
        for name in _COMPARED
        for path in [_path(bench, name)]
    }
    clock = {name: 1 - _path(bench, name).saved(_path(bench, name).fastest) for name in _COMPARED}
    good, others = ([least[name] for name in names] for names in (("accuracy", "occurrence"), _COMPARED[1:3]))
    return Outcome(
        is_true(max(good) < min(others)),
        [
            *(figure(f"{name}: least work, of that before", each) for name, each in least.items()),
            *(
                figure(
                    f"{name}: least time, of that before",
                    each,
                    0.47 if name in ("accuracy", "occurrence") else None,
                )
                for name, each in clock.items()
            ),
        ],
        _told(bench),
    )


@BITTNER.row(
    "B31",
    "8.3.1-8.3.4",
    "Each measure reaches its own target best, whatever the distribution of operands.",
    "ranks",
    "N, work and M at a third of prunings, by measure",
    workload=_LINE,
)
def _targets(bench: Bench) -> Outcome:
    targets = {"N": ("accuracy", "occurrence"), "work": ("efficiency",), "M": ("memory",)}
    figures, directions, leaders = [], [], []
    for what, names in targets.items():
        found = {name: _at(_path(bench, name), 1 / 3, what) for name in _COMPARED}
        best = (max if what == "M" else min)(found.values())
        figures += [figure(f"{what}, {name}", each) for name, each in found.items()]
        directions.append(is_true(best in [found[name] for name in names]))
        leaders.append(f"{what}: {', '.join(name for name in _COMPARED if found[name] == best)}")
    return Outcome(all_of(*directions), figures, f"{_told(bench)}; best: {'; '.join(leaders)}")


@BITTNER.row(
    "B32",
    "8.3.2",
    "What pruning gains does not depend on the number of subscriptions, or grows slightly.",
    "best 52% and 46%, full 40% and 36% at 200,000 and 100,000",
    "work and time saved at two sizes, by occurrence",
    workload=_LINE,
)
def _sizes(bench: Bench) -> Outcome:
    figures, best = [], []
    for count, theirs, full in zip(
        bench.pick((20, 40), (100, 200), (5_000, 10_000)), (0.46, 0.52), (0.36, 0.40), strict=True
    ):
        path = _path(bench, "occurrence", count)
        best.append(max(path.saved(place, work=True) for place in range(len(path.points))))
        figures += [
            figure(f"{count}: most work saved", best[-1]),
            figure(f"{count}: most time saved", path.saved(path.fastest), theirs, (count, 100_000)),
            figure(f"{count}: time saved in the end", path.saved(-1), full, (count, 100_000)),
            figure(f"{count}: M in the end", path.points[-1].report.removed_share, 0.85),
        ]
    return Outcome(near(best[1] - best[0], 0.0, 0.1), figures, "theirs are at 100,000 and 200,000")


def _builds(bench: Bench) -> tuple[Any, Any]:
    count = bench.pick(20, 100, 5_000)
    boolean = _path(bench, "occurrence", count)
    return boolean, _path(bench, "occurrence", count, conjunctive=True, engine="counting")


@BITTNER.row(
    "B33",
    "8.3.2",
    "Entries that are conjunctions gain as well, and both end alike.",
    "E 7.0 and 9.0 to 3.8 ms; M .85 and .75; cut-off .75 and .55 to .60",
    "M, work and time of both forms",
    workload=_LINE,
)
def _forms(bench: Bench) -> Outcome:
    both = _builds(bench)
    ends = [path.points[-1].work for path in both]
    cuts = [path.points[path.cut_off].report.removed_share for path in both]
    return Outcome(
        all_of(*(above(path.saved(path.fastest, work=True), 0) for path in both)),
        [
            figure("Boolean: M in the end", both[0].points[-1].report.removed_share, 0.85),
            figure("conjunctive: M in the end", both[1].points[-1].report.removed_share, 0.75),
            figure("Boolean: M at the cut-off", cuts[0], 0.75),
            figure("conjunctive: M at the cut-off", cuts[1], (0.55, 0.60)),
            figure("work in the end, conjunctive by Boolean", ends[1] / ends[0], 1.0),
            figure(
                "Boolean: least time, of that before",
                1 - both[0].saved(both[0].fastest),
                3.8 / 7.0,
                (_count(bench), 100_000),
            ),
            figure(
                "conjunctive: least time, of that before",
                1 - both[1].saved(both[1].fastest),
                3.8 / 9.0,
                (_count(bench), 100_000),
            ),
        ],
    )


@BITTNER.row(
    "B34",
    "8.3.2",
    "Boolean entries are always smaller, and the gap narrows.",
    "95 against 132 bytes at the start",
    "bytes of an entry over prunings",
    workload=_LINE,
)
def _entry_bytes(bench: Bench) -> Outcome:
    gaps = []
    boolean, terms = _builds(bench)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        sizes = [
            np.interp(share, path.shares, [point.report.bytes_per_entry for point in path.points])
            for path in (boolean, terms)
        ]
        gaps.append(float(sizes[1] - sizes[0]))
    return Outcome(
        all_of(above(gaps, 0), below(gaps[-1], gaps[0])),
        [
            figure("Boolean: bytes before", boolean.points[0].report.bytes_per_entry, 95),
            figure("conjunctive: bytes before", terms.points[0].report.bytes_per_entry, 132),
            figure("gap in the end by before", gaps[-1] / gaps[0]),
        ],
    )


def _topologies(bench: Bench) -> dict[str, dict[int, Any]]:
    count = bench.pick(20, 50, 400)
    brokers = bench.pick((5, 7), (5, 10, 20), (5, 10, 25, 50, 100))
    return {
        name: {each: _path(bench, "occurrence", count, topology(each)) for each in brokers}
        for name, topology in (("line", line), ("star", star))
    }


@BITTNER.row(
    "B35",
    "8.3.3",
    "Topology and number of brokers do not matter to pruning.",
    "cut-off M .65, N + .1, work .45 to .6 of that before",
    "M, N and counted work at the cut-off",
    workload="`auction` in lines and stars of 5 to 100 brokers",
)
def _scale(bench: Bench) -> Outcome:
    figures, removed = [], []
    for name, paths in _topologies(bench).items():
        for brokers, path in paths.items():
            place = path.cut_off
            removed.append(path.points[place].report.removed_share)
            figures += [
                figure(f"{name} of {brokers}: M at the cut-off", removed[-1], 0.65),
                figure(
                    f"{name} of {brokers}: work, of that before", 1 - path.saved(place, work=True), (0.45, 0.6)
                ),
                figure(f"{name} of {brokers}: rise of N", path.loads[place] - path.loads[0], (-inf, 0.1)),
            ]
    return Outcome(below(max(removed) - min(removed), 0.15), figures)


@BITTNER.row(
    "B36",
    "8.3.3",
    "In a line N does not depend on the number of brokers; in a star it falls, and the centre suffers most.",
    ".06",
    "N before pruning; share of the work at the centre",
    workload="`auction` in lines and stars of 5 to 100 brokers",
)
def _load(bench: Bench) -> Outcome:
    paths = _topologies(bench)
    loads = {name: [path.loads[0] for path in each.values()] for name, each in paths.items()}
    spans = max(loads["line"]) / max(min(loads["line"]), 1e-9)
    works = [sum(each.work.values()) for each in list(paths["star"].values())[-1].points[-1].report.brokers]
    return Outcome(
        all_of(below(spans, 1.5), rising(loads["star"][::-1]), is_true(works[0] == max(works))),
        [
            *(
                figure(f"{name} of {brokers}: N", load, 0.06 if name == "line" else None)
                for name, each in loads.items()
                for brokers, load in zip(paths[name], each, strict=True)
            ),
            figure("share of work at the centre of the largest star in the end", works[0] / sum(works)),
        ],
    )


@BITTNER.row(
    "B37",
    "8.3.4",
    "At its worst pruning still gains time and associations, for little load.",
    "40% of time, 65% of associations, 10% of load",
    "least and greatest over the paths of B25 to B36",
    workload=_LINE,
    contradicts="itself: .1 in N can be more than twice the load",
)
def _worst(bench: Bench) -> Outcome:
    paths = [_path(bench, name) for name in ("accuracy", "occurrence")]
    paths += [path for each in _topologies(bench).values() for path in each.values()]
    work = min(path.saved(path.cut_off, work=True) for path in paths)
    clock = min(path.saved(path.cut_off) for path in paths)
    removed = min(path.points[path.cut_off].report.removed_share for path in paths)
    rises = [path.loads[path.cut_off] - path.loads[0] for path in paths]
    shares = [path.loads[path.cut_off] / max(path.loads[0], 1e-9) - 1 for path in paths]
    return Outcome(
        all_of(above(work, 0), above(removed, 0)),
        [
            figure("least work saved", work),
            figure("least time saved", clock, (0.40, inf), (_count(bench), _THEIRS)),
            figure("least M", removed, (0.65, inf)),
            figure("greatest rise of N", max(rises), (-inf, 0.1)),
            figure("greatest rise of N by N before", max(shares)),
        ],
        "as a difference of N the sentence can hold; as a share of the load it is the last figure",
    )


# --- 8.4: covering -----------------------------------------------------------------------------------------------


def _cover(bench: Bench) -> dict[float, dict[str, Any]]:
    """By cover: points of contestants, and the path of what is covered and pruned."""
    count = bench.pick(20, 60, 2_500)
    found = {}
    books = bench.pick(
        (10_000.0,), (100.0, 1_000.0, 20_000.0), (1.0, 100.0, 1_000.0, 5_000.0, 20_000.0, 100_000.0)
    )
    for each in books:
        pruning = _path(bench, "occurrence", count, auctions_per_book=each)
        both = _path(bench, "occurrence", count, auctions_per_book=each, covering=True, engine="counting")
        found[both.points[0].report.covered_share] = {
            "before": pruning.points[0],
            "pruned": pruning.points[pruning.cut_off],
            "covered": both.points[0],
            "path": both,
        }
    return dict(sorted(found.items()))


def _savings(bench: Bench, what: str) -> dict[float, float]:
    def value(point: Any) -> float:
        values = {"bytes": point.report.bytes_per_entry, "time": point.microseconds, "work": point.work}
        return float(values[what])

    return {cover: 1 - value(each["pruned"]) / value(each["before"]) for cover, each in _cover(bench).items()}


@BITTNER.row(
    "B38",
    "8.4.1",
    "Hypothesis 2a, memory: what pruning saves is flat in the share of covered entries.",
    "44% to 59% of the bytes",
    "bytes of an entry at the cut-off, over cover",
    workload=f"{_LINE}, with few to many auctions of a book",
)
def _flat_bytes(bench: Bench) -> Outcome:
    saves = _savings(bench, "bytes")
    figures = [figure(f"cover {cover:.2f}: saved", each, (0.44, 0.59)) for cover, each in saves.items()]
    return Outcome(above(list(saves.values()), 0), figures)


@BITTNER.row(
    "B39",
    "8.4.1",
    "Hypothesis 2a, time: pruning saves time at any cover.",
    "39% to 55%",
    "work, then time at the cut-off, over cover",
    workload=f"{_LINE}, with few to many auctions of a book",
)
def _flat_time(bench: Bench) -> Outcome:
    work, clock = _savings(bench, "work"), _savings(bench, "time")
    return Outcome(
        above(list(work.values()), 0),
        [
            *(figure(f"cover {cover:.2f}: work saved", each) for cover, each in work.items()),
            *(
                figure(f"cover {cover:.2f}: time saved", each, (0.39, 0.55), (_count(bench), 100_000))
                for cover, each in clock.items()
            ),
        ],
    )


@BITTNER.row(
    "B40",
    "8.4.1",
    "Covering needs fewer bytes and less time than pruning only where most entries are covered.",
    "cover .65",
    "cover from which covering is below pruning",
    workload=f"{_LINE}, with few to many auctions of a book",
)
def _crossings(bench: Bench) -> Outcome:
    found = _cover(bench)
    figures = []
    order = []
    measures: dict[str, Callable[[Any], float]] = {
        "bytes": lambda point: point.report.bytes_per_entry,
        "work": lambda point: point.work,
    }
    for what, value in measures.items():
        wins = [cover for cover, each in found.items() if value(each["covered"]) < value(each["pruned"])]
        order.append(not wins or min(wins) > min(found))
        if wins:
            figures.append(figure(f"least cover at which covering needs less {what}", min(wins), 0.65))
    return Outcome(
        is_true(all(order)),
        figures,
        f"covers that were tried: {', '.join(f'{each:.2f}' for each in found)}",
    )


@BITTNER.row(
    "B41",
    "8.4.1",
    "Less cover is faster, because fewer events match.",
    "trend",
    "matches and work of an event over cover",
    workload=f"{_LINE}, with few to many auctions of a book",
)
def _less_cover(bench: Bench) -> Outcome:
    found = _cover(bench)
    matches = [each["before"].per_event(each["before"].report.deliveries) for each in found.values()]
    works = [each["before"].work for each in found.values()]
    if len(found) < 2:
        return Outcome("unclear", [figure("matches an event", matches[0])], "one cover only")
    return Outcome(
        all_of(above(matches[-1], matches[0]), above(works[-1], works[0])),
        [
            *(
                figure(f"cover {cover:.2f}: matches an event", each)
                for cover, each in zip(found, matches, strict=True)
            ),
            *(figure(f"cover {cover:.2f}: work an event", each) for cover, each in zip(found, works, strict=True)),
        ],
    )


@BITTNER.row(
    "B42",
    "8.4.2",
    "Pruning still gains after covering, most at low cover.",
    "4% to 68% of the time",
    "work, time and M at the cut-off after covering",
    workload=f"{_LINE}, conjunctions, with few to many auctions of a book",
)
def _after_covering(bench: Bench) -> Outcome:
    figures, works = [], []
    for cover, each in _cover(bench).items():
        path = each["path"]
        works.append(path.saved(path.cut_off, work=True))
        figures += [
            figure(f"cover {cover:.2f}: work saved", works[-1]),
            figure(
                f"cover {cover:.2f}: time saved", path.saved(path.cut_off), (0.04, 0.68), (_count(bench), 100_000)
            ),
        ]
    return Outcome(all_of(above(works, 0), is_true(len(works) < 2 or works[0] > works[-1])), figures)


@BITTNER.row(
    "B43",
    "2.5, 6.6.3, 7.3.5",
    "Ending a subscription is no more expensive with pruning, and expensive with covering.",
    "trend",
    "messages and changes of indexes for each subscription that is ended",
    workload=f"{_LINE}; half of the subscriptions end, at random",
)
def _deregistration(bench: Bench) -> Outcome:
    network = _part("routing_network")
    count = bench.pick(20, 200, 10_000)
    data = network.auctions(count, _events(bench), auctions_per_book=5_000.0)
    contestants: dict[str, dict[str, Any]] = {
        "not optimised": {},
        "pruned": {},
        "conjunctive": {"conjunctive": True, "engine": "counting"},
        "covered": {"covering": True, "engine": "counting"},
    }
    costs = {}
    for name, settings in contestants.items():
        each = network.Network(line(5), data, rounds=1, **settings)
        if name == "pruned":
            each.overlay.prune(count=3 * each.entries)
        gone = random.Random(bench.seed).sample(range(count), count // 2)
        each.overlay.reset()
        for place in gone:
            each.overlay.unsubscribe(network.name_of(place))
        report = each.overlay.report()
        costs[name] = (report.messages["retractions"] / len(gone), report.changes / len(gone))
        each.measured(frozenset(gone))
    messages = {name: each[0] for name, each in costs.items()}
    changes = {name: each[1] for name, each in costs.items()}
    return Outcome(
        all_of(
            is_true(changes["pruned"] <= 1.05 * changes["not optimised"]),
            is_true(messages["covered"] + changes["covered"] > messages["conjunctive"] + changes["conjunctive"]),
        ),
        [
            figure(f"{name}: {what}", each)
            for what, found in (("messages", messages), ("changes of indexes", changes))
            for name, each in found.items()
        ],
        "an entry that another covers is forwarded all the same here: no messages are saved",
    )


# --- 8.5: overlap ------------------------------------------------------------------------------------------------

_ADVERTISED = "subscriptions of `auction` asked of `advertisements`, eight classes"


def _overlap(bench: Bench) -> dict[int, dict[str, tuple[float, ...]]]:
    """Milliseconds a subscription by number of advertisements, contestant and problem; a number a round."""

    def make() -> dict[int, dict[str, tuple[float, ...]]]:
        part = _part("routing_overlap_data")
        full = (20_000, 50_000, 80_000, 120_000, 200_000, 300_000, 500_000)
        sizes = bench.pick((40, 80), (500, 1_000, 2_000, 4_000), full)
        given = part.auctions(bench.pick(10, 30, 45), sizes[-1])
        asked = given.subscriptions[: bench.pick(10, 30, 45)]
        indexes: dict[str, OverlapIndex | ConjunctiveIndex] = {
            "Boolean": OverlapIndex([given.event_type]),
            "conjunctive": ConjunctiveIndex([given.event_type]),
        }
        problems = {"function": part.function_problems, "decision": part.decision_problems}
        found: dict[int, dict[str, tuple[float, ...]]] = {}
        filed = 0
        for count in bench.within_budget(sizes):
            bench.progress(f"overlap with {count} advertisements")
            for index in indexes.values():
                for place in range(filed, count):
                    index.add(str(place), given.name, given.advertisements[place])
            filed = count
            many, few = (part.function_problems(index, given.name, asked) for index in indexes.values())
            if not all(set(one) <= set(other) for one, other in zip(few, many, strict=True)):
                msg = f"{count} advertisements: the conjunctive index finds overlaps that the Boolean one does not"
                raise SystemExit(msg)
            rounds: dict[str, list[float]] = {}
            for _ in range(bench.pick(1, _ROUNDS, _ROUNDS)):
                for name, index in indexes.items():
                    for problem, ask in problems.items():
                        seconds = timed(partial(ask, index, given.name, asked))
                        rounds.setdefault(f"{name}, {problem}", []).append(1e3 * seconds / len(asked))
            found[count] = {name: tuple(each) for name, each in rounds.items()}
        return found

    return bench.once("overlap", make)


def _by(bench: Bench, one: str, other: str) -> tuple[int, tuple[float, ...]]:
    found = _overlap(bench)
    count = max(found)
    return count, tuple(a / max(b, 1e-9) for a, b in zip(found[count][one], found[count][other], strict=True))


@BITTNER.row(
    "B44",
    "8.5.1",
    "Whether there is an overlap takes a fifth of finding all, at every size; both are linear.",
    ".2",
    "time of decision by function; exponents over advertisements",
    workload=_ADVERTISED,
)
def _decision(bench: Bench) -> Outcome:
    found = _overlap(bench)
    count, ratio = _by(bench, "Boolean, decision", "Boolean, function")
    slopes = {
        name: exponent([*found], [float(np.median(each[name])) for each in found.values()])
        for name in ("Boolean, decision", "Boolean, function")
    }
    return Outcome(
        below(ratio, 1),
        [
            figure(f"decision by function at {count}", ratio, 0.2),
            *(figure(f"{name}: exponent", each, 1.0) for name, each in slopes.items()),
        ],
    )


@BITTNER.row(
    "B45",
    "8.5.2",
    "With conjunctions a decision saves little.",
    "80% to 92% of function",
    "time of decision by function",
    workload=_ADVERTISED,
)
def _conjunctive_decision(bench: Bench) -> Outcome:
    count, ratio = _by(bench, "conjunctive, decision", "conjunctive, function")
    return Outcome(
        above(ratio, 0.5),
        [figure(f"decision by function at {count}", ratio, (0.80, 0.92))],
        "both indexes end here with the first overlap that they see",
    )


@BITTNER.row(
    "B46",
    "8.5.2",
    "Boolean decisions take a fraction of conjunctive ones.",
    "28% at 500,000",
    "time of decision, Boolean by conjunctive",
    workload=_ADVERTISED,
)
def _decisions(bench: Bench) -> Outcome:
    count, ratio = _by(bench, "Boolean, decision", "conjunctive, decision")
    return Outcome(below(ratio, 1), [figure(f"at {count}", ratio, 0.28, (count, 500_000))])


@BITTNER.row(
    "B47",
    "8.5.2-3",
    "With conjunctions finding all overlaps is faster.",
    "12% (or 13%) at 500,000",
    "share of the Boolean time that is saved",
    workload=_ADVERTISED,
    contradicts="itself: 12% in one place, 13% in another",
)
def _functions(bench: Bench) -> Outcome:
    count, ratio = _by(bench, "conjunctive, function", "Boolean, function")
    saves = tuple(1 - each for each in ratio)
    return Outcome(above(saves, 0), [figure(f"saved at {count}", saves, (0.12, 0.13), (count, 500_000))])


@BITTNER.row(
    "B48",
    "8.5.1-2",
    "Curves bend at 200,000 and 80,000 advertisements.",
    "2.5 times apart",
    "best two lines through times",
    workload=_ADVERTISED,
)
def _overlap_bends(bench: Bench) -> Outcome:
    found = _overlap(bench)
    at = {}
    for name in ("Boolean", "conjunctive"):
        bent = bend([*found], [float(np.median(each[f"{name}, function"])) for each in found.values()])
        if bent is not None and bent.saved > 0.5 and bent.after > bent.before:
            at[name] = bent.at
    if len(at) < 2:
        large = max(found) >= 500_000
        return Outcome("fails" if large else "unclear", (), "no bend stands out in both curves")
    ratio = at["Boolean"] / at["conjunctive"]
    return Outcome(above(ratio, 1), [figure("Boolean by conjunctive", ratio, 2.5, (max(found), 500_000))])


@BITTNER.row(
    "B49",
    "8.5.2",
    "Overlap with conjunctions needs more memory.",
    "no figure",
    "bytes by the model, class by class",
    workload="`advertisements`, eight classes",
    contradicts="its own model, which says so of one class of eight",
)
def _bytes_by_class(bench: Bench) -> Outcome:
    more, figures = [], []
    for place in range(len(CLASSES)):
        weights = tuple(float(place == each) for each in range(len(CLASSES)))
        drawn = generate(
            "advertisements", subscriptions=bench.pick(20, 200, 2_000), events=1, seed=bench.seed, classes=weights
        )
        engines = memory(MemoryParameters.of(compile_conditions(drawn.conditions, drawn.event_type))).engines
        ratio = engines["counting"].bytes_per_subscription / engines["hits"].bytes_per_subscription
        figures.append(figure(f"A{place + 1}: conjunctive by Boolean", ratio))
        more += [f"A{place + 1}"] if ratio > 1 else []
    return Outcome(
        is_true(len(more) == len(CLASSES)),
        figures,
        f"conjunctions need more in {', '.join(more) or 'no class'} only",
    )


# --- 8.6: advertisements are pruned ------------------------------------------------------------------------------


def _advertised(bench: Bench) -> Any:
    """Steps of pruning advertisements to the end."""

    def make() -> Any:
        part = _part("routing_overlap_data")
        scale = part.SCALES[bench.pick("smallest", "quick", "full")]
        given = part.auctions(*bench.pick((60, 40), (300, 160), (100_000, 50_000)), scale.events)
        bench.progress(f"pruning {len(given.advertisements)} advertisements")
        return _part("routing_overlap_pruning").pruned(given, given.subscriptions, scale, scale.steps)

    return bench.once("advertised", make)


@BITTNER.row(
    "B50",
    "8.6.1",
    "Pruned to the end, advertisements lose most of their associations.",
    "M^adv .72",
    "M^adv",
    workload=_ADVERTISED,
)
def _advertisements(bench: Bench) -> Outcome:
    removed = _advertised(bench)[-1].removed
    return Outcome(
        above(removed, 0.5),
        [figure("M^adv in the end", removed, 0.72)],
        "for equal eighths the limit is 1 - 11/49 = .78",
    )


@BITTNER.row(
    "B51",
    "8.6.1",
    "Pruned advertisements make overlap cheaper.",
    "E^fct 105 to 85; E^dec 9 to 5 ms",
    "time in the end, of that before",
    workload=_ADVERTISED,
    contradicts="the text, which calls the saved 44% the time that is left",
)
def _cheaper(bench: Bench) -> Outcome:
    first, last = _advertised(bench)[0].answers, _advertised(bench)[-1].answers
    function, decision = last.function_ms / first.function_ms, last.decision_ms / first.decision_ms
    return Outcome(
        all_of(below(function, 1), below(decision, 1)),
        [figure("function", function, 85 / 105), figure("decision", decision, 5 / 9)],
        f"saved of decision: {1 - decision:.0%}; the 44% can only be what is saved",
    )


@BITTNER.row(
    "B52",
    "8.6.1",
    "Hypothesis 2b: pruning advertisements makes little more overlap.",
    "ovl .46 to .63",
    "share of pairs that overlap, before and in the end",
    workload=_ADVERTISED,
)
def _little_more(bench: Bench) -> Outcome:
    steps = _advertised(bench)
    first, last = steps[0].answers.share, steps[-1].answers.share
    middle = _part("routing_overlap_pruning").at(steps, 0.37, "share")
    return Outcome(
        below(last - first, 0.25),
        [figure("before", first, 0.46), figure("at M^adv .37", middle, 0.50), figure("in the end", last, 0.63)],
    )


@BITTNER.row(
    "B53",
    "8.6.1",
    "The time of function is flat until M^adv .4, then falls; candidates fall below the start after .6.",
    "trend",
    "candidates, then time over M^adv",
    workload=_ADVERTISED,
)
def _flat_function(bench: Bench) -> Outcome:
    steps, at = _advertised(bench), _part("routing_overlap_pruning").at
    early, late = (at(steps, each, "function_ms") / at(steps, 0.0, "function_ms") for each in (0.4, 1.0))
    fewer = [step.removed for step in steps if step.answers.candidates < steps[0].answers.candidates]
    figures = [figure("function at .4, of that before", early, 1.0), figure("function in the end", late)]
    if fewer:
        figures.insert(0, figure("candidates are fewer from M^adv", min(fewer), 0.6))
    return Outcome(all_of(near(early, 1, 0.25), below(late, early)), figures)


def _both(bench: Bench) -> tuple[Any, dict[float, Any]]:
    """What advertisements answer to pruned subscriptions; and courses of advertisements after these."""

    def make() -> tuple[Any, dict[float, Any]]:
        data, part = _part("routing_overlap_data"), _part("routing_overlap_pruning")
        scale = data.SCALES[bench.pick("smallest", "quick", "full")]
        given = data.auctions(*bench.pick((40, 24), (150, 80), (20_000, 8_000)), scale.events)
        bench.progress(f"pruning {len(given.subscriptions)} subscriptions, then advertisements")
        levels = part.levels(given, (0.0, 0.19, 0.28, 0.66, 1.0))
        index = data.filed(given.advertisements, given.event_type)
        alone = [
            part.Step(each.removed, data.answers(index, given.name, each.subscriptions[: scale.asked], scale))
            for each in levels
        ]
        courses = {
            each.removed: part.pruned(given, each.subscriptions, scale, 4) for each in (levels[0], levels[-1])
        }
        return alone, courses

    return bench.once("both", make)


@BITTNER.row(
    "B54",
    "8.6.2",
    "Pruning subscriptions speeds overlap up; pruning advertisements then adds less.",
    "E^dec 8.7 to 1.8; extra 45% to 11%; E^fct 108-86 to 38-34 ms",
    "time of both problems after both prunings",
    workload=_ADVERTISED,
)
def _one_after_the_other(bench: Bench) -> Outcome:
    alone, courses = _both(bench)
    first, last = alone[0].answers, alone[-1].answers
    extra = [1 - each[-1].answers.decision_ms / each[0].answers.decision_ms for each in courses.values()]
    return Outcome(
        all_of(below(last.decision_ms / first.decision_ms, 1), below(extra[-1], extra[0])),
        [
            figure("decision, subscriptions pruned by not", last.decision_ms / first.decision_ms, 1.8 / 8.7),
            figure("function, subscriptions pruned by not", last.function_ms / first.function_ms, 38 / 108),
            figure("decision saved by advertisements, subscriptions not pruned", extra[0], 0.45),
            figure("decision saved by advertisements, subscriptions pruned", extra[-1], 0.11),
        ],
    )


@BITTNER.row(
    "B55",
    "8.6.2",
    "Pruning advertisements keeps overlap, pruning subscriptions does not.",
    "at 28%: .48 against .75; at ovl .65: M^adv .72 against M .19",
    "share of pairs that overlap over both M",
    workload=_ADVERTISED,
)
def _keeps(bench: Bench) -> Outcome:
    part = _part("routing_overlap_pruning")
    alone, courses = _both(bench)
    advertised = courses[min(courses)]
    ours = [part.at(each, 0.28, "share") for each in (advertised, alone)]
    removed = [part.largest(part.shares(each), 0.65) for each in (advertised, alone)]
    return Outcome(
        all_of(below(ours[0], ours[1]), above(removed[0], removed[1])),
        [
            figure("advertisements: overlap at .28", ours[0], 0.48),
            figure("subscriptions: overlap at .28", ours[1], 0.75),
            figure("advertisements: removed while overlap is at most .65", removed[0], 0.72),
            figure("subscriptions: removed while overlap is at most .65", removed[1], 0.19),
            *(figure(f"M^adv in the end after {each:.2f}", steps[-1].removed) for each, steps in courses.items()),
        ],
    )


@BITTNER.row(
    "B56",
    "8.6.3",
    "So advertisements should be pruned and not subscriptions, where there are advertisements.",
    "never run in the thesis",
    "bytes of all tables, and messages, of four policies",
    workload=f"{_LINE}, with advertisements",
)
def _policies(bench: Bench) -> Outcome:
    data, part = _part("routing_overlap_data"), _part("routing_overlap_policies")
    subscriptions, most = bench.pick((20, 10), (60, 500), (1_000, 4_000))
    figures, directions = [], []
    for publishers in bench.pick((1,), (1, 8), (1, 4, 16, 100)):
        given = data.auctions(subscriptions, publishers * part.BROKERS, bench.pick(300, 1_000, 20_000))
        events = part.conforming(given, most)
        runs: dict[str, Any] = {}
        for name in ("nothing pruned", "subscriptions pruned", "advertisements pruned", "both pruned"):
            bench.progress(f"{publishers} advertisements a broker: {name}")
            runs[name] = part.ran(given, part.POLICIES[name], events)
            part.check_delivered(name, runs[name], runs["nothing pruned"])
        sizes = {name: run.event_table_bytes + run.subscription_table_bytes for name, run in runs.items()}
        sent = {name: float(sum(run.report.messages.values())) for name, run in runs.items()}
        for kind, found in (("bytes", sizes), ("messages", sent)):
            figures += [
                figure(f"{publishers} a broker: {name}, {kind}", each / found["nothing pruned"])
                for name, each in found.items()
                if name != "nothing pruned"
            ]
        directions.append(is_true(sizes["advertisements pruned"] < sizes["subscriptions pruned"]))
    return Outcome(
        _agreed(directions), figures, f"{subscriptions} subscriptions; the thesis concludes without a run"
    )


def _agreed(directions: Sequence[Direction]) -> Direction:
    """Of runs that may contradict each other."""
    return directions[0] if len(set(directions)) == 1 else "unclear"
