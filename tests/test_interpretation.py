"""Kernels as Python runs them: the same results, and only as long as they are few and kernels are missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tamis import interpretation
from tamis.interpretation import Allowance, interpreted, kernels_only, unless_few
from tamis.kernels import compilations, is_kernel, kernel

ENOUGH = 100


@kernel
def _mixed(number: np.uint64) -> np.uint64:
    return number * np.uint64(0x9E3779B97F4A7C15)


@kernel
def _mixed_twice(number: np.uint64) -> np.uint64:
    return _mixed(_mixed(number))


def is_interpreted(function: Any) -> bool:
    return not is_kernel(function)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """By module, whether its kernels are compiled."""
    found = {__name__: False}
    monkeypatch.setattr(interpretation, "is_compiled", found.__getitem__)
    return found


def test_an_interpreted_kernel_calls_interpreted_kernels_and_wraps_around() -> None:
    before = compilations.count
    found = interpreted(_mixed_twice)(np.uint64(3))
    assert compilations.count == before
    assert found == np.uint64(3 * 0x9E3779B97F4A7C15**2 % 2**64)


def test_what_is_no_kernel_is_given_back() -> None:
    assert interpreted(is_interpreted) is is_interpreted


def test_few_things_need_no_kernel_unless_kernels_are_wanted() -> None:
    assert is_interpreted(unless_few(_mixed, is_few=True))
    assert unless_few(_mixed, is_few=False) is _mixed
    with kernels_only():
        assert unless_few(_mixed, is_few=True) is _mixed
    assert is_interpreted(unless_few(_mixed, is_few=True))


def test_kernels_are_got_when_about_as_much_was_interpreted(compiled: dict[str, bool]) -> None:
    allowance = Allowance(to_load=ENOUGH // 10, to_compile=ENOUGH)
    chosen = [is_interpreted(allowance.choose(_mixed, 10)) for _ in range(12)]
    assert chosen == [True] * 9 + [False] * 3
    assert not is_interpreted(Allowance(0, ENOUGH).choose(_mixed, ENOUGH)), "that is much at once"


def test_compiled_kernels_are_loaded_sooner(compiled: dict[str, bool]) -> None:
    allowance = Allowance(to_load=ENOUGH // 10, to_compile=ENOUGH)
    compiled[__name__] = True
    assert [is_interpreted(allowance.choose(_mixed, 4)) for _ in range(4)] == [True, True, False, False]


def test_nothing_is_interpreted_where_kernels_are_wanted(compiled: dict[str, bool]) -> None:
    with kernels_only():
        assert Allowance(ENOUGH, ENOUGH).choose(_mixed, 1) is _mixed
        assert not Allowance(ENOUGH, ENOUGH).covers(__name__, 1)


@pytest.mark.slow
def test_a_kernel_that_is_there_is_called(compiled: dict[str, bool]) -> None:
    assert _mixed_twice(np.uint64(3)) == interpreted(_mixed_twice)(np.uint64(3))
    assert Allowance(ENOUGH, ENOUGH).choose(_mixed_twice, 1) is _mixed_twice
