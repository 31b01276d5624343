"""Rows of Z. Liu et al. (DEBS 2007): calls of expensive predicates that subscriptions share.

The paper leaves selectivities and events open: they are those of the workload `overlap`, with a second choice in
L12. All strategies get the same events and must find the same subscriptions before a count is believed. Small
instances are enumerated (`tamis.lab.claims.exact_costs`).
"""

from __future__ import annotations

import itertools
from math import inf
from typing import Any

import numpy as np

from tamis.lab.claims.bench import Bench
from tamis.lab.claims.call_counts import STRATEGIES, CallPoint, count_calls, count_orders
from tamis.lab.claims.exact_costs import (
    least_cost,
    outcomes_of,
    some_chains,
)
from tamis.lab.claims.row import Outcome, Paper, above, all_of, below, figure, is_true, near, rising
from tamis.lab.liu.chains import (
    chains_of,
)
from tamis.lab.liu.strategies import greedy, greedy_start, pricing, sequential, sub_order
from tamis.lab.measuring.curves import exponent

LIU = Paper(
    "liu",
    "Z. Liu et al., Scalable Event Matching for Overlapping Subscriptions in Pub/Sub Systems, DEBS 2007",
    "`overlap`: conjunctions of 3 to 5 shared predicates, .2% of which match, selectivities u^x",
)
_ZIPF: dict[str, Any] = {"popularity": "zipf"}
_CHAINS, _PREDICATES, _MANY = 8, 9, 100
_UNIT, _COSTS = (1.0, 1.0), (1.0, 100.0)


def _sizes(bench: Bench) -> tuple[tuple[int, ...], int]:
    """Numbers of subscriptions, and of predicates."""
    full = (2_000, 5_000, 10_000, 20_000, 40_000, 80_000)
    return bench.pick(((100, 400), 200), ((1_000, 4_000, 16_000), 8_000), (full, 40_000))


def _fixed(bench: Bench) -> tuple[int, int]:
    """Subscriptions and predicates of experiments on something else than their number."""
    return bench.pick((300, 100), (4_000, 1_000), (20_000, 5_000))


def _point(bench: Bench, subscriptions: int, predicates: int, **parameters: Any) -> CallPoint:
    key = ("calls", subscriptions, predicates, *sorted((name, str(value)) for name, value in parameters.items()))
    events, bounded = bench.pick((4, 2), (40, 3), (400, 8))

    def make() -> CallPoint:
        bench.progress(f"{subscriptions} subscriptions, {predicates} predicates {parameters or ''}")
        return count_calls(subscriptions, predicates, events, bounded, bench.seed, **parameters)

    return bench.once(key, make)


def _by_size(bench: Bench, popularity: str) -> dict[int, CallPoint]:
    sizes, predicates = _sizes(bench)
    parameters = _ZIPF if popularity == "zipf" else {}
    return {count: _point(bench, count, predicates, **parameters) for count in bench.within_budget(sizes)}


def _by_pool(bench: Bench) -> dict[int, CallPoint]:
    pools = bench.pick((50, 300), (400, 2_000, 6_000), (2_000, 5_000, 10_000, 20_000, 30_000))
    return {pool: _point(bench, _fixed(bench)[0], pool, **_ZIPF) for pool in pools}


def _by_length(bench: Bench) -> dict[int, CallPoint]:
    longest = bench.pick((5, 7), (5, 8, 11), (5, 6, 7, 8, 9, 10, 11))
    return {most: _point(bench, *_fixed(bench), length=(3, most), **_ZIPF) for most in longest}


def _by_skew(bench: Bench, selectivity: str = "power") -> dict[float, CallPoint]:
    exponents = bench.pick((0.8, 1.2), (0.8, 1.0, 1.2), (0.8, 1.0, 1.2))
    return {
        each: _point(bench, *_fixed(bench), selectivity=selectivity, exponent=each, **_ZIPF) for each in exponents
    }


