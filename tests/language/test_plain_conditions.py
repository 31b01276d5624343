"""Plain conditions: the formulas are those of the ordinary way, and nothing doubtful is taken for plain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import ConditionError
from tamis.events.event_type import EventType
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
        "NOT i = 3",
        "(i = 3)",
        "i NOT IN (1)",
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
    st.builds("{} IN ({})".format, _NAMES, st.lists(_CONSTANTS, min_size=1, max_size=4).map(", ".join)),
)


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
