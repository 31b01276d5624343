"""The memory framework: its worked figures, its trends over a grid, and what is measured of conditions."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tamis import TamisError, compile_condition, compile_conditions
from tamis.engines.conjunctions.dnf import CONJUNCTIONS
from tamis.engines.forest import forest_of
from tamis.formulas.formula import Formula, disjunction
from tamis.formulas.predicates.base import Predicate
from tamis.lab.bittner.memory import AdviceError, MemoryParameters, memory
from tamis.lab.workloads import generate
from tests.worlds import WORLDS, world

S = 1000


def shaped(
    predicates: float, operators: float, conjunctions: float, share: float, *, commonality: float = 0.0
) -> MemoryParameters:
    """Parameters of a shape, `share` being s^prop."""
    return MemoryParameters(
        predicates=predicates,
        operators=operators,
        subscriptions=S,
        unique_predicates=predicates * S * (1 - commonality),
        conjunctions=conjunctions,
        conjunctions_per_predicate=share * conjunctions,
    )


def converted(predicates: int, operators: int, conjunctions: int, leaves: int) -> MemoryParameters:
    """Parameters of a class of subscriptions whose conjunctions have so many leaves together."""
    return shaped(predicates, operators, conjunctions, leaves / predicates / conjunctions)


CLASSES = {"C1": converted(6, 4, 2, 8), "C2": converted(12, 10, 4, 20), "C3": converted(7, 6, 6, 18)}
A1 = converted(5, 4, 2, 6)


def wide(given: MemoryParameters, widths: tuple[int, int, int, int]) -> MemoryParameters:
    names = ("subscription_id_bytes", "predicate_id_bytes", "location_bytes", "cluster_reference_bytes")
    return replace(given, **dict(zip(names, widths, strict=True)))


def grid() -> Iterator[MemoryParameters]:
    for predicates, operators, conjunctions, share, commonality in itertools.product(
        (1, 2, 5, 10, 50), (0.0, 0.3, 0.8, 1.0), (1, 2, 3.5, 10), (0.1, 0.3, 0.5, 0.7, 1.0), (0.0, 0.5)
    ):
        yield shaped(predicates, operators * predicates, conjunctions, share, commonality=commonality)


@pytest.mark.parametrize(
    ("name", "per_predicate", "share", "operators"),
    [("C1", 1.333, 0.667, 0.667), ("C2", 1.667, 0.417, 0.833), ("C3", 2.571, 0.429, 0.857)],
)
def test_derived_parameters_of_the_classes(
    name: str, per_predicate: float, share: float, operators: float
) -> None:
    given = CLASSES[name]
    assert given.conjunctions_per_predicate == pytest.approx(per_predicate, abs=5e-4)
    assert given.conjunction_share == pytest.approx(share, abs=5e-4)
    assert given.operators_per_predicate == pytest.approx(operators, abs=5e-4)
    assert given.commonality == 0


@pytest.mark.parametrize(
    ("name", "counting", "cluster"), [("C1", 2.0, 1.70), ("C2", 3.19, 2.79), ("C3", 3.12, 2.53)]
)
def test_turning_points_of_the_classes(name: str, counting: float, cluster: float) -> None:
    found = memory(CLASSES[name]).turning_points
    assert found["counting"] == pytest.approx(counting, abs=5e-3)
    assert found["cluster"] == pytest.approx(cluster, abs=5e-3)


@pytest.mark.parametrize(
    ("name", "counting", "cluster", "hits"),
    [("C1", 68.75, 80.75, 68.75), ("C2", 169.5, 193.5, 135.5), ("C3", 156.9, 192.9, 81.9)],
)
def test_bytes_of_the_classes(name: str, counting: float, cluster: float, hits: float) -> None:
    engines = memory(CLASSES[name]).engines
    assert engines["counting"].bytes_per_subscription == pytest.approx(counting, abs=0.05)
    assert engines["cluster"].bytes_per_subscription == pytest.approx(cluster, abs=0.05)
    assert engines["hits"].bytes_per_subscription == pytest.approx(hits, abs=0.05)


def test_bytes_of_every_structure_of_the_first_class() -> None:
    engines = memory(replace(CLASSES["C1"], unique_predicates=3000)).engines  # half of all uses
    assert engines["counting"].bytes == pytest.approx(
        {
            "fulfilled predicates": 375,
            "hits": 2000,
            "predicate counts": 2000,
            "conjunctions of predicates": 32_000,
            "predicates of conjunctions": 32_000,
        }
    )
    assert engines["cluster"].bytes == pytest.approx(
        {
            "fulfilled predicates": 375,
            "conjunctions of predicates": 32_000,
            "clusters": 8000 + 32_000,
            "clusters of conjunctions": 8000,
        }
    )
    assert engines["hits"].bytes == pytest.approx(
        {
            "fulfilled predicates": 375,
            "hits": 1000,
            "least hits": 1000,
            "subscriptions of predicates": 24_000,
            "trees": 38_000,
            "locations": 4000,
        }
    )


@pytest.mark.parametrize(
    ("operators", "share", "counting", "cluster"),
    [
        (0.8, 0.3, 4.31, 3.50),
        (0.8, 0.5, 2.67, 2.33),
        (0.8, 0.7, 1.93, 1.75),
        (0.5, 0.3, 4.08, None),
        (0.5, 0.5, 2.52, None),
        (0.5, 0.7, 1.83, None),
    ],
)
def test_turning_points_of_ten_predicates(
    operators: float, share: float, counting: float, cluster: float | None
) -> None:
    found = memory(shaped(10, 10 * operators, 2, share)).turning_points
    assert found["counting"] == pytest.approx(counting, abs=5e-3)
    if cluster is not None:
        assert found["cluster"] == pytest.approx(cluster, abs=5e-3)


def test_turning_points_are_those_of_the_printed_equations() -> None:
    for given in grid():
        p, op, share = given.predicates, given.operators_per_predicate, given.conjunction_share
        found = memory(given).turning_points
        assert found["counting"] == pytest.approx((p * (2 * op + 9) + 6) / (2 + 8 * share * p))  # 5.7
        assert found["cluster"] == pytest.approx((p * (2 * op + 9) + 6) / (8 + 8 * share * p))  # 5.8


@pytest.mark.parametrize("widths", [(4, 4, 4, 4), (8, 4, 2, 1), (1, 2, 8, 3), (3, 5, 4, 8)])
def test_totals_are_those_of_the_printed_equations(widths: tuple[int, int, int, int]) -> None:
    ws, wp, wl, wc = widths
    for shape in grid():
        given = wide(shape, widths)
        p, op, ss, sp = given.predicates, given.operators, given.conjunctions, given.conjunctions_per_predicate
        bits = p * (1 - given.commonality) / 8
        engines = memory(given).engines
        assert engines["counting"].total_bytes == pytest.approx(S * (2 * ss + sp * p * (ws + wp) + bits))  # 5.1
        assert engines["cluster"].total_bytes == pytest.approx(
            S * (ss * (wc + ws) + sp * p * (ws + wp) + bits)  # 5.2
        )
        assert engines["hits"].total_bytes == pytest.approx(
            S * (p * (1 + wp + ws) + 2 * op + wl + 2 + bits)
        )  # 5.3


@pytest.mark.parametrize("widths", [(4, 4, 4, 4), (8, 4, 2, 1), (1, 2, 8, 3)])
def test_at_a_turning_point_both_need_the_same(widths: tuple[int, int, int, int]) -> None:
    for shape in grid():
        given = wide(shape, widths)
        for name, point in memory(given).turning_points.items():
            there = replace(given, conjunctions=point, conjunctions_per_predicate=given.conjunction_share * point)
            engines = memory(there).engines
            assert engines[name].total_bytes == pytest.approx(engines["hits"].total_bytes)


def test_memory_is_proportional_to_subscriptions() -> None:
    for given in grid():
        more = replace(given, subscriptions=7 * S, unique_predicates=7 * given.unique_predicates)
        for name, engine in memory(given).engines.items():
            assert memory(more).engines[name].total_bytes == pytest.approx(7 * engine.total_bytes)


def test_counting_needs_less_than_cluster_most_of_all_for_few_predicates() -> None:
    for given in grid():
        engines = memory(given).engines
        assert engines["counting"].total_bytes < engines["cluster"].total_bytes
    ratios = []
    for predicates in (1, 2, 5, 10, 50):
        engines = memory(shaped(predicates, predicates / 2, 3, 0.5)).engines
        ratios.append(engines["counting"].total_bytes / engines["cluster"].total_bytes)
    assert ratios == sorted(ratios)


def test_operators_favour_conjunctive_engines_and_shares_favour_hits() -> None:
    for given in grid():
        here = memory(given).turning_points
        operators = memory(replace(given, operators=given.operators + 1)).turning_points
        share = memory(
            replace(given, conjunctions_per_predicate=1.1 * given.conjunctions_per_predicate)
        ).turning_points
        for name in ("counting", "cluster"):
            assert operators[name] > here[name] > share[name]


def test_commonality_helps_all_alike() -> None:
    for given in grid():
        common = replace(given, unique_predicates=given.unique_predicates / 2)
        saved = {
            name: engine.total_bytes - memory(common).engines[name].total_bytes
            for name, engine in memory(given).engines.items()
        }
        assert saved == pytest.approx(dict.fromkeys(saved, given.unique_predicates / 16))
        assert memory(common).turning_points == memory(given).turning_points


def test_the_engine_is_the_one_that_needs_least() -> None:
    for given in grid():
        advice = memory(given)
        least = min(engine.total_bytes for engine in advice.engines.values())
        assert advice.engines[advice.engine].total_bytes == pytest.approx(least)
        assert advice.reason.startswith(advice.engine)


def test_hits_is_advised_where_subscriptions_become_many_conjunctions() -> None:
    advice = memory(CLASSES["C2"])
    assert advice.engine == "hits"
    assert advice.reason == (
        "hits needs 135.5 bytes a subscription, counting 169.5 and cluster 193.5: subscriptions become 4 "
        "conjunctions on average, and above 3.19 hits needs less than counting."
    )


def test_one_disjunction_is_not_always_enough_for_hits() -> None:
    advice = memory(A1)
    assert advice.engine == "counting"
    assert advice.reason == (
        "counting needs 52.62 bytes a subscription, hits 59.62 and cluster 64.62: subscriptions become 2 "
        "conjunctions on average, and only above 2.27 hits needs less than counting."
    )


def test_a_tie_goes_to_hits() -> None:
    advice = memory(CLASSES["C1"])
    assert advice.engine == "hits"
    assert advice.reason == (
        "hits and counting need 68.75 bytes a subscription each, cluster 80.75: subscriptions become 2 "
        "conjunctions on average, where both are equal, and hits has fewer counters to look at, one a "
        "subscription."
    )


def test_conjunctions_are_for_counting() -> None:
    for predicates in (1, 2, 10, 100):
        advice = memory(shaped(predicates, 1 if predicates > 1 else 0, 1, 1))
        assert advice.engine == "counting"
        assert "subscriptions become 1 conjunction on average, and only above" in advice.reason


def test_all_problems_are_named_at_once() -> None:
    with pytest.raises(AdviceError) as caught:
        MemoryParameters(
            predicates=0,
            operators=-1,
            subscriptions=float("inf"),
            unique_predicates=True,
            conjunctions="2",  # type: ignore[arg-type]
            conjunctions_per_predicate=float("nan"),
            predicate_id_bytes=0,
            location_bytes=2.5,  # type: ignore[arg-type]
        )
    assert str(caught.value).splitlines() == [
        "memory parameters: predicates: expected a number above 0, found 0",
        "memory parameters: operators: expected a number, 0 or more, found -1",
        "memory parameters: subscriptions: expected a number above 0, found inf",
        "memory parameters: unique_predicates: expected a number above 0, found True",
        "memory parameters: conjunctions: expected a number above 0, found '2'",
        "memory parameters: conjunctions_per_predicate: expected a number, 0 or more, found nan",
        "memory parameters: predicate_id_bytes: expected a whole number of bytes, at least 1, found 0",
        "memory parameters: location_bytes: expected a whole number of bytes, at least 1, found 2.5",
    ]
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, TamisError)


def test_there_are_no_more_unique_predicates_than_predicates() -> None:
    expected = "unique_predicates: expected at most predicates times subscriptions, 6000, found 6001"
    with pytest.raises(AdviceError, match=expected):
        replace(CLASSES["C1"], unique_predicates=6001)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["C1", "C2", "C3"])
def test_measured_auction_classes_are_those_of_the_table(name: str) -> None:
    weights = [float(name == each) for each in CLASSES]
    data = generate("auction", subscriptions=300, events=1, seed=1, classes=weights)
    column = compile_conditions(data.conditions, data.event_type)
    found = MemoryParameters.of(column)
    expected = replace(CLASSES[name], subscriptions=300, unique_predicates=found.unique_predicates)
    assert found == expected
    assert MemoryParameters.of(forest_of(column)) == found
    # One by one a formula shares equal leaves, and they count wherever they stand.
    one_by_one = [compile_condition(text, data.event_type).formula for text in data.conditions.to_pylist()]
    assert MemoryParameters.of(one_by_one) == found
    assert found.unique_predicates == len({each for formula in one_by_one for each in formula.predicates()})


def test_equal_parts_of_the_classes_give_four_conjunctions() -> None:
    data = generate("auction", subscriptions=6000, events=1, seed=1)
    found = MemoryParameters.of(compile_conditions(data.conditions, data.event_type))
    assert found.conjunctions == pytest.approx(4, abs=0.1)
    assert found.predicates == pytest.approx(25 / 3, abs=0.2)
    assert memory(found).engine == "hits"


def tree(formula: Formula) -> tuple[int, int, list[Predicate]]:
    """Leaves, operators and predicates of a formula written out."""
    if formula.predicate is not None:
        return 1, 0, [formula.predicate]
    below = [tree(operand) for operand in formula.operands]
    return (
        sum(leaves for leaves, _, _ in below),
        sum(operators for _, operators, _ in below) + (1 if below else 0),
        [each for _, _, predicates in below for each in predicates],
    )


@pytest.mark.parametrize("name", WORLDS)
def test_measured_random_conditions(name: str) -> None:
    formulas = [condition.formula for condition in world(name).accepted(random.Random(5), 200)]
    found = MemoryParameters.of(formulas)
    trees = [tree(formula) for formula in formulas]
    assert found.subscriptions == 200
    assert found.predicates == sum(leaves for leaves, _, _ in trees) / 200
    assert found.operators == sum(operators for _, operators, _ in trees) / 200
    assert found.unique_predicates == len({each for _, _, predicates in trees for each in predicates})


def measured(*texts: str) -> MemoryParameters:
    return MemoryParameters.of(compile_conditions(texts))


def test_at_least_k_of_n_is_one_operator() -> None:
    found = measured("AT_LEAST(2, a = 1, b = 1, c = 1)")
    assert (found.predicates, found.operators) == (3, 1)
    assert (found.conjunctions, found.conjunctions_per_predicate) == (3, 2)


def test_ranges_of_one_attribute_are_one_predicate() -> None:
    found = measured("a > 1 AND a < 5 AND b = 1")
    assert (found.predicates, found.operators, found.conjunctions) == (2, 1, 1)


def test_a_single_predicate_has_no_operator() -> None:
    assert measured("a = 1") == MemoryParameters(1, 0, 1, 1, 1, 1)


def test_a_part_used_twice_counts_twice() -> None:
    shared = compile_condition("a = 1 OR b = 1").formula
    both = disjunction(
        [_and(shared, compile_condition("c = 1").formula), _and(shared, compile_condition("d = 1").formula)]
    )
    found = MemoryParameters.of([both])
    assert (found.predicates, found.operators, found.unique_predicates) == (6, 5, 4)
    assert (found.conjunctions, found.conjunctions_per_predicate) == (4, 8 / 6)


def _and(*operands: Formula) -> Formula:
    return Formula(None, len(operands), operands)


def test_huge_conditions_count_with_the_conjunctions_that_engines_keep() -> None:
    found = measured(" AND ".join(f"(a{number} = 1 OR b{number} = 1)" for number in range(12)))
    assert found.predicates == 24
    assert 1 <= found.conjunctions <= CONJUNCTIONS
    nested = measured(" XOR ".join(f"a{number} = 1" for number in range(40)))
    assert nested.predicates > 2.0**39


def test_refused_conditions_count_as_nothing_and_constants_as_subscriptions() -> None:
    found = measured("a = 1", "a =", "TRUE", "a = 1 AND b = 2", "FALSE")
    assert found.subscriptions == 4
    assert found.predicates == 3 / 4
    assert found.operators == 1 / 4
    assert found.unique_predicates == 2
    assert found.conjunctions == 3 / 4  # TRUE is one without leaves
    assert found.conjunctions_per_predicate == 1


@pytest.mark.parametrize(("texts", "count"), [((), 0), (("TRUE",), 1), (("a =",), 0)])
def test_without_predicates_there_is_nothing_to_measure(texts: tuple[str, ...], count: int) -> None:
    with pytest.raises(AdviceError, match=f"expected conditions with predicates, found none in {count} of them"):
        measured(*texts)


def test_importing_and_calculating_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from tamis.lab.bittner.memory import MemoryParameters, memory\n"
        "assert memory(MemoryParameters(5, 4, 10, 50, 2, 1.2)).engine == 'counting'\n"
        "heavy = {'numba', 'numpy', 'pyarrow', 'pyspark'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
