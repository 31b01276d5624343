"""`artificial`: conditions with given numbers of predicates, operators, conjunctions and shared predicates.

After S. Bittner, "General Boolean Expressions in Publish-Subscribe Systems", PhD thesis, University of Waikato,
2008, section 5.6. All conditions have one shape (`artificial_shape.py`) of the sizes asked for. The predicates of
a condition are ranges on different attributes, which every event has, in random order.

There is one deck for each predicate of a condition, and a condition takes one predicate from each deck. A deck
gives a new predicate at regular intervals, as often as the commonality requires; in between it repeats an
earlier one. So the number of distinct predicates is exact for any number of conditions, and no condition depends
on a later one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

import numpy as np
import pyarrow as pa

from tamis.arrays import I64
from tamis.lab.workloads.artificial_shape import ConditionShape, find_shape
from tamis.lab.workloads.base import Family, WorkloadPlan, event_type_of, numbered_attributes
from tamis.lab.workloads.draws import Draws
from tamis.lab.workloads.forms import Forms
from tamis.lab.workloads.parameters import real, whole
from tamis.lab.workloads.text import Phrases, integers
from tamis.values.types import INT

STARTS = 99_999_989
"""Number of places where a range may begin: a prime, so that steps of any length visit all of them."""
_STEP = 61_803_391
_SLOT = "{name}{low} AND {high}"


@dataclass(frozen=True, slots=True)
class ArtificialParameters:
    """The parameters of `artificial`."""

    predicates: int = whole(10, "of a condition, |p|", least=1, most=100)
    operators: float | None = real(None, "ANDs and ORs of a condition, as a share of its predicates, op^prop")
    conjunctions: int = whole(4, "of the disjunctive normal form of a condition, |s_s|", least=1, most=32)
    sharing: float = real(0.5, "share of the conjunctions that a predicate is in, on average, s^prop")
    commonality: float = real(0.0, "share of predicates that an earlier condition has as well, p_c")
    selectivity: float = real(0.1, "share of events that satisfy a predicate", least=0.0, most=0.95)
    attributes: int = whole(100, "attributes of an event: a0, a1, ...", least=1, most=10_000)

    def __post_init__(self) -> None:
        if self.predicates > self.attributes:
            msg = f"predicates: {self.predicates} need as many attributes, and there are {self.attributes}"
            raise ValueError(msg)
        if self.sharing * self.conjunctions < 1 - 0.5 / self.predicates:
            msg = (
                f"sharing: every predicate is in one conjunction at least, and {self.sharing:g} of"
                f" {self.conjunctions} is less; the least is {1 / self.conjunctions:.4g}"
            )
            raise ValueError(msg)
        shape_of(self)


def shape_of(parameters: ArtificialParameters) -> ConditionShape:
    share, predicates = parameters.operators, parameters.predicates
    places = parameters.sharing * predicates * parameters.conjunctions
    operators = None if share is None else floor(share * predicates + 0.5)
    return find_shape(predicates, parameters.conjunctions, places, operators)


def plan(parameters: ArtificialParameters, seed: int, _subscriptions: int) -> WorkloadPlan:
    """Conditions as `a3 BETWEEN 12 AND 90 AND (a7 BETWEEN 5 AND 83 OR (a1 BETWEEN ... AND ...))`."""
    shape = shape_of(parameters)
    decks, count = parameters.predicates, parameters.attributes
    phrases = Phrases()
    form = Forms([shape.text(_SLOT)], phrases)
    names = phrases.codes(f"a{number} BETWEEN " for number in range(count))
    values = floor(STARTS / (1 - parameters.selectivity))
    width = values - STARTS + 1
    # Deck d has the attributes d, d + decks, ..., and goes through them.
    rounds = (count - np.arange(decks) + decks - 1) // decks
    offsets = Draws(seed, "artificial", "offsets", 0, decks).below(STARTS)

    def conditions(draws: Draws) -> I64:
        number = _predicate_numbers(draws, decks, 1 - parameters.commonality)
        attribute = np.arange(decks) + decks * (number % rounds)
        start = (offsets + number // rounds * _STEP) % STARTS
        order = draws.subset(decks, decks)
        attribute, start = (np.take_along_axis(each, order, axis=1) for each in (attribute, start))
        fillings = {"name": names[attribute], "low": integers(start), "high": integers(start + width - 1)}
        return form.spell(np.zeros(draws.rows, np.int64), fillings)

    def events(draws: Draws) -> dict[str, pa.Array]:
        drawn = draws.below(values, count).astype(np.int32)
        return {f"a{number}": pa.array(drawn[:, number]) for number in range(count)}

    attributes = numbered_attributes("a", count, INT, required=True, min=0, max=values - 1)
    return WorkloadPlan(
        event_type_of("artificial", *attributes), phrases, conditions, events, _facts(shape, width / values)
    )


def _predicate_numbers(draws: Draws, decks: int, fresh: float) -> I64:
    """The predicate that each deck gives to each condition, by its number in the deck: [rows, decks]."""
    number = (draws.block * draws.rows + np.arange(draws.rows))[:, None]
    # Decks take turns with new predicates; the first condition has only new ones.
    turns = np.arange(decks) / decks
    before = np.where(number > 0, 1 + np.floor(fresh * (number - 1) + turns), 0).astype(np.int64)
    after = 1 + np.floor(fresh * number + turns).astype(np.int64)
    return np.where(after > before, before, np.floor(draws.uniform(decks) * before).astype(np.int64))


def _facts(shape: ConditionShape, selectivity: float) -> dict[str, float]:
    return {
        "predicates": shape.predicates,
        "operators": shape.operators,
        "conjunctions": shape.conjunctions,
        "conjunctions_of_a_predicate": round(shape.places / shape.predicates, 6),
        "operator_share": round(shape.operators / shape.predicates, 6),
        "sharing": round(shape.places / shape.predicates / shape.conjunctions, 6),
        "match_share": shape.match_probability(selectivity),
    }


ARTIFICIAL = Family(
    "artificial",
    "conditions of given sizes, before and after conversion to conjunctions",
    ArtificialParameters,
    plan,
)
