"""Times and durations in options."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import typer

from tamis.cli.times import read_duration, read_time


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("90s", timedelta(seconds=90)),
        ("1.5m", timedelta(seconds=90)),
        ("12h", timedelta(hours=12)),
        ("30d", timedelta(days=30)),
    ],
)
def test_durations(text: str, duration: timedelta) -> None:
    assert read_duration(text, "--older-than") == duration
    assert read_time(text, "--expires") == duration


def test_times() -> None:
    assert read_time("2026-12-31T18:00Z", "--expires") == datetime(2026, 12, 31, 18, tzinfo=UTC)


@pytest.mark.parametrize("text", ["soon", "12", "h", "-1h", "1w"])
def test_other_texts_are_errors_that_name_the_option(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        read_duration(text, "--grace")
    with pytest.raises(typer.Exit):
        read_time(text if text != "12" else "x", "--expires")
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("tamis: error: --grace: expected a number with s, m, h or d")
    assert second.startswith("tamis: error: --expires: expected a time")