def _every(bench: Bench) -> dict[str, CallPoint]:
    """All points of the four experiments, by name."""
    found = {f"uniform, {count} subscriptions": each for count, each in _by_size(bench, "uniform").items()}
    found |= {f"zipf, {count} subscriptions": each for count, each in _by_size(bench, "zipf").items()}
    found |= {f"zipf, {pool} predicates": each for pool, each in _by_pool(bench).items()}
    found |= {f"lengths to {most}": each for most, each in _by_length(bench).items()}
    return found | {f"zipf {each:g}": point for each, point in _by_skew(bench).items()}


@LIU.row(
    "L1",
    "3",
    "Finding the fewest calls that decide all subscriptions is as hard as set cover.",
    "Theorem 1",
    "instances whose least number of calls is that of the cover",
    workload="random covers of up to 9 sets; every predicate false",
)
def _hardness(bench: Bench) -> Outcome:
    draws = np.random.default_rng(bench.seed)
    instances = bench.pick(10, 50, 500)
    same = 0
    for _ in range(instances):
        chains = some_chains(draws, int(draws.integers(1, _CHAINS + 1)), _PREDICATES, (1, 4), sort=False)
        members = [set(chains.chain(place).tolist()) for place in range(len(chains.starts) - 1)]
        cover = next(
            size
            for size in range(_PREDICATES + 1)
            if any(
                all(set(chosen) & each for each in members)
                for chosen in itertools.combinations(range(_PREDICATES), size)
            )
        )
        same += least_cost(chains, 0) == cover
    note = "that nothing approximates it better than log n cannot be measured; the reduction is checked"
    return Outcome(is_true(same == instances), [figure("share of instances", same / instances)], note)


def _worst(bench: Bench, longest: int, costs: tuple[float, float]) -> dict[str, float]:
    """The greatest cost over the least, of each strategy; few chains in small pools, most outcomes false."""
    draws = np.random.default_rng((bench.seed, longest))
    worst: dict[str, float] = {}
    spread = 1.0
    for _ in range(bench.pick(10, 200, 2_000)):
        count = int(draws.integers(1, _CHAINS + 1))
        drawn = some_chains(draws, count, _PREDICATES, (1, longest), costs=costs, sort=False)
        chains = chains_of(drawn.starts, drawn.nodes, drawn.holds, drawn.costs)
        bits = int(draws.integers(0, 1 << _PREDICATES)) & int(draws.integers(0, 1 << _PREDICATES))
        outcomes, least = outcomes_of(bits, _PREDICATES), least_cost(drawn, bits)
        counts = {
            "sequential": sequential(drawn, outcomes),
            "pricing": pricing(drawn, outcomes),
            "ours": greedy(chains, greedy_start(chains), outcomes),
        }
        spread = max(spread, float(drawn.costs.max() / drawn.costs.min()))
        for name, each in counts.items():
            worst[name] = max(worst.get(name, 0.0), each.cost / least)
    return worst | {"spread of costs": spread}


@LIU.row(
    "L2",
    "4.1",
    "Sequential makes at most d times the fewest calls, where d is the length of the longest subscription.",
    "Theorem 2",
    "worst ratio of calls to the fewest",
    workload="random instances of up to 8 chains over 9 predicates, all outcomes known",
)
def _bound(bench: Bench) -> Outcome:
    worst = {longest: _worst(bench, longest, _UNIT)["sequential"] for longest in (2, 3, 4, 5, 6)}
    # One predicate that all share would decide all of these chains.
    members = np.array([node for own in range(_MANY) for node in (own, _MANY)])
    chains = chains_of(np.arange(0, 2 * _MANY + 1, 2), members, np.full(_MANY + 1, 0.5), sort=False)
    stopping = sub_order(chains, np.arange(_MANY), np.zeros(_MANY + 1, np.bool_)).calls
    return Outcome(
        is_true(all(ratio <= longest for longest, ratio in worst.items())),
        [figure(f"d {longest}", ratio, (-inf, float(longest))) for longest, ratio in worst.items()],
        f"it must not stop at the first false predicate: then {stopping} calls where one would do",
    )


