"""The claims of papers that engines can be asked about, by id; and those that are not measured, with reasons."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.boolean_claims import BOOLEAN
from benchmarks.claim_tools import Claim
from benchmarks.engine_points import Lab
from benchmarks.filter_claims import FILTERING
from benchmarks.graph_claims import GRAPH
from benchmarks.memory_claims import MEMORY
from benchmarks.report import Figures

CLAIMS: dict[str, Claim] = {**MEMORY, **BOOLEAN, **GRAPH, **FILTERING}

UNMEASURED: dict[str, str] = {
    "B1": "it is B2 and B9 together",
    "B21": "it is about generated events, which the tests of the workload look at",
    "J13": "brute force has no structures of its own here: formulas are objects of the language",
    "J33": "invariants are checked by the tests of `dag`, after random insertions and deletions",
    "J34": "the order of reports is checked by the tests of `dag`",
    "J35": "examples are checked by the tests of `dag`; the phases of an event do not overlap here",
}
"""Why, by id."""


def measure_claims(lab: Lab, ids: Sequence[str]) -> Figures:
    """The figures of claims, each with its id in front."""
    figures: Figures = {}
    for name in ids:
        claim = CLAIMS[name]
        lab.progress(f"{name}: {claim.sentence}")
        found = claim.measure(lab)
        figures[name] = claim.sentence
        print(f"\n{name}: {claim.sentence}")
        for what, value in found.items():
            figures[f"{name}: {what}"] = value
            print(f"  {what}: {value}")
    return figures
