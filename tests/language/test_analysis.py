"""The analyser: names, types, explicit casts and folded constants of typed expressions."""

from __future__ import annotations

import pytest

from tamis.events import EventType
from tamis.events.batch import EventBatch
from tamis.formulas.expression import Apply, Constant, Path, to_syntax
from tamis.language.analysis import Schemaless, analyse, resolve_name
from tamis.language.condition import compile_condition
from tamis.reference import evaluate
from tamis.syntax.parser import parse
from tamis.syntax.printing import to_text
from tamis.values.types import ANY, BOOLEAN, INT, STRING

TYPE = EventType.of(
    {
        "attributes": {
            "n": "int",
            "big": "bigint",
            "Name": "string",
            "name": "string",
            "s": "struct<x:int>",
            "born": "date",
        }
    }
)


def analysed(text: str) -> str:
    """The typed condition as text, with the casts that the analyser added."""
    expression, problems = analyse(parse(text), TYPE)
    assert not problems
    assert expression is not None
    return to_text(to_syntax(expression))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n = 3", "n = 3"),
        ("N = 3", "n = 3"),
        ("n = big", "CAST(n AS BIGINT) = big"),
        ("n = 2.5", "CAST(n AS DECIMAL(11,1)) = 2.5"),
        ("born > '2026-01-31'", "born > DATE '2026-01-31'"),
        ("n = 1 + 2 * 3", "n = 7"),
        ("n + 1 + 2 > 5", "n + 3 > 5"),
        ("S.X = 1", "s.x = 1"),
    ],
)
def test_names_casts_and_constants(text: str, expected: str) -> None:
    assert analysed(text) == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [("missing = 1 AND other = 2", 2), ("NAME = 'x'", 1), ("n + 'x' = now()", 2), ("s.y = 1", 1), ("n", 1)],
)
def test_all_problems_are_reported_at_their_places(text: str, count: int) -> None:
    expression, problems = analyse(parse(text), TYPE)
    assert expression is None
    assert len(problems) == count
    assert all(0 <= problem.start < problem.end <= len(text) for problem in problems)


def test_schemaless_attributes_are_read_in_the_type_that_is_needed() -> None:
    expression, problems = analyse(parse("a.b = 'x'"), Schemaless())
    assert not problems
    assert isinstance(expression, Apply)
    left, right = expression.arguments
    assert isinstance(left, Apply)
    assert (left.function, left.arguments, left.type) == ("read", (Path(("a", "b"), ANY),), STRING)
    assert right == Constant(STRING, "x")
    assert expression.type == BOOLEAN


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ("array(n) = array(2)", [2, 2.0]),
        ("array(n, 1) = array(2, 1)", [2, 2.0]),
        ("array_contains(array(n), 2)", [2, 2.0]),
        ("array(n) = array('2')", ["2"]),
        ("array(array(n)) = array(array(2))", [2, 2.0]),
        ("named_struct('a', n) = named_struct('a', 2)", [2, 2.0]),
        ("named_struct('a', array(n)) = named_struct('a', array('2'))", ["2"]),
    ],
)
def test_they_are_read_inside_of_arrays_and_structs_as_well(condition: str, values: list[object]) -> None:
    given = [2, "2", 2.0, True, None]
    verdicts = evaluate(compile_condition(condition), EventBatch.of([{"n": value} for value in given]))
    matching = [value for value, verdict in zip(given, verdicts, strict=True) if verdict]
    assert [(type(each), each) for each in matching] == [(type(each), each) for each in values]


def test_a_name_is_resolved_to_an_attribute_or_a_field() -> None:
    assert resolve_name(("N",), TYPE) == Path(("n",), INT)
    assert resolve_name(("s", "X"), TYPE) == Path(("s", "x"), INT)
    assert resolve_name(("s", "y"), TYPE) is None
    assert resolve_name(("name",), TYPE) is None  # two attributes differ in case only
    assert resolve_name(("a", "b"), Schemaless()) == Path(("a", "b"), ANY)


def test_sources_lead_from_typed_parts_to_the_syntax() -> None:
    sources: dict[int, object] = {}
    tree = parse("n = 3")
    expression, _ = analyse(tree, TYPE, sources=sources)  # type: ignore[arg-type]
    assert sources[id(expression)] is tree
