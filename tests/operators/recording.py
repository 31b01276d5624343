"""What operators were asked."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from tamis.operators import OPERATORS, Operator, install, uninstall
from tamis.operators.meters import meters, reset_meters
from tamis.values.types import BIGINT, BOOLEAN, INT, STRING


@dataclass
class Recorded:
    """Calls by operator: how often with which arguments, and how many runs it took."""

    calls: dict[str, Counter[tuple[Any, ...]]] = field(default_factory=dict)
    runs: Counter[str] = field(default_factory=Counter)

    def note(self, operator: str, arguments: Sequence[tuple[Any, ...]]) -> None:
        self.calls.setdefault(operator, Counter()).update(arguments)
        self.runs[operator] += 1

    def count(self, operator: str) -> int:
        return self.calls.get(operator, Counter()).total()

    def clear(self) -> None:
        self.calls.clear()
        self.runs.clear()


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    """Three operators on numbers and one on strings, installed for the test."""
    log = Recorded()

    def remainder(values: pa.Array, by: pa.Array) -> list[int]:
        pairs = list(zip(values.to_pylist(), by.to_pylist(), strict=True))
        log.note("remainder", pairs)
        return [value % divisor for value, divisor in pairs]

    def is_square(value: int) -> bool:
        log.note("is_square", [(value,)])
        return value >= 0 and int(value**0.5) ** 2 == value

    def shout(texts: pa.Array) -> pa.Array:
        log.note("shout", [(text,) for text in texts.to_pylist()])
        return pa.array([text.upper() + "!" for text in texts.to_pylist()])

    def fragile(values: pa.Array) -> list[int]:
        log.note("fragile", [(value,) for value in values.to_pylist()])
        if any(value % 7 == 3 for value in values.to_pylist()):
            msg = "a three among sevens"
            raise ArithmeticError(msg)
        return [value // 7 for value in values.to_pylist()]

    made = [
        Operator("remainder", (BIGINT, INT), BIGINT, remainder),
        Operator("is_square", (BIGINT,), BOOLEAN, is_square, batch=False),
        Operator("shout", (STRING,), STRING, shout),
        Operator("fragile", (BIGINT,), BIGINT, fragile),
    ]
    install(*made)
    yield log
    uninstall(*(each.name for each in made))
    reset_meters(*(each.name for each in made))
    assert not {each.name for each in made} & set(OPERATORS)


@contextmanager
def operators_as_before() -> Iterator[None]:
    """Begin with nothing measured, and forget what is installed inside."""
    before = dict(OPERATORS)
    reset_meters(*meters())
    yield
    uninstall(*OPERATORS)
    install(*before.values())