@LIU.row(
    "L3",
    "4.3",
    "With unequal costs the bound is d times the ratio of the highest to the lowest cost.",
    "d Cmax / Cmin",
    "worst ratio of cost to the lowest",
    workload="the same, costs from 1 to 100",
)
def _bound_of_costs(bench: Bench) -> Outcome:
    figures, held = [], []
    for longest in (2, 3, 4, 5, 6):
        worst = _worst(bench, longest, _COSTS)
        bound = longest * worst["spread of costs"]
        held += [worst["sequential"] <= bound, worst["pricing"] <= longest + 1e-9]
        figures += [
            figure(f"d {longest}: sequential", worst["sequential"], (-inf, bound)),
            figure(f"d {longest}: pricing, whose bound is d", worst["pricing"], (-inf, float(longest))),
        ]
    return Outcome(is_true(all(held)), figures)


@LIU.row(
    "L4",
    "abstract, 1",
    "Up to 80% fewer calls than calling every predicate.",
    "80%",
    "greatest share of naive's calls that is saved",
)
def _most_saved(bench: Bench) -> Outcome:
    points = _every(bench)
    figures, where = [], []
    for strategy in STRATEGIES[1:]:
        name = min(points, key=lambda each: points[each].share(strategy, "naive"))
        figures.append(figure(strategy, 1 - points[name].share(strategy, "naive"), 0.8))
        where.append(f"{strategy}: {name}")
    return Outcome(above([each.ours[0] for each in figures], 0.5), figures, "; ".join(where))


@LIU.row(
    "L5",
    "5.3.1",
    "80,000 subscriptions over 40,000 predicates, uniform: almost 80% fewer calls than naive.",
    "7,761 and 7,037 calls",
    "calls; the lower bound for any strategy",
    contradicts="itself: the bound of that instance lies above both numbers",
)
def _printed_calls(bench: Bench) -> Outcome:
    points = _by_size(bench, "uniform")
    count = max(points)
    last = points[count]
    return Outcome(
        above(last.bound, 7_761) if count >= 80_000 else "unclear",
        [
            figure("no strategy can do with less than", last.bound),
            figure("sequential", last.mean("sequential"), 7_761, (count, 80_000)),
            figure("sub-order", last.mean("sub-order"), 7_037, (count, 80_000)),
            figure("ours over the bound", last.over_bound("ours")),
            figure("sub-order, saved against naive", 1 - last.share("sub-order", "naive"), 0.8, (count, 80_000)),
        ],
        "direction: the bound lies above their numbers, so that they cannot hold as printed",
    )


@LIU.row(
    "L6",
    "5.3.1",
    "The calls of naive grow linearly with subscriptions, those of the other two much more slowly.",
    "trend",
    "exponents of calls",
    contradicts="itself: naive cannot make more calls than there are predicates",
)
def _growth(bench: Bench) -> Outcome:
    figures, slopes = [], {}
    for popularity in ("uniform", "zipf"):
        points = _by_size(bench, popularity)
        for strategy in STRATEGIES:
            slope = exponent([*points], [point.mean(strategy) for point in points.values()])
            slopes[popularity, strategy] = slope
            figures.append(figure(f"{popularity}: {strategy}", slope))
    linear = [near(slopes[each, "naive"], 1, 0.25) for each in ("uniform", "zipf")]
    slower = [
        is_true(slopes[each, strategy] < slopes[each, "naive"])
        for each in ("uniform", "zipf")
        for strategy in ("sequential", "sub-order")
    ]
    note = f"slower: {all_of(*slower)}; linear: {all_of(*linear)}, naive saturates at the number of predicates"
    return Outcome(all_of(*linear, *slower), figures, note)


@LIU.row("L7", "5.3.1", "Sub-Order always makes fewer calls than Sequential.", "trend", "calls, at every point")
def _always_below(bench: Bench) -> Outcome:
    shares = {name: point.share("sub-order", "sequential") for name, point in _every(bench).items()}
    worst = max(shares, key=lambda name: shares[name])
    return Outcome(
        below(list(shares.values()), 1),
        [figure("greatest share of Sequential's calls", shares[worst]), figure("points", len(shares))],
        f"greatest at {worst}",
    )


