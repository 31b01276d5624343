"""Parameters of a family: a frozen dataclass whose fields say what they mean and what they may be.

A family is generated only with parameters that were checked: every problem is found before any is raised, and each
names its parameter. A parameter comes as a Python value or, from the command line, as text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, TypeAlias

from tamis.errors import TamisError

Span: TypeAlias = tuple[float, float]


class WorkloadError(TamisError):
    """The arguments of a workload are not valid; the message lists every problem."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a parameter may be.

    Attributes:
        help: What it means.
        expected: What it may be, in words.
        check: From a Python value to the value used, or ValueError.
        read: From the text of the command line to a value for `check`, or ValueError.
    """

    help: str
    expected: str
    check: Callable[[Any], Any]
    read: Callable[[str], Any]


def whole(default: int, help: str, *, least: int = 0, most: int = 1_000_000_000) -> Any:
    """A field that is a whole number from `least` to `most`."""

    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError
        return value

    return _field(default, Parameter(help, f"a whole number from {least} to {most}", check, int))


def real(default: float | None, help: str, *, least: float = 0.0, most: float = 1.0) -> Any:
    """A field that is a number from `least` to `most`; None is allowed where it is the default."""

    def check(value: Any) -> float | None:
        return None if value is None and default is None else _number(value, least, most)

    return _field(default, Parameter(help, f"a number from {least:g} to {most:g}", check, _read_number))


def span(
    default: float | Span, help: str, *, least: float = 0.0, most: float = 1.0, integral: bool = False
) -> Any:
    """A field that is a number, or two to draw from: `(0.1, 0.5)`, as text `0.1-0.5`. It is held as two."""

    def check(value: Any) -> Span:
        low, high = value if isinstance(value, (tuple, list)) else (value, value)
        found = _number(low, least, most), _number(high, least, most)
        if found[0] > found[1] or (integral and any(one != int(one) for one in found)):
            raise ValueError
        return (int(found[0]), int(found[1])) if integral else found

    def read(text: str) -> Any:
        low, dash, high = text.partition("-")
        return (_read_number(low), _read_number(high)) if dash else _read_number(low)

    kind = "whole number" if integral else "number"
    expected = f"a {kind} from {least:g} to {most:g}, or two with a dash between them"
    return _field(check(default), Parameter(help, expected, check, read))


def choice(default: str, help: str, options: tuple[str, ...]) -> Any:
    """A field that is one of a few words."""

    def check(value: Any) -> str:
        if value not in options:
            raise ValueError
        return str(value)

    listed = ", ".join(options)
    return _field(default, Parameter(f"{help}: {listed}", f"one of {listed}", check, str))


def shares(default: tuple[float, ...], help: str) -> Any:
    """A field that is as many weights as the default has, not two: `(1, 1, 2)`, as text `1,1,2`."""

    def check(value: Any) -> tuple[float, ...]:
        weights = tuple(_number(weight, 0.0, 1e9) for weight in value)
        if len(weights) != len(default) or not any(weights):
            raise ValueError
        return weights

    def read(text: str) -> tuple[float, ...]:
        return tuple(_read_number(part) for part in text.split(","))

    expected = f"{len(default)} weights, not all 0, with commas between them"
    return _field(default, Parameter(help, expected, check, read))


def parameters_of(kind: type) -> dict[str, tuple[Any, Parameter]]:
    """Default and meaning of every parameter, by name."""
    return {each.name: (each.default, each.metadata["parameter"]) for each in fields(kind)}


def check_parameters(family: str, kind: type, given: Mapping[str, Any]) -> Any:
    """An instance of `kind` with the parameters given, all checked.

    Raises:
        WorkloadError: With every problem.
    """
    known = parameters_of(kind)
    values: dict[str, Any] = {}
    problems: list[str] = []
    for name, value in given.items():
        if name not in known:
            problems.append(_unknown(name, known))
            continue
        parameter = known[name][1]
        try:
            values[name] = parameter.check(value)
        except (ValueError, TypeError):
            problems.append(f"{name}: expected {parameter.expected}, found {value!r}")
    if not problems:
        try:
            return kind(**values)
        except ValueError as error:  # parameters that do not go together
            problems.append(str(error))
    raise WorkloadError("\n".join(f"workload {family}: {problem}" for problem in problems))


def check_sizes(family: str, **numbers: Any) -> None:
    """Refuse numbers of rows, or a seed, that are not whole or are negative.

    Raises:
        WorkloadError: With the first problem.
    """
    for label, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            msg = f"workload {family}: {label}: expected a whole number that is not negative, found {number!r}"
            raise WorkloadError(msg)


def read_parameters(family: str, kind: type, texts: Mapping[str, str]) -> dict[str, Any]:
    """Parameters that came as text, for `checked`, which also names those that are unknown.

    Raises:
        WorkloadError: With every problem.
    """
    known = parameters_of(kind)
    values: dict[str, Any] = {}
    problems: list[str] = []
    for name, text in texts.items():
        if name not in known:
            problems.append(_unknown(name, known))
            continue
        parameter = known[name][1]
        try:
            values[name] = parameter.check(parameter.read(text))
        except ValueError:
            problems.append(f"{name}: expected {parameter.expected}, found {text!r}")
    if problems:
        raise WorkloadError("\n".join(f"workload {family}: {problem}" for problem in problems))
    return values


def format_value(value: Any) -> str:
    """A parameter as the command line takes it; `none` for one that is not given."""
    if value is None:
        return "none"
    if isinstance(value, tuple):
        parts = [format_value(part) for part in value]
        if len(parts) != 2:  # weights
            return ",".join(parts)
        return parts[0] if parts[0] == parts[1] else "-".join(parts)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _field(default: Any, parameter: Parameter) -> Any:
    return field(default=default, metadata={"parameter": parameter})


def _unknown(name: str, known: Mapping[str, Any]) -> str:
    near = get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    return f"there is no parameter {name!r}; {hint}"


def _number(value: Any, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise ValueError
    return float(value)


def _read_number(text: str) -> float:
    return float(text)
