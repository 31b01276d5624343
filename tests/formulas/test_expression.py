"""Typed expressions: equality by value and type, their parts, and their text."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tamis.formulas.expression import (
    Apply,
    Constant,
    OperatorCall,
    Path,
    Quantifier,
    Typed,
    Variable,
    calls_in,
    parts,
    to_syntax,
    walk,
)
from tamis.functions.registry import Signature
from tamis.syntax.printing import to_text
from tamis.values.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, NULL, STRING, TIMESTAMP, Type, array

A, B = Path(("a",), INT), Path(("b", "c"), INT)
SUM = Apply("+", (A, B), Signature((INT, INT), INT))
CALL = OperatorCall("people", (A,), Signature((INT,), INT))


def test_constants_are_equal_by_type_and_by_every_bit_of_their_value() -> None:
    assert Constant(DOUBLE, math.nan) == Constant(DOUBLE, math.nan)
    assert Constant(DOUBLE, 0.0) != Constant(DOUBLE, -0.0)
    assert Constant(INT, 1) != Constant(BIGINT, 1)
    assert hash(Constant(DOUBLE, math.nan)) == hash(Constant(DOUBLE, math.nan))


def test_a_walk_visits_parents_first() -> None:
    outer = Apply("=", (SUM, CALL), Signature((INT, INT), BOOLEAN))
    assert list(walk(outer)) == [outer, SUM, A, B, CALL, A]
    assert parts(outer) == (SUM, CALL)
    assert parts(A) == ()


def test_calls_are_distinct_and_outer_ones_come_first() -> None:
    nested = OperatorCall("people", (CALL,), Signature((INT,), INT))
    twice = Apply("+", (nested, CALL), Signature((INT, INT), INT))
    assert calls_in(twice) == (nested, CALL)
    assert calls_in(SUM) == calls_in(A) == ()


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (B, "b.c"),
        (SUM, "a + b.c"),
        (CALL, "people(a)"),
        (Variable("?p", STRING), "?p"),
        (Apply("cast", (A,), Signature((INT,), STRING)), "CAST(a AS STRING)"),
        (
            Quantifier("exists", Path(("t",), array(INT)), Variable("x", INT), Constant(BOOLEAN, True)),
            "exists(t, x -> TRUE)",
        ),
        (Apply("field", (CALL, Constant(STRING, "f")), Signature((INT, STRING), INT)), "people(a).f"),
    ],
)
def test_the_text_of_an_expression(expression: Typed, text: str) -> None:
    assert to_text(to_syntax(expression)) == text


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (NULL, None, "NULL"),
        (INT, None, "CAST(NULL AS INT)"),
        (STRING, "it's", "'it\\'s'"),
        (DATE, 0, "DATE '1970-01-01'"),
        (TIMESTAMP, 0, "TIMESTAMP '1970-01-01 00:00:00Z'"),
        (DOUBLE, math.inf, "CAST('Infinity' AS DOUBLE)"),
        (array(INT), [1, None], "array(1, CAST(NULL AS INT))"),
    ],
)
def test_the_text_of_a_constant(type_: Type, value: Any, text: str) -> None:
    assert to_text(to_syntax(Constant(type_, value))) == text
