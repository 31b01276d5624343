"""What claims about engines are measured with: ratios of rounds, crossings, bends and exponents of curves.

A claim is a function of a `Lab`, with the id that the published claim has in our notes, and one sentence of what
is measured. It gives figures and no verdict: counts before clocks, and ratios within one run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeAlias

import numpy as np

from benchmarks.engine_points import Lab, Point
from benchmarks.report import Figures, number, spread

Points: TypeAlias = Mapping[str, Point]
Curve: TypeAlias = Mapping[int, Points]
Measure: TypeAlias = Callable[[Lab], Figures]

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_SCALES = {"K": 1 << 10, "M": 1 << 20}
_TRIED_BENDS = 200


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim.

    Attributes:
        sentence: What is measured.
        measure: Gives the figures.
    """

    sentence: str
    measure: Measure


class Claims(dict[str, Claim]):
    """Claims by id."""

    def add(self, name: str, sentence: str) -> Callable[[Measure], Measure]:
        """A decorator for the function that measures a claim; one function may serve several."""

        def added(measure: Measure) -> Measure:
            self[name] = Claim(sentence, measure)
            return measure

        return added


def times(points: Points, slow: str, fast: str) -> str:
    """How many times as long one contestant takes as another, over the rounds of both."""
    missing = [name for name in (slow, fast) if name not in points]
    if missing:
        return f"left out: {', '.join(missing)}"
    pairs = zip(points[slow].microseconds, points[fast].microseconds, strict=False)
    return spread([one / other for one, other in pairs])


def saved(points: Points, fast: str, slow: str) -> str:
    """Which share of the time of one contestant another one saves."""
    if not {fast, slow} <= set(points):
        return "left out"
    pairs = zip(points[fast].microseconds, points[slow].microseconds, strict=False)
    return spread([1 - one / other for one, other in pairs])


def series(curve: Curve, name: str) -> tuple[list[float], list[float]]:
    """Sizes and microseconds of a contestant, where it took part."""
    here = [(float(count), points[name].median) for count, points in curve.items() if name in points]
    return [count for count, _ in here], [time for _, time in here]


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of a straight line through the logarithms, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def exponent_of(curve: Curve, name: str) -> str:
    """Of the time by size; a text, because a contestant may be missing."""
    sizes, values = series(curve, name)
    return number(exponent(sizes, values)) if len(sizes) > 1 else "left out"


def crossing(sizes: Sequence[float], one: Sequence[float], other: Sequence[float]) -> str:
    """Where the first curve comes to lie below the other, between sizes on logarithmic scales; or who is below."""
    apart = np.log(np.asarray(one) / np.asarray(other))
    for place in range(len(sizes) - 1):
        before, after = float(apart[place]), float(apart[place + 1])
        if before > 0 >= after:
            share = before / (before - after)
            return number(sizes[place] * (sizes[place + 1] / sizes[place]) ** share)
    lower = "the first is lower" if apart[-1] <= 0 else "the second is lower"
    return f"none from {number(sizes[0])} to {number(sizes[-1])}: {lower} at the end"


class Bend(NamedTuple):
    """Two straight lines that meet: where, how steep before and after, and the error saved against one line."""

    at: float
    before: float
    after: float
    saved: float

    def __str__(self) -> str:
        told = f"{number(self.at)}, slopes {number(self.before)} and {number(self.after)} us/subscription"
        return f"{told}, saves {self.saved:.0%} of the squared error of one line"


def bend(sizes: Sequence[float], values: Sequence[float]) -> Bend | None:
    """The best bend of a curve, by least squares; None if there are too few points for one."""
    if len(sizes) < 4:
        return None
    x, y = np.asarray(sizes), np.asarray(values)
    straight = float(np.sum((np.polyval(np.polyfit(x, y, 1), x) - y) ** 2))
    best: tuple[float, Bend] | None = None
    for at in np.geomspace(x[1], x[-2], _TRIED_BENDS):
        basis = np.column_stack([np.ones_like(x), x, np.maximum(0.0, x - at)])
        found, *_ = np.linalg.lstsq(basis, y, rcond=None)
        error = float(np.sum((basis @ found - y) ** 2))
        if best is None or error < best[0]:
            share = 1 - error / straight if straight > 0 else 0.0
            best = error, Bend(float(at), float(found[1]), float(found[1] + found[2]), share)
    return best[1] if best else None


def caches() -> dict[str, int]:
    """Bytes of the caches for data of this machine, by level; nothing where the system does not tell."""
    found: dict[str, int] = {}
    for folder in sorted(_CACHES.glob("index*")):
        if (folder / "type").read_text("ascii").strip() != "Instruction":
            size = (folder / "size").read_text("ascii").strip()
            level = (folder / "level").read_text("ascii").strip()
            found[f"L{level}"] = int(size.rstrip("KM")) * _SCALES.get(size[-1], 1)
    return found


def rate(values: Sequence[float]) -> str:
    """A second, with the spread; "-" if it does not change."""
    return spread(values) if values else "-"


def rate_ratio(points: Points, one: str, other: str, what: str) -> str:
    """How many times as fast one contestant is `inserted` or `deleted` as another."""
    if not {one, other} <= set(points):
        return "left out"
    first, second = getattr(points[one], what), getattr(points[other], what)
    return number(median(first) / median(second))
