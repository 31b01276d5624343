"""Skeletons become as few nodes and leaves as possible."""

from __future__ import annotations

import numpy as np

from tamis.engines.forest import INTERVAL
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tests.engines.forest.test_bulk import SIMPLE, check, leaves


def test_a_conjunction_of_ranges_is_one_node_with_a_leaf_an_axis() -> None:
    forest = check(
        ["n >= 1 AND n <= 5 AND big BETWEEN 2 AND 3 AND NOT (n > 4) AND (tiny < 200 AND big < 9)"], SIMPLE
    )
    assert [str(axis.attribute.steps[0]) for axis in forest.axes] == ["n", "big", "tiny"]  # type: ignore[union-attr]
    assert leaves(forest) == [(INTERVAL, 0, 0, 1, 4), (INTERVAL, 0, 1, 2, 3), (INTERVAL, 0, 2, LOWEST, HIGHEST)]
    assert forest.nodes.least.tolist() == [3]
    assert forest.nodes.children.tolist() == [~0, ~1, ~2]
    assert forest.roots.tolist() == [0]


def test_one_leaf_is_a_root() -> None:
    forest = check(["n >= 1 AND n <= 5", "n = 3", "n > 5 AND n < 3", "n < 3 OR n < 5 OR n = 5", "flag"], SIMPLE)
    assert leaves(forest) == [
        (INTERVAL, 0, 0, 1, 5),
        (INTERVAL, 0, 0, 3, 3),
        (INTERVAL, 0, 0, HIGHEST, LOWEST),
        (INTERVAL, 0, 0, LOWEST, 5),
        (INTERVAL, 0, 1, 1, HIGHEST),
    ]
    assert forest.roots.tolist() == [~0, ~1, ~2, ~3, ~4]


def test_chains_of_one_connective_are_one_node() -> None:
    forest = check(
        ["(n = 1 AND flag) OR (big = 1 OR (tiny = 1 OR dbl = 1)) OR NOT (price <> 1 AND NOT s.x = 2)"], SIMPLE
    )
    assert forest.nodes.least.tolist() == [2, 1]
    assert np.diff(forest.nodes.firsts).tolist() == [2, 6]


def test_deep_and_wide_texts() -> None:
    deep = "a = 1"
    for level in range(60):
        deep = f"({deep} {('AND', 'OR')[level % 2]} b{level} = {level})"
    wide_text = " OR ".join(f"a = {2 * number}" for number in range(9_000))
    forest = check([deep, wide_text, deep])
    assert len(forest.nodes.least) == 2 * 60 + 1
