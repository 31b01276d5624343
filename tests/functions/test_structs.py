"""Fields of structs, of arrays of structs, and of schemaless objects."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument, ArgumentError
from tamis.functions.structs import field_type
from tamis.values.column import column_of, constant_column
from tamis.values.types import ANY, INT, STRING, Type, array, parse_type

STRUCT = parse_type("struct<a:int,b:string>")


@pytest.mark.parametrize(
    ("type_", "values", "expected"),
    [
        (STRUCT, [(1, "x"), None, (None, "y")], [1, None, None]),
        (array(STRUCT), [[(1, "x"), None], None, []], [[1, None], None, []]),
        (ANY, [{"a": 1}, "x", {"b": 2}], [1, None, None]),
    ],
    ids=str,
)
def test_fields_of_rows_and_of_batches(type_: Type, values: list[Any], expected: list[Any]) -> None:
    function = FUNCTIONS["field"]
    signature = function.resolve([Argument(type_), Argument(STRING, True, "a")], "UTC")
    assert [function.scalar(signature)(value, "a") for value in values] == expected
    columns = [column_of(type_, values), constant_column(STRING, "a", len(values))]
    assert function.apply(signature, columns, len(values)).to_list() == expected


def test_names_ignore_case_and_must_be_unique() -> None:
    assert field_type(STRUCT, "B") == ("b", STRING)
    assert field_type(array(STRUCT), "A") == ("a", array(INT))
    assert field_type(STRUCT, "c") is None
    with pytest.raises(ArgumentError, match="'x' may be any of x, X"):
        field_type(parse_type("struct<x:int,X:int>"), "x")


def test_an_unknown_field_is_named() -> None:
    with pytest.raises(ArgumentError, match="there is no field 'c' in struct<a:int,b:string>"):
        FUNCTIONS["field"].resolve([Argument(STRUCT), Argument(STRING, True, "c")], "UTC")
