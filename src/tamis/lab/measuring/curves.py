"""What curves and rounds tell: ratios round by round, exponents, crossings and bends.

Clocks are compared round by round, because contestants take turns: a busy moment slows both of a ratio. So a ratio
or an exponent is a number a round, and its spread is that of the rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from tamis.lab.measuring.points import Point

Points: TypeAlias = Mapping[str, Point]
Curve: TypeAlias = Mapping[int, Points]
Values: TypeAlias = tuple[float, ...]

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_SCALES = {"K": 1 << 10, "M": 1 << 20}
_TRIED_BENDS = 200


def times(points: Points, slow: str, fast: str, what: str = "microseconds") -> Values:
    """How many times as much one contestant has as another (time by default), round by round.

    Raises:
        KeyError: One of them did not take part.
    """
    pairs = zip(getattr(points[slow], what), getattr(points[fast], what), strict=True)
    return tuple(one / max(other, 1e-12) for one, other in pairs)


def saved(points: Points, fast: str, slow: str) -> Values:
    """Which share of the time of one contestant another one saves, round by round."""
    return tuple(1 - each for each in times(points, fast, slow))


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of a straight line through the logarithms, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def exponents(points: Mapping[float, Point] | Mapping[int, Point], what: str = "microseconds") -> Values:
    """Of one contestant over what is swept, round by round."""
    rounds = zip(*(getattr(point, what) for point in points.values()), strict=True)
    return tuple(exponent([*points], each) for each in rounds)


def line_of(curve: Curve, name: str) -> dict[int, Point]:
    """The points of a contestant, where it took part."""
    return {count: points[name] for count, points in curve.items() if name in points}


def crossing(sizes: Sequence[float], one: Sequence[float], other: Sequence[float]) -> float | None:
    """Where the first curve comes to lie below the other, between sizes on logarithmic scales; None if nowhere."""
    apart = np.log(np.asarray(one) / np.asarray(other))
    for place in range(len(sizes) - 1):
        before, after = float(apart[place]), float(apart[place + 1])
        if before > 0 >= after:
            share = before / (before - after)
            return float(sizes[place] * (sizes[place + 1] / sizes[place]) ** share)
    return None


class Bend(NamedTuple):
    """Two straight lines that meet: where, how steep before and after, and the error saved against one line."""

    at: float
    before: float
    after: float
    saved: float


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
