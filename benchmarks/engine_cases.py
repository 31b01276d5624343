"""The contests of `engines`: which workloads, which contestants, how many subscriptions, and how much effort.

Contestants are all engines of the registry, so that a new one takes part by itself, and variants of engines that
have options, by names of their own. A case is data; what is done with it is told in `benchmarks.engine_points`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.families import Case
from benchmarks.report import Size
from tamis.engines import ENGINES
from tamis.engines.base import Engine
from tamis.lab.bittner.hits import Hits

JUDGED = 500_000
"""Subscriptions at which contestants are judged by time and bytes."""
CHANGED = 1_000_000
"""Subscriptions at which they are judged by how fast they change."""
FILTERS = ("dag, true-value-path", "dag, zero-suppression", "dag, general")
DISTRIBUTIONS = ("uniform", "normal", "zipf", "normal-reversed", "zipf-reversed")


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


def conjunctive(predicates: int = 10, **more: object) -> Case:
    """Jewel's conjunctions of equalities over the same attributes."""
    given: dict[str, Any] = {
        "predicates": predicates,
        "attribute_set": "fixed",
        "comparison": "=",
        "pool": 5,
        "matches": 0.005,
        "shared": 0.38,
    }
    label = ", ".join(
        ["jewel equalities", f"L {predicates}", *(f"{name} {value}" for name, value in more.items())]
    )
    return Case(label, "jewel", given | more)


def and_or(predicates: int = 10, pool: int = 1_000) -> Case:
    """Jewel's trees of AND and OR; the pool must be small beside the number of conditions."""
    parameters = {"predicates": predicates, "operators": "B", "shared": 0.5, "matches": 0.13, "pool": pool}
    words = f"jewel AND/OR, L {predicates}" + (f", pool {pool}" if pool != 1_000 else "")
    return Case(words, "jewel", parameters)


def mixed(operators: str = "C", shared: float = 0.18, both: float = 0.0) -> Case:
    """Jewel's trees with XOR, and others of as many shared nodes; conditions with XOR compile slowly."""
    parameters = {"operators": operators, "both": both, "shared": shared, "matches": 0.2}
    return Case(f"jewel set {operators}, shared {shared}", "jewel", parameters)


def auction(operands: str = "uniform", only: int | None = None) -> Case:
    """Bittner's classes combined, or one of them (1, 2 or 3)."""
    classes = tuple(int(only is None or only == each) for each in (1, 2, 3))
    words = ["auction"] + ([f"class {only}"] if only else []) + ([operands] if operands != "uniform" else [])
    return Case(" ".join(words), "auction", {"classes": classes, "operands": operands})


def artificial(**parameters: float) -> Case:
    """Bittner's conditions of wished sizes."""
    label = ", ".join(["artificial", *(f"{name} {value:g}" for name, value in parameters.items())])
    return Case(label, "artificial", parameters)


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
    Entry(mixed(), most=10_000, also=FILTERS[1:]),
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
class Effort:
    """How much is measured.

    Attributes:
        sizes: Numbers of subscriptions of the table.
        curve: Those of claims on Boolean filtering by size.
        graph: Those of claims on the expression graph by size.
        one: That of claims on something else than size.
        few: That of claims for which nodes are counted one by one.
        orders: In which subscriptions are inserted where the order is what is asked about.
        events: That there are.
        batch: Events of a batch.
        rounds: In which contestants take turns.
        seconds: That a contestant may take in a round, if its events allow.
        changes: Times that a tenth of the subscriptions is deleted and inserted again.
        scanned: Subscriptions beyond which `scan` is left out.
    """

    sizes: tuple[int, ...]
    curve: tuple[int, ...]
    graph: tuple[int, ...]
    one: int
    few: int
    orders: int
    events: int
    batch: int
    rounds: int
    seconds: float
    changes: int
    scanned: int


_STEPS = (10_000, 25_000, 50_000, 100_000, 200_000, 300_000, 400_000, JUDGED)
EFFORTS: dict[Size, Effort] = {
    "smallest": Effort((60,), (50, 60, 70, 80), (50, 60), 60, 40, 2, 64, 16, 1, 0.0, 1, 60),
    "quick": Effort(
        (2_000, 10_000), (2_000, 4_000, 7_000, 10_000), (2_000, 10_000), 3_000, 500, 5, 256, 64, 3, 0.03, 1, 2_000
    ),
    "full": Effort(
        (10_000, 100_000, JUDGED, CHANGED),
        _STEPS,
        (10_000, 100_000, 400_000, CHANGED),
        100_000,
        2_000,
        20,
        1_024,
        64,
        5,
        0.3,
        3,
        10_000,
    ),
}


def _thesis(**options: Any) -> Hits:
    """`hits` as in the thesis, where only short-circuiting was built."""
    return Hits(**({"semantic": False, "ordered": False, "weighted": False} | options))


def _dag(**options: Any) -> Engine:
    from tamis.lab.jewel.dag import Dag

    return Dag(**options)


VARIANTS: dict[str, Callable[[], Engine]] = {
    "hits, widths": partial(Hits, encoding="widths"),
    "hits, thesis": _thesis,
    "hits, thesis, no short-circuit": partial(_thesis, short_circuit=False),
    "hits, thesis, widths": partial(_thesis, encoding="widths"),
    "hits, thesis, semantic": partial(_thesis, semantic=True),
    "hits, thesis, weighted": partial(_thesis, weighted=True),
    "hits, thesis, ordered": partial(_thesis, ordered=True),
    **{name: partial(_dag, filter=name.removeprefix("dag, ")) for name in FILTERS},
    "dag, parent lists": partial(_dag, find="parents"),
}
"""Engines with options, by the names that contestants have."""


def engine_of(name: str) -> Engine | None:
    """The engine or variant of this name; None if there is no such engine (yet)."""
    if name in VARIANTS:
        return VARIANTS[name]()
    return ENGINES.get(name)
