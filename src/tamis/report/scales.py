"""Scales of charts: the position of a value on an axis, and the labelled ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tamis.numerals import number_text

_MOST_TICKS = 6
_UNITS = (
    ("s", 1, (1, 2, 5, 10, 20, 30)),
    ("min", 60, (1, 2, 5, 10, 20, 30)),
    ("h", 3_600, (1, 2, 3, 6, 12)),
    ("d", 86_400, (1,)),
)


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear or logarithmic scale.

    Attributes:
        low: The value at the bottom.
        high: The value at the top.
        ticks: The labelled values with their labels.
        logarithmic: Whether equal distances are equal factors.
    """

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """The position from 0 at the bottom to 1 at the top; values outside are moved to the ends."""
        low, high, value = self.low, self.high, max(self.low, min(self.high, value))
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low)


def decades(values: Iterable[float], foot: float | None = None) -> Scale:
    """A logarithmic scale between powers of ten around the values, all above 0; or from `foot` on."""
    values = list(values)
    low = math.floor(math.log10(min(values)))
    high = max(low + 1, math.ceil(math.log10(max(values))))
    ticks = tuple((10.0**power, tick_text(10.0**power)) for power in range(low, high + 1))
    return Scale(10.0**low if foot is None else foot, 10.0**high, ticks, logarithmic=True)


def linear(values: Iterable[float], *, from_zero: bool = True, whole: bool = False) -> Scale:
    """A linear scale with round steps around the values; `whole` if the values are whole numbers."""
    values = list(values)
    low, high = (0.0 if from_zero else min(values)), max(values)
    step = _round_step((high - low) / (_MOST_TICKS - 1))
    if whole:
        step = max(1.0, step)
    first, last = math.floor(low / step), math.ceil(high / step)
    last = max(last, first + 1)
    ticks = tuple((number * step, tick_text(number * step)) for number in range(first, last + 1))
    return Scale(first * step, last * step, ticks)


def time_scale(seconds: float) -> Scale:
    """A scale of time from 0 to `seconds`, with ticks in a suitable unit."""
    seconds = max(seconds, 1e-3)
    for unit, size, steps in _UNITS:
        for step in steps:
            if seconds / (step * size) <= _MOST_TICKS:
                return _time_scale(
                    seconds, step if seconds >= size else _round_step(seconds / _MOST_TICKS), unit, size
                )
    return _time_scale(seconds, _round_step(seconds / 86_400 / _MOST_TICKS), "d", 86_400)


def _time_scale(seconds: float, step: float, unit: str, size: int) -> Scale:
    count = math.floor(seconds / (step * size) + 1e-9)
    ticks = ((number * step, f"{number_text(number * step, 4)} {unit}") for number in range(count + 1))
    return Scale(0.0, seconds, tuple((value * size, text) for value, text in ticks))


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten that is at least `least`."""
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= least * (1 - 1e-9))


def tick_text(value: float) -> str:
    """`250`, `5,000`, `20k`, `1.5M`: short, for an axis."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * (10 if letter == "k" else 1):
            return f"{number_text(value / size, 6)}{letter}"
    return number_text(value, 6)
