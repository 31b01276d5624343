"""Predicates that come and go are found by the events that satisfy them, and equal ones are one."""

from __future__ import annotations

import random

import pytest

from tamis.engines.forest import forest_of
from tamis.events import EventBatch
from tamis.formulas.formula import leaf
from tamis.formulas.predicates.base import Predicate
from tamis.frames import BatchFrame
from tamis.lab.dynamic.kernels.predicates import release_predicate, satisfied_buffer, satisfied_in
from tamis.lab.dynamic.predicate_index import PredicateIndex
from tamis.language.bulk import compile_conditions
from tamis.language.condition import compile_condition
from tests.worlds import WORLDS, world


def satisfied(index: PredicateIndex, batch: EventBatch) -> list[list[int]]:
    event = index.encode(BatchFrame(batch))
    room = satisfied_buffer(index.predicates)
    return [
        sorted(room[: satisfied_in(index.predicates, *event, row, room)].tolist())
        for row in range(event.encoded.rows)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_random_predicates_come_and_go(name: str) -> None:
    here = world(name)
    random_ = random.Random(5)
    stock: list[Predicate] = []
    for condition in here.accepted(random_, 150):
        stock += condition.formula.predicates()
    batch = here.batch(random_, 12)
    frame = BatchFrame(batch)
    index = PredicateIndex()
    living: dict[int, tuple[Predicate, int]] = {}
    for turn in range(60):
        if living and random_.random() < 0.45:
            for number in random_.sample([*living], min(5, len(living))):
                predicate, uses = living.pop(number)
                assert release_predicate(index.predicates, number) == (uses == 1)
                if uses > 1:
                    living[number] = predicate, uses - 1
            index.drop_unused_tests()
        else:
            some = random_.choices(stock, k=8)
            forest = forest_of([leaf(each) for each in some])
            numbers = index.intern(forest)
            for number, each in zip(numbers[~forest.roots].tolist(), some, strict=True):
                known = living.get(number, (each, 0))
                assert leaf(known[0]) == leaf(each)
                living[number] = each, known[1] + 1
        assert len(index) == len(living)
        if turn % 6 == 0:
            masks = {number: each.mask(frame) for number, (each, _) in living.items()}
            wanted = [sorted(n for n, mask in masks.items() if mask[row]) for row in range(12)]
            assert satisfied(index, batch) == wanted
    for number, (_, uses) in living.items():
        for _ in range(uses):
            release_predicate(index.predicates, number)
    assert len(index) == 0
    assert satisfied(index, batch) == [[] for _ in range(12)]


def test_cuts_in_an_order_that_fills_every_gap() -> None:
    """Each text falls between the two before it, so that labels run out again and again."""
    texts = []
    index = PredicateIndex()
    numbers = []
    for turn in range(300):
        middle = f"{'a' * turn}{'b' if turn % 2 else 'm'}"
        texts.append(middle)
        forest = forest_of([compile_condition(f"s > '{middle}'").formula])
        numbers += index.intern(forest).tolist()
    assert len(set(numbers)) == len(set(texts)) == 300
    values = [*random.Random(1).sample(texts, 20), "", "z", "a"]
    found = satisfied(index, EventBatch.of([{"s": value} for value in values]))
    for value, here in zip(values, found, strict=True):
        assert here == sorted(n for n, text in zip(numbers, texts, strict=True) if value > text)


def test_sets_of_texts_compiled_in_bulk() -> None:
    """The pieces of such a forest do not stand in the order of its leaves."""
    texts = [
        f"s IN ({', '.join(repr(f'w{(k * 7 + j) % 31}') for j in range(1 + k % 4))}) AND a = {k}"
        for k in range(150)
    ]
    texts += [f"t IN ('x{k % 5}', 'y') OR s IN ('w{k % 31}', 'q')" for k in range(100)]
    forest = forest_of(compile_conditions(texts))
    index = PredicateIndex()
    numbers = index.intern(forest)
    batch = EventBatch.of([{"s": f"w{k}", "t": f"x{k % 7}", "a": k} for k in range(31)])
    frame = BatchFrame(batch)
    masks = [forest.predicate(place).mask(frame) for place in range(len(numbers))]
    for row, found in enumerate(satisfied(index, batch)):
        assert found == sorted({int(numbers[place]) for place, mask in enumerate(masks) if mask[row]})
