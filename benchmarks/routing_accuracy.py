"""The part of `routing` that grows a network pruned by accuracy: what a cut-off saves, by number of subscriptions.

S. Bittner's thesis (2008), section 8.3.1, had 200,000 subscriptions. What a broker does with a batch before it
comes to entries costs the same however many there are, and pruning does not touch it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.report import Bar, Figures, Size, number, table
from benchmarks.routing_network import Found, drawn, told
from benchmarks.routing_pruned import judged
from tamis.lab.bittner.measures import ACCURACY
from tamis.lab.bittner.network.topology import line
from tamis.lab.claims.networks import Network, Path, auctions, pruned


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured.

    Attributes:
        sizes: Numbers of subscriptions.
        events: That are published.
        steps: Of pruning.
    """

    sizes: tuple[int, ...]
    events: int
    steps: int


_SCALES: dict[Size, Scale] = {
    "smallest": Scale((20,), 60, 3),
    "quick": Scale((100, 200), 2_000, 6),
    "full": Scale((12_500, 25_000, 50_000), 10_000, 20),
}


def accuracy(size: Size, sizes: Sequence[int] = ()) -> Found:
    """Section 8.3.1: a line of five brokers pruned by accuracy, by number of subscriptions; B26, B37."""
    scale = _SCALES[size]
    figures: Figures = {"size": "line of 5 brokers (thesis: 200000 subscriptions)"}
    bars: dict[str, Bar] = {}
    paths: dict[str, Path] = {}
    rows = []
    for count in sizes or scale.sizes:
        path = pruned(Network(line(5), auctions(count, scale.events), measure=ACCURACY), scale.steps)
        title = f"{count} subscriptions"
        figures |= {f"{title}, {what}": value for what, value in told(path).items()}
        bars |= judged(path, title)
        paths[title] = path
        place = path.cut_off
        cells = (path.saved(place), path.saved(place, work=True), path.loads[place] - path.loads[0])
        rows.append((title, *map(number, cells)))
    heads = ("", "time saved at the cut-off", "work saved", "rise of N")
    return figures, bars, [table(heads, rows), *drawn("accuracy", paths)]
