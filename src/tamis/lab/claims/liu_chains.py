"""Rows of Z. Liu et al. (DEBS 2007) on chains: which goes first, what an order costs, prices and placement.

Small instances are enumerated (`tamis.lab.claims.exact_costs`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa

from tamis.arrays import I64, Bools
from tamis.events.batch import EventBatch
from tamis.lab.claims.bench import Bench
from tamis.lab.claims.exact_costs import (
    all_orders,
    expected_cost,
    expected_costs,
    outcomes_of,
    printed_order,
    some_chains,
)
from tamis.lab.claims.liu import LIU
from tamis.lab.claims.row import Outcome, above, all_of, below, figure, is_true, near
from tamis.lab.liu.chains import (
    Chains,
    chains_of,
    directed_order,
    insertion_order,
    pair_gain,
    pair_gains,
    placed_order,
    score_order,
)
from tamis.lab.liu.strategies import CallCount, greedy, greedy_start, pricing, sequential, sub_order
from tamis.lab.workloads import generate
from tamis.lab.workloads.overlap import arrays, probe_operator
from tamis.matcher import Matcher
from tamis.operators import Operator, install, uninstall
from tamis.operators.meters import meter, reset_meters
from tamis.verification.search import known_orders

_PREDICATES, _FEW = 9, 6
_UNIT, _COSTS = (1.0, 1.0), (1.0, 100.0)
_PAIRS = np.array([[0, 1], [1, 0]])


@LIU.row(
    "L13",
    "4.2.4",
    "Of two chains, the one with the higher probability per cost goes first; a formula gives the gain.",
    "formula",
    "greatest error against all outcomes; printed formula: wrong and of the wrong sign",
    workload="random pairs of chains over 9 predicates",
    contradicts="itself: the printed cost of a first node, and costs as factors of probabilities, are wrong",
)
def _pair_rule(bench: Bench) -> Outcome:
    figures, exact = [], []
    for costs, told in ((_UNIT, "costs of 1"), (_COSTS, "costs from 1 to 100")):
        draws = np.random.default_rng(bench.seed)
        errors = []
        linked = wrong = opposite = 0
        for _ in range(bench.pick(10, 200, 2_000)):
            drawn = some_chains(draws, 2, _PREDICATES, (1, 6), costs=costs, sort=False)
            chains = chains_of(drawn.starts, drawn.nodes, drawn.holds, drawn.costs)
            before, after = expected_costs(chains, _PAIRS)
            gain = pair_gain(chains.chain(0), chains.chain(1), chains.holds, chains.costs)
            errors.append(abs(gain - (after - before)))
            printed = _printed_gain(chains)
            if printed is not None:
                linked += 1
                wrong += abs(printed - gain / chains.costs.max()) > 1e-9
                opposite += printed * gain < -1e-12
        exact.append(max(errors) < 1e-6)
        figures += [
            figure(f"{told}: greatest error, corrected", max(errors)),
            figure(f"{told}: share wrong as printed, one link", wrong / max(linked, 1)),
            figure(f"{told}: share of the wrong sign as printed", opposite / max(linked, 1)),
        ]
    return Outcome(is_true(all(exact)), figures, "the corrected formula holds, the printed one does not")


def _crosses(chains: Chains) -> bool:
    """Have two chains what they share in different orders?"""
    first, second = chains.chain(0).tolist(), chains.chain(1).tolist()
    shared = [node for node in first if node in second]
    return [node for node in second if node in shared] != shared


def _printed_gain(chains: Chains) -> float | None:
    """The gain of a pair with one link as in the paper; costs are in units of the greatest.

    It has 1 for the cost above a first node, and every probability times the cost of its predicate.
    """
    scaled = chains.holds * chains.costs / chains.costs.max()
    first, second = chains.chain(0).tolist(), chains.chain(1).tolist()
    shared = [node for node in first if node in second]
    if len(shared) != 1:
        return None
    above_link = [each[: each.index(shared[0])] for each in (first, second)]
    reached = [float(np.prod(scaled[nodes])) for nodes in above_link]
    spent = [1 + sum(float(np.prod(scaled[nodes[:end]])) for end in range(1, len(nodes))) for nodes in above_link]
    return float((1 - scaled[shared[0]]) * (reached[0] * spent[1] - reached[1] * spent[0]))


@LIU.row(
    "L14",
    "4.2.4",
    "Links between sorted chains never cross.",
    "property",
    "pairs of chains whose links cross",
    workload="random pairs of chains over 9 predicates",
)
def _links(bench: Bench) -> Outcome:
    draws = np.random.default_rng(bench.seed)
    count = bench.pick(10, 200, 2_000)
    found = [0, 0]
    for _ in range(count):
        drawn = some_chains(draws, 2, _PREDICATES, (1, 6), sort=False)
        found[0] += _crosses(chains_of(drawn.starts, drawn.nodes, drawn.holds, drawn.costs))
        found[1] += _crosses(drawn)
    return Outcome(
        is_true(found[0] == 0),
        [figure("sorted", found[0]), figure("as drawn", found[1])],
        f"{count} pairs; equal predicates need an order by number",
    )


def _orders(bench: Bench) -> tuple[dict[str, float], int, int]:
    """Mean expected costs by order; orders that were walked, and those that found something else."""
    draws, every = np.random.default_rng(bench.seed), all_orders(_FEW)
    rows: list[list[float]] = []
    different = 0
    for _ in range(bench.pick(2, 20, 200)):
        chains = some_chains(draws, _FEW, _PREDICATES, (2, 4), exponent=1.0)
        different += _other_matches(chains, every, draws)
        gains, costs = pair_gains(chains), expected_costs(chains, every)
        found = [
            insertion_order(chains, gains),
            score_order(chains),
            directed_order(chains, gains),
            printed_order(gains, draws),
        ]
        known = [expected_cost(chains, order) for order in found]
        rows.append([float(costs.min()), *known, float(costs.mean()), float(costs.max())])
    names = ("best", "insertion", "score", "directed pairs", "pairs as printed", "random", "worst")
    return dict(zip(names, np.mean(rows, axis=0).tolist(), strict=True)), len(every) * len(rows), different


def _other_matches(chains: Chains, every: I64, draws: np.random.Generator) -> int:
    """Orders that find other subscriptions than the first, for one event."""
    outcomes = outcomes_of(int(draws.integers(0, 1 << _PREDICATES)), _PREDICATES)
    expected = sub_order(chains, every[0], outcomes).matched
    return sum(not np.array_equal(sub_order(chains, order, outcomes).matched, expected) for order in every)


@LIU.row(
    "L15",
    "4.2.2",
    "The order of chains never changes the result.",
    "property",
    "orders that find something else",
    workload="six random chains over 9 predicates, all 720 orders",
)
def _same_result(bench: Bench) -> Outcome:
    _, walked, different = bench.once("orders", lambda: _orders(bench))
    return Outcome(is_true(different == 0), [figure("different", different)], f"{walked} orders")


@LIU.row(
    "L16",
    "4.2.5",
    "A greedy order computed from pairs of chains is good in practice.",
    "no figure",
    "ratio of expected cost to the best order",
    workload="six random chains over 9 predicates, all 720 orders",
)
def _good_order(bench: Bench) -> Outcome:
    means, _, _ = bench.once("orders", lambda: _orders(bench))
    ratios = {name: mean / means["best"] for name, mean in means.items() if name != "best"}
    return Outcome(
        all_of(below(ratios["directed pairs"], ratios["random"]), below(ratios["directed pairs"], 1.1)),
        [figure(name, each) for name, each in ratios.items()],
        "as printed the path has no direction, so that either end may come first",
    )


def _slowed(probe: Operator, cost: float) -> Operator:
    function: Callable[..., object] = probe.function

    def slowed(seeds: pa.Array, numbers: pa.Array) -> object:
        if cost:
            time.sleep(cost * len(seeds))
        return function(seeds, numbers)

    return Operator(probe.name, probe.parameters, probe.returns, slowed, cost=cost or 1e-7, check=probe.check)


@LIU.row(
    "L17",
    "5.1, 5.2",
    "The number of calls is a good proxy for time.",
    "no figure",
    "correlation of time with calls times cost, through a matcher",
    workload="`overlap`: operators that sleep for 0 to 10 ms",
)
def _proxy(bench: Bench) -> Outcome:
    subscriptions, predicates, events = bench.pick((40, 20, 2), (300, 60, 8), (500, 100, 32))
    sizes = {"subscriptions": subscriptions, "events": events, "seed": bench.seed, "predicates": predicates}
    data = generate("overlap", **sizes, matched=0.01)
    probe = probe_operator(arrays(**sizes, matched=0.01).selectivities)
    batch = EventBatch.of(data.events, data.event_type, event_id="id")
    spent: list[tuple[float, float]] = []
    besides: list[float] = []
    for cost in bench.pick((0.0, 1e-4), (0.0, 1e-4, 1e-3), (0.0, 1e-4, 1e-3, 1e-2)):
        install(_slowed(probe, cost))
        try:
            expected: pa.Table | None = None
            for strategy in known_orders():
                bench.progress(f"calls of {cost * 1e3:g} ms, {strategy}")
                matcher = Matcher(data.event_type, call_order=strategy)
                matcher.add_many(zip(data.ids.to_pylist(), data.conditions.to_pylist(), strict=True))
                found = matcher.match_batch(batch).sort_by(
                    [("event_id", "ascending"), ("subscription_id", "ascending")]
                )
                if expected is not None and not found.equals(expected):
                    msg = f"{strategy} finds other pairs than the first"
                    raise SystemExit(msg)
                expected = found
                before, began = meter("probe").calls, time.perf_counter()
                matcher.match_batch(batch)
                seconds, calls = time.perf_counter() - began, meter("probe").calls - before
                spent.append((calls * cost, seconds))
                besides.append((seconds / max(calls, 1) - cost) * 1e6)
        finally:
            uninstall("probe")
            reset_meters("probe")
    asked, taken = np.array(spent).T
    correlation = float(np.corrcoef(asked, taken)[0, 1])
    return Outcome(
        above(correlation, 0.9),
        [figure("correlation", correlation), figure("microseconds per call beyond its cost", besides)],
    )


def _priced_chains(bench: Bench, sizes: tuple[int, int], skew: float) -> tuple[Chains, list[Bools]]:
    """Conjunctions of 3 to 5 predicates that cost 1 to 100, any selectivities; and the outcomes of ten events."""
    draws = np.random.default_rng(bench.seed)
    drawn = some_chains(draws, *sizes, (3, 5), exponent=skew)
    costs = np.exp(draws.uniform(0, np.log(100), sizes[1]))
    chains = chains_of(drawn.starts, drawn.nodes, drawn.holds, costs)
    return chains, [draws.random(sizes[1]) < chains.holds for _ in range(10)]


def _mean_costs(events: list[Bools], strategies: dict[str, Callable[[Bools], CallCount]]) -> dict[str, float]:
    """The mean cost of an event; all strategies must find the same."""
    found = {name: [call(event) for event in events] for name, call in strategies.items()}
    first = next(iter(found.values()))
    for name, counts in found.items():
        if any(not np.array_equal(one.matched, other.matched) for one, other in zip(first, counts, strict=True)):
            msg = f"{name} finds other subscriptions"
            raise AssertionError(msg)
    return {name: float(np.mean([count.cost for count in counts])) for name, counts in found.items()}


@LIU.row(
    "L18",
    "4.3",
    "Where costs differ, calls in the order of their costs keep the sum low; pricing keeps the bound.",
    "no figure",
    "mean cost of an event over that of greedy",
    workload="conjunctions of 3 to 5 of shared predicates, costs from 1 to 100, selectivities uniform; ten events",
)
def _priced(bench: Bench) -> Outcome:
    figures, shares = [], []
    few, many = bench.pick(((60, 30), (80, 40)), ((2_000, 500), (2_000, 500)), ((2_000, 500), (20_000, 5_000)))
    for sizes, skew in ((few, 0.0), (many, 0.0), (many, 1.0))[bench.size != "full" :]:
        chains, events = _priced_chains(bench, sizes, skew)
        order, start = score_order(chains), greedy_start(chains)
        costs = _mean_costs(
            events,
            {
                "sequential": partial(sequential, chains),
                "pricing": partial(pricing, chains),
                "sub-order": partial(sub_order, chains, order),
                "greedy": partial(greedy, chains, start),
            },
        )
        title = f"{sizes[0]}, {sizes[1]}, {'zipf' if skew else 'uniform'}"
        figures += [figure(f"{title}: {name}", costs[name] / costs["greedy"]) for name in [*costs][:-1]]
        figures.append(figure(f"{title}: greedy, cost of an event", costs["greedy"]))
        shares.append(costs["pricing"] / costs["sequential"])
    return Outcome(below(shares, 1), figures, "pricing beside sequential; greedy, ours, is below both")


@LIU.row(
    "L19",
    "4.2.1",
    "A new chain is given its place in the order of the others, which stay where they are.",
    "no figure",
    "mean cost with every chain placed so, over that of an order of all; seconds of both",
    workload="conjunctions of 3 to 5 of shared predicates, costs from 1 to 100, selectivities uniform; ten events",
)
def _placed(bench: Bench) -> Outcome:
    figures, shares = [], []
    placed_order(_priced_chains(bench, (9, 9), 0.0)[0])  # compiled before it is timed
    for skew in (0.0, 1.0):
        chains, events = _priced_chains(bench, bench.pick((60, 30), (2_000, 500), (10_000, 2_500)), skew)
        begun = time.process_time()
        placed = placed_order(chains)
        between = time.process_time()
        scored = score_order(chains)
        seconds = (between - begun) / len(placed), time.process_time() - between
        costs = _mean_costs(
            events,
            {
                "placed": partial(sub_order, chains, placed),
                "scored": partial(sub_order, chains, scored),
            },
        )
        shares.append(costs["placed"] / costs["scored"])
        title = "zipf" if skew else "uniform"
        figures.append(figure(f"{title}: cost, placed / scored", shares[-1]))
        figures.append(figure(f"{title}: microseconds to place one chain", seconds[0] * 1e6))
        figures.append(figure(f"{title}: microseconds to order all by score", seconds[1] * 1e6))
    return Outcome(
        near(shares, 1.0, 0.05), figures, "ordering all again is linear; placing one compares it with all"
    )
