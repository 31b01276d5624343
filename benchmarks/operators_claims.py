"""Parts of `operators` on instances so small that all outcomes are enumerated: bounds, formulas, orders."""

from __future__ import annotations

import itertools

import numpy as np

from benchmarks.operators_counts import SEED, Bench, counted_orders
from benchmarks.operators_exact import (
    all_orders,
    expected_cost,
    expected_costs,
    least_cost,
    outcomes_of,
    printed_order,
    some_chains,
)
from benchmarks.report import Figures, number
from tamis.arrays import I64
from tamis.lab.liu.chains import (
    Chains,
    chains_of,
    directed_order,
    insertion_order,
    pair_gain,
    pair_gains,
    score_order,
)
from tamis.lab.liu.strategies import greedy, greedy_start, pricing, sequential, sub_order
from tamis.report import charts

_CHAINS, _PREDICATES, _FEW, _MANY = 8, 9, 6, 100
_LONGEST = (2, 3, 4, 5, 6)
_UNIT, _COSTS = (1.0, 1.0), (1.0, 100.0)
_PAIRS = np.array([[0, 1], [1, 0]])


def bounds(bench: Bench) -> Figures:
    """L2 and L3: the worst cost over the least, against the bounds that are claimed."""
    draws, figures = np.random.default_rng(SEED), Figures()
    for costs, longest in itertools.product((_UNIT, _COSTS), _LONGEST):
        claim, told = ("L2", "costs of 1") if costs == _UNIT else ("L3", "costs from 1 to 100")
        for name, ratio in _worst(draws, bench.scale.instances, longest, costs).items():
            figures[f"{claim}, chains of up to {longest}, {told}: {name}: worst over the least"] = number(ratio)
    figures |= _stopping()
    return figures


def pairs(bench: Bench) -> Figures:
    """L13: the gain of a pair against all outcomes, as corrected and as printed; L14: links that cross."""
    draws, figures, count = np.random.default_rng(SEED), Figures(), bench.scale.instances
    for costs, told in ((_UNIT, "costs of 1"), (_COSTS, "costs from 1 to 100")):
        errors, crossing = [], 0
        linked = wrong = opposite = 0
        for _ in range(count):
            drawn = some_chains(draws, 2, _PREDICATES, (1, 6), costs=costs, sort=False)
            crossing += _crosses(drawn)
            chains = chains_of(drawn.starts, drawn.nodes, drawn.holds, drawn.costs)
            if _crosses(chains):
                msg = f"links cross between {chains.chain(0)} and {chains.chain(1)}, which are in node order"
                raise SystemExit(msg)
            before, after = expected_costs(chains, _PAIRS)
            gain = pair_gain(chains.chain(0), chains.chain(1), chains.holds, chains.costs)
            errors.append(abs(gain - (after - before)))
            printed = _printed_gain(chains)
            if printed is not None:
                linked += 1
                wrong += abs(printed - gain / chains.costs.max()) > 1e-9
                opposite += printed * gain < -1e-12
        figures[f"L13, {told}: greatest error of the gain of a pair"] = f"{max(errors):.2g}, of {count} pairs"
        figures[f"L13, {told}: one link, as printed: wrong gains, of the wrong sign"] = (
            f"{wrong}, {opposite} of {linked} pairs"
        )
        figures[f"L14, {told}: pairs whose links cross, in node order and as drawn"] = (
            f"0 and {crossing} of {count}"
        )
    return figures


def orders(bench: Bench) -> Figures:
    """L15: what is found in all orders; L16: what orders cost, over the best of all."""
    draws, every = np.random.default_rng(SEED), all_orders(_FEW)
    rows: list[list[float]] = []
    for _ in range(max(1, bench.scale.instances // 10)):
        chains = some_chains(draws, _FEW, _PREDICATES, (2, 4), exponent=1.0)
        _check_orders(chains, every, draws)
        gains, costs = pair_gains(chains), expected_costs(chains, every)
        directed = directed_order(chains, gains)
        found = [insertion_order(chains, gains), score_order(chains), directed, printed_order(gains, draws)]
        known = [expected_cost(chains, order) for order in (*found, directed[::-1].copy())]
        rows.append([float(costs.min()), *known[:4], float(costs.mean()), known[4], float(costs.max())])
    names = ("best", "insertion", "score", "directed pairs", "pairs as printed", "random", "reversed", "worst")
    means = dict(zip(names, np.mean(rows, axis=0).tolist(), strict=True))
    bench.drawings.append(
        charts.bars("six chains: expected cost by order", "calls an event", {"mean": means}, foot=1)
    )
    figures: Figures = {
        f"L16, {_FEW} chains: {name}: expected cost, over the best": f"{mean:.4g}, {mean / means['best']:.4f}"
        for name, mean in means.items()
    }
    pool = max(44, bench.scale.pool * bench.scale.paired // bench.scale.fixed)
    for name, calls in counted_orders(bench, pool, 5).items():
        figures[f"L16, {bench.scale.paired} chains: {name}"] = f"{number(float(calls.mean()))} calls"
    figures["L15: orders of which each found the same"] = len(every) * len(rows)
    return figures


def _worst(
    draws: np.random.Generator, instances: int, longest: int, costs: tuple[float, float]
) -> dict[str, float]:
    """The greatest cost over the least, of each strategy; few chains in small pools, most outcomes false."""
    worst: dict[str, float] = {}
    for _ in range(instances):
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
        for name, each in counts.items():
            worst[name] = max(worst.get(name, 0.0), each.cost / least)
    return worst


def _stopping() -> Figures:
    """Chains of a predicate of their own and one that all share, all false: one call would do."""
    members = np.array([node for own in range(_MANY) for node in (own, _MANY)])
    chains = chains_of(np.arange(0, 2 * _MANY + 1, 2), members, np.full(_MANY + 1, 0.5), sort=False)
    outcomes = np.zeros(_MANY + 1, np.bool_)
    found = sequential(chains, outcomes).calls, sub_order(chains, np.arange(_MANY), outcomes).calls
    return {
        "L2, calls where one would do: sequential, and if it stops at the first false": f"{found[0]}, {found[1]}"
    }


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
    above = [each[: each.index(shared[0])] for each in (first, second)]
    reached = [float(np.prod(scaled[nodes])) for nodes in above]
    spent = [1 + sum(float(np.prod(scaled[nodes[:end]])) for end in range(1, len(nodes))) for nodes in above]
    return float((1 - scaled[shared[0]]) * (reached[0] * spent[1] - reached[1] * spent[0]))


def _check_orders(chains: Chains, every: I64, draws: np.random.Generator) -> None:
    """Walk chains in all orders, for one event.

    Raises:
        SystemExit: An order finds something else.
    """
    outcomes = outcomes_of(int(draws.integers(0, 1 << _PREDICATES)), _PREDICATES)
    expected = sub_order(chains, every[0], outcomes).matched
    for order in every:
        if not np.array_equal(sub_order(chains, order, outcomes).matched, expected):
            msg = f"in the order {order.tolist()} other chains are found"
            raise SystemExit(msg)
