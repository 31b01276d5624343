"""Parts of `operators` that count calls: by number and length of conditions, predicates and their popularity.

The workload is `overlap`. All strategies get the same events, and must find the same conditions for each, before a
count is believed. Counts are means over events, with their standard error.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.operators_exact import relaxed_bound
from benchmarks.report import Bar, Figures, Size, number, table
from tamis.arrays import F64, Bools
from tamis.lab.liu.chains import Chains, chains_of, directed_order, insertion_order, pair_gains, score_order
from tamis.lab.liu.strategies import CallCount, greedy, greedy_start, naive, sequential, sub_order
from tamis.lab.workloads.overlap import arrays, outcomes
from tamis.report import charts

SEED = 2026
STRATEGIES = ("naive", "sequential", "sub-order", "ours")
BOUND = "no strategy can do with less than"
_MOST_OF_NAIVE = {"uniform": 0.52, "zipf 1": 0.28}
_LEAST_BELOW = 0.05


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured.

    Attributes:
        events: Of every point.
        bounded: Events of every point for which the bound is worked out.
        rounds: Of the bound.
        sizes: Numbers of conditions, with as many predicates as `predicates` has.
        predicates: Of those.
        fixed: Conditions of the other experiments.
        pools: Numbers of predicates, with `fixed` conditions.
        pool: Predicates where lengths or popularity differ.
        longest: Greatest lengths.
        paired: Conditions where all pairs are looked at.
        instances: Small ones, of which everything is enumerated.
    """

    events: int
    bounded: int
    rounds: int
    sizes: tuple[int, ...]
    predicates: int
    fixed: int
    pools: tuple[int, ...]
    pool: int
    longest: tuple[int, ...]
    paired: int
    instances: int


SCALES: dict[Size, Scale] = {
    "smallest": Scale(4, 2, 40, (100, 400), 200, 300, (50, 300), 100, (5, 7), 60, 10),
    "quick": Scale(
        40, 3, 100, (1_000, 4_000, 16_000), 8_000, 4_000, (400, 2_000, 6_000), 1_000, (5, 8, 11), 500, 200
    ),
    "full": Scale(
        400,
        8,
        300,
        (2_000, 5_000, 10_000, 20_000, 40_000, 80_000),
        40_000,
        20_000,
        (2_000, 5_000, 10_000, 20_000, 30_000),
        5_000,
        (5, 6, 7, 8, 9, 10, 11),
        2_000,
        2_000,
    ),
}


@dataclass(frozen=True, slots=True)
class Point:
    """Calls an event: float64[events] of each strategy, and the bound for the first few events."""

    title: str
    calls: dict[str, F64]
    bounds: F64

    def mean(self, strategy: str) -> float:
        """Over all events."""
        return float(self.calls[strategy].mean())

    def share(self, strategy: str, of: str) -> float:
        """The calls of a strategy as a share of those of another."""
        return self.mean(strategy) / self.mean(of)

    def over_bound(self, strategy: str) -> float:
        """On those events that have a bound."""
        return float(self.calls[strategy][: len(self.bounds)].sum() / self.bounds.sum())

    @property
    def bound(self) -> float:
        """What no strategy can do without, over all events, if those that have a bound are like the others."""
        return self.mean("ours") / self.over_bound("ours")

    def error(self, strategy: str) -> float:
        """The standard error of the mean."""
        return float(self.calls[strategy].std(ddof=1) / np.sqrt(len(self.calls[strategy])))


