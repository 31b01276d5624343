"""No text makes the language fail in another way than by a ConditionError, or take more than its limits allow.

Everything is seeded: what fails is in the message, and comes again. Bounds are on counts, never on time.
"""

from __future__ import annotations

import itertools
import os
import random
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tamis import Matcher
from tamis.errors import ConditionError
from tamis.events import EventType
from tamis.formulas.formula import Formula
from tamis.language.bulk import compile_conditions
from tamis.language.condition import compile_condition
from tamis.language.lint import lint
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.syntax.parser import parse, parse_leniently
from tamis.syntax.printing import to_text
from tamis.syntax.tree import walk
from tamis.values import ranges
from tests.texts import mutated, plain, soup, spaced
from tests.worlds import world

NAMES = ("a", "b", "price", "name", "tags", "s.x", "n", "flag", "`odd name`")
TYPE = EventType.from_dict(
    {
        "name": "fuzzed",
        "attributes": {
            "a": "int",
            "b": "string",
            "price": "decimal(8,2)",
            "name": "string",
            "tags": "array<string>",
            "s": "struct<x:double>",
            "n": "bigint",
            "flag": "boolean",
            "odd name": "date",
        },
    }
)
TYPES = {"typed": TYPE, "schemaless": None}
MOST_PROBLEMS = 40
SHARE = 4_000
VOLUME = int(os.environ.get("TAMIS_FUZZ_TEXTS", "20000"))


def texts(seed: int, count: int) -> Iterator[str]:
    """Soup of tokens, mutated conditions, oddly spaced ones; a third each."""
    random_ = random.Random(seed)
    here = world("typed")
    stock = [here.condition(random_) for _ in range(300)] + [
        world("schemaless").condition(random_) for _ in range(300)
    ]
    for place in range(count):
        if place % 3 == 0:
            yield soup(random_, NAMES, 24)
        elif place % 3 == 1:
            yield mutated(random_, plain(random_, NAMES, 1))
        else:
            yield mutated(random_, random_.choice(stock))


def one(text: str, event_type: EventType | None) -> Formula | ConditionError:
    """The formula or the refusal; anything else fails, with the text."""
    try:
        return compile_condition(text, event_type).formula
    except ConditionError as error:
        return error
    except BaseException as error:
        msg = f"{type(error).__name__}: {error}\nfor {text!r}"
        raise AssertionError(msg) from error


