"""The pruned table: nothing is lost, the order is kept, and entries go by their ids."""

from __future__ import annotations

import random
from typing import get_args

import pytest

from tamis.formulas.formula import Formula
from tamis.lab.bittner.measures import ACCURACY, DISTANCE, EFFICIENCY, MEASURES, MEMORY, OCCURRENCE
from tamis.lab.bittner.pruning import Pruner, Strategy, TableTotals
from tamis.lab.bittner.replacement import hulls
from tamis.lab.bittner.selectivity_table import SelectivityTable
from tamis.routing.trees import leaf_counts, tree_size
from tamis.selectivity import priors
from tests.lab.bittner.auctions import class_formulas, golden_table, third_class
from tests.routing.drawing import formula_of, misses, random_formula, random_frame, table_of

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


def recomputed(pruner: Pruner) -> tuple[int, int, int, int]:
    """The totals, counted anew."""
    now = [tree_size(entry.current) for entry in pruner]
    first = [tree_size(entry.original) for entry in pruner]
    return (
        len(now),
        sum(each.leaves for each in now),
        sum(each.leaves for each in first),
        sum(each.bytes for each in now),
    )


# --- nothing is lost -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", MEASURES)
def test_no_event_is_lost_and_totals_are_right(name: str, strategy: Strategy) -> None:
    random_ = random.Random(f"{name} {strategy}")
    frame = random_frame(random_)
    table = SelectivityTable()
    pruner = Pruner(MEASURES[name], table, strategy=strategy, replacing=hulls)
    for number in range(30):
        pruner.register(number, random_formula(random_), hops=random_.randint(1, 5))
    previous = {entry.id: entry.original for entry in pruner}
    for count in (10, 20, None):
        table.observe(random_frame(random_, 40))
        changed = pruner.prune(count=count)
        for entry in pruner:
            assert misses(entry.current, previous[entry.id], frame) == 0
            assert (entry.current != previous[entry.id]) == (entry.id in changed)
        previous.update(changed)
        assert pruner.totals[:4] == recomputed(pruner)
    assert pruner.prune() == {}
    counts = sum((leaf_counts(entry.current) for entry in pruner), start=leaf_counts(formula_of("FALSE")))
    assert pruner._ranking.counts == (counts if MEASURES[name].counts else {})


@pytest.mark.parametrize("name", MEASURES)
def test_full_pruning_leaves_the_leaves_that_the_thesis_counts(name: str) -> None:
    pruner = Pruner(MEASURES[name], SelectivityTable())
    for number, formula in enumerate(class_formulas()):
        pruner.register(number, formula)
    pruner.prune()
    assert [tree_size(entry.current).leaves for entry in pruner] == [1, 1, 2]
    assert pruner.totals.removed_share == pytest.approx(0.84)


# --- order -----------------------------------------------------------------------------------------------------


def test_the_golden_example_is_pruned_in_its_order() -> None:
    pruner = Pruner(ACCURACY, golden_table())
    pruner.register("s", third_class())
    pruner.prune(count=1)
    assert "buy_it_now" not in pruner["s"].current.describe()
    assert tree_size(pruner["s"].current).bytes == 40


def test_the_entry_that_loses_least_comes_first() -> None:
    table = table_of({"a < 3": 0.5, "b < 3": 0.9, "c < 3": 0.4, "d < 3": 0.3})
    pruner = Pruner(ACCURACY, table)
    pruner.register("dear", formula_of("c < 3 AND d < 3"))
    pruner.register("cheap", formula_of("a < 3 AND b < 3"))
    assert [list(pruner.prune(count=1)) for _ in range(3)] == [["cheap"], ["dear"], []]
    assert pruner["cheap"].current == formula_of("a < 3")
    assert pruner["dear"].current == formula_of("d < 3")


def test_losses_count_against_the_original() -> None:
    table = table_of({"a < 3": 0.9, "b < 3": 0.9, "c < 3": 0.9, "d < 3": 0.85, "e < 3": 0.5})
    pruner = Pruner(ACCURACY, table)
    pruner.register("long", formula_of("a < 3 AND b < 3 AND c < 3"))
    pruner.register("short", formula_of("d < 3 AND e < 3"))
    # The second step of the long one loses 0.1 as the first did, which makes 0.2; the short one loses 0.15.
    assert [list(pruner.prune(count=1)) for _ in range(3)] == [["long"], ["short"], ["long"]]


