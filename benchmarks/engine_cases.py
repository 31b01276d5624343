"""The contests of `engines`: which workloads, which contestants, how many subscriptions, and how much effort.

Contestants are all engines of the registry, so that a new one takes part by itself, and variants of engines that
have options, by names of their own. A case is data; what is done with it is told in `tamis.lab.measuring.points`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.report import Size
from tamis.lab.measuring.cases import Case
from tamis.lab.measuring.contestants import DISTRIBUTIONS, FILTERS, and_or, artificial, auction, conjunctive, mixed
from tamis.lab.measuring.points import Effort

JUDGED = 500_000
"""Subscriptions at which contestants are judged by time and bytes."""
CHANGED = 1_000_000
"""Subscriptions at which they are judged by how fast they change."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A case, and what goes with it.

    Attributes:
        case: The workload.
        most: Subscriptions at most; more take too long to compile, or to no end.
        also: Contestants besides the engines of the registry.
        similar: Does it differ from another in numbers only? Then it is for full runs, or if asked for.
    """

    case: Case
    most: int = JUDGED
    also: tuple[str, ...] = ()
    similar: bool = False


ADVERTISEMENTS = Case("advertisements", "advertisements")
NESTED = (and_or().label, mixed().label, ADVERTISEMENTS.label)
"""Cases of nested conditions that many events satisfy: `bitslice` is judged by the best other engine."""

ENTRIES = (
    Entry(auction(), most=CHANGED),
    *(Entry(auction(only=number)) for number in (1, 2, 3)),
    *(Entry(auction(operands), similar=True) for operands in DISTRIBUTIONS[1:]),
    Entry(artificial()),
    Entry(conjunctive(), also=FILTERS[1:]),
    Entry(Case("jewel AND", "jewel", {"matches": 0.05}), also=FILTERS[1:]),
    Entry(and_or(), also=FILTERS[1:]),
    Entry(mixed(), most=100_000, also=FILTERS[1:]),
    Entry(ADVERTISEMENTS, most=100_000),
)


def entries_of(names: Sequence[str]) -> tuple[Entry, ...]:
    """The entries of these families, or of these labels; all if there are no names."""
    known = {entry.case.family for entry in ENTRIES} | {entry.case.label for entry in ENTRIES}
    unknown = sorted(set(names) - known)
    if unknown:
        msg = f"there is no case {', '.join(unknown)}; known are {'; '.join(sorted(known))}"
        raise SystemExit(msg)
    return tuple(entry for entry in ENTRIES if not names or {entry.case.family, entry.case.label} & set(names))


@dataclass(frozen=True, slots=True)
class Extent:
    """Numbers of subscriptions, and how much is measured at each."""

    sizes: tuple[int, ...]
    effort: Effort


EXTENTS: dict[Size, Extent] = {
    "smallest": Extent((60,), Effort(64, 16, 1, 0.0, 1, 60)),
    "quick": Extent((2_000, 10_000), Effort(256, 64, 3, 0.03, 1, 2_000)),
    "full": Extent((10_000, 100_000, JUDGED, CHANGED), Effort(1_024, 64, 5, 0.3, 3, 10_000)),
}