@dataclass(slots=True)
class Bench:
    """What parts are given, and where they leave what is more than a figure.

    Attributes:
        scale: How much is measured.
        size: The name of it.
        bars: By name.
        drawings: Parts of a page.
        points: All that were counted.
    """

    scale: Scale
    size: Size
    bars: dict[str, Bar] = field(default_factory=dict)
    drawings: list[str] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    _started: float = field(default_factory=time.perf_counter)

    def progress(self, what: str) -> None:
        """Tell what goes on, to whoever waits."""
        print(f"[{time.perf_counter() - self._started:6.0f} s] {what}", file=sys.stderr, flush=True)

    def counted(self, title: str, subscriptions: int, predicates: int, **parameters: Any) -> Point:
        """Count a point, and keep it."""
        self.progress(title)
        scale = self.scale
        found = arrays(
            subscriptions=subscriptions, events=scale.events, seed=SEED, predicates=predicates, **parameters
        )
        drawn = chains_of(found.starts, found.members, found.selectivities, sort=False)
        numbers = np.arange(predicates)
        events = [outcomes(seed, numbers, found.selectivities) for seed in found.seeds.tolist()]
        point = Point(
            title,
            counted(title, contestants(drawn), events),
            np.array([relaxed_bound(drawn, event, scale.rounds) for event in events[: scale.bounded]]),
        )
        self.points.append(point)
        return point


@dataclass(frozen=True, slots=True)
class Part:
    """An experiment.

    Attributes:
        claims: Ids of what it answers to.
        sentence: What is measured.
        measure: Gives the figures; bars and drawings it leaves at the bench.
    """

    claims: tuple[str, ...]
    sentence: str
    measure: Callable[[Bench], Figures]


def contestants(drawn: Chains) -> dict[str, Callable[[Bools], CallCount]]:
    """The strategies, on chains whose nodes and order are those of the conditions."""
    chains = chains_of(drawn.starts, drawn.nodes, drawn.holds, drawn.costs)
    order, start = score_order(chains), greedy_start(chains)
    return {
        "naive": lambda event: naive(drawn, event),
        "sequential": lambda event: sequential(drawn, event),
        "sub-order": lambda event: sub_order(chains, order, event),
        "ours": lambda event: greedy(chains, start, event),
    }


def counted(
    title: str, strategies: dict[str, Callable[[Bools], CallCount]], events: Sequence[Bools]
) -> dict[str, F64]:
    """Calls of each strategy for each event.

    Raises:
        SystemExit: A strategy does not find what the first one finds.
    """
    calls: dict[str, F64] = {name: np.empty(len(events)) for name in strategies}
    for row, event in enumerate(events):
        expected: Bools | None = None
        for name, strategy in strategies.items():
            count = strategy(event)
            if expected is None:
                expected = count.matched
            elif not np.array_equal(expected, count.matched):
                msg = f"{title}, event {row}: {int(expected.sum())} conditions hold, {name} finds "
                raise SystemExit(msg + str(int(count.matched.sum())))
            calls[name][row] = count.calls
    return calls


def by_size(bench: Bench) -> Figures:
    """Figures 4 and 5: by number of conditions, uniform and Zipf; how calls grow, and the bars."""
    scale, figures = bench.scale, Figures()
    last: dict[str, Point] = {}
    for name, parameters in (("uniform", {}), ("zipf 1", {"popularity": "zipf"})):
        points = {
            size: bench.counted(
                f"{name}, {size} conditions, {scale.predicates} predicates", size, scale.predicates, **parameters
            )
            for size in scale.sizes
        }
        figures |= told(points.values())
        for strategy in STRATEGIES:
            means = [point.mean(strategy) for point in points.values()]
            slopes = np.diff(np.log(means)) / np.diff(np.log(scale.sizes))
            figures[f"L6, {name}: {strategy}: exponent of growth, between sizes"] = ", ".join(
                number(float(slope)) for slope in (np.polyfit(np.log(scale.sizes), np.log(means), 1)[0], *slopes)
            )
        draw(bench, f"{name}: calls by conditions", points)
        last[name] = points[scale.sizes[-1]]
    figures |= _judged(bench, last)
    return figures


