"""Computed attributes of single dicts."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.engines.encoding.dict_values import (
    KnownPaths,
    UndeclaredAttributeError,
    evaluator,
    is_declared,
    is_scalar,
)
from tamis.engines.forest import forest_of
from tamis.events import EventBatch, EventType
from tamis.formulas.expression import Path, Typed
from tamis.frames import BatchFrame
from tamis.language.condition import compile_condition
from tamis.values.types import INT, STRING

TYPE = EventType.from_dict(
    {"name": "t", "attributes": {"n": "int", "s": "string", "d": "double", "a": "array<int>"}}
)
EVENTS: list[dict[str, Any]] = [
    {"n": 3, "s": "Ab", "d": 0.5},
    {"n": -7, "s": None},
    {"s": "", "d": float("nan")},
    {},
]


def attribute(text: str) -> Typed:
    (axis,) = forest_of([compile_condition(text, TYPE).formula]).axes
    return axis.attribute


@pytest.mark.parametrize(
    "text", ["n + 1 > 2", "upper(s) = 'AB'", "abs(n) * 2 < 5", "coalesce(d, n) > 1", "length(s) = 2"]
)
def test_values_are_those_of_the_column(text: str) -> None:
    expression = attribute(text)
    evaluate = evaluator(expression, TYPE)
    column = BatchFrame(EventBatch.of(EVENTS, TYPE)).column(expression).to_list()
    assert list(map(repr, column)) == [repr(evaluate(event, {})) for event in EVENTS]


def test_a_path_is_converted_once() -> None:
    known: KnownPaths = {}
    assert evaluator(attribute("n + n > 2"), TYPE)({"n": 4}, known) == 8
    assert known == {("n",): 4}


def test_elements_of_arrays_are_no_scalars() -> None:
    assert is_scalar(attribute("n + 1 > 2"))
    assert not is_scalar(attribute("CASE WHEN exists(a, x -> x > 1) THEN n ELSE 2 END > 1"))


def test_an_attribute_of_another_type_is_refused() -> None:
    assert is_declared(Path(("n",), INT), TYPE)
    assert not is_declared(Path(("n",), STRING), TYPE)
    with pytest.raises(UndeclaredAttributeError):
        evaluator(Path(("missing",), INT), TYPE)
