"""The part of `routing` without any optimisation: Boolean and conjunctive filtering, with and without shortcut.

S. Bittner's thesis (2008), sections 8.2.1 and 8.2.2, claims B23 and B24.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.report import Figures, Size, number, table
from benchmarks.routing_network import Found
from tamis.events.batch import EventBatch
from tamis.lab.baselines.counting import Counting
from tamis.lab.bittner.hits import Hits
from tamis.lab.bittner.network.topology import line
from tamis.lab.claims.networks import Auctions, Network, Point, auctions
from tamis.lab.workloads.auction import DISTRIBUTIONS
from tamis.report import charts

_CONTESTANTS: dict[str, dict[str, Any]] = {
    "boolean": {},
    "boolean, no shortcut": {"shortcut": False},
    "conjunctive": {"engine": "counting"},
}


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured.

    Attributes:
        sizes: Numbers of subscriptions.
        varied: Subscriptions where operands are distributed otherwise.
        otherwise: How many other distributions there are.
        events: That are published.
        rounds: In which they are.
    """

    sizes: tuple[int, ...]
    varied: int
    otherwise: int
    events: int
    rounds: int


_SCALES: dict[Size, Scale] = {
    "smallest": Scale((20,), 20, 1, 60, 1),
    "quick": Scale((200, 400), 60, 1, 2_000, 2),
    "full": Scale((5_000, 10_000, 20_000, 40_000), 5_000, 4, 20_000, 5),
}


def plain(size: Size, sizes: Sequence[int] = ()) -> Found:
    """Section 8.2: nothing is pruned on a line of five brokers; B23 and B24."""
    scale = _SCALES[size]
    if sizes:
        scale = replace(scale, sizes=tuple(sorted(sizes)), varied=min(scale.varied, *sizes))
    figures: Figures = {"size": f"line of 5 brokers, up to {scale.sizes[-1]} subscriptions (thesis: 500000)"}
    series: dict[str, list[tuple[float, float]]] = {name: [] for name in _CONTESTANTS}
    rows = []
    for operands in DISTRIBUTIONS[: 1 + scale.otherwise]:
        for count in scale.sizes if operands == "uniform" else (scale.varied,):
            data = auctions(count, scale.events, operands=operands)
            title = f"{operands}, {count} subscriptions"
            points = _measured(data, scale.rounds)
            figures |= {f"{title}, {what}": value for what, value in _told(points).items()}
            for name, point in points.items():
                rows.append((title, name, number(point.microseconds), number(point.work)))
                if operands == "uniform":
                    series[name].append((count, point.microseconds))
    figures |= _forwarded(auctions(scale.sizes[-1], scale.events))
    heads = ("", "contestant", "us an event", "work an event")
    return figures, {}, [charts.lines("time by subscriptions", "us an event", series), table(heads, rows)]


def _measured(data: Auctions, rounds: int) -> dict[str, Point]:
    """All contestants, one after the other; their clients get the same."""
    return {
        name: Network(line(5), data, rounds=rounds, **settings).measured()
        for name, settings in _CONTESTANTS.items()
    }


def _told(points: dict[str, Point]) -> Figures:
    figures: Figures = {}
    for name, point in points.items():
        figures[name] = f"{number(point.microseconds)} us an event, {_work(point)}, N {number(point.report.load)}"
    boolean, longer, terms = (points[name].microseconds for name in _CONTESTANTS)
    figures["B23, share of conjunctive's time that Boolean saves"] = number(1 - boolean / terms)
    figures["B24, microseconds that the shortcut saves"] = number(longer - boolean)
    met = [points[name].per_event(points[name].report.work["matches"]) for name in list(_CONTESTANTS)[:2]]
    figures["B24, entries found true an event, with and without"] = ", ".join(map(number, met))
    return figures


def _work(point: Point) -> str:
    return ", ".join(f"{what} {number(point.per_event(count))}" for what, count in point.report.work.items())


def _forwarded(data: Auctions) -> Figures:
    """The work of one index of all subscriptions: on events that somebody wants, and on all (B23)."""
    figures: Figures = {}
    wanted = sorted(set((data.expected // len(data.formulas)).tolist()))
    batches = {"all events": data.events, "events that match": data.events.take(wanted)}
    for engine in (Hits(), Counting()):
        index = engine.build(data.formulas)
        for what, events in batches.items():
            batch = EventBatch.of(events, data.event_type)
            index.match(batch)
            told = ", ".join(
                f"{name} {number(count / max(1, batch.rows))}" for name, count in index.work().items()
            )
            figures[f"B23, {engine.name}, {what}: {batch.rows}, work an event"] = told
    return figures
