"""Who takes part: engines by name, variants of engines that have options, and the workloads of their papers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tamis.engines import ENGINES
from tamis.engines.base import Engine
from tamis.lab.bittner.hits import Hits
from tamis.lab.jewel.dag import Dag
from tamis.lab.measuring.cases import Case

FILTERS = ("dag, true-value-path", "dag, zero-suppression", "dag, general")
DISTRIBUTIONS = ("uniform", "normal", "zipf", "normal-reversed", "zipf-reversed")


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


def _thesis(**options: Any) -> Hits:
    """`hits` as in the thesis, where only short-circuiting was built."""
    return Hits(**({"semantic": False, "ordered": False, "weighted": False} | options))


def _dag(**options: Any) -> Engine:
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
    "dag, parent lists": partial(Dag, find="parents"),
    "dag, expanded": partial(Dag, filter="general", xor="expanded"),
}
"""Engines with options, by the names that contestants have."""


def engine_of(name: str) -> Engine | None:
    """The engine or variant of this name; None if there is no such engine (yet)."""
    if name in VARIANTS:
        return VARIANTS[name]()
    return ENGINES.get(name)
