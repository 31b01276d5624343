"""Helpers of the library: optional packages, suggestions for unknown names, checks of settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import I64
from tamis.events.schemas import suggestion
from tamis.operators.registry import OperatorError

_SHOWN_PROBLEMS = 20

T = TypeVar("T")


def import_extra(module: str, extra: str) -> Any:
    """A module of a package that comes with an extra.

    Raises:
        OperatorError: It is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        msg = f"these operators need {error.name}: pip install 'tamis[{extra}]'"
        raise OperatorError(msg) from error


def raise_problems(subject: str, problems: Sequence[str]) -> None:
    """Raise an OperatorError with all problems, if there are any."""
    if len(problems) == 1:
        msg = f"{subject}: {problems[0]}"
        raise OperatorError(msg)
    if problems:
        more = [f"and {len(problems) - _SHOWN_PROBLEMS} more"] if len(problems) > _SHOWN_PROBLEMS else []
        listed = "\n  ".join([*problems[:_SHOWN_PROBLEMS], *more])
        msg = f"{subject}: {len(problems)} problems\n  {listed}"
        raise OperatorError(msg)


def file_bytes(path: str | Path) -> bytes:
    """The content of a file that the settings name.

    Raises:
        OperatorError: It cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        msg = f"{path}: {error.strerror or error}"
        raise OperatorError(msg) from error


def file_text(path: str | Path) -> str:
    """The text of a file that the settings name.

    Raises:
        OperatorError: It cannot be read, or is not UTF-8.
    """
    try:
        return file_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{path}: this is not UTF-8 ({error.reason} at byte {error.start})"
        raise OperatorError(msg) from error


def file_lines(path: str | Path) -> list[str]:
    """The lines of a file that the settings name, without empty ones and those that begin with `#`."""
    lines = (line.strip() for line in file_text(path).splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def unknown_name(kind: str, name: object, known: Iterable[str]) -> str:
    """`there is no region 'Pari'; did you mean 'Paris'?`."""
    return f"there is no {kind} {name!r}{suggestion(str(name), known)}"


def places_of(names: pa.Array, numbered: pa.Array) -> I64:
    """The place of each name in `numbered`, -1 for those that are not there."""
    places = pc.fill_null(pc.index_in(names, value_set=numbered), -1)
    numbers: I64 = places.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def check_table(subject: str, given: object) -> Mapping[str, Any]:
    """Check that a setting is a table of names, and return it.

    Raises:
        OperatorError: It is something else.
    """
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        msg = f"{subject}: expected a table of names, found {given!r}"
        raise OperatorError(msg)
    return given


def read_tables(
    subject: str, given: object, read: Callable[[Mapping[str, Any]], tuple[T | None, list[str]]]
) -> dict[str, T]:
    """Read each table of a setting with `read`, which returns a value or None, and the problems.

    Raises:
        OperatorError: Some table has problems; the message lists all of them.
    """
    found: dict[str, T] = {}
    problems: list[str] = []
    for name, table in check_table(subject, given).items():
        value, wrong = read(check_table(f"{subject}.{name}", table))
        problems += [f"{name}: {problem}" for problem in wrong]
        if value is not None:
            found[name] = value
    raise_problems(subject, problems)
    return found
