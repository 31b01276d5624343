"""An event visits the partitions and halves around its values only."""

from __future__ import annotations

from tamis.events import EventBatch
from tests.engines.naive import check
from tests.lab.baselines.betree.trees import NUMBERS, built, formulas_of


def test_an_event_visits_what_lies_around_its_values() -> None:
    texts = [f"a = {number}" for number in range(512)]
    index = built(texts, 8)
    batch = EventBatch.of([{"a": 77}, {"b": 77}, {"a": -5, "b": 1}], NUMBERS)
    assert check(index, formulas_of(texts), batch) == 1
    done = index.work()
    assert done["conjunctions"] == 1
    assert done["looked at"] <= 3 * 16
    assert done["nodes"] < 3 * 12
    assert set(index.work().values()) == {0}
