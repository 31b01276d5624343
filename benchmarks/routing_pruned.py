"""Parts of `routing` that prune networks: by measure, in both forms, by topology and size, and where to stop.

S. Bittner's thesis (2008), sections 8.3.1 to 8.3.4, claims B25 to B37. Its networks had up to 200,000
subscriptions; pruning an entry to the end takes a millisecond, so that there are fewer here, as the figures tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.report import Bar, Figures, Size, number, table
from benchmarks.routing_network import Found, drawn, told
from tamis.lab.bittner.measures import ACCURACY, MEASURES, OCCURRENCE
from tamis.lab.bittner.network.topology import line, star
from tamis.lab.claims.networks import Network, Path, auctions, pruned
from tamis.lab.workloads.auction import DISTRIBUTIONS
from tamis.report import charts

_LEAST_SAVED, _MOST_LOAD = 0.4, 0.1
_COMPARED = ("accuracy", "efficiency", "memory", "occurrence")


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured.

    Attributes:
        subscriptions: Where measures are compared.
        varied: Subscriptions where operands are distributed otherwise.
        otherwise: How many other distributions there are.
        forms: Numbers of subscriptions where forms are compared.
        events: That are published.
        steps: Of pruning.
        spread: Subscriptions in networks of several sizes that are pruned by occurrence.
        shared: And by accuracy, where brokers share what they rank.
        brokers: Of these networks.
    """

    subscriptions: int
    varied: int
    otherwise: int
    forms: tuple[int, ...]
    events: int
    steps: int
    spread: int
    shared: int
    brokers: tuple[int, ...]


_SCALES: dict[Size, Scale] = {
    "smallest": Scale(20, 20, 1, (20,), 60, 3, 20, 20, (5, 7)),
    "quick": Scale(200, 50, 1, (80,), 2_000, 6, 20, 50, (5, 8)),
    "full": Scale(12_500, 1_500, 4, (5_000, 10_000), 10_000, 20, 400, 3_000, (5, 10, 25, 50, 100)),
}


def measures(size: Size) -> Found:
    """Section 8.3.1: a line of five brokers, each measure until nothing is left to prune; B25 to B31, B37."""
    scale = _SCALES[size]
    data = auctions(scale.subscriptions, scale.events)
    paths = {name: pruned(Network(line(5), data, measure=MEASURES[name]), scale.steps) for name in _COMPARED}
    figures: Figures = {"size": f"line of 5 brokers, {scale.subscriptions} subscriptions (thesis: 200000)"}
    for name, path in paths.items():
        figures |= {f"{name}, {what}": value for what, value in told(path).items()}
    figures |= _leaders(paths)
    bars = judged(paths["accuracy"], "accuracy")
    good = {f"uniform, {name}": paths[name] for name in ("accuracy", "occurrence")}
    for operands in DISTRIBUTIONS[1 : 1 + scale.otherwise]:
        data = auctions(scale.varied, scale.events, operands=operands)
        for name in ("accuracy", "occurrence"):
            path = pruned(Network(line(5), data, measure=MEASURES[name]), scale.steps)
            title = f"{operands}, {scale.varied} subscriptions, {name}"
            figures |= {f"{title}, {what}": value for what, value in told(path).items()}
            good[f"{operands}, {name}"] = path
    return figures | _worst(good), bars, drawn("measures", paths)


def _worst(paths: dict[str, Path]) -> Figures:
    """The least that pruning gained at a cut-off, and the most that it cost (B37)."""
    gains = {name: path.saved(path.cut_off) for name, path in paths.items()}
    removed = {name: path.points[path.cut_off].report.removed_share for name, path in paths.items()}
    rises = {name: path.loads[0] - path.loads[path.cut_off] for name, path in paths.items()}
    figures: Figures = {}
    for what, found in (("least time saved", gains), ("least M", removed), ("greatest rise of N", rises)):
        name = min(found, key=lambda each: found[each])
        figures[f"B37, {what} at a cut-off"] = f"{number(abs(found[name]))}: {name}"
    return figures


