"""What a run says while it goes on: a picture on a terminal, a line a batch elsewhere, JSON if asked."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Mapping

import pytest
from rich.console import Console

from tamis.cli.output import Screen
from tamis.cli.progress import (
    JsonView,
    PlainView,
    TerminalView,
    batch_line,
    progress_view,
    sparkline,
    summary_text,
)
from tamis.operators.reports import FailedCall, OperatorReport
from tamis.progress import BatchReport, Summary
from tests.reports import random_reports, report


def drawn(*reports: BatchReport) -> str:
    """The picture after some batches, without escape codes."""
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    view = TerminalView(console)
    for each in reports:
        view.show(each)
    picture = view._live.get_renderable()
    view.close()
    plain = Console(file=io.StringIO(), width=120)
    plain.print(picture)
    assert isinstance(plain.file, io.StringIO)
    return plain.file.getvalue()


def plain_text(summary: Summary, output: str, **rows: Mapping[str, str]) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(summary_text(summary, output, **rows))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_json_lines_come_back(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    view = progress_view(json=True)
    assert isinstance(view, JsonView)
    reports = random_reports(1, 5)
    for each in reports:
        view.show(each)
    view.close()
    written = capfdbinary.readouterr()
    assert [BatchReport.from_json(line) for line in written.out.splitlines()] == reports
    assert written.err == b""


def test_without_a_terminal_a_batch_is_a_line_of_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    view = progress_view(json=False)
    assert isinstance(view, PlainView)
    view.show(report(3))
    view.show(report(4, query="x\x1b[31m"))
    view.close()
    written = capfd.readouterr()
    assert written.out == ""
    assert written.err.splitlines() == [batch_line(report(3)), batch_line(report(4))]
    assert "\x1b" not in written.err


def test_the_line_of_a_batch() -> None:
    assert batch_line(report(3)) == (
        "batch 3: 1,000 events in 500 ms (2,000 events/s), 70 notifications, 4% matched, backlog 5,000, "
        "version 7 (up to date)"
    )
    odd = report(
        4,
        events=1,
        matched_events=1,
        seconds=2.0,
        notifications=1,
        backlog=None,
        lag_seconds=1.5,
        dead=1,
        overflow=1_200,
    )
    assert batch_line(odd) == (
        "batch 4: 1 event in 2 s (0.5 events/s), 1 notification, 100% matched, version 7 (1.5 s behind), "
        "1 dead, 1,200 over quota"
    )
    assert batch_line(report(5, lag_seconds=None)).endswith(", version 7")


def test_a_run_without_new_events_says_so_instead_of_zeros() -> None:
    assert [line.split() for line in plain_text(Summary.of([]), "a folder").splitlines()] == [
        ["events", "no", "new", "ones"],
        ["output", "a", "folder"],
    ]
    failed = plain_text(Summary.of([report(1, events=0, matched_events=0, notifications=0)]), "a folder")
    assert "0 in 1 batch" in failed


def test_on_a_terminal_the_picture_moves_and_vanishes(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.openpty()
    monkeypatch.setenv("TERM", "xterm")
    with os.fdopen(theirs, "w", encoding="utf-8") as screen, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", screen)
        view = progress_view(json=False)
        assert isinstance(view, TerminalView)
        view.show(report(41))
        view.close()
    seen = _rest(ours)
    assert "of alerts, done" in seen
    assert "\x1b[?25l" in seen  # the cursor is hidden while it draws
    assert seen.rindex("\x1b[?25h") > seen.rindex("of alerts, done")
    assert seen.endswith("\x1b[2K")  # and the last line is wiped


def _rest(terminal: int) -> str:
    """What is left to read; a terminal whose other end is closed says so by an error."""
    seen = []
    try:
        while chunk := os.read(terminal, 65_536):
            seen.append(chunk)
    except OSError as error:
        assert error.errno == errno.EIO
    finally:
        os.close(terminal)
    return b"".join(seen).decode()


def test_the_picture_before_the_first_batch() -> None:
    assert drawn().startswith("waiting for the first batch, ")


def test_the_picture_shows_sums_and_the_last_batch() -> None:
    picture = drawn(report(0), report(1, backlog=12_345, lag_seconds=1.5, version=9, dead=3, seconds=1.5))
    for shown in ("2,000", "1,000 events/s", "12,345", "140", "4% of events matched", "version 9", "1.5 s behind"):
        assert shown in picture
    for shown in ("matching 300 ms, commit 100 ms", "3 dead", "█"):
        assert shown in picture
    assert "over quota" not in picture


def test_a_batch_shown_again_is_counted_once() -> None:
    assert drawn(report(0), report(1), report(1)).count("2,000") == drawn(report(0), report(1)).count("2,000")


def test_an_id_cannot_steer_the_terminal() -> None:
    hostile = "\x1b[2J[red]\u202e"
    picture = drawn(report(0, query=hostile))
    summary = plain_text(Summary.of([report(0, busiest=((hostile, 3),))]), hostile)
    for text in (picture, summary):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\\x1b[2J[red]\\u202e" in text


def test_the_summary_says_it_all() -> None:
    reports = [report(batch, seconds=0.1 * (batch + 1), version=3 + batch, overflow=1) for batch in range(10)]
    text = plain_text(Summary.of(reports), "out/notifications")
    for shown in (
        "10,000 in 10 batches, 1,833 events/s (median of batches)",
        "700, 1.8 per matched event",
        "4% of events (400)",
        "10 over quota",
        "p50 500 ms, p90 900 ms, p99 1 s, most 1 s",
        "versions 3 to 12, 10 used, never behind the store",
        "200  s1",
        "50  s2",
        "out/notifications",
    ):
        assert shown in text


def test_the_summary_has_conditions_and_other_rows_and_they_cannot_steer_the_terminal() -> None:
    summary = Summary.of([report()])
    hostile = {"s2": "price < 3 -- \x1b[2J"}, {"engine": "bit\x1b[31mslice"}
    text = plain_text(summary, "out", conditions=hostile[0], more=hostile[1])
    lines = [line.strip() for line in text.splitlines()]
    assert lines[lines.index("5  s2") + 1] == "price < 3 -- \\x1b[2J"
    assert "engine  bit\\x1b[31mslice" in lines
    assert "\x1b" not in text


def test_dead_letters_are_shown_by_kind() -> None:
    each = report(dead=3, dead_by_kind=(("malformed", 2), ("missing id", 1)))
    shown = "3 dead (2 malformed, 1 missing id)"
    assert shown in batch_line(each)
    assert shown in plain_text(Summary.of([each]), "out")
    assert "3 dead" in batch_line(report(dead=3)), "a report of before"


@pytest.mark.parametrize(
    ("values", "bars"), [([], ""), ([0.0, 0.0], "▁▁"), ([0.0, 1.0, 2.0, 4.0], "▁▃▅█"), ([5.0], "█")]
)
def test_sparklines(values: list[float], bars: str) -> None:
    assert sparkline(values) == bars


def test_a_plain_view_uses_the_screen_it_is_given(capfd: pytest.CaptureFixture[str]) -> None:
    PlainView(Screen()).show(report(0))
    assert capfd.readouterr().out == batch_line(report(0)) + "\n"


def test_operators_are_told_of_and_those_that_fail_with_the_reason() -> None:
    failed = FailedCall(1.5, "7", "LookupError: \x1b[31mno")
    brittle = OperatorReport("brittle", calls=1_200, seconds=0.5, saved=30, failures=2, lately=(failed,))
    each = report(operators=(brittle, OperatorReport("quick", calls=1, seconds=0.001)))
    line = batch_line(each)
    assert "brittle: 2 calls failed, the last one with LookupError" in line
    assert "quick" not in line
    for text in (drawn(each), plain_text(Summary.of([each]), "out")):
        assert (
            "1,200 calls in 500 ms, 30 saved, 2 calls failed, the last one with LookupError: \\x1b[31mno" in text
        )
        assert "1 call in 1 ms" in text
