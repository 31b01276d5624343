"""What indexes measure of themselves, beside what the framework of thirteen parameters says they need."""

from __future__ import annotations

import pytest

from tamis.engines import ENGINES
from tamis.engines.forest import forest_of
from tamis.lab.bittner.memory import MemoryParameters, memory
from tamis.lab.workloads import generate
from tamis.language.bulk import compile_conditions

COUNT = 4_000
SHAPES = [
    {"predicates": 6, "conjunctions": 2, "sharing": 2 / 3},
    {"predicates": 10, "conjunctions": 4, "sharing": 0.4},
    {"predicates": 12, "conjunctions": 6, "sharing": 0.5},
]
MOST = 2.0
"""A list has room for the next power of two, so that it takes up to twice of what it holds."""


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape['predicates']} predicates")
@pytest.mark.parametrize("commonality", [0.0, 0.5])
def test_theory_and_measurement(shape: dict[str, float], commonality: float) -> None:
    data = generate(
        "artificial", subscriptions=COUNT, events=1, seed=1, operators=None, commonality=commonality, **shape
    )
    forest = forest_of(compile_conditions(data.conditions, data.event_type))
    parameters = MemoryParameters.of(forest)
    wanted = memory(parameters).engines
    hits = ENGINES["hits"].build(forest).stats().bytes
    counting = ENGINES["counting"].build(forest).stats().bytes
    uses, lists = parameters.predicates * COUNT, parameters.unique_predicates
    tree_bytes = COUNT * (5 * parameters.predicates + 2 * parameters.operators)
    assert tree_bytes <= hits["trees"] <= tree_bytes + 8 * COUNT, "trees begin at multiples of eight"
    assert hits["locations"] == 4 * COUNT
    assert hits["needed hits"] == hits["hits"] == COUNT
    assert 4 * uses <= hits["association"] <= MOST * 4 * uses + 2.5 * 16 * lists
    terms = round(parameters.conjunctions * COUNT)
    assert counting["needed hits"] == counting["hits"] == terms
    term_uses = parameters.conjunctions_per_predicate * uses
    assert 4 * term_uses <= counting["association"] <= MOST * 4 * term_uses + 2.5 * 8 * lists
    assert 4 * term_uses <= counting["predicates of terms"] <= MOST * 4 * term_uses + 2.5 * 8 * terms
    named = {"hits": sum(hits[name] for name in ("trees", "locations", "needed hits", "hits", "association"))}
    named["counting"] = sum(
        counting[name] for name in ("needed hits", "hits", "association", "predicates of terms")
    )
    for engine, measured in named.items():
        assert measured >= 0.9 * wanted[engine].total_bytes, f"{engine} cannot need less than what it must hold"


@pytest.mark.slow
def test_measured_bytes_turn_where_theory_says() -> None:
    """With few conjunctions a formula counting is smaller, with many hits is."""
    found: dict[int, float] = {}
    for conjunctions in (1, 6):
        data = generate(
            "artificial",
            subscriptions=COUNT,
            events=1,
            seed=1,
            predicates=12,
            operators=None,
            conjunctions=conjunctions,
            sharing=1.0 if conjunctions == 1 else 0.5,
        )
        forest = forest_of(compile_conditions(data.conditions, data.event_type))
        advice = memory(MemoryParameters.of(forest))
        sizes = {}
        for engine, names in (
            ("hits", ("trees", "locations", "needed hits", "hits", "association")),
            ("counting", ("needed hits", "hits", "association", "predicates of terms")),
        ):
            measured = ENGINES[engine].build(forest).stats().bytes
            sizes[engine] = sum(measured[name] for name in names)
        found[conjunctions] = sizes["hits"] / sizes["counting"]
        assert advice.engine == ("counting" if conjunctions == 1 else "hits")
    assert found[6] < 1.0 < found[1] * 1.15
    assert found[6] < found[1]