def _leaders(paths: dict[str, Path]) -> Figures:
    """Which measure is best, by time, load and memory, at equal shares of prunings (B26, B27, B30, B31)."""
    figures: Figures = {}
    kinds: dict[str, Callable[[Path, int], float]] = {
        "B31, least N": lambda path, place: path.loads[place],
        "B26, least time": lambda path, place: path.points[place].microseconds,
        "B26, least work": lambda path, place: path.points[place].work,
        "B27, greatest M": lambda path, place: -path.points[place].report.removed_share,
    }
    for title, key in kinds.items():
        best = []
        for share in (0.1, 0.3, 0.5, 0.7, 0.9):
            found = {name: key(path, _nearest(path, share)) for name, path in paths.items()}
            best.append(f"{share}: {min(found, key=lambda name: found[name])}")
        figures[f"{title}, by share of prunings"] = ", ".join(best)
    for name, path in paths.items():
        fastest = path.points[path.fastest].microseconds
        figures[f"B30, {name}: throughput at its best"] = number(path.points[0].microseconds / fastest) + " times"
    return figures


def _nearest(path: Path, share: float) -> int:
    return min(range(len(path.shares)), key=lambda place: abs(path.shares[place] - share))


def judged(path: Path, name: str) -> dict[str, Bar]:
    """What pruning gains at the cut-off, and what it costs."""
    place = path.cut_off
    rise = path.loads[place] - path.loads[0]
    return {
        f"{name}: share of filter time saved at the cut-off": Bar(path.saved(place), _LEAST_SAVED),
        f"{name}: rise of N at the cut-off": Bar(rise, _MOST_LOAD, at_most=True),
    }


def conjunctive(size: Size, sizes: Sequence[int] = ()) -> Found:
    """Section 8.3.2: entries as they are and as ANDs, pruned by occurrence; B32 to B34."""
    scale = _SCALES[size]
    counts = tuple(sizes) or scale.forms
    figures: Figures = {"size": f"line of 5 brokers, {counts} subscriptions (thesis: 100000 and 200000)"}
    drawings: list[str] = []
    for count in counts:
        data = auctions(count, scale.events)
        boolean = pruned(Network(line(5), data, measure=OCCURRENCE), scale.steps)
        terms = Network(line(5), data, measure=OCCURRENCE, conjunctive=True, engine="counting")
        both = {"boolean": boolean, "conjunctive": pruned(terms, scale.steps, prunings=12)}
        for name, path in both.items():
            figures |= {f"{count} subscriptions, {name}, {what}": value for what, value in told(path).items()}
        smaller = all(
            boolean.points[place].report.bytes_per_entry
            < both["conjunctive"].points[_nearest(both["conjunctive"], share)].report.bytes_per_entry
            for place, share in enumerate(boolean.shares)
        )
        figures[f"B34, {count} subscriptions: Boolean entries are always smaller"] = str(smaller).lower()
        drawings += drawn(f"{count} subscriptions", both)
    return figures, {}, drawings


def scale(size: Size) -> Found:
    """Section 8.3.3: lines and stars of several sizes; B35 and B36."""
    given = _SCALES[size]
    figures: Figures = {"size": f"{given.spread} or {given.shared} subscriptions in all (thesis: 12500)"}
    loads: dict[str, list[tuple[float, float]]] = {}
    rows = []
    for measure, count in ((OCCURRENCE, given.spread), (ACCURACY, given.shared)):
        data = auctions(count, given.events)
        for name, topology in (("line", line), ("star", star)):
            for brokers in given.brokers:
                path = pruned(Network(topology(brokers), data, measure=measure, rounds=1), given.steps)
                title = f"{measure.name}, {name} of {brokers}"
                figures |= {f"{title}, {what}": value for what, value in told(path).items()}
                place = path.cut_off
                for what, at in (("before", 0), ("at the cut-off", place), ("at the end", -1)):
                    figures[f"B36, {title}: share of the work at broker 0, {what}"] = number(_centre(path, at))
                cells = (1 - path.saved(place, work=True), path.loads[0], path.loads[place])
                rows.append((title, *map(number, cells), number(path.points[place].report.removed_share)))
                if path.loads[0]:
                    loads.setdefault(f"{name}, {count}", []).append((brokers, path.loads[0]))
    heads = ("network", "work at the cut-off, of that before", "N before", "N at the cut-off", "M at the cut-off")
    return figures, {}, [charts.lines("N before pruning, by brokers", "share", loads), table(heads, rows)]


def _centre(path: Path, place: int) -> float:
    """The share of counted work that broker 0 does."""
    brokers = path.points[place].report.brokers
    work = [sum(each.work.values()) for each in brokers]
    return work[0] / sum(work)