def by_predicates(bench: Bench) -> Figures:
    """Figure 6: by number of predicates."""
    figures: Figures = {}
    for name, parameters in (("zipf 1", {"popularity": "zipf"}), ("uniform", {})):
        points = {
            pool: bench.counted(
                f"{name}, {bench.scale.fixed} conditions, {pool} predicates", bench.scale.fixed, pool, **parameters
            )
            for pool in bench.scale.pools
        }
        figures |= told(points.values())
        last = points[bench.scale.pools[-1]]
        shares = ", ".join(f"{strategy} {number(last.share(strategy, 'naive'))}" for strategy in STRATEGIES[1:])
        figures[f"L9, {last.title}: of naive"] = f"{shares}; the paper has 0.201 and 0.122"
        draw(bench, f"{name}: calls by predicates", points)
    return figures


def by_length(bench: Bench) -> Figures:
    """Figure 7: by greatest length, and how sub-order's lead over sequential goes with it."""
    scale = bench.scale
    points = {
        most: bench.counted(
            f"zipf 1, {scale.fixed} conditions, {scale.pool} predicates, lengths 3 to {most}",
            scale.fixed,
            scale.pool,
            popularity="zipf",
            length=(3, most),
        )
        for most in scale.longest
    }
    figures = told(points.values())
    first, last = points[scale.longest[0]], points[scale.longest[-1]]
    for strategy in STRATEGIES:
        growth = last.mean(strategy) / first.mean(strategy)
        figures[f"L10, {strategy}: growth from the shortest to the longest"] = number(growth)
    for strategy in ("sub-order", "ours"):
        leads = ", ".join(number(1 - point.share(strategy, "sequential")) for point in points.values())
        figures[f"L11, {strategy} below sequential, by length"] = leads
    figures |= _leads_of_orders(bench)
    draw(bench, "zipf 1: calls by greatest length", points)
    return figures


def by_skew(bench: Bench) -> Figures:
    """Figure 8: by popularity; and the other choice of selectivities."""
    scale = bench.scale
    kinds: dict[str, dict[str, Any]] = {"uniform": {}}
    kinds |= {f"zipf {each:g}": {"popularity": "zipf", "exponent": each} for each in (0.8, 1.0, 1.2)}
    points = {}
    for selectivity in ("power", "equal"):
        for kind, parameters in kinds.items():
            title = f"{kind}, {scale.fixed} conditions, {scale.pool} predicates, {selectivity} selectivities"
            points[selectivity, kind] = bench.counted(
                title, scale.fixed, scale.pool, selectivity=selectivity, **parameters
            )
    figures = told(points.values())
    for selectivity in ("power", "equal"):
        for strategy in STRATEGIES:
            row = ", ".join(number(points[selectivity, kind].mean(strategy)) for kind in kinds)
            figures[f"L12, {selectivity} selectivities: {strategy}: {', '.join(kinds)}"] = row
    groups = {
        f"{kind}, {selectivity}": {name: point.mean(name) for name in STRATEGIES}
        for (selectivity, kind), point in points.items()
    }
    bench.drawings.append(charts.bars("calls by popularity and selectivities", "calls an event", groups))
    return figures


def over_all(points: Sequence[Point]) -> Figures:
    """What is said of all points together."""
    figures: Figures = {}
    for strategy in STRATEGIES[1:]:
        best = min(points, key=lambda point: point.share(strategy, "naive"))
        saved = 1 - best.share(strategy, "naive")
        figures[f"L4: {strategy}: most calls saved of naive"] = f"{number(saved)}: {best.title}"
    for one, other, claim in (("sub-order", "sequential", "L7: "), ("ours", "sub-order", "")):
        below = [point for point in points if point.mean(one) < point.mean(other)]
        worst = max(points, key=lambda point: point.share(one, other))
        figures[f"{claim}{one} below {other}"] = (
            f"{len(below)} of {len(points)} points; at most {number(worst.share(one, other))}: {worst.title}"
        )
    return figures


