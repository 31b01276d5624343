"""Rows of S. Bittner's thesis (2008) on routing, B23 to B37: nothing optimised, and pruned entries.

Work is counted: predicates that hold, hits and candidates. Times are those of the fastest round of five.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from tamis.lab.bittner.network.topology import line, star
from tamis.lab.claims.bench import Bench
from tamis.lab.claims.bittner import BITTNER
from tamis.lab.claims.bittner_paths import (
    LINE,
    THEIRS,
    cut_off_figures,
    network_of,
    pruning_path,
    size_of,
    sizes_text,
)
from tamis.lab.claims.row import (
    Outcome,
    above,
    all_of,
    below,
    figure,
    is_true,
    near,
    rising,
)

__all__ = ("BITTNER",)

# --- 8.2: nothing is optimised -----------------------------------------------------------------------------------


@BITTNER.row(
    "B23",
    "8.2.1",
    "In a network without pruning, Boolean filtering is faster, but by less than at a single broker.",
    "14% to 17% at 500,000",
    "candidates; share of the time that is saved",
    workload=LINE,
)
def _plain(bench: Bench) -> Outcome:
    count = bench.pick(20, 2_000, 40_000)
    boolean, terms = (network_of(bench, count, **settings).measured() for settings in ({}, {"engine": "counting"}))
    share = 1 - boolean.microseconds / terms.microseconds
    met = [point.per_event(point.report.work.get("candidates", 0)) for point in (boolean, terms)]
    return Outcome(
        above(share, 0),
        [
            figure("candidates per event at all brokers, Boolean", met[0]),
            figure("time saved", share, (0.14, 0.17), (count, 500_000)),
        ],
        f"{count} subscriptions; one ratio of the fastest rounds",
    )


@BITTNER.row(
    "B24",
    "8.2.2",
    "Skipping a neighbour's entries once it is known to want the event gains more with more subscriptions.",
    "5 ms at 250,000, 10 ms at 500,000",
    "entries found true an event, with and without",
    workload=LINE,
)
def _shortcut(bench: Bench) -> Outcome:
    gains, figures = [], []
    for count in bench.pick((20, 40), (500, 2_000), (10_000, 40_000)):
        short, long = (network_of(bench, count, shortcut=each).measured() for each in (True, False))
        met = [point.per_event(point.report.work["matches"]) for point in (long, short)]
        gains.append(met[0] - met[1])
        figures += [
            figure(f"{count}: entries found true that are saved per event", gains[-1]),
            figure(f"{count}: microseconds saved", long.microseconds - short.microseconds),
        ]
    return Outcome(rising(gains), figures, "milliseconds of 2008 are not compared")


# --- 8.3: pruning ------------------------------------------------------------------------------------------------


@BITTNER.row(
    "B25",
    "8.3.1",
    "Pruning by accuracy halves the time up to a cut-off; beyond it, every broker receives every event.",
    "time 15 to 7 ms; M .66 after .75 of prunings; then N rises to 1",
    "N, M and work over prunings; cut-off where N begins to rise",
    workload=LINE,
)
def _accuracy(bench: Bench) -> Outcome:
    path = pruning_path(bench, "accuracy")
    saves = path.saved(path.cut_off, work=True)
    figures = [
        *cut_off_figures(path, (0.66, 0.75)),
        figure("best time relative to before", 1 - path.saved(path.fastest), 7 / 15, (size_of(bench), THEIRS)),
        figure("N in the end", path.loads[-1], 1.0),
    ]
    return Outcome(
        all_of(above(saves, 0), above(path.loads[-1], path.loads[path.cut_off])), figures, sizes_text(bench)
    )


@BITTNER.row(
    "B26",
    "8.3.1",
    "Pruning by efficiency gains fastest at first, then suffers from false positives.",
    "time 15 to 10 ms; M .34 after .5 of prunings; fastest until .3",
    "N, M and work over prunings",
    workload=LINE,
)
def _efficiency(bench: Bench) -> Outcome:
    path = pruning_path(bench, "efficiency")
    early = {name: _at(pruning_path(bench, name), 0.3, "work") for name in _COMPARED}
    first = min(early, key=lambda name: early[name])
    figures = [
        *cut_off_figures(path, (0.34, 0.5)),
        figure("best time relative to before", 1 - path.saved(path.fastest), 10 / 15, (size_of(bench), THEIRS)),
    ]
    return Outcome(
        is_true(first == "efficiency"), figures, f"{sizes_text(bench)}; least work at .3 of prunings: {first}"
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
    "Pruning by memory frees bytes fastest and reaches its cut-off first.",
    "M .07 after .05 of prunings; N 1 at M .2; highest M until .7",
    "N and M over prunings",
    workload=LINE,
)
def _memory(bench: Bench) -> Outcome:
    path = pruning_path(bench, "memory")
    early = {name: _at(pruning_path(bench, name), 0.5, "M") for name in _COMPARED}
    first = max(early, key=lambda name: early[name])
    loads = np.interp(0.2, [point.report.removed_share for point in path.points], path.loads)
    return Outcome(
        is_true(first == "memory"),
        [*cut_off_figures(path, (0.07, 0.05)), figure("N at M .2", float(loads), 1.0)],
        f"{sizes_text(bench)}; greatest M at .5 of prunings: {first}",
    )


@BITTNER.row(
    "B28",
    "8.3.1",
    "Accuracy with occurrence has only a small cut-off: the load stays low to the end.",
    "time 15 to 7 to 9 ms; M .75 after .85 of prunings; N .08 to .17",
    "N, M and work over prunings",
    workload=LINE,
)
def _occurrence(bench: Bench) -> Outcome:
    path, other = pruning_path(bench, "occurrence"), pruning_path(bench, "accuracy")
    return Outcome(
        below(path.loads[-1], other.loads[-1]),
        [
            *cut_off_figures(path, (0.75, 0.85)),
            figure("N before", path.loads[0], 0.08),
            figure("N in the end", path.loads[-1], 0.17),
            figure("time in the end relative to before", 1 - path.saved(-1), 9 / 15, (size_of(bench), THEIRS)),
        ],
        sizes_text(bench),
    )


@BITTNER.row(
    "B29",
    "8.3.1",
    "After all possible prunings, every measure leaves the same table.",
    "M .84",
    "M in the end",
    workload=LINE,
)
def _full(bench: Bench) -> Outcome:
    ends = {name: pruning_path(bench, name).points[-1].report.removed_share for name in _COMPARED}
    same = max(ends.values()) - min(ends.values())
    return Outcome(
        below(same, 0.02),
        [figure(name, each, 0.84) for name, each in ends.items()],
        "it follows from the classes: 1, 1 and 2 of 6, 12 and 7 predicates are left",
    )


@BITTNER.row(
    "B30",
    "8.3.1",
    "Both accuracy measures are best overall.",
    "47% of the time; 67 to 143 events/s",
    "least work, then least time over all prunings",
    workload=LINE,
)
def _best(bench: Bench) -> Outcome:
    least = {
        name: min(1 - path.saved(place, work=True) for place in range(len(path.points)))
        for name in _COMPARED
        for path in [pruning_path(bench, name)]
    }
    clock = {name: 1 - pruning_path(bench, name).saved(pruning_path(bench, name).fastest) for name in _COMPARED}
    good, others = ([least[name] for name in names] for names in (("accuracy", "occurrence"), _COMPARED[1:3]))
    return Outcome(
        is_true(max(good) < min(others)),
        [
            *(figure(f"{name}: least work relative to before", each) for name, each in least.items()),
            *(
                figure(
                    f"{name}: least time relative to before",
                    each,
                    0.47 if name in ("accuracy", "occurrence") else None,
                )
                for name, each in clock.items()
            ),
        ],
        sizes_text(bench),
    )


@BITTNER.row(
    "B31",
    "8.3.1-8.3.4",
    "Each measure is best at what it optimises, for any distribution of operands.",
    "ranks",
    "N, work and M at a third of prunings, by measure",
    workload=LINE,
)
def _targets(bench: Bench) -> Outcome:
    targets = {"N": ("accuracy", "occurrence"), "work": ("efficiency",), "M": ("memory",)}
    figures, directions, leaders = [], [], []
    for what, names in targets.items():
        found = {name: _at(pruning_path(bench, name), 1 / 3, what) for name in _COMPARED}
        best = (max if what == "M" else min)(found.values())
        figures += [figure(f"{what}, {name}", each) for name, each in found.items()]
        directions.append(is_true(best in [found[name] for name in names]))
        leaders.append(f"{what}: {', '.join(name for name in _COMPARED if found[name] == best)}")
    return Outcome(all_of(*directions), figures, f"{sizes_text(bench)}; best: {'; '.join(leaders)}")


@BITTNER.row(
    "B32",
    "8.3.2",
    "The gain from pruning does not depend on the number of subscriptions, or grows slightly with it.",
    "at best 52% and 46%, after all prunings 40% and 36%, with 200,000 and 100,000",
    "work and time saved at two sizes, by occurrence",
    workload=LINE,
)
def _sizes(bench: Bench) -> Outcome:
    figures, best = [], []
    for count, theirs, full in zip(
        bench.pick((20, 40), (100, 200), (5_000, 10_000)), (0.46, 0.52), (0.36, 0.40), strict=True
    ):
        path = pruning_path(bench, "occurrence", count)
        best.append(max(path.saved(place, work=True) for place in range(len(path.points))))
        figures += [
            figure(f"{count}: most work saved", best[-1]),
            figure(f"{count}: most time saved", path.saved(path.fastest), theirs, (count, 100_000)),
            figure(f"{count}: time saved in the end", path.saved(-1), full, (count, 100_000)),
            figure(f"{count}: M in the end", path.points[-1].report.removed_share, 0.85),
        ]
    return Outcome(near(best[1] - best[0], 0.0, 0.1), figures, "theirs are at 100,000 and 200,000")


def _count_of_builds(bench: Bench) -> int:
    return bench.pick(20, 100, 5_000)


def _builds(bench: Bench) -> tuple[Any, Any]:
    count = _count_of_builds(bench)
    boolean = pruning_path(bench, "occurrence", count)
    return boolean, pruning_path(bench, "occurrence", count, conjunctive=True, engine="counting")


@BITTNER.row(
    "B33",
    "8.3.2",
    "Pruning helps conjunctive entries as well, and both forms end equally fast.",
    "time 7.0 and 9.0 to 3.8 ms; M .85 and .75; cut-off .75 and .55 to .60",
    "M, work and time of both forms",
    workload=LINE,
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
            figure("work in the end, conjunctive / Boolean", ends[1] / ends[0], 1.0),
            figure(
                "Boolean: least time relative to before",
                1 - both[0].saved(both[0].fastest),
                3.8 / 7.0,
                (_count_of_builds(bench), 100_000),
            ),
            figure(
                "conjunctive: least time relative to before",
                1 - both[1].saved(both[1].fastest),
                3.8 / 9.0,
                (_count_of_builds(bench), 100_000),
            ),
        ],
    )


@BITTNER.row(
    "B34",
    "8.3.2",
    "Boolean entries are always smaller than conjunctive ones, and pruning narrows the gap.",
    "95 and 132 bytes at the start",
    "bytes of an entry over prunings",
    workload=LINE,
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
            figure("gap in the end / before", gaps[-1] / gaps[0]),
        ],
    )


def _topologies(bench: Bench) -> dict[str, dict[int, Any]]:
    count = bench.pick(20, 50, 400)
    brokers = bench.pick((5, 7), (5, 10, 20), (5, 10, 25, 50, 100))
    return {
        name: {each: pruning_path(bench, "occurrence", count, topology(each)) for each in brokers}
        for name, topology in (("line", line), ("star", star))
    }


@BITTNER.row(
    "B35",
    "8.3.3",
    "Topology and number of brokers do not affect pruning.",
    "cut-off at M .65 and N + .1, with .45 to .6 of the work before pruning",
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
                    f"{name} of {brokers}: work relative to before", 1 - path.saved(place, work=True), (0.45, 0.6)
                ),
                figure(f"{name} of {brokers}: rise of N", path.loads[place] - path.loads[0], (-inf, 0.1)),
            ]
    return Outcome(below(max(removed) - min(removed), 0.15), figures)


@BITTNER.row(
    "B36",
    "8.3.3",
    "In a line N does not depend on the number of brokers; in a star it falls, and the centre works most.",
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
    "Even in the worst case, pruning saves time and associations for little extra load.",
    "40% of time, 65% of associations, 10% of load",
    "least and greatest over the paths of B25 to B36",
    workload=LINE,
    contradicts="itself: .1 in N can be more than twice the load",
)
def _worst(bench: Bench) -> Outcome:
    paths = [pruning_path(bench, name) for name in ("accuracy", "occurrence")]
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
            figure("least time saved", clock, (0.40, inf), (size_of(bench), THEIRS)),
            figure("least M", removed, (0.65, inf)),
            figure("greatest rise of N", max(rises), (-inf, 0.1)),
            figure("greatest rise of N / N before", max(shares)),
        ],
        "as a difference of N the sentence can hold; as a share of the load it is the last figure",
    )
