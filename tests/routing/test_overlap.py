from __future__ import annotations

import random
from itertools import product

import pytest

from tamis.formulas.formula import FALSE, TRUE, Formula, at_least, conjunction, disjunction
from tamis.lab.bittner.overlap import ConjunctiveIndex
from tamis.language.condition import normalise
from tamis.routing.overlap import OverlapIndex
from tests.lab.bittner.goblet import ADVERTISEMENT, SUBSCRIPTION
from tests.lab.bittner.small_worlds import SMALL, formula, masks

pytestmark = pytest.mark.usefixtures("form")


def drawn(seed: int, count: int) -> list[Formula]:
    random_ = random.Random(seed)
    return [formula(random_) for _ in range(count)]


def filed(formulas: list[Formula], *, domains: bool = True, most_terms: int = 1_000) -> OverlapIndex:
    index = OverlapIndex([SMALL] if domains else [], most_terms=most_terms)
    for number, each in enumerate(formulas):
        index.add(str(number), "small", each)
    return index


def pairs(index: ConjunctiveIndex | OverlapIndex, formulas: list[Formula]) -> set[tuple[int, int]]:
    return {(row, int(name)) for row, each in enumerate(formulas) for name in index.overlapping("small", each)}


def true_pairs(left: list[Formula], right: list[Formula]) -> set[tuple[int, int]]:
    """By asking every event that there can be."""
    lefts, rights = masks(left), masks(right)
    return {(i, j) for i, j in product(range(len(left)), range(len(right))) if (lefts[i] & rights[j]).any()}


def test_the_example_of_the_thesis() -> None:
    index = OverlapIndex()
    index.add("s1", "book", SUBSCRIPTION)
    assert index.overlapping("book", ADVERTISEMENT) == ["s1"]
    assert index.overlaps("book", ADVERTISEMENT)
    # Of the four predicates that must hold, four are left without the second set: it is a candidate.
    assert index.candidates == 2


def test_the_example_of_the_thesis_the_other_way_round() -> None:
    index = OverlapIndex()
    index.add("a3", "book", ADVERTISEMENT)
    assert index.overlapping("book", SUBSCRIPTION) == ["a3"]
    assert index.overlapping("book", normalise("price < 11")) == []
    assert index.overlapping("book", normalise("price < 12 AND condition = 'new'")) == []


def test_other_event_types_never_overlap() -> None:
    index = OverlapIndex()
    index.add("s1", "book", SUBSCRIPTION)
    index.add("s2", "film", SUBSCRIPTION)
    assert index.overlapping("film", ADVERTISEMENT) == ["s2"]
    assert index.overlapping("song", TRUE) == []
    assert not index.overlaps("song", TRUE)


def test_constants() -> None:
    index = OverlapIndex()
    for name, each in (("true", TRUE), ("false", FALSE), ("some", normalise("a = 1"))):
        index.add(name, "small", each)
    assert index.overlapping("small", TRUE) == ["true", "some"]
    assert index.overlapping("small", FALSE) == []
    assert index.overlapping("small", normalise("a = 2")) == ["true"]


@pytest.mark.slow
@pytest.mark.parametrize("domains", [False, True])
def test_no_overlap_is_missed_and_few_are_made_up(domains: bool) -> None:
    left, right = drawn(1, 60), drawn(2, 60)
    expected, found = true_pairs(left, right), pairs(filed(right, domains=domains), left)
    assert expected <= found
    apart = len(left) * len(right) - len(expected)
    share = len(found - expected) / apart
    assert apart > 200
    assert share < 0.2, f"{share:.1%} of {apart} pairs that cannot overlap are reported"


def test_both_directions_give_the_same() -> None:
    left, right = drawn(3, 50), drawn(4, 50)
    assert pairs(filed(right), left) == {(i, j) for j, i in pairs(filed(left), right)}


