"""Nodes counted one by one are those that one counts by hand."""

from __future__ import annotations

from tamis import compile_condition
from tamis.events.batch import EventBatch
from tamis.formulas.formula import Formula
from tamis.lab.claims.node_counts import conjunctions, left_deep_nodes, top_down_visits


def _formulas(*texts: str) -> list[Formula]:
    return [compile_condition(text).formula for text in texts]


def test_conjunctions_of_a_product_of_sums() -> None:
    text = " AND ".join(f"(a{each} = 1 OR b{each} = 1 OR c{each} = 1)" for each in range(4))
    assert conjunctions(*_formulas(text)) == 3**4


def test_brackets_from_the_left_share_what_begins_alike() -> None:
    one, same_begin, same_end = _formulas(
        "a = 1 AND b = 1 AND c = 1", "a = 1 AND b = 1 AND d = 1", "b = 1 AND c = 1"
    )
    assert left_deep_nodes([one]) == 5
    assert left_deep_nodes([one, one]) == 5
    assert left_deep_nodes([one, same_begin]) == 7
    assert left_deep_nodes([one, same_end]) == 6


def test_a_walk_from_the_roots_leaves_what_is_decided() -> None:
    formulas = _formulas("a = 1 AND b = 1", "a = 1 AND c = 1")
    events = EventBatch.of([{"a": 0, "b": 1, "c": 1}, {"a": 1, "b": 1, "c": 1}], None)
    forgetful, remembering = top_down_visits(formulas, events)
    assert forgetful == (4 + 6) / 2
    assert remembering == (3 + 5) / 2
