"""Execution of operators: one result for each row; a failing call is NULL, and only that one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from tamis.operators import Operator, install, uninstall
from tamis.operators.execution import run_operator
from tamis.operators.meters import meter, reset_meters
from tamis.values.column import column_of
from tamis.values.types import BIGINT

NAME = "tried_here"


@pytest.fixture
def make() -> Iterator[Callable[..., None]]:
    """Installs an operator from bigint to bigint for the test."""

    def installed(function: Callable[..., Any], **settings: Any) -> None:
        install(Operator(NAME, (BIGINT,), BIGINT, function, **settings))

    yield installed
    uninstall(NAME)
    reset_meters(NAME)


def results(*values: int | None) -> list[Any]:
    return run_operator(NAME, [column_of(BIGINT, values)], len(values), BIGINT).to_list()


@pytest.mark.parametrize(
    "function",
    [
        lambda values: [value + 1 for value in values.to_pylist()],
        lambda values: pa.array([value + 1 for value in values.to_pylist()], pa.int32()),
        lambda values: pa.chunked_array([[value + 1 for value in values.to_pylist()]]),
    ],
    ids=["list", "array of another type", "chunked"],
)
def test_a_batch_operator_never_sees_null(make: Callable[..., None], function: Callable[..., Any]) -> None:
    make(function)
    assert results(1, None, 3) == [2, None, 4]
    assert results() == []
    assert meter(NAME).calls == 2


def test_a_scalar_operator_is_called_row_by_row(make: Callable[..., None]) -> None:
    make(lambda value: None if value == 2 else value * 10, batch=False)
    assert results(1, 2, None, 3) == [10, None, None, 30]


def test_only_the_rows_that_fail_are_null(make: Callable[..., None]) -> None:
    def fail_on_multiples_of_five(values: pa.Array) -> list[int]:
        return [100 // (value % 5) for value in values.to_pylist()]

    make(fail_on_multiples_of_five)
    assert results(*range(1, 12)) == [100 // (n % 5) if n % 5 else None for n in range(1, 12)]
    assert meter(NAME).failures == 2
    assert [each.arguments for each in meter(NAME).lately] == ["5", "10"]


@pytest.mark.parametrize("answer", [7, "text", [1, 2, 3], None])
def test_a_result_that_is_not_one_value_for_each_row_is_a_failure(make: Callable[..., None], answer: Any) -> None:
    make(lambda values: answer)
    assert results(1, 2) == [None, None]
    assert "WrongResultError" in meter(NAME).lately[0].error


def test_a_run_that_times_out_is_not_repeated(make: Callable[..., None]) -> None:
    released = threading.Event()
    make(lambda values: released.wait(30) and values, timeout=0.01)
    try:
        assert results(1, 2, 3) == [None, None, None]
    finally:
        released.set()
    assert (meter(NAME).runs, meter(NAME).timeouts, meter(NAME).failures) == (1, 1, 3)


def test_cached_results_are_not_computed_again(make: Callable[..., None]) -> None:
    seen: list[int] = []

    def noted(values: pa.Array) -> pa.Array:
        seen.extend(values.to_pylist())
        return values

    make(noted, cache=10)
    assert results(1, 2, 1, 1) == [1, 2, 1, 1]
    assert results(2, 3) == [2, 3]
    assert seen == [1, 2, 3]
    assert meter(NAME).counts()["cached"] == 3


def test_an_unknown_operator_is_null_everywhere() -> None:
    assert results(1, 2) == [None, None]
    assert meter(NAME).counts()["skipped"] == 2
    reset_meters(NAME)
