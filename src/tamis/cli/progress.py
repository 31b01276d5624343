"""Views of a running query: reports of micro-batches for people and programs, and a summary at the end.

Output for people goes to standard error, JSON to standard output; only a terminal gets a live display. Ids are
untrusted and are escaped before they reach a terminal.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping

from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tamis.cli.output import JsonLines, Screen, count_text, visible
from tamis.numerals import duration_text, number_text, share_text
from tamis.operators.reports import OperatorReport
from tamis.progress import BatchReport, ReportView, Summary

_RECENT = 30
_SPARKS = "▁▂▃▄▅▆▇█"
_TOP = 5
_NOT_MADE = {"saved": "saved", "cached": "from the cache", "skipped": "skipped"}
_SET_ASIDE = {"dead": "dead", "overflow": "over quota", "repeated": "repeated"}


def progress_view(*, json: bool) -> ReportView:
    """JSON lines if requested, else a live display on a terminal, else one line per batch."""
    if json:
        return JsonView()
    screen = Screen(stderr=True)
    return TerminalView(screen) if screen.is_terminal else PlainView(screen)


class JsonView:
    """One line of JSON per batch, on standard output."""

    def __init__(self) -> None:
        self._lines = JsonLines()

    def show(self, report: BatchReport) -> None:
        self._lines.write_bytes(report.to_json().encode() + b"\n")
        self._lines.flush()

    def close(self) -> None:
        """Do nothing: every report has been written."""


class PlainView:
    """One readable line per batch, on standard error."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def show(self, report: BatchReport) -> None:
        self._screen.say(batch_line(report))

    def close(self) -> None:
        """Do nothing: every report has been written."""


class TerminalView:
    """A live display on standard error, refreshed twice a second; closing erases it."""

    def __init__(self, console: Console) -> None:
        self._recent: deque[BatchReport] = deque(maxlen=_RECENT)
        self._totals: dict[str, int] = dict.fromkeys(("events", "matched_events", *_SET_ASIDE, "notifications"), 0)
        self._started = self._shown = time.monotonic()
        self._live = Live(
            console=console,
            get_renderable=self._render,
            refresh_per_second=2,
            transient=True,
        )
        self._live.start()

    def show(self, report: BatchReport) -> None:
        """Add the batch to the display; a repeated report of the last batch replaces it."""
        if self._recent and (report.query, report.batch) == (self._recent[-1].query, self._recent[-1].batch):
            self._recent.pop()
        else:
            for name in self._totals:
                self._totals[name] += getattr(report, name)
        self._recent.append(report)
        self._shown = time.monotonic()
        self._live.refresh()

    def close(self) -> None:
        """Stop the display and restore the terminal."""
        self._live.stop()

    def _render(self) -> RenderableType:
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
            "events",
            f"{totals['events']:,}",
            Text(f"{number_text(rate)} events/s  ").append(rates, "not dim cyan"),
        )
        table.add_row("backlog", "unknown" if last.backlog is None else f"{last.backlog:,}", "")
        table.add_row("notifications", f"{totals['notifications']:,}", f"{share_text(share)} of events matched")
        table.add_row("subscriptions", f"version {last.version}", _lag(last))
        if last.set_aside:
            table.add_row("", "", Text(_not_matched(last.set_aside), style="not dim yellow"))
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
    """The mean number of shards that an event visits, and the fraction of visits saved."""
    each = report.visits / report.events if report.events else 0.0
    return f"{each:.2f} of {report.shards} shards per event, {share_text(report.saved_visits)} of visits saved"


def batch_line(report: BatchReport) -> str:
    """The report as one readable line."""
    share = report.matched_events / report.events if report.events else 0.0
    parts = [
        f"batch {report.batch}: {count_text(report.events, 'event')} in {duration_text(report.seconds)} "
        f"({number_text(report.events_per_second)} events/s)",
        count_text(report.notifications, "notification"),
        f"{share_text(share)} matched",
        *([] if report.backlog is None else [f"backlog {report.backlog:,}"]),
        f"version {report.version}" + (f" ({lag})" if (lag := _lag(report)) else ""),
        *([] if report.shards == 1 else [_visits(report)]),
        *_set_aside(report),
        *([count_text(report.misfits, "misfit")] if report.misfits else []),
        *([f"errors in {_errors(report)}"] if report.sampled_errors else []),
        *([_not_matched(report.set_aside)] if report.set_aside else []),
        *(f"{visible(each.operator)}: {_failures(each)}" for each in report.operators if each.failures),
    ]
    return ", ".join(parts)


def _errors(counted: BatchReport | Summary) -> str:
    return f"{share_text(counted.sampled_errors / counted.sampled)} of {counted.sampled:,} sampled pairs"


