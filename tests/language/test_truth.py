"""The formulas T, F and U of a condition: exclusive, exhaustive, and what the reference says."""

from __future__ import annotations

import itertools
import random
from typing import Any, get_args

import numpy as np
import pytest

from tamis import reference
from tamis.errors import ConditionError
from tamis.events import EventBatch, EventType
from tamis.formulas.formula import FALSE, TRUE
from tamis.frames import BatchFrame
from tamis.language.condition import Condition, compile_condition
from tamis.language.truth import Truth, Verdict
from tests.worlds import WORLDS, boolean, schemaless, world

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
_VALUES = {"T": True, "F": False, "U": None}


def verdicts(condition: Condition, batch: EventBatch) -> list[bool | None]:
    """TRUE, FALSE or NULL for each event by the three formulas, of which exactly one must hold."""
    truth, frame = Truth(), BatchFrame(batch)
    masks = np.array([truth.formula(condition.expression, verdict).mask(frame) for verdict in VERDICTS])
    holding = masks.sum(axis=0)
    assert (holding == 1).all(), f"{condition.text}: {holding.tolist()} of T, F and U hold"
    return [_VALUES[VERDICTS[place]] for place in masks.argmax(axis=0)]


def compare(condition: Condition, batch: EventBatch) -> None:
    """Fail with the condition and the first event on which formulas and reference differ."""
    expected = reference.evaluate(condition, batch)
    found = verdicts(condition, batch)
    wrong = [row for row in range(batch.rows) if expected[row] is not found[row]]
    assert not wrong, f"{condition.text}\nrow {wrong[0]}: expected {expected[wrong[0]]}, got {found[wrong[0]]}"


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_three_formulas_are_the_verdict_of_the_reference(name: str) -> None:
    random_ = random.Random(2024)
    here = world(name)
    for batch in [here.batch(random_, 30) for _ in range(3)]:
        for condition in here.accepted(random_, 120):
            compare(condition, batch)


@pytest.mark.slow
def test_deep_schemaless_conditions() -> None:
    random_ = random.Random(5)
    batch = schemaless().batch(random_, 60)
    for _ in range(40):
        text = boolean(random_, 5)
        try:
            condition = compile_condition(text)
        except ConditionError:
            continue
        compare(condition, batch)


# --- Kleene's tables -------------------------------------------------------------------------------------------

_BOOLEANS = EventType.from_dict(
    {"name": "three", "attributes": {"p": "boolean", "q": "boolean", "r": "boolean", "n": "int"}}
)
_TRUTHS = (True, False, None)
_ROWS = [dict(zip("pqr", values, strict=True)) for values in itertools.product(_TRUTHS, repeat=3)]
_THREE = EventBatch.of(_ROWS, _BOOLEANS)


def _and(*values: bool | None) -> bool | None:
    return False if False in values else None if None in values else True


def _or(*values: bool | None) -> bool | None:
    return True if True in values else None if None in values else False


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _eq(p: bool | None, q: bool | None) -> bool | None:
    return None if p is None or q is None else p == q


def _ge(p: bool | None, q: bool | None) -> bool | None:
    return None if p is None or q is None else p >= q


def _if(test: bool | None, yes: bool | None, no: bool | None) -> bool | None:
    return yes if test is True else no


def _first(*values: bool | None) -> bool | None:
    return next((value for value in values if value is not None), None)


def _first_not(passing: bool, *values: bool | None) -> bool | None:
    return next((value for value in values if value is not passing), passing)


def _at_least(count: int, *values: bool | None) -> bool | None:
    if values.count(True) >= count:
        return True
    return None if values.count(True) + values.count(None) >= count else False


