"""Parts of `routing` about covering: against pruning and together with it, and what it costs to end subscriptions.

S. Bittner's thesis (2008), sections 8.4.1 and 8.4.2, claims B38 to B42, and what it says of deregistration, B43.
Cover grows with the number of auctions of a book, since then there are fewer books to ask for.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.report import Figures, Size, number, table
from benchmarks.routing_network import Found
from tamis.lab.bittner.measures import ACCURACY, OCCURRENCE
from tamis.lab.bittner.network.topology import line
from tamis.lab.claims.networks import SEED, Auctions, Network, Path, auctions, described, name_of, progress, pruned
from tamis.report import charts

_COVERED: dict[str, Any] = {"covering": True, "engine": "counting"}


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured.

    Attributes:
        subscriptions: Of every network.
        events: That are published.
        steps: Of pruning.
        auctions_per_book: By which cover grows.
        ended: Subscriptions of which half are ended.
    """

    subscriptions: int
    events: int
    steps: int
    auctions_per_book: tuple[float, ...]
    ended: int


_SCALES: dict[Size, Scale] = {
    "smallest": Scale(20, 60, 3, (10_000.0,), 20),
    "quick": Scale(60, 1_000, 5, (100.0, 10_000.0), 200),
    "full": Scale(2_500, 10_000, 16, (1.0, 100.0, 1_000.0, 5_000.0, 20_000.0, 100_000.0), 10_000),
}


def cover(size: Size, sizes: Sequence[int] = ()) -> Found:
    """Section 8.4: covering, pruning and both, by the share of entries that others cover; B38 to B42."""
    scale = _SCALES[size]
    if sizes:
        scale = replace(scale, subscriptions=max(sizes))
    figures: Figures = {
        "size": f"line of 5 brokers, {scale.subscriptions} subscriptions (thesis: 100000), pruned to the cut-off"
    }
    rows: list[tuple[str, ...]] = []
    series: dict[str, list[tuple[float, float]]] = {}
    for each in scale.auctions_per_book:
        data = auctions(scale.subscriptions, scale.events, auctions_per_book=each)
        pruning = pruned(Network(line(5), data, measure=OCCURRENCE), scale.steps)
        terms = Network(line(5), data, measure=OCCURRENCE, conjunctive=True, engine="counting").measured()
        covered = Network(line(5), data, measure=OCCURRENCE, **_COVERED)
        both = pruned(covered, scale.steps, prunings=12)
        hidden = both.points[0].report.covered_share
        points = {
            "boolean": pruning.points[0],
            "boolean, pruned": pruning.points[pruning.cut_off],
            "conjunctive": terms,
            "conjunctive, covered": both.points[0],
            "conjunctive, covered and pruned": both.points[both.cut_off],
        }
        title = f"cover {number(hidden)} ({number(each)} auctions a book)"
        for name, point in points.items():
            figures[f"{title}, {name}"] = described(point)
            cells = (point.report.bytes_per_entry, point.microseconds, point.work, point.report.load)
            rows.append((title, name, *map(number, cells)))
            series.setdefault(name, []).append((100 * hidden, point.report.bytes_per_entry))
        figures[f"B41, {title}: matches an event"] = number(terms.per_event(terms.report.deliveries))
        figures[f"B42, {title}: what pruning saves after covering"] = _after_covering(both)
    figures |= _flat(rows)
    heads = ("", "contestant", "bytes an entry", "us an event", "work an event", "N")
    return figures, {}, [charts.lines("bytes an entry by percent covered", "bytes", series), table(heads, rows)]


def _after_covering(both: Path) -> str:
    place = both.cut_off
    saved, work = number(both.saved(place)), number(both.saved(place, work=True))
    removed = number(both.points[place].report.removed_share)
    return f"{saved} of the time, {work} of the work, M {removed}"


def _flat(rows: list[tuple[str, ...]]) -> Figures:
    """How far pruned entries lie apart over all cover (B38, B39), and where covering needs less (B40)."""
    figures: Figures = {}
    for column, what in ((2, "bytes"), (3, "time"), (4, "work")):
        pruning = {row[0]: float(row[column]) for row in rows if row[1] == "boolean, pruned"}
        covering = {row[0]: float(row[column]) for row in rows if row[1] == "conjunctive, covered"}
        wins = [title for title, value in covering.items() if value < pruning[title]]
        figures[f"B40, covering needs less {what} than pruning at"] = "; ".join(wins) or "no cover of these"
        before = {row[0]: float(row[column]) for row in rows if row[1] == "boolean"}
        shares = [1 - pruning[title] / before[title] for title in before]
        figures[f"B38, B39, {what} that pruning saves, least and greatest"] = ", ".join(
            map(number, (min(shares), max(shares)))
        )
    return figures


def deregistration(size: Size, sizes: Sequence[int] = ()) -> Found:
    """Half of all subscriptions are ended at random, where nothing, something or what covers is gone; B43."""
    scale = _SCALES[size]
    if sizes:
        scale = replace(scale, ended=max(sizes))
    data = auctions(scale.ended, scale.events, auctions_per_book=5_000.0)
    figures: Figures = {"size": f"line of 5 brokers, {scale.ended} subscriptions, half of them ended"}
    rows = []
    contestants: dict[str, dict[str, Any]] = {
        "not optimised": {},
        "pruned": {"measure": ACCURACY},
        "conjunctive": {"conjunctive": True, "engine": "counting"},
        "conjunctive, covered": _COVERED,
    }
    for name, settings in contestants.items():
        progress(name)
        network = Network(line(5), data, rounds=1, **settings)
        if name == "pruned":
            network.overlay.prune(count=3 * network.entries)
        cells = _ended(network, data)
        rows.append((name, *map(number, cells)))
        messages, changes, milliseconds = map(number, cells)
        figures[name] = f"{messages} messages, {changes} changes of indexes, {milliseconds} ms a subscription"
    heads = ("", "messages a subscription", "changes of indexes", "ms")
    return figures, {}, [table(heads, rows)]


def _ended(network: Network, data: Auctions) -> tuple[float, float, float]:
    """End half; gives messages, changes of indexes and milliseconds of one. Clients get the rest, as before."""
    random_ = random.Random(SEED)
    gone = random_.sample(range(len(data.formulas)), len(data.formulas) // 2)
    network.overlay.unsubscribe(name_of(gone[0]))  # and back, so that nothing is done for the first time below
    network.overlay.subscribe(name_of(gone[0]), data.formulas[gone[0]], gone[0] % network.brokers)
    network.overlay.reset()
    start = time.process_time()
    for place in gone:
        network.overlay.unsubscribe(name_of(place))
    seconds = time.process_time() - start
    report = network.overlay.report()
    network.measured(frozenset(gone))
    count = len(gone)
    return report.messages["retractions"] / count, report.changes / count, 1e3 * seconds / count
