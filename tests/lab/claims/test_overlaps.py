"""Overlap of subscriptions and advertisements, asked in two ways that must agree."""

from __future__ import annotations

import pytest

from tamis.lab.claims.overlaps import Auctions, Effort, answers, auctions, filed, in_turn, is_part
from tamis.language.condition import normalise
from tamis.routing.overlap import OverlapIndex
from tamis.routing.trees import tree_size

EFFORT = Effort(20, 10, 1)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def given() -> Auctions:
    return auctions(60, 40, 300)


def test_a_decision_that_is_wrong_is_noticed(given: Auctions, monkeypatch: pytest.MonkeyPatch) -> None:
    index = filed(given.advertisements, given.event_type)
    found = answers(index, given.name, given.subscriptions[:6], EFFORT)
    assert found.share == sum(map(len, found.found)) / (6 * 40)
    monkeypatch.setattr(OverlapIndex, "overlaps", lambda *_: False)
    with pytest.raises(SystemExit, match="decisions"):
        answers(index, given.name, given.subscriptions[:6], EFFORT)


def test_lists_are_compared_place_by_place() -> None:
    assert is_part([["a"], []], [["b", "a"], ["a"]])
    assert not is_part([["a"], ["b"]], [["a", "b"], ["a"]])


def test_classes_take_turns(given: Auctions) -> None:
    leaves = [tree_size(each).leaves for each in given.subscriptions[:9]]
    assert leaves == [6, 7, 12] * 3
    texts = ["a = 1", "a = 2", "a = 3 AND b = 1"]
    found = [each.describe() for each in in_turn(map(normalise, texts))]
    assert found == ["a = 1", "a = 3 AND b = 1", "a = 2"]
