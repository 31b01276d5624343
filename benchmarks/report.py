"""What a benchmark reports: figures, and bars that a figure must reach. Its last line is JSON of one shape."""

from __future__ import annotations

import html as escaping
import json
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Size: TypeAlias = Literal["smallest", "quick", "full"]


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure and the least that it should be."""

    value: float
    bar: float

    @property
    def ok(self) -> bool:
        """Was it reached?"""
        return self.value >= self.bar


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of one benchmark."""

    benchmark: str
    figures: dict[str, float | int | str]
    bars: dict[str, Bar] = field(default_factory=dict)


Benchmark: TypeAlias = Callable[[Size], Report]


def last_line(report: Report) -> str:
    """The report as one line of JSON."""
    bars = {name: {"value": bar.value, "bar": bar.bar, "ok": bar.ok} for name, bar in report.bars.items()}
    outcome = {"benchmark": report.benchmark, "revision": revision(), "figures": report.figures, "bars": bars}
    return json.dumps(outcome)


def revision() -> str:
    """The commit that was measured, with a + if files were changed since; "unknown" outside a checkout."""
    try:
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
        )
        changed = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return commit.stdout.strip() + ("+" if changed.stdout.strip() else "")


def interleaved(contestants: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each contestant in each round; they take turns, so that a busy moment hits all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def spread(values: Sequence[float]) -> str:
    """Median, least and greatest."""
    return f"{statistics.median(values):.3g} ({min(values):.3g}-{max(values):.3g})"


def html(report: Report) -> str:
    """A page of its own with the figures and the bars."""
    rows = "".join(
        f"<tr><td>{escaping.escape(name)}</td><td>{escaping.escape(str(value))}</td></tr>"
        for name, value in report.figures.items()
    )
    bars = "".join(
        f"<tr><td>{escaping.escape(name)}</td><td>{bar.value:.1f}</td><td>{bar.bar:g}</td>"
        f"<td>{'reached' if bar.ok else 'missed'}</td></tr>"
        for name, bar in report.bars.items()
    )
    return (
        "<!doctype html><meta charset=utf-8>"
        f"<title>tamis: {report.benchmark}</title>"
        "<style>body{font:16px sans-serif;margin:2em}td,th{padding:.3em 1em;border-bottom:1px solid #ccc}</style>"
        f"<h1>{report.benchmark}</h1><p>revision {revision()}</p>"
        f"<table><tr><th>figure<th>value</tr>{rows}</table>"
        f"<table><tr><th>bar<th>value<th>wanted<th></tr>{bars}</table>"
    )
