"""Terms become boxes in the dimensions of the tree, and what the tree cannot exclude is verified."""

from __future__ import annotations

from tamis.events import EventBatch
from tamis.lab.wang.rtree import Rtree
from tests.engines.naive import check
from tests.lab.formulas import formulas_of


def test_sides_without_a_dimension_and_residues_are_verified() -> None:
    texts = ["a < 5 AND b = 1", "a > 2 AND c = 3", "a IS NULL", "a = 4 AND s LIKE '%x%'", "b IN (1, 7)"]
    formulas = formulas_of(*texts)
    events = [{"a": 3, "b": 1}, {"a": 4, "c": 3, "s": "axb"}, {"b": 7}, {"a": 4, "s": "y"}, {}]
    for dimensions in (1, 2, 16):
        assert check(Rtree(dimensions=dimensions).build(formulas), formulas, EventBatch.of(events)) == 7


def test_a_missing_value_is_in_no_bounded_box() -> None:
    formulas = formulas_of("a < 5", "a >= -9223372036854775808")
    assert check(Rtree().build(formulas), formulas, EventBatch.of([{}, {"a": 1}])) == 2
