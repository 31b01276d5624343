"""Scales: every value has its place, and labels are few and round."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.report.scales import Scale, decades, linear, tick_text, time_scale

AMOUNTS = st.lists(st.floats(1e-6, 1e12), min_size=1, max_size=20)


def labels(scale: Scale) -> list[str]:
    return [label for _, label in scale.ticks]


@given(AMOUNTS)
def test_values_are_within_their_scale(values: list[float]) -> None:
    for scale in (linear(values), linear(values, from_zero=False), linear(values, whole=True), decades(values)):
        assert scale.low <= min(values) * (1 + 1e-9)
        assert scale.high >= max(values) * (1 - 1e-9)
        places = [scale.place(value) for value in sorted(values)]
        assert places == sorted(places)
        assert 0 <= places[0] <= places[-1] <= 1


@given(AMOUNTS)
def test_a_linear_scale_has_few_labels_each_different(values: list[float]) -> None:
    for scale in (linear(values), linear(values, whole=True)):
        assert 2 <= len(scale.ticks) <= 7
        assert len(set(labels(scale))) == len(scale.ticks)


@given(st.floats(0, 1e9))
def test_time_has_few_labels_within_it(seconds: float) -> None:
    scale = time_scale(seconds)
    assert 1 <= len(scale.ticks) <= 7
    assert all(0 <= value <= scale.high * (1 + 1e-9) for value, _ in scale.ticks)
    assert len(set(labels(scale))) == len(scale.ticks)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.5, ["0 s", "0.1 s", "0.2 s", "0.3 s", "0.4 s", "0.5 s"]),
        (53, ["0 s", "10 s", "20 s", "30 s", "40 s", "50 s"]),
        (1_500, ["0 min", "5 min", "10 min", "15 min", "20 min", "25 min"]),
        (10_800, ["0 min", "30 min", "60 min", "90 min", "120 min", "150 min", "180 min"]),
        (172_800, ["0 h", "12 h", "24 h", "36 h", "48 h"]),
        (86_400 * 30, ["0 d", "5 d", "10 d", "15 d", "20 d", "25 d", "30 d"]),
    ],
)
def test_labels_of_time(seconds: float, expected: list[str]) -> None:
    assert labels(time_scale(seconds)) == expected


def test_labels_of_values() -> None:
    assert labels(linear([0, 195_000])) == ["0", "50k", "100k", "150k", "200k"]
    assert labels(linear([7, 8], from_zero=False, whole=True)) == ["7", "8"]
    assert labels(linear([0])) == ["0", "1"]
    assert labels(decades([0.02, 300])) == ["0.01", "0.1", "1", "10", "100", "1,000"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.25, "0.25"),
        (5_000, "5,000"),
        (20_000, "20k"),
        (1.5e6, "1.5M"),
        (1 << 20, "1.04858M"),
        (2e9, "2G"),
    ],
)
def test_ticks_are_short(value: float, text: str) -> None:
    assert tick_text(value) == text


def test_what_is_beyond_stands_at_the_end() -> None:
    scale = decades([1, 10], 0.5)
    assert scale.place(0.01) == 0
    assert scale.place(1e6) == 1
    assert 0 < scale.place(1) < 0.5
