"""The part of `routing` that finds the cut-off while events change, against the best that could have been set.

The thesis leaves the cut-off to an administrator; `tamis.routing.cutoff` looks for it. Costs are counts: the
work of filtering, and so much for each event that goes over a link. In the second half all auctions end within a
day, so that subscribers want more of them, and a predicate that held seldom always does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import ceil

import numpy as np
import pyarrow as pa

from benchmarks.report import Bar, Figures, Size, number, table
from benchmarks.routing_network import Found
from tamis.events.batch import EventBatch
from tamis.lab.bittner.measures import ACCURACY
from tamis.lab.bittner.network.overlay import Overlay
from tamis.lab.bittner.network.topology import line
from tamis.lab.claims.networks import Auctions, Network, auctions, coded, counted, progress
from tamis.routing.cutoff import CutOff

MESSAGE_COST = 500
"""Of an event that goes over a link, in units of counted work."""
_BROKERS = 5
_DAY_MINUTES = 1_440
_MOST_OVER = 1.1
_PRUNINGS = 5
"""Of an entry, about."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured: subscriptions, events of a batch, batches of a half, and steps of pruning."""

    subscriptions: int
    rows: int
    batches: int
    steps: int


_SCALES: dict[Size, Scale] = {
    "smallest": Scale(20, 20, 3, 3),
    "quick": Scale(120, 200, 24, 8),
    "full": Scale(2_000, 400, 300, 14),
}


def cutoff(size: Size) -> Found:
    """A cut-off that is found while events change, against the best static one of each half."""
    scale = _SCALES[size]
    first = auctions(scale.subscriptions, scale.rows * scale.batches)
    halves = {"first half": first, "second half": replace(first, events=_soon(first.events))}
    overlay = Network(line(_BROKERS), first, measure=ACCURACY, rounds=1).overlay
    count = ceil(_PRUNINGS * scale.subscriptions * (_BROKERS - 1) / _BROKERS / scale.steps)
    static = _static(overlay, halves, count)
    found = _dynamic(overlay, halves, scale, count)
    figures: Figures = {
        "size": f"line of 5 brokers, {scale.subscriptions} subscriptions, two halves of {scale.batches} batches",
        "cost": f"work of filtering and {MESSAGE_COST} for each event over a link, an event",
    }
    bars: dict[str, Bar] = {}
    for half, costs in static.items():
        steps, dynamic = found[half]
        best = min(range(len(costs)), key=lambda step: costs[step])
        figures[f"{half}: static, by step"] = ", ".join(map(number, costs))
        figures[f"{half}: best static step"] = f"{best}, at {number(costs[best])}"
        runs = [(step, len(list(batches))) for step, batches in groupby(steps)]
        told = [f"{step} for {batches} batches" if batches > 1 else str(step) for step, batches in runs]
        figures[f"{half}: steps of the dynamic one"] = ", ".join(told)
        mean = sum(dynamic) / len(dynamic)
        figures[f"{half}: dynamic, with all that it tried"] = number(mean)
        bars[f"{half}: dynamic by best static"] = Bar(mean / costs[best], _MOST_OVER, at_most=True)
    rows = [(step, *map(number, costs)) for step, costs in enumerate(zip(*static.values(), strict=True))]
    return figures, bars, [table(("cost after step", *static), rows)]


def _soon(events: pa.Table) -> pa.Table:
    """The same auctions, all of which end within a day."""
    minutes = 1 + events["ending_within"].to_numpy() % (_DAY_MINUTES - 1)
    place = events.schema.get_field_index("ending_within")
    return events.set_column(place, "ending_within", pa.array(minutes.astype(np.int32)))


def _static(overlay: Overlay, halves: dict[str, Auctions], count: int) -> dict[str, list[float]]:
    """The cost of each half after each step, until nothing is left to prune; then all steps are taken back."""
    costs: dict[str, list[float]] = {half: [] for half in halves}
    made: list[list[int]] = []
    while True:
        progress(f"static, step {len(made)}")
        for half, data in halves.items():
            _check(data, _publish(overlay, data, 0, data.events.num_rows))
            costs[half].append(cost(overlay, data.events.num_rows))
        made.append(overlay.prune(count=count))
        if not any(made[-1]):
            break
    for each in reversed(made):
        overlay.undo(each)
    return costs


def _dynamic(
    overlay: Overlay, halves: dict[str, Auctions], scale: Scale, count: int
) -> dict[str, tuple[list[int], list[float]]]:
    """The steps and costs of each batch, where a `CutOff` says how many steps to make."""
    decides = CutOff(patience=2, gain=0.01)
    made: list[list[int]] = []
    found: dict[str, tuple[list[int], list[float]]] = {}
    for half, data in halves.items():
        progress(f"dynamic, {half}")
        steps, costs, pairs = [], [], []
        for batch in range(scale.batches):
            pairs += _publish(overlay, data, batch * scale.rows, scale.rows)
            steps.append(len(made))
            costs.append(cost(overlay, scale.rows))
            decides.observe(costs[-1])
            follow(overlay, decides, made, count)
        _check(data, pairs)
        found[half] = steps, costs
    return found


def follow(overlay: Overlay, decides: CutOff, made: list[list[int]], count: int) -> None:
    """Prune, or take back, as many steps as the cut-off asks for; `made` has the prunings of each step."""
    while len(made) < decides.step:
        prunings = overlay.prune(count=count)
        if not any(prunings):
            decides.exhaust(len(made))
        else:
            made.append(prunings)
    while len(made) > decides.step:
        overlay.undo(made.pop())


def cost(overlay: Overlay, events: int) -> float:
    """Of one of the events that were published since counters began."""
    return (counted(overlay.work) + MESSAGE_COST * overlay.messages["events"]) / events


def _publish(overlay: Overlay, data: Auctions, start: int, rows: int) -> list[int]:
    """Publish some rows, the same share at each broker, with counters that begin anew; gives the pairs."""
    overlay.reset()
    pairs, share = [], ceil(rows / _BROKERS)
    for broker, first in enumerate(range(start, start + rows, share)):
        part = data.events.slice(first, min(share, start + rows - first))
        found = overlay.publish(EventBatch.of(part, data.event_type), broker)
        pairs += [coded(first + row, id_, data) for row, id_ in found]
    return pairs


def _check(data: Auctions, pairs: Sequence[int]) -> None:
    if not np.array_equal(np.sort(np.array(pairs, np.int64)), data.expected):
        msg = f"cutoff: clients should get {len(data.expected)} events, and not these {len(pairs)}"
        raise SystemExit(msg)
