"""Conjunctions in lists of one of their leaves."""

from __future__ import annotations

import numpy as np

from tamis.engines.bitset.access_lists import build_access_lists, padded_words
from tamis.engines.conjunctions.dnf import UNSURE, conjunctions_of
from tamis.engines.forest import forest_of
from tamis.events import EventType
from tamis.language.condition import compile_condition

TYPE = EventType.from_dict({"name": "t", "attributes": {"a": "int", "b": "int", "s": "string"}})
TEXTS = ("a = 1 AND b = 2", "a IN (3, 5)", "b IS NULL", "s LIKE '%x' AND a = 1", "a = 4")


def test_the_access_leaf_is_the_least_used_one_that_needs_a_value() -> None:
    forest = forest_of([compile_condition(text, TYPE).formula for text in TEXTS])
    axes = [axis.attribute.steps[0] for axis in forest.axes]  # type: ignore[union-attr]
    assert axes == ["a", "b"]
    conjunctions = conjunctions_of(forest)
    no_cells = np.zeros(3, np.uint8)
    lists, flags = build_access_lists(forest.leaves, forest.pieces, conjunctions, no_cells, np.array([4, 2]), 1)
    columns = (lists.conjunctions, lists.lows, lists.highs)
    groups = [
        sorted(zip(*(each[first:last].tolist() for each in columns), strict=True))
        for first, last in zip(lists.firsts[:-1].tolist(), lists.firsts[1:].tolist(), strict=True)
    ]
    assert groups[0] == [(1, 3, 3), (1, 5, 5), (4, 4, 4)], "a"
    assert groups[1] == [(0, 2, 2)], "b, which fewer leaves use than a"
    assert [conjunction for conjunction, _, _ in groups[2]] == [3], "the test"
    # Conjunctions 0 and 3 have a second leaf, conjunction 2 holds for NULL only: they must be evaluated.
    assert [bool(flag & UNSURE) for flag in flags] == [True, False, True, True, False]
    bits = np.unpackbits(lists.start.view(np.uint8), bitorder="little")
    assert np.flatnonzero(bits == 0).tolist() == [2], "all others fail unless their leaf holds; padding fails"


def test_leaves_on_axes_with_cells_are_left_to_bitmaps() -> None:
    forest = forest_of([compile_condition(text, TYPE).formula for text in TEXTS[:2]])
    has_cells = np.array([1, 0, 0], np.uint8)
    lists, flags = build_access_lists(
        forest.leaves, forest.pieces, conjunctions_of(forest), has_cells, np.array([2, 1]), 0
    )
    assert lists.conjunctions.tolist() == [0]
    assert not (flags & UNSURE).any()


def test_bitmaps_are_whole_cache_lines() -> None:
    assert [padded_words(count) for count in (0, 1, 512, 513)] == [0, 8, 8, 16]
