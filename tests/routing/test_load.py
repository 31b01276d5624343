"""Entries are generalised to where filtering and events in vain cost least, if filtering costs anything."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tamis.routing.load import Load, LoadCutOff


def link_cutoff() -> LoadCutOff:
    """As for a link."""
    return LoadCutOff(0.001, highest=7, least_events=500)


def run(
    cutoff: LoadCutOff, cost: Callable[[int], tuple[float, float]], handshakes: int = 60, late: int = 0
) -> int:
    """Let a neighbour say what 1,000 events cost, seconds and share in vain by the step; gives the last step.

    Args:
        cutoff: To be told.
        cost: By the step: the seconds of an event, and the share of events that go in vain; one in ten is useful.
        handshakes: How often it is told.
        late: How many handshakes pass until the events of one are answered.
    """
    said, waiting = Load(), list[tuple[int, int]]()
    for _ in range(handshakes):
        seconds, vain = cost(cutoff.step)
        in_vain = round(1_000 * vain)
        waiting.append((in_vain + 100, in_vain))
        answered, of_them_in_vain = waiting.pop(0) if len(waiting) > late else (0, 0)
        said = Load(
            events=said.events + 1_000,
            seconds=said.seconds + 1_000 * seconds,
            forwarded=said.forwarded + in_vain + 100,
            answered=said.answered + answered,
            in_vain=said.in_vain + of_them_in_vain,
        )
        cutoff.observe(said, seconds_there=0.001)
    return cutoff.step


@pytest.mark.parametrize("late", [0, 1, 5])
@pytest.mark.parametrize("best", [0, 3, 7])
def test_it_finds_the_least_cost(best: int, late: int) -> None:
    def cost(step: int) -> tuple[float, float]:
        return 0.001 + 0.001 * max(0, best - step), 0.4 * max(0, step - best)

    assert run(link_cutoff(), cost, 200, late) == best


def test_it_follows_events_that_change() -> None:
    cutoff = link_cutoff()
    assert run(cutoff, lambda step: (0.01 / (step + 1), 0.0)) == 7
    assert run(cutoff, lambda step: (0.001, 0.3 * step)) == 0


def test_few_events_and_a_service_that_was_started_again_say_nothing() -> None:
    cutoff = link_cutoff()
    for events in (0, 100, 300, 499):
        cutoff.observe(Load(events=events, seconds=0.001 * events), 0.001)
    assert cutoff.step == 0
    cutoff.observe(Load(events=600, seconds=0.6), 0.001)
    assert cutoff.step == 1
    cutoff.observe(Load(events=700, seconds=0.7), 0.001)
    cutoff.observe(Load(events=5), 0.001)
    assert cutoff.step == 1


def test_no_step_is_tried_where_filtering_is_cheap() -> None:
    """A millisecond for an event, and microseconds to filter it, which vary by half: nothing can be saved."""
    chance, steps = random.Random(3), set[int]()

    def cost(step: int) -> tuple[float, float]:
        steps.add(step)
        return 30e-6 * chance.uniform(0.5, 1.5), 0.01 * step

    cutoff = link_cutoff()
    assert run(cutoff, cost, 500) == 0
    assert (steps, cutoff.is_worth_it) == ({0}, False)


def test_it_is_tried_once_filtering_gets_expensive() -> None:
    cutoff = link_cutoff()
    assert run(cutoff, lambda step: (30e-6, 0.0)) == 0
    assert run(cutoff, lambda step: (0.004 / (1 + step), 0.0)) > 2
