"""Charts of a page: plain SVG, made here, with no script and nothing to fetch."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

_COLOURS = ("#1b6ca8", "#d1495b", "#edae49", "#66a182", "#8d6a9f")
_WIDTH, _HEIGHT = 720, 260
_LEFT, _BOTTOM, _TOP = 70, 40, 30
_GAP = 0.2


def bars(title: str, unit: str, groups: Mapping[str, Mapping[str, float]]) -> str:
    """Groups of bars on a logarithmic scale: group -> series -> value."""
    values = [value for group in groups.values() for value in group.values() if value > 0]
    if not values:
        return ""
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    low, high = _decades(values)
    parts = [_scale(low, high)]
    step = (_WIDTH - _LEFT) / len(groups)
    for place, (label, group) in enumerate(groups.items()):
        left = _LEFT + place * step
        width = step * (1 - _GAP) / len(names)
        parts.append(_text(left + step / 2, _HEIGHT - _BOTTOM + 18, label, "middle"))
        for name, value in group.items():
            if value <= 0:
                continue
            top = _height(value, low, high)
            x = left + step * _GAP / 2 + names.index(name) * width
            hint = html.escape(f"{label}, {name}: {value:.3g} {unit}")
            parts.append(
                f'<rect x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" height="{_HEIGHT - _BOTTOM - top:.1f}" '
                f'fill="{_COLOURS[names.index(name) % len(_COLOURS)]}"><title>{hint}</title></rect>'
            )
    return _figure(f"{title}, {unit}", parts, names)


def lines(title: str, unit: str, series: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Lines with both scales logarithmic: series -> points."""
    points = [point for each in series.values() for point in each]
    if not points:
        return ""
    low, high = _decades([y for _, y in points])
    left, right = math.log10(min(x for x, _ in points)), math.log10(max(x for x, _ in points))
    parts = [_scale(low, high)]

    def across(x: float) -> float:
        return _LEFT + 20 + (_WIDTH - _LEFT - 60) * (math.log10(x) - left) / max(right - left, 1e-9)

    for x in sorted({x for x, _ in points}):
        parts.append(_text(across(x), _HEIGHT - _BOTTOM + 18, f"{x:,.0f}", "middle"))
    for place, each in enumerate(series.values()):
        colour = _COLOURS[place % len(_COLOURS)]
        path = " ".join(f"{across(x):.1f},{_height(y, low, high):.1f}" for x, y in each)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{across(x):.1f}" cy="{_height(y, low, high):.1f}" r="3" fill="{colour}">'
            f"<title>{x:,.0f}: {y:.3g} {html.escape(unit)}</title></circle>"
            for x, y in each
        ]
    return _figure(f"{title}, {unit}", parts, list(series))


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Powers of ten around the values."""
    low = math.floor(math.log10(min(values)))
    return low, max(low + 1, math.ceil(math.log10(max(values))))


def _height(value: float, low: int, high: int) -> float:
    share = (math.log10(value) - low) / (high - low)
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP)


def _scale(low: int, high: int) -> str:
    parts = []
    for power in range(low, high + 1):
        y = _height(10.0**power, low, high)
        parts.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH}" y2="{y:.1f}" stroke="#ddd"/>')
        label = f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"
        parts.append(_text(_LEFT - 6, y + 4, label, "end"))
    return "".join(parts)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>'


def _figure(title: str, parts: Sequence[str], names: Sequence[str]) -> str:
    legend = []
    for place, name in enumerate(names):
        x = _LEFT + 130 * place
        legend.append(f'<rect x="{x}" y="6" width="12" height="12" fill="{_COLOURS[place % len(_COLOURS)]}"/>')
        legend.append(_text(x + 18, 17, name, "start"))
    return (
        f"<h3>{html.escape(title)}</h3>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img">'
        f"{''.join(parts)}{''.join(legend)}</svg>"
    )
