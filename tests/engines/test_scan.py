"""`scan` on batches that it splits."""

from __future__ import annotations

import random

import pytest

from tamis.engines import scan
from tamis.engines.scan import Scan
from tests.engines.naive import check
from tests.worlds import WORLDS, world


@pytest.mark.parametrize("name", WORLDS)
def test_a_batch_in_several_parts(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Masks stay small; quantifiers and computed attributes see only their part."""
    random_ = random.Random(36)
    formulas = [condition.formula for condition in world(name).accepted(random_, 50)]
    monkeypatch.setattr(scan, "MASK_BYTES", 1)
    monkeypatch.setattr(scan, "MIN_ROWS", 7)
    check(Scan().build(formulas), formulas, world(name).batch(random_, 40))


def test_slots_are_emptied_and_used_again() -> None:
    random_ = random.Random(37)
    formulas = [condition.formula for condition in world("typed").accepted(random_, 20)]
    index = Scan().build(formulas)
    batch = world("typed").batch(random_, 20)
    index.delete(3)
    index.insert(3, formulas[7])
    check(index, [*formulas[:3], formulas[7], *formulas[4:]], batch)
    assert index.stats().counts["subscriptions"] == 20
