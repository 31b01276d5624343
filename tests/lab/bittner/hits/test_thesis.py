"""Worked examples of Bittner's thesis (2008): 4.4 to 4.6 and 5.1, byte for byte and hit for hit."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from tamis.engines.conjunctions.dnf import conjunctions_of
from tamis.engines.forest import forest_of
from tamis.events import EventBatch, EventType
from tamis.lab.baselines.counting import Counting
from tamis.lab.bittner.hits import Hits, HitsIndex
from tamis.lab.workloads import generate
from tamis.lab.workloads.auction import CLASSES
from tamis.language.condition import Condition, compile_condition

EVENT_TYPE: EventType = generate("auction", subscriptions=1, events=1).event_type
CONDITIONS = (
    CLASSES[0].format(title="Harry Potter", p4="15.00", p5="12.00"),
    CLASSES[1].format(title="Harry Potter", p6="25.00", p7="20.00", p10="15.00", p11="10.00"),
    CLASSES[2].format(category="Literature Ancient", author="JK Rowling"),
)
EVENT: dict[str, Any] = {
    "id": "e1",
    "category": "Fantasy",
    "format": "softcover",
    "special": "unspecified",
    "condition": "used",
    "buy_it_now": False,
    "price": Decimal("11.00"),
    "ending_within": 360,
    "bids": 0,
    "title": "THarry Potter",
    "author": "AJK Rowling",
}
PLAIN = Hits(ordered=False, semantic=False, weighted=False)


def subscription(number: int) -> Condition:
    return compile_condition(CONDITIONS[number], EVENT_TYPE)


def index_of(engine: Hits, *numbers: int) -> HitsIndex:
    return engine.build([subscription(number).formula for number in numbers])


def leaf(number: int) -> list[int]:
    return [4, number, 0, 0, 0]


def test_example_4_4_the_encoding_of_class_1() -> None:
    """Numbers are given in the order of leaves; the thesis numbers them breadth first, and from 1."""
    p1, p3, p4, p5, p6, p2 = map(leaf, range(6))
    wanted = [1, 3, *p1, 2, 2, 1, 2, *p3, *p4, 1, 2, *p5, *p6, *p2]
    assert len(wanted) == 38
    assert list(index_of(PLAIN, 0).tree(0)) == wanted


def test_the_encoding_of_class_2() -> None:
    """Two leaves say "new" and two say "used"; each time it is the same predicate."""
    p1, p3, new, p6, p7, used, p4, p10, p11, p2 = map(leaf, range(10))
    hard = [1, 2, *p3, 2, 2, 1, 2, *new, *p6, 1, 2, *p7, *used]
    soft = [1, 2, *p4, 2, 2, 1, 2, *new, *p10, 1, 2, *p11, *used]
    wanted = [1, 3, *p1, 2, 2, *hard, *soft, *p2]
    assert len(wanted) == 80
    assert list(index_of(PLAIN, 1).tree(0)) == wanted


def test_the_encoding_of_class_3() -> None:
    p1, p2, p3, p6, signed, p4 = map(leaf, range(6))
    wanted = [1, 2, 2, 2, *p1, *p2, 2, 2, 1, 2, *p3, 2, 2, *p6, *signed, 1, 2, *p4, *signed]
    assert len(wanted) == 47
    assert list(index_of(PLAIN, 2).tree(0)) == wanted


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(("number", "leaves", "operators"), [(0, 6, 4), (1, 12, 10), (2, 7, 6)])
def test_lengths(number: int, leaves: int, operators: int, ordered: bool) -> None:
    plain = index_of(Hits(ordered=ordered), number)
    assert len(plain.tree(0)) == 5 * leaves + 2 * operators
    widths = index_of(Hits(ordered=ordered, encoding="widths"), number)
    assert len(widths.tree(0)) == 5 * leaves + 2 * operators + 4 * (leaves + operators - 1)


def test_an_order_by_likelihood_keeps_what_a_tree_says() -> None:
    """An AND begins with what fails for little: 1 of 20 titles, a third of all times, four leaves of an OR."""
    p1, new, p4, p5, used, p2 = map(leaf, range(6))
    alternatives = [2, 2, 1, 2, *new, *p4, 1, 2, *used, *p5]
    assert list(index_of(Hits(), 0).tree(0)) == [1, 3, *p1, *p2, *alternatives]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("semantic", "wanted"), [(False, [4, 5, 3]), (True, [4, 6, 3])])
def test_example_4_5_how_many_hits_are_needed(
    ordered: bool, weighted: bool, semantic: bool, wanted: list[int]
) -> None:
    """Semantically a book that is new or used gives two hits to class 2, of which one counts (4.5.5)."""
    index = index_of(Hits(ordered=ordered, weighted=weighted, semantic=semantic), 0, 1, 2)
    assert [index.required_hits(slot) for slot in range(3)] == wanted


@pytest.mark.parametrize(("number", "hits", "candidates", "matches"), [(0, 5, 1, 1), (1, 8, 1, 0), (2, 2, 0, 0)])
def test_example_4_6_one_by_one(number: int, hits: int, candidates: int, matches: int) -> None:
    index = index_of(PLAIN, number)
    found = index.match(EventBatch.of([EVENT], EVENT_TYPE))
    assert len(found.rows) == matches
    done = index.work()
    assert {name: done[name] for name in ("hits", "candidates", "matches")} == {
        "hits": hits,
        "candidates": candidates,
        "matches": matches,
    }
    assert set(index.work().values()) == {0}, "it is asked since the last time"


@pytest.mark.parametrize(("weighted", "semantic"), [(False, False), (True, False), (False, True), (True, True)])
def test_example_4_6_together(weighted: bool, semantic: bool) -> None:
    """s1 and s2 are candidates, s1 matches; neither gates nor 6 needed hits of 8 spare anything here."""
    index = index_of(Hits(ordered=False, weighted=weighted, semantic=semantic), 0, 1, 2)
    found = index.match(EventBatch.of([EVENT], EVENT_TYPE))
    assert list(zip(found.rows.tolist(), found.slots.tolist(), strict=True)) == [(0, 0)]
    done = index.work()
    assert (done["hits"], done["candidates"], done["matches"]) == (15, 2, 1)


def test_without_the_gate_nothing_is_a_candidate() -> None:
    """Another title: s1 has 4 hits, s2 has 7, and both are candidates unless the title weighs more."""
    batch = EventBatch.of([EVENT | {"title": "TThe Hobbit"}], EVENT_TYPE)
    for weighted, candidates in ((False, 2), (True, 0)):
        index = index_of(Hits(ordered=False, semantic=False, weighted=weighted), 0, 1, 2)
        assert len(index.match(batch).rows) == 0
        done = index.work()
        assert (done["hits"], done["candidates"]) == (13, candidates)


def test_class_3_has_a_gate_of_two() -> None:
    """Signed, ending soon and without bids: four or five hits, but neither the category nor the author."""
    event = EVENT | {"special": "signed", "ending_within": 30, "buy_it_now": True}
    for author, candidates in (("AJK Rowling", 1), ("AJRR Tolkien", 0)):
        index = index_of(Hits(ordered=False), 2)
        found = index.match(EventBatch.of([event | {"author": author}], EVENT_TYPE))
        assert (len(found.rows), index.work()["candidates"]) == (candidates, candidates)


@pytest.mark.parametrize(
    ("number", "conjunctions", "converted", "leaves"), [(0, 2, 8, 6), (1, 4, 20, 12), (2, 6, 18, 7)]
)
def test_example_5_1_what_conversion_makes(number: int, conjunctions: int, converted: int, leaves: int) -> None:
    """Counters are a byte a conjunction, or a byte a subscription; a tree has a place in four bytes."""
    forest = forest_of([subscription(number).formula])
    assert len(conjunctions_of(forest).leaves) == converted
    assert np.count_nonzero(forest.nodes.children < 0) == leaves
    counting = Counting().build(forest).stats()
    assert counting.counts["conjunctions"] == conjunctions
    assert counting.bytes["needed hits"] == counting.bytes["hits"] == conjunctions
    index = PLAIN.build(forest)
    sizes = index.stats().bytes
    assert (sizes["needed hits"], sizes["hits"], sizes["locations"]) == (1, 1, 4)
    assert sizes["trees"] == -(-len(index.tree(0)) // 8) * 8, "trees begin at multiples of 8"
