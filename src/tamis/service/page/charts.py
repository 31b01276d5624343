"""Charts over the time of day: a bar for each span. Their style is that of `tamis.report.charts`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from tamis.report.markup import escape
from tamis.report.scales import linear, tick_text

_WIDTH, _HEIGHT = 560, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 12, 34
_MOST_LABELS, _MOST_LONG_LABELS = 6, 4
_DAY_SECONDS = 86_400
_FORMS = {"clock": "%H:%M:%S", "minute": "%H:%M", "day": "%d %b"}
"""How a label begins; `times.js` writes the same in the zone of the reader."""


def over_clock(title: str, unit: str, spans: Sequence[tuple[datetime, float]], seconds: float) -> str:
    """Bars of equal spans, the oldest first.

    Args:
        title: What is shown.
        unit: Of the values.
        spans: When each begins, and its value.
        seconds: How long each is.
    """
    if not spans:
        return ""
    scale = linear([1.0, *(value for _, value in spans)], whole=all(value == int(value) for _, value in spans))
    foot = _HEIGHT - _BOTTOM
    parts = []
    for value, label in scale.ticks:
        y = foot - scale.place(value) * (foot - _TOP)
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(label)}</text>')
    step = (_WIDTH - _LEFT - _RIGHT) / len(spans)
    form = "day" if seconds * len(spans) > 2 * _DAY_SECONDS else "clock" if seconds < 60 else "minute"
    every = -(-len(spans) // (_MOST_LONG_LABELS if form == "clock" else _MOST_LABELS))
    for place, (begin, value) in enumerate(spans):
        x = _LEFT + place * step
        if place % every == 0:
            at = f'data-at="{_moment(begin)}" data-form="{form}"'
            label = begin.astimezone(UTC).strftime(_FORMS[form])
            parts.append(f'<text x="{x:.1f}" y="{foot + 24}" text-anchor="middle" {at}>{label}</text>')
        height = scale.place(value) * (foot - _TOP)
        if value > 0:
            height = max(1.0, height)
            hint = escape(f"{begin.astimezone(UTC):%H:%M:%S}: {tick_text(round(value, 2))} {unit}")
            at = f'data-at="{_moment(begin)}" data-form="clock"'
            parts.append(
                f'<rect class="c0" x="{x + step * 0.1:.1f}" y="{foot - height:.1f}" width="{step * 0.8:.1f}" '
                f'height="{height:.1f}" rx="1"><title {at}>{hint}</title></rect>'
            )
    return (
        f'<figure class="chart"><figcaption>{escape(title)} <span>{escape(unit)}</span></figcaption>'
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(f"{title}, {unit}")}">'
        f"{''.join(parts)}</svg></figure>"
    )


def _moment(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
