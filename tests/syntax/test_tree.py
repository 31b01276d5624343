"""Syntax trees: equality ignores spans, and walks visit every node."""

from __future__ import annotations

import math

from tamis.syntax.parser import parse
from tamis.syntax.tree import FunctionCall, Literal, Name, children, walk
from tamis.values.types import BIGINT, DOUBLE, INT


def test_spans_do_not_matter_for_equality() -> None:
    assert parse("a<1") == parse("  a   < 1 ")
    assert hash(parse("a<1")) == hash(parse("a < 1"))


def test_literals_are_equal_by_type_and_exact_value() -> None:
    assert Literal(DOUBLE, math.nan) == Literal(DOUBLE, math.nan)
    assert Literal(DOUBLE, 0.0) != Literal(DOUBLE, -0.0)
    assert Literal(INT, 1) != Literal(BIGINT, 1)
    assert Literal(INT, 1) != 1


def test_a_walk_visits_parents_first_in_the_order_of_the_text() -> None:
    tree = parse("f(a[0].b, CAST(c AS int)) AND exists(d, x -> x > e)")
    names = [".".join(node.parts) for node in walk(tree) if isinstance(node, Name)]
    assert names == ["a", "c", "d", "x", "e"]
    assert next(iter(walk(tree))) is tree
    assert isinstance(tree, FunctionCall)
    assert children(tree) == tree.arguments
