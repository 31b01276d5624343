"""from_json and to_json: conditions on JSON in text, and what is refused."""

from __future__ import annotations

import pytest

from tamis import Matcher
from tamis.errors import ConditionError
from tests.functions.values import value


def test_a_condition_on_json_in_text() -> None:
    matcher = Matcher({"attributes": {"x": "string"}})
    matcher.add("large", "from_json(x, 'a INT, tags ARRAY<STRING>').a > 3")
    matcher.add("new", "array_contains(from_json(x, 'tags ARRAY<STRING>').tags, 'new')")
    assert matcher.match({"x": '{"a": 5, "tags": ["new"]}'}) == ["large", "new"]
    assert matcher.match({"x": '{"a": "5"}'}) == []
    assert matcher.match({"x": "[" * 20_000}) == []


def test_what_is_no_json_is_a_struct_of_nulls() -> None:
    assert value("from_json('{', 'a INT, b INT')") == (None, None)
    assert value("from_json('{', 'ARRAY<INT>')") is None
    assert value("from_json('', 'a INT')") is None


def test_to_json_leaves_out_fields_that_are_null() -> None:
    assert value("to_json(named_struct('a', NULL, 'b', array(1, NULL), 'c', map('k', 'x\"')))") == (
        '{"b":[1,null],"c":{"k":"x\\""}}'
    )


@pytest.mark.parametrize(
    "text",
    [
        "from_json('{}', 'INT')",
        "from_json('{}', 'a')",
        "from_json('{}', NULL)",
        "from_json('{}', 'a INT', map('mode', 'FAILFAST'))",
        "to_json(1)",
        "to_json(array(TIMESTAMP '2020-01-01 00:00:00'))",
    ],
)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(ConditionError):
        value(text)
