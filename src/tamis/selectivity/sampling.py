"""Selectivities by a sample of values, smoothed: no estimate is quite 0 or 1, for a sample proves neither."""

from __future__ import annotations

import numpy as np

from tamis.arrays import F64, I64
from tamis.selectivity.priors import MIN_SAMPLE
from tamis.statistics import AttributeStatistics


def has_sample(facts: AttributeStatistics | None) -> bool:
    """Does the sample say more than a prior?"""
    return facts is not None and len(facts.sample) >= MIN_SAMPLE


def fractions_inside(inside: I64, size: int) -> F64:
    """The fraction of values in sets that have so many members in a sample of this size."""
    return np.asarray((inside + 0.5) / (size + 1.0))


def fractions_below(ordered: I64, cuts: I64) -> F64:
    """The fraction of values below each cut by a sorted sample, rising strictly; the cuts rise.

    Cuts between the same two values of the sample share out the place between these evenly; so without a sample
    all cuts stand at even distances.
    """
    below = np.searchsorted(ordered, cuts, side="left")
    even = np.arange(1, len(cuts) + 1) / (len(cuts) + 1)
    return np.asarray((below + even) / (len(ordered) + 1.0))
