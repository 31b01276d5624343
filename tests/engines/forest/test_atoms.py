"""The leaves of single atoms."""

from __future__ import annotations

from tamis.engines.forest import INTERVAL, PIECES, forest_of
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.language.condition import compile_condition
from tests.engines.forest.test_bulk import SIMPLE, check, leaves


def test_membership_is_pieces() -> None:
    forest = check(
        ["n IN (5, 3, 4, 9, 9)", "n NOT IN (3, 1)", "n <> 3", "n IN (1, 2, 3)", "tiny IN (300, 400)"], SIMPLE
    )
    assert leaves(forest) == [
        (PIECES, 0, 0, 0, 2),
        (PIECES, 0, 0, 2, 5),
        (PIECES, 0, 0, 5, 7),
        (INTERVAL, 0, 0, 1, 3),
        (INTERVAL, 0, 1, HIGHEST, LOWEST),
    ]
    assert forest.pieces.lows.tolist() == [3, 9, LOWEST, 2, 4, LOWEST, 4]
    assert forest.pieces.highs.tolist() == [5, 9, 0, 2, HIGHEST, 2, HIGHEST]


def test_neighbours_among_integers_and_doubles_touch() -> None:
    greatest, next_ = 2**63 - 1, 2**63
    texts = [
        f"a IN ({greatest}, {next_})",
        f"a NOT IN ({greatest}, {next_})",
        f"a IN (1, {greatest}, {next_})",
        f"a < 3 OR a > {greatest} AND a < {next_}",
    ]
    forest = forest_of([condition.formula for condition in map(compile_condition, texts)])
    assert forest.leaves.kinds.tolist() == [INTERVAL, PIECES, PIECES, INTERVAL]
    assert (forest.leaves.highs - forest.leaves.lows)[1:3].tolist() == [2, 2]
    check(texts)
