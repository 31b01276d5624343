"""Interpretation: kernels as the Python functions that they are written as, where getting them takes longer.

A kernel must be loaded before it is called first, which takes milliseconds, or compiled, which takes seconds. So
small work is done by Python until it has taken about as long as that: nobody waits more than twice as long as was
necessary, and whoever does little waits for nothing. The results are the same.

A kernel that is interpreted calls interpreted kernels. Its integers may be numpy's, which neither grow nor mix as
numba's do: what is interpreted here writes their width where it matters (`np.int64(1) << place`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from tamis.kernels import is_compiled, is_kernel

F = TypeVar("F", bound=Callable[..., Any])

_wanting_kernels: list[object] = []
"""Who wants nothing to be interpreted."""


@contextmanager
def kernels_only() -> Iterator[None]:
    """Interpret nothing meanwhile, in no thread: whoever warms up wants the kernels."""
    one = object()
    _wanting_kernels.append(one)
    try:
        yield
    finally:
        _wanting_kernels.remove(one)


def interpreted(function: F) -> F:
    """The Python function that a kernel is written as; one that is no kernel is given back.

    Integers of numpy wrap around, as those of kernels do.
    """
    return _wrapping_around(function) if is_kernel(function) else function


def unless_few(function: F, is_few: bool) -> F:
    """A kernel; for so few things that getting it would take longer, the Python function that it is written as."""
    return interpreted(function) if is_few and not _wanting_kernels else function


class Allowance:
    """Work that may be interpreted before kernels are got for it: those of one stage share an allowance."""

    def __init__(self, to_load: int, to_compile: int) -> None:
        """In any unit of work.

        Args:
            to_load: What Python does in the time in which the kernels are loaded.
            to_compile: The same where they must be compiled.
        """
        self._to_load = to_load
        self._to_compile = to_compile
        self._done = 0  # threads may lose some of it to each other: it only says when to stop interpreting

    def choose(self, function: F, work: int) -> F:
        """A kernel for so much work, or the Python function that it is written as."""
        kernel: Any = function
        if not is_kernel(function) or kernel.overloads or not self.covers(function.__module__, work):
            return function
        return interpreted(function)

    def covers(self, module: str, work: int) -> bool:
        """Shall so much more be done without the kernels of a module?"""
        if _wanting_kernels:
            return False
        self._done += work
        return self._done < (self._to_load if is_compiled(module) else self._to_compile)


@cache
def _wrapping_around(kernel: Any) -> Any:
    function = _python_form(kernel)

    @wraps(function)
    def call(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*arguments)

    return call


@cache
def _python_form(kernel: Any) -> FunctionType:
    """The function of a kernel, with the functions of the kernels that it calls in their places."""
    function: FunctionType = kernel.py_func
    called = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    own = {name: _python_form(each) for name, each in called.items() if is_kernel(each)}
    if not own:
        return function
    names = {**function.__globals__, **own}
    return FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
