"""The canonical text of a condition reads back as the same tree, whatever the tree."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tamis.limits import DEFAULT_LIMITS
from tamis.syntax.parser import parse
from tamis.syntax.printing import quote_name, to_text
from tamis.syntax.tokens import KEYWORDS
from tamis.syntax.tree import (
    Cast,
    Expression,
    FieldAccess,
    FunctionCall,
    Lambda,
    Literal,
    Name,
    TimeLiteral,
    children,
)
from tamis.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Type,
    array,
    decimal,
    integer_bounds,
)
from tamis.values.types import struct as struct_type
from tests.worlds import WORLDS, world

# --- any tree that the parser can give ------------------------------------------------------------------------

_CONTEXT_WORDS = (
    *("interval", "date", "timestamp", "x", "r", "both", "leading", "trailing", "from", "for", "any", "some"),
    *("all", "as", "distinct", "unknown", "cast", "exists", "price", "Straße", "日本", "1a", "_"),
)
_characters = st.characters(exclude_categories=["Cs"])
_parts = st.one_of(
    st.sampled_from([*_CONTEXT_WORDS, *KEYWORDS, "AND", "Price"]),
    st.text(_characters, min_size=1, max_size=4),
)
_names = st.lists(_parts, min_size=1, max_size=3).map(lambda parts: Name(tuple(parts)))


def _bigint(value: int) -> Literal:
    return Literal(BIGINT, value)


def _decimal(unscaled: int, scale: int) -> Literal:
    digits = len(str(abs(unscaled))) if unscaled else 0
    return Literal(decimal(max(digits, scale, 1), scale), unscaled)


_strings = st.text(st.one_of(st.sampled_from("'\"\\%_\0\n\t\r\b\x1a01u'"), _characters))
_literals: st.SearchStrategy[Expression] = st.one_of(
    st.integers(*integer_bounds(INT)).map(lambda value: Literal(INT, value)),
    st.integers(*integer_bounds(TINYINT)).map(lambda value: Literal(TINYINT, value)),
    st.integers(*integer_bounds(SMALLINT)).map(lambda value: Literal(SMALLINT, value)),
    st.integers(*integer_bounds(BIGINT)).map(_bigint),
    st.builds(_decimal, st.integers(-(10**38) + 1, 10**38 - 1), st.integers(0, 38)),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: Literal(DOUBLE, value)),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(lambda value: Literal(FLOAT, value)),
    _strings.map(lambda value: Literal(STRING, value)),
    st.binary(max_size=4).map(lambda value: Literal(BINARY, value)),
    st.sampled_from([Literal(BOOLEAN, True), Literal(BOOLEAN, False), Literal(NULL, None)]),
    st.builds(TimeLiteral, st.sampled_from([DATE, TIMESTAMP, TIMESTAMP_NTZ]), _strings),
)
_types: st.SearchStrategy[Type] = st.recursive(
    st.sampled_from([INT, STRING, BOOLEAN, DOUBLE, TIMESTAMP_NTZ, decimal(10, 0), decimal(38, 18), BINARY]),
    lambda inner: st.one_of(
        inner.map(array),
        st.lists(st.tuples(st.sampled_from(["a", "B c", "`", "end"]), inner), min_size=1, max_size=2).map(
            lambda fields: struct_type(*fields)
        ),
    ),
    max_leaves=3,
)
_BINARY = (
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "<=>",
    "|",
    "^",
    "&",
    "+",
    "-",
    "||",
    "*",
    "/",
    "%",
    "div",
    "xor",
    "[]",
)
_UNARY = (
    *("not", "negative", "positive", "~", "is_null", "is_not_null", "is_true", "is_not_true", "is_false"),
    "is_not_false",
)
_SPECIAL = ("position", "trim", "substring", "substr")  # with a grammar of their own, never empty
_FUNCTIONS = (
    *("abs", "coalesce", "like", "ilike", "rlike", "regexp", "div"),
    *("negative", "positive", "at_least", "if", "date", "any", "no_such_function", "1a", "été"),
)


def _joined(function: str, operands: list[Expression]) -> Expression:
    """AND and OR as the parser makes them: flat."""
    flat: list[Expression] = []
    for operand in operands:
        is_same = isinstance(operand, FunctionCall) and operand.function == function
        flat.extend(children(operand) if is_same else [operand])
    return FunctionCall(function, tuple(flat))


def _field(operand: Expression, name: str) -> Expression:
    return Name((*operand.parts, name)) if isinstance(operand, Name) else FieldAccess(operand, name)


def _compound(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    some = st.lists(inner, max_size=3)
    more = st.lists(inner, min_size=2, max_size=3)
    return st.one_of(
        st.builds(_joined, st.sampled_from(["and", "or"]), more),
        st.builds(lambda name, a, b: FunctionCall(name, (a, b)), st.sampled_from(_BINARY), inner, inner),
        st.builds(lambda name, a: FunctionCall(name, (a,)), st.sampled_from(_UNARY), inner),
        more.map(lambda items: FunctionCall("in", tuple(items))),
        st.builds(
            lambda name, a, b, escape: FunctionCall(name, (a, b, Literal(STRING, escape))),
            st.sampled_from(["like", "ilike"]),
            inner,
            inner,
            st.sampled_from("!'%\n\0"),
        ),
        st.lists(inner, min_size=2, max_size=5).map(lambda parts: FunctionCall("case", tuple(parts))),
        st.builds(lambda name, parts: FunctionCall(name, tuple(parts)), st.sampled_from(_FUNCTIONS), some),
        st.builds(lambda name, parts: FunctionCall(name, tuple(parts)), st.sampled_from(_SPECIAL), more),
        st.builds(Cast, inner, _types),
        st.builds(_field, inner, _parts),
        st.builds(Lambda, _parts, inner),
    )


trees = st.recursive(st.one_of(_names, _literals), _compound, max_leaves=12)


@pytest.mark.slow
@settings(max_examples=1500)
@given(trees)
@example(FunctionCall("=", (FieldAccess(Literal(INT, 5), "a"), Literal(INT, 1))))
@example(FunctionCall("position", (FunctionCall("and", (Name(("a",)), Name(("b",)))), Name(("c",)))))
@example(FunctionCall("trim", (FunctionCall("||", (Name(("both",)), Literal(STRING, "x"))),)))
@example(FunctionCall("trim", (Name(("from",)),)))
@example(FunctionCall("like", (Name(("a",)), Name(("b",)), Name(("c",)))))
@example(FunctionCall("like", (Name(("a",)), Name(("b",)), Literal(STRING, "\\"))))
@example(FunctionCall("like", (Name(("a",)), FunctionCall("any", (Literal(STRING, "x"),)))))
@example(FunctionCall("like", ()))
@example(FunctionCall("div", (Name(("a",)),)))
@example(FunctionCall("negative", ()))
@example(FunctionCall("-", (Name(("interval",)), Literal(INT, 5))))
@example(FunctionCall("negative", (FunctionCall("negative", (Literal(INT, -5),)),)))
@example(Literal(STRING, "\x0001"))
def test_the_text_of_a_tree_reads_back_as_that_tree(tree: Expression) -> None:
    text = to_text(tree)
    assert parse(text) == tree, text


@given(_parts)
def test_every_name_can_be_written(name: str) -> None:
    assert parse(quote_name(name)) == Name((name,))


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_generated_conditions_read_back_and_their_text_is_final(name: str) -> None:
    random_ = random.Random(11)
    for _ in range(400):
        written = world(name).condition(random_)
        tree = parse(written)
        text = to_text(tree)
        assert parse(text) == tree, written
        assert to_text(parse(text)) == text, written


@pytest.mark.parametrize("sign", ["-", "+", "~", "NOT "])
def test_a_deep_chain_of_signs_is_not_deeper_when_printed(sign: str) -> None:
    tree = parse((sign.strip() + " ") * (DEFAULT_LIMITS.depth - 2) + "a")
    assert parse(to_text(tree)) == tree


# --- one way to write each thing ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("NOT(a==1 and (b<2)) or x between 1 and 5", "NOT (a = 1 AND b < 2) OR x >= 1 AND x <= 5"),
        ("a!=1", "a <> 1"),
        ("! a = b", "NOT a = b"),
        ("not not a", "NOT NOT a"),
        ("((a and b)) and c", "a AND b AND c"),
        ("a and (b or c)", "a AND (b OR c)"),
        ("(a and b) or c", "a AND b OR c"),
        ("a or b xor c and d", "a OR b XOR c AND d"),
        ("(a or b) xor c", "(a OR b) XOR c"),
        ("a xor (b xor c)", "a XOR (b XOR c)"),
        ("(a xor b) xor c", "a XOR b XOR c"),
        ("a = (b = c)", "a = (b = c)"),
        ("(a = b) = c", "a = b = c"),
        ("(not a) = b", "(NOT a) = b"),
        ("a not in (1,2)", "NOT a IN (1, 2)"),
        ("a not between 1 and 2", "NOT (a >= 1 AND a <= 2)"),
        ("a not like 'x%'", "NOT a LIKE 'x%'"),
        ("a like any ('x', 'y')", "a LIKE 'x' OR a LIKE 'y'"),
        ("a not like all ('x', 'y')", "NOT a LIKE 'x' AND NOT a LIKE 'y'"),
        ("a like 'x!%' escape '!'", "a LIKE 'x!%' ESCAPE '!'"),
        ("a like 'x' escape '\\\\'", "a LIKE 'x'"),
        ("a regexp 'x'", "a RLIKE 'x'"),
        ("(a is null) is not true", "(a IS NULL) IS NOT TRUE"),
        ("a is unknown", "a IS UNKNOWN"),
        ("a is not distinct from b", "a <=> b"),
        ("a is distinct from b", "NOT a <=> b"),
        ("a+b*c-(d-e) = -f", "a + b * c - (d - e) = -f"),
        ("(a+b)*c DIV d % e = 0", "(a + b) * c DIV d % e = 0"),
        ("a|b^c&d = 1", "a | b ^ c & d = 1"),
        ("((a|b)^c)&d = 1", "((a | b) ^ c) & d = 1"),
        ("a||(b||c) = 'x'", "a || (b || c) = 'x'"),
        ("-(5) = a", "-(5) = a"),
        ("- 5 = a", "-5 = a"),
        ("a - -5 = b", "a - -5 = b"),
        ("a::int = 1", "CAST(a AS INT) = 1"),
        ("try_cast(a as decimal(8, 2)) = 1", "CAST(a AS DECIMAL(8,2)) = 1"),
        ("a.b.c = 1", "a.b.c = 1"),
        ("a[0].b['c'] = 1", "a[0].b['c'] = 1"),
        ("(-a)[0] = 1", "(-a)[0] = 1"),
        ("-a[0] = 1", "-a[0] = 1"),
        ("`and` = 1", "`and` = 1"),
        ("`a b`.`c``d` = 1", "`a b`.`c``d` = 1"),
        ("`price` = 1", "price = 1"),
        ("case a when 1 then b when 2 then c else d end", "CASE WHEN a = 1 THEN b WHEN a = 2 THEN c ELSE d END"),
        ("ABS( a )=1", "abs(a) = 1"),
        ("extract(YEAR from a) = 2024", "date_part('year', a) = 2024"),
        ("substring(a from 2 for 3) = 'x'", "substring(a, 2, 3) = 'x'"),
        ("trim(leading 'x' from a) = ''", "ltrim('x', a) = ''"),
        ("position('x' in a) = 1", "position('x', a) = 1"),
        ("exists(tags,x->x='new' or x=y)", "exists(tags, x -> x = 'new' OR x = y)"),
        ("date'2024-02-29' = a", "DATE '2024-02-29' = a"),
        ("timestamp_ltz'2024-02-29' = a", "TIMESTAMP '2024-02-29' = a"),
        ("x'1f' = a", "X'1F' = a"),
        ("x'123' = a", "X'0123' = a"),
        ("'it''s' \"q\" = a", "'it\\'sq' = a"),
        ("r'\\d' = a", "'\\\\d' = a"),
        ("TRUE or null", "TRUE OR NULL"),
        ("5y = a", "5Y = a"),
        ("2147483648 = a", "2147483648L = a"),
        ("-2147483648 = a", "-2147483648 = a"),
        ("9223372036854775808 = a", "9223372036854775808BD = a"),
        ("00.10 = a", "0.10 = a"),
        (".5 = a", "0.5 = a"),
        ("5. = a", "5BD = a"),
        ("1e3 = a", "1000.0D = a"),
        ("1e3bd = a", "1000BD = a"),
        ("-0.0d = a", "-0.0D = a"),
        ("a -- a comment\n = /* and /* another */ */ 1", "a = 1"),
    ],
)
def test_canonical_form(written: str, canonical: str) -> None:
    assert to_text(parse(written)) == canonical
