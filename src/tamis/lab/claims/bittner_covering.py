"""Rows of S. Bittner's thesis (2008) on covering, B38 to B43: beside pruning, with it, and when it ends."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tamis.lab.bittner.measures import ACCURACY
from tamis.lab.bittner.network.topology import line
from tamis.lab.claims import networks
from tamis.lab.claims.bench import Bench
from tamis.lab.claims.bittner import BITTNER
from tamis.lab.claims.bittner_paths import (
    LINE,
    events_of,
    pruning_path,
)
from tamis.lab.claims.row import (
    Outcome,
    above,
    all_of,
    figure,
    is_true,
)

__all__ = ("BITTNER",)

# --- 8.4: covering -----------------------------------------------------------------------------------------------


def _count(bench: Bench) -> int:
    """Subscriptions: fewer than elsewhere, because each share of cover needs networks of its own."""
    return bench.pick(20, 60, 2_500)


def _cover(bench: Bench) -> dict[float, dict[str, Any]]:
    """By cover: points of contestants, and the path of what is covered and pruned."""
    count = _count(bench)
    found = {}
    books = bench.pick(
        (10_000.0,), (100.0, 1_000.0, 20_000.0), (1.0, 100.0, 1_000.0, 5_000.0, 20_000.0, 100_000.0)
    )
    for each in books:
        pruning = pruning_path(bench, "occurrence", count, auctions_per_book=each)
        both = pruning_path(bench, "occurrence", count, auctions_per_book=each, covering=True, engine="counting")
        found[both.points[0].report.covered_share] = {
            "before": pruning.points[0],
            "pruned": pruning.points[pruning.cut_off],
            "covered": both.points[0],
            "path": both,
        }
    return dict(sorted(found.items()))


def _savings(bench: Bench, what: str) -> dict[float, float]:
    def value(point: Any) -> float:
        values = {"bytes": point.report.bytes_per_entry, "time": point.microseconds, "work": point.work}
        return float(values[what])

    return {cover: 1 - value(each["pruned"]) / value(each["before"]) for cover, each in _cover(bench).items()}


@BITTNER.row(
    "B38",
    "8.4.1",
    "Hypothesis 2a, memory: what pruning saves does not depend on the share of covered entries.",
    "44% to 59% of the bytes",
    "bytes of an entry at the cut-off, over cover",
    workload=f"{LINE}, with few to many auctions of a book",
)
def _flat_bytes(bench: Bench) -> Outcome:
    saves = _savings(bench, "bytes")
    figures = [figure(f"cover {cover:.2f}: saved", each, (0.44, 0.59)) for cover, each in saves.items()]
    return Outcome(above(list(saves.values()), 0), figures)


@BITTNER.row(
    "B39",
    "8.4.1",
    "Hypothesis 2a, time: pruning saves time for any share of covered entries.",
    "39% to 55%",
    "work, then time at the cut-off, over cover",
    workload=f"{LINE}, with few to many auctions of a book",
)
def _flat_time(bench: Bench) -> Outcome:
    work, clock = _savings(bench, "work"), _savings(bench, "time")
    return Outcome(
        above(list(work.values()), 0),
        [
            *(figure(f"cover {cover:.2f}: work saved", each) for cover, each in work.items()),
            *(
                figure(f"cover {cover:.2f}: time saved", each, (0.39, 0.55), (_count(bench), 100_000))
                for cover, each in clock.items()
            ),
        ],
    )


@BITTNER.row(
    "B40",
    "8.4.1",
    "Covering needs fewer bytes and less time than pruning only where most entries are covered.",
    "cover .65",
    "cover from which covering is below pruning",
    workload=f"{LINE}, with few to many auctions of a book",
)
def _crossings(bench: Bench) -> Outcome:
    found = _cover(bench)
    figures = []
    order = []
    measures: dict[str, Callable[[Any], float]] = {
        "bytes": lambda point: point.report.bytes_per_entry,
        "work": lambda point: point.work,
    }
    for what, value in measures.items():
        wins = [cover for cover, each in found.items() if value(each["covered"]) < value(each["pruned"])]
        order.append(not wins or min(wins) > min(found))
        if wins:
            figures.append(figure(f"least cover at which covering needs less {what}", min(wins), 0.65))
    return Outcome(
        is_true(all(order)),
        figures,
        f"covers that were tried: {', '.join(f'{each:.2f}' for each in found)}",
    )


@BITTNER.row(
    "B41",
    "8.4.1",
    "Filtering is faster with less cover, because fewer events match.",
    "trend",
    "matches and work of an event over cover",
    workload=f"{LINE}, with few to many auctions of a book",
)
def _less_cover(bench: Bench) -> Outcome:
    found = _cover(bench)
    matches = [each["before"].per_event(each["before"].report.deliveries) for each in found.values()]
    works = [each["before"].work for each in found.values()]
    if len(found) < 2:
        return Outcome("unclear", [figure("matches per event", matches[0])], "one cover only")
    return Outcome(
        all_of(above(matches[-1], matches[0]), above(works[-1], works[0])),
        [
            *(
                figure(f"cover {cover:.2f}: matches per event", each)
                for cover, each in zip(found, matches, strict=True)
            ),
            *(
                figure(f"cover {cover:.2f}: work per event", each)
                for cover, each in zip(found, works, strict=True)
            ),
        ],
    )


@BITTNER.row(
    "B42",
    "8.4.2",
    "Pruning still helps after covering, most where few entries are covered.",
    "4% to 68% of the time",
    "work, time and M at the cut-off after covering",
    workload=f"{LINE}, conjunctions, with few to many auctions of a book",
)
def _after_covering(bench: Bench) -> Outcome:
    figures, works = [], []
    for cover, each in _cover(bench).items():
        path = each["path"]
        works.append(path.saved(path.cut_off, work=True))
        figures += [
            figure(f"cover {cover:.2f}: work saved", works[-1]),
            figure(
                f"cover {cover:.2f}: time saved", path.saved(path.cut_off), (0.04, 0.68), (_count(bench), 100_000)
            ),
        ]
    return Outcome(all_of(above(works, 0), is_true(len(works) < 2 or works[0] > works[-1])), figures)


@BITTNER.row(
    "B43",
    "2.5, 6.6.3, 7.3.5",
    "Removing a subscription costs no more with pruning, and is expensive with covering.",
    "trend",
    "messages and changes of indexes for each subscription that is ended",
    workload=f"{LINE}; half of the subscriptions end, at random",
)
def _deregistration(bench: Bench) -> Outcome:
    network = networks
    count = bench.pick(20, 200, 10_000)
    data = network.auctions(count, events_of(bench), auctions_per_book=5_000.0)
    contestants: dict[str, dict[str, Any]] = {
        "not optimised": {},
        "pruned": {"measure": ACCURACY},
        "conjunctive": {"conjunctive": True, "engine": "counting"},
        "covered": {"covering": True, "engine": "counting"},
    }
    costs = {}
    for name, settings in contestants.items():
        each = network.Network(line(5), data, rounds=1, **settings)
        if name == "pruned":
            each.overlay.prune(count=3 * each.entries)
        gone = random.Random(bench.seed).sample(range(count), count // 2)
        each.overlay.reset()
        for place in gone:
            each.overlay.unsubscribe(network.name_of(place))
        report = each.overlay.report()
        sent = report.messages["retractions"] + report.messages["subscriptions"]
        costs[name] = (sent / len(gone), report.changes / len(gone))
        each.measured(frozenset(gone))
    messages = {name: each[0] for name, each in costs.items()}
    changes = {name: each[1] for name, each in costs.items()}
    return Outcome(
        all_of(
            is_true(changes["pruned"] <= 1.05 * changes["not optimised"]),
            is_true(messages["covered"] + changes["covered"] > messages["conjunctive"] + changes["conjunctive"]),
        ),
        [
            figure(f"{name}: {what}", each)
            for what, found in (("messages", messages), ("changes of indexes", changes))
            for name, each in found.items()
        ],
        "messages: retractions, and subscriptions that are forwarded once their coverer has gone",
    )
