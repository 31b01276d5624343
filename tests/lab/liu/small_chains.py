"""Chains written out as lists of predicate numbers."""

from __future__ import annotations

import numpy as np

from tamis.arrays import F64
from tamis.lab.liu.chains import Chains, chains_of


def chains_from(*conjunctions: list[int], holds: F64 | None = None, sort: bool = False) -> Chains:
    """The chains of these conjunctions; predicates hold with a probability of one half by default."""
    members = np.array([node for each in conjunctions for node in each], np.int64)
    starts = np.cumsum([0, *(len(each) for each in conjunctions)])
    return chains_of(starts, members, np.full(int(members.max()) + 1, 0.5) if holds is None else holds, sort=sort)
