"""What a benchmark reports: figures, and bars that a figure must reach. Its last line is JSON of one shape."""

from __future__ import annotations

import html as escaping
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tamis.lab.measuring.numbers import number, spread
from tamis.lab.measuring.revision import revision
from tamis.report import charts

__all__ = [
    "Bar",
    "Figures",
    "Report",
    "Size",
    "html",
    "interleaved",
    "last_line",
    "number",
    "print_bars",
    "revision",
    "spread",
    "table",
]

Size: TypeAlias = Literal["smallest", "quick", "full"]
Figures: TypeAlias = dict[str, Any]
"""By name: a number, or a text that begins with one, or what only people read."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure and the least that it should be, or the most."""

    value: float
    bar: float
    at_most: bool = False

    @property
    def ok(self) -> bool:
        """Was it reached?"""
        return self.value <= self.bar if self.at_most else self.value >= self.bar

    def __str__(self) -> str:
        wanted = f"{'at most' if self.at_most else 'at least'} {number(self.bar)}"
        return f"{number(self.value)}, wanted {wanted}"


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of one benchmark.

    Attributes:
        benchmark: Its name.
        figures: What was measured.
        bars: What figures are measured against.
        judged: Are the bars meant for what was measured? If not, missing one is no failure.
        drawings: Parts of a page, in HTML, for people.
    """

    benchmark: str
    figures: Figures
    bars: dict[str, Bar] = field(default_factory=dict)
    judged: bool = True
    drawings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Was every bar reached that counts?"""
        return not self.judged or all(bar.ok for bar in self.bars.values())


def last_line(report: Report) -> str:
    """The report as one line of JSON."""
    bars = {name: {"value": bar.value, "bar": bar.bar, "ok": bar.ok} for name, bar in report.bars.items()}
    outcome = {"benchmark": report.benchmark, "revision": revision(), "figures": report.figures, "bars": bars}
    return json.dumps(outcome)


def interleaved(contestants: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each contestant in each round; they take turns, so that a busy moment hits all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def print_bars(report: Report) -> None:
    """The bars, a line each."""
    for name, bar in report.bars.items():
        verdict = "not judged" if not report.judged else "reached" if bar.ok else "MISSED"
        print(f"{verdict:10} {name}: {bar}")


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of a page."""
    head = "".join(f"<th>{escaping.escape(text)}" for text in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escaping.escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def html(report: Report) -> str:
    """A page of its own with the figures and the bars."""
    outcomes = {True: "reached", False: "missed"}
    bars = [
        (
            name,
            number(bar.value),
            f"{'≤' if bar.at_most else '≥'} {number(bar.bar)}",
            outcomes[bar.ok] if report.judged else "not judged at this size",
        )
        for name, bar in report.bars.items()
    ]
    return (
        "<!doctype html><meta charset=utf-8>"
        f"<title>tamis: {report.benchmark}</title>"
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        "<style>body{font:16px system-ui,sans-serif;margin:2em;color:var(--ink);background:var(--card)}"
        "td,th{padding:.3em 1em;border-bottom:1px solid var(--line);text-align:left}.chart{padding:1em 0}"
        f"{charts.STYLE}</style>"
        f"<h1>{report.benchmark}</h1><p>revision {revision()}</p>"
        f"<h2>Bars</h2>{table(('bar', 'value', 'wanted', ''), bars)}"
        f"{''.join(report.drawings)}"
        f"<h2>Figures</h2>{table(('figure', 'value'), report.figures.items())}"
    )
