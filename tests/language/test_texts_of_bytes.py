"""Texts made of binaries are handed on as bytes; Spark's own answers are in test_expressions_spark.py."""

from __future__ import annotations

import pytest

from tamis import Matcher
from tamis.events import EventType
from tamis.formulas.expression import Typed, to_syntax
from tamis.language.analysis import analyse
from tamis.language.texts_of_bytes import bytes_type, is_text_of_bytes
from tamis.syntax.parser import parse
from tamis.syntax.printing import to_text
from tamis.values.types import parse_type

TYPE = EventType.of({"attributes": {"b": "binary", "c": "binary", "s": "string", "list": "array<binary>"}})


def typed(text: str) -> Typed:
    expression, problems = analyse(parse(text), TYPE, is_whole=False)
    assert expression is not None, problems
    return expression


def shown(expression: Typed) -> str:
    return to_text(to_syntax(expression))


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("coalesce(CAST(b AS STRING), 'x')", "coalesce(b, X'78')"),
        ("array(CAST(b AS STRING), s)", "array(b, CAST(s AS BINARY))"),
        ("CAST(X'FF' AS STRING)", "X'FF'"),
    ],
)
def test_the_cast_is_handed_on(text: str, bare: str) -> None:
    expression = typed(text)
    assert is_text_of_bytes(expression)
    assert shown(expression) == f"CAST({bare} AS {str(expression.type).upper()})"


def test_it_ends_in_a_comparison() -> None:
    assert shown(typed("coalesce(CAST(b AS STRING), 'x') = CAST(c AS STRING)")) == "coalesce(b, X'78') = c"


@pytest.mark.parametrize("text", ["CAST(X'61' AS STRING)", "concat(CAST(X'C3' AS STRING), CAST(X'A9' AS STRING))"])
def test_constants_that_are_text_are_folded(text: str) -> None:
    assert not is_text_of_bytes(typed(text))


@pytest.mark.parametrize("text", ["CAST(s AS BINARY)", "CAST(list AS STRING)", "upper(CAST(b AS STRING))", "b"])
def test_other_expressions_are_no_texts_of_bytes(text: str) -> None:
    assert not is_text_of_bytes(typed(text))


def test_the_type_of_the_bytes_is_found_in_nested_types() -> None:
    text = "struct<a: map<string, array<string>>, b: int>"
    assert str(bytes_type(parse_type(text))) == str(parse_type(text.replace("string", "binary")))


def test_different_bytes_differ_in_a_matcher() -> None:
    matcher = Matcher({"attributes": {"b": "binary", "c": "binary"}})
    matcher.add("equal", "nvl(CAST(b AS STRING), '') = nvl(CAST(c AS STRING), '')")
    matcher.add("some", "exists(array(CAST(b AS STRING)), x -> x = CAST(X'FE' AS STRING))")
    assert matcher.match({"b": b"\xff", "c": b"\xfe"}) == []
    assert matcher.match({"b": b"\xfe", "c": b"\xfe"}) == ["equal", "some"]
    assert matcher.explain("equal", {"b": b"\xff", "c": b"\xfe"}).matched is False
