"""Advertisements and subscriptions are pruned step by step, and no overlap is lost."""

from __future__ import annotations

import pytest

from tamis.lab.claims.overlaps import Answers, Auctions, Effort, auctions
from tamis.lab.claims.pruned_advertisements import Step, at, largest, levels, pruned, shares

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def given() -> Auctions:
    return auctions(60, 40, 300)


def step(removed: float, share: float) -> Step:
    return Step(removed, Answers([], share, 1.0, 2.0, 1.0))


def test_curves_are_read() -> None:
    steps = [step(0.0, 0.4), step(0.2, 0.5), step(0.6, 0.59), step(0.7, 0.7), step(0.8, 0.55)]
    assert largest(shares(steps), 0.5) == 0.2
    assert largest(shares(steps), 0.3) == 0.0
    assert at(steps, 0.1, "share") == pytest.approx(0.45)
    assert at(steps, 1.0, "share") == 0.55


def test_pruning_advertisements_removes_more_and_more_and_loses_no_overlap(given: Auctions) -> None:
    steps = pruned(given, given.subscriptions, Effort(20, 10, 1), 4)
    removed = [each.removed for each in steps]
    assert removed[0] == 0 and removed == sorted(set(removed)) and removed[-1] > 0.7
    found = [each.answers.share for each in steps]
    assert found == sorted(found)
    assert steps[-1].answers.candidates < steps[0].answers.candidates


def test_subscriptions_are_pruned_as_far_as_asked(given: Auctions) -> None:
    found = levels(given, (0.0, 0.3, 1.0))
    assert found[0].removed == 0 and found[0].subscriptions == given.subscriptions
    assert 0.3 <= found[1].removed < 0.4
    assert found[2].removed > 0.8
    assert all(len(each.subscriptions) == len(given.subscriptions) for each in found)
