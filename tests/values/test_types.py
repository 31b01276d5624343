"""Types and their texts: Spark's DDL in both directions."""

from __future__ import annotations

import pytest

from tamis.errors import EventTypeError
from tamis.values.types import (
    BIGINT,
    DATE,
    INT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Type,
    array,
    decimal,
    integer_bounds,
    integral_as_decimal,
    is_integral,
    is_numeric,
    is_ordered,
    parse_type,
    struct,
    wrap_integer,
)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("INT", INT),
        ("long", BIGINT),
        ("timestamp_ltz", TIMESTAMP),
        ("varchar(10)", STRING),
        ("decimal", decimal(10, 0)),
        ("numeric(5)", decimal(5, 0)),
        ("dec( 5 , 2 )", decimal(5, 2)),
        ("array<array<int>>", array(array(INT))),
        ("struct<a int, `b c`: array<date>>", struct(("a", INT), ("b c", array(DATE)))),
    ],
)
def test_types_are_read_and_written(text: str, type_: Type) -> None:
    assert parse_type(text) == type_
    assert parse_type(str(type_)) == type_
    assert hash(parse_type(text)) == hash(type_)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("integr", "'integr' is unknown"),
        ("", "'the end' is unknown"),
        ("int int", "unexpected 'int'"),
        ("array<int", "expected >, found 'the end'"),
        ("decimal(39,0)", "precision is 1 to 38"),
        ("decimal(x)", "write decimal(precision, scale)"),
        ("int;", "unexpected ';'"),
        ("array<" * 60 + "int" + ">" * 60, "nested 50 deep at most"),
    ],
)
def test_what_is_no_type_is_described(text: str, message: str) -> None:
    with pytest.raises(EventTypeError) as caught:
        parse_type(text)
    assert message in str(caught.value)


def test_types_of_one_name_differ_in_their_parts() -> None:
    assert decimal(5, 2) != decimal(5, 1)
    assert array(INT) != array(BIGINT)
    assert struct(("a", INT)) != struct(("b", INT))


def test_kinds_of_types() -> None:
    assert [is_integral(each) for each in (TINYINT, BIGINT, decimal(5, 0), STRING)] == [True, True, False, False]
    assert [is_numeric(each) for each in (TINYINT, decimal(5, 0), DATE)] == [True, True, False]
    assert [is_ordered(each) for each in (STRING, DATE, array(INT))] == [True, True, False]


@pytest.mark.parametrize("type_", [TINYINT, INT, BIGINT], ids=str)
def test_bounds_of_integers(type_: Type) -> None:
    least, greatest = integer_bounds(type_)
    bits = (greatest - least + 1).bit_length() - 1
    assert wrap_integer(greatest + 1, bits) == least
    assert wrap_integer(least - 1, bits) == greatest
    assert wrap_integer(7, bits) == 7
    assert greatest < 10 ** integral_as_decimal(type_).precision
