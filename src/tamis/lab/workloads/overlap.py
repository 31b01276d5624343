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
import pyarrow as pa

from tamis.arrays import F64, I64, U64, Bools
from tamis.events.event_type import Attribute
from tamis.lab.workloads.base import Family, WorkloadPlan, event_type_of
from tamis.lab.workloads.draws import BLOCK_CONDITIONS, BLOCK_EVENTS, Draws, cumulate, zipf
from tamis.lab.workloads.parameters import check_parameters, check_sizes, choice, real, span, whole
from tamis.lab.workloads.text import NOTHING, Phrases, integers
from tamis.operators.registry import Operator
from tamis.values.column import Value
from tamis.values.types import BIGINT, BOOLEAN, INT

_SEEDS = 1 << 53
_SAMPLE_BLOCKS = 8
"""Blocks of conditions, at most, on which probabilities are worked out."""
_GREATEST_EXPONENT, _STEPS = 1_000.0, 60
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class OverlapParameters:
    """The parameters of `overlap`."""

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


class OverlapArrays(NamedTuple):
    """The workload as numbers: condition i has the predicates members[starts[i]:starts[i + 1]].

    starts: int64[subscriptions + 1].
    members: As they stand in the conditions.
    selectivities: float64[predicates]; the probability that each is true.
    seeds: int64[events].
    """

    starts: I64
    members: I64
    selectivities: F64
    seeds: I64


def arrays(*, subscriptions: int, events: int, seed: int = 0, **parameters: Any) -> OverlapArrays:
    """The predicates of `generate("overlap", ...)` with the same arguments, and what `probe_operator` takes.

    Raises:
        WorkloadError: With everything that is wrong with the arguments.

    >>> found = arrays(subscriptions=3, events=2, seed=1, predicates=20)
    >>> len(found.starts), len(found.selectivities), len(found.seeds)
    (4, 20, 2)
    """
    check_sizes("overlap", subscriptions=subscriptions, events=events, seed=seed)
    used = check_parameters("overlap", OverlapParameters, parameters)
    shares = _shares(used, seed)
    lengths, members = [np.zeros(1, np.int64)], [np.zeros(0, np.int64)]
    for block, first in enumerate(range(0, subscriptions, BLOCK_CONDITIONS)):
        rows = min(BLOCK_CONDITIONS, subscriptions - first)
        drawn, used_places = _draw_members(
            Draws(seed, "overlap", "conditions", block, BLOCK_CONDITIONS), used, shares
        )
        lengths.append(used_places[:rows].sum(axis=1))
        members.append(drawn[:rows][used_places[:rows]])
    seeds = [np.zeros(0, np.int64)]
    for block, first in enumerate(range(0, events, BLOCK_EVENTS)):
        made = _seeds(Draws(seed, "overlap", "events", block, BLOCK_EVENTS))
        seeds.append(made[: min(BLOCK_EVENTS, events - first)])
    return OverlapArrays(
        np.cumsum(np.concatenate(lengths)),
        np.concatenate(members),
        selectivities(used, seed, subscriptions),
        np.concatenate(seeds),
    )


def plan(parameters: OverlapParameters, seed: int, subscriptions: int) -> WorkloadPlan:
    """Conditions as `probe(seed, 203) AND probe(seed, 17) AND probe(seed, 9)`."""
    phrases = Phrases()
    first, later, close = phrases.codes(["probe(seed, ", " AND probe(seed, ", ")"])
    shares = _shares(parameters, seed)

    def conditions(draws: Draws) -> I64:
        members, used = _draw_members(draws, parameters, shares)
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
    return WorkloadPlan(
        event_type_of("overlap", attribute), phrases, conditions, events, {"selectivity": round(mean, 6)}
    )


def selectivities(parameters: OverlapParameters, seed: int, subscriptions: int) -> F64:
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


def outcomes(seeds: int | I64, numbers: I64, selectivities: F64) -> Bools:
    """bool: does the predicate of each number, with its selectivity beside it, hold for each seed?"""
    mixed = _mix(_mix(np.atleast_1d(seeds).astype(np.uint64)) + numbers.astype(np.uint64))
    return np.asarray((mixed >> np.uint64(11)) / float(_SEEDS) < selectivities)


def probe_operator(selectivities: F64, *, cost: float | None = None) -> Operator:
    """The operator `probe(bigint, int) boolean` of a workload.

    Args:
        selectivities: The probability that each predicate holds, as in `OverlapArrays`.
        cost: Of a call, in seconds, if it is known.

    >>> probe = probe_operator(np.array([1.0, 0.0]))
    >>> probe.function(pa.array([7, 7, 8]), pa.array([0, 1, 0])).to_pylist()
    [True, False, True]
    """
    known = np.asarray(selectivities, np.float64)

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

    described = "Does the predicate of a number hold for a seed? Pseudo-random."
    return Operator("probe", (BIGINT, INT), BOOLEAN, probe, cost=cost, check=check, description=described)


def _shares(parameters: OverlapParameters, seed: int) -> F64:
    """How popular predicates are, cumulated."""
    if parameters.popularity == "zipf":
        return zipf(parameters.predicates, parameters.exponent)
    return cumulate(Draws(seed, "overlap", "popularity", 0, parameters.predicates).uniform())


def _draw_members(draws: Draws, parameters: OverlapParameters, shares: F64) -> tuple[I64, Bools]:
    """Predicates of a block of conditions, [rows, greatest length], and which of them are used."""
    fewest, most = parameters.length
    lengths = fewest + draws.below(most - fewest + 1)
    return draws.different(shares, most), np.arange(most) < lengths[:, None]


def _seeds(draws: Draws) -> I64:
    return draws.below(_SEEDS)


def _sums(parameters: OverlapParameters, seed: int, subscriptions: int, logarithms: F64) -> F64:
    """Of each condition of a sample, the sum over its predicates; without conditions, of those that could be."""
    shares = _shares(parameters, seed)
    count = min(subscriptions, _SAMPLE_BLOCKS * BLOCK_CONDITIONS) or BLOCK_CONDITIONS
    found = []
    for block in range(-(-count // BLOCK_CONDITIONS)):
        members, used = _draw_members(
            Draws(seed, "overlap", "conditions", block, BLOCK_CONDITIONS), parameters, shares
        )
        found.append(np.where(used, logarithms[members], 0.0).sum(axis=1))
    return np.concatenate(found)[:count]


def _mix(numbers: U64) -> U64:
    """The finaliser of SplitMix64: a bijection whose bits look random."""
    mixed = numbers * _GOLDEN + _GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


OVERLAP = Family("overlap", "AND of calls of an expensive operator that conditions share", OverlapParameters, plan)
