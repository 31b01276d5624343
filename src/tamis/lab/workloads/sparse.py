"""`sparse`: AND of predicates over many attributes of Zipf popularity, of which an event has a few.

Four attributes of five are numbers, 0 to 9,999, asked for by a range or a comparison; the fifth is a code of 4 to
32 values, asked for by an equality or a list of two. Values are uniform. Conditions and events draw their
attributes from the same popularity, x0 being the most popular.

A range covers `width ** e` of the domain, e drawn from 0.5 to 1.5. Unless given, `width` is solved so that an
event satisfies `matches` of the subscriptions on average, whatever their number: more subscriptions have narrower
ranges. How often the attributes of conditions come together in events is taken from a sample, which does not
depend on the seed; the rest of the solution is exact but for the rounding of ranges to whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tamis.arrays import F64, I64, Bools
from tamis.events.event_type import Attribute
from tamis.lab.workloads.base import Family, WorkloadPlan, event_type_of
from tamis.lab.workloads.draws import BLOCK_CONDITIONS, BLOCK_EVENTS, Draws, zipf
from tamis.lab.workloads.parameters import real, span, whole
from tamis.lab.workloads.text import NOTHING, Phrases, integers
from tamis.values.types import INT

DOMAIN = 10_000
_CODES = (4, 8, 16, 32)
_EVERY = 5
_RANGE, _AT_MOST, _AT_LEAST, _EQUAL, _EITHER = range(5)
_RANGES, _COMPARISONS = 0.6, 0.2
_EQUALITIES = 0.7
_SAMPLE_BLOCKS = 8
_NARROWEST, _WIDEST = 1e-6, 0.9
_STEPS = 24


@dataclass(frozen=True, slots=True)
class SparseParameters:
    """The parameters of `sparse`."""

    attributes: int = whole(400, "attributes that there are: x0, x1, ...", least=1, most=10_000)
    predicates: tuple[int, int] = span(
        (5, 9), "of a condition, each on another attribute", least=1, most=100, integral=True
    )
    pairs: tuple[int, int] = span((10, 20), "attributes that an event has", least=1, most=1_000, integral=True)
    exponent: float = real(1.2, "of the Zipf distribution of attributes", most=3.0)
    matches: float = real(
        5.0, "subscriptions that an event satisfies on average, as far as ranges can be widened", most=1e6
    )
    width: float | None = real(None, "of a range, as a share of the domain; given, it decides instead of matches")

    def __post_init__(self) -> None:
        """Refuse so many different attributes at a time that rejection sampling would not end."""
        most = max(self.predicates[1], self.pairs[1])
        if 4 * most > self.attributes:
            msg = f"attributes: {most} different ones at a time need at least {4 * most}, not {self.attributes}"
            raise ValueError(msg)


class _PredicateBlock(NamedTuple):
    """The predicates of a block of conditions, but for the width of ranges: arrays [rows, most predicates]."""

    attributes: I64
    kinds: I64
    exponents: F64
    places: F64  # in [0, 1): where a range lies, which code is asked for
    others: F64  # in [0, 1): which other code
    used: Bools


def plan(parameters: SparseParameters, _seed: int, subscriptions: int) -> WorkloadPlan:
    """Conditions as `x3 BETWEEN 120 AND 2310 AND x0 >= 4000 AND x14 = 3 AND ...`."""
    sizes = _sizes(parameters.attributes)
    width = parameters.width
    facts = {}
    if width is None:
        width, expected = _solve_width(parameters, subscriptions)
        facts = {"width": round(width, 6), "expected_matches": round(expected, 3)}
    phrases = Phrases()
    spell = _speller(phrases, sizes)

    def conditions(draws: Draws) -> I64:
        drawn = _draw(draws, parameters)
        codes = spell(drawn, _values_kept(drawn, width))
        codes[~drawn.used] = NOTHING
        return codes.reshape(draws.rows, -1)

    def events(draws: Draws) -> dict[str, pa.Array]:
        absent = ~_present(draws, parameters)
        values = np.floor(draws.uniform(parameters.attributes) * sizes).astype(np.int32)
        return {f"x{number}": pa.array(values[:, number], mask=absent[:, number]) for number in range(len(sizes))}

    attributes = tuple(
        Attribute(f"x{number}", INT, min=0, max=size - 1) for number, size in enumerate(sizes.tolist())
    )
    return WorkloadPlan(event_type_of("sparse", *attributes), phrases, conditions, events, facts)


def _sizes(attributes: int) -> I64:
    """Number of values of each attribute."""
    return np.array(
        [
            _CODES[number // _EVERY % len(_CODES)] if number % _EVERY == _EVERY - 1 else DOMAIN
            for number in range(attributes)
        ],
        np.int64,
    )


def _draw(draws: Draws, parameters: SparseParameters) -> _PredicateBlock:
    fewest, most = parameters.predicates
    counts = fewest + draws.below(most - fewest + 1)
    attributes = draws.different(zipf(parameters.attributes, parameters.exponent), most)
    chance = draws.uniform(most)
    numeric = np.where(chance < _RANGES, _RANGE, np.where(chance < _RANGES + _COMPARISONS, _AT_MOST, _AT_LEAST))
    coded = np.where(chance < _EQUALITIES, _EQUAL, _EITHER)
    return _PredicateBlock(
        attributes,
        np.where(_sizes(parameters.attributes)[attributes] == DOMAIN, numeric, coded),
        0.5 + draws.uniform(most),
        draws.uniform(most),
        draws.uniform(most),
        np.arange(most) < counts[:, None],
    )


def _values_kept(drawn: _PredicateBlock, width: float) -> I64:
    """How many values of its attribute each predicate allows."""
    ranges = np.maximum(np.rint(DOMAIN * width**drawn.exponents), 1).astype(np.int64)
    return np.where(drawn.kinds == _EQUAL, 1, np.where(drawn.kinds == _EITHER, 2, ranges))


def _present(draws: Draws, parameters: SparseParameters) -> Bools:
    """Which attributes each event has: [rows, attributes]."""
    fewest, most = parameters.pairs
    counts = fewest + draws.below(most - fewest + 1)
    chosen = draws.different(zipf(parameters.attributes, parameters.exponent), most)
    present = np.zeros((draws.rows, parameters.attributes), np.bool_)
    rows, places = np.nonzero(np.arange(most) < counts[:, None])
    present[rows, chosen[rows, places]] = True
    return present


def _speller(phrases: Phrases, sizes: I64) -> Callable[[_PredicateBlock, I64], I64]:
    """The function from predicates, and how many values each allows, to codes, five a predicate."""
    starts = ("BETWEEN ", "<= ", ">= ", "= ", "IN (")
    first, later = (
        np.array([phrases.codes(f"{lead}x{number} {start}" for number in range(len(sizes))) for start in starts])
        for lead in ("", " AND ")
    )
    middle = phrases.codes([" AND ", "", "", "", ", "])
    close = phrases.codes(["", "", "", "", ")"])

    def spell(drawn: _PredicateBlock, kept: I64) -> I64:
        kinds, size = drawn.kinds, sizes[drawn.attributes]
        low = np.floor(drawn.places * (size - kept + 1)).astype(np.int64)
        code = np.floor(drawn.places * size).astype(np.int64)
        other = (code + 1 + np.floor(drawn.others * (size - 1)).astype(np.int64)) % size
        operand = np.select(
            [kinds == _RANGE, kinds == _AT_MOST, kinds == _AT_LEAST], [low, kept - 1, size - kept], code
        )
        second = np.where(kinds == _RANGE, low + kept - 1, other)
        codes = np.empty((*kinds.shape, 5), np.int64)
        codes[:, :, 0] = later[kinds, drawn.attributes]
        codes[:, 0, 0] = first[kinds[:, 0], drawn.attributes[:, 0]]
        codes[:, :, 1] = integers(operand)
        codes[:, :, 2] = middle[kinds]
        codes[:, :, 3] = np.where((kinds == _RANGE) | (kinds == _EITHER), integers(second), NOTHING)
        codes[:, :, 4] = close[kinds]
        return codes

    return spell


def _solve_width(parameters: SparseParameters, subscriptions: int) -> tuple[float, float]:
    """The width that gives the matches asked for, as far as ranges may be widened, and the matches it gives."""
    sample = _sample(replace(parameters, matches=0.0))

    def expected(width: float) -> float:
        return float((sample.probabilities * width**sample.exponents).sum()) / sample.conditions * subscriptions

    low, high = _NARROWEST, _WIDEST
    if expected(high) > parameters.matches:
        for _ in range(_STEPS):
            between = (low * high) ** 0.5
            low, high = (low, between) if expected(between) > parameters.matches else (between, high)
    return high, expected(high)


class _ConditionSample(NamedTuple):
    """Conditions of a sample whose attributes come together in some event of another sample."""

    probabilities: F64  # that an event has all of the attributes, and the codes that equalities ask for
    exponents: F64  # of the width, in the probability that all ranges hold
    conditions: int  # of the sample, with those whose attributes never come together


@lru_cache(maxsize=8)
def _sample(parameters: SparseParameters) -> _ConditionSample:
    """It depends on the numbers and the popularity of attributes, predicates and pairs only."""
    blocks = range(_SAMPLE_BLOCKS)
    present = np.concatenate(
        [_present(Draws(0, "sparse", "sample of events", block, BLOCK_EVENTS), parameters) for block in blocks]
    )
    bits = np.ascontiguousarray(np.packbits(present, axis=0).T).view(np.uint64)  # [attributes, events / 64]
    sizes = _sizes(parameters.attributes)
    probabilities: list[F64] = []
    exponents: list[F64] = []
    for block in blocks:
        drawn = _draw(Draws(0, "sparse", "sample of conditions", block, BLOCK_CONDITIONS), parameters)
        together = np.full((BLOCK_CONDITIONS, bits.shape[1]), -1).view(np.uint64)
        for place, used in enumerate(drawn.used.T):
            together[used] &= bits[drawn.attributes[used, place]]
        chance = np.bitwise_count(together).sum(axis=1) / len(present)
        is_code = drawn.used & (drawn.kinds >= _EQUAL)
        codes = np.where(is_code, _values_kept(drawn, 1.0) / sizes[drawn.attributes], 1.0).prod(axis=1)
        ranges = np.where(drawn.used & ~is_code, drawn.exponents, 0.0).sum(axis=1)
        probabilities.append((chance * codes)[chance > 0])
        exponents.append(ranges[chance > 0])
    return _ConditionSample(
        np.concatenate(probabilities), np.concatenate(exponents), _SAMPLE_BLOCKS * BLOCK_CONDITIONS
    )


SPARSE = Family(
    "sparse", "AND of predicates over many attributes, of which an event has a few", SparseParameters, plan
)
