"""Calls of expensive predicates: strategies on the same events, which must find the same subscriptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis.arrays import F64, Bools
from tamis.lab.claims.exact_costs import relaxed_bound
from tamis.lab.liu.chains import Chains, chains_of, directed_order, insertion_order, pair_gains, score_order
from tamis.lab.liu.strategies import CallCount, greedy, greedy_start, naive, sequential, sub_order
from tamis.lab.workloads.overlap import arrays, outcomes

STRATEGIES = ("naive", "sequential", "sub-order", "ours")
_ROUNDS = 100


@dataclass(frozen=True, slots=True)
class CallPoint:
    """Calls an event: float64[events] of each strategy, and for the first few events a bound for any strategy."""

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


def count_calls(
    subscriptions: int, predicates: int, events: int, bounded: int, seed: int, **parameters: Any
) -> CallPoint:
    """Calls of all strategies on the workload `overlap`, and bounds of the first `bounded` events."""
    found = arrays(subscriptions=subscriptions, events=events, seed=seed, predicates=predicates, **parameters)
    drawn = chains_of(found.starts, found.members, found.selectivities, sort=False)
    numbers = np.arange(predicates)
    batch = [outcomes(each, numbers, found.selectivities) for each in found.seeds.tolist()]
    bounds = np.array([relaxed_bound(drawn, event, _ROUNDS) for event in batch[:bounded]])
    return CallPoint(calls_by_event(_strategies(drawn), batch), bounds)


def _strategies(drawn: Chains) -> dict[str, Callable[[Bools], CallCount]]:
    """The strategies, on chains whose nodes and order are those of the conditions."""
    chains = chains_of(drawn.starts, drawn.nodes, drawn.holds, drawn.costs)
    order, start = score_order(chains), greedy_start(chains)
    return {
        "naive": lambda event: naive(drawn, event),
        "sequential": lambda event: sequential(drawn, event),
        "sub-order": lambda event: sub_order(chains, order, event),
        "ours": lambda event: greedy(chains, start, event),
    }


def calls_by_event(strategies: dict[str, Callable[[Bools], CallCount]], events: Sequence[Bools]) -> dict[str, F64]:
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
                msg = (
                    f"event {row}: {int(expected.sum())} conditions hold, {name} finds {int(count.matched.sum())}"
                )
                raise SystemExit(msg)
            calls[name][row] = count.calls
    return calls


def count_orders(subscriptions: int, predicates: int, longest: int, events: int, seed: int) -> dict[str, F64]:
    """Calls of Sequential, and of Sub-Order in several orders of chains, on so few that pairs can be looked at."""
    found = arrays(
        subscriptions=subscriptions,
        events=events,
        seed=seed,
        predicates=predicates,
        popularity="zipf",
        length=(3, longest),
    )
    drawn = chains_of(found.starts, found.members, found.selectivities, sort=False)
    chains = chains_of(found.starts, found.members, found.selectivities)
    gains = pair_gains(chains)
    orders = {
        "insertion": insertion_order(chains, gains),
        "score": score_order(chains),
        "directed pairs": directed_order(chains, gains),
        "as drawn": np.arange(subscriptions),
    }
    run: dict[str, Callable[[Bools], CallCount]] = {"sequential": lambda event: sequential(drawn, event)}
    for name, order in orders.items():
        run[name] = lambda event, order=order: sub_order(chains, order, event)  # type: ignore[misc]
    numbers = np.arange(predicates)
    return calls_by_event(run, [outcomes(each, numbers, found.selectivities) for each in found.seeds.tolist()])
