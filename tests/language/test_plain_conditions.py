"""Plain conditions: the formulas are those of the ordinary way, and nothing doubtful is taken for plain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import ConditionError, Problem
from tamis.events.event_type import EventType
from tamis.formulas.formula import Formula
from tamis.lab.workloads import generate
from tamis.language.condition import compile_condition, normalise
from tamis.language.plain_conditions import PlainCompiler
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.syntax.parser import parse
from tamis.syntax.tree import FunctionCall, Literal, Name

TYPED = EventType.from_dict(
    {
        "name": "e",
        "attributes": {
            "i": "int",
            "t": "tinyint",
            "l": "bigint",
            "d": "double",
            "f": "float",
            "m": "decimal(8,2)",
            "big": "decimal(38,2)",
            "s": "string",
            "b": "boolean",
            "day": "date",
            "p": "struct<q: int>",
        },
    }
)
LOOSE = EventType()
PLAIN = [
    "i = 3",
    "i == 3 AND d < 2.5",
    "  i<>3\n or l>=-4 and s = 'a b'  ",
    "i BETWEEN 1 AND 5 AND d between -1.5 and 2",
    "i BETWEEN 5 AND 1 OR s != ''",
    "s IN ('a', 'é', '≤') AND m <= 12.30 OR m > 7",
    "t = 300 OR t < 200",
    "i = 3000000000 AND l > 9",
    "p.q = 1 and i in(1,2 , 3)",
    "I = 1 AND i < 9",
    "NOT i = 3",
    "(i = 3)",
    "i NOT IN (1) AND i not between 3 and 4 OR s NOT LIKE 'a%'",
    "NOT (i = 3 AND (d < 2 OR NOT l > 4)) AND s IS NOT NULL OR NOT NOT i IS NULL",
    "s LIKE 'a%b' OR s LIKE '%' AND NOT (s LIKE 'a_')",
    "b OR NOT b AND NOT(b)",
    "((i = 1 OR i = 2) AND l = 3 OR ((d > 1)))",
    "NOT (i BETWEEN 1 AND 5 OR s IN ('a', 'b'))",
    "day IS NULL AND p IS NOT NULL AND big is null",
    "i = 3 AND NOT(i = 4)and(l = 5)or(l = 6)",
]


@pytest.mark.parametrize("text", PLAIN)
@pytest.mark.parametrize("event_type", [TYPED, LOOSE], ids=["typed", "schemaless"])
def test_plain_conditions_have_the_formulas_of_the_ordinary_way(text: str, event_type: EventType) -> None:
    wanted = normalise(parse(text), event_type)
    assert PlainCompiler(event_type, DEFAULT_LIMITS).compile(text) == wanted
    assert compile_condition(text, event_type).formula == wanted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "i",
        "i = 3 AND",
        "i = 3 OR ",
        "AND i = 3",
        "i = 3 4",
        "i = 3and l = 4",
        "i = 5D",
        "i = 5L",
        "i = 1e3",
        "d = .5",
        "d = 5.",
        "i = 3 -- a comment",
        "i = 'a''b'",
        "s = 'a' 'b'",
        r"s = 'a\'b'",
        's = "a"',
        "i <=> 3",
        "i = - 3",
        "NOT",
        "NOT AND i = 3",
        "(i = 3",
        "i = 3)",
        "()",
        "(i) = 3",
        "(i = 3) IS NULL",
        "(i = 3) = b",
        "(i, l) IN ((1, 2))",
        "(i = 3) l = 4",
        "NOTi = 3",
        "not = 3",
        "! (i = 3)",
        "i IS NULLAND l = 3",
        "s LIKE 'a' ESCAPE '/'",
        "s LIKE s",
        "i LIKE '3'",
        "upper(s) = 'A'",
        "i IS TRUE",
        "s NOT = 'a'",
        "i IN ()",
        "i IN (1, 'a')",
        "i IN (1, NULL)",
        "i = NULL",
        "nobody = 3",
        "s = 3",
        "i = 'a'",
        "i = 2.5",
        "f = 1",
        "big = 1",
        "m = 1.234",
        "b = 1",
        "day = 3",
        "null = 3",
        "between = 3",
        "ibetween 1 AND 2",
        "i between1 AND 2",
        "i = 12345678901234567890",
        "d = 0.1234567890123456789",
        "i\u00a0= 3",
        "i = \uff13",
        "`i` = 3",
        "s = '\ud800'",
    ],
)
def test_what_is_not_plain_goes_the_ordinary_way(text: str) -> None:
    assert PlainCompiler(TYPED, DEFAULT_LIMITS).compile(text) is None


def test_a_condition_is_analysed_when_somebody_asks() -> None:
    text = "i = 3 AND d < 2.5"
    found, wanted = compile_condition(text, TYPED), normalise(parse(text), TYPED)
    assert found.formula == wanted
    assert found.tree == parse(text)
    assert {*map(type, found.sources.values())} == {FunctionCall, Name, Literal}
    assert str(found.expression.type) == "boolean"


def test_event_types_are_kept_apart() -> None:
    other = EventType.from_dict({"name": "e", "attributes": {"i": "string"}})
    for _ in range(100):  # more than are remembered
        same = EventType.from_dict({"name": "e", "attributes": {"i": "int"}})
        assert compile_condition("i = 3", same).formula == normalise(parse("i = 3"), same)
        assert compile_condition("i = '3'", other).formula == normalise(parse("i = '3'"), other)


def test_limits_are_for_the_ordinary_way_to_check() -> None:
    compiler = PlainCompiler(TYPED, Limits(text_characters=10))
    assert compiler.compile("i = 3") is not None
    assert compiler.compile("i = 3 AND l = 4") is None
    assert PlainCompiler(LOOSE, DEFAULT_LIMITS).compile(".".join("abcdefgh") + " = 3") is not None
    assert PlainCompiler(LOOSE, DEFAULT_LIMITS).compile(".".join("abcdefghi") + " = 3") is None
    assert PlainCompiler(LOOSE, Limits(depth=5)).compile("i = 3") is None


_NAMES = st.sampled_from(["i", "t", "l", "d", "f", "m", "big", "s", "b", "p.q", "x", "and", "IN"])
_CONSTANTS = st.one_of(
    st.integers(-(10**19), 10**19).map(str),
    st.integers(-300, 300).map(str),
    st.decimals(-(10**6), 10**6, places=2).map(str),
    st.sampled_from(["'a'", "''", "'x y'", "1e2", "5L", "NULL", "TRUE", "-0", "0.0", "007"]),
)
_ATOMS = st.one_of(
    st.builds(
        "{} {} {}".format, _NAMES, st.sampled_from(["=", "<", "<=", ">", ">=", "<>", "!=", "=="]), _CONSTANTS
    ),
    st.builds("{} BETWEEN {} AND {}".format, _NAMES, _CONSTANTS, _CONSTANTS),
    st.builds(
        "{} {} ({})".format,
        _NAMES,
        st.sampled_from(["IN", "NOT IN"]),
        st.lists(_CONSTANTS, min_size=1, max_size=4).map(", ".join),
    ),
    st.builds("{} NOT BETWEEN {} AND {}".format, _NAMES, _CONSTANTS, _CONSTANTS),
    st.builds(
        "{} {} {}".format,
        _NAMES,
        st.sampled_from(["LIKE", "not like"]),
        st.sampled_from(["'a%'", "'%b_'", "''", "'%'"]),
    ),
    st.builds("{} {}".format, _NAMES, st.sampled_from(["IS NULL", "is not null", "", "is true"])),
)
_CONNECTIVES = st.sampled_from([" AND ", " or ", "\tAnd\n", " OR ", "and"])


def _joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A condition of some parts, perhaps in brackets, perhaps behind NOT, now and then with a bracket missing."""
    formats = st.sampled_from(
        ["({}) {} {}", "{} {} ({})", "NOT ({} {} {})", "not {}{}{}", "({} {} ({}))", "({}{}{}"]
    )
    return st.builds(lambda form, a, join, b: form.format(a, join, b), formats, parts, _CONNECTIVES, parts)


