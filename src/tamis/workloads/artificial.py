"""`artificial`: conditions with wished numbers of predicates, operators, conjunctions and shared predicates.

After S. Bittner, "General Boolean Expressions in Publish-Subscribe Systems", PhD thesis, University of Waikato,
2008, section 5.6. All conditions have one shape (`tamis.workloads.artificial_shape`) of the sizes asked for. The
predicates of a condition are ranges on different attributes, which every event has; they are dealt to its places
by chance.

A condition takes its predicates from as many decks, one of each. A deck has a new predicate as often as the
commonality leaves it, at regular intervals; between them it gives one of those it had before. So the number of
different predicates is exact, however many conditions are taken, and no condition depends on a later one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

import numpy as np
import pyarrow as pa

from tamis.values.types import INT
from tamis.workloads.artificial_shape import Shape, fitting
from tamis.workloads.base import Family, Plan, event_type_of, numbered
from tamis.workloads.draws import Draws, Whole
from tamis.workloads.forms import Forms
from tamis.workloads.parameters import real, whole
from tamis.workloads.text import Phrases, integers

STARTS = 99_999_989
"""Where a range may begin: a prime number, so that steps of any length visit all of them."""
_STEP = 61_803_391
_SLOT = "{name}{low} AND {high}"


@dataclass(frozen=True, slots=True)
class Parameters:
    """Of the family."""

    predicates: int = whole(10, "of a condition, |p|", least=1, most=100)
    operators: float | None = real(None, "ANDs and ORs of a condition, as a share of its predicates, op^prop")
    conjunctions: int = whole(4, "of the disjunctive normal form of a condition, |s_s|", least=1, most=32)
    sharing: float = real(0.5, "share of the conjunctions that a predicate is in, on average, s^prop")
    commonality: float = real(0.0, "share of predicates that an earlier condition has as well, p_c")
    selectivity: float = real(0.1, "share of events that satisfy a predicate", least=0.0, most=0.95)
    attributes: int = whole(100, "attributes of an event: a0, a1, ...", least=1, most=10_000)

    def __post_init__(self) -> None:
        """Refuse sizes that no condition has."""
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


def shape_of(parameters: Parameters) -> Shape:
    """The shape of all conditions."""
    share, predicates = parameters.operators, parameters.predicates
    places = parameters.sharing * predicates * parameters.conjunctions
    operators = None if share is None else floor(share * predicates + 0.5)
    return fitting(predicates, parameters.conjunctions, places, operators)


def plan(parameters: Parameters, seed: int, _subscriptions: int) -> Plan:
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

    def conditions(draws: Draws) -> Whole:
        number = _dealt(draws, decks, 1 - parameters.commonality)
        attribute = np.arange(decks) + decks * (number % rounds)
        start = (offsets + number // rounds * _STEP) % STARTS
        order = draws.subset(decks, decks)
        attribute, start = (np.take_along_axis(each, order, axis=1) for each in (attribute, start))
        fillings = {"name": names[attribute], "low": integers(start), "high": integers(start + width - 1)}
        return form.spelled(np.zeros(draws.rows, np.int64), fillings)

    def events(draws: Draws) -> dict[str, pa.Array]:
        drawn = draws.below(values, count).astype(np.int32)
        return {f"a{number}": pa.array(drawn[:, number]) for number in range(count)}

    attributes = numbered("a", count, INT, required=True, min=0, max=values - 1)
    return Plan(
        event_type_of("artificial", *attributes), phrases, conditions, events, _facts(shape, width / values)
    )


def _dealt(draws: Draws, decks: int, fresh: float) -> Whole:
    """The predicate that each deck gives to each condition, by its number in the deck: [rows, decks]."""
    number = (draws.block * draws.rows + np.arange(draws.rows))[:, None]
    # Decks take turns in having a new one; the first condition has new ones only.
    turns = np.arange(decks) / decks
    before = np.where(number > 0, 1 + np.floor(fresh * (number - 1) + turns), 0).astype(np.int64)
    after = 1 + np.floor(fresh * number + turns).astype(np.int64)
    return np.where(after > before, before, np.floor(draws.uniform(decks) * before).astype(np.int64))


def _facts(shape: Shape, selectivity: float) -> dict[str, float]:
    return {
        "predicates": shape.predicates,
        "operators": shape.operators,
        "conjunctions": shape.conjunctions,
        "conjunctions_of_a_predicate": round(shape.places / shape.predicates, 6),
        "operator_share": round(shape.operators / shape.predicates, 6),
        "sharing": round(shape.places / shape.predicates / shape.conjunctions, 6),
        "match_share": shape.chance(selectivity),
    }


ARTIFICIAL = Family(
    "artificial", "conditions of wished sizes, before and after conversion to conjunctions", Parameters, plan
)
