"""The cut-off of a link goes where filtering and forwards in vain together cost least, and follows changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tamis.service.peers.cutoff import LinkCutOff, Load
from tests.service.living import until
from tests.service.peers.chains import are_linked, sites_in


def run(cutoff: LinkCutOff, cost: Callable[[int], tuple[float, float]], handshakes: int = 60) -> int:
    """Let a neighbour say what 1,000 events cost, seconds and share in vain by the step; gives the last step."""
    said = Load()
    for _ in range(handshakes):
        seconds, vain = cost(cutoff.step)
        said = Load(
            events=said.events + 1_000,
            seconds=said.seconds + 1_000 * seconds,
            in_vain=said.in_vain + round(1_000 * vain),
        )
        cutoff.observe(said, seconds_here=0.001)
    return cutoff.step


@pytest.mark.parametrize("best", [0, 3, 7])
def test_it_finds_the_least_cost(best: int) -> None:
    def cost(step: int) -> tuple[float, float]:
        return 0.001 + 0.001 * max(0, best - step), 0.4 * max(0, step - best)

    assert run(LinkCutOff(), cost) == best


def test_it_follows_events_that_change() -> None:
    cutoff = LinkCutOff()
    assert run(cutoff, lambda step: (0.01 / (step + 1), 0.0)) == 7
    assert run(cutoff, lambda step: (0.001, 0.3 * step)) == 0


def test_few_events_and_a_service_that_was_started_again_say_nothing() -> None:
    cutoff = LinkCutOff()
    for events in (0, 100, 300, 499):
        cutoff.observe(Load(events=events, seconds=1.0), 0.001)
    assert cutoff.step == 0
    cutoff.observe(Load(events=600, seconds=1.0), 0.001)
    assert cutoff.step == 1
    cutoff.observe(Load(events=700, seconds=1.0), 0.001)
    cutoff.observe(Load(events=5), 0.001)
    assert cutoff.step == 1


@pytest.mark.slow
def test_handshakes_tell_how_far_entries_go(tmp_path: Path) -> None:
    with sites_in(tmp_path, "a", "b", link_cutoff=True) as (a, b):
        a.link_to(b)
        are_linked(a, b)
        for number in range(40):
            b.subscribe(f"s{number}", f"title = 'book {number}' AND price < {number % 7}")
        until(lambda: a.peer("b")["entries_in"] == 40)
        exact = a.peer("b")["entries_in_bytes"]
        for events in (1_000, 2_000):
            said = a.site.introduction("b").model_copy(update={"load": Load(events=events, seconds=1.0)})
            b.site.agree("a", said)
        assert b.peer("a")["halvings"] == 1
        entries = b.site.wanted_entries("a", set())[1]
        assert entries.bytes <= exact / 2 and not entries.is_over_budget
