"""Kernels rank and prune as the plain Python of the laboratory does, its naive twin."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pytest

from tamis.engines.forest import forest_of
from tamis.engines.selectivity import leaf_selectivities
from tamis.formulas.formula import Formula, leaf
from tamis.formulas.predicates.base import Predicate
from tamis.lab.bittner.measures import MEASURES as TWINS
from tamis.lab.bittner.measures import Rank
from tamis.lab.bittner.prunings import pruning_options
from tamis.lab.bittner.ranking import Ranking
from tamis.lab.bittner.selectivity_bounds import Selectivity, combine
from tamis.lab.workloads import generate
from tamis.language.bulk import compile_conditions
from tamis.routing.pruning import MEASURES, EntryPruner
from tamis.routing.trees import leaf_counts
from tamis.statistics import Statistics
from tests.routing.drawing import EVENTS, formula_of, misses, random_formula, random_frame

pytestmark = pytest.mark.slow


class Shares:
    """The estimates of the product, as the laboratory's ranking asks for them."""

    version = 0

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics
        self._known: dict[Predicate, float] = {}

    def track(self, predicates: Iterable[Predicate]) -> None:
        pass

    def of(self, predicate: Predicate) -> float:
        if predicate not in self._known:
            forest = forest_of([leaf(predicate)])
            self._known[predicate] = float(leaf_selectivities(forest, self._statistics)[0])
        return self._known[predicate]

    def combine(self, least: int, operands: list[Selectivity]) -> Selectivity:
        return combine(least, operands)


def rank_of(ranking: Ranking, original: Formula, current: Formula, hops: int) -> Rank | None:
    best = ranking.best(ranking.facts(original), current, hops)
    return None if best is None else best.rank


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("seed", range(4))
def test_every_step_is_one_that_the_naive_twin_ranks_first(name: str, seed: int) -> None:
    random_ = random.Random(f"{name} {seed}")
    frame = random_frame(random_, 100)
    forest = forest_of([each for each in (random_formula(random_) for _ in range(12)) if each.operands])
    originals = list(forest)
    statistics = Statistics()
    statistics.survey(frame, [axis.attribute for axis in forest.axes], frame.rows)
    ranking = Ranking(TWINS[name], Shares(statistics))
    hops = np.array([random_.randint(1, 4) for _ in originals], np.int32)
    pruner = EntryPruner(forest, name, statistics, hops=hops)
    if ranking.measure.counts:
        for formula in originals:
            ranking.counts.update(leaf_counts(formula))
    current = list(originals)
    ranks = [rank_of(ranking, each, each, int(far)) for each, far in zip(originals, hops, strict=True)]
    while True:
        for entry, rank in enumerate(ranks):
            assert (pruner.queue.nodes[entry] >= 0) == (rank is not None)
            if rank is not None:
                assert pruner.queue.ranks[entry][: len(rank)] == pytest.approx(rank, abs=1e-9)
        left = [rank for rank in ranks if rank is not None]
        if not left:
            break
        entry = int(pruner.queue.heap[0])
        assert ranks[entry] == pytest.approx(min(left), abs=1e-9)
        pruner.prune(count=1)
        new = pruner.formula(entry)
        assert new in [option.result for option in pruning_options(current[entry])]
        if ranking.measure.counts:
            ranking.counts.update(leaf_counts(new))
            ranking.counts.subtract(leaf_counts(current[entry]))
        current[entry] = new
        ranks[entry] = rank_of(ranking, originals[entry], new, int(hops[entry]))
    distinct, of = pruner.formulas()
    assert [distinct[number] for number in of] == current
    assert len(set(distinct)) == len(distinct)
    assert all(misses(new, old, frame) == 0 for new, old in zip(current, originals, strict=True))


@pytest.mark.parametrize("name", MEASURES)
def test_auctions_are_pruned_to_one_predicate_or_two(name: str) -> None:
    data = generate("auction", subscriptions=600, events=10, seed=4)
    forest = forest_of(compile_conditions(data.conditions, data.event_type))
    pruner = EntryPruner(forest, name)
    before = pruner.stored_bytes
    pruner.prune(before / 2)
    assert pruner.stored_bytes <= before / 2
    pruner.prune()
    formulas, of = pruner.formulas()
    assert max(len(each.predicates()) for each in formulas) <= 2
    assert len(of) == 600


def test_bytes_are_of_distinct_formulas() -> None:
    forest = forest_of([formula_of("a = 1 AND b < 3")] * 5 + [formula_of("a = 2 AND b < 3")])
    one, two = EntryPruner(forest_of([forest[0]]), "memory"), EntryPruner(forest, "memory")
    assert two.stored_bytes == 2 * one.stored_bytes
    apart = EntryPruner(forest, "memory", groups=np.arange(6, dtype=np.int32))
    assert apart.stored_bytes == 6 * one.stored_bytes
    two.prune()
    assert two.prunings == 6


def test_what_is_computed_goes_first() -> None:
    pruner = EntryPruner(forest_of([formula_of("a = 1 AND a + b < 3 AND c < 5")]), "accuracy")
    pruner.prune(count=1)
    assert pruner.formula(0) == formula_of("a = 1 AND c < 5")


def test_a_sample_decides_what_is_kept() -> None:
    assert EVENTS.name == "drawn"
    frame = random_frame(random.Random(1), 400)
    pruner = EntryPruner(forest_of([formula_of("a < 9 AND b < 1")]), "accuracy", sample=[frame])
    pruner.prune(count=1)
    assert pruner.formula(0) == formula_of("b < 1")