_LAWS: list[tuple[str, Any]] = [
    ("p", lambda p, q, r: p),
    ("NOT p", lambda p, q, r: _not(p)),
    ("p AND q", lambda p, q, r: _and(p, q)),
    ("p OR q", lambda p, q, r: _or(p, q)),
    ("p AND q AND r", _and),
    ("NOT (p AND (q OR NOT r))", lambda p, q, r: _not(_and(p, _or(q, _not(r))))),
    ("p XOR q", lambda p, q, r: _not(_eq(p, q))),
    ("p XOR q XOR r", lambda p, q, r: _not(_eq(_not(_eq(p, q)), r))),
    ("p XOR (q XOR r)", lambda p, q, r: _not(_eq(p, _not(_eq(q, r))))),
    ("NOT (p XOR q)", lambda p, q, r: _eq(p, q)),
    ("p = q", lambda p, q, r: _eq(p, q)),
    ("p = q = r", lambda p, q, r: _eq(_eq(p, q), r)),
    ("(p AND q) = (q OR r)", lambda p, q, r: _eq(_and(p, q), _or(q, r))),
    ("(p OR q) <> r", lambda p, q, r: _not(_eq(_or(p, q), r))),
    ("p <=> q", lambda p, q, r: p is q),
    ("(p AND q) <=> r", lambda p, q, r: _and(p, q) is r),
    ("NOT ((p OR q) <=> r)", lambda p, q, r: _or(p, q) is not r),
    ("(p < q) <=> NULL", lambda p, q, r: p is None or q is None),
    ("p < q", lambda p, q, r: _not(_ge(p, q))),
    ("(p AND q) >= (q OR r)", lambda p, q, r: _ge(_and(p, q), _or(q, r))),
    ("p IS NULL", lambda p, q, r: p is None),
    ("(p AND q) IS NULL", lambda p, q, r: _and(p, q) is None),
    ("(p OR q) IS NOT NULL", lambda p, q, r: _or(p, q) is not None),
    ("NOT ((p XOR q) IS NULL)", lambda p, q, r: p is not None and q is not None),
    ("((p AND q) IS NULL) IS NULL", lambda p, q, r: False),
    ("(p AND q) IS TRUE", lambda p, q, r: _and(p, q) is True),
    ("(p AND q) IS NOT TRUE", lambda p, q, r: _and(p, q) is not True),
    ("(p OR q) IS FALSE", lambda p, q, r: _or(p, q) is False),
    ("(p OR q) IS NOT FALSE", lambda p, q, r: _or(p, q) is not False),
    ("NOT (p IS NOT FALSE)", lambda p, q, r: p is False),
    ("(p AND q) IS UNKNOWN", lambda p, q, r: _and(p, q) is None),
    ("coalesce(p, q, r)", _first),
    ("NOT coalesce(p, q)", lambda p, q, r: _not(_first(p, q))),
    ("coalesce(p AND q, r) IS NULL", lambda p, q, r: _first(_and(p, q), r) is None),
    ("coalesce(p, TRUE)", lambda p, q, r: _first(p, True)),
    ("IF(p, q, r)", _if),
    ("NOT IF(p, q, r)", lambda p, q, r: _not(_if(p, q, r))),
    ("IF(p AND q, NOT r, r) IS NULL", lambda p, q, r: r is None),
    ("CASE WHEN p THEN q WHEN q THEN r END", lambda p, q, r: _if(p, q, _if(q, r, None))),
    ("NOT CASE WHEN p THEN q ELSE r END", lambda p, q, r: _not(_if(p, q, r))),
    ("CASE p WHEN q THEN r ELSE NOT r END", lambda p, q, r: _if(_eq(p, q), r, _not(r))),
    ("and_then(p, q, r)", lambda p, q, r: _first_not(True, p, q, r)),
    ("or_else(p, q, r)", lambda p, q, r: _first_not(False, p, q, r)),
    (
        "NOT or_else(p, and_then(q, NOT r))",
        lambda p, q, r: _not(_first_not(False, p, _first_not(True, q, _not(r)))),
    ),
    ("AT_LEAST(1, p, q, r)", lambda p, q, r: _at_least(1, p, q, r)),
    ("AT_LEAST(2, p, q, r)", lambda p, q, r: _at_least(2, p, q, r)),
    ("AT_LEAST(3, p, q, r)", lambda p, q, r: _at_least(3, p, q, r)),
    ("NOT AT_LEAST(2, p, q, r)", lambda p, q, r: _not(_at_least(2, p, q, r))),
    ("AT_LEAST(2, p, p, q)", lambda p, q, r: _at_least(2, p, p, q)),
    ("AT_LEAST(2, p, TRUE, q, NULL)", lambda p, q, r: _at_least(2, p, True, q, None)),
    ("AT_LEAST(2, p, FALSE, NOT q) IS NULL", lambda p, q, r: _at_least(2, p, False, _not(q)) is None),
    ("p IN (q, r)", lambda p, q, r: _or(_eq(p, q), _eq(p, r))),
    ("p NOT IN (TRUE, NULL)", lambda p, q, r: _not(_or(_eq(p, True), None))),
    ("(p AND q) IN (r, NULL)", lambda p, q, r: _or(_eq(_and(p, q), r), None)),
    ("p AND NULL", lambda p, q, r: _and(p, None)),
    ("p OR NULL", lambda p, q, r: _or(p, None)),
    ("nullif(p, q)", lambda p, q, r: None if _eq(p, q) else p),
    ("NOT nvl2(p, q, r)", lambda p, q, r: _not(q if p is not None else r)),
]


