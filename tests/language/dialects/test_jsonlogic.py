"""JSONLogic: the answers of JavaScript, missing values included, and what is refused with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tamis import Matcher
from tamis.language.dialects import parse_dialect
from tamis.syntax.parser import parse
from tamis.syntax.printing import to_text

A = {"var": "a"}
EVENT: dict[str, Any] = {"a": 5, "t": "5", "e": "", "f": False, "o": {"x": "abc"}, "l": [1, "x", {"k": 7}]}
EVENT["n"] = []
CASES: list[tuple[Any, bool]] = [
    ({"==": [A, "5"]}, True),
    ({"===": [A, "5"]}, False),
    ({"!==": [{"var": "t"}, 5]}, True),
    ({"==": [{"var": "e"}, 0]}, True),
    ({"==": [{"var": "z"}, 0]}, False),
    ({"==": [{"var": "z"}, None]}, True),
    ({"===": [{"var": "z"}, {"var": "y"}]}, True),
    ({"==": [{"var": "f"}, 0]}, True),
    ({"==": [{"var": "t"}, " 5"]}, False),
    ({"<": [{"var": "z"}, 1]}, True),
    ({"<": [{"var": "o.x"}, 1]}, False),
    ({">=": [{"var": "o.x"}, 1]}, False),
    ({"<": [{"var": "t"}, "40"]}, False),
    ({"<": [{"var": "t"}, 40]}, True),
    ({"<": [1, A, 10]}, True),
    ({"<=": [6, A, 10]}, False),
    ({"and": [A, {"var": "t"}]}, True),
    ({"or": [{"var": "e"}, {"var": "n"}, {"var": "f"}, {"var": "z"}, 0]}, False),
    ({"!": [{"var": "n"}]}, True),
    ({"!!": "0"}, True),
    ({"if": [{"var": "z"}, True, {"<": [A, 3]}, True, {"var": "o.x"}]}, True),
    ({"if": [{"var": "z"}, True]}, False),
    ({"in": ["b", {"var": "o.x"}]}, True),
    ({"in": ["x", {"var": "l"}]}, True),
    ({"in": ["1", {"var": "l"}]}, False),
    ({"in": [A, [1, 5]]}, True),
    ({"in": [5, A]}, False),
    ({"in": ["", {"var": "e"}]}, False),
    ({"in": [{"var": "z"}, "null"]}, True),
    ({"some": [{"var": "l"}, {"==": [{"var": "k"}, 7]}]}, True),
    ({"all": [{"var": "n"}, True]}, False),
    ({"none": [{"var": "z"}, True]}, True),
    ({"all": [{"var": "l"}, {"!==": [{"var": ""}, 2]}]}, True),
    ({"missing": ["a", "e"]}, True),
    ({"missing": [["a", "t"]]}, False),
    ({"missing_some": [1, ["a", "z"]]}, False),
    ({"missing_some": [2, ["a", "z"]]}, True),
    ({"==": [{"+": [A, "2kg", 1]}, 8]}, True),
    ({"==": [{"/": [A, 2]}, 2.5]}, True),
    ({">": [{"/": [A, 0]}, 1e300]}, True),
    ({"==": [{"%": [{"-": [A]}, 3]}, -2]}, True),
    ({"<": [{"*": [{"var": "z"}, 2]}, 9]}, False),
    ({"==": [{"cat": [A, "/", {"var": "z"}, {"var": "f"}]}, "5/false"]}, True),
    ({"==": [{"substr": [{"var": "o.x"}, -2, 1]}, "b"]}, True),
    ({"==": [{"substr": [{"var": "o.x"}, 0, -1]}, "ab"]}, True),
    ({"==": [{"max": [1, A, "3"]}, 5]}, True),
    ({"==": [{"min": [1, {"var": "o.x"}]}, 1]}, False),
    ({"==": [{"var": "l.2.k"}, 7]}, True),
    (True, True),
]


@pytest.mark.parametrize(("rule", "expected"), CASES)
def test_rules_have_the_answers_of_javascript(rule: Any, expected: bool) -> None:
    text = json.dumps(rule)
    matcher = Matcher()
    matcher.add("x", text, dialect="jsonlogic")
    matcher.add("not", json.dumps({"!": [rule]}), dialect="jsonlogic")
    assert matcher.match(EVENT) == (["x"] if expected else ["not"])
    tree, problems = parse_dialect(text, "jsonlogic")
    assert problems == []
    assert to_text(parse(to_text(tree))) == to_text(tree)


def test_declared_types() -> None:
    matcher = Matcher({"attributes": {"n": "int", "s": "string", "tags": "array<string>", "d": "decimal(5,2)"}})
    rule: dict[str, Any] = {
        "and": [{"==": [{"var": "n"}, "5"]}, {"in": ["x", {"var": "tags"}]}, {"in": ["b", {"var": "s"}]}]
    }
    rule["and"].append({"<": [1, {"var": "d"}, 2]})
    matcher.add("x", json.dumps(rule), dialect="jsonlogic")
    assert matcher.match({"n": 5, "s": "abc", "tags": ["x"], "d": 1.5}) == ["x"]
    assert matcher.match({"n": 5, "s": "abc", "tags": ["b"], "d": 1.5}) == []


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ('{"filter": [{"var": "a"}, true]}', 1),
        ('{"==": [1]}', 0),
        ('{"==": [1, [2]]}', 11),
        ('{"==": [1, 2], "!": 3}', 0),
        ('{"var": ["a", 1]}', 14),
        ('{"var": true}', 8),
        ('{"!": {"var": ""}}', 6),
        ('{"==": [{"or": [{"var": "a"}, 1]}, 2]}', 8),
        ('{"==": [{"missing": ["a"]}, 2]}', 8),
        ('{"substr": ["a", {"var": "b"}]}', 17),
        ('{"some": [1, true]}', 10),
        ('{"missing_some": ["a", 1]}', 0),
        ('{"/": [1]}', 0),
        ("{", 1),
    ],
)
def test_what_is_refused(text: str, at: int) -> None:
    _, problems = parse_dialect(text, "jsonlogic")
    assert [problem.start for problem in problems] == [at]
