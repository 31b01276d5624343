"""Charts are whole SVG with a shape for every value, in the right order of heights."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from xml.dom import minidom

import pytest

from tamis.report import charts

HOSTILE = "</svg><script>alert('1')</script>&\x00"


def parsed(drawn: str) -> minidom.Document:
    return minidom.parseString(f"<page>{drawn}</page>")


def numbers(drawn: str, tag: str, attribute: str) -> list[float]:
    return [float(each.getAttribute(attribute)) for each in parsed(drawn).getElementsByTagName(tag)]


def texts(drawn: str, tag: str) -> list[str]:
    found = parsed(drawn).getElementsByTagName(tag)
    return ["".join(node.data for node in each.childNodes if isinstance(node, minidom.Text)) for each in found]


def test_bars_have_a_bar_for_each_value_above_zero() -> None:
    groups = {"batch 1": {"scan": 1_200.0, "counting": 3.5}, "batch 8": {"scan": 9.0, "counting": 0.0}}
    drawn = charts.bars("a < b", "us/event", groups)
    tall, small, middle = numbers(drawn, "rect", "height")
    assert small < middle < tall
    assert texts(drawn, "title") == [
        "batch 1, scan: 1,200 us/event",
        "batch 1, counting: 3.5 us/event",
        "batch 8, scan: 9 us/event",
    ]
    assert len(parsed(drawn).getElementsByTagName("li")) == 2


def test_a_bar_of_the_least_value_can_be_seen_above_a_foot() -> None:
    drawn = charts.bars("t", "u", {"1": {"": 1.0}, "2": {"": 100.0}}, foot=0.5)
    assert min(numbers(drawn, "rect", "height")) > 5


def test_of_many_bars_some_are_labelled() -> None:
    drawn = charts.bars("t", "u", {f"group {place}": {"": 10.0} for place in range(30)})
    assert sum(text.startswith("group") for text in texts(drawn, "text")) == 8
    assert len(numbers(drawn, "rect", "x")) == 30


def test_lines_go_through_their_points() -> None:
    drawn = charts.lines("growth", "us/event", {"bitslice": [(1e3, 2.0), (1e6, 20.0)]})
    assert len(numbers(drawn, "circle", "cx")) == 2
    low, high = numbers(drawn, "circle", "cy")
    assert high < low  # up is less
    assert {"1,000", "1,000,000"} <= set(texts(drawn, "text"))


def test_a_line_of_one_point() -> None:
    assert len(numbers(charts.lines("t", "u", {"a": [(5.0, 3.0)]}), "circle", "cx")) == 1
    assert len(numbers(charts.timeline("t", "u", {"a": [(0.0, 0.0)]}), "circle", "cx")) == 1


def corners(drawn: str) -> Sequence[tuple[float, ...]]:
    (line,) = parsed(drawn).getElementsByTagName("polyline")
    return [tuple(map(float, pair.split(","))) for pair in line.getAttribute("points").split()]


def test_steps_hold_a_value_until_the_next() -> None:
    points = corners(charts.timeline("t", "u", {"a": [(0, 1), (10, 2), (30, 5)]}, shape="steps", from_zero=False))
    assert len(points) == 6
    assert all(before[0] == after[0] or before[1] == after[1] for before, after in pairwise(points))


def test_spikes_stand_where_there_is_something() -> None:
    drawn = charts.timeline("t", "u", {"a": [(0, 0), (10, 2), (20, 0), (30, 4)]}, shape="spikes")
    small, tall = numbers(drawn, "rect", "height")
    assert tall == pytest.approx(2 * small, abs=0.2)


def test_marks_are_named_unless_they_would_stand_in_one_another() -> None:
    marks = {"p50": 1.0, "p90": 1.01, "p99": 9.0}
    drawn = charts.timeline("t", "u", {"a": [(0, 1), (10, 9)]}, marks=marks)
    assert [text for text in texts(drawn, "text") if text.startswith("p")] == ["p50", "p99"]
    lines = [each for each in parsed(drawn).getElementsByTagName("line") if each.getAttribute("class") == "mark"]
    assert len(lines) == 3


def test_a_long_line_has_no_dots() -> None:
    drawn = charts.timeline("t", "u", {"a": [(x, x % 7) for x in range(500)]})
    assert len(corners(drawn)) == 500
    assert numbers(drawn, "circle", "cx") == []


@pytest.mark.parametrize(
    "drawn", [charts.bars("t", "u", {}), charts.lines("t", "u", {}), charts.timeline("t", "u", {})]
)
def test_nothing_is_drawn_of_nothing(drawn: str) -> None:
    assert drawn == ""


@pytest.mark.parametrize(
    "draw",
    [
        lambda: charts.bars(HOSTILE, HOSTILE, {HOSTILE: {HOSTILE: 1.0, "b": 2.0}}),
        lambda: charts.lines(HOSTILE, HOSTILE, {HOSTILE: [(1.0, 1.0)], "b": [(2.0, 2.0)]}),
        lambda: charts.timeline(HOSTILE, HOSTILE, {HOSTILE: [(1, 1)], "b": [(2, 2)]}, marks={HOSTILE: 1.0}),
    ],
    ids=["bars", "lines", "timeline"],
)
def test_texts_stay_texts(draw: Any) -> None:
    drawn = draw()
    assert not parsed(drawn).getElementsByTagName("script")
    assert "</svg><script>alert('1')</script>&\\x00" in texts(drawn, "span")
