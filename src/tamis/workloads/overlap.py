"""`overlap`: AND of calls of one costly operator, which conditions share; after Z. Liu et al. (DEBS 2007).

A predicate is `probe(seed, 203)`: whether it holds depends on the attribute `seed` of the event and on its number,
and is as good as drawn for each event and predicate on its own, with the probability that the predicate has. The
paper says neither these probabilities nor how its events come about. Here they are `u ** x`, u drawn uniformly for
each predicate and x the same for all, or equal for all; either way so that an event satisfies the share of
conditions that was asked for. `probe` is no function of the language: `install(probe_operator(...))` adds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.events.event_type import Attribute
from tamis.operators.registry import Operator
from tamis.values.column import Value
from tamis.values.types import BIGINT, BOOLEAN, INT
from tamis.workloads.base import Family, Plan, event_type_of
from tamis.workloads.draws import BLOCK_CONDITIONS, BLOCK_EVENTS, Draws, Real, Whole, cumulated, zipf
from tamis.workloads.parameters import check_sizes, checked, choice, real, span, whole
from tamis.workloads.text import NOTHING, Phrases, integers

_SEEDS = 1 << 53
_SAMPLE_BLOCKS = 8
"""Blocks of conditions, at most, on which probabilities are worked out."""
_GREATEST_EXPONENT, _STEPS = 1_000.0, 60
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Parameters:
    """Of the family."""

    predicates: int = whole(40_000, "that there are: probe(seed, 0), ...", least=1, most=10_000_000)
    popularity: str = choice(
        "uniform", "of predicates: weights drawn uniformly, or Zipf by number", ("uniform", "zipf")
    )
    exponent: float = real(1.0, "of the Zipf distribution of predicates", most=3.0)
    length: tuple[int, int] = span(
        (3, 5), "predicates of a condition, all different", least=1, most=100, integral=True
    )
    matched: float = real(0.002, "share of conditions that an event satisfies on average", least=1e-6, most=0.9)
    selectivity: str = choice(
        "power", "of predicates: a power of a number drawn for each, or the same for all", ("power", "equal")
    )

    def __post_init__(self) -> None:
        """Refuse conditions so long that drawing different predicates would take forever."""
        if 4 * self.length[1] > self.predicates:
            most, least = self.length[1], 4 * self.length[1]
            msg = f"predicates: {most} different ones at a time need at least {least}, not {self.predicates}"
            raise ValueError(msg)


class Arrays(NamedTuple):
    """The workload as numbers: condition i has the predicates members[starts[i]:starts[i + 1]].

    starts: int64[subscriptions + 1].
    members: As they stand in the conditions.
    selectivities: float64[predicates]; the probability that each is true.
    seeds: int64[events].
    """

    starts: Whole
    members: Whole
    selectivities: Real
    seeds: Whole


def arrays(*, subscriptions: int, events: int, seed: int = 0, **parameters: Any) -> Arrays:
    """The predicates of `generate("overlap", ...)` with the same arguments, and what `probe_operator` takes.

    Raises:
        WorkloadError: With everything that is wrong with the arguments.

    >>> found = arrays(subscriptions=3, events=2, seed=1, predicates=20)
    >>> len(found.starts), len(found.selectivities), len(found.seeds)
    (4, 20, 2)
    """
    check_sizes("overlap", subscriptions=subscriptions, events=events, seed=seed)
    used = checked("overlap", Parameters, parameters)
    shares = _shares(used, seed)
    lengths, members = [np.zeros(1, np.int64)], [np.zeros(0, np.int64)]
    for block, first in enumerate(range(0, subscriptions, BLOCK_CONDITIONS)):
        rows = min(BLOCK_CONDITIONS, subscriptions - first)
        drawn, used_places = _drawn(Draws(seed, "overlap", "conditions", block, BLOCK_CONDITIONS), used, shares)
        lengths.append(used_places[:rows].sum(axis=1))
        members.append(drawn[:rows][used_places[:rows]])
    seeds = [np.zeros(0, np.int64)]
    for block, first in enumerate(range(0, events, BLOCK_EVENTS)):
        made = _seeds(Draws(seed, "overlap", "events", block, BLOCK_EVENTS))
        seeds.append(made[: min(BLOCK_EVENTS, events - first)])
    return Arrays(
        np.cumsum(np.concatenate(lengths)),
        np.concatenate(members),
        selectivities(used, seed, subscriptions),
        np.concatenate(seeds),
    )


def plan(parameters: Parameters, seed: int, subscriptions: int) -> Plan:
    """Conditions as `probe(seed, 203) AND probe(seed, 17) AND probe(seed, 9)`."""
    phrases = Phrases()
    first, later, close = phrases.codes(["probe(seed, ", " AND probe(seed, ", ")"])
    shares = _shares(parameters, seed)

    def conditions(draws: Draws) -> Whole:
        members, used = _drawn(draws, parameters, shares)
        codes = np.empty((*members.shape, 3), np.int64)
        codes[:, :, 0] = later
        codes[:, 0, 0] = first
        codes[:, :, 1] = integers(members)
        codes[:, :, 2] = close
        codes[~used] = NOTHING
        return codes.reshape(draws.rows, -1)

    def events(draws: Draws) -> dict[str, pa.Array]:
        return {"seed": pa.array(_seeds(draws))}

    mean = float(selectivities(parameters, seed, subscriptions).mean())
    attribute = Attribute("seed", BIGINT, required=True, min=0, max=_SEEDS - 1)
    return Plan(event_type_of("overlap", attribute), phrases, conditions, events, {"selectivity": round(mean, 6)})


def selectivities(parameters: Parameters, seed: int, subscriptions: int) -> Real:
    """The probability that each predicate is true, for as many conditions as there are."""
    if parameters.selectivity == "equal":
        logarithms = np.full(parameters.predicates, -1.0)
    else:
        drawn = Draws(seed, "overlap", "selectivities", 0, parameters.predicates).uniform()
        logarithms = np.log(1 - drawn)  # of numbers above 0
    sums = _sums(parameters, seed, subscriptions, logarithms)
    low, high = 0.0, _GREATEST_EXPONENT
    for _ in range(_STEPS):
        between = (low + high) / 2
        low, high = (between, high) if np.exp(between * sums).mean() > parameters.matched else (low, between)
    return np.asarray(np.exp(high * logarithms))


def outcomes(seeds: int | Whole, numbers: Whole, chances: Real) -> npt.NDArray[np.bool_]:
    """Does the predicate of each number, which holds with the chance beside it, hold for each seed?"""
    mixed = _mixed(_mixed(np.atleast_1d(seeds).astype(np.uint64)) + numbers.astype(np.uint64))
    return np.asarray((mixed >> np.uint64(11)) / float(_SEEDS) < chances)


def probe_operator(chances: Real, *, cost: float | None = None) -> Operator:
    """The operator `probe(bigint, int) boolean` of a workload.

    Args:
        chances: The probability that each predicate holds, as in `Arrays`.
        cost: Of a call, in seconds, if it is known.

    >>> probe = probe_operator(np.array([1.0, 0.0]))
    >>> probe.function(pa.array([7, 7, 8]), pa.array([0, 1, 0])).to_pylist()
    [True, False, True]
    """
    known = np.asarray(chances, np.float64)

    def probe(seeds: pa.Array, numbers: pa.Array) -> pa.Array:
        places = numbers.to_numpy(zero_copy_only=False).astype(np.int64)
        outside = (places < 0) | (places >= len(known))
        places = np.where(outside, 0, places)
        return pa.array(outcomes(seeds.to_numpy(zero_copy_only=False), places, known[places]), mask=outside)

    def check(arguments: Sequence[Value | None]) -> str | None:
        number = arguments[1]
        if number is None or (isinstance(number, int) and 0 <= number < len(known)):
            return None
        return f"expected the number of a predicate, from 0 to {len(known) - 1}, found {number}"

    described = "Does the predicate of a number hold for a seed? As good as drawn."
    return Operator("probe", (BIGINT, INT), BOOLEAN, probe, cost=cost, check=check, description=described)


def _shares(parameters: Parameters, seed: int) -> Real:
    """How popular predicates are, cumulated."""
    if parameters.popularity == "zipf":
        return zipf(parameters.predicates, parameters.exponent)
    return cumulated(Draws(seed, "overlap", "popularity", 0, parameters.predicates).uniform())


def _drawn(draws: Draws, parameters: Parameters, shares: Real) -> tuple[Whole, npt.NDArray[np.bool_]]:
    """Predicates of a block of conditions, [rows, greatest length], and which of them are used."""
    fewest, most = parameters.length
    lengths = fewest + draws.below(most - fewest + 1)
    return draws.different(shares, most), np.arange(most) < lengths[:, None]


def _seeds(draws: Draws) -> Whole:
    return draws.below(_SEEDS)


def _sums(parameters: Parameters, seed: int, subscriptions: int, logarithms: Real) -> Real:
    """Of each condition of a sample, the sum over its predicates; without conditions, of those that could be."""
    shares = _shares(parameters, seed)
    count = min(subscriptions, _SAMPLE_BLOCKS * BLOCK_CONDITIONS) or BLOCK_CONDITIONS
    found = []
    for block in range(-(-count // BLOCK_CONDITIONS)):
        members, used = _drawn(Draws(seed, "overlap", "conditions", block, BLOCK_CONDITIONS), parameters, shares)
        found.append(np.where(used, logarithms[members], 0.0).sum(axis=1))
    return np.concatenate(found)[:count]


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scattered over all numbers of 64 bits: the finalizer of SplitMix64."""
    mixed = numbers * _GOLDEN + _GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


OVERLAP = Family("overlap", "AND of calls of a costly operator that conditions share", Parameters, plan)
