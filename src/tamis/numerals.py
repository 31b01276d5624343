"""Numbers as people read them: counts, shares and durations as short text, and never with an exponent.

Whatever shows a number to people gets its text here, so that a page, a terminal and a chart show the same.
"""

from __future__ import annotations

import math

_MOST_DECIMALS = 12


def number_text(value: float, digits: int = 2) -> str:
    """A number with at least so many significant digits, and all of those before the point.

    >>> number_text(0), number_text(0.00042), number_text(3.24), number_text(149.7), number_text(12_400.4)
    ('0', '0.00042', '3.2', '150', '12,400')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}"
    decimals = min(_MOST_DECIMALS, max(0, digits - 1 - math.floor(math.log10(abs(value)))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def duration_text(seconds: float) -> str:
    """`0.4 ms`, `38 ms`, `1.25 s`, `4 min 10 s`, `3 h 5 min`."""
    if seconds < 0.01:
        return f"{number_text(seconds * 1000)} ms"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 99.95:
        return f"{number_text(seconds, 3)} s"
    minutes, left = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes} min {left} s"
    return f"{minutes // 60:,} h {minutes % 60} min"


def share_text(share: float) -> str:
    """`4.1%`, `99.6%`, `0.02%`; `100%` only of what is all but for a rounding error."""
    if share >= 0.9995:
        return f"{share:.0%}"
    return f"{number_text(share * 100, 3 if share >= 0.99 else 2)}%"
