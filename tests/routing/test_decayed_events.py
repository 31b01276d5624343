"""A sample of events in which older ones have half the chance, whatever is asked for in which steps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tamis import EventBatch
from tamis.arrays import I64
from tamis.engines.forest import forest_of
from tamis.language.condition import normalise
from tamis.routing.decayed_events import DecayedEvents, frames_of, learn_statistics
from tamis.routing.generalisation import generalise


def events_of(numbers: I64) -> EventBatch:
    return EventBatch.of([{"n": number} for number in numbers.tolist()])


def test_the_chance_is_halved_with_every_half_life() -> None:
    sample = DecayedEvents(size=2_000, half_life=1_000.0)
    sample.offer(events_of(np.arange(20_000)), np.arange(20_000))
    ages = np.bincount((19_999 - sample.numbers) // 1_000, minlength=20)
    # Of the newest thousand, nearly all are wanted; then each thousand has about half of the one before.
    assert ages.sum() == 2_000
    assert ages[0] > 700
    for newer, older in pairwise(ages[2:6].tolist()):
        assert 0.35 < older / newer < 0.65


@given(st.lists(st.integers(1, 60), min_size=1, max_size=6), st.integers(1, 40))
def test_a_sample_depends_on_the_numbers_alone(steps: list[int], size: int) -> None:
    total = sum(steps)
    whole, gradual = DecayedEvents(size, 16.0), DecayedEvents(size, 16.0)
    whole.offer(events_of(np.arange(total)), np.arange(total))
    for last, count in zip(np.cumsum(steps).tolist(), steps, strict=True):
        new = np.arange(last - count, last)
        chosen = gradual.choose(new)
        gradual.offer(events_of(chosen), chosen)
    assert gradual.numbers.tolist() == whole.numbers.tolist()
    assert len(whole.numbers) == min(size, total)


def test_a_batch_or_rows_of_several_say_the_same() -> None:
    batches = [EventBatch.of([{"a": n % 50, "b": n % 3} for n in range(first, first + 100)]) for first in (0, 100)]
    sample = DecayedEvents(200)
    for first, batch in zip((0, 100), batches, strict=True):
        sample.offer(batch, np.arange(first, first + 100))
    whole = EventBatch.of([{"a": n % 50, "b": n % 3} for n in range(200)])
    forest = forest_of([normalise(f"a = {n} AND b = {n % 3}") for n in range(30)])
    for measure in ("accuracy", "occurrence"):
        found = generalise(forest, 900, measure, None, sample.frames)
        assert found.formulas == generalise(forest, 900, measure, None, whole).formulas
    statistics = learn_statistics(forest, sample.frames)
    assert statistics is not None
    assert len(statistics) == 2
    assert learn_statistics(forest, None) is None
    assert frames_of(EventBatch.of([])) == []