def test_the_decision_is_whether_there_is_one() -> None:
    queries = drawn(7, 80)
    for kept in (1, 3):
        index = filed(drawn(6, kept))
        decisions = [index.overlaps("small", each) for each in queries]
        assert decisions == [bool(index.overlapping("small", each)) for each in queries]
        assert not all(decisions)


def test_a_pure_conjunction_is_decided_without_evaluation() -> None:
    index = filed([normalise(text, SMALL) for text in ("a < 3 AND c", "a > 3 AND c", "b = 'ab'")])
    query = normalise("a = 2 AND c", SMALL)
    assert index.overlapping("small", query) == ["0", "2"]
    assert index.candidates == 0


def test_at_least_some_of_them_may_hold() -> None:
    some = at_least(2, [normalise(text, SMALL) for text in ("a = 1", "b = 'ab'", "c")])
    index = filed([some])
    tests = {"a = 2": True, "a = 2 AND b <> 'ab'": False, "a = 2 AND NOT c": False, "b = 'ab' AND NOT c": True}
    for text, expected in tests.items():
        query = normalise(text, SMALL)
        assert index.overlaps("small", query) is expected, text
        assert filed([query]).overlaps("small", some) is expected, text


def test_beyond_the_bound_more_is_reported_and_nothing_missed() -> None:
    left, right = drawn(8, 50), drawn(9, 50)
    expected, exact = true_pairs(left, right), pairs(filed(right), left)
    bounded = pairs(filed(right, most_terms=2), left)
    assert expected <= exact < bounded


def test_removed_conditions_are_not_found() -> None:
    formulas = drawn(10, 200)
    index = filed(formulas)
    random_ = random.Random(0)
    gone = set(random_.sample(range(200), 150))
    for number in gone:
        index.remove(str(number))
    kept = [number for number in range(200) if number not in gone]
    fresh = OverlapIndex([SMALL], most_terms=1_000)
    for number in kept:
        fresh.add(str(number), "small", formulas[number])
    queries = drawn(11, 20)
    assert pairs(index, queries) == pairs(fresh, queries)
    assert len(index) == len(kept)
    assert set(index) == {str(number) for number in kept}
    assert index.associations("small") == fresh.associations("small")
    with pytest.raises(KeyError):
        index.remove(str(min(gone)))


def test_a_condition_can_be_replaced() -> None:
    index = filed([normalise("a = 1", SMALL)])
    index.replace("0", normalise("a = 2", SMALL))
    assert index.condition("0") == ("small", normalise("a = 2", SMALL))
    assert index.overlapping("small", normalise("a = 2", SMALL)) == ["0"]
    assert index.overlapping("small", normalise("a = 1", SMALL)) == []


def test_an_id_is_taken_once() -> None:
    index = filed([TRUE])
    with pytest.raises(ValueError, match="'0' is registered already"):
        index.add("0", "small", TRUE)


def test_a_graph_that_is_a_huge_tree() -> None:
    leaves = [normalise(f"x{number} = 1") for number in range(200)]
    node = conjunction(leaves[:2])
    for number in range(2, 200, 2):
        node = at_least(
            2, [disjunction([node, leaves[number]]), disjunction([node, leaves[number + 1]]), leaves[0]]
        )
    index = OverlapIndex()
    index.add("huge", "small", node)
    assert index.overlaps("small", normalise("x0 = 2 AND x1 = 2"))
    assert not index.overlaps("small", conjunction(normalise(f"x{number} = 2") for number in range(0, 200, 2)))
    index.remove("huge")
    assert index.associations("small") == 0


def test_an_index_without_predicates_can_be_asked() -> None:
    index = OverlapIndex()
    asked = normalise("a = 1 AND b = 2 OR c = 3")
    assert not index.overlaps("book", asked)
    index.add("all", "book", normalise("TRUE"))
    index.add("none", "book", normalise("FALSE"))
    assert index.overlapping("book", asked) == ["all"]
