"""Contestants are engines of the registry and variants, by name."""

from __future__ import annotations

from tamis.engines import ENGINES
from tamis.lab.measuring.contestants import and_or, artificial, auction, conjunctive, engine_of, mixed


def test_every_engine_is_a_contestant() -> None:
    for name in (*ENGINES, "hits, widths", "dag, general"):
        engine = engine_of(name)
        assert engine is not None and engine.name == name.split(",")[0]
    assert engine_of("unheard-of") is None


def test_cases_have_labels_of_their_own() -> None:
    cases = [
        auction(),
        auction(only=2),
        auction("zipf"),
        conjunctive(6),
        conjunctive(14),
        and_or(),
        and_or(pool=5),
    ]
    cases += [mixed(), mixed("A"), artificial(), artificial(predicates=5)]
    assert len({case.label for case in cases}) == len(cases)
    assert auction(only=2).parameters["classes"] == (0, 1, 0)
