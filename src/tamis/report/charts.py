"""Charts as plain SVG, without scripts or external resources.

`STYLE` defines colours and sizes, in light and dark mode; a page with charts includes it in its head. Each chart
is well-formed XML with escaped texts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal, TypeAlias

from tamis.numerals import number_text
from tamis.report.markup import escape
from tamis.report.scales import Scale, decades, linear, time_scale

Points: TypeAlias = Sequence[tuple[float, float]]

_WIDTH, _HEIGHT = 560, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 16, 14, 34
_GAP = 0.2
_COLOURS = 5
_MOST_LABELS = 9
_MOST_DOTS = 80

STYLE = """
:root{--ground:#f6f7f9;--card:#fff;--ink:#1c2430;--soft:#5b6675;--line:#e3e7ed;
--c0:#2368b5;--c1:#d9692b;--c2:#2f8f6f;--c3:#8457b3;--c4:#b58a14}
@media(prefers-color-scheme:dark){:root{--ground:#12161c;--card:#1a2029;--ink:#e6eaf0;--soft:#9aa6b5;--line:#2c3542;
--c0:#6aa9ef;--c1:#f0955c;--c2:#5cc39f;--c3:#b794e6;--c4:#e0bb52}}
.c0{color:var(--c0)}.c1{color:var(--c1)}.c2{color:var(--c2)}.c3{color:var(--c3)}.c4{color:var(--c4)}
figure.chart{margin:0;min-width:0;max-width:46rem}
.chart figcaption{font-weight:600;margin:0 0 .35rem}
.chart figcaption span{font-weight:400;color:var(--soft)}
.chart svg{display:block;width:100%;height:auto;overflow:visible}
.chart text{font:12px system-ui,sans-serif;fill:var(--soft);font-variant-numeric:tabular-nums}
.chart .grid{stroke:var(--line);stroke-width:1}
.chart .line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.chart .area{fill:currentColor;opacity:.13;stroke:none}
.chart circle,.chart rect{fill:currentColor}
.chart .mark{stroke:var(--soft);stroke-width:1;stroke-dasharray:4 4}
.chart .marked{fill:var(--ink);paint-order:stroke;stroke:var(--card);stroke-width:4px}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;margin:0 0 .4rem;padding:0;font-size:.85rem}
.legend b{display:inline-block;width:.75em;height:.75em;border-radius:2px;margin-right:.45em;
background:currentColor}
.legend span{color:var(--soft)}
@media(max-width:34rem){.chart text{font-size:18px}}
"""


def bars(title: str, unit: str, groups: Mapping[str, Mapping[str, float]], *, foot: float | None = None) -> str:
    """Groups of bars on a logarithmic scale: group -> series -> value.

    Args:
        title: The caption.
        unit: The unit of the values.
        groups: Bars by group and name; values that are not above 0 have none.
        foot: The value at the bottom, by default a power of ten, where the smallest bar may have no height.
    """
    values = [value for group in groups.values() for value in group.values() if value > 0]
    if not values:
        return ""
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    scale = decades(values, foot)
    parts = [_grid(scale)]
    step = (_WIDTH - _LEFT - _RIGHT) / len(groups)
    width = step * (1 - _GAP) / len(names)
    every = math.ceil(len(groups) / _MOST_LABELS)
    for place, (label, group) in enumerate(groups.items()):
        left = _LEFT + place * step
        if place % every == 0:
            parts.append(_text(left + step / 2, _HEIGHT - _BOTTOM + 20, label, "middle"))
        for name, value in group.items():
            if value > 0:
                x, top = left + step * _GAP / 2 + names.index(name) * width, _down(scale, value)
                of = f"{label}, {name}" if len(names) > 1 else label
                parts.append(
                    f'<rect class="{_colour(names.index(name))}" x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" '
                    f'height="{_HEIGHT - _BOTTOM - top:.1f}" rx="2">{_hint(of, value, unit)}</rect>'
                )
    return _figure(title, unit, parts, names)


def lines(title: str, unit: str, series: Mapping[str, Points]) -> str:
    """Lines over two logarithmic scales, from a mapping of series to points."""
    points = [point for each in series.values() for point in each]
    if not points:
        return ""
    scale = decades(y for _, y in points)
    least, most = min(x for x, _ in points), max(x for x, _ in points)
    labels = tuple((x, f"{x:,.0f}") for x in sorted({x for x, _ in points}))
    across = Scale(least, most if most > least else least * 10, labels, logarithmic=True)
    parts = [_grid(scale), _foot(across)]
    for place, each in enumerate(series.values()):
        hints = [_hint(f"{x:,.0f}", y, unit) for x, y in each]
        parts.append(_line(place, [(_right(across, x), _down(scale, y)) for x, y in each], hints))
    return _figure(title, unit, parts, list(series))


def timeline(
    title: str,
    unit: str,
    series: Mapping[str, Points],
    *,
    marks: Mapping[str, float] | None = None,
    shape: Literal["line", "steps", "spikes"] = "line",
    whole: bool = False,
    from_zero: bool = True,
) -> str:
    """Lines over time: series -> (seconds since the start, value).

    Args:
        title: The caption.
        unit: The unit of the values.
        series: One line each; the first is drawn on top, and filled if the scale begins at 0.
        marks: Horizontal lines at these levels, by name.
        shape: `steps` if a value lasts until the next one, `spikes` if it belongs to its moment only.
        whole: Are the values whole numbers?
        from_zero: Does the scale begin at 0?
    """
    points = [point for each in series.values() for point in each]
    if not points:
        return ""
    levels = marks or {}
    scale = linear([*(y for _, y in points), *levels.values()], from_zero=from_zero, whole=whole)
    across = time_scale(max(x for x, _ in points))
    parts = [_grid(scale), _foot(across)]
    for place, each in reversed(list(enumerate(series.values()))):
        drawn = [(_right(across, x), _down(scale, y)) for x, y in each]
        hints = [_hint(f"after {x:,.1f} s", y, unit) for x, y in each]
        if shape == "spikes":
            parts.append(_spikes(place, drawn, hints))
            continue
        if shape == "steps":
            corners = [(after[0], before[1]) for before, after in pairwise(drawn)]
            drawn = [point for pair in zip(drawn, [*corners, drawn[-1]], strict=True) for point in pair]
            hints = []
        if place == 0 and from_zero and drawn:
            foot = f"{_HEIGHT - _BOTTOM:.1f}"
            outline = f"{drawn[0][0]:.1f},{foot} {_path(drawn)} {drawn[-1][0]:.1f},{foot}"
            parts.append(f'<polygon class="area {_colour(place)}" points="{outline}"/>')
        parts.append(_line(place, drawn, hints))
    parts.append(_marks(scale, levels))
    return _figure(title, unit, parts, list(series))


def _spikes(place: int, points: Points, hints: Sequence[str]) -> str:
    foot = _HEIGHT - _BOTTOM
    width = max(1.5, min(8.0, (_WIDTH - _LEFT - _RIGHT) / len(points) * 0.6))
    drawn = "".join(
        f'<rect x="{x - width / 2:.1f}" y="{y:.1f}" width="{width:.1f}" height="{foot - y:.1f}">{hint}</rect>'
        for (x, y), hint in zip(points, hints, strict=True)
        if y < foot
    )
    return f'<g class="{_colour(place)}">{drawn}</g>'


def _marks(scale: Scale, levels: Mapping[str, float]) -> str:
    """Dashed lines with their names at the right; a name that would overlap another is left out."""
    parts, taken = [], math.inf
    for name, value in sorted(levels.items(), key=lambda level: level[1]):
        y = _down(scale, value)
        parts.append(f'<line class="mark" x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}"/>')
        if taken - y >= 18:
            parts.append(_text(_WIDTH - _RIGHT - 2, y - 4, name, "end", "marked"))
            taken = y
    return "".join(parts)


def _line(place: int, points: Points, hints: Sequence[str]) -> str:
    parts = [f'<polyline class="line" points="{_path(points)}"/>']
    if len(points) <= _MOST_DOTS:
        dots = zip(points, hints, strict=False)
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3">{hint}</circle>' for (x, y), hint in dots]
    return f'<g class="{_colour(place)}">{"".join(parts)}</g>'


def _path(points: Points) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _down(scale: Scale, value: float) -> float:
    return _HEIGHT - _BOTTOM - scale.place(value) * (_HEIGHT - _BOTTOM - _TOP)


def _right(scale: Scale, value: float) -> float:
    return _LEFT + scale.place(value) * (_WIDTH - _LEFT - _RIGHT)


def _grid(scale: Scale) -> str:
    parts = []
    for value, label in scale.ticks:
        if scale.low <= value:
            y = _down(scale, value)
            parts.append(f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}"/>')
            parts.append(_text(_LEFT - 8, y + 4, label, "end"))
    return "".join(parts)


def _foot(scale: Scale) -> str:
    return "".join(
        _text(_right(scale, value), _HEIGHT - _BOTTOM + 20, label, "middle") for value, label in scale.ticks
    )


def _text(x: float, y: float, text: str, anchor: str, style: str = "") -> str:
    style = f' class="{style}"' if style else ""
    return f'<text{style} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _hint(of: str, value: float, unit: str) -> str:
    return f"<title>{escape(f'{of}: {number_text(value, 3)} {unit}')}</title>"


def _colour(place: int) -> str:
    return f"c{place % _COLOURS}"


def _figure(title: str, unit: str, parts: Sequence[str], names: Sequence[str]) -> str:
    keys = "".join(
        f'<li class="{_colour(place)}"><b></b><span>{escape(n)}</span></li>' for place, n in enumerate(names)
    )
    legend = f'<ul class="legend">{keys}</ul>' if len(names) > 1 else ""
    return (
        f'<figure class="chart"><figcaption>{escape(title)} <span>{escape(unit)}</span></figcaption>{legend}'
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(f"{title}, {unit}")}">'
        f"{''.join(parts)}</svg></figure>"
    )
