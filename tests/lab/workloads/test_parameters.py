from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tamis.lab.workloads import WORKLOADS
from tamis.lab.workloads.parameters import (
    WorkloadError,
    check_parameters,
    choice,
    format_value,
    parameters_of,
    read_parameters,
    real,
    shares,
    span,
    whole,
)


@dataclass(frozen=True, slots=True)
class Example:
    count: int = whole(3, "how many", least=1, most=9)
    share: float = real(0.5, "how much")
    limit: float | None = real(None, "at most", most=10.0)
    width: tuple[float, float] = span(0.3, "how wide")
    steps: tuple[int, int] = span((2, 4), "how long", most=10, integral=True)
    kind: str = choice("red", "which", ("red", "blue"))
    mix: tuple[float, ...] = shares((1.0, 1.0, 1.0), "of three")

    def __post_init__(self) -> None:
        if self.kind == "blue" and self.count > 5:
            msg = "count: at most 5 are blue"
            raise ValueError(msg)


def test_defaults_and_given_values() -> None:
    assert check_parameters("x", Example, {}) == Example(3, 0.5, None, (0.3, 0.3), (2, 4), "red", (1.0, 1.0, 1.0))
    given = {"width": (0.1, 0.5), "steps": 7, "limit": 2, "mix": [0, 1, 2]}
    assert check_parameters("x", Example, given) == Example(
        width=(0.1, 0.5), steps=(7, 7), limit=2.0, mix=(0.0, 1.0, 2.0)
    )


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("count", 10, "a whole number from 1 to 9"),
        ("count", True, "a whole number from 1 to 9"),
        ("count", 1.5, "a whole number from 1 to 9"),
        ("share", 1.5, "a number from 0 to 1"),
        ("share", None, "a number from 0 to 1"),
        ("share", "0.5", "a number from 0 to 1"),
        ("share", float("nan"), "a number from 0 to 1"),
        ("width", (0.5, 0.1), "a number from 0 to 1, or two"),
        ("width", (0.1, 0.2, 0.3), "a number from 0 to 1, or two"),
        ("steps", (1, 1.5), "a whole number from 0 to 10, or two"),
        ("kind", "green", "one of red, blue"),
        ("mix", (1, 1), "3 weights"),
        ("mix", (0, 0, 0), "3 weights"),
        ("mix", 4, "3 weights"),
    ],
)
def test_wrong_values_are_refused_by_name(name: str, value: Any, expected: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        check_parameters("x", Example, {name: value})
    assert f"workload x: {name}: expected {expected}" in str(caught.value)
    assert f"found {value!r}" in str(caught.value)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(WorkloadError) as caught:
        check_parameters("x", Example, {"count": 0, "widht": 1, "colour": 2})
    assert str(caught.value).splitlines() == [
        "workload x: count: expected a whole number from 1 to 9, found 0",
        "workload x: there is no parameter 'widht'; did you mean width?",
        "workload x: there is no parameter 'colour'; known are count, share, limit, width, steps, kind, mix",
    ]


def test_values_that_do_not_go_together() -> None:
    with pytest.raises(WorkloadError, match="workload x: count: at most 5 are blue"):
        check_parameters("x", Example, {"kind": "blue", "count": 6})


def test_parameters_as_text() -> None:
    texts = {
        "count": "5",
        "share": "0.25",
        "limit": "3",
        "width": "0.1-0.5",
        "steps": "3",
        "kind": "blue",
        "mix": "1,0,2",
    }
    read = read_parameters("x", Example, texts)
    assert check_parameters("x", Example, read) == Example(
        5, 0.25, 3.0, (0.1, 0.5), (3, 3), "blue", (1.0, 0.0, 2.0)
    )


@pytest.mark.parametrize("text", ["", "x", "1-", "0.1-0.5-0.7", "1e400"])
def test_texts_that_are_no_values_are_refused_by_name(text: str) -> None:
    with pytest.raises(WorkloadError, match="workload x: width: expected a number"):
        read_parameters("x", Example, {"width": text})


def test_unknown_parameters_as_text() -> None:
    with pytest.raises(WorkloadError, match="no parameter 'kinf'; did you mean kind"):
        read_parameters("x", Example, {"kinf": "red"})


@pytest.mark.parametrize("kind", [Example, *(family.parameters for family in WORKLOADS.values())])
def test_what_is_written_can_be_read(kind: type) -> None:
    defaults = {name: default for name, (default, _) in parameters_of(kind).items()}
    texts = {name: format_value(value) for name, value in defaults.items() if value is not None}
    assert check_parameters("x", kind, read_parameters("x", kind, texts)) == kind(**defaults)
