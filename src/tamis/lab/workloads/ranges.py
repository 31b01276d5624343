"""`ranges`: AND of ranges over attributes that every event has.

Attributes and bounds are drawn uniformly; a range lies within the domain and has exactly the width that was drawn,
so that an event satisfies a range with the probability `width`, and a condition with the product of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tamis.arrays import I64
from tamis.lab.workloads.base import Family, WorkloadPlan, event_type_of, numbered_attributes
from tamis.lab.workloads.draws import Draws
from tamis.lab.workloads.parameters import choice, span, whole
from tamis.lab.workloads.text import FRACTION_UNIT, Phrases, fractions, integers
from tamis.values.types import DOUBLE, INT

DOMAIN = 1_000_000


@dataclass(frozen=True, slots=True)
class RangesParameters:
    """The parameters of `ranges`."""

    attributes: int = whole(20, "attributes of an event: a0, a1, ...", least=1, most=10_000)
    ranges: int = whole(10, "ranges of a condition, each on another attribute", least=1, most=1_000)
    width: tuple[float, float] = span(
        0.3, "of a range, as a share of the domain; two numbers draw it uniformly between them"
    )
    kind: str = choice("int", "of values, from 0 to 999,999 or in [0, 1)", ("int", "double"))

    def __post_init__(self) -> None:
        """Refuse more ranges than attributes."""
        if self.ranges > self.attributes:
            msg = f"ranges: {self.ranges} ranges need as many attributes, and there are {self.attributes}"
            raise ValueError(msg)


def plan(parameters: RangesParameters, _seed: int, _subscriptions: int) -> WorkloadPlan:
    """Conditions as `a3 BETWEEN 120000 AND 419999 AND ...`."""
    phrases = Phrases()
    count = parameters.attributes
    first = phrases.codes(f"a{number} BETWEEN " for number in range(count))
    later = phrases.codes(f" AND a{number} BETWEEN " for number in range(count))
    joint = phrases.code(" AND ")
    is_int = parameters.kind == "int"
    domain = DOMAIN if is_int else FRACTION_UNIT
    low_width, high_width = parameters.width

    def conditions(draws: Draws) -> I64:
        chosen = draws.subset(count, parameters.ranges)
        widths = low_width + (high_width - low_width) * draws.uniform(parameters.ranges)
        # A range of n integers ends n - 1 after its start; of reals, n units after it.
        sizes = np.rint(widths * domain).astype(np.int64)
        sizes = np.maximum(sizes - 1, 0) if is_int else sizes
        starts = draws.below(domain - sizes, parameters.ranges)
        codes = np.empty((draws.rows, parameters.ranges, 4), np.int64)
        codes[:, :, 0] = later[chosen]
        codes[:, 0, 0] = first[chosen[:, 0]]
        codes[:, :, 1] = integers(starts) if is_int else fractions(starts)
        codes[:, :, 2] = joint
        codes[:, :, 3] = integers(starts + sizes) if is_int else fractions(starts + sizes)
        return codes.reshape(draws.rows, -1)

    def events(draws: Draws) -> dict[str, pa.Array]:
        values = draws.uniform(count)
        columns = np.floor(values * DOMAIN).astype(np.int32) if is_int else values
        return {f"a{number}": pa.array(columns[:, number]) for number in range(count)}

    domain_of = {"min": 0, "max": DOMAIN - 1} if is_int else {"min": 0.0, "max": 1.0}
    attributes = numbered_attributes("a", count, INT if is_int else DOUBLE, required=True, **domain_of)
    return WorkloadPlan(event_type_of("ranges", *attributes), phrases, conditions, events)


RANGES = Family("ranges", "AND of ranges over attributes that every event has", RangesParameters, plan)
