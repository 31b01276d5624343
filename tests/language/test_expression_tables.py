"""What is asked of Spark in tables survives printing, and its typed form survives printing and the stored form."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tamis import reference
from tamis.events import EventBatch, EventType
from tamis.formulas.codec import FormulaReader, FormulaWriter
from tamis.formulas.expression import Constant, to_syntax
from tamis.language.condition import compile_condition
from tamis.syntax.parser import parse
from tamis.syntax.printing import to_text
from tamis.values.types import BOOLEAN
from tests.language import test_expressions_spark as tables
from tests.oracle import tamis_side
from tests.oracle.expressions import lines, typed

_NUMBERS = {"s": "string", "n": "int", "d": "double", "x": "double", "y": "double", "tiny": "tinyint"}
TABLES: list[tuple[str, Mapping[str, str]]] = [
    (tables.STRING_BESIDE_NUMBER, _NUMBERS),
    (tables.INTERVALS, tables.MOMENTS),
    (tables.MADE_MOMENTS, tables.MOMENTS),
    (tables.CODE, tables.CODES),
    (tables.FORMATS, tables.CODES),
    (tables.MATHEMATICS_OF_TWO, _NUMBERS),
    (tables.ARRAY_CALLS, tables.ARRAYS),
    (tables.HIGHER_ORDER, tables.ARRAYS),
    (tables.MAP_CALLS, tables.MAPS),
    (tables.JSON_CALLS, tables.JSON_TEXTS),
    (tables.REGULAR_EXPRESSIONS, _NUMBERS),
]


def expressions(table: str) -> list[str]:
    return [pair if isinstance(pair, str) else pair[0] for pair in lines(table)]


@pytest.mark.parametrize("place", range(len(TABLES)))
def test_texts_are_printed_and_read_again(place: int) -> None:
    table, attributes = TABLES[place]
    event_type = EventType.of({"attributes": dict(attributes)})
    for text in expressions(table):
        tree = parse(text)
        assert parse(to_text(tree)) == tree, text
        expression = typed(event_type, text)
        printed = to_text(to_syntax(expression))
        again = typed(event_type, printed)
        assert again.type == expression.type, f"{text}: {printed}"
        if not isinstance(expression, Constant):
            assert to_text(to_syntax(again)) == printed


@pytest.mark.parametrize("place", range(len(TABLES)))
def test_typed_expressions_are_stored_and_read_again(place: int) -> None:
    table, attributes = TABLES[place]
    event_type = EventType.of({"attributes": dict(attributes)})
    writer = FormulaWriter()
    found = [typed(event_type, text) for text in expressions(table)]
    numbers = [writer.expression(expression) for expression in found]
    reader = FormulaReader(json.loads(json.dumps(writer.document(), allow_nan=False)))
    assert [reader.expression(number) for number in numbers] == found


ENGINES = ("bitslice", "scan", "postings")


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_answer_as_the_reference(engine: str) -> None:
    rows = {id(tables.MOMENTS): tables.moment_rows(), id(tables.CODES): tables.CODE_ROWS}
    rows[id(tables.ARRAYS)] = tables.ARRAY_ROWS
    for table, attributes in TABLES:
        if id(attributes) not in rows:
            continue
        event_type = EventType.of({"attributes": dict(attributes)})
        batch = EventBatch.of(rows[id(attributes)], event_type)
        texts = [f"({text}) IS NOT NULL" for text in expressions(table)]
        texts += [f"{text}" for text in expressions(table) if typed(event_type, text).type == BOOLEAN]
        expected = [reference.matches(compile_condition(text, event_type), batch) for text in texts]
        assert tamis_side.kept(event_type, rows[id(attributes)], texts, engine) == expected
