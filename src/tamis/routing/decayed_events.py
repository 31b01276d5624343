"""A decayed sample of the events that pass, from which the selectivities of predicates are learned.

Whether an event is in the sample depends on its number and on the numbers that came after it: the chance is halved
with every `HALF_LIFE` events. So the sample follows events that change, and a burst of a second does not fill it.

This is the weighted reservoir of Efraimidis and Spirakis (2006) with exponential weights. Event n has the weight
2^(n / half-life), and those with the greatest u^(1 / weight) are kept, where u is uniform. The logarithm of that,
taken twice, never overflows: n / half-life + g, where g depends on u alone. And u is a hash of n, not a random
number: which events are wanted is known before any is read, and a service has the same sample when it is started
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from tamis.arrays import F64, I64
from tamis.engines.forest import Forest
from tamis.events.batch import EventBatch
from tamis.formulas.predicates.base import Frame
from tamis.frames import BatchFrame, select_rows
from tamis.statistics import Statistics

SAMPLE_EVENTS = 1_000
"""Events of a type in a sample."""
HALF_LIFE = 8_192
"""Events after which the chance to be in the sample is halved."""
REACH = 12 * HALF_LIFE
"""Events before the newest that have a chance worth reading them for: older ones are one in 4,096 of it."""

Sample: TypeAlias = EventBatch | Sequence[Frame] | None
"""Events from which selectivities are learned: a batch, or rows of several."""


class DecayedEvents:
    """A decayed sample of the events of one type.

    >>> sample = DecayedEvents(size=2, half_life=1.0)
    >>> for first in (0, 10, 20):
    ...     events = EventBatch.of([{"n": first + n} for n in range(10)])
    ...     sample.offer(events, np.arange(first, first + 10))
    >>> sample.numbers.tolist()
    [28, 29]
    """

    def __init__(self, size: int = SAMPLE_EVENTS, half_life: float = HALF_LIFE) -> None:
        """Start empty."""
        self._size, self._half_life = size, half_life
        self._parts: list[tuple[BatchFrame, I64, I64]] = []  # events, and of those that are kept rows and numbers

    @property
    def numbers(self) -> I64:
        """int64[rows]: the numbers of the events in the sample, in the order in which they were offered."""
        return np.concatenate([np.empty(0, np.int64), *(numbers for _, _, numbers in self._parts)])

    @property
    def frames(self) -> list[Frame]:
        """The events in the sample."""
        return [select_rows(frame, rows) for frame, rows, _ in self._parts]

    def choose(self, numbers: I64) -> I64:
        """Those of new events that would get into the sample, by number."""
        every = np.concatenate([self.numbers, numbers])
        kept = self._best(every)
        return every[kept[kept >= len(every) - len(numbers)]]

    def offer(self, batch: EventBatch, numbers: I64) -> None:
        """Take new events with numbers of their own, which rise from one call to the next."""
        parts = [*self._parts, (BatchFrame(batch), np.arange(batch.rows), numbers)]
        is_kept = np.zeros(sum(len(each) for _, _, each in parts), np.bool_)
        is_kept[self._best(np.concatenate([each for _, _, each in parts]))] = True
        splits = np.split(is_kept, np.cumsum([len(each) for _, _, each in parts])[:-1])
        chosen = [(frame, rows[some], each[some]) for (frame, rows, each), some in zip(parts, splits, strict=True)]
        self._parts = [part for part in chosen if len(part[1])]  # a batch without a row in the sample can go

    def _best(self, numbers: I64) -> I64:
        """int64: the places of the numbers that are kept, rising."""
        if len(numbers) <= self._size:
            return np.arange(len(numbers))
        rank = numbers / self._half_life - np.log2(-np.log(_uniform(numbers)))
        return np.sort(np.argpartition(-rank, self._size)[: self._size])


def _uniform(numbers: I64) -> F64:
    """float64: for each number a uniform one between 0 and 1, by SplitMix64."""
    value = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        value = (value ^ (value >> np.uint64(shift))) * np.uint64(factor)
    value ^= value >> np.uint64(31)
    return ((value >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53


def frames_of(sample: Sample) -> Sequence[Frame]:
    """The events of a sample as frames; none of a sample without events."""
    if isinstance(sample, EventBatch):
        return [BatchFrame(sample)] if sample.rows else []
    return sample or []


def learn_statistics(forest: Forest, sample: Sample) -> Statistics | None:
    """Statistics of the attributes of a forest by a sample; None without one."""
    frames = frames_of(sample)
    if not frames:
        return None
    found = Statistics()
    for attribute in dict.fromkeys(axis.attribute for axis in forest.axes):
        for frame in frames:
            found.learn(attribute, frame.column(attribute))
    return found
