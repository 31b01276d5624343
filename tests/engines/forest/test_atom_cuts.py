"""The cuts and patterns that the atoms of a column have."""

from __future__ import annotations

from tamis.engines.forest.axes import HIGHEST, LOWEST, TextScale
from tests.engines.forest.test_bulk import SIMPLE, check, leaves


def test_strings_are_ranks_of_the_cuts_that_are_used() -> None:
    forest = check(["name = 'b'", "name < 'b'", "name LIKE 'a%'", "name >= ''", "name = ''", "name > 'c'"], SIMPLE)
    scale = forest.axes[0].scale
    assert isinstance(scale, TextScale)
    cuts = [scale.cut(forest.axes[0].attribute.type, place + 1) for place in range(len(scale))]
    assert cuts == ["\0", "a", "b", "b\0", "c\0"]
    intervals = [(low, high) for _, _, _, low, high in leaves(forest)]
    assert intervals == [(3, 3), (LOWEST, 2), (2, 2), (LOWEST, HIGHEST), (LOWEST, 0), (5, HIGHEST)]


def test_equal_patterns_are_one_test() -> None:
    forest = check(
        ["name LIKE '%x%'", "name LIKE '%%x%'", "name NOT LIKE '%x%' OR name RLIKE 'x'", "n = 1"], SIMPLE
    )
    assert [test.describe() for test in forest.tests] == [
        "name LIKE '%x%'",
        "name NOT LIKE '%x%'",
        "name RLIKE 'x'",
    ]
