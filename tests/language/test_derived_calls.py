"""Calls that mean others, and collations: what they are, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tamis import Matcher
from tamis.errors import ConditionError
from tamis.events import EventBatch, EventType
from tamis.language.condition import compile_condition
from tests.oracle.expressions import typed, values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("decode(3, 1, 'a', 2, 'b', 'c')", "c"),
        ("decode(NULL, 1, 'a', NULL, 'n')", "n"),
        ("decode(3, 1, 'a')", None),
        ("equal_null(NULL, NULL)", True),
        ("space(2)", "  "),
        ("regexp_replace('abc', '^b', 'x', 2)", "axc"),
        ("regexp_replace('abc', 'b', 'x', 9)", "abc"),
        ("arrays_zip(array(1, 2), array('a'))", [(1, "a"), (2, None)]),
        ("map_filter(map(1, 'a', 2, 'b'), (k, v) -> k > 1)", [(2, "b")]),
        ("transform_keys(map(1, 'a'), (k, v) -> k + 1)", [(2, "a")]),
        ("transform_values(map(1, 'a'), (k, v) -> concat(v, k))", [(1, "a1")]),
        ("'a' COLLATE UTF8_LCASE = 'A'", True),
        ("'b' COLLATE UTF8_LCASE IN ('x', 'B')", True),
        ("'a ' COLLATE UTF8_LCASE_RTRIM = 'A'", True),
        ("'a' COLLATE UTF8_BINARY = 'A'", False),
        ("'Σ' COLLATE UTF8_LCASE = 'ς'", True),
        ("collation('a')", "SYSTEM.BUILTIN.UTF8_BINARY"),
        ("collation('a' COLLATE SYSTEM.BUILTIN.UTF8_LCASE)", "SYSTEM.BUILTIN.UTF8_LCASE"),
    ],
)
def test_values_of_spark(text: str, expected: Any) -> None:
    event_type = EventType.of({"attributes": {"n": "int"}})
    assert values(typed(event_type, text), EventBatch.of([{"n": 1}], event_type)) == [expected]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s COLLATE UNICODE_CI = 'a'", "collate: the collation UNICODE_CI is not supported"),
        ("upper(s COLLATE UTF8_LCASE) = 'a'", "upper: upper is not supported under the collation UTF8_LCASE"),
        ("s COLLATE UTF8_LCASE = 'a' COLLATE UTF8_BINARY", "=: two collations are named in one comparison"),
        ("(s COLLATE UTF8_LCASE) IS NULL", "is_null: is_null is not supported under the collation UTF8_LCASE"),
        ("regexp_replace(s, 'b', 'x', 0) = 'a'", "regexp_replace: expected a place from 1 on, written out"),
        ("size(map_filter(map(1, s), k -> k > 1)) = 1", "map_filter: it is written map_filter(map, (key, value)"),
        ("size(arrays_zip()) = 1", "arrays_zip: expected arrays"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConditionError) as caught:
        compile_condition(text)
    assert message.removeprefix("collate: ").removeprefix("=: ") in caught.value.problems[0].message


def test_a_collation_in_a_condition() -> None:
    matcher = Matcher()
    matcher.add("x", "brand COLLATE UTF8_LCASE = 'Sony' AND code COLLATE UTF8_LCASE BETWEEN 'a' AND 'M'")
    assert matcher.match({"brand": "SONY", "code": "B"}) == ["x"]
    assert matcher.match({"brand": "SONY", "code": "Z"}) == []