def _set_aside(counted: BatchReport | Summary) -> list[str]:
    """What was set aside and how much of it, dead letters by kind."""
    found = {word: value for name, word in _SET_ASIDE.items() if (value := getattr(counted, name))}
    kinds = ", ".join(f"{count:,} {visible(kind)}" for kind, count in counted.dead_by_kind)
    dead = _SET_ASIDE["dead"]
    return [
        f"{value:,} {word}" + (f" ({kinds})" if kinds and word == dead else "") for word, value in found.items()
    ]


def _not_matched(set_aside: int) -> str:
    return f"{count_text(set_aside, 'subscription')} set aside"


def _lag(report: BatchReport) -> str:
    if report.lag_seconds is None:
        return ""
    return f"{duration_text(report.lag_seconds)} behind" if report.lag_seconds else "up to date"


def _parts(report: BatchReport) -> str:
    return f"matching {duration_text(report.match_seconds)}, commit {duration_text(report.commit_seconds)}"


def sparkline(values: list[float]) -> str:
    """A row of bars, scaled to the greatest value."""
    most = max(values, default=0.0)
    if most <= 0:
        return _SPARKS[0] * len(values)
    return "".join(_SPARKS[min(len(_SPARKS) - 1, int(value / most * len(_SPARKS)))] for value in values)


def summary_text(
    summary: Summary,
    output: str,
    *,
    conditions: Mapping[str, str] | None = None,
    more: Mapping[str, str] | None = None,
) -> RenderableType:
    """The summary of a run as a table.

    Args:
        summary: The summary of its batches.
        output: Where its notifications are.
        conditions: Of the busiest subscriptions, to stand below their ids.
        more: Other rows, by their labels.
    """
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    if not summary.batches:
        table.add_row("events", "no new ones")
        table.add_row("output", Text(visible(output)))
        return table
    batches = f"{summary.batches:,} {'batch' if summary.batches == 1 else 'batches'}"
    rate = f"{number_text(summary.median_events_per_second)} events/s (median of batches)"
    table.add_row("events", f"{summary.events:,} in {batches}, {rate}")
    per_match = f"{number_text(summary.notifications_per_match)} per matched event"
    table.add_row("notifications", f"{summary.notifications:,}, {per_match}")
    table.add_row("matched", f"{share_text(summary.matched_share)} of events ({summary.matched_events:,})")
    if aside := _set_aside(summary):
        table.add_row("set aside", Text(", ".join(aside), style="yellow"))
    if summary.misfits:
        text = f"{count_text(summary.misfits, 'event')} with a value that does not fit, NULL to conditions"
        table.add_row("misfits", Text(text, style="yellow"))
    if summary.sampled_errors:
        table.add_row("errors", Text(f"{_errors(summary)} of events and conditions", style="yellow"))
    latency = summary.latency
    shown = {"p50": latency.p50, "p90": latency.p90, "p99": latency.p99, "most": latency.most}
    table.add_row("batch latency", ", ".join(f"{name} {duration_text(value)}" for name, value in shown.items()))
    if summary.versions:
        table.add_row("subscriptions", _versions(summary))
    if summary.set_aside:
        table.add_row("", Text(_not_matched(summary.set_aside), style="yellow"))
    for each in summary.operators:
        table.add_row("operator", Text(visible(each.operator), style="bold").append(f"  {visible(_calls(each))}"))
    for place, (subscription, matches) in enumerate(summary.top[:_TOP]):
        label = "most matches" if place == 0 else ""
        table.add_row(label, Text(f"{matches:,}  ").append(visible(subscription), style="bold"))
        if conditions and subscription in conditions:
            table.add_row("", Text(visible(conditions[subscription]), style="dim"))
    for label, value in (more or {}).items():
        table.add_row(Text(visible(label)), Text(visible(value)))
    table.add_row("output", Text(visible(output)))
    return table


def _calls(report: OperatorReport) -> str:
    parts = [
        f"{count_text(report.calls, 'call')} in {duration_text(report.seconds)}",
        *(f"{value:,} {word}" for name, word in _NOT_MADE.items() if (value := getattr(report, name))),
        *([_failures(report)] if report.failures else []),
    ]
    return ", ".join(parts)


def _failures(report: OperatorReport) -> str:
    last = f", the last one with {report.lately[-1].error}" if report.lately else ""
    return f"{count_text(report.failures, 'call')} failed{last}"


def _versions(summary: Summary) -> str:
    first, last = summary.versions[0], summary.versions[-1]
    seen = f"version {last}" if first == last else f"versions {first} to {last}, {len(summary.versions)} used"
    if summary.lag_seconds is None:
        return seen
    lag = f"at most {duration_text(summary.lag_seconds)} behind" if summary.lag_seconds else "never behind"
    return f"{seen}, {lag} the store"
