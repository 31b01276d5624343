"""Conjunctions are in the cluster of their most selective predicate, and only satisfied clusters are verified."""

from __future__ import annotations

from tamis.events import EventBatch
from tamis.lab.baselines.cluster import Cluster
from tests.engines.naive import check
from tests.lab.formulas import formulas_of


def test_a_cluster_has_one_access_predicate_and_one_width() -> None:
    texts = ["a = 1 AND b > 5", "a = 1 AND c > 5", "a = 1", "a = 2 AND b > 5", "TRUE"]
    counts = Cluster().build(formulas_of(*texts)).stats().counts
    assert (counts["conjunctions"], counts["clusters"], counts["always"]) == (5, 3, 1)


def test_only_the_clusters_of_satisfied_access_predicates_are_verified() -> None:
    formulas = formulas_of(*(f"a = {number % 10} AND b > {number}" for number in range(100)))
    index = Cluster().build(formulas)
    assert check(index, formulas, EventBatch.of([{"a": 3, "b": 50}, {"a": 11, "b": 99}])) == 5
    work = index.work()
    assert (work["clusters"], work["looked at"], work["conjunctions"]) == (1, 10, 5)
    assert set(index.work().values()) == {0}


def test_the_last_term_takes_the_place_of_a_deleted_one() -> None:
    formulas = formulas_of(*(f"a = 1 AND b = {number}" for number in range(40)))
    index = Cluster().build(formulas)
    for slot in range(0, 40, 3):
        index.delete(slot)
    found = index.match(EventBatch.of([{"a": 1, "b": number} for number in range(40)]))
    assert sorted(found.slots.tolist()) == [slot for slot in range(40) if slot % 3]
    assert found.rows.tolist() == found.slots.tolist()
