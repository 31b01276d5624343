"""Each attribute may have a structure of its own."""

from __future__ import annotations

import random

import pytest

from tamis.events import EventBatch, EventType
from tamis.lab.mishra_sahni.buckets import Buckets, Structure
from tamis.language.condition import compile_condition
from tests.engines.naive import check


def test_structures_by_attribute() -> None:
    event_type = EventType.from_dict({"name": "t", "attributes": {"a": "bigint", "b": "bigint", "s": "string"}})
    random_ = random.Random(4)
    texts = [f"a > {random_.randrange(100)}" for _ in range(50)]
    texts += [f"b BETWEEN {low} AND {low + 7}" for low in range(50)]
    texts += [f"s LIKE '%{random_.randrange(30)}%'" for _ in range(50)]
    formulas = [compile_condition(text, event_type).formula for text in texts]
    events = [{"a": value, "b": value // 2, "s": f"x{value}"} for value in range(0, 100, 7)]
    batch = EventBatch.of(events, event_type)
    steps = []
    for structures in ({"a": "it-node", "b": "rbpst-range"}, {"a": "rbpst-range", "b": "it-range"}, {}):
        index = Buckets(5, structures=structures).build(formulas)  # type: ignore[arg-type]
        assert check(index, formulas, batch) > 100
        steps.append(index.work()["steps"])
    assert len(set(steps)) == 3


@pytest.mark.parametrize("structure", ["it-node", "it-range", "rbpst-range", "rbpst-hull"])
def test_the_order_of_insertion_does_not_spoil_a_tree(structure: Structure) -> None:
    numbers = EventType.from_dict({"name": "numbers", "attributes": {"x": "bigint"}})
    forest = [
        compile_condition(f"x BETWEEN {low} AND {low + 20}", numbers).formula for low in range(0, 20_000, 10)
    ]
    batch = EventBatch.of([{"x": value} for value in range(5, 20_000, 500)], numbers)
    shuffled = random.Random(1).sample(forest, len(forest))
    looks = []
    for formulas in (shuffled, forest, forest[::-1]):
        index = Buckets(4, structure).build(formulas)
        index.work()
        index.match(batch)
        looks.append(index.work()["entries"])
    assert max(looks[1:]) < 3 * looks[0]
