"""Charts over the clock: a bar a span, the largest as high as the chart."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from tamis.service.page.charts import over_clock

START = datetime(2026, 7, 1, 12, tzinfo=UTC)


def chart(values: list[float], seconds: int = 10, title: str = "Matches") -> str:
    spans = [(START + timedelta(seconds=seconds * place), value) for place, value in enumerate(values)]
    return over_clock(title, "per second", spans, seconds)


def heights(text: str) -> list[float]:
    return [float(each) for each in re.findall(r'<rect [^>]*height="([\d.]+)"', text)]


def test_bars_are_as_high_as_their_values() -> None:
    low, high = heights(chart([2, 0, 4]))
    assert 2 * low == high
    assert "12:00:20: 4 per second" in chart([2, 0, 4])


def test_a_small_value_is_seen_and_nothing_is_no_bar() -> None:
    assert heights(chart([0.001, 1_000]))[0] >= 1
    assert heights(chart([0, 0])) == []
    assert chart([]) == ""


def test_labels_are_few_and_have_the_date_when_days_are_shown() -> None:
    assert chart([1] * 60).count('text-anchor="middle"') <= 4, "with seconds they are long"
    assert chart([1] * 60, seconds=60).count('text-anchor="middle"') <= 6
    assert "01 Jul" in chart([1] * 60, seconds=10_800)
    assert "<b>" not in chart([1], title="<b>")
