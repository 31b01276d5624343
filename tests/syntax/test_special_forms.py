"""Calls with a grammar of their own read as ordinary calls."""

from __future__ import annotations

import pytest

from tamis.errors import ConditionError
from tamis.syntax.parser import parse
from tamis.syntax.tree import Cast
from tamis.values.types import decimal


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("EXTRACT(Year FROM a) = 1", "date_part('year', a) = 1"),
        ("SUBSTRING(a FROM 2 FOR 3)", "substring(a, 2, 3)"),
        ("substr(a FROM 2)", "substr(a, 2)"),
        ("substring(a, 2, 3)", "substring(a, 2, 3)"),
        ("TRIM(a)", "trim(a)"),
        ("TRIM(BOTH FROM a)", "btrim(a)"),
        ("TRIM(BOTH 'x' FROM a)", "btrim(a, 'x')"),
        ("TRIM('x' FROM a)", "btrim(a, 'x')"),
        ("TRIM(LEADING 'x' FROM a)", "ltrim('x', a)"),
        ("TRIM(TRAILING FROM a)", "rtrim(a)"),
        ("TRIM(both)", "trim(`both`)"),
        ("POSITION('x' IN a)", "position('x', a)"),
    ],
)
def test_forms_and_their_ordinary_calls(text: str, same: str) -> None:
    assert parse(text) == parse(same)


@pytest.mark.parametrize("name", ["CAST", "TRY_CAST"])
def test_casts_take_any_type(name: str) -> None:
    tree = parse(f"{name}(a + 1 AS DECIMAL(8, 2))")
    assert isinstance(tree, Cast)
    assert tree.type == decimal(8, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CAST(a INT)", "expected AS and a type"),
        ("CAST(a AS nothing)", "'nothing' is unknown"),
        ("EXTRACT(year a)", "expected FROM"),
        ("is_null(a)", "there is no function 'is_null'"),
    ],
)
def test_malformed_forms(text: str, message: str) -> None:
    with pytest.raises(ConditionError, match=message):
        parse(text)
