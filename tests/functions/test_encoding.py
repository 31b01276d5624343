"""Bits and bytes: values of Spark, and what is NULL where Spark raises."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.errors import ConditionError
from tests.functions.values import value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hex(-1)", "FFFFFFFFFFFFFFFF"),
        ("unhex('GG')", None),
        ("sha2('a', 7)", None),
        ("encode('é', 'US-ASCII')", None),
        ("decode(X'FF', 'UTF-8')", None),
        ("decode(X'FFFE6100', 'UTF-16')", "a"),
        ("unbase64('Y Q=')", None),
        ("unbase64('YQ')", b"a"),
        ("to_binary('zz')", None),
        ("getbit(5Y, 8)", None),
        ("1 << 33", 2),
        ("-4 >>> 1", 2147483646),
        ("luhn_check('79927398713')", True),
        ("hex(hmac('key', 'message', 'MD5'))", "4E4748E62B463521F6775FBF921234B5"),
        ("hmac('', 'message')", None),
        ("mask('Ab1-', 'Q', NULL)", "Qbn-"),
    ],
)
def test_values(text: str, expected: Any) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    "text",
    ["encode('a', 'latin1')", "mask('a', 'XX')", "md5(1)", "bit_count('7')", "1.5 << 1", "hmac('k', 'm', 'md4')"],
)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(ConditionError):
        value(text)
