"""How many random trees an event satisfies on average, computed from the selectivity of a single predicate.

AND, OR and XOR are linear in each operand, and the two sides of a random tree are independent of each other, given
how many of their attributes the event has: so the expectation over all trees follows from the expectations over
smaller ones. A predicate on an attribute that an event does not have is NULL; so both the probability of true and
that of false are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import NamedTuple

import numpy as np

from tamis.arrays import F64

_POINTS = 65
_ROUNDS = 4


class Trees(NamedTuple):
    """Kinds of random trees.

    splits: weight of each number of leaves to the left of the root; below it all places are equally likely.
    joints: weights of AND, OR and XOR.
    leaves: of a tree.
    ordered: does an event have the attributes of the first leaves, if it has not all of them?
    """

    splits: dict[int, float]
    joints: tuple[float, ...]
    leaves: int
    ordered: bool


def leaves_present(trees: Trees, attributes: int, pairs: tuple[int, int]) -> F64:
    """How likely an event has 0, 1, ... of the attributes of a tree, of all that there are."""
    leaves = trees.leaves
    chances = np.zeros(leaves + 1)
    for having in range(pairs[0], pairs[1] + 1):
        if trees.ordered:
            chances[min(having, leaves)] += 1
            continue
        for some in range(max(0, having - attributes + leaves), min(leaves, having) + 1):
            ways = comb(leaves, some) * comb(attributes - leaves, having - some)
            chances[some] += ways / comb(attributes, having)
    found: F64 = chances / chances.sum()
    return found


def expected_share(trees: Trees, present: F64, truth: F64) -> F64:
    """The share of trees that hold, for each selectivity of a predicate whose attribute the event has.

    Args:
        trees: Which ones.
        present: See `leaves_present`.
        truth: Selectivities of a predicate; otherwise it is false.
    """
    # Per number of leaves, [true or false, leaves present, selectivity].
    known = {1: np.array([[np.zeros_like(truth), truth], [np.zeros_like(truth), 1 - truth]])}
    for leaves in range(2, trees.leaves):
        known[leaves] = _join(known, leaves, dict.fromkeys(range(1, leaves), 1.0), trees)
    whole = _join(known, trees.leaves, trees.splits, trees)
    share: F64 = present @ whole[0]
    return share


def _join(known: dict[int, F64], leaves: int, splits: dict[int, float], trees: Trees) -> F64:
    result = np.zeros((2, leaves + 1, known[1].shape[-1]))
    shares = np.array(trees.joints) / sum(trees.joints)
    for left, weight in splits.items():
        right = leaves - left
        (a_true, a_false), (b_true, b_false) = known[left][:, :, None], known[right][:, None, :]
        both, neither = a_true * b_true, a_false * b_false
        true = shares[0] * both + shares[1] * (a_true + b_true - both)
        true = true + shares[2] * (a_true * b_false + a_false * b_true)
        false = shares[0] * (a_false + b_false - neither) + shares[1] * neither
        false = false + shares[2] * (both + neither)
        for some in range(left + 1):
            for others in range(right + 1):
                chance = _chance_of_split(left, some, right, others, trees.ordered)
                result[0, some + others] += weight * chance * true[some, others]
                result[1, some + others] += weight * chance * false[some, others]
    return result / sum(splits.values())


def _chance_of_split(left: int, some: int, right: int, others: int, ordered: bool) -> float:
    """The probability that `some` of the present leaves are on the left and `others` on the right."""
    if ordered:
        return float(some == left or others == 0)
    return comb(left, some) * comb(right, others) / comb(left + right, some + others)


def solve_level(share: Callable[[F64], F64], requested: float) -> tuple[float, float]:
    """The least level in [0, 1] at which `share` reaches what is requested, and the share there.

    If it does not, the level at which it is greatest.
    """
    low, high = 0.0, 1.0
    for _ in range(_ROUNDS):
        levels = np.linspace(low, high, _POINTS)
        found = share(levels)
        enough = np.flatnonzero(found >= requested)
        if not len(enough):
            at = int(found.argmax())
            return float(levels[at]), float(found[at])
        at = int(enough[0])
        low, high = float(levels[max(at - 1, 0)]), float(levels[at])
    return high, float(found[at])
