"""Formats of text and parts of URLs: values of Spark, and conversions that are refused."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.errors import ConditionError
from tests.functions.values import value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("format_string('%5d|%-5s|%05d', 1, 'a', 7)", "    1|a    |00007"),
        ("format_string('%.1f', 0.25D)", "0.3"),
        ("format_string('%e', 9.9999999D)", "1.000000e+01"),
        ("format_string('%s', NULL)", "null"),
        ("elt(3, 'a', 'b')", None),
        ("elt(2, 'a', 'b')", "b"),
        ("parse_url('http://u:p@h.i:80/a?q=1#f', 'USERINFO')", "u:p"),
        ("parse_url('http://h/?x=1&xx=2', 'QUERY', 'xx')", "2"),
        ("parse_url('no url', 'HOST')", None),
        ("typeof(1.50)", "decimal(3,2)"),
    ],
)
def test_values(text: str, expected: Any) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    "text",
    ["format_string('%d', 1.5D)", "format_string('%s')", "format_string('%q', 1)", "format_string('%-d', 1)"],
)
def test_conversions_that_are_refused(text: str) -> None:
    with pytest.raises(ConditionError):
        value(text)
