from __future__ import annotations

import itertools

import pytest

from tamis.lab.workloads.artificial_shape import ConditionShape, find_shape

CLASSES = [(6, 4, 2, 8), (12, 10, 4, 20), (7, 6, 6, 18)]
"""Predicates, operators, conjunctions and places of the classes of the workload `auction`."""


def shapes(predicates: int, conjunctions: int) -> list[ConditionShape]:
    """Every shape of those sizes, counted out."""
    found = []
    for pairs in range(6):
        if conjunctions % (1 << pairs) or 2 * pairs > predicates:
            continue
        groups, left = conjunctions >> pairs, predicates - 2 * pairs
        least = 0 if groups == 1 and pairs else 1
        for sizes in parted(left - least * groups, 2 * groups - 1):
            own = tuple(least + size for size in sizes[groups - 1 :])
            found.append(ConditionShape(pairs, sizes[: groups - 1], own))
    return found


def parted(total: int, parts: int) -> list[tuple[int, ...]]:
    """Every way to write a number as a sum of that many others."""
    cuts = itertools.combinations(range(total + parts - 1), parts - 1) if total >= 0 else ()
    ends = [(-1, *each, total + parts - 1) for each in cuts]
    return [tuple(b - a - 1 for a, b in itertools.pairwise(each)) for each in ends]


@pytest.mark.parametrize(("predicates", "operators", "conjunctions", "places"), CLASSES)
def test_the_sizes_of_the_classes_of_auctions_can_be_had(
    predicates: int, operators: int, conjunctions: int, places: int
) -> None:
    shape = find_shape(predicates, conjunctions, places, operators)
    assert (shape.predicates, shape.operators) == (predicates, operators)
    assert (shape.conjunctions, shape.places) == (conjunctions, places)


@pytest.mark.parametrize(("predicates", "conjunctions"), [(1, 1), (5, 1), (5, 2), (6, 3), (6, 4), (7, 4), (6, 8)])
def test_exactly_the_sizes_of_some_shape_are_accepted(predicates: int, conjunctions: int) -> None:
    possible = {(shape.places, shape.operators) for shape in shapes(predicates, conjunctions)}
    accepted = set()
    for places in range(predicates * conjunctions + 1):
        for operators in range(predicates + 1):
            try:
                shape = find_shape(predicates, conjunctions, places, operators)
            except ValueError:
                continue
            assert (shape.predicates, shape.conjunctions) == (predicates, conjunctions)
            accepted.add((shape.places, shape.operators))
            assert (shape.places, shape.operators) == (places, operators)
    assert accepted == possible


def test_the_plain_form_is_preferred() -> None:
    assert find_shape(10, 4, 25, None) == ConditionShape(0, (0, 0, 5), (2, 1, 1, 1))
    assert find_shape(10, 2, 10, None) == ConditionShape(0, (0,), (5, 5))


def test_places_are_rounded() -> None:
    assert find_shape(10, 3, 15.4, None).places == 15
    assert find_shape(10, 3, 15.6, None).places == 16


def test_texts() -> None:
    assert ConditionShape(0, (), (3,)).text("p") == "p AND p AND p"
    assert ConditionShape(2, (), (1,)).text("p") == "p AND (p OR p) AND (p OR p)"
    assert ConditionShape(0, (0, 0), (1, 1, 1)).text("p") == "p OR p OR p"
    assert (
        ConditionShape(1, (1, 2), (2, 1, 1)).text("p")
        == "p AND p AND (p OR p) AND (p OR (p AND (p OR (p AND p))))"
    )


def test_chances() -> None:
    assert ConditionShape(0, (), (3,)).match_probability(0.5) == 0.125
    assert ConditionShape(1, (), (1,)).match_probability(0.5) == 0.5 * 0.75
    assert ConditionShape(0, (1,), (1, 2)).match_probability(0.5) == 0.5 * (1 - 0.5 * 0.75)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((5, 7, 7, None), "conjunctions: no form of this family has 5 predicates and becomes 7"),
        (
            (10, 4, 20, 30),
            "operators: no form of 10 predicates that becomes 4 conjunctions has 30 operators, only 2 to 9",
        ),
        ((5, 5, 5, 3), "5 conjunctions has 3 operators, only 1"),
        ((10, 5, 35, None), "sharing: no form of 10 predicates .* has 0.7; the nearest is 0.6"),
        ((10, 4, 11, 9), "4 conjunctions with 9 operators has 0.275; the nearest is 0.325"),
    ],
)
def test_what_cannot_be_had_is_refused(sizes: tuple[int, int, float, int | None], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        find_shape(*sizes)