@pytest.mark.parametrize(("text", "law"), _LAWS, ids=[text for text, _ in _LAWS])
def test_law_of_three_values(text: str, law: Any) -> None:
    condition = compile_condition(text, _BOOLEANS)
    expected = [law(row["p"], row["q"], row["r"]) for row in _ROWS]
    assert verdicts(condition, _THREE) == expected
    assert reference.evaluate(condition, _THREE) == expected


@pytest.mark.parametrize(
    ("text", "verdict"),
    [("NULL IS NULL", True), ("TRUE", True), ("FALSE", False), ("1 < NULL", None), ("1 = 1 AND 2 > 3", False)],
)
def test_a_constant_condition_is_a_constant_formula(text: str, verdict: bool | None) -> None:
    truth, expression = Truth(), compile_condition(text).expression
    formulas = [truth.formula(expression, each) for each in VERDICTS]
    assert formulas == [TRUE if verdict is _VALUES[each] else FALSE for each in VERDICTS]


# --- sets, lists and elements ------------------------------------------------------------------------------------

_EVENTS: list[dict[str, Any]] = [
    {"n": 1, "tags": ["a", "b"]},
    {"n": 2, "tags": []},
    {"n": 3, "tags": ["a", None]},
    {"n": None, "tags": None},
    {"tags": [None]},
    {"n": 7, "tags": ["b"]},
]
_TAGGED = EventType.from_dict({"name": "tagged", "attributes": {"n": "int", "tags": "array<string>"}})


