"""CloudEvents SQL: the cases of the conformance kit and of the specification, refusals, and errors as NULL."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.engines import ENGINES
from tamis.errors import ConditionError
from tamis.events import EventBatch, EventType
from tamis.formulas.expression import Typed
from tamis.language.analysis import Schemaless, analyse
from tamis.language.condition import compile_condition
from tamis.language.dialects.cesql import parse_leniently
from tamis.limits import Limits
from tamis.reference import EventRow, evaluate, evaluator, matches
from tamis.syntax import tree as syntax
from tamis.syntax.parser import parse
from tamis.syntax.printing import to_text
from tamis.values.types import ANY, BOOLEAN

CASES = Path(__file__).parents[2] / "data" / "cesql" / "conformance.txt"
EVENT = {"id": "1", "source": "/s", "type": "t", "specversion": "1.0"}


@dataclass(frozen=True)
class Case:
    section: str
    expression: str
    result: str
    event: dict[str, Any]


def _cases() -> list[Case]:
    found, section = [], ""
    for line in CASES.read_text("utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif line and not line.startswith("#"):
            expression, result = line.split(" => ")
            result, _, event = result.partition(" @ ")
            found.append(Case(section, expression, result, EVENT | json.loads(event or "{}")))
    return found


def _typed(expression: str) -> Typed:
    tree, problems = parse_leniently(expression)
    assert not problems
    typed, more = analyse(tree, Schemaless(), is_whole=False)
    assert typed is not None, more
    return typed


def _value(expression: str, event: dict[str, Any]) -> Any:
    """The value of an expression of any type; None for an error."""
    columns: dict[tuple[str, ...], list[Any]] = {}
    return evaluator(_typed(expression), EventBatch.of([event]), columns)(EventRow(columns, 0))


def _refuses(expression: str) -> bool:
    try:
        compile_condition(expression, dialect="cesql")
    except ConditionError as error:
        assert all(0 <= problem.start < problem.end for problem in error.problems)
        return True
    return False


@pytest.mark.parametrize("case", _cases(), ids=lambda case: f"{case.section}: {case.expression}")
def test_conformance(case: Case) -> None:
    if case.result == "error refused":
        assert _refuses(case.expression)
        return
    expected = None if case.result.startswith("error") else json.loads(case.result)
    tree, _ = parse_leniently(case.expression)
    assert parse(to_text(tree)) == tree, "it can be said in SQL"
    found = _value(case.expression, case.event)
    assert (type(found), found) == (type(expected), expected)
    verdict = expected if isinstance(expected, bool) else None
    text = case.expression
    if _typed(text).type not in (BOOLEAN, ANY):
        assert _refuses(text), "what is never Boolean is no condition"
        # An error stays one, whatever is asked of it.
        text, verdict = f"({text}) = STRING(({text}))", None if expected is None else True
    assert evaluate(compile_condition(text, dialect="cesql"), EventBatch.of([case.event])) == [verdict]


@pytest.mark.slow
def test_an_engine_finds_the_events_of_every_case() -> None:
    accepted = [case for case in _cases() if not _refuses(case.expression)]
    conditions = [compile_condition(case.expression, dialect="cesql") for case in accepted]
    batch = EventBatch.of([case.event for case in accepted])
    rows, slots = ENGINES["bitslice"].build([condition.formula for condition in conditions]).match(batch)
    expected = [(row, slot) for slot, condition in enumerate(conditions) for row in matches(condition, batch)]
    assert sorted(zip(rows.tolist(), slots.tolist(), strict=True)) == sorted(expected)
    assert {slot for slot, case in enumerate(accepted) if case.result == "true"} <= set(slots.tolist())


def test_the_kit_is_there() -> None:
    kit = [case for case in _cases() if not case.section.endswith("(ours)")]
    assert (len(kit), len({(case.expression, json.dumps(case.event)) for case in kit})) == (273, 270)
    assert len(_cases()) > 400


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("a LIKE b", "b", "expected a string behind LIKE", "the pattern is written out, between quotes"),
        ("LENGHT(a) = 1", "LENGHT(a)", "CESQL has no function 'LENGHT'", "did you mean LENGTH?"),
        ("1 + LEFT('a') = 1", "LEFT('a')", "LEFT takes 2 arguments, found 1", None),
        ("a = 'b", "'", "this begins a string that does not end", None),
        ("NOT a = 1", "=", "NOT binds more tightly", "write parentheses: NOT (a = b) or (NOT a) = b"),
        ("x.y = 1", ".", "expected an operator or the end", "only data has fields: data.price"),
        ("a_b = 1", "a_b", "'a_b' is no name of an attribute", None),
        ("2147483648 = a", "2147483648", "an integer of CESQL has 32 bits", None),
        ("1 + 1", "1 + 1", "a condition must be Boolean, this is an int", None),
    ],
)
def test_a_refusal_names_the_place(text: str, place: str, message: str, hint: str | None) -> None:
    with pytest.raises(ConditionError) as caught:
        compile_condition(text, dialect="cesql")
    (problem,) = caught.value.problems
    assert text[problem.start : problem.end] == place
    assert problem.message.startswith(message)
    assert problem.hint == hint


def test_spans_point_into_the_text_of_the_dialect() -> None:
    text = "type LIKE 'a%' AND (sequence + 1) IN (2, 'x')"
    tree, _ = parse_leniently(text)
    spans = {text[slice(*node.span)] for node in syntax.walk(tree)}
    assert spans >= {
        text,
        "type LIKE 'a%'",
        "type",
        "sequence + 1",
        "sequence",
        "1",
        "(sequence + 1) IN (2, 'x')",
        "'x'",
    }


@pytest.mark.parametrize(
    "text", ["(" * 100 + "a" + ")" * 100, "NOT " * 100 + "a", "-" * 100 + "a = 1", "ABS(" * 99]
)
def test_nesting_is_limited(text: str) -> None:
    _, problems = parse_leniently(text, Limits(depth=50))
    assert [problem.message for problem in problems] == ["nested more than 50 deep"]


@pytest.mark.parametrize(
    "text", ["1 IN (a, 2)", "SUBSTRING(a, 1, 2)", "CONCAT_WS(a, 'b')", "LEFT(a, 1) IN (b, 'c')"]
)
def test_a_tree_grows_with_its_text_only(text: str) -> None:
    nested = text
    for _ in range(15):
        nested = text.replace("a", f"({nested})")
    tree, problems = parse_leniently(nested)
    assert not problems
    assert sum(1 for _ in syntax.walk(tree)) < 10 * len(nested)


def test_declared_types_are_cast_as_values_are() -> None:
    attributes = {"subject": "string", "hop": "int", "far": "bigint", "hot": "boolean", "price": "decimal(8,2)"}
    event_type = EventType.of({"attributes": attributes})
    event = {"subject": "12", "hop": 12, "far": 5_000_000_000, "hot": True, "price": "1.50"}
    batch = EventBatch.of([event], event_type)
    verdicts = {
        "subject = 12": True,
        "subject = hop": True,
        "hop = subject": True,
        "hop = '12'": True,
        "'x' = hop": None,
        "hop IN ('12', 'x')": True,
        "hot = 'true'": True,
        "hot IN ('TRUE')": True,
        "far = 5": None,
        "far IN (5)": False,
        "price = '1.50'": True,
        "price < 5": None,
        "price IN ('1', 2)": False,
    }
    for text, verdict in verdicts.items():
        assert evaluate(compile_condition(text, event_type, dialect="cesql"), batch) == [verdict], text


# --- a naive interpreter -------------------------------------------------------------------------------------
#
# In the complete evaluation mode of the specification: a value, and whether there were errors.

Outcome = tuple[Any, bool]


def _cast(value: Any, kind: type) -> Outcome:
    if type(value) is kind:
        return value, False
    if kind is str:
        return (str(value).lower() if type(value) is bool else str(value)), False
    if kind is bool:
        if type(value) is int:
            return value != 0, False
        return value.lower() == "true", value.lower() not in ("true", "false")
    if type(value) is bool:
        return int(value), False
    digits = value[1:] if value[:1] in ("+", "-") else value
    is_whole = digits.isascii() and digits.isdigit() and -(2**31) <= int(value) < 2**31
    return (int(value), False) if is_whole else (0, True)


def _naive(node: tuple[Any, ...], event: dict[str, Any]) -> Outcome:
    match node:
        case ("literal", value):
            return value, False
        case ("attribute", name):
            return (event[name], False) if name in event else (None, True)
        case ("exists", name):
            return name in event, False
        case ("not", inner):
            value, error = _as(inner, bool, event)
            return not value, error
        case ("and" | "or" as sign, left, right):
            value, error = _as(left, bool, event)
            if value == (sign == "or"):
                return value, error
            other, more = _as(right, bool, event)
            return other, error or more
        case ("xor", left, right):
            (value, error), (other, more) = _as(left, bool, event), _as(right, bool, event)
            return value != other, error or more
        case ("+" | "-" | "*" | "/" | "%" as sign, left, right):
            (value, error), (other, more) = _as(left, int, event), _as(right, int, event)
            return _arithmetic(sign, value, other, error or more)
        case ("<" | ">=" as sign, left, right):
            (value, error), (other, more) = _as(left, int, event), _as(right, int, event)
            return (value < other) == (sign == "<"), error or more
        case ("=" | "!=" as sign, left, right):
            value, error = _naive(left, event)
            other, more = _naive(right, event)
            if value is None or other is None:
                return False, True
            value, failed = _cast(value, type(other))
            return (value == other) == (sign == "="), error or more or failed
        case ("in", left, *items):
            value, error = _naive(left, event)
            for item in items if value is not None else ():
                other, more = _naive(item, event)
                other, failed = (None, True) if other is None else _cast(other, type(value))
                error = error or more or failed
                if error or other == value:
                    return not error, error
            return False, error
    raise AssertionError(node)


def _as(node: tuple[Any, ...], kind: type, event: dict[str, Any]) -> Outcome:
    value, error = _naive(node, event)
    if value is None:
        return kind(), True
    cast, failed = _cast(value, kind)
    return cast, error or failed


def _arithmetic(sign: str, left: int, right: int, error: bool) -> Outcome:
    if sign in ("/", "%"):
        if right == 0:
            return 0, True
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        found = quotient if sign == "/" else left - quotient * right
    else:
        found = left + right if sign == "+" else left - right if sign == "-" else left * right
    fits = -(2**31) <= found < 2**31
    return (found if fits else 0), error or not fits


def _text(node: tuple[Any, ...]) -> str:
    match node:
        case ("literal", str() as value):
            return f"'{value}'"
        case ("literal", value):
            return str(value)
        case ("attribute", name):
            return str(name)
        case ("exists", name):
            return f"EXISTS {name}"
        case ("not", inner):
            return f"(NOT {_text(inner)})"
        case ("in", left, *items):
            return f"({_text(left)} IN ({', '.join(map(_text, items))}))"
        case (sign, left, right):
            return f"({_text(left)} {sign.upper()} {_text(right)})"
    raise AssertionError(node)


VALUES = st.sampled_from(
    [True, False, 0, 1, 12, -(2**31), 2**31 - 1, "true", "FALSE", "12", "-1", "x", "", "2147483648"]
)
NAMES = st.sampled_from(["a", "b", "c"])
LEAVES = st.one_of(
    st.tuples(st.just("literal"), VALUES),
    st.tuples(st.just("attribute"), NAMES),
    st.tuples(st.just("exists"), NAMES),
)
NODES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(
            st.sampled_from(["and", "or", "xor", "+", "-", "*", "/", "%", "<", ">=", "=", "!="]), inner, inner
        ),
        st.tuples(st.just("in"), inner, inner, inner),
    ),
    max_leaves=8,
)
EVENTS = st.lists(st.dictionaries(NAMES, VALUES), min_size=1, max_size=5)


@given(NODES, EVENTS)
def test_values_and_errors_are_those_of_a_naive_interpreter(
    node: tuple[Any, ...], events: list[dict[str, Any]]
) -> None:
    for event in events:
        value, error = _naive(node, event)
        found = _value(_text(node), event)
        assert (type(found), found) == ((type(None), None) if error else (type(value), value))


@given(NODES, EVENTS)
def test_engines_find_what_is_true_without_an_error(node: tuple[Any, ...], events: list[dict[str, Any]]) -> None:
    condition = compile_condition(_text(("=", node, ("literal", True))), dialect="cesql")
    assert parse(to_text(condition.tree)) == condition.tree, "it can be said in SQL"
    assert parse(to_text(condition.tree)) == condition.tree, "it can be said in SQL"
    outcomes = [_naive(("=", node, ("literal", True)), event) for event in events]
    batch = EventBatch.of(events)
    assert evaluate(condition, batch) == [None if error else value for value, error in outcomes]
    rows = ENGINES["bitslice"].build([condition.formula]).match(batch).rows
    assert sorted(rows.tolist()) == [row for row, outcome in enumerate(outcomes) if outcome == (True, False)]


PIECES = st.sampled_from(
    "a 'x' 12 ( ) , NOT AND OR XOR LIKE IN EXISTS TRUE = <> + - / . data LEFT( CONCAT( \" ' \\ é \0".split()
)


@given(st.lists(PIECES, max_size=12).map(" ".join) | st.text(max_size=30))
def test_any_text_is_compiled_or_refused(text: str) -> None:
    if not _refuses(text):
        assert compile_condition(text, dialect="cesql").text == text
