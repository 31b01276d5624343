"""Constants in conditions: numbers with suffixes, strings with escapes, and their texts."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.syntax.literals import read_number, read_string, write_number, write_string
from tamis.syntax.parser import parse
from tamis.syntax.printing import to_text
from tamis.syntax.tree import (
    Literal,
)
from tamis.values.types import (
    BIGINT,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    TINYINT,
    Type,
    decimal,
)

_characters = st.characters(exclude_categories=["Cs"])


_strings = st.text(st.one_of(st.sampled_from("'\"\\%_\0\n\t\r\b\x1a01u'"), _characters))


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("300", INT, 300),
        ("2147483649", BIGINT, 2**31 + 1),
        ("9223372036854775809", decimal(19, 0), 2**63 + 1),
        ("007", INT, 7),
        ("5Y", TINYINT, 5),
        ("5s", SMALLINT, 5),
        ("5L", BIGINT, 5),
        ("1e3", DOUBLE, 1000.0),
        ("1.5D", DOUBLE, 1.5),
        ("0.1f", FLOAT, 0.10000000149011612),
        ("0.05", decimal(2, 2), 5),
        ("12.30", decimal(4, 2), 1230),
        ("12BD", decimal(2, 0), 12),
        ("1e2bd", decimal(3, 0), 100),
    ],
)
def test_the_form_of_a_number_determines_its_type(text: str, type_: Type, value: Any) -> None:
    assert read_number(text) == (type_, value)
    assert read_number(text, negative=True) == (type_, -value)


def test_the_sign_decides_whether_the_least_integer_is_an_int() -> None:
    assert read_number("2147483648", negative=True) == (INT, -(2**31))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("128y", "128 is outside tinyint"),
        ("1e400", "the number is outside double"),
        ("1e39f", "the number is outside float"),
        ("9" * 39, "a number has 38 digits at most"),
        ("0." + "1" * 39, "a decimal has 38 digits at most"),
    ],
)
def test_a_number_outside_its_type_is_described(text: str, message: str) -> None:
    assert read_number(text) == message


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (INT, -5),
        (BIGINT, 2**40),
        (TINYINT, -1),
        (DOUBLE, 1e300),
        (decimal(4, 2), -5),
        (decimal(3, 3), 1),
        (decimal(9, 0), 7),
    ],
)
def test_a_written_number_reads_back(type_: Type, value: Any) -> None:
    text = write_number(type_, value)
    read = read_number(text.lstrip("-"), negative=text.startswith("-"))
    assert isinstance(read, tuple)
    assert (read[0].name, read[0].scale, read[1]) == (type_.name, type_.scale, value)


@pytest.mark.parametrize(
    ("token", "value"),
    [
        ("'it''s'", "it's"),
        (r"'it\'s'", "it's"),
        (r"'\u00e9\101\n\q'", "éA\nq"),
        (r"'\%\_'", r"\%\_"),
        (r"'\uD83D\uDE00'", "😀"),
        (r"'\uD83D'", None),
        ('"a""b"', 'a"b'),
    ],
)
def test_escapes_of_strings(token: str, value: str | None) -> None:
    assert read_string(token) == value


@pytest.mark.slow
@settings(max_examples=500)
@given(_strings)
def test_every_string_has_a_literal(value: str) -> None:
    assert read_string(write_string(value)) == value


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_a_float_keeps_its_32_bits(value: float) -> None:
    read = parse(to_text(Literal(FLOAT, value)))
    assert isinstance(read, Literal)
    assert struct.pack("f", read.value) == struct.pack("f", value)
