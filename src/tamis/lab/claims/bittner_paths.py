"""What rows of S. Bittner's thesis share: networks of book auctions at the size of a run, and paths of pruning."""

from __future__ import annotations

from typing import Any

from tamis.lab.bittner.measures import MEASURES
from tamis.lab.bittner.network.topology import line
from tamis.lab.claims import networks
from tamis.lab.claims.bench import Bench
from tamis.lab.claims.row import (
    Figure,
    figure,
)

LINE = "`auction` in a line of five brokers, subscribers and publishers spread evenly"
THEIRS = 200_000
ROUNDS = 5


def size_of(bench: Bench) -> int:
    return bench.pick(20, 200, 12_500)


def events_of(bench: Bench) -> int:
    return bench.pick(60, 1_000, 10_000)


def network_of(bench: Bench, count: int, topology: Any = None, *, data: Any = None, **settings: Any) -> Any:
    network = networks
    given = data if data is not None else network.auctions(count, events_of(bench))
    return network.Network(topology or line(5), given, rounds=bench.pick(1, ROUNDS, ROUNDS), **settings)


def pruning_path(bench: Bench, measure: str, count: int = 0, topology: Any = None, **more: Any) -> Any:
    """A network that is pruned to the end, step by step."""
    count = count or size_of(bench)
    key = ("path", measure, count, str(topology), *sorted((name, str(value)) for name, value in more.items()))
    steps = bench.pick(3, 12, 20)
    prunings = 12 if more.get("conjunctive") or more.get("covering") else 5

    def make() -> Any:
        bench.progress(f"{measure}, {count} subscriptions: pruning step by step")
        per_book = {"auctions_per_book": more.pop("auctions_per_book")} if "auctions_per_book" in more else {}
        data = networks.auctions(count, events_of(bench), **per_book)
        network = network_of(bench, count, topology, data=data, measure=MEASURES[measure], **more)
        return networks.pruned(network, steps, prunings)

    return bench.once(key, make)


def cut_off_figures(path: Any, shares: tuple[float, float]) -> list[Figure]:
    """M and the share of prunings at the cut-off beside theirs, and what is saved there."""
    place = path.cut_off
    return [
        figure("M at the cut-off", path.points[place].report.removed_share, shares[0]),
        figure("prunings at the cut-off", path.shares[place], shares[1]),
        figure("work saved at the cut-off", path.saved(place, work=True)),
        figure("time saved at the cut-off", path.saved(place)),
    ]


def sizes_text(bench: Bench) -> str:
    return f"{size_of(bench)} subscriptions, theirs {THEIRS}"
