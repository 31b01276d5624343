"""Numbers by formats: texts and numbers that Spark gives, and what is refused."""

from __future__ import annotations

import pytest

from tamis.errors import ConditionError
from tamis.functions.number_formats import parse_format, read_number, write_number
from tests.functions.values import value


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        ("454", "9,999", 454),
        ("1234", "9,999", None),
        ("1,234", "0,000", 1234),
        ("12", "000", None),
        (" 1 2 ", "99", 12),
        ("12.3", "99.99", 1230),
        (".5", "99.9", 5),
        ("454-", "999S", -454),
        ("+454", "MI999", None),
        ("<$454>", "$999PR", -454),
        ("<454", "999PR", None),
        ("454", "$999", None),
        ("", "9", None),
    ],
)
def test_reading(text: str, form: str, expected: int | None) -> None:
    parsed = parse_format(form)
    assert parsed is not None
    assert read_number(text, parsed) == expected


@pytest.mark.parametrize(
    ("number", "scale", "form", "expected"),
    [
        (0, 0, "999", "   "),
        (0, 0, "99.99", " 0.00"),
        (0, 0, "S9,999.99", "     +.00"),
        (-4, 1, "MI999.9", "   -.4"),
        (12, 0, "S999", " +12"),
        (0, 0, "999S", "+   "),
        (-45400, 2, "S$9,999.99", "-$  454.00"),
        (-4, 0, "999PR", "  <4>"),
        (4, 0, "999PR", "  4  "),
        (12345, 0, "9,999.9", "# ###.#"),
        (4, 0, "9.", "4 "),
        (12, 0, "99,00,9", "   01,2"),
    ],
)
def test_writing(number: int, scale: int, form: str, expected: str) -> None:
    parsed = parse_format(form)
    assert parsed is not None
    assert write_number(number, scale, parsed) == expected


@pytest.mark.parametrize("form", ["", "abc", "999$", "9S9", "S9S", "9,,9", ",9", "9" * 39, "9.9,9"])
def test_what_is_no_format(form: str) -> None:
    assert parse_format(form) is None


def test_calls() -> None:
    assert value("to_number('1,234.5', '9,999.99')") == 123450
    assert value("to_char(12.5D, '99.9')") == "12.5"
    assert value("to_varchar(DATE'2026-02-28', 'dd/MM')") == "28/02"
    assert value("to_char(X'4142', 'base64')") == "QUI="
    assert value("to_char(X'4142', 'utf-8')") == "AB"
    for text in ("to_number('1', 'x')", "to_char(X'41', 'z')", "to_char(1, concat('9', '9')) || zz"):
        with pytest.raises(ConditionError):
            value(text)
