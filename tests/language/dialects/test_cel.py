"""CEL: what its operators, functions and macros mean, errors that are no match, and what is refused where."""

from __future__ import annotations

from typing import Any

import pytest

from tamis import Matcher
from tamis.errors import ConditionError
from tamis.language.dialects import parse_dialect
from tamis.language.dialects.cel import re2_to_java
from tamis.syntax.parser import parse
from tamis.syntax.printing import to_text

EVENT = {
    "a": {"b": "/v1/x", "n": 5, "d": 2.5, "t": True, "l": [1, 2, "x"], "o": [{"k": 1}, {"k": 7}], "nul": None},
    "v": 2,
}
TRUE = """
a.b.startsWith('/v1') && a.n > 3
a.b.endsWith("x") && a.b.contains(r'v1')
a.n != '5'
has(a.b) && !has(a.z) && !has(a.nul)
a.n / 2 == 2 && -a.n / 2 == -2 && a.d / 2 == 1.25 && a.d / 0 > 1e300
a.n % 2 == 1 && a.n * 2 - 1 == 9 && 0x10 == 16 && 3u == 3
a.l.exists(x, x == 'x')
a.o.all(o, o.k > 0)
a.o.exists(o, o.k == 7 && v == 2)
a.o.filter(o, o.k > 3).size() == 1
a.o.map(o, o.k)[0] == 1
size(a.l) == 3 && a.b.size() == 5 && size('äb') == 2
a.n in [1, 5, 'q'] && !(a.n in ['5'])
v in a.l && !('y' in a.l)
a.b.matches('^/v[0-9]+/') && a.b.matches(r'x$') && !a.b.matches('y')
a.t ? a.n > 3 : false
a.l[0] == 1 && a['b'] == '/v1/x' && a.o[1].k == 7
a.b + 'y' == '/v1/xy' && a.n + a.n == 10
a.z > 3 || a.n == 5
!(a.z == 1 && a.n == 6)
a.nul == null
(a.t ? a.b : 'q') == '/v1/x'
'\\x41\\u0042\\103\\n' == '''ABC
''' // a comment
"""
ERRORS = """
a.z == 1
a.z != 1
!(a.z == 1)
a.b > 3
!(a.b > 3)
a.n
a.n / 0 == 0
!(a.n / 0 == 0)
a.z ? true : true
9223372036854775807 + a.n > 0
a.n.startsWith('5')
a.t && a.z == 1
"""


def matches(text: str, event: dict[str, Any] = EVENT, event_type: Any = None) -> bool:
    matcher = Matcher(event_type)
    matcher.add("x", text, dialect="cel")
    return matcher.match(event) == ["x"]


def cases(table: str) -> list[str]:
    return [line for line in table.replace("ABC\n'''", "ABC\\n'''").splitlines() if line]


@pytest.mark.parametrize("text", cases(TRUE))
def test_what_holds(text: str) -> None:
    assert matches(text)
    assert not matches(f"!({text.partition(' //')[0]})")


@pytest.mark.parametrize("text", cases(ERRORS))
def test_an_error_is_no_match(text: str) -> None:
    assert not matches(text)


@pytest.mark.parametrize("text", cases(TRUE))
def test_the_sql_that_it_means_is_read_again(text: str) -> None:
    tree, problems = parse_dialect(text, "cel")
    assert problems == []
    assert to_text(parse(to_text(tree))) == to_text(tree)


def test_declared_types() -> None:
    event_type = {"attributes": {"name": "string", "n": "int", "tags": "array<string>", "m": "map<string,int>"}}
    event = {"name": "ab", "n": 3, "tags": ["x"], "m": {"k": 1}}
    assert matches(
        "size(name) == 2 && n == 3 && 'x' in tags && size(tags) == 1 && m.k == 1 && size(m) == 1",
        event,
        event_type,
    )
    with pytest.raises(ConditionError):
        matches("nobody == 3", event, event_type)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("a +", 3),
        ("a = 1", 2),
        ("1 < 'a'", 0),
        ("duration('1h') > a", 0),
        ("a.lowerAscii() == 'x'", 2),
        ("a.exists_one(x, x > 1)", 2),
        ("'abc", 0),
        ("{'a': 1} == a", 0),
        ("a in [b]", 5),
        ("has(a)", 4),
        ("(a ? b : c) ? d : e", 1),
        ("a[b]", 2),
        ("while == 1", 0),
        ("99999999999999999999 > a", 0),
        ("a.matches('[[:alpha:]]')", 10),
        ("a.matches(b)", 10),
        (r"a.matches(r'x\b{g}')", 10),  # a word boundary before braces in RE2, one of graphemes in Java
        ("'\\q' == a", 0),
        ("1 + 2", 0),
        ("(" * 70 + "a" + ")" * 70, 64),
    ],
)
def test_what_is_refused(text: str, at: int) -> None:
    _, problems = parse_dialect(text, "cel")
    assert [problem.start for problem in problems] == [at]


def test_patterns_of_re2_are_written_as_java_reads_them() -> None:
    assert re2_to_java(r"^a\s$[\s$]", (0, 1)) == r"(?d)^a[\t\n\f\r ]\z[\t\n\f\r $]"
    assert matches(r"s.matches(r'^a.b$')", {"s": "a\rb"})
    assert not matches(r"s.matches(r'b$')", {"s": "ab\n"})


def test_long_chains_are_read_in_linear_time() -> None:
    for sign in ("/", "+", "=="):
        assert parse_dialect(sign.join(["a"] * 300), "cel")[0] is not None
