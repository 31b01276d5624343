"""Scales of charts: where a value stands between the ends of an axis, and which values are labelled."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

_MOST_TICKS = 6
_UNITS = (
    ("s", 1, (1, 2, 5, 10, 20, 30)),
    ("min", 60, (1, 2, 5, 10, 20, 30)),
    ("h", 3_600, (1, 2, 3, 6, 12)),
    ("d", 86_400, (1,)),
)


@dataclass(frozen=True, slots=True)
class Scale:
    """From `low` to `high`, by value or by its logarithm.

    Attributes:
        low: What stands at the foot.
        high: What stands at the top.
        ticks: The values that are labelled, and their labels.
        logarithmic: Do equal distances mean equal factors?
    """

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """0 at the foot, 1 at the top; what is beyond stands at the end."""
        low, high, value = self.low, self.high, max(self.low, min(self.high, value))
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low)


def decades(values: Iterable[float], foot: float | None = None) -> Scale:
    """A logarithmic scale of whole powers of ten around the values, all above 0; or from a foot of its own."""
    values = list(values)
    low = math.floor(math.log10(min(values)))
    high = max(low + 1, math.ceil(math.log10(max(values))))
    ticks = tuple((10.0**power, tick_text(10.0**power)) for power in range(low, high + 1))
    return Scale(10.0**low if foot is None else foot, 10.0**high, ticks, logarithmic=True)


def linear(values: Iterable[float], *, from_zero: bool = True, whole: bool = False) -> Scale:
    """A scale with round steps around the values; of whole numbers, if nothing is between them."""
    values = list(values)
    low, high = (0.0 if from_zero else min(values)), max(values)
    step = _round_step((high - low) / (_MOST_TICKS - 1))
    if whole:
        step = max(1.0, step)
    first, last = math.floor(low / step), math.ceil(high / step)
    last = max(last, first + 1)
    ticks = tuple((number * step, tick_text(number * step)) for number in range(first, last + 1))
    return Scale(first * step, last * step, ticks)


def elapsed(seconds: float) -> Scale:
    """A scale of time from 0 to that many seconds, in a unit that suits it."""
    seconds = max(seconds, 1e-3)
    for unit, size, steps in _UNITS:
        for step in steps:
            if seconds / (step * size) <= _MOST_TICKS:
                return _elapsed(
                    seconds, step if seconds >= size else _round_step(seconds / _MOST_TICKS), unit, size
                )
    return _elapsed(seconds, _round_step(seconds / 86_400 / _MOST_TICKS), "d", 86_400)


def _elapsed(seconds: float, step: float, unit: str, size: int) -> Scale:
    count = math.floor(seconds / (step * size) + 1e-9)
    ticks = ((number * step, f"{number * step:.4g} {unit}") for number in range(count + 1))
    return Scale(0.0, seconds, tuple((value * size, text) for value, text in ticks))


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten that is not below."""
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= least * (1 - 1e-9))


def tick_text(value: float) -> str:
    """`250`, `5,000`, `20k`, `1.5M`: short, for an axis."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * (10 if letter == "k" else 1):
            return f"{value / size:.6g}{letter}"
    return f"{value:,.6g}"
