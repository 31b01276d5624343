"""What regular expressions find: values of Spark, empty matches, line ends, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tamis import Matcher
from tamis.errors import ConditionError
from tests.functions.values import value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("regexp_extract('a1b22', '([a-z])([0-9]+)')", "a"),
        ("regexp_extract('a1b22', '([a-z])([0-9]+)', 2)", "1"),
        ("regexp_extract('a', '(a)|(b)', 2)", ""),
        ("regexp_extract('xay', 'a*?', 0)", ""),
        ("regexp_extract_all('a1b22', '([a-z])([0-9]+)', 0)", ["a1", "b22"]),
        ("regexp_replace('a1b22', '([a-z])([0-9]+)', '$2-$1')", "1-a22-b"),
        ("regexp_replace('abc', '(a)', '$12')", "a2bc"),
        (r"regexp_replace('a1', '(?<x>[a-z])1', r'${x}\$\\')", "a$\\"),
        (r"regexp_replace(' a \r\n', r'\s+$', '')", " a"),
        (r"regexp_replace('a\n', 'a$', 'b')", "b\n"),
        ("regexp_count('aaa', 'aa')", 1),
        ("regexp_substr('a1b22', '[0-9]+')", "1"),
        ("regexp_substr('a', 'b*')", None),
        ("regexp_instr('😀a1', '[0-9]+')", 3),
        ("split('a,b,,c,', ',')", ["a", "b", "", "c", ""]),
        ("split('a,', ',', 2)", ["a", ""]),
        ("split('a,b,c', ',', 2)", ["a", "b,c"]),
        ("split('abc', '', 2)", ["a", "bc"]),
        ("split('', ',')", [""]),
        (r"split('a1\n', '[0-9]$')", ["a", "\n"]),
    ],
)
def test_values(text: str, expected: Any) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "regexp_extract('a', 'a')",
        "regexp_extract('a', '(a)', 2)",
        "regexp_extract('a', '(a)', -1)",
        "regexp_extract('a', '(a*)*', 1)",
        "regexp_extract('a', '(?m)^a', 0)",
        "regexp_extract('a', 'a$|b', 0)",
        r"regexp_extract('a', '[a\r]$', 0)",
        "regexp_replace('a', 'a*', 'x')",
        "regexp_replace('a', 'a', '$1')",
        "regexp_replace('a', 'a', '$')",
        "regexp_replace('a', 'a', '${x}')",
        r"regexp_replace('a', 'a', r'\')",
        "regexp_count('a', 'x*')",
        "split('a', 'x*')",
        "regexp_extract_all('a', '(?=a)', 0)",
        f"split('a', '{'b' * 1001}')",
    ],
)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(ConditionError):
        value(text)


def test_rows_of_a_batch_are_independent() -> None:
    matcher = Matcher({"attributes": {"s": "string"}})
    matcher.add("second", "split(s, '[,;]')[1] = 'b'")
    matcher.add("year", r"CAST(regexp_extract(s, r'\b(\d{4})-', 1) AS INT) > 2000")
    texts = ["a,b", None, "b;a", "on 2024-01", "\ue000,b", "x1999-", ""]
    found = matcher.match_batch([{"s": text} for text in texts]).to_pydict()
    assert sorted(zip(*found.values(), strict=True)) == [(0, "second"), (3, "year"), (4, "second")]
