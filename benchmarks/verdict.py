"""Faster, slower or noise: what repeated runs of two revisions tell about one figure.

The rule: a figure differs if the exact Mann-Whitney test of the two samples gives p <= 0.01 and the medians are at
least 3% apart. The test asks how likely it is that the runs of one revision rank so much before those of the other
if both were the same; it assumes nothing about how times are distributed, and one slow run cannot decide it. With
fewer than five runs each, p cannot be that small, and everything is noise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import median
from typing import Any, Literal, TypeAlias

Word: TypeAlias = Literal["faster", "slower", "smaller", "larger", "noise", "same", "differs", "only one"]

LARGEST_P = 0.01
LEAST_CHANGE = 0.03
FEWEST_RUNS = 5
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?(?![\w.])", re.IGNORECASE)
_LESS_IS_BETTER = re.compile(r"(us/\w+|us a \w+|\bms|bytes/\w+|ratio|exponent)$")
_MORE_IS_BETTER = re.compile(r"(a second|events/s)$|\btimes\b")


@dataclass(frozen=True, slots=True)
class Verdict:
    """About one figure.

    Attributes:
        word: What it comes to, for the second revision.
        first: Median of the first revision, None if it has no such figure.
        second: Median of the second.
        times: How many times as good the second is; 1 is no change.
        p: Of the test.
    """

    word: Word
    first: float | None
    second: float | None
    times: float | None = None
    p: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "verdict": self.word,
            "first": self.first,
            "second": self.second,
            "times": None if self.times is None else round(self.times, 4),
            "p": None if self.p is None else round(self.p, 5),
        }


def value_of(figure: Any) -> float | None:
    """The number of a figure, or the one that its text begins with."""
    if isinstance(figure, bool) or not isinstance(figure, (int, float, str)):
        return None
    if isinstance(figure, str):
        found = _NUMBER.match(figure)
        return float(found[0]) if found else None
    return float(figure)


def less_is_better(name: str) -> bool | None:
    """Is a smaller figure of that name better? None if it is no measure of that kind."""
    if _MORE_IS_BETTER.search(name):
        return False
    return True if _LESS_IS_BETTER.search(name) else None


def verdict(name: str, first: Sequence[float], second: Sequence[float]) -> Verdict:
    """What the runs of two revisions say about a figure."""
    if not first or not second:
        one = median(first) if first else None
        return Verdict("only one", one, median(second) if second else None)
    one, other = median(first), median(second)
    less = less_is_better(name)
    if less is None:
        return Verdict("same" if sorted(set(first)) == sorted(set(second)) else "differs", one, other)
    p = mann_whitney(first, second)
    better, worse = (one, other) if less else (other, one)
    times = better / worse if worse else (1.0 if better == worse else float("inf"))
    # Twice as fast and half as fast are the same change.
    if p > LARGEST_P or max(times, 1 / times if times else float("inf")) < 1 + LEAST_CHANGE:
        return Verdict("noise", one, other, times, p)
    words: tuple[Word, Word] = ("smaller", "larger") if "bytes" in name else ("faster", "slower")
    return Verdict(words[0] if times > 1 else words[1], one, other, times, p)


def mann_whitney(first: Sequence[float], second: Sequence[float]) -> float:
    """The exact two-sided p-value of the rank sum, equal values sharing their ranks."""
    ranks = doubled_ranks([*first, *second])
    total, few = sum(ranks), len(first)
    # ways[k][s]: in how many ways k of the ranks seen so far sum up to s.
    ways: list[dict[int, int]] = [{0: 1}] + [{} for _ in range(few)]
    for rank in ranks:
        for taken in range(few, 0, -1):
            into = ways[taken]
            for rank_sum, count in ways[taken - 1].items():
                into[rank_sum + rank] = into.get(rank_sum + rank, 0) + count
    # Everything in units of 1 / len(ranks), so that the distance from the mean is whole.
    mean = total * few
    distance = abs(sum(ranks[:few]) * len(ranks) - mean)
    extreme = sum(count for found, count in ways[few].items() if abs(found * len(ranks) - mean) >= distance)
    return extreme / comb(len(ranks), few)


def doubled_ranks(values: Sequence[float]) -> list[int]:
    """Twice the rank of each value, from 2; equal values have the mean of their ranks."""
    ordered = sorted(values)
    return [ordered.index(value) + 1 + len(ordered) - ordered[::-1].index(value) for value in values]
