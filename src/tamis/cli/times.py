"""Times and durations in options: `2026-12-31T18:00Z`, `90s`, `12h`, `30d`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from tamis.cli.output import fail

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)([smhd])")
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def read_duration(text: str, option: str) -> timedelta:
    """A duration; fails with a message that names the option if the text is none."""
    duration = _duration(text)
    if duration is None:
        fail(f"{option}: expected a number with s, m, h or d, such as 90s or 12h, found {text!r}")
    return duration


def read_time(text: str, option: str) -> datetime | timedelta:
    """A time or a duration from now; fails with a message that names the option if the text is neither."""
    duration = _duration(text)
    if duration is not None:
        return duration
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        fail(f"{option}: expected a time, such as 2026-12-31T18:00Z, or a duration, such as 30d, found {text!r}")


def read_past(text: str, option: str) -> datetime:
    """A time in UTC, or so long ago; fails with a message that names the option if the text is neither."""
    found = read_time(text, option)
    if isinstance(found, timedelta):
        return datetime.now(UTC) - found
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


def _duration(text: str) -> timedelta | None:
    found = _DURATION.fullmatch(text)
    return None if found is None else timedelta(seconds=float(found[1]) * _UNITS[found[2]])
