"""Reports of micro-batches as people and programs see them while a query runs, and their sum at the end.

What people see goes to standard error, what programs read to standard output; only a terminal gets a picture that
moves. Ids come from others, so nothing of them reaches a terminal unescaped.
"""

from __future__ import annotations

import time
from collections import deque

from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tamis.cli.output import JsonLines, Screen, counted, visible
from tamis.operators.reporting import OperatorReport
from tamis.progress import BatchReport, Summary, View, duration_text, rate_text, share_text

_RECENT = 30
_SPARKS = "▁▂▃▄▅▆▇█"
_TOP = 5
_NOT_MADE = {"saved": "saved", "cached": "from the cache", "skipped": "skipped"}
_SET_ASIDE = {"dead": "dead", "overflow": "over quota", "repeated": "repeated"}


def progress_view(*, json: bool) -> View:
    """JSON lines if asked for, else a live picture on a terminal, else a line a batch."""
    if json:
        return JsonView()
    screen = Screen(stderr=True)
    return TerminalView(screen) if screen.is_terminal else PlainView(screen)


class JsonView:
    """A line of JSON a batch, on standard output."""

    def __init__(self) -> None:
        self._lines = JsonLines()

    def show(self, report: BatchReport) -> None:
        """Write the report."""
        self._lines.write_bytes(report.to_json().encode() + b"\n")
        self._lines.flush()

    def close(self) -> None:
        """Nothing is left to write."""


