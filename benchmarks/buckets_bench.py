"""Where the parts of `buckets` are measured: a lab, and what they tell, in figures, bars and drawings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from benchmarks.buckets_cases import Extent
from benchmarks.claim_tools import Points
from benchmarks.contest import OURS
from benchmarks.engine_points import Lab, Point
from benchmarks.engines import print_points, record_points
from benchmarks.families import Case, Data, data_of
from benchmarks.report import Bar, Figures, number
from tamis.report import charts

Curves: TypeAlias = Mapping[float, Points]
"""Points of contestants by what is swept."""
_WARM = 60
"""Subscriptions on which kernels are compiled."""


@dataclass(slots=True)
class Bench:
    """What one run has measured so far.

    Attributes:
        lab: Where points are measured.
        extent: How much is measured.
        figures: By name.
        bars: By name.
        drawings: For a page.
    """

    lab: Lab
    extent: Extent
    figures: Figures = field(default_factory=dict)
    bars: dict[str, Bar] = field(default_factory=dict)
    drawings: list[str] = field(default_factory=list)
    _known: dict[tuple[str, tuple[str, ...]], Points] = field(default_factory=dict)
    _warmed: set[tuple[str, str]] = field(default_factory=set)
    _last: tuple[str, Data] | None = None

    def points(self, case: Case, count: int, names: Sequence[str]) -> Points:
        """What contestants did, printed as a table; `bitslice` is always among them."""
        title = f"{case.label}, {count}"
        wanted = (OURS, *names)
        if (title, wanted) not in self._known:
            self._warm(case, wanted)
            found = self._known[title, wanted] = self.lab.measure(title, self._data(title, case, count), wanted)
            print_points(title, found, self.lab)
            record_points(title, found, self.figures)
        return self._known[title, wanted]

    def _data(self, title: str, case: Case, count: int) -> Data:
        """Of a case, kept until another is wanted; without statistics, which only `bitslice` would go by."""
        if self._last is None or self._last[0] != title:
            self._last = None  # there may be no memory for two at a time
            self.lab.progress(f"{title}: generating and compiling")
            self._last = title, data_of(case, count, self.lab.effort.events, informed=False)
        return self._last[1]

    def _warm(self, case: Case, names: Sequence[str]) -> None:
        """Compile the kernels of contestants, on little data."""
        new = [name for name in names if (case.family, name) not in self._warmed]
        if new:
            self._warmed |= {(case.family, name) for name in new}
            effort = replace(self.lab.effort, rounds=1, seconds=0.0, changes=1)
            data = data_of(case, _WARM, effort.events, informed=False)
            Lab(effort, self.lab.engines).measure(case.label, data, (OURS, *new), quiet=True)

    def tell(self, what: str, value: str) -> None:
        """Print and keep a figure."""
        self.figures[what] = value
        print(f"  {what}: {value}")

    def draw(self, title: str, curves: Curves, names: Sequence[str]) -> None:
        """Times of contestants over what is swept."""
        lines = {
            name: [(at, points[name].median) for at, points in curves.items() if name in points] for name in names
        }
        self.drawings.append(charts.lines(title, "us/event", lines))


@dataclass(frozen=True, slots=True)
class Part:
    """What may be measured by itself.

    Attributes:
        sentence: What is measured.
        measure: Does it.
    """

    sentence: str
    measure: Callable[[Bench], None]


def shape(point: Point) -> str:
    """How deep conjunctions of `buckets` are, and how much of it ever split."""
    counts = point.stats.counts
    structures, conjunctions = max(counts["structures"], 1), max(counts["conjunctions"], 1)
    return (
        f"depth {number(counts['depths'] / conjunctions)} on average, {counts['deepest']} at most;"
        f" {counts['split_structures'] / structures:.1%} of {structures} structures ever split,"
        f" with {counts['in_split_structures'] / conjunctions:.1%} of the conjunctions"
    )


def work(point: Point) -> str:
    """What a contestant counted, of an event."""
    return ", ".join(f"{what} {number(count)}" for what, count in point.work.items())