@pytest.mark.parametrize("event_type", [_TAGGED, None], ids=["typed", "schemaless"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n IN (1, 2)", [True, True, False, None, None, False]),
        ("n NOT IN (1, 2)", [False, False, True, None, None, True]),
        ("n IN (1, NULL)", [True, None, None, None, None, None]),
        ("n NOT IN (1, NULL)", [False, None, None, None, None, None]),
        ("(n IN (1, NULL)) IS NULL", [False, True, True, True, True, True]),
        ("n IN (NULL)", [None] * 6),
        ("n BETWEEN 2 AND 3", [False, True, True, None, None, False]),
        ("n NOT BETWEEN 3 AND 2", [True, True, True, None, None, True]),
        ("NOT (n < 3)", [False, False, True, None, None, True]),
        ("n <=> NULL", [False, False, False, True, True, False]),
        ("n IS DISTINCT FROM 3", [True, True, False, True, True, True]),
        ("exists(tags, x -> x = 'a')", [True, False, True, None, None, False]),
        ("NOT exists(tags, x -> x = 'a')", [False, True, False, None, None, True]),
        ("exists(tags, x -> x = 'b')", [True, False, None, None, None, True]),
        ("exists(tags, x -> x IS NULL)", [False, False, True, None, True, False]),
        ("exists(tags, x -> x = 'b') IS NULL", [False, False, True, True, True, False]),
        ("forall(tags, x -> x = 'b')", [False, True, False, None, None, True]),
        ("forall(tags, x -> x <> 'c')", [True, True, None, None, None, True]),
        ("NOT forall(tags, x -> x = 'a')", [True, False, None, None, None, True]),
        ("forall(tags, x -> n > 1)", [False, True, True, None, None, True]),
        ("forall(tags, x -> FALSE)", [False, True, False, None, False, False]),
        ("exists(tags, x -> TRUE)", [True, False, True, None, True, True]),
        ("exists(tags, x -> NULL)", [None, False, None, None, None, None]),
        ("exists(tags, x -> exists(tags, y -> x < y))", [True, False, None, None, None, False]),
        ("array_contains(tags, 'b')", [True, False, None, None, None, True]),
        ("arrays_overlap(tags, array('b', 'c'))", [True, False, None, None, None, True]),
        ("exists(tags, x -> x LIKE 'a%') = (n < 3)", [True, False, False, None, None, True]),
    ],
)
def test_verdicts_of(text: str, expected: list[bool | None], event_type: EventType | None) -> None:
    condition = compile_condition(text, event_type)
    batch = EventBatch.of(_EVENTS, event_type)
    assert reference.evaluate(condition, batch) == expected
    assert verdicts(condition, batch) == expected


# --- size ---------------------------------------------------------------------------------------------------


def _size(text: str, verdict: Verdict) -> int:
    formula = Truth().formula(compile_condition(text).expression, verdict)
    return sum(1 for _ in formula.nodes())


def _xor(length: int) -> str:
    return " XOR ".join(f"p{place} = 1" for place in range(length))


def _right_xor(length: int) -> str:
    return "".join(f"p{place} = 1 XOR (" for place in range(length)) + "q = 1" + ")" * length


def _equalities(length: int) -> str:
    return "".join(f"(p{place} = 1) = (" for place in range(length)) + "q = 1" + ")" * length


def _null_safe(length: int) -> str:
    return "".join(f"(p{place} = 1) <=> (" for place in range(length)) + "q = 1" + ")" * length


def _cases(length: int) -> str:
    branches = " ".join(f"WHEN p{place} = 1 THEN q{place} = 2" for place in range(length))
    return f"CASE {branches} ELSE r = 3 END"


def _coalesced(length: int) -> str:
    return f"coalesce({', '.join(f'p{place} = 1' for place in range(length))})"


def _at_leasts(length: int) -> str:
    return f"AT_LEAST({length // 2}, {', '.join(f'p{place} = 1' for place in range(length))})"


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize(
    "write",
    [_xor, _right_xor, _equalities, _null_safe, _cases, _coalesced, _at_leasts],
    ids=lambda one: one.__name__,
)
def test_formulas_grow_with_the_text_and_no_faster(write: Any, verdict: Verdict) -> None:
    small, large = _size(write(20), verdict), _size(write(40), verdict)
    assert large <= 2.2 * small
    assert large <= 40 * 40


def test_a_deep_xor_chain_counts_parity() -> None:
    condition = compile_condition(_xor(60))
    random_ = random.Random(1)
    events = [{f"p{place}": random_.choice((1, 2)) for place in range(60)} for _ in range(20)]
    expected = [sum(value == 1 for value in event.values()) % 2 == 1 for event in events]
    assert verdicts(condition, EventBatch.of(events)) == expected
