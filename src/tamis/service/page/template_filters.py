"""Filters and functions of the templates: how values look on a page."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from markupsafe import escape as escape_exactly

from tamis._version import __version__
from tamis.explain import Explanation
from tamis.numerals import duration_text, number_text
from tamis.report.charts import timeline
from tamis.report.markup import escape
from tamis.report.tree import explanation_tree
from tamis.service.page import links
from tamis.service.page.charts import over_clock

_UNITS = ("B", "kB", "MB", "GB", "TB")
_AGES = ((86_400 * 2, 86_400, "d"), (7_200, 3_600, "h"), (120, 60, "min"), (0, 1, "s"))


def environment() -> Environment:
    """The environment of the templates; it escapes what they print, and spells out invisible characters."""
    made = Environment(
        loader=PackageLoader("tamis.service.page"),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "when": when,
        "ago": ago,
        "bytes": bytes_text,
        "count": lambda number: f"{number:,}",
        "seconds": duration_text,
        "rate": number_text,
        "fine": fine,
        "spans": spans,
        "exact": exact,
        "pretty": pretty,
        "line": lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
        "rate_of": lambda span, name, seconds: (span["at"], span[name] / seconds),
        "count_of": lambda span, name: (span["at"], span[name]),
        "series": series,
        "tree": lambda found: Markup(explanation_tree(found)),
    }
    made.globals |= {
        "address": links.address,
        "with_query": links.with_query,
        "timeline": lambda *args, **named: Markup(timeline(*args, **named)),
        "over_clock": lambda *args, **named: Markup(over_clock(*args, **named)),
        "version": __version__,
    }
    return made


def _finalize(value: Any) -> Any:
    if value is None:
        return ""
    return Markup(escape(value)) if isinstance(value, str) and not isinstance(value, Markup) else value


def exact(text: str) -> Markup:
    """A text to be edited: every character as it is."""
    return escape_exactly(text.encode("utf-8", "replace").decode())


def spans(text: str) -> Markup:
    """A sentence in which what stands between backticks is code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def when(time: datetime | None) -> Markup:
    """A time, in UTC."""
    if time is None:
        return Markup('<span class="soft">–</span>')
    utc = time.astimezone(UTC)
    return Markup(f'<time datetime="{moment(utc)}"><span>{utc:%Y-%m-%d}</span> <span>{utc:%H:%M:%S}</span></time>')


def ago(time: datetime | None, now: datetime | None = None) -> str:
    """`12 s ago`, `in 3 h`: for people."""
    if time is None:
        return ""
    seconds = ((now or datetime.now(UTC)) - time).total_seconds()
    size, unit = next((size, unit) for least, size, unit in _AGES if abs(seconds) >= least)
    text = f"{abs(seconds) / size:.0f} {unit}"
    return f"{text} ago" if seconds >= 0 else f"in {text}"


def fine(seconds: float) -> str:
    """As `duration_text`, for what takes less than a millisecond too."""
    return f"{number_text(seconds * 1e6)} µs" if seconds < 1e-4 else duration_text(seconds)


def bytes_text(count: float) -> str:
    """`512 B`, `1.5 MB`."""
    for unit in _UNITS:
        if count < 1_000 or unit == _UNITS[-1]:
            break
        count /= 1_000
    return f"{number_text(count, 3)} {unit}"


def pretty(value: Any) -> str:
    """JSON over several lines."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def series(
    rows: Sequence[Mapping[str, Any]], names: Mapping[str, str], at: str = "at", *, lasts: bool = False
) -> dict[str, list[tuple[float, float]]]:
    """Lines of a chart over the time since the first row.

    Args:
        rows: In the order of time.
        names: By the name of each line, what its points are taken from.
        at: What has the time of a row.
        lasts: Does the last row hold until now?
    """
    shown = [*rows, {**rows[-1], at: datetime.now(UTC)}] if lasts and rows else rows
    return {
        name: [((row[at] - rows[0][at]).total_seconds(), row[key]) for row in shown if row[key] is not None]
        for name, key in names.items()
    }


def moment(time: datetime) -> str:
    """A time as JSON has it."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def to_json(data: Any) -> bytes:
    """The answer of a twin, in ASCII: an event may contain half of a surrogate pair."""
    return json.dumps(data, default=_plain, separators=(",", ":")).encode()


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return moment(value)
        case Explanation():
            return value.to_dict()
        case Mapping():
            return dict(value)
    msg = f"expected what JSON has, times and explanations, found {type(value).__name__}"
    raise TypeError(msg)