def test_by_distance_the_far_come_first() -> None:
    pruner = Pruner(DISTANCE, SelectivityTable())
    for hops in (1, 3, 2):
        pruner.register(hops, formula_of("a < 3 AND b < 3"), hops=hops)
    assert [list(pruner.prune(count=1)) for _ in range(3)] == [[3], [2], [1]]


def test_by_memory_the_largest_saving_comes_first_bottom_up() -> None:
    pruner = Pruner(MEMORY, SelectivityTable())
    pruner.register("or", formula_of("a = 1 AND (b < 3 OR c < 3)"))
    pruner.register("leaf", formula_of("a = 1 AND b < 3 AND d < 3"))
    assert pruner.prune(count=1) == {"or": formula_of("a = 1")}
    assert pruner.prune(threshold=7) == {}
    assert tree_size(pruner.prune(threshold=5)["leaf"]).leaves == 1


def test_by_occurrence_rare_predicates_go() -> None:
    pruner = Pruner(OCCURRENCE, table_of({"a < 3": 0.5, "b < 3": 0.5, "c < 3": 0.5}))
    pruner.register("s", formula_of("a < 3 AND b < 3 AND c < 3"))
    for number in range(20):
        pruner.register(number, formula_of("a < 3 OR c < 3"))
    assert pruner.prune(count=1) == {"s": formula_of("a < 3 AND c < 3")}


def test_equal_ranks_go_by_registration() -> None:
    pruner = Pruner(EFFICIENCY, SelectivityTable())
    for number in range(5):
        pruner.register(number, formula_of("a < 3 AND b < 3"))
    assert list(pruner.prune(count=3)) == [0, 1, 2]


def test_what_is_computed_goes_first_whatever_the_threshold() -> None:
    table = table_of({"a < 3": 0.5, "b < 3": 0.99})
    for is_first, expected in ((True, "a < 3 AND b < 3"), (False, "a + b < 3 AND a < 3")):
        pruner = Pruner(ACCURACY, table, opaque_first=is_first)
        pruner.register("s", formula_of("a + b < 3 AND a < 3 AND b < 3"))
        pruner.prune(count=1, threshold=0.005 if not is_first else 0.0)
        assert pruner["s"].current == formula_of(expected)


# --- bounds ----------------------------------------------------------------------------------------------------


def test_a_threshold_is_kept() -> None:
    table = table_of({"a < 3": 0.5, "b < 3": 0.9, "c < 3": 0.4, "d < 3": 0.3})
    pruner = Pruner(ACCURACY, table)
    pruner.register("dear", formula_of("c < 3 AND d < 3"))
    pruner.register("cheap", formula_of("a < 3 AND b < 3"))
    assert list(pruner.prune(threshold=0.11)) == ["cheap"]
    pruner.register("at once", formula_of("a < 3 AND b < 3"), threshold=0.11)
    assert pruner["at once"].current == formula_of("a < 3")
    assert pruner["at once"].prunings == 1


def test_pruning_stops_at_so_many_bytes() -> None:
    pruner = Pruner(ACCURACY, SelectivityTable())
    for number in range(10):
        pruner.register(number, formula_of("a < 3 AND b < 3 AND c < 3"))
    pruner.prune(until_bytes=150)
    assert pruner.totals.bytes == 150
    assert pruner.totals.prunings == 4


# --- stale ranks -----------------------------------------------------------------------------------------------


def stale(strategy: Strategy, tolerance: float = 0.0, proportion: float = 0.0, retries: int = 8) -> Pruner:
    """Two entries that lost 0.1 and 0.2 when they were ranked; the first would lose 0.5 now."""
    table = table_of({"a < 3": 0.5, "b < 3": 0.9, "c < 3": 0.5, "d < 3": 0.8})
    pruner = Pruner(
        ACCURACY, table, strategy=strategy, tolerance=tolerance, proportion=proportion, retries=retries
    )
    pruner.register("first", formula_of("a < 3 AND b < 3"))
    pruner.register("second", formula_of("c < 3 AND d < 3"))
    pruner.rebuild()
    table.forget(formula_of("b < 3").predicates())
    assert table.of(formula_of("b < 3").predicates()[0]) == priors.RANGE, "it is no longer counted"
    return pruner


def test_strict_goes_by_the_old_rank() -> None:
    assert list(stale("strict").prune(count=1)) == ["first"]


def test_static_takes_small_changes_only() -> None:
    assert list(stale("static").prune(count=1)) == ["second"]
    assert list(stale("static", tolerance=0.01).prune(count=1)) == ["second"]
    assert list(stale("static", tolerance=0.45).prune(count=1)) == ["first"]
    assert list(stale("static", proportion=5).prune(count=1)) == ["first"]


