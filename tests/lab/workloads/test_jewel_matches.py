from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tamis.lab.workloads.jewel_matches import Trees, expected_share, leaves_present, solve_level

AND, OR, XOR = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
CHANCES = np.array([0.0, 0.3, 0.9, 1.0])


def trees(joints: tuple[float, ...], leaves: int, *, ordered: bool = False) -> Trees:
    return Trees({1: 0.25, leaves - 1: 0.75}, joints, leaves, ordered)


def test_all_of_one_operator_where_events_have_everything() -> None:
    for leaves in (2, 5):
        present = leaves_present(trees(AND, leaves), 8, (8, 8))
        assert present.tolist() == [0.0] * leaves + [1.0]
        assert np.allclose(expected_share(trees(AND, leaves), present, CHANCES), CHANCES**leaves)
        assert np.allclose(expected_share(trees(OR, leaves), present, CHANCES), 1 - (1 - CHANCES) ** leaves)
        odd = (1 - (1 - 2 * CHANCES) ** leaves) / 2
        assert np.allclose(expected_share(trees(XOR, leaves), present, CHANCES), odd)


def test_an_event_may_lack_attributes() -> None:
    few = trees(AND, 2)
    # Of three attributes an event has two, so that it has both of two with one chance in three.
    present = leaves_present(few, 3, (2, 2))
    assert np.allclose(present, [0, 2 / 3, 1 / 3])
    assert np.allclose(expected_share(few, present, CHANCES), CHANCES**2 / 3)
    assert np.allclose(expected_share(trees(XOR, 2), present, CHANCES), 2 * CHANCES * (1 - CHANCES) / 3)
    either = CHANCES * 2 / 3 + (1 - (1 - CHANCES) ** 2) / 3
    assert np.allclose(expected_share(trees(OR, 2), present, CHANCES), either)


def test_ordered_attributes_are_those_of_the_first_leaves() -> None:
    few = trees(AND, 3, ordered=True)
    assert leaves_present(few, 6, (2, 5)).tolist() == [0, 0, 0.25, 0.75]


@pytest.mark.slow
@pytest.mark.parametrize("ordered", [False, True])
def test_expectations_are_those_of_trees_drawn_one_by_one(ordered: bool) -> None:
    mixed = Trees({2: 1.0, 3: 2.0}, (0.5, 0.3, 0.2), 5, ordered)
    present = leaves_present(mixed, 7, (2, 6))
    (expected,) = expected_share(mixed, present, np.array([0.6]))
    chance = Random(5)
    found = [_holds(mixed, chance) for _ in range(20_000)]
    assert np.mean(found) == pytest.approx(expected, abs=0.012)


def test_the_least_level_that_is_enough() -> None:
    level, share = solve_level(lambda levels: 4 * levels * (1 - levels), 0.75)
    assert level == pytest.approx(0.25, abs=1e-6)
    assert share == pytest.approx(0.75, abs=1e-6)
    assert solve_level(lambda levels: 4 * levels * (1 - levels), 1.5) == (0.5, 1.0)
    assert solve_level(lambda levels: levels, 0.0)[0] == 0.0


def _holds(mixed: Trees, chance: Random) -> bool:
    """One tree, one event, in three-valued logic."""
    having = chance.randint(2, 6)
    present = range(having) if mixed.ordered else chance.sample(range(7), having)
    leaves = [chance.random() < 0.6 if number in present else None for number in range(5)]
    return _value(leaves, chance, chance.choice([2, 3, 3]), mixed.joints) is True


def _value(leaves: list[bool | None], chance: Random, split: int, joints: tuple[float, ...]) -> bool | None:
    if len(leaves) == 1:
        return leaves[0]
    a, b = (
        _value(part, chance, chance.randint(1, max(1, len(part) - 1)), joints)
        for part in (leaves[:split], leaves[split:])
    )
    (joint,) = chance.choices(("AND", "OR", "XOR"), joints)
    if joint == "AND" and False in (a, b):
        return False
    if joint == "OR" and True in (a, b):
        return True
    if a is None or b is None:
        return None
    return a != b if joint == "XOR" else a
