"""How values look: times, sizes, JSON, and nothing unescaped."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tamis.service.page.template_filters import (
    ago,
    bytes_text,
    environment,
    exact,
    fine,
    series,
    spans,
    to_json,
    when,
)

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s ago"), (119, "119 s ago"), (120, "2 min ago"), (7_200, "2 h ago"), (-200_000, "in 2 d")],
)
def test_an_age_is_in_the_unit_that_people_use(seconds: int, text: str) -> None:
    assert ago(NOW - timedelta(seconds=seconds), NOW) == text


def test_sizes_and_short_times() -> None:
    assert [bytes_text(count) for count in (0, 999, 1_500, 2e15)] == ["0 B", "999 B", "1.5 kB", "2,000 TB"]
    assert fine(2.5e-6) == "2.5 µs"


def test_a_time_is_in_utc_and_none_is_a_dash() -> None:
    assert 'datetime="2026-07-01T12:00:00Z"' in when(NOW)
    assert "–" in when(None)


def test_what_a_template_prints_is_escaped_and_invisible_characters_are_spelled_out() -> None:
    text = environment().from_string("{{ x }}|{{ nothing }}").render(x="<b>\u202e</b>", nothing=None)
    assert "<b>" not in text
    assert "\u202e" not in text
    assert text.endswith("|")
    assert str(exact("<\u202e>")) == "&lt;\u202e&gt;", "a text to be edited is kept as it is"


def test_lines_of_a_chart_begin_at_the_first_row_and_leave_out_what_is_unknown() -> None:
    rows: list[dict[str, Any]] = [{"at": NOW, "x": 1}, {"at": NOW + timedelta(seconds=5), "x": None}]
    assert series(rows, {"X": "x"}) == {"X": [(0.0, 1)]}
    assert len(series(rows, {"X": "x"}, lasts=True)["X"]) == 1
    assert series([], {"X": "x"}) == {"X": []}


def test_a_twin_is_ascii_and_refuses_what_json_does_not_have() -> None:
    assert json.loads(to_json({"at": NOW, "half": "\ud800"})) == {"at": "2026-07-01T12:00:00Z", "half": "\ud800"}
    with pytest.raises(TypeError, match="found set"):
        to_json({"x": {1}})


def test_what_stands_between_backticks_is_code_and_nothing_else_is_markup() -> None:
    assert spans("the role `admin` <b>") == "the role <code>admin</code> &lt;b&gt;"
    assert spans("`<i>` and a ` alone") == "<code>&lt;i&gt;</code> and a ` alone"
