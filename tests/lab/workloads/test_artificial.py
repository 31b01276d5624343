from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tamis import Formula, Matcher, compile_conditions
from tamis.engines.conjunctions.dnf import UNSURE, conjunctions_of
from tamis.engines.forest import forest_of
from tamis.lab.workloads import WorkloadError, generate

PREDICATE = re.compile(r"a\d+ BETWEEN \d+ AND \d+")

SIZES = [
    {},
    {"predicates": 1, "conjunctions": 1, "sharing": 1.0},
    {"predicates": 5, "conjunctions": 1, "sharing": 1.0},
    {"predicates": 6, "conjunctions": 2, "sharing": 2 / 3, "operators": 2 / 3},
    {"predicates": 12, "conjunctions": 4, "sharing": 5 / 12, "operators": 10 / 12},
    {"predicates": 7, "conjunctions": 6, "sharing": 3 / 7, "operators": 6 / 7},
    {"predicates": 20, "conjunctions": 5, "sharing": 0.3, "operators": 0.5},
    {"predicates": 50, "conjunctions": 5, "sharing": 0.7},
    {"predicates": 6, "conjunctions": 8, "sharing": 0.5},
]


@pytest.mark.parametrize("sizes", SIZES)
def test_formulas_have_the_sizes_asked_for(sizes: dict[str, Any]) -> None:
    data = generate("artificial", subscriptions=40, events=0, seed=2, **sizes)
    asked = data.parameters
    predicates, conjunctions = asked["predicates"], asked["conjunctions"]
    compiled = compile_conditions(data.conditions, data.event_type)
    operators = set()
    for formula in compiled:
        assert isinstance(formula, Formula)
        assert len(formula.predicates()) == predicates
        operators.add(sum(node.predicate is None for node in formula.nodes()))
    assert operators == {data.facts["operators"]}
    if asked["operators"] is not None:
        assert data.facts["operators"] / predicates == pytest.approx(asked["operators"], abs=0.5 / predicates)

    found = conjunctions_of(forest_of(compiled))
    assert not np.any(found.flags & UNSURE)
    assert np.bincount(found.slots).tolist() == [conjunctions] * 40
    # How many conjunctions a predicate is in, on average over the predicates of a condition.
    per_predicate = np.bincount(found.slots, np.diff(found.firsts)) / predicates
    assert np.allclose(per_predicate, data.facts["conjunctions_of_a_predicate"])
    assert data.facts["sharing"] == pytest.approx(asked["sharing"], abs=0.5 / predicates / conjunctions + 1e-6)
    assert data.facts["sharing"] == pytest.approx(per_predicate[0] / conjunctions, abs=1e-6)


@pytest.mark.parametrize("commonality", [0.0, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("count", [500, 3_000])
def test_commonality_is_the_same_for_any_number_of_conditions(commonality: float, count: int) -> None:
    data = generate("artificial", subscriptions=count, events=0, commonality=commonality)
    found = [PREDICATE.findall(text) for text in data.conditions.to_pylist()]
    assert all(len({one.split()[0] for one in each}) == 10 for each in found)
    unique = len({one for each in found for one in each})
    # The first condition has new predicates only.
    assert 1 - unique / (10 * count) == pytest.approx(commonality, abs=1 / count)


def test_common_predicates_are_those_of_conditions_far_and_near() -> None:
    data = generate("artificial", subscriptions=4_000, events=0, commonality=0.5)
    first: dict[str, int] = {}
    distances = [
        number - first.setdefault(one, number)
        for number, text in enumerate(data.conditions.to_pylist())
        for one in PREDICATE.findall(text)
    ]
    repeated = [distance for distance in distances if distance]
    assert np.mean(repeated) == pytest.approx(1_000, rel=0.1)


def test_a_predicate_holds_as_often_as_asked_for() -> None:
    for selectivity in (0.0, 0.05, 0.5, 0.95):
        data = generate(
            "artificial",
            subscriptions=2_000,
            events=200,
            predicates=1,
            conjunctions=1,
            sharing=1.0,
            selectivity=selectivity,
        )
        found = _matches(data) / 2_000 / 200
        assert found == pytest.approx(selectivity, rel=0.05)


@pytest.mark.slow
def test_matches_are_as_many_as_the_shape_says() -> None:
    data = generate("artificial", subscriptions=2_000, events=200, seed=4, selectivity=0.6)
    assert data.facts["match_share"] > 0.1
    assert _matches(data) / 2_000 / 200 == pytest.approx(data.facts["match_share"], rel=0.05)


def test_all_attributes_are_in_use() -> None:
    data = generate("artificial", subscriptions=400, events=1, attributes=23)
    names = re.findall(r"(a\d+) BETWEEN", " ".join(data.conditions.to_pylist()))
    counts = np.unique(names, return_counts=True)[1]
    assert len(counts) == 23
    assert counts.max() <= 2 * counts.min()


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (
            {"conjunctions": 2, "sharing": 0.3},
            "sharing: every predicate is in one conjunction at least, and 0.3 of 2",
        ),
        ({"conjunctions": 1, "sharing": 0.9}, "sharing: .* the least is 1"),
        ({"conjunctions": 5, "sharing": 0.7}, "sharing: no form of 10 predicates .* nearest is 0.6"),
        ({"operators": 0.1}, "operators: no form of 10 predicates .* has 1 operators"),
        ({"predicates": 101}, "predicates: expected a whole number from 1 to 100"),
        ({"attributes": 9}, "predicates: 10 need as many attributes, and there are 9"),
    ],
)
def test_what_no_condition_can_have_is_refused(sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(WorkloadError, match=f"workload artificial: {message}"):
        generate("artificial", **sizes)


def _matches(data: Any) -> int:
    matcher = Matcher(data.event_type, engine="scan")
    assert matcher.add_many(zip(data.ids.to_pylist(), data.conditions.to_pylist(), strict=True)) == []
    return int(matcher.match_batch(data.events).num_rows)
