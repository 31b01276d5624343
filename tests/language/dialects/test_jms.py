"""JMS selectors: three-valued logic without conversions, as the specification has it."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import ConditionError
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.language.condition import compile_condition
from tamis.matcher import Matcher
from tamis.reference import evaluate
from tamis.syntax.parser import parse
from tamis.syntax.printing import to_text

T, F, U = True, False, None
EVENT = {"n": 5, "f": 2.5, "s": "red", "b": True, "p": "a_b%c\\d", "o": {"n": 1}, "my-n": 3, "JMSPriority": 9}


def verdict(selector: str, event: dict[str, Any] = EVENT, event_type: EventType | None = None) -> bool | None:
    condition = compile_condition(selector, event_type, dialect="jms")
    return evaluate(condition, EventBatch.of([event], event_type))[0]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("n = 5 AND s = 'red'", T),
        ("n = 5.0", T),
        ("n <> 5", F),
        ("n > 4 and Not n >= 6", T),
        ("JMSPriority > 8", T),
        ("o.n = 1", T),
        ('"my-n" = 3', T),
        ("missing = 1", U),
        ("NOT missing = 1", U),
        ("missing = 1 OR n = 5", T),
        ("missing = 1 AND n = 6", F),
        # values of different kinds
        ("s = 5", F),
        ("NOT s = 5", T),
        ("s <> 5", F),
        ("n = 'red'", F),
        ("n <> 'red'", F),
        ("b = 'true'", F),
        ("s > 5", F),
        ("n = s", F),
        ("n <> s", F),
        ("n > f", T),
        ("s > n", F),
        ("n > missing", U),
        ("s = s", T),
        ("b = TRUE", T),
        ("b <> FALSE", T),
        ("b", T),
        ("NOT b", F),
        ("s", U),
        ("(n = 5) = TRUE", T),
        # BETWEEN, IN, IS NULL
        ("n BETWEEN 5 AND 6", T),
        ("n NOT BETWEEN 5 AND 6", F),
        ("s BETWEEN 1 AND 2", F),
        ("s NOT BETWEEN 1 AND 2", T),
        ("missing NOT BETWEEN 1 AND 2", U),
        ("s IN ('blue', 'red')", T),
        ("s NOT IN ('blue')", T),
        ("n IN ('5')", F),
        ("n NOT IN ('5')", T),
        ("missing NOT IN ('5')", U),
        ("missing IS NULL", T),
        ("n IS NOT NULL", T),
        # LIKE
        ("s LIKE 'r_d'", T),
        ("s LIKE 'r%'", T),
        ("s NOT LIKE '%x%'", T),
        ("n LIKE '5'", F),
        ("missing LIKE '%'", U),
        ("p LIKE 'a!_b!%c%' ESCAPE '!'", T),
        ("p LIKE 'a!_b_c' ESCAPE '!'", F),
        (r"p LIKE '%\d'", T),
        (r"p LIKE '%\_%'", T),
        (r"p LIKE 'a\_b%' ESCAPE '\'", T),
        ("s LIKE 're!d' ESCAPE '!'", T),
        # numbers
        ("n + 1 * 2 = 7", T),
        ("(n + 1) * 2 = 12", T),
        ("n / 2 = 2", T),
        ("n / 2.0 = 2.5", T),
        ("f / 2 = 1.25", T),
        ("-n = -5 AND +n = 5", T),
        ("n = 0x5 AND n = 05 AND n = 5L", T),
        ("n = 5. AND n < 7E3 AND f = .25e1 AND f = 2.5f", T),
        ("n = 012", F),
        ("n / 0 = 1", U),
        ("s + 1 = 2", U),
        ("s = 'it''s' OR TRUE", T),
    ],
)
def test_verdicts(selector: str, expected: bool | None) -> None:
    assert verdict(selector) is expected


def test_a_declared_attribute_is_not_converted_either() -> None:
    order = EventType.of({"attributes": {"n": "int", "s": "string"}})
    event = {"n": 5, "s": "5"}
    assert verdict("n = '5'", event, order) is False
    assert verdict("s = 5", event, order) is False
    assert verdict("n = 5 AND s = '5' AND n <> 6", event, order) is True


@pytest.mark.parametrize(
    ("selector", "place", "message"),
    [
        ("", 0, "a selector may not be empty"),
        ("n =", 3, "expected an identifier or a literal, found the end"),
        ("n = 'x", 4, "this begins a string that does not end"),
        ("n = 5 s", 6, "expected AND, OR or the end, found 's'"),
        ("(n = 5", 6, "expected ), found the end"),
        ("n ! 5", 2, "expected AND, OR or the end, found '!'"),
        ("'x' = 5", 0, "a text is not compared with a number"),
        ("s < 'x'", 0, "only = and <> compare with a text"),
        ("b > TRUE", 0, "only = and <> compare with a boolean"),
        ("n + 'x' = 5", 4, "expected a number, found a text"),
        ("n + 1", 0, "expected a condition, found a number"),
        ("'x' AND TRUE", 0, "expected a condition, found a text"),
        ("n IN (5)", 6, "expected a string, found '5'"),
        ("5 IN ('5')", 0, "expected an identifier"),
        ("s LIKE 'x' ESCAPE '!!'", 18, "expected one character"),
        ("s LIKE 'x!' ESCAPE '!'", 7, "the escape character may not be the last one"),
        ("s NOT = 'x'", 6, "expected BETWEEN, IN or LIKE, found '='"),
        ("s IS 'x'", 5, "expected NULL, found \"'x'\""),
        ("n = 08", 4, "a number that begins with 0 is octal: its digits are 0 to 7"),
        ("n = 9223372036854775808", 4, "this whole number is beyond 64 bits"),
        ("n = NULL", 4, "expected an identifier or a literal, found 'NULL'"),
    ],
)
def test_what_is_refused(selector: str, place: int, message: str) -> None:
    with pytest.raises(ConditionError) as refused:
        compile_condition(selector, dialect="jms")
    assert [(each.start, each.message) for each in refused.value.problems] == [(place, message)]


def test_deep_nesting_is_refused_not_fatal() -> None:
    for selector in ("(" * 5000 + "TRUE" + ")" * 5000, "NOT " * 5000 + "TRUE", "n = " + "- " * 5000 + "1"):
        with pytest.raises(ConditionError, match="deep"):
            compile_condition(selector, dialect="jms")


# --- random selectors against the rules, plainly -----------------------------------------------------------------

NAMES = ("a", "b", "c", "d$e")
LIKES = ("x", "x_", "x%", "_", "%", "!%", "x!_%", "%y")
VALUES: tuple[Any, ...] = ("x", "y", "", "%", "x_y", 0, 1, 2.5, True, False, None)


def kind(value: Any) -> str:
    return "boolean" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"


def compared(sign: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    if kind(left) != kind(right) or (sign not in ("=", "<>") and kind(left) != "number"):
        return False
    tests = {"=": left == right, "<>": left != right}
    if kind(left) == "number":
        tests |= {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}
    return bool(tests[sign])


def text_test(value: Any, holds: Any) -> bool | None:
    return None if value is None else isinstance(value, str) and bool(holds(value))


def operand_of(random: Random, event: dict[str, Any], depth: int) -> tuple[str, Any]:
    """An attribute, a number or arithmetic, and its value; arithmetic with what is no number is NULL."""
    if not depth or random.random() < 0.3:
        name, number = random.choice(NAMES), random.choice((0, 1, 2, 3, 0.5))
        return random.choice(((name, event.get(name)), (str(number), number)))
    (left, one), (right, other) = (operand_of(random, event, depth - 1) for _ in range(2))
    sign = random.choice(("+", "-", "*", "/"))
    text = f"({left} {sign} {right})"
    if any(each is None or kind(each) != "number" for each in (one, other)) or (sign == "/" and other == 0):
        return text, None
    whole = isinstance(one, int) and isinstance(other, int)
    quotient = one / (other or 1)
    return text, {"+": one + other, "-": one - other, "*": one * other, "/": int(quotient) if whole else quotient}[
        sign
    ]


def like(text: str, pattern: str) -> bool:
    """With ! as the escape character."""
    shape = re.sub(
        "!(.)|(.)", lambda each: re.escape(each[1]) if each[1] else _LIKE.get(each[2]) or each[2], pattern
    )
    return re.fullmatch(shape, text, re.DOTALL) is not None


_LIKE = {"%": ".*", "_": "."}


def between(value: Any, low: float | None, high: float | None) -> bool | None:
    above, below = compared(">=", value, low), compared("<=", value, high)
    return False if False in (above, below) else None if None in (above, below) else True


def selector_of(random: Random, event: dict[str, Any], depth: int) -> tuple[str, bool | None]:
    """A selector, and what it says of the event."""
    name = random.choice(NAMES)
    value, shape = event.get(name), random.randrange(11 if depth else 8)
    negation = random.choice(("", "NOT "))
    if shape == 5:
        (left_text, one_value), (right_text, other_value) = (operand_of(random, event, 2) for _ in range(2))
        sign = random.choice(("=", "<>", "<", "<=", ">", ">="))
        return f"{left_text} {sign} {right_text}", compared(sign, one_value, other_value)
    if shape == 6:
        low, high = (random.randint(0, 2) for _ in range(2))
        return negated(negation, name, f"BETWEEN {low} AND {high}", between(value, low, high))
    if shape == 7:
        pattern = random.choice(LIKES)
        return negated(
            negation, name, f"LIKE '{pattern}' ESCAPE '!'", text_test(value, lambda text: like(text, pattern))
        )
    if shape == 0:
        sign = random.choice(("=", "<>", "<", "<=", ">", ">="))
        return f"{name} {sign} {(number := random.randint(0, 2))}", compared(sign, value, number)
    if shape == 1:
        sign, other = random.choice(("=", "<>")), random.choice(NAMES)
        return f"{name} {sign} {other}", compared(sign, value, event.get(other))
    if shape == 2:
        sign = random.choice(("=", "<>"))
        return f"{name} {sign} '{(text := random.choice('xy'))}'", compared(sign, value, text)
    if shape == 3:
        return random.choice(((f"{name} IS NULL", value is None), (f"{name} IS NOT NULL", value is not None)))
    if shape == 4:
        choices = (
            (f"{name} IN ('x', 'z')", text_test(value, lambda text: text in ("x", "z"))),
            (f"{name} LIKE 'x%'", text_test(value, lambda text: re.match("x", text))),
            (f"{name} LIKE '_'", text_test(value, lambda text: len(text) == 1)),
        )
        return random.choice(choices)
    left, one = selector_of(random, event, depth - 1)
    if shape == 8:
        return f"NOT ({left})", None if one is None else not one
    right, other_verdict = selector_of(random, event, depth - 1)
    decisive = shape == 9
    both = (one, other_verdict)
    joint = decisive if decisive in both else None if None in both else not decisive
    return f"({left}) {'OR' if decisive else 'AND'} ({right})", joint


def negated(negation: str, name: str, test: str, holds: bool | None) -> tuple[str, bool | None]:
    return f"{name} {negation}{test}", not holds if negation and holds is not None else holds


@given(st.integers(0, 2**32))
def test_selectors_say_what_the_rules_say(seed: int) -> None:
    random = Random(seed)
    event = {name: random.choice(VALUES) for name in NAMES}
    selector, expected = selector_of(random, event, 3)
    assert verdict(selector, event) is expected
    matcher = Matcher()
    matcher.add("s", selector, dialect="jms")
    assert matcher.match(event) == (["s"] if expected else [])
    tree = compile_condition(selector, dialect="jms").tree
    assert parse(to_text(tree)) == tree


def test_an_explanation_quotes_the_selector() -> None:
    matcher = Matcher()
    matcher.add("s", "JMSPriority > 5 AND color IN ('red')", dialect="jms")
    explanation = matcher.explain("s", {"JMSPriority": 9, "color": "blue"})
    assert [part.text for part in explanation.tree.parts] == ["JMSPriority > 5", "color IN ('red')"]
