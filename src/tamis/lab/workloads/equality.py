"""`equality`: AND of equalities over attributes that every event has.

Attributes and values are drawn uniformly, so that an event satisfies a condition of k equalities over v values
with the probability `v ** -k`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tamis.arrays import I64
from tamis.lab.workloads.base import Family, WorkloadPlan, event_type_of, numbered_attributes
from tamis.lab.workloads.draws import Draws
from tamis.lab.workloads.parameters import whole
from tamis.lab.workloads.text import Phrases, integers
from tamis.values.types import INT


@dataclass(frozen=True, slots=True)
class EqualityParameters:
    """The parameters of `equality`."""

    attributes: int = whole(20, "attributes of an event: a0, a1, ...", least=1, most=10_000)
    equalities: int = whole(3, "equalities of a condition, each on another attribute", least=1, most=1_000)
    values: int = whole(20, "values of an attribute: 0, 1, ...", least=1)

    def __post_init__(self) -> None:
        """Refuse more equalities than attributes."""
        if self.equalities > self.attributes:
            msg = f"equalities: {self.equalities} need as many attributes, and there are {self.attributes}"
            raise ValueError(msg)


def plan(parameters: EqualityParameters, _seed: int, _subscriptions: int) -> WorkloadPlan:
    """Conditions as `a3 = 12 AND a17 = 5 AND a0 = 9`."""
    phrases = Phrases()
    count, equalities = parameters.attributes, parameters.equalities
    first = phrases.codes(f"a{number} = " for number in range(count))
    later = phrases.codes(f" AND a{number} = " for number in range(count))

    def conditions(draws: Draws) -> I64:
        chosen = draws.subset(count, equalities)
        codes = np.empty((draws.rows, equalities, 2), np.int64)
        codes[:, :, 0] = later[chosen]
        codes[:, 0, 0] = first[chosen[:, 0]]
        codes[:, :, 1] = integers(draws.below(parameters.values, equalities))
        return codes.reshape(draws.rows, -1)

    def events(draws: Draws) -> dict[str, pa.Array]:
        values = draws.below(parameters.values, count).astype(np.int32)
        return {f"a{number}": pa.array(values[:, number]) for number in range(count)}

    attributes = numbered_attributes("a", count, INT, required=True, min=0, max=parameters.values - 1)
    return WorkloadPlan(event_type_of("equality", *attributes), phrases, conditions, events)


EQUALITY = Family("equality", "AND of equalities over attributes that every event has", EqualityParameters, plan)
