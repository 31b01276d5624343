"""Merging: mergers hold wherever a part does, keep to a budget if they can, and say the same in every process."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.engines.forest import forest_of
from tamis.events import EventBatch
from tamis.formulas.formula import Formula
from tamis.frames import BatchFrame
from tamis.language.condition import normalise
from tamis.routing.merging import MOST_VALUES, merge


def size(formulas: Sequence[Formula]) -> float:
    return sum(len(each.describe()) for each in formulas)


def merged(texts: Sequence[str], budget: float) -> list[str]:
    return [
        each.describe() for each in merge(forest_of([normalise(each) for each in texts]), budget, size).formulas
    ]


def test_conditions_that_differ_in_one_value_lose_nothing() -> None:
    texts = [f"title = 'book {n}' AND price < 9" for n in range(3)]
    [found] = merged(texts, 1_000)
    assert normalise(found) == normalise("title IN ('book 0', 'book 1', 'book 2') AND price < 9")


def test_there_are_as_many_bounds_as_a_budget_allows() -> None:
    texts = [f"title = 'book {n}' AND price < {n + 10}" for n in range(64)]
    exact, found = sum(map(len, texts)), {}
    for share in (1.0, 0.7, 0.5, 0.4):
        entries = merged(texts, share * exact)
        assert sum(map(len, entries)) <= share * exact
        found[share] = len(entries)
    assert found[1.0] > found[0.5] > found[0.4] >= 2


def test_ends_of_ranges_go_outwards() -> None:
    texts = [f"t = '{n}' AND a BETWEEN {n} AND {n + 20} AND b > {n}" for n in range(40)]
    found = merge(forest_of([normalise(each) for each in texts]), 0, size)
    frame = BatchFrame(EventBatch.of([{"t": str(n), "a": a, "b": n + 1} for n in range(40) for a in (n, n + 20)]))
    for number, of in enumerate(found.of.tolist()):
        assert found.formulas[of].mask(frame)[2 * number : 2 * number + 2].all()
    assert len(found.formulas) < 10


def test_frequent_values_keep_alternatives_apart() -> None:
    """The form knows `new` from `used`, so that the bound of one is not merged with that of the other."""
    texts = [
        f"t = '{n}' AND (c = 'new' AND p < {20 + n % 2} OR p < {5 + n % 2} AND c = 'used')" for n in range(40)
    ]
    [entry] = {each.replace(each[: each.index(")") + 1], "") for each in merged(texts, 0) if "p < 21" in each}
    assert "c = 'new'" in entry and "p < 6" in entry


def test_other_forms_stay_as_they_are() -> None:
    texts = ["a = 1", "b LIKE 'x%y'", "a < b", "FALSE", "a = 1 AND f > 2"]
    found = merge(forest_of([normalise(each) for each in texts]), 0, size)
    assert [found.formulas[of] for of in found.of.tolist()] == [normalise(each) for each in texts]
    assert merge(forest_of([]), 0, size).formulas == []


def test_long_lists_are_divided_so_that_one_more_value_changes_one_entry() -> None:
    texts = [f"title = 'book {n}' AND price < 9" for n in range(20 * MOST_VALUES)]
    before, after = {*merged(texts, 1e9)}, {*merged([*texts, "title = 'one more' AND price < 9"], 1e9)}
    assert len(before) >= 20 and all(each.count("book") <= 3 * MOST_VALUES for each in before)
    assert len(before - after) == len(after - before) == 1


def test_operands_in_another_order_make_no_difference() -> None:
    texts = [f"title = 'book {n}' AND price < 9 AND used" for n in range(3)]
    turned = [f"used AND price < 9 AND title = 'book {n}'" for n in range(3)]
    assert merged(texts, 0) == merged(turned, 0) == merged([*texts, *turned], 0)


ATOMS = st.sampled_from(
    [
        "a < 3",
        "a < 5",
        "a > 1",
        "a BETWEEN 1 AND 4",
        "a = 2",
        "b = 'x'",
        "b = 'y'",
        "c IS NULL",
        "b LIKE '%y'",
        "a < d",
    ]
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.tuples(inner, st.sampled_from([" AND ", " OR "]), inner).map("({0[0]}{0[1]}{0[2]})".format),
    max_leaves=6,
)
EVENTS = [
    {"a": a, "b": b, "c": c, "d": 3} for a in (None, 0, 2, 4, 9) for b in ("x", "y", None) for c in (None, 1)
]


@given(st.lists(CONDITIONS, min_size=1, max_size=12), st.integers(0, 200))
def test_a_merger_holds_wherever_a_part_does(conditions: list[str], budget: int) -> None:
    formulas = [normalise(each) for each in conditions]
    found = merge(forest_of(formulas), budget, size)
    frame = BatchFrame(EventBatch.of(EVENTS))
    for formula, of in zip(formulas, found.of.tolist(), strict=True):
        assert not np.any(formula.mask(frame) & ~found.formulas[of].mask(frame))


@pytest.mark.parametrize("budget", [0, 1_000])
def test_a_perfect_merger_holds_nowhere_else(budget: int) -> None:
    texts = [f"(b = 'x' OR a = {n}) AND (c = 1 OR d > 2)" for n in range(50)]
    found = merge(forest_of([normalise(each) for each in texts]), budget, size)
    frame = BatchFrame(EventBatch.of([{"a": n, "b": "y", "c": c, "d": 1} for n in range(60) for c in (1, 2)]))
    exact = np.logical_or.reduce([normalise(each).mask(frame) for each in texts])
    assert (np.logical_or.reduce([each.mask(frame) for each in found.formulas]) == exact).all()