def test_dynamic_takes_what_is_still_the_first() -> None:
    assert list(stale("dynamic").prune(count=1)) == ["second"]
    assert list(stale("dynamic", tolerance=0.35).prune(count=1)) == ["first"]


def test_an_entry_goes_back_a_limited_number_of_times() -> None:
    assert list(stale("dynamic", retries=0).prune(count=1)) == ["first"]


def test_all_can_be_ranked_again() -> None:
    pruner = stale("strict")
    pruner.rebuild()
    assert list(pruner.prune(count=1)) == ["second"]


def test_new_entries_are_ranked_when_the_queue_is_first_asked() -> None:
    pruner = stale("strict")
    pruner.register("third", formula_of("a < 3 AND d < 3"))
    pruner.register("fourth", formula_of("c < 3"))
    pruner.deregister("fourth")
    pruner.deregister("second")
    assert list(pruner.prune(count=1)) == ["first"], "by its old rank of 0.1"
    pruner.register("fifth", formula_of("c < 3 AND e < 3"))
    assert list(pruner.prune()) == ["third", "fifth"]


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(ValueError, match="found 'lazy'"):
        Pruner(ACCURACY, SelectivityTable(), strategy="lazy")  # type: ignore[arg-type]


# --- coming and going ------------------------------------------------------------------------------------------


def test_entries_go_by_their_id_pruned_or_not() -> None:
    pruner = Pruner(ACCURACY, SelectivityTable())
    formula = formula_of("a < 3 AND b < 3 AND c < 3")
    for number in range(4):
        pruner.register(number, formula, neighbour="north")
    pruner.prune(count=5)
    gone = pruner.deregister(0)
    assert (gone.id, gone.original, gone.neighbour) == (0, formula, "north")
    assert 0 not in pruner
    assert len(pruner) == 3
    assert pruner.totals[:4] == recomputed(pruner)
    assert set(pruner.prune()) <= {1, 2, 3}
    for number in (1, 2, 3):
        pruner.deregister(number)
    assert pruner.totals == TableTotals(0, 0, 0, 0, 0)
    assert pruner.totals.removed_share == 0.0
    with pytest.raises(KeyError):
        pruner.deregister(0)


def test_an_id_is_registered_once_at_a_time() -> None:
    pruner = Pruner(ACCURACY, SelectivityTable())
    pruner.register(1, formula_of("a < 3"))
    with pytest.raises(ValueError, match="subscription 1"):
        pruner.register(1, formula_of("b < 3"))
    pruner.deregister(1)
    pruner.register(1, formula_of("b < 3"))
    assert pruner[1].current == formula_of("b < 3")


def test_nothing_is_left_of_entries_that_came_and_went() -> None:
    pruner = Pruner(OCCURRENCE, SelectivityTable())
    for number in range(500):
        pruner.register(number, formula_of("a < 3 AND b < 3 AND c < 3"), count=number % 3)
        if number >= 5:
            pruner.deregister(number - 5)
    assert len(pruner) == 5
    assert max(len(pruner._queue), len(pruner._log)) < 300
    assert pruner.totals.prunings == sum(entry.prunings for entry in pruner)


@pytest.mark.parametrize("name", MEASURES)
def test_what_is_undone_is_as_before(name: str) -> None:
    random_ = random.Random(name)
    pruner = Pruner(MEASURES[name], SelectivityTable())
    for number in range(12):
        pruner.register(number, random_formula(random_))

    def state() -> dict[object, Formula]:
        return {entry.id: entry.current for entry in pruner}

    pruner.prune(count=5)
    before, totals = state(), pruner.totals
    pruner.prune(count=7)
    after = state()
    assert pruner.totals.prunings == 12
    pruner.undo(7)
    assert (state(), pruner.totals) == (before, totals)
    pruner.prune(count=7)
    assert state() == after
    pruner.undo(100)
    assert all(entry.current == entry.original for entry in pruner)


def test_what_is_gone_is_not_undone() -> None:
    pruner = Pruner(ACCURACY, SelectivityTable())
    for number in range(3):
        pruner.register(number, formula_of("a < 3 AND b < 3"))
    pruner.prune()
    pruner.deregister(2)
    pruner.register(2, formula_of("c < 3"))
    assert pruner.undo(2) == {1: formula_of("a < 3 AND b < 3"), 0: formula_of("a < 3 AND b < 3")}
