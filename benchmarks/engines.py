"""Engines on the workloads of the papers they come from: matching, change and bytes, in one run.

Every engine of the registry takes part in every case at every size that it can bear, with equal pairs checked
first (`tamis.lab.measuring.points`). What the papers claim is measured by `tamis lab claims`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from statistics import median

from benchmarks.engine_cases import CHANGED, EXTENTS, JUDGED, NESTED, entries_of
from benchmarks.report import Bar, Figures, Report, Size, number, print_bars, spread
from tamis.engines import ENGINES
from tamis.lab.measuring.contest import OURS
from tamis.lab.measuring.contestants import FILTERS, and_or, auction
from tamis.lab.measuring.points import Lab, Point
from tamis.report import charts
from tamis.report.markup import escape

_CHANGES_A_SECOND = 20_000
_WIDTHS = (24, 26, 14, 26, 26, 10)
_HEADS = ("engine", "us/event of CPU", "built/s", "deleted/s", "inserted/s", "bytes")
_NOT_JUDGED = "not judged: this is not the size that they are set for"


def run(size: Size, families: Sequence[str] = (), sizes: Sequence[int] = ()) -> Report:
    """Measure cases.

    Args:
        size: How much to measure; bars are judged at full size only.
        families: Names of workloads or labels of cases; all by default.
        sizes: Numbers of subscriptions, instead of those that go with the size.
    """
    lab = Lab(EXTENTS[size].effort, progress=_progress)
    figures: Figures = {}
    bars: dict[str, Bar] = {}
    drawings: list[str] = []
    for entry in entries_of(families):
        if entry.similar and size != "full" and not families:
            continue
        label = entry.case.label
        names = (*ENGINES, *(name for name in entry.also if "dag" in ENGINES))
        given = sizes or [count for count in EXTENTS[size].sizes if count <= entry.most]
        curve: dict[int, dict[str, Point]] = {}
        for count in given:
            points = curve[count] = lab.points(entry.case, count, names)
            print_points(f"{label}, {count}", points, lab)
            record_points(f"{label}, {count}", points, figures)
        _judge(label, curve, bars, exact=size == "full")
        drawings += _drawn(label, curve)
    figures["left out"] = lab.left_out
    judged = size == "full"
    figures["bars"] = "judged" if judged else _NOT_JUDGED
    report = Report("engines", figures, bars, judged, tuple(drawings))
    print_bars(report)
    return report


def _progress(what: str) -> None:
    print(f"[{time.process_time():6.0f} s of CPU] {what}", file=sys.stderr, flush=True)


def print_points(title: str, points: Mapping[str, Point], lab: Lab) -> None:
    """A table: what each contestant counted, then what it took."""
    print(f"\n{title}: {number(points[OURS].pairs)} matches an event; all pairs are those of {OURS}")
    for name, point in points.items():
        if point.work:
            print(f"{name}, of an event: " + ", ".join(f"{what} {number(n)}" for what, n in point.work.items()))
    print("".join(f"{head:{width}} " for head, width in zip(_HEADS, _WIDTHS, strict=True)).rstrip())
    for name, point in points.items():
        cells = (
            name,
            spread(point.microseconds),
            number(point.built),
            spread(point.deleted) if point.deleted else "-",
            spread(point.inserted) if point.inserted else "-",
            number(point.bytes),
        )
        print("".join(f"{cell:{width}} " for cell, width in zip(cells, _WIDTHS, strict=True)).rstrip())
    for what, reason in lab.left_out.items():
        if what.startswith(f"{title}: "):
            print(f"left out: {what.removeprefix(f'{title}: ')}, {reason}")


def record_points(title: str, points: Mapping[str, Point], figures: Figures) -> None:
    """The same as figures, and the bytes of every structure."""
    figures[f"{title}: matches an event"] = number(points[OURS].pairs)
    for name, point in points.items():
        figures[f"{title}: {name}, us/event"] = spread(point.microseconds)
        figures[f"{title}: {name}, built a second"] = number(point.built)
        if point.inserted:
            figures[f"{title}: {name}, deleted a second"] = spread(point.deleted)
            figures[f"{title}: {name}, inserted a second"] = spread(point.inserted)
        figures[f"{title}: {name}, bytes/subscription"] = number(point.bytes)
        for structure, size in point.structures().items():
            figures[f"{title}: {name}, {structure}, bytes/subscription"] = number(size)
        for what, count in point.work.items():
            figures[f"{title}: {name}, {what} an event"] = number(count)


def _judge(label: str, curve: Mapping[int, Mapping[str, Point]], bars: dict[str, Bar], *, exact: bool) -> None:
    """The bars of a case; unless they must be exact, another size stands in for that which they are set for."""
    largest = max(curve)
    judged = JUDGED if JUDGED in curve else largest
    points = curve[judged]
    if not exact or judged == JUDGED:
        if label == auction().label and {"hits", "counting"} <= set(points):
            hits, counting = points["hits"], points["counting"]
            title = f"{label}, {judged}: hits against counting"
            bars[f"{title}, times as fast"] = Bar(ratio(counting, hits), 1.0)
            bars[f"{title}, share of its bytes"] = Bar(round(hits.bytes / counting.bytes, 3), 1.0, at_most=True)
        if label == and_or().label and {"dag", FILTERS[-1]} <= set(points):
            title = f"{label}, {judged}: true-value-path against general, times as fast"
            bars[title] = Bar(ratio(points[FILTERS[-1]], points["dag"]), 1.0)
    for count, points in curve.items() if label in NESTED else ():
        rival = min(set(points) - {OURS}, key=lambda name: points[name].median)
        title = f"{label}, {count}: times as fast as the best other, {rival}"
        bars[title] = Bar(ratio(points[rival], points[OURS]), 1.0)
    if label == auction().label and (not exact or largest == CHANGED):
        for name, point in curve[largest].items():
            if point.inserted:
                title = f"{label}, {largest}: {name}"
                bars[f"{title}, inserted a second"] = Bar(round(median(point.inserted)), _CHANGES_A_SECOND)
                bars[f"{title}, deleted a second"] = Bar(round(median(point.deleted)), _CHANGES_A_SECOND)


def ratio(slow: Point, fast: Point) -> float:
    """How many times as long the first takes as the second: of the rounds, the median."""
    each = [one / other for one, other in zip(slow.microseconds, fast.microseconds, strict=True)]
    return round(median(each), 2)


def _drawn(label: str, curve: Mapping[int, Mapping[str, Point]]) -> list[str]:
    """Time by size, a chart a kind of engine lest there be more lines than colours; bytes at the greatest size."""
    last = curve[max(curve)]
    kinds: dict[str, list[str]] = {"built at once": [], "changing in place": [], "filters of dag": []}
    for name, point in last.items():
        if name in FILTERS or name == "dag":
            kinds["filters of dag"].append(name)
        if name not in FILTERS:
            kinds["changing in place" if point.inserted else "built at once"].append(name)
    drawn = []
    for kind, names in kinds.items():
        lines = {
            name: [(float(count), points[name].median) for count, points in curve.items() if name in points]
            for name in names
        }
        if kind != "filters of dag" or len(names) > 1:
            drawn.append(charts.lines(f"{label}: {kind}", "us/event", lines))
    return [*drawn, _stacked(f"{label}, {max(curve)}", last)]


def _stacked(title: str, points: Mapping[str, Point]) -> str:
    """Bytes a subscription, a row an engine and a part of it a structure; the greatest is as wide as the page."""
    greatest = max(point.bytes for point in points.values())
    rows = []
    for name, point in points.items():
        parts, words = [], []
        for place, (structure, size) in enumerate(point.structures().items()):
            told = f"{escape(structure)} {number(size)}"
            words.append(f'<span class="c{place % 5}">{told}</span>')
            parts.append(
                f'<b class="c{place % 5}" title="{told}" style="display:inline-block;height:1em;'
                f'background:currentColor;width:{100 * size / greatest:.2f}%"></b>'
            )
        rows.append(
            f"<div>{escape(name)} {number(point.bytes)}: {', '.join(words)}</div>"
            f'<div style="white-space:nowrap;margin:0 0 .6em">{"".join(parts)}</div>'
        )
    caption = f"<figcaption>{escape(title)} <span>bytes/subscription by structure</span></figcaption>"
    return f'<figure class="chart">{caption}{"".join(rows)}</figure>'
