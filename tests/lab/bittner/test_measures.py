"""Ranks of the golden example, option by option, and ties."""

from __future__ import annotations

import pytest

from tamis.lab.bittner.measures import (
    ACCURACY,
    DISTANCE,
    EFFICIENCY,
    MEASURES,
    MEMORY,
    OCCURRENCE,
    Facts,
    Measure,
    PruningStep,
)
from tamis.lab.bittner.prunings import pruning_options
from tamis.lab.bittner.ranking import Ranking
from tamis.lab.bittner.selectivity_bounds import Selectivity
from tamis.routing.trees import TreeSize
from tests.lab.bittner.auctions import ORDER, golden_occurrences, golden_table, option_name, third_class


def golden_steps(hops: int = 1) -> dict[str, PruningStep]:
    """The options of the third class, by name."""
    ranking = Ranking(OCCURRENCE, golden_table())
    ranking.counts.update(golden_occurrences())
    before = ranking.facts(third_class())
    return {
        option_name(each.taken): PruningStep(before, before, ranking.facts(each.result), hops)
        for each in pruning_options(third_class())
    }


def first_parts(measure: Measure, hops: int = 1) -> list[float]:
    steps = golden_steps(hops)
    return [measure.rank(steps[name])[0] for name in ORDER]


def test_accuracy_of_the_golden_example() -> None:
    found = first_parts(ACCURACY)
    assert found == pytest.approx([0.154, 0.015, 0.00035, 0.01240, 0.00014, 0.00217], rel=0.02, abs=5e-6)
    assert sorted(range(6), key=found.__getitem__) == [4, 2, 5, 3, 1, 0]


def test_efficiency_of_the_golden_example() -> None:
    assert first_parts(EFFICIENCY) == [1, 2, 1, 1, 1, 1]


def test_memory_of_the_golden_example_is_what_is_saved_negative() -> None:
    saved = dict(zip(ORDER, first_parts(MEMORY), strict=True))
    del saved["ending OR"]  # which bottom-up pruning leaves out
    assert saved == {"category OR": -14, "bids OR": -14, "ending": -9, "buy": -7, "signed": -7}


def test_occurrence_of_the_golden_example() -> None:
    steps = golden_steps()
    assert steps["buy"].current.occurrences == 1220
    found = first_parts(OCCURRENCE)
    assert found == pytest.approx([0.172, 0.141, 0.00056, 0.0210, 0.00015, 0.0023], rel=0.02, abs=6e-6)


def test_distance_divides_by_hops() -> None:
    near, far = first_parts(DISTANCE), first_parts(DISTANCE, hops=4)
    assert far == pytest.approx([each / 4 for each in near])
    assert near == first_parts(ACCURACY)


def test_a_predicate_that_stands_nowhere_would_stand_here() -> None:
    assert Ranking(OCCURRENCE, golden_table()).facts(third_class()).occurrences == 7


def step(selectivity: float, p_min: int, size: int, occurring: int = 10) -> PruningStep:
    """From an original of (0.1, 5, 50, 10)."""
    before = Facts(Selectivity(0.1, 0.1, 0.1), TreeSize(5, 50, 0), 10)
    after = Facts(Selectivity(selectivity, selectivity, selectivity), TreeSize(p_min, size, 0), occurring)
    return PruningStep(before, before, after)


@pytest.mark.parametrize(
    ("name", "worse"),
    [
        ("accuracy", [step(0.3, 5, 10), step(0.2, 3, 10), step(0.2, 4, 40), step(0.2, 4, 30)]),
        ("efficiency", [step(0.1, 3, 10), step(0.3, 4, 10), step(0.2, 4, 40), step(0.2, 4, 30)]),
        ("memory", [step(0.1, 5, 40), step(0.3, 5, 30), step(0.2, 3, 30), step(0.2, 4, 30)]),
        ("occurrence", [step(0.3, 5, 10), step(0.2, 5, 10, 5), step(0.2, 3, 10), step(0.2, 4, 10)]),
    ],
)
def test_ties_go_to_the_next_part(name: str, worse: list[PruningStep]) -> None:
    ranks = [MEASURES[name].rank(each) for each in worse]
    assert ranks == sorted(ranks, reverse=True)
    assert len(set(ranks)) == len(ranks)


def test_noise_of_additions_does_not_break_ties() -> None:
    assert ACCURACY.rank(step(0.1 + 0.2, 4, 10)) == ACCURACY.rank(step(0.3, 4, 10))


def test_limits_are_losses_at_most_or_savings_at_least() -> None:
    assert ACCURACY.limit(0.01) == 0.01
    assert MEMORY.limit(7) == -7
