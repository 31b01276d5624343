"""The parser: precedence, syntactic sugar, and all problems of a text at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tamis.errors import ConditionError
from tamis.limits import DEFAULT_LIMITS
from tamis.syntax.parser import parse, parse_leniently
from tamis.syntax.printing import to_text
from tamis.syntax.tree import FunctionCall, Missing, walk


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a OR b AND c", "a OR (b AND c)"),
        ("NOT a = b", "NOT (a = b)"),
        ("a XOR b OR c", "(a XOR b) OR c"),
        ("a + b * c", "a + (b * c)"),
        ("a - b - c", "(a - b) - c"),
        ("a | b & c", "a | (b & c)"),
        ("-a[0].b", "-((a[0]).b)"),
        ("a BETWEEN 1 AND 2 AND b", "a >= 1 AND a <= 2 AND b"),
        ("a NOT IN (1, 2)", "NOT (a IN (1, 2))"),
        ("a LIKE ANY ('x', 'y')", "a LIKE 'x' OR a LIKE 'y'"),
        ("a NOT LIKE ALL ('x', 'y')", "NOT (a LIKE 'x') AND NOT (a LIKE 'y')"),
        ("a IS NOT DISTINCT FROM b", "a <=> b"),
        ("a == b", "a = b"),
        ("CASE a WHEN 1 THEN b END", "CASE WHEN a = 1 THEN b END"),
        ("a::int", "CAST(a AS INT)"),
        ("'a' 'b' = c", "'ab' = c"),
    ],
)
def test_texts_with_the_same_tree(text: str, same: str) -> None:
    assert parse(text) == parse(same)


def test_runs_of_and_and_or_are_flat() -> None:
    tree = parse("(a AND b) AND c AND (d AND e)")
    assert isinstance(tree, FunctionCall)
    assert len(tree.arguments) == 5


def test_all_problems_are_reported_and_the_rest_is_read() -> None:
    text = "a < AND b IN () OR (c = 1"
    tree, problems = parse_leniently(text)
    assert [problem.start for problem in problems] == [4, 14, len(text)]
    assert any(isinstance(node, Missing) for node in walk(tree))
    with pytest.raises(ConditionError) as caught:
        parse(text)
    assert list(caught.value.problems) == problems


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(" * 6 + "a" + ")" * 6, "nested more than 5 deep"),
        ("a + b + c + d + e + f", "nested more than 5 deep"),
        ("NOT " * 7 + "a", "nested more than 5 deep"),
        ("a IN (1, 2, 3, 4)", "5 operands, 4 are allowed"),
        ("f(a, b) + f(c, d) + f(a)", "parts, 9 are allowed"),
        ("a" * 101, "a condition has 100 characters at most"),
        ("a = '\ud800'", "half of a surrogate pair is not a character"),
    ],
)
def test_limits_hold_for_every_text(text: str, message: str) -> None:
    limits = replace(DEFAULT_LIMITS, depth=5, operands=4, nodes=9, text_characters=100)
    _, problems = parse_leniently(text, limits)
    assert message in problems[0].message


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SELECT * FROM t WHERE price < 3", "write price < 3"),
        ("select a, b\nfrom t x\nwhere price < 3 and b = 'x'\norder by a;", "write price < 3 and b = 'x'"),
        ("  WHERE price < 3;", "write price < 3"),
        ("select * from t where", "write what the events must satisfy, such as price < 300"),
        ("SELECT * FROM t", "write what the events must satisfy, such as price < 300"),
    ],
)
def test_a_query_is_refused_with_its_condition(text: str, hint: str) -> None:
    _, (problem,) = parse_leniently(text)
    assert (problem.message, problem.hint) == ("a condition is what stands after WHERE, not a whole query", hint)
    assert problem.start < problem.end <= len(text)


def test_attributes_may_be_called_as_the_words_of_a_query() -> None:
    _, problems = parse_leniently("select = 1 and where = 2 and limit = 3")
    assert problems == []


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("end > 5", "`end` > 5"),
        ("price = end", "price = `end`"),
        ("like LIKE 'a%'", "`like` LIKE 'a%'"),
        ("in IN (1, is)", "`in` IN (1, `is`)"),
        ("CASE WHEN end > 1 THEN then ELSE else END = 3", "CASE WHEN `end` > 1 THEN `then` ELSE `else` END = 3"),
        ("NOT escape.x[0] BETWEEN 1 AND div", "NOT (`escape`.x[0] >= 1 AND `escape`.x[0] <= `div`)"),
    ],
)
def test_keywords_are_names_where_an_operand_stands(text: str, printed: str) -> None:
    assert to_text(parse(text)) == printed
