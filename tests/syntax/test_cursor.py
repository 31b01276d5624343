"""The cursor of the parser: it advances over tokens, and problems carry their places."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tamis.errors import Problem
from tamis.limits import DEFAULT_LIMITS
from tamis.syntax.cursor import MOST_PROBLEMS, Cursor, SyntaxFailure
from tamis.syntax.tokens import Kind, tokenise


def cursor(text: str) -> Cursor:
    return Cursor(tokenise(text), DEFAULT_LIMITS)


def test_it_advances_only_past_what_is_accepted() -> None:
    here = cursor("a < AS")
    assert not here.accept(Kind.LT)
    assert here.accept(Kind.NAME)
    here.expect(Kind.LT, "<")
    assert here.accept_word("as")
    assert here.at == 3
    assert here.kinds[here.at] == here.kinds[here.at + 1] == Kind.END
    assert here.span_from(0) == (0, 6)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "expected x, found the end of the condition", None),
        ("b", "expected x, found 'b'", None),
        (";", "';' is not part of the language", "a condition is one expression, without a semicolon"),
        ("'b", '"\'b" begins a string that does not end', None),
        ("≤ 5", "'≤' is not part of the language", "write <="),
        ("\u2018b\u2019", "'\u2018' is not part of the language", "write '"),
        ("\u2212 5", "'\u2212' is not part of the language", "write -"),
        ("\ufeffb", "'U+FEFF' is not part of the language", "remove it: it does not show"),
        ("😀", "'😀' is not part of the language", "a name with such a character needs back quotes"),
        ("?b", "expected x, found '?b'", "a ?variable stands for a result of an operator call"),
    ],
)
def test_an_unexpected_token_is_described(text: str, message: str, hint: str | None) -> None:
    problem = cursor(text).failure_here("x").problem
    assert (problem.message, problem.hint) == (message, hint)


def test_a_keyword_where_a_value_is_expected_may_be_an_attribute() -> None:
    assert cursor("LIKE").operand_failure().problem.hint == "an attribute of that name is written `LIKE`"
    assert cursor(")").operand_failure().problem.hint is None


def test_columns_count_within_their_line() -> None:
    assert cursor("a\n  b").column(1) == 3


def test_problems_are_few_and_one_per_place() -> None:
    here = cursor("a")
    for start in (1, 1, 2):
        here.report(Problem("wrong", start, start + 1))
    assert [problem.start for problem in here.problems] == [1, 2]
    for start in range(100):
        here.report(Problem("wrong", start, start + 1))
    assert len(here.problems) == MOST_PROBLEMS


def test_too_deep_nesting_is_the_last_problem() -> None:
    here = Cursor(tokenise("((("), replace(DEFAULT_LIMITS, depth=2))
    here.deeper(0)
    here.deeper(1)
    with pytest.raises(SyntaxFailure, match="nested more than 2 deep"):
        here.deeper(2)
    here.report(Problem("later", 9, 10))
    assert [problem.message for problem in here.problems] == ["nested more than 2 deep"]
