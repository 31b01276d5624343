"""Rows of S. Bittner's thesis (2008) on filtering, B1 to B22: Boolean conditions against conjunctions.

Bytes by theory come from `tamis.lab.bittner.memory`; beside them stand those of the structures that the theory is
about. `hits` is measured beside `hits, thesis`, which has what was built for the thesis: short-circuiting alone.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from statistics import median

import numpy as np

from tamis.engines.base import Stats
from tamis.engines.conjunctions.dnf import conjunctions_of
from tamis.engines.forest import Forest, Nodes
from tamis.lab.bittner.hits import Hits
from tamis.lab.bittner.memory import Advice, MemoryParameters, memory
from tamis.lab.claims.bench import Bench
from tamis.lab.claims.row import (
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
from tamis.lab.measuring.cases import Case
from tamis.lab.measuring.contestants import DISTRIBUTIONS, artificial, auction
from tamis.lab.measuring.curves import Curve, Points, bend, caches, crossing, line_of, saved, times
from tamis.lab.workloads import generate

BITTNER = Paper(
    "bittner",
    "S. Bittner, General Boolean Expressions in Publish-Subscribe Systems, PhD thesis, Waikato, 2008",
    "`auction`: three classes of subscriptions to book auctions, uniform operands",
)
_CLASSES = (1, 2, 3)
_PAIR = ("hits", "hits, thesis", "counting")
_TENTHS = tuple(each / 10 for each in range(2, 11))
_ARTIFICIAL = "`artificial`: conditions with given numbers of predicates, operators and conjunctions"
_THEIR_SIZE = 500_000
_BESIDE = frozenset({"slots", "predicates", "predicate index"})
"""Structures that the framework leaves out: the same for all, or needed for handles of our own."""


def _sizes(bench: Bench) -> tuple[int, ...]:
    steps = (10_000, 25_000, 50_000, 100_000, 200_000, 300_000, 400_000, _THEIR_SIZE)
    return bench.pick((50, 60, 70, 80), (2_000, 5_000, 15_000, 50_000), steps)


def _one(bench: Bench) -> int:
    return bench.pick(60, 5_000, 100_000)


def _own(stats: Stats) -> float:
    """Bytes of the structures that the framework is about."""
    return float(sum(size for name, size in stats.bytes.items() if name not in _BESIDE))


def _weighed(bench: Bench, case: Case, *names: str, count: int = 0) -> tuple[Advice, dict[str, float]] | None:
    """Theory, and bytes of structures by engine; None if there is no such workload."""
    count = count or _one(bench)
    found = bench.once(("weighed", case.label, count, names), lambda: bench.lab.weighed(case, count, names))
    if isinstance(found, Exception):
        return None
    data, stats = found
    return memory(MemoryParameters.of(data.forest)), {name: _own(each) for name, each in stats.items()}


# --- memory ------------------------------------------------------------------------------------------------------


@BITTNER.row(
    "B2",
    "5.5.3",
    "Turning point: the number of conjunctions above which the Boolean form is smaller. Classes have 2, 4 and 6.",
    "2, 3.19, 3.12",
    "turning points of the model; bytes of `hits` / counting",
)
def _turning_points(bench: Bench) -> Outcome:
    figures: list[Figure] = []
    directions = []
    for each, theirs in zip(_CLASSES, (2.0, 3.19, 3.12), strict=True):
        found = _weighed(bench, auction(only=each), "hits", "counting", "cluster")
        assert found is not None
        advice, bytes_ = found
        ratio = bytes_["hits"] / bytes_["counting"]
        figures += [
            figure(f"class {each}: turning point", advice.turning_points["counting"], theirs),
            figure(f"class {each}: bytes of hits / counting", ratio),
        ]
        directions.append(below(ratio, 1) if each > 1 else below(ratio, 1.05))
    return Outcome(all_of(*directions), figures, "class 1 is a tie in the model")


def _theory(predicates: int, operators: float, conjunctions: float, share: float) -> Advice:
    return memory(
        MemoryParameters(
            predicates=predicates,
            operators=operators * predicates,
            subscriptions=1_000,
            unique_predicates=1_000 * predicates,
            conjunctions=conjunctions,
            conjunctions_per_predicate=share * conjunctions,
        )
    )


@BITTNER.row(
    "B3",
    "5.5.2, 5.8, 9.1",
    "A single disjunction is enough to make the Boolean form smaller.",
    "fewer than 2 conjunctions at 10 predicates, op .8, s^prop .7",
    "share of a grid of the model where it holds",
    workload="the model: 5 to 50 predicates, op .2 to 1, s^prop .2 to 1",
    contradicts="its own model: it does not hold on all of the grid",
)
def _one_disjunction(_: Bench) -> Outcome:
    grid = [
        _theory(p, op, 2, share).turning_points["counting"]
        for p in range(5, 51, 5)
        for op in _TENTHS
        for share in _TENTHS
    ]
    held = float(np.mean(np.array(grid) < 2))
    ten = _theory(10, 0.8, 2, 0.7).turning_points["counting"]
    return Outcome(
        is_true(held == 1.0),
        [figure("share of the grid", held), figure("turning point of their example", ten, (-inf, 2.0))],
        f"the example holds, the general sentence on {held:.0%} of the grid",
    )


@BITTNER.row(
    "B4",
    "5.5.2",
    "Counting always needs less memory than clustering, above all with few predicates.",
    "trend",
    "bytes of cluster / counting, in the model and measured",
    workload=f"the model's grid; {BITTNER.workload}",
)
def _cluster_bytes(bench: Bench) -> Outcome:
    means, least = [], []
    for predicates in (5, 10, 50):
        ratios = [
            engines["cluster"].total_bytes / engines["counting"].total_bytes
            for op in _TENTHS
            for share in _TENTHS
            for engines in [_theory(predicates, op, 4, share).engines]
        ]
        means.append(float(np.mean(ratios)))
        least.append(min(ratios))
    figures = [figure(f"model, {p} predicates", each) for p, each in zip((5, 10, 50), means, strict=True)]
    for each in _CLASSES:
        found = _weighed(bench, auction(only=each), "hits", "counting", "cluster")
        assert found is not None
        least.append(found[1]["cluster"] / found[1]["counting"])
        figures.append(figure(f"class {each}", least[-1]))
    return Outcome(all_of(above(least, 1), rising(means[::-1])), figures)


def _ratios(bench: Bench, cells: dict[str, dict[str, float]]) -> dict[str, tuple[float, float]]:
    """Bytes of hits by bytes of counting in cells of the artificial workload: by theory, and measured."""
    found: dict[str, tuple[float, float]] = {}
    for name, parameters in cells.items():
        weighed = _weighed(bench, artificial(**parameters), "hits", "counting")
        if weighed is None:
            bench.notes.append(f"{name}: there are no such conditions")
            continue
        advice, bytes_ = weighed
        theory = advice.engines["hits"].total_bytes / advice.engines["counting"].total_bytes
        found[name] = theory, bytes_["hits"] / bytes_["counting"]
    return found


@BITTNER.row(
    "B5",
    "5.5.2",
    "More operators favour conjunctions; predicates that occur in more conjunctions favour the Boolean form.",
    "trend",
    "bytes of hits / counting, in the model and measured",
    workload=f"{_ARTIFICIAL}: 10 predicates, 4 conjunctions",
)
def _partial(bench: Bench) -> Outcome:
    base = {"predicates": 10, "conjunctions": 4}
    operators = _ratios(bench, {f"op {op}": base | {"operators": op, "sharing": 0.5} for op in (0.4, 0.5, 0.6)})
    sharing = _ratios(bench, {f"s^prop {share}": base | {"sharing": share} for share in (0.3, 0.5, 0.7)})
    figures = [
        figure(f"{name}, {kind}", value)
        for name, pair in {**operators, **sharing}.items()
        for kind, value in zip(("model", "measured"), pair, strict=True)
    ]
    up, down = ([pair[1] for pair in each.values()] for each in (operators, sharing))
    if len(up) < 2 or len(down) < 2:
        msg = "the workload has too few of these cells"
        raise UntestableError(msg)
    return Outcome(all_of(rising(up), rising(down[::-1])), figures)


@BITTNER.row(
    "B6",
    "5.6.2",
    "Measured turning points follow the model, and come earlier with fewer predicates.",
    "trend",
    "crossing of bytes over conjunctions, measured and by the model",
    workload=f"{_ARTIFICIAL}: 5 to 50 predicates, 2 to 5 conjunctions, s^prop .5",
)
def _measured_turning_points(bench: Bench) -> Outcome:
    figures: list[Figure] = []
    near_theory = []
    for predicates in bench.pick((5,), (5, 10, 20), (5, 10, 20, 50)):
        cells = {
            str(each): {"predicates": predicates, "conjunctions": each, "sharing": 0.5} for each in (2, 3, 4, 5)
        }
        found = _ratios(bench, cells)
        near_theory += [abs(measured / theory - 1) for theory, measured in found.values()]
        for kind, place in (("model", 0), ("measured", 1)):
            values = [pair[place] for pair in found.values()]
            at = (
                crossing([float(each) for each in found], values, [1.0] * len(values)) if len(values) > 1 else None
            )
            if at is not None:
                figures.append(figure(f"{predicates} predicates, {kind}", at))
    return Outcome(
        below(max(near_theory), 0.25),
        [figure("greatest distance of the measured ratio from the model", max(near_theory)), *figures],
        "no crossing is given where one form is smaller in all cells",
    )


@BITTNER.row(
    "B7",
    "5.6.3",
    "Memory falls as subscriptions share more predicates, equally for both forms.",
    "trend",
    "bytes of hits and counting for p_c 0, .25 and .5",
    workload=f"{_ARTIFICIAL}: 2 and 5 conjunctions",
)
def _commonality(bench: Bench) -> Outcome:
    figures: list[Figure] = []
    directions = []
    for conjunctions in (2, 5):
        found = {
            share: _weighed(bench, artificial(conjunctions=conjunctions, commonality=share), "hits", "counting")
            for share in (0.0, 0.25, 0.5)
        }
        held = {share: each[1] for share, each in found.items() if each is not None}
        if len(held) < 2:
            bench.notes.append(f"{conjunctions} conjunctions: there are no such conditions")
            continue
        first, last = held[min(held)], held[max(held)]
        falls = {name: last[name] / first[name] for name in ("hits", "counting")}
        figures += [figure(f"{conjunctions} conjunctions, {name}: last / first", n) for name, n in falls.items()]
        directions += [below(each, 1) for each in falls.values()]
        directions.append(near(falls["hits"] / falls["counting"], 1, 0.25))
    return Outcome(
        all_of(*directions), figures, "predicates themselves are left out of these bytes, as in the model"
    )


@BITTNER.row(
    "B8",
    "5.2-5.4",
    "Memory is proportional to the number of subscriptions.",
    "linear",
    "intercept of a straight line / largest value",
    workload=_ARTIFICIAL,
)
def _through_the_origin(bench: Bench) -> Outcome:
    sizes = bench.pick((50, 80), (2_000, 5_000, 20_000), (10_000, 100_000, 1_000_000))
    figures: list[Figure] = []
    found: dict[str, list[float]] = {"hits": [], "counting": [], "cluster": []}
    for count in bench.within_budget(sizes):
        weighed = _weighed(bench, artificial(), *found, count=count)
        assert weighed is not None
        for name, values in found.items():
            values.append(weighed[1][name])
    for name, values in found.items():
        _, intercept = np.polyfit(sizes[: len(values)], values, 1)
        figures.append(figure(f"{name}: intercept / greatest", float(intercept) / max(values)))
    return Outcome(all_of(*(near(each.ours, 0, 0.05) for each in figures)), figures)


# --- time --------------------------------------------------------------------------------------------------------


def _curve(bench: Bench, only: int | None = None) -> Curve:
    return bench.curve(auction(only=only), _sizes(bench), _PAIR)


def _saving(bench: Bench, only: int | None, theirs: float) -> Outcome:
    """Time of counting that hits saves at the greatest size; crossings and the slopes beyond it."""
    curve = _curve(bench, only)
    count = max(curve)
    ours, thesis = (saved(curve[count], name, "counting") for name in _PAIR[:2])
    figures = [
        *_work(curve[count]),
        figure(f"saved at {count}", ours, theirs, (count, _THEIR_SIZE)),
        figure(f"saved at {count} as built for the thesis", thesis, theirs, (count, _THEIR_SIZE)),
    ]
    at = crossing(
        [*curve], *([line_of(curve, name)[each].median for each in curve] for name in ("hits", "counting"))
    )
    note = f"hits becomes faster at {at:.0f}" if at is not None else "the curves do not cross here"
    return Outcome(above(ours, 0), figures, note)


def _work(points: Points) -> list[Figure]:
    names = [name for name in _PAIR[:2] if name in points and "candidates" in points[name].work]
    return [figure(f"{name}: candidates per event", points[name].work["candidates"]) for name in names]


@BITTNER.row(
    "B9",
    "5.7.2",
    "On all classes together, Boolean filtering is faster than counting.",
    "27% at 500,000",
    "candidates; share of counting's time that is saved",
)
def _combined(bench: Bench) -> Outcome:
    found = _saving(bench, None, 0.27)
    figures = [*found.figures]
    for operands in DISTRIBUTIONS[1 : bench.pick(2, 5, 5)]:
        count = max(_sizes(bench))
        points = bench.lab.points(auction(operands), count, _PAIR)
        figures.append(figure(f"{operands}: saved", saved(points, "hits", "counting"), 0.27, (count, _THEIR_SIZE)))
    directions = [above(each.ours, 0) for each in figures if "saved" in each.what and "thesis" not in each.what]
    return Outcome(all_of(*directions), figures, found.note)


@BITTNER.row(
    "B1",
    "1.3, 5.8",
    "Hypothesis 1: filtering Boolean conditions needs less memory and time than converting to conjunctions.",
    "no figure of its own",
    "B2 and B9 together",
)
def _hypothesis(bench: Bench) -> Outcome:
    bytes_, clock = _turning_points(bench), _combined(bench)
    return Outcome(
        all_of(bytes_.direction, clock.direction),
        (),
        f"memory (B2): {bytes_.direction}; time (B9): {clock.direction}",
    )


@BITTNER.row(
    "B10",
    "5.7.2",
    "Beyond 400,000 subscriptions, the difference between the two is constant.",
    "75, 64, 68, 72, 76 ms for five distributions",
    "slope of the difference over the last third / slope of counting",
)
def _gap(bench: Bench) -> Outcome:
    curve = _curve(bench)
    sizes = [*curve][-max(2, len(curve) // 3) :]
    slopes = []
    for turn in range(len(curve[sizes[0]]["hits"].microseconds)):
        ours, theirs = (
            np.array([curve[count][name].microseconds[turn] for count in sizes]) for name in ("hits", "counting")
        )
        rise = np.polyfit(sizes, theirs, 1)[0]
        slopes.append(float(np.polyfit(sizes, theirs - ours, 1)[0] / (rise if rise else 1.0)))
    return Outcome(
        near(slopes, 0, 0.1),
        [figure("slope of the gap / counting's", slopes)],
        f"sizes {sizes[0]} to {sizes[-1]}; milliseconds of 2008 are not compared",
    )


@BITTNER.row(
    "B11",
    "5.7.2",
    "The distribution of operands hardly matters.",
    "trend",
    "longest / shortest time over distributions, and over classes",
)
def _distributions(bench: Bench) -> Outcome:
    most = max(_sizes(bench))
    by_operands = [bench.lab.points(auction(each), most, _PAIR) for each in DISTRIBUTIONS[: bench.pick(2, 5, 5)]]
    by_class = [bench.lab.points(auction(only=each), most, _PAIR) for each in _CLASSES]
    figures: list[Figure] = []
    directions = []
    for name in ("hits", "counting"):
        spans = []
        for what, several in (("distributions", by_operands), ("classes", by_class)):
            medians = [points[name].median for points in several]
            spans.append(max(medians) / min(medians))
            figures.append(figure(f"{name}: greatest / least over {what}", spans[-1]))
        directions.append(is_true(spans[0] < spans[1]))
    return Outcome(all_of(*directions), figures)


def _bends(bench: Bench, only: int | None) -> dict[str, float]:
    """Where curves bend, if two lines save half of the squared error of one; where hits fill a cache beside it."""
    curve = _curve(bench, only)
    found = {}
    for name in ("hits", "counting"):
        line = line_of(curve, name)
        bent = bend([*line], [point.median for point in line.values()])
        if bent is not None and bent.saved > 0.5 and bent.after > bent.before:
            found[name] = bent.at
        point = line[max(line)]
        counters = point.stats.bytes["hits"] / point.subscriptions
        filled = ", ".join(f"{level} {size / counters:.0f}" for level, size in caches().items())
        bench.notes.append(f"{name}{f', class {only}' if only else ''}: hits fill {filled or 'unknown caches'}")
    return found


@BITTNER.row(
    "B12",
    "5.7.2",
    "Both curves of time bend where hit counters outgrow the cache; with conjunctions four times earlier.",
    "at 50,000 and 200,000",
    "best two lines through the times; sizes at which hits fill each cache",
)
def _bent(bench: Bench) -> Outcome:
    at = _bends(bench, None)
    largest = max(_sizes(bench))
    figures = [figure(f"bend of {name}", each) for name, each in at.items()]
    if len(at) == 2:
        figures.append(figure("hits / counting", at["hits"] / at["counting"], 4.0, (largest, _THEIR_SIZE)))
        return Outcome(above(at["hits"] / at["counting"], 1), figures)
    return Outcome("fails" if largest >= _THEIR_SIZE else "unclear", figures, "no bend stands out in both curves")


@BITTNER.row(
    "B16",
    "5.7.2",
    "The bends of the two curves are 2, 4 and 6 times apart, like the conjunctions of the classes.",
    "2, 4, 6",
    "best two lines through times",
)
def _bent_by_class(bench: Bench) -> Outcome:
    largest = max(_sizes(bench))
    figures = []
    for each, theirs in zip(_CLASSES, (2.0, 4.0, 6.0), strict=True):
        at = _bends(bench, each)
        if len(at) == 2:
            ratio = at["hits"] / at["counting"]
            figures.append(figure(f"class {each}", ratio, theirs, (largest, _THEIR_SIZE)))
    if len(figures) == len(_CLASSES):
        return Outcome(rising([each.ours[0] for each in figures]), figures)
    return Outcome(
        "fails" if largest >= _THEIR_SIZE else "unclear", figures, "bends do not stand out in every class"
    )


def _class_row(id_: str, only: int, theirs: float, words: str) -> None:
    @BITTNER.row(
        id_,
        "5.7.2",
        f"Class {only}: {words}",
        f"{theirs:.0%} at 500,000",
        "candidates; share of counting's time that is saved, crossing",
        workload=f"`auction`: class {only}, uniform operands",
    )
    def _class(bench: Bench) -> Outcome:
        return _saving(bench, only, theirs)


_class_row("B13", 1, 0.27, "Boolean filtering is faster, by a constant difference from 300,000 on.")
_class_row("B14", 2, 0.20, "counting is slightly faster up to 80,000, Boolean filtering beyond.")
_class_row("B15", 3, 0.61, "Boolean filtering is faster, and the difference keeps growing.")


def conjunctions_as_conditions(forest: Forest) -> Forest:
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


@BITTNER.row(
    "B17",
    "4.5.1",
    "If all subscriptions are conjunctions, Boolean filtering costs hardly more than counting.",
    "less than 1 ms more per event at 300,000",
    "candidates / matches; time / counting",
    workload="`auction`: the conjunctions of all classes as subscriptions",
)
def _conjunctions(bench: Bench) -> Outcome:
    data = bench.lab.data(auction(), max(_sizes(bench)) // 4, bench.lab.effort.events)
    data = replace(data, forest=conjunctions_as_conditions(data.forest))
    points = bench.lab.measure(f"auction as conjunctions, {len(data.forest)}", data, ("bitslice", *_PAIR))
    figures = []
    for name in _PAIR[:2]:
        work = points[name].work
        figures.append(figure(f"{name}: candidates / matches", work["candidates"] / max(work["matches"], 1e-9)))
    ratios = [times(points, name, "counting") for name in _PAIR[:2]]
    extra = [
        (one - other) / 1e3
        for one, other in zip(points["hits, thesis"].microseconds, points["counting"].microseconds, strict=True)
    ]
    figures += [figure(f"{name}: time / counting", each) for name, each in zip(_PAIR, ratios, strict=False)]
    figures.append(figure("hits, thesis: ms more than counting", extra, (-inf, 1.0), (len(data.forest), 300_000)))
    return Outcome(below(ratios[1], 1.1), figures, f"{len(data.forest)} conjunctions")


@BITTNER.row(
    "B18",
    "4.2.2, 4.5.2",
    "An encoding that stores the widths of subtrees is as fast and needs more bytes.",
    "38, 80, 47 bytes for a tree without widths",
    "bytes of trees; time / plain encoding",
)
def _encodings(bench: Bench) -> Outcome:
    figures: list[Figure] = []
    directions = []
    for each, theirs in zip(_CLASSES, (38, 80, 47), strict=True):
        case = auction(only=each)
        forest = bench.lab.data(case, 1, 1).forest
        points = bench.lab.points(case, _one(bench), ("hits", "hits, widths"))
        wide, plain = (points[name].stats.bytes["trees"] for name in ("hits, widths", "hits"))
        ratio = times(points, "hits, widths", "hits")
        figures += [
            figure(f"class {each}: bytes of a tree", len(Hits().build(forest).tree(0)), theirs),
            figure(f"class {each}: tree bytes / plain", wide / plain),
            figure(f"class {each}: time / plain", ratio, 1.0),
        ]
        directions += [above(wide / plain, 1), near(ratio, 1, 0.1)]
    return Outcome(all_of(*directions), figures)


@BITTNER.row(
    "B19",
    "4.5.5, 4.6",
    "Class 2 is the worst case; short circuits make it acceptable; a semantic minimum of hits would help.",
    "5 hits, 6 semantic",
    "needed hits, candidates, time / counting",
    workload="`auction`: class 2, uniform operands",
)
def _short_circuits(bench: Bench) -> Outcome:
    plain, thesis, semantic = ("hits, thesis, no short-circuit", "hits, thesis", "hits, thesis, semantic")
    points = bench.lab.points(auction(only=2), _one(bench), (plain, thesis, semantic, "hits", "counting"))
    forest = bench.lab.data(auction(only=2), 1, 1).forest
    needed = [Hits(semantic=each, weighted=False).build(forest).required_hits(0) for each in (False, True)]
    candidates = {name: points[name].work["candidates"] for name in (thesis, semantic, "hits")}
    saves = times(points, plain, thesis)
    return Outcome(
        all_of(above(saves, 1), is_true(candidates[semantic] < candidates[thesis])),
        [
            figure("needed hits", needed[0], 5),
            figure("needed hits, semantic", needed[1], 6),
            *(figure(f"{name}: candidates per event", each) for name, each in candidates.items()),
            figure("time without / with short-circuits", saves),
            figure("hits, thesis: time / counting", times(points, thesis, "counting")),
        ],
    )


@BITTNER.row(
    "B20",
    "3.3.2",
    "Conversion multiplies subscriptions: conjunctions and predicates per subscription, by class.",
    "2/8, 4/20, 6/18; mean 4",
    "conjunctions and their predicates",
)
def _conversion(bench: Bench) -> Outcome:
    figures = []
    counts = []
    for each, terms, places in zip(_CLASSES, (2, 4, 6), (8, 20, 18), strict=True):
        given = MemoryParameters.of(bench.lab.data(auction(only=each), bench.pick(40, 500, 2_000), 1).forest)
        counts.append(given.conjunctions)
        figures += [
            figure(f"class {each}: conjunctions", given.conjunctions, terms),
            figure(f"class {each}: predicates", given.conjunctions_per_predicate * given.predicates, places),
        ]
    return Outcome(is_true(counts == [2, 4, 6]), [*figures, figure("mean", float(np.mean(counts)), 4)])


@BITTNER.row(
    "B21",
    "3.2",
    "The data set: categories and prices of the auctioned books.",
    "Romance 19.2% of items; Fantasy above $10 22.2%",
    "shares of generated events",
)
def _data_set(bench: Bench) -> Outcome:
    rows = bench.pick(2_000, 50_000, 1_000_000)
    events = generate("auction", subscriptions=1, events=rows, seed=bench.seed).events
    categories = np.array(events["category"].to_pylist())
    above_ten = np.array([price > 10 for price in events["price"].to_pylist()])
    figures = [figure("share of Romance", float(np.mean(categories == "Romance")), 0.192)]
    for name, theirs in (("Fantasy", 0.222), ("Romance", 0.059)):
        figures.append(figure(f"{name} above 10 dollars", float(np.mean(above_ten[categories == name])), theirs))
    return Outcome("none claimed", figures, "rates of events are not generated")


@BITTNER.row(
    "B22",
    "4.4, 4.6",
    "Adding and removing subscriptions costs no more than with counting.",
    "trend",
    "insertions and deletions per second / counting's; random tenths",
)
def _churn(bench: Bench) -> Outcome:
    figures: list[Figure] = []
    for only in (None, *_CLASSES):
        case = auction(only=only)
        points = bench.lab.points(case, max(_sizes(bench)), _PAIR)
        for what in ("inserted", "deleted"):
            figures.append(figure(f"{case.label}: {what}", times(points, "hits", "counting", what)))
    slowest = min(figures, key=lambda each: median(each.ours))
    return Outcome(
        all_of(*(above(each.ours, 0.9) for each in figures)), figures, f"the least ratio: {slowest.what}"
    )
