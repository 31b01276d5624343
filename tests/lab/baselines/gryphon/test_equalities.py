"""A leaf is an equality when it holds for one value, whatever the type and whatever else is in the forest."""

from __future__ import annotations

import random

import pytest

from tamis.engines.forest import forest_of
from tamis.events import EventType
from tamis.formulas.formula import leaf
from tamis.formulas.predicates.base import Predicate
from tamis.lab.baselines.gryphon.equalities import equalities_of
from tamis.language.condition import compile_condition
from tests.worlds import WORLDS, world

_TYPED = EventType.from_dict(
    {
        "name": "t",
        "attributes": {
            "i": "int",
            "b": "boolean",
            "d": "double",
            "s": "string",
            "n": "decimal(10,2)",
            "w": "decimal(30,2)",
            "day": "date",
        },
    }
)


def are_equalities(texts: list[str], event_type: EventType | None = None) -> list[bool]:
    formulas = [compile_condition(text, event_type).formula for text in texts]
    forest = forest_of(formulas)
    assert len(forest.leaves.kinds) == len(texts), "a leaf a condition"
    found: list[bool] = equalities_of(forest)[~forest.roots].tolist()
    return found


def test_typed_equalities() -> None:
    texts = ["i = 3", "b", "NOT b", "d = 0.5", "s = 'abc'", "s = 'abd'", "n = 1.25", "w = 1.25", "i = 2147483647"]
    texts += ["day = DATE'2024-02-29'"]
    assert are_equalities(texts, _TYPED) == [True] * len(texts)


def test_what_is_no_typed_equality() -> None:
    texts = ["i > 3", "i <> 3", "i IN (3, 5)", "i IS NULL", "i <=> NULL", "i BETWEEN 3 AND 4", "s LIKE '%x%'"]
    texts += ["s >= 'abc' AND s < 'abd'", "s < 'a'", "w > 2", "b IS NULL", "i = 3 OR i IS NULL", "n < 1.5"]
    assert are_equalities(texts, _TYPED) == [False] * len(texts)


def test_schemaless_equalities() -> None:
    texts = ["a = 1", "a = 2", "a = 2.5", "a = 9007199254740993", "s = 'x'", "a > 1 AND a < 4", "a > 1"]
    assert are_equalities(texts) == [True] * 5 + [False] * 2


def test_neighbours_change_nothing() -> None:
    """A prefix is an interval without further cuts inside, which says nothing about its values."""
    assert are_equalities(["s LIKE 'ab%'"]) == [False]
    assert are_equalities(["s LIKE 'ab%'", "s = 'ab'", "s > 'abc'"]) == [False, True, False]


@pytest.mark.parametrize("name", WORLDS)
def test_the_rest_of_the_forest_changes_nothing(name: str) -> None:
    random_ = random.Random(4)
    stock: list[Predicate] = []
    for condition in world(name).accepted(random_, 60):
        stock += condition.formula.predicates()
    together = equalities_of(forest_of([leaf(each) for each in stock])).tolist()
    alone = [equalities_of(forest_of([leaf(each)])).tolist() for each in stock]
    assert [[each] for each in together] == alone
    assert 0 < sum(together) < len(together)