def check_volume(seed: int, count: int, event_type: EventType | None) -> None:
    """Compile many texts at once; if that fails, name the text that does it."""
    stream = texts(seed, count)
    while part := list(itertools.islice(stream, 5_000)):
        try:
            outcomes = [type(each) for each in compile_conditions(part, event_type)]
        except BaseException:
            for text in part:
                one(text, event_type)
                compile_conditions([text], event_type)
            raise
        assert set(outcomes) <= {Formula, ConditionError}
        assert len(outcomes) == len(part)


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPES)
def test_many_random_texts_at_once(name: str) -> None:
    check_volume(20, 15_000, TYPES[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPES)
def test_very_many_random_texts_at_once(name: str) -> None:
    check_volume(30, VOLUME, TYPES[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPES)
def test_random_texts_one_by_one_with_their_messages(name: str) -> None:
    for text in texts(21, SHARE):
        found = one(text, TYPES[name])
        if isinstance(found, ConditionError):
            assert 1 <= len(found.problems) <= MOST_PROBLEMS, repr(text)
            for problem in found.problems:
                assert 0 <= problem.start <= len(text), repr(text)
                assert problem.start < problem.end <= len(text) + 1, f"{text!r}: {problem}"
                assert problem.message, repr(text)
                lines = problem.render(text).splitlines()
                assert len(lines) >= 3, repr(text)
            assert str(found).count("\n  ") >= len(found.problems), repr(text)
        else:
            assert found.describe(), repr(text)
            assert found.digest, repr(text)


@pytest.mark.slow
def test_what_parses_prints_and_parses_again() -> None:
    for text in texts(22, 6_000):
        tree, problems = parse_leniently(text)
        if not problems:
            assert parse(to_text(tree)) == tree, repr(text)


def test_lint_takes_any_text() -> None:
    for text in texts(23, 600):
        findings = lint(text, TYPE)
        assert all(finding.message and finding.line >= 1 and finding.column >= 1 for finding in findings), repr(
            text
        )


@pytest.mark.slow
def test_odd_bytes() -> None:
    random_ = random.Random(24)
    alphabet = [
        *"aA1'\"`\\(),.<>=!-+*/%|&^~?:[]{};# \t\n\r\0",
        "é",
        "日",
        "😀",
        "\u2028",
        "\ufeff",
        "\ud800",
        "\udfff",
        "\x7f",
    ]
    for _ in range(6_000):
        text = "".join(random_.choice(alphabet) for _ in range(random_.randrange(20)))
        found = one(text, None)
        if isinstance(found, Formula):
            assert found.digest, repr(text)


# --- large and deep ------------------------------------------------------------------------------------------

N = 100_000
WIDE = Limits(text_characters=10 * N)
DEEP: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: "(" * n + "a = 1" + ")" * n,
    "open parentheses": lambda n: "(" * n,
    "closed parentheses": lambda n: "a = 1" + ")" * n,
    "NOT": lambda n: "NOT " * n + "a",
    "bang": lambda n: "!" * n + "a",
    "NOT and parentheses": lambda n: "NOT (" * n + "a" + ")" * n,
    "minus signs": lambda n: "- " * n + "a = 1",
    "signs and parentheses": lambda n: "-(" * n + "a" + ")" * n + " = 1",
    "tildes": lambda n: "~" * n + "a = 1",
    "brackets": lambda n: "a[" * n + "0" + "]" * n + " = 1",
    "indexes": lambda n: "a" + "[0]" * n + " = 1",
    "fields": lambda n: "a" + ".b" * n + " = 1",
    "fields of a call": lambda n: "f(a)" + ".b" * n + " = 1",
    "calls": lambda n: "abs(" * n + "a" + ")" * n + " = 1",
    "CASE": lambda n: "CASE WHEN " * n + "a" + " THEN b END" * n,
    "CASE in THEN": lambda n: "CASE WHEN a THEN " * n + "b" + " END" * n,
    "CASE subjects": lambda n: "CASE " * n + "a" + " WHEN 1 THEN 2 END" * n,
    "lambdas": lambda n: "x -> " * n + "a",
    "quantifiers": lambda n: "exists(a, x -> " * n + "x" + ")" * n,
    "casts": lambda n: "CAST(" * n + "a" + " AS INT)" * n + " = 1",
    "colons": lambda n: "a" + "::int" * n + " = 1",
    "types": lambda n: "CAST(a AS " + "array<" * n + "int" + ">" * n + ") = 1",
    "struct types": lambda n: "CAST(a AS " + "struct<a:" * n + "int" + ">" * n + ") = 1",
    "comparisons": lambda n: "a" + " = a" * n,
    "additions": lambda n: "a" + " + a" * n + " = 1",
    "right-nested additions": lambda n: "a + (" * n + "a" + ")" * n + " = 1",
    "XOR": lambda n: "a" + " XOR a" * n,
    "AND and OR in turn": lambda n: "a AND (b OR (" * n + "c" + "))" * n,
    "IN": lambda n: "a IN (" * n + "1" + ")" * n,
    "LIKE": lambda n: "a LIKE (" * n + "'x'" + ")" * n,
    "BETWEEN": lambda n: "a BETWEEN (" * n + "1" + " AND 2)" * n,
    "comments": lambda n: "/*" * n + "*/" * n + " a",
    "open comments": lambda n: "/*" * n,
    "trim": lambda n: "trim(BOTH " * n + "a" + " FROM b)" * n + " = ''",
    "extract": lambda n: "extract(year FROM " * n + "a" + ")" * n + " = 1",
    "position": lambda n: "position(" * n + "a" + " IN b)" * n + " = 1",
}
FLAT: dict[str, Callable[[int], str]] = {
    "AND": lambda n: " AND ".join(["a"] * n),
    "OR of comparisons": lambda n: " OR ".join(f"a{k % 50} = {k}" for k in range(n)),
    "IN list": lambda n: f"a IN ({','.join(['1'] * n)})",
    "arguments": lambda n: f"coalesce({','.join(['a'] * n)}) = 1",
    "at_least": lambda n: f"at_least(2, {','.join(['a'] * n)})",
    "WHEN": lambda n: "CASE" + " WHEN a THEN b" * n + " END",
    "LIKE ANY": lambda n: f"a LIKE ANY ({','.join(['b'] * n)})",
    "adjacent strings": lambda n: "a = " + "'x' " * n,
    "long pattern": lambda n: f"a LIKE '{'%x_' * n}'",
    "long regular expression": lambda n: f"a RLIKE '{'(x|y)*' * n}'",
    "deep regular expression": lambda n: f"a RLIKE '{'(' * n}x{')' * n}'",
    "repeated regular expression": lambda n: f"a RLIKE '{'(' * 200}x{'{50}){50}' * 200}'",
    "long number": lambda n: f"a = {'1' * n}",
    "long fraction": lambda n: f"a = 0.{'1' * n}",
    "long exponent": lambda n: f"a = 1e{'1' * n}",
    "long decimal exponent": lambda n: "a = 1e999999999BD",
    "long negative decimal exponent": lambda n: "a = 1e-999999999BD",
    "long name": lambda n: f"{'a' * n} = 1",
    "long quoted name": lambda n: f"`{'``' * n}` = 1",
    "long string": lambda n: f"a = '{'x' * n}'",
    "escapes": lambda n: "a = '" + "\\u0041" * n + "'",
    "quotes": lambda n: "'" * n,
    "back quotes": lambda n: "`" * n,
    "commas": lambda n: "," * n,
    "operators": lambda n: "= " * n,
    "question marks": lambda n: "?" * n,
    "semicolons": lambda n: ";" * n,
    "new lines": lambda n: "\n" * n + "a =",
    "repeat": lambda n: f"repeat('x', {n}{n}) = a",
    "padded": lambda n: "lpad('x', 2147483647, 'y') = a",
    "nested repeat": lambda n: "repeat(" * 12 + "'x'" + ", 1000)" * 12 + " = a",
}


SHAPES = DEEP | FLAT


def _check_large(text: str, event_type: EventType | None, limits: Limits) -> None:
    try:
        compiled = compile_condition(text, event_type, limits)
    except ConditionError as error:
        assert len(error.problems) <= MOST_PROBLEMS
        assert len(str(error)) < 20_000
        assert "stack" not in str(error), "the limit on depth must come before the stack ends"
    else:
        assert sum(1 for _ in walk(compiled.tree)) <= limits.nodes


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_a_hundred_thousand_of(shape: str) -> None:
    _check_large(SHAPES[shape](N), None, WIDE)


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_as_many_as_the_default_limits_take_of(shape: str, name: str) -> None:
    write = SHAPES[shape]
    each = max(1, (len(write(2000)) - len(write(1000))) // 1000)
    text = write(N // each - 100)
    assert len(text) <= N or shape == "OR of comparisons"
    _check_large(text, TYPES[name], Limits())
    (found,) = compile_conditions([text], TYPES[name])
    assert isinstance(found, Formula | ConditionError)


@pytest.mark.slow
@pytest.mark.parametrize("shape", DEEP)
def test_deepest_accepted_nesting_goes_through_everything(shape: str) -> None:
    """Find the deepest that the default limits accept, and use it in every way."""
    accepted = None
    for depth in range(DEFAULT_LIMITS.depth + 2, 10, -1):
        found = one(DEEP[shape](depth), None)
        if isinstance(found, Formula):
            accepted = DEEP[shape](depth)
            break
    if accepted is None:
        return
    tree = parse(accepted)
    assert parse(to_text(tree)) == tree
    lint(accepted)
    found = one(accepted, None)
    assert isinstance(found, Formula)
    assert found.digest
    assert len(found.describe()) < 1_000_000
    matcher = Matcher()
    matcher.add("deep", accepted)
    for event in ({"a": 1}, {"a": [1]}, {"a": True}, {}):
        assert (matcher.match(event) == ["deep"]) is matcher.explain("deep", event).matched


def _with_little_stack(spare: int, call: Callable[[], Any]) -> Any:
    """Call with some `spare` frames left below the recursion limit."""
    depth = 0
    frame: Any = sys._getframe()
    while frame is not None:
        depth += 1
        frame = frame.f_back

    def descend(levels: int) -> Any:
        return call() if levels <= 0 else descend(levels - 1)

    return descend(sys.getrecursionlimit() - depth - spare)


@pytest.mark.parametrize("spare", [60, 150, 300, 600])
@pytest.mark.parametrize(
    "shape", ["parentheses", "calls", "CASE", "quantifiers", "additions", "XOR", "IN", "minus signs"]
)
def test_called_from_deep_inside_a_program(shape: str, spare: int) -> None:
    """A caller that leaves too little of the stack gets a refusal; with enough of it nothing changes."""
    text = DEEP[shape](25)
    assert isinstance(_with_little_stack(spare, lambda: one(text, None)), Formula | ConditionError)
    (found,) = _with_little_stack(spare, lambda: list(compile_conditions([text])))
    assert isinstance(found, Formula | ConditionError)
    if spare == 600:
        assert type(found) is type(one(text, None))


# --- counts, not seconds -------------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", ["a = {} OR", "a <> {} AND"])
def test_many_comparisons_of_one_attribute_merge_in_near_linear_work(
    operator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    merge = ranges._combine
    work = [0]

    def counted(one: ranges.Ranges, other: ranges.Ranges, *rest: Any) -> ranges.Ranges:
        work[0] += len(one.cuts) + len(other.cuts)
        return merge(one, other, *rest)

    monkeypatch.setattr(ranges, "_combine", counted)
    done = []
    for count in (500, 1000):
        work[0] = 0
        compile_condition(" ".join(operator.format(2 * k) for k in range(count)) + " a = 1")
        done.append(work[0])
    assert done[1] <= 2.5 * done[0] + 1000


def test_spacing_changes_nothing() -> None:
    random_ = random.Random(25)
    for condition in world("typed").accepted(random_, 200):
        text = spaced(random_, condition.text)
        assert parse(text) == condition.tree, text


# --- brackets, lambdas and subscripts that are malformed -------------------------------------------------------

CORE = (
    "[](tags[-1])",
    "[]",
    "(tags[-1])",
    "tags[",
    "[-1]",
    "](",
    "x -> tags[-1]",
    "exists(tags, [] -> 1)",
    "[[",
    "))",
)
AROUND = (
    "{}",
    "{0}{0}{0}",
    "({})",
    "[{}]",
    "tags[{}]",
    "exists(tags, {})",
    "a = {}",
    "{} and flag",
    "not {}",
    "{}::int",
)


def calls_and_bytes(work: Callable[[], object]) -> tuple[int, int]:
    """How many functions are called meanwhile, and how many bytes are held at most."""
    count = 0

    def note(_frame: Any, what: str, _argument: Any) -> None:
        nonlocal count
        count += what == "call"

    tracemalloc.start()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return count, peak


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("core", CORE)
def test_malformed_brackets_are_refused_at_once(core: str, name: str) -> None:
    one(core, TYPES[name])  # kernels are compiled by the first condition of a process, whatever it is
    for around in AROUND:
        text = around.format(core)
        calls, most = calls_and_bytes(lambda: one(text, TYPES[name]))  # noqa: B023
        assert calls <= 300 * (len(text) + 10), repr(text)
        assert most <= 1 << 20, repr(text)
    many = core * 200
    calls, most = calls_and_bytes(lambda: one(many, TYPES[name]))
    assert calls <= 300 * len(many), repr(core)
    assert most <= 32 << 20, repr(core)
