"""The ground of the benchmarks of broker networks: subscriptions of book auctions, events, and what pruning does.

After S. Bittner's thesis (2008), sections 8.2 to 8.4. Subscribers and publishers are spread evenly over all
brokers, which run one after the other in this process. Times are the processor's and only of filtering; beside
them stands the work that filtering counted, which is the same in every run. What clients get is compared with what
a matcher of all subscriptions finds, in every network, after every step, before anything is told.
"""

from __future__ import annotations

from typing import TypeAlias

from benchmarks.report import Bar, Figures, number, table
from tamis.lab.claims.networks import Path, described
from tamis.report import charts

Found: TypeAlias = tuple[Figures, dict[str, Bar], list[str]]
"""What a part gives: figures, bars and drawings."""


def told(path: Path) -> Figures:
    """The path, its cut-off and its end."""
    figures: Figures = {"before": described(path.points[0])}
    places = {"at the cut-off": path.cut_off, "where it is fastest": path.fastest, "at the end": -1}
    for what, place in places.items():
        saved = (
            f"saves {number(path.saved(place))} of the time, {number(path.saved(place, work=True))} of the work"
        )
        share = f"{number(path.shares[place])} of prunings"
        figures[what] = f"{share}, {described(path.points[place])}; {saved}"
    return figures


def drawn(title: str, paths: dict[str, Path]) -> list[str]:
    """Lines of load and time by prunings, and a table."""
    loads, times, rows = {}, {}, []
    for name, path in paths.items():
        along = [(100 * share, point) for share, point in zip(path.shares, path.points, strict=True) if share]
        loads[name] = [(x, point.report.load) for x, point in along if point.report.load]
        times[name] = [(x, point.microseconds) for x, point in along]
        for share, point in zip(path.shares, path.points, strict=True):
            cells = (share, point.report.removed_share, point.report.load, point.microseconds, point.work)
            rows.append((name, *map(number, cells), number(point.report.bytes_per_entry)))
    heads = ("", "prunings", "M", "N", "us an event", "work an event", "bytes an entry")
    return [
        charts.lines(f"{title}: N by percent of prunings", "share of brokers", loads),
        charts.lines(f"{title}: time by percent of prunings", "us an event", times),
        table(heads, rows),
    ]