def told(points: Iterable[Point]) -> Figures:
    """Means and standard errors, shares of naive, and how near the bound."""
    figures: Figures = {}
    for point in points:
        for strategy in STRATEGIES:
            mean, share = point.mean(strategy), point.share(strategy, "naive")
            figures[f"{point.title}: {strategy}"] = (
                f"{number(mean)} calls (± {number(point.error(strategy))}), {number(share)} of naive"
            )
        figures[f"{point.title}: {BOUND}"] = f"{number(point.bound)} calls; over it: " + ", ".join(
            f"{strategy} {number(point.over_bound(strategy))}" for strategy in STRATEGIES
        )
    return figures


def draw(bench: Bench, title: str, points: dict[int, Point]) -> None:
    """Lines and a table."""
    series = {name: [(float(x), point.mean(name)) for x, point in points.items()] for name in STRATEGIES}
    series[BOUND] = [(float(x), point.bound) for x, point in points.items()]
    bench.drawings.append(charts.lines(title, "calls an event", series))
    rows = [[x, *(number(dict(each)[float(x)]) for each in series.values())] for x in points]
    bench.drawings.append(table(["", *series], rows))


def _judged(bench: Bench, last: dict[str, Point]) -> Figures:
    """The bars, on the greatest size; L5 and L8."""
    figures: Figures = {}
    for name, point in last.items():
        share = point.share("sub-order", "naive")
        bench.bars[f"{point.title}: sub-order of naive"] = Bar(share, _MOST_OF_NAIVE[name], at_most=True)
        below = 1 - point.share("ours", "sub-order")
        bench.bars[f"{point.title}: ours below sub-order"] = Bar(below, _LEAST_BELOW)
        figures[f"L5, {point.title}: ours over the bound"] = number(point.over_bound("ours"))
    for strategy in STRATEGIES[1:]:
        row = ", ".join(f"{name} {number(point.share(strategy, 'naive'))}" for name, point in last.items())
        figures[f"L8, {strategy}: of naive"] = row
    return figures


def _leads_of_orders(bench: Bench) -> Figures:
    """Leads by length again, on so few conditions that orders may look at all pairs."""
    scale = bench.scale
    leads: dict[str, list[float]] = {}
    for most in scale.longest:
        pool = max(4 * most, scale.pool * scale.paired // scale.fixed)
        bench.progress(f"all pairs of {scale.paired} conditions, lengths 3 to {most}")
        for name, calls in counted_orders(bench, pool, most).items():
            leads.setdefault(name, []).append(float(calls.mean()))
    return {
        f"L11, {scale.paired} conditions, {name} below sequential, by length": ", ".join(
            number(1 - mean / base) for mean, base in zip(means, leads["sequential"], strict=True)
        )
        for name, means in leads.items()
        if name != "sequential"
    }


def counted_orders(bench: Bench, pool: int, most: int) -> dict[str, F64]:
    """Calls of sub-order in several orders, on as many conditions as pairs allow."""
    scale = bench.scale
    found = arrays(
        subscriptions=scale.paired,
        events=scale.events,
        seed=SEED,
        predicates=pool,
        popularity="zipf",
        length=(3, most),
    )
    drawn = chains_of(found.starts, found.members, found.selectivities, sort=False)
    chains = chains_of(found.starts, found.members, found.selectivities)
    gains = pair_gains(chains)
    orders = {
        "insertion": insertion_order(chains, gains),
        "score": score_order(chains),
        "directed pairs": directed_order(chains, gains),
        "as drawn": np.arange(scale.paired),
    }
    strategies = contestants(drawn)
    run: dict[str, Callable[[Bools], CallCount]] = {"sequential": strategies["sequential"]}
    for name, order in orders.items():
        run[name] = lambda event, order=order: sub_order(chains, order, event)  # type: ignore[misc]
    run["ours"] = strategies["ours"]
    numbers = np.arange(pool)
    events = [outcomes(seed, numbers, found.selectivities) for seed in found.seeds.tolist()]
    return counted(f"{scale.paired} conditions, all pairs", run, events)
