"""The registry of dialects, and what every dialect promises."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import ConditionError, DialectError
from tamis.formulas.formula import Formula
from tamis.language.bulk import compile_conditions, compile_many, refusals
from tamis.language.condition import compile_condition
from tamis.language.dialects import DIALECTS, SQL, dialect_of, parse_dialect
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.matcher import Matcher
from tamis.syntax.tree import Missing, walk


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_reports_an_empty_text_instead_of_raising(name: str) -> None:
    _, problems = dialect_of(name).parse_leniently("", DEFAULT_LIMITS)
    assert problems


@pytest.mark.parametrize("name", DIALECTS)
def test_no_dialect_is_given_a_text_beyond_the_limits(name: str) -> None:
    tree, problems = parse_dialect("x" * 11, name, Limits(text_characters=10))
    assert isinstance(tree, Missing)
    assert [problem.start for problem in problems] == [10]


PIECES = [
    *(
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        ":",
        '"',
        "'",
        "''",
        "\\",
        "=",
        "<>",
        "<",
        "-",
        "+",
        "/",
        ".",
        " ",
        "\n",
        "#",
        "ß",
    ),
    *(
        '"a"',
        '"$or"',
        '"exists"',
        '"numeric"',
        '"anything-but"',
        '"prefix"',
        '"cidr"',
        '"wildcard"',
        '"a*"',
        '"10.0.0.0/8"',
    ),
    *(
        "a",
        "b",
        "x1",
        "5",
        "0x1",
        "1e9",
        "1e999",
        "NOT",
        "AND",
        "OR",
        "IN",
        "LIKE",
        "BETWEEN",
        "IS",
        "NULL",
        "TRUE",
        "ESCAPE",
    ),
    *('{"a": [', "]}", '{"a": {"b": ["x"]}}', "a = 1", "a LIKE 'x%'", "a IN ('x')"),
]


@pytest.mark.parametrize("name", DIALECTS)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_any_text_is_compiled_or_refused_at_a_place_in_it(name: str, text: str) -> None:
    try:
        condition = compile_condition(text, dialect=name)
    except ConditionError as error:
        assert all(0 <= each.start < each.end <= len(text) + 1 for each in error.problems)
        assert str(error)
    else:
        assert all(0 <= start <= end <= len(text) for start, end in (node.span for node in walk(condition.tree)))


@pytest.mark.parametrize("name", DIALECTS)
def test_a_condition_knows_its_dialect(name: str) -> None:
    with pytest.raises(ConditionError) as refused:
        compile_condition("", dialect=name)
    assert refused.value.text == ""


def test_sql_is_the_default() -> None:
    assert compile_condition("a < 3").dialect == SQL
    assert compile_condition("a < 3") == compile_condition("a < 3", dialect=SQL)


def test_an_unknown_dialect_is_refused_with_a_guess() -> None:
    with pytest.raises(DialectError) as refused:
        compile_condition("a < 3", dialect="SQ")
    assert (refused.value.name, refused.value.close) == ("SQ", SQL)
    assert set(refused.value.known) == set(DIALECTS)
    copy = pickle.loads(pickle.dumps(refused.value))
    assert str(copy) == str(refused.value)


@pytest.mark.parametrize("compiler", [compile_conditions, compile_many])
def test_a_column_with_an_unknown_dialect_refuses_only_that_condition(compiler: object) -> None:
    compiled = compiler(["a < 3", "a < 4", "a <"], dialect=[SQL, "nosuch", None])  # type: ignore[operator]
    assert compiled[0] == compile_condition("a < 3").formula
    assert list(refusals(compiled)) == [1, 2]
    assert compiled[1].text == "a < 4"


@pytest.mark.parametrize("compiler", [compile_conditions, compile_many])
def test_one_unknown_dialect_for_all_is_an_error(compiler: object) -> None:
    with pytest.raises(DialectError):
        compiler(["a < 3"], dialect="nosuch")  # type: ignore[operator]


@pytest.mark.parametrize("compiler", [compile_conditions, compile_many])
def test_there_are_as_many_dialects_as_conditions(compiler: object) -> None:
    with pytest.raises(ValueError, match="expected a dialect for each of 2"):
        compiler(["a < 3", "a < 4"], dialect=[SQL])  # type: ignore[operator]


def test_sql_alone_stays_in_columns() -> None:
    column = compile_conditions(["a < 3", "a < 4"], dialect=[SQL, None])
    assert [chunk.apart for chunk in column.chunks] == [{}]
    assert all(isinstance(each, Formula) for each in column)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["cel", "jsonlogic", "percolator"])
def test_the_corpus_is_decided_as_by_the_public_engine(dialect: str) -> None:
    """`scripts/dialect_verdicts.py` made the corpus; its first line names the engine and has the events."""
    lines = (Path(__file__).parent / f"{dialect}_corpus.jsonl").read_text("utf-8").splitlines()
    head, *cases = map(json.loads, lines)
    matcher = Matcher()
    refused = matcher.add_many(((case["condition"], case["condition"]) for case in cases), dialect=dialect)
    assert {each.id for each in refused} == {case["condition"] for case in cases if case["matches"] is None}
    found = [set(each) for each in map(matcher.match, head["events"])]
    for case in cases:
        places = [place for place, ids in enumerate(found) if case["condition"] in ids]
        assert places == (case["matches"] or []), case["condition"]
