"""Numbers for people: three digits that count, and the spread of repeated measurements."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def number(value: float) -> str:
    """Three digits that count, or more before the point; no exponent for what people measure."""
    if value != 0 and not 1e-4 <= abs(value) < 1e15:
        return f"{value:.3g}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"


def spread(values: Sequence[float]) -> str:
    """Median, least and greatest."""
    least, greatest = min(values), max(values)
    to = "-" if least >= 0 else " to "  # a dash would read as a sign
    return f"{number(statistics.median(values))} ({number(least)}{to}{number(greatest)})"
