"""The tree shares what paths begin with, gives back what is deleted, and takes events to few of the terms."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from tamis.engines.dynamic.normal_form import TermIndex
from tamis.engines.gryphon import Gryphon
from tamis.events import EventBatch
from tamis.language.condition import compile_condition
from tamis.workloads import generate
from tests.engines.test_engines import Slots, check
from tests.worlds import WORLDS, World, schemaless, world


def built(texts: Sequence[str]) -> TermIndex:
    return Gryphon().build([compile_condition(text).formula for text in texts])


def inserted(texts: Sequence[str]) -> TermIndex:
    """One by one, so that levels are in the order in which attributes are met."""
    index = built([])
    for slot, text in enumerate(texts):
        put(index, slot, text)
    return index


def put(index: TermIndex, slot: int, text: str) -> None:
    """At once: what is inserted without a hurry waits for others."""
    index.insert_many(np.array([slot], np.int32), [compile_condition(text).formula])


def counts(index: TermIndex, *names: str) -> tuple[int, ...]:
    found = index.stats().counts
    return tuple(found[name] for name in names)


@pytest.fixture(params=WORLDS)
def here(request: pytest.FixtureRequest) -> World:
    return world(request.param)


@pytest.mark.slow
def test_random_conditions_on_random_batches(here: World) -> None:
    random_ = random.Random(41)
    conditions = here.accepted(random_, 120)
    index = Gryphon().build([condition.formula for condition in conditions])
    for rows in (1, 17, 50):
        check(index, dict(enumerate(conditions)), here.batch(random_, rows))


@pytest.mark.slow
def test_random_inserts_and_deletes(here: World) -> None:
    random_ = random.Random(42)
    stock = here.accepted(random_, 80)
    batch = here.batch(random_, 15)
    index = built([])
    slots: Slots = {}
    for turn in range(200):
        if slots and random_.random() < 0.45:
            slot = random_.choice([*slots])
            index.delete(slot)
            del slots[slot]
        else:
            slot = next(place for place in range(len(slots) + 1) if place not in slots)
            slots[slot] = random_.choice(stock)
            index.insert(slot, slots[slot].formula)
        if turn % 40 == 0:
            check(index, slots, batch)
    check(index, slots, batch)
    index.delete_many(np.array([*slots], np.int32))
    check(index, {}, batch)
    assert counts(index, "conjunctions", "nodes", "tests", "edges", "predicates") == (0, 1, 0, 0, 0)


def test_many_equalities_come_and_go() -> None:
    """Enough of them for the table to grow, and for nodes to be used again."""
    random_ = random.Random(43)
    stock = [
        compile_condition(
            " AND ".join(f"{name} = {random_.randrange(4)}" for name in random_.sample("abcde", count))
        )
        for count in random_.choices([1, 2, 3, 4], k=250)
    ]
    index = Gryphon().build([condition.formula for condition in stock])
    slots = dict(enumerate(stock))
    batch = EventBatch.of([{name: random_.randrange(4) for name in "abcd"} for _ in range(8)])
    check(index, slots, batch)
    most = index.stats()
    for _ in range(2):
        gone = random_.sample(range(250), 120)
        index.delete_many(np.array(gone, np.int32))
        check(index, {slot: each for slot, each in slots.items() if slot not in gone}, batch)
        for slot in gone:
            index.insert(slot, stock[slot].formula)
        check(index, slots, batch)
        again = index.stats()
        assert again.counts == most.counts
        assert [again.bytes[name] for name in ("nodes", "tests")] == [
            most.bytes[name] for name in ("nodes", "tests")
        ]


def test_equal_beginnings_share_nodes() -> None:
    index = inserted(
        ["a = 1 AND b = 1 AND c = 1", "c = 2 AND b = 1 AND a = 1", "b = 1 AND a = 1", "a = 2 AND b = 1"]
    )
    # The root, a=1, a=1 b=1, a=1 b=1 c=1, a=1 b=1 c=2, a=2, a=2 b=1; one test each but for the ends.
    assert counts(index, "nodes", "tests", "edges") == (7, 4, 6)
    assert counts(index, "predicates") == (5,)
    index.delete(0)
    assert counts(index, "nodes", "tests", "edges") == (6, 4, 5)
    index.delete(1)
    assert counts(index, "nodes", "tests", "edges") == (5, 3, 4)


def test_dont_care_edges_join_the_tests_of_a_node() -> None:
    index = inserted(["a = 1 AND b = 1 AND c = 1", "c = 1", "b = 1"])
    # At the root there are tests of a, b and c, and two edges between them.
    assert counts(index, "levels", "nodes", "tests", "edges") == (3, 6, 5, 7)
    assert index.match(EventBatch.of([{"b": 1, "c": 1}])).slots.tolist() == [1, 2]
    index.delete(2)
    assert counts(index, "levels", "nodes", "tests", "edges") == (3, 5, 4, 5)
    assert index.match(EventBatch.of([{"b": 1, "c": 1}])).slots.tolist() == [1]


def test_attributes_with_most_equalities_come_first() -> None:
    texts = ["b = 1 AND a = 1", "b = 1 AND a = 2", "b = 1 AND a = 3", "b = 1"]
    assert counts(built(texts), "nodes") == (5,), "b, and three of a below it"
    texts = [text.replace("a", "z") for text in texts]
    assert counts(built(texts), "nodes") == (5,)


def test_terms_at_the_root() -> None:
    index = built(["NULL IS NULL", "a > 3", "FALSE", "a = 1"])
    assert counts(index, "subscriptions", "conjunctions", "always") == (4, 3, 1)
    assert sorted(index.match(EventBatch.of([{"a": 5}])).slots.tolist()) == [0, 1]


def test_an_attribute_with_two_values_never_holds() -> None:
    """Conjunctions may contradict themselves: the second value is checked at the end of the path."""
    texts = ["AT_LEAST(2, a = 1, a = 2, b = 1)", "(a = 1 OR b = 2) AND (a = 2 OR b = 1)"]
    conditions = [compile_condition(text) for text in texts]
    events = [{"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 2, "b": 2}, {"a": 1}, {"b": 1}]
    check(built(texts), dict(enumerate(conditions)), EventBatch.of(events))


def naive_plain_nodes(paths: Sequence[dict[int, int]], levels: int) -> int:
    """Of a tree with an edge at each level of each path; a node is known by the edges that lead to it."""
    found: set[tuple[int, ...]] = {()}
    for path in paths:
        edges = tuple(path.get(level, -1) for level in range(levels))
        found |= {edges[:length] for length in range(levels + 1)}
    return len(found)


def test_nodes_of_a_plain_tree() -> None:
    random_ = random.Random(44)
    index = inserted(["a0 = 9 AND a1 = 9 AND a2 = 9 AND a3 = 9 AND a4 = 9"])
    paths = [dict.fromkeys(range(5), 9)]
    assert counts(built([]), "plain nodes") == (1,)
    for slot in range(1, 80):
        path = {level: random_.randrange(3) for level in random_.sample(range(5), random_.randrange(1, 5))}
        put(index, slot, " AND ".join(f"a{a} = {v}" for a, v in path.items()))
        paths.append(path)
        assert counts(index, "plain nodes") == (naive_plain_nodes(paths, 5),)


@pytest.mark.slow
def test_events_visit_few_nodes() -> None:
    data = generate("equality", subscriptions=1_000, events=20, seed=3, attributes=6, equalities=3, values=8)
    conditions = [compile_condition(text, data.event_type) for text in data.conditions.to_pylist()]
    index = Gryphon().build([condition.formula for condition in conditions])
    batch = EventBatch.of(data.events, data.event_type)
    check(index, dict(enumerate(conditions)), batch)
    work = index.work()
    assert work["candidates"] == work["conjunctions"] > 0, "there is nothing to check at the end of a path"
    assert work["held"] == 20 * 6
    assert work["nodes"] + work["tests"] < 20 * 1_000 / 5
    assert set(index.work().values()) == {0}


def test_the_work_of_one_event() -> None:
    index = inserted(["a = 1 AND b = 1", "a = 1 AND c > 3", "b = 1 AND c > 5", "d = 1"])
    assert index.match(EventBatch.of([{"a": 1, "b": 1, "c": 4}])).slots.tolist() == [1, 0]
    # The root, a=1, a=1 b=1 and b=1; tests of a, b and d at the root and of b below a=1.
    assert index.work() == {"held": 3, "nodes": 4, "tests": 4, "candidates": 3, "conjunctions": 2}


def test_bytes_are_given_by_structure() -> None:
    random_ = random.Random(45)
    conditions = schemaless().accepted(random_, 50)
    sizes = Gryphon().build([condition.formula for condition in conditions]).stats().bytes
    wanted = {"nodes", "tests", "value edges", "ends of paths", "residues", "levels", "slots"}
    assert wanted <= set(sizes)
    assert all(sizes[name] > 0 for name in wanted)
