"""`MatchesPattern` holds for strings only, negated or not."""

from __future__ import annotations

import pytest

from tamis.events import EventBatch
from tamis.formulas.predicates.matches import MatchesPattern
from tamis.frames import BatchFrame
from tamis.language.condition import compile_condition


@pytest.mark.parametrize("test", ["like", "ilike", "rlike"])
@pytest.mark.parametrize("negated", [False, True])
def test_patterns_hold_for_strings_only(test: str, negated: bool) -> None:
    pattern = {"like": "%b%", "ilike": "%B%", "rlike": "b"}[test]
    frame = BatchFrame(EventBatch.of([{"a": "abc"}, {"a": "xyz"}, {"a": None}, {}, {"a": ""}]))
    attribute = compile_condition("a LIKE '%q%'").formula.predicates()[0].attribute
    found = MatchesPattern(attribute, test, pattern, negated).mask(frame)
    assert found.tolist() == [not negated, negated, False, False, negated]


@pytest.mark.parametrize("text", ["a LIKE '%b%'", "a NOT LIKE '%b'", "a ILIKE 'B%'", "a RLIKE '^b+$'"])
def test_the_text_and_the_cost(text: str) -> None:
    (predicate,) = compile_condition(text).formula.predicates()
    assert isinstance(predicate, MatchesPattern)
    assert predicate.describe() == text
    assert predicate.cost > compile_condition("a = 'b'").formula.cost


def test_prefixes_and_exact_strings_are_ranges() -> None:
    for text in ("a LIKE 'b%'", "a LIKE 'b'", "a LIKE '%'"):
        (predicate,) = compile_condition(text).formula.predicates()
        assert not isinstance(predicate, MatchesPattern)