@given(text=st.recursive(_ATOMS, _joined, max_leaves=8), typed=st.booleans())
def test_random_nested_conditions(text: str, typed: bool) -> None:
    """Compiled the quick way or not, the outcome is that of the ordinary way: the formula, or all problems."""
    event_type = TYPED if typed else LOOSE
    found = PlainCompiler(event_type, DEFAULT_LIMITS).compile(text)
    wanted: Formula | list[Problem]
    try:
        wanted = normalise(parse(text), event_type)
    except ConditionError as error:
        assert found is None, "nothing that is refused may be taken for plain"
        wanted = list(error.problems)
    else:
        assert found is None or found == wanted
    try:
        outcome: Formula | list[Problem] = compile_condition(text, event_type).formula
    except ConditionError as error:
        outcome = list(error.problems)
    if isinstance(wanted, Formula):
        assert outcome == wanted
    else:
        assert not isinstance(outcome, Formula)


def test_nesting_is_for_the_ordinary_way_to_check() -> None:
    compiler = PlainCompiler(TYPED, DEFAULT_LIMITS)
    assert compiler.compile("(" * 16 + "i = 3" + ")" * 16) is not None
    assert compiler.compile("(" * 17 + "i = 3" + ")" * 17) is None
    assert compiler.compile("NOT " * 17 + "i = 3") is None
    assert compiler.compile(" AND ".join(["NOT (i = 3)"] * 50)) is not None, "one beside the other is not deep"
    assert PlainCompiler(TYPED, Limits(pattern_characters=3)).compile("s LIKE 'ab%c'") is None


def test_conditions_of_workloads_are_plain() -> None:
    """What the benchmark of parsing one condition at a time compiles."""
    for name in ("equality", "ranges", "ads"):
        data = generate(name, subscriptions=200, events=1, seed=3)
        compiler = PlainCompiler(data.event_type, DEFAULT_LIMITS)
        for text in data.conditions.to_pylist():
            assert compiler.compile(text) == normalise(parse(text), data.event_type), text


@given(
    atoms=st.lists(_ATOMS, min_size=1, max_size=5),
    connectives=st.lists(st.sampled_from([" AND ", " or ", "\tAnd\n", " OR "]), min_size=5, max_size=5),
    typed=st.booleans(),
)
def test_random_conditions(atoms: list[str], connectives: list[str], typed: bool) -> None:
    text = atoms[0] + "".join(join + atom for join, atom in zip(connectives, atoms[1:], strict=False))
    event_type = TYPED if typed else LOOSE
    found = PlainCompiler(event_type, DEFAULT_LIMITS).compile(text)
    if found is None:
        return
    try:
        wanted = normalise(parse(text), event_type)
    except ConditionError as error:  # nothing that is refused may be taken for plain
        raise AssertionError(text) from error
    assert found == wanted
