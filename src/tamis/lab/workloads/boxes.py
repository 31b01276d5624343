"""`boxes`: random boxes over attributes that every event has, as doubles.

After B. Wang, W. Zhang and M. Kitsuregawa, "A Self-Adaptive Model to Improve Average Response Time of
Multiple-Event Filtering for Pub/Sub System": 12 attributes, random boxes and points, of which the paper says no
more. A side of a box is as wide as drawn and lies anywhere within [0, 1]; a point is uniform. So a point is inside
a side with the probability of its width, and inside a box with the mean width to the power of the attributes.

With a `skew` there are a few hot spots away from the edges. A box belongs to one of them, by a Zipf distribution,
and each of its sides is placed around the spot as often as the skew says; so often, too, a point lies close to a
spot, all being equally likely. So some points are inside of very many boxes, and most are not. Points elsewhere
are inside of as many as without skew, because it does not matter for them where sides lie.

`arrays` gives the bounds and points that `generate` writes as conditions and events, without any text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tamis.arrays import F64, I64
from tamis.lab.workloads.base import Family, WorkloadPlan, event_type_of, numbered_attributes
from tamis.lab.workloads.draws import BLOCK_CONDITIONS, BLOCK_EVENTS, Draws, zipf
from tamis.lab.workloads.parameters import check_parameters, check_sizes, real, span, whole
from tamis.lab.workloads.text import FRACTION_UNIT, Phrases, fractions
from tamis.values.types import DOUBLE

_EDGE = 0.2
"""How far spots are from the edges of the domain, at least."""
_NEAR = 0.02
"""How far from a spot a point close to it may be."""


@dataclass(frozen=True, slots=True)
class BoxesParameters:
    """The parameters of `boxes`."""

    attributes: int = whole(12, "attributes of an event, and sides of a box: a0, a1, ...", least=1, most=1_000)
    width: tuple[float, float] = span(
        (0.1, 0.6), "of a side, as a share of the domain; two numbers draw it uniformly between them"
    )
    skew: float = real(0.0, "share of sides that lie around a hot spot, and of events that lie close to one")
    spots: int = whole(8, "hot spots, with skew", least=1, most=10_000)


class BoxArrays(NamedTuple):
    """Boxes and points; a box holds its bounds."""

    lows: F64  # [subscriptions, attributes]
    highs: F64  # [subscriptions, attributes]
    points: F64  # [events, attributes]


def arrays(*, subscriptions: int, events: int, seed: int = 0, **parameters: Any) -> BoxArrays:
    """The boxes and points of `generate("boxes", ...)` with the same arguments.

    Raises:
        WorkloadError: With everything that is wrong with the arguments.

    >>> found = arrays(subscriptions=3, events=2, seed=1, attributes=2)
    >>> found.lows.shape, bool((found.lows <= found.highs).all()), found.points.shape
    ((3, 2), True, (2, 2))
    """
    check_sizes("boxes", subscriptions=subscriptions, events=events, seed=seed)
    used = check_parameters("boxes", BoxesParameters, parameters)
    spots = _spots(used, seed)
    lows, highs = (np.empty((subscriptions, used.attributes)) for _ in range(2))
    for block, first in enumerate(range(0, subscriptions, BLOCK_CONDITIONS)):
        rows = slice(first, first + BLOCK_CONDITIONS)
        starts, sizes = _sides(Draws(seed, "boxes", "conditions", block, BLOCK_CONDITIONS), used, spots)
        taken = len(lows[rows])
        # The quotient of whole numbers is the double nearest to it, as the one that is read from the text.
        np.divide(starts[:taken], FRACTION_UNIT, out=lows[rows])
        np.divide((starts + sizes)[:taken], FRACTION_UNIT, out=highs[rows])
    points = np.empty((events, used.attributes))
    for block, first in enumerate(range(0, events, BLOCK_EVENTS)):
        rows = slice(first, first + BLOCK_EVENTS)
        made = _points(Draws(seed, "boxes", "events", block, BLOCK_EVENTS), used, spots)
        points[rows] = made[: len(points[rows])]
    return BoxArrays(lows, highs, points)


def plan(parameters: BoxesParameters, seed: int, _subscriptions: int) -> WorkloadPlan:
    """Conditions as `a0 BETWEEN 0.120000000 AND 0.419999999 AND a1 BETWEEN ...`."""
    phrases = Phrases()
    count = parameters.attributes
    names = phrases.codes(f"{' AND ' if number else ''}a{number} BETWEEN " for number in range(count))
    joint = phrases.code(" AND ")
    spots = _spots(parameters, seed)

    def conditions(draws: Draws) -> I64:
        starts, sizes = _sides(draws, parameters, spots)
        codes = np.empty((draws.rows, count, 4), np.int64)
        codes[:, :, 0] = names
        codes[:, :, 1] = fractions(starts)
        codes[:, :, 2] = joint
        codes[:, :, 3] = fractions(starts + sizes)
        return codes.reshape(draws.rows, -1)

    def events(draws: Draws) -> dict[str, pa.Array]:
        columns = np.ascontiguousarray(_points(draws, parameters, spots).T)
        return {f"a{number}": pa.array(column) for number, column in enumerate(columns)}

    attributes = numbered_attributes("a", count, DOUBLE, required=True, min=0.0, max=1.0)
    return WorkloadPlan(event_type_of("boxes", *attributes), phrases, conditions, events)


def _spots(parameters: BoxesParameters, seed: int) -> I64:
    """Where spots are, in units: [spots, attributes]."""
    places = Draws(seed, "boxes", "spots", 0, parameters.spots).uniform(parameters.attributes)
    return np.rint((_EDGE + (1 - 2 * _EDGE) * places) * FRACTION_UNIT).astype(np.int64)


def _sides(draws: Draws, parameters: BoxesParameters, spots: I64) -> tuple[I64, I64]:
    """Starts and sizes of the sides of a block of boxes, in units: [rows, attributes]."""
    count = parameters.attributes
    low_width, high_width = parameters.width
    widths = low_width + (high_width - low_width) * draws.uniform(count)
    sizes = np.rint(widths * FRACTION_UNIT).astype(np.int64)
    free = FRACTION_UNIT - sizes
    if parameters.skew == 0:
        return draws.below(free + 1, count), sizes
    centres = spots[draws.pick(zipf(parameters.spots, 1.0))]
    around = draws.uniform(count) < parameters.skew
    first = np.where(around, np.maximum(centres - sizes, 0), 0)
    last = np.where(around, np.minimum(centres, free), free)
    return first + draws.below(last - first + 1, count), sizes


def _points(draws: Draws, parameters: BoxesParameters, spots: I64) -> F64:
    """A block of points: [rows, attributes]."""
    places = draws.uniform(parameters.attributes)
    close = draws.uniform() < parameters.skew
    centres = spots[draws.below(parameters.spots)[close]] / FRACTION_UNIT
    places[close] = centres + _NEAR * (2 * places[close] - 1)
    return places


BOXES = Family("boxes", "random boxes over attributes that every event has", BoxesParameters, plan)
