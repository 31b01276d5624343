"""The registry holds every function of the documented language after one import."""

from __future__ import annotations

import pytest

from tamis.functions import FUNCTIONS


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("try_add", "+"),
        ("cardinality", "size"),
        ("ifnull", "nvl"),
        ("dayofmonth", "day"),
        ("char_length", "length"),
        ("regexp_like", "rlike"),
        ("signum", "sign"),
        ("get", "[]"),
        ("date_trunc", "date_trunc"),
        ("unix_millis", "unix_millis"),
        ("field", "field"),
        ("read", "read"),
    ],
)
def test_importing_the_package_registers_functions_under_all_names(name: str, canonical: str) -> None:
    assert FUNCTIONS[name].name == canonical


def test_names_are_lower_case() -> None:
    assert all(name == name.lower() for name in FUNCTIONS)
