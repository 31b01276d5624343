"""Literals of intervals: their types and values, what is refused, and attributes that are called `interval`."""

from __future__ import annotations

import pytest

from tamis.errors import ConditionError
from tamis.syntax.parser import parse
from tamis.syntax.printing import to_text
from tamis.syntax.tree import FunctionCall, Literal, Name


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("INTERVAL 1 DAY", "INTERVAL '1' DAY"),
        ("interval '1 day 2 hours'", "INTERVAL '1 02' DAY TO HOUR"),
        ("INTERVAL '1-2' YEAR TO MONTH", "INTERVAL '1-2' YEAR TO MONTH"),
        ("INTERVAL -3 WEEKS", "INTERVAL '-21' DAY"),
        ("INTERVAL 1.5 SECONDS", "INTERVAL '01.5' SECOND"),
        ("INTERVAL 2 MINUTES 3 SECONDS", "INTERVAL '02:03' MINUTE TO SECOND"),
    ],
)
def test_literals_and_their_canonical_text(text: str, printed: str) -> None:
    literal = parse(text)
    assert isinstance(literal, Literal)
    assert to_text(literal) == printed
    assert parse(printed) == literal


@pytest.mark.parametrize(
    "text",
    [
        "INTERVAL 1 MONTH 2 DAYS",
        "INTERVAL '1 2' DAY TO MONTH",
        "INTERVAL '25:00' HOUR TO DAY",
        "INTERVAL 'soon'",
        "INTERVAL '1' DAY TO",
        "INTERVAL '1' DAY TO AND",
        "INTERVAL 1.5 DAYS",
        "INTERVAL 'x' DAY",
        "INTERVAL '99999999999999' DAY",
    ],
)
def test_what_is_no_interval_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(ConditionError) as caught:
        parse(f"ts > {text}")
    assert caught.value.problems[0].start == 5


def test_an_attribute_may_be_called_interval() -> None:
    found = parse("interval - 5 > interval")
    assert isinstance(found, FunctionCall)
    assert found.arguments[1] == Name(("interval",))
