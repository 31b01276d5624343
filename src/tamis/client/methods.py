"""Descriptions of calls as methods: same arguments, same words."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

M = TypeVar("M", bound=Callable[..., Any])


def named_as(describe: Callable[..., Any], method: M, returns: str) -> M:
    """Give the method the name, the words and the arguments of the function that describes its call."""
    signature = inspect.signature(describe)
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    method.__name__ = describe.__name__
    method.__doc__ = describe.__doc__
    inner = str(signature.return_annotation).partition("[")[2].removesuffix("]")
    shown = signature.replace(
        parameters=[itself, *signature.parameters.values()], return_annotation=returns.format(inner)
    )
    method.__signature__ = shown  # type: ignore[attr-defined]
    return method
