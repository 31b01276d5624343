"""The registry: operators under unique names, checked when they are made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tamis.operators import OPERATORS, Operator, OperatorError, install, operator, uninstall
from tamis.values.types import INT, STRING


@pytest.fixture(autouse=True)
def same_operators() -> Iterator[None]:
    """Every test leaves the registry as it was."""
    before = dict(OPERATORS)
    yield
    OPERATORS.clear()
    OPERATORS.update(before)


def shout(text: str) -> str:
    return text.upper()


def test_the_decorator_registers_a_function_and_returns_it() -> None:
    @operator("double_of", ["int"], "bigint", cost=0.5, batch=False)
    def double_of(number: int) -> int:
        """Twice the number.

        More of it.
        """
        return 2 * number

    assert double_of(4) == 8
    made = OPERATORS["double_of"]
    assert (made.signature, made.description, made.cost) == ("double_of(int) bigint", "Twice the number.", 0.5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": "Loud"}, "lower case"),
        ({"name": "two words"}, "lower case"),
        ({"name": "lower"}, "a function of the language"),
        ({"name": "exists"}, "a function of the language"),
        ({"cost": 0.0}, "expected a cost above 0, found 0.0"),
        ({"timeout": -1.0}, "expected a timeout above 0, found -1.0"),
        ({"cache": 5, "deterministic": False}, "cannot be cached"),
    ],
)
def test_what_cannot_be_an_operator_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OperatorError, match=message):
        Operator(**{"name": "loud", "parameters": (STRING,), "returns": STRING, "function": shout, **settings})


def test_a_name_belongs_to_one_function() -> None:
    install(Operator("loud", (STRING,), STRING, shout))
    install(Operator("loud", (STRING,), STRING, shout, cost=2.0))
    assert OPERATORS["loud"].cost == 2.0
    with pytest.raises(OperatorError, match=r"is there already, from .*shout"):
        install(Operator("loud", (INT,), INT, abs))


def test_an_unknown_operator_cannot_be_uninstalled() -> None:
    install(Operator("loud", (STRING,), STRING, shout))
    uninstall("loud")
    with pytest.raises(OperatorError, match="there is no operator 'loud'"):
        uninstall("loud")