@LIU.row(
    "L8",
    "5.3.1, 5.3.4",
    "More calls are saved if some predicates are popular (Zipf).",
    "trend",
    "share of naive's calls",
)
def _popularity(bench: Bench) -> Outcome:
    last = {each: list(_by_size(bench, each).values())[-1] for each in ("uniform", "zipf")}
    shares = {
        (each, strategy): point.share(strategy, "naive")
        for each, point in last.items()
        for strategy in ("sequential", "sub-order")
    }
    return Outcome(
        all_of(*(is_true(shares["zipf", each] < shares["uniform", each]) for each in ("sequential", "sub-order"))),
        [figure(f"{each}: {strategy}", share) for (each, strategy), share in shares.items()],
    )


@LIU.row(
    "L9",
    "5.3.2",
    "20,000 subscriptions over 30,000 predicates, Zipf 1: calls of naive, Sequential and Sub-Order.",
    "16,251, 3,267, 1,977 calls",
    "shares of naive's calls",
    contradicts="itself: 16,251 exceeds the number of predicates in use",
)
def _by_predicates(bench: Bench) -> Outcome:
    points = _by_pool(bench)
    last = points[max(points)]
    shares = [last.share(each, "naive") for each in ("sequential", "sub-order")]
    return Outcome(
        rising([shares[1], shares[0], 1.0]),
        [figure("sequential", shares[0], 3_267 / 16_251), figure("sub-order", shares[1], 1_977 / 16_251)],
        f"naive makes {last.mean('naive'):.0f} calls: all predicates in use",
    )


@LIU.row(
    "L10",
    "5.3.3",
    "The calls of Sequential hardly depend on the length of subscriptions.",
    "1,593 to 1,784 calls for lengths up to 5 and up to 11",
    "calls at the longest / shortest length",
)
def _lengths(bench: Bench) -> Outcome:
    points = [*_by_length(bench).values()]
    growth = {each: points[-1].mean(each) / points[0].mean(each) for each in STRATEGIES}
    return Outcome(
        near(growth["sequential"], 1, 0.25),
        [
            figure("sequential", growth["sequential"], 1_784 / 1_593),
            *(figure(each, growth[each]) for each in STRATEGIES if each != "sequential"),
        ],
        "a predicate is in more subscriptions when they are longer, so that a false one rules out more of them",
    )


@LIU.row(
    "L11",
    "5.3.3",
    "Sub-Order's lead over Sequential shrinks with the length, because pairs of chains ignore the others.",
    "trend",
    "lead by length, with pairs and with scores of all chains",
)
def _leads(bench: Bench) -> Outcome:
    leads = [1 - point.share("sub-order", "sequential") for point in _by_length(bench).values()]
    paired = bench.pick(60, 500, 2_000)
    figures = [
        figure(f"lengths to {most}: score order", lead)
        for most, lead in zip(_by_length(bench), leads, strict=True)
    ]
    by_pairs = []
    subscriptions, predicates = _fixed(bench)
    for most in bench.pick((5, 7), (5, 11), (5, 7, 9, 11)):
        pool = max(4 * most, predicates * paired // subscriptions)
        calls = count_orders(paired, pool, most, bench.pick(4, 40, 400), bench.seed)
        by_pairs.append(1 - float(calls["directed pairs"].mean() / calls["sequential"].mean()))
        figures.append(figure(f"lengths to {most}: {paired} subscriptions in pairs", by_pairs[-1]))
    return Outcome(
        all_of(below(leads[-1], leads[0]), below(by_pairs[-1], by_pairs[0])),
        figures,
        "where the lead grows with scores and with pairs alike, pairs are not the cause",
    )


@LIU.row(
    "L12", "5.3.4", "The more popular the popular predicates are, the fewer calls.", "trend", "calls by exponent"
)
def _skew(bench: Bench) -> Outcome:
    figures, directions = [], []
    for selectivity in ("power", "equal"):
        points = _by_skew(bench, selectivity)
        for strategy in STRATEGIES[1:3]:
            means = [point.mean(strategy) for point in points.values()]
            directions.append(rising(means[::-1]))
            figures += [
                figure(f"{selectivity} selectivities, {strategy}, {each:g}", mean)
                for each, mean in zip(points, means, strict=True)
            ]
    return Outcome(all_of(*directions), figures, "two choices of selectivities")