class PlainView:
    """A readable line a batch, on standard error."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def show(self, report: BatchReport) -> None:
        """Write the line."""
        self._screen.say(batch_line(report))

    def close(self) -> None:
        """Nothing is left to write."""


class TerminalView:
    """A live picture on standard error, drawn twice a second; it vanishes when closed."""

    def __init__(self, console: Console) -> None:
        self._recent: deque[BatchReport] = deque(maxlen=_RECENT)
        self._totals: dict[str, int] = dict.fromkeys(("events", "matched_events", *_SET_ASIDE, "notifications"), 0)
        self._started = self._shown = time.monotonic()
        self._live = Live(
            console=console,
            get_renderable=self._picture,
            refresh_per_second=2,
            transient=True,
        )
        self._live.start()

    def show(self, report: BatchReport) -> None:
        """Take the batch into the picture."""
        if self._recent and (report.query, report.batch) == (self._recent[-1].query, self._recent[-1].batch):
            self._recent.pop()
        else:
            for name in self._totals:
                self._totals[name] += getattr(report, name)
        self._recent.append(report)
        self._shown = time.monotonic()
        self._live.refresh()

    def close(self) -> None:
        """Stop drawing, and leave the terminal as it was."""
        self._live.stop()

    def _picture(self) -> RenderableType:
        recent = tuple(self._recent)
        if not recent:
            waited = duration_text(time.monotonic() - self._started)
            return Text(f"waiting for the first batch, {waited}", style="dim")
        last, totals = recent[-1], self._totals
        seconds = sum(report.seconds for report in recent)
        rate = sum(report.events for report in recent) / seconds if seconds > 0 else 0.0
        share = totals["matched_events"] / totals["events"] if totals["events"] else 0.0
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", justify="right", no_wrap=True, min_width=len("notifications"))
        table.add_column(no_wrap=True)
        table.add_column(style="dim", no_wrap=True)
        age = duration_text(time.monotonic() - self._shown)
        table.add_row("batch", f"{last.batch}", Text(f"of {visible(last.query)}, done {age} ago"))
        rates = sparkline([report.events_per_second for report in recent])
        table.add_row(
            "events", f"{totals['events']:,}", Text(f"{rate_text(rate)} events/s  ").append(rates, "not dim cyan")
        )
        table.add_row("backlog", "unknown" if last.backlog is None else f"{last.backlog:,}", "")
        table.add_row("notifications", f"{totals['notifications']:,}", f"{share_text(share)} of events matched")
        table.add_row("subscriptions", f"version {last.version}", _lag(last))
        table.add_row("latency", duration_text(last.seconds), _parts(last))
        if last.shards > 1:
            table.add_row("shards", f"{last.shards}", _visits(last))
        for each in last.operators:
            style = "not dim yellow" if each.failures or each.is_open else ""
            table.add_row("operator", visible(each.operator), Text(visible(_calls(each)), style=style))
        aside = [f"{totals[name]:,} {word}" for name, word in _SET_ASIDE.items() if totals[name]]
        if aside:
            table.add_row("set aside", "", Text(", ".join(aside), style="not dim yellow"))
        return table


def _visits(report: BatchReport) -> str:
    """How many shards an event visits, and what that saves."""
    each = report.visits / report.events if report.events else 0.0
    return f"{each:.2f} of {report.shards} shards an event, {share_text(report.saved_visits)} of visits saved"


def batch_line(report: BatchReport) -> str:
    """The report in one line, for people."""
    share = report.matched_events / report.events if report.events else 0.0
    parts = [
        f"batch {report.batch}: {counted(report.events, 'event')} in {duration_text(report.seconds)} "
        f"({rate_text(report.events_per_second)} events/s)",
        counted(report.notifications, "notification"),
        f"{share_text(share)} matched",
        *([] if report.backlog is None else [f"backlog {report.backlog:,}"]),
        f"version {report.version}" + (f" ({lag})" if (lag := _lag(report)) else ""),
        *([] if report.shards == 1 else [_visits(report)]),
        *(f"{value:,} {word}" for name, word in _SET_ASIDE.items() if (value := getattr(report, name))),
        *(f"{visible(each.operator)}: {_failures(each)}" for each in report.operators if each.failures),
    ]
    return ", ".join(parts)


def _lag(report: BatchReport) -> str:
    if report.lag_seconds is None:
        return ""
    return f"{duration_text(report.lag_seconds)} behind" if report.lag_seconds else "up to date"


def _parts(report: BatchReport) -> str:
    return f"matching {duration_text(report.match_seconds)}, commit {duration_text(report.commit_seconds)}"


def sparkline(values: list[float]) -> str:
    """A row of bars, the highest for the greatest value."""
    most = max(values, default=0.0)
    if most <= 0:
        return _SPARKS[0] * len(values)
    return "".join(_SPARKS[min(len(_SPARKS) - 1, int(value / most * len(_SPARKS)))] for value in values)


def summary_text(summary: Summary, output: str) -> RenderableType:
    """What a run did, for the end of it.

    Args:
        summary: Of its batches.
        output: Where its notifications are.
    """
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    batches = f"{summary.batches:,} {'batch' if summary.batches == 1 else 'batches'}"
    table.add_row("events", f"{summary.events:,} in {batches}, {rate_text(summary.events_per_second)} events/s")
    table.add_row("notifications", f"{summary.notifications:,}")
    table.add_row("matched", f"{share_text(summary.matched_share)} of events ({summary.matched_events:,})")
    aside = [f"{value:,} {word}" for name, word in _SET_ASIDE.items() if (value := getattr(summary, name))]
    if aside:
        table.add_row("set aside", Text(", ".join(aside), style="yellow"))
    latency = summary.latency
    shown = {"p50": latency.p50, "p90": latency.p90, "p99": latency.p99, "most": latency.most}
    table.add_row("batch latency", ", ".join(f"{name} {duration_text(value)}" for name, value in shown.items()))
    if summary.versions:
        table.add_row("subscriptions", _versions(summary))
    for each in summary.operators:
        table.add_row("operator", Text(visible(each.operator), style="bold").append(f"  {visible(_calls(each))}"))
    for place, (subscription, matches) in enumerate(summary.top[:_TOP]):
        label = "most matches" if place == 0 else ""
        table.add_row(label, Text(f"{matches:,}  ").append(visible(subscription), style="bold"))
    table.add_row("output", Text(visible(output)))
    return table


def _calls(report: OperatorReport) -> str:
    parts = [
        f"{counted(report.calls, 'call')} in {duration_text(report.seconds)}",
        *(f"{value:,} {word}" for name, word in _NOT_MADE.items() if (value := getattr(report, name))),
        *([_failures(report)] if report.failures else []),
    ]
    return ", ".join(parts)


def _failures(report: OperatorReport) -> str:
    last = f", the last one with {report.lately[-1].error}" if report.lately else ""
    return f"{counted(report.failures, 'call')} failed{last}"


def _versions(summary: Summary) -> str:
    first, last = summary.versions[0], summary.versions[-1]
    seen = f"version {last}" if first == last else f"versions {first} to {last}, {len(summary.versions)} seen"
    return seen if summary.lag_seconds is None else f"{seen}, at most {duration_text(summary.lag_seconds)} behind"
