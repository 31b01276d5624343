"""Uncovered terms match the events of all entries, whatever comes and goes, and pruning them loses none."""

from __future__ import annotations

import random
from collections.abc import Hashable

import numpy as np
import pytest

from tamis.formulas.formula import TRUE, Formula, disjunction
from tamis.frames import BatchFrame
from tamis.lab.bittner.covering import Covering, CoveringPruner, TermId
from tamis.lab.bittner.implication import covers
from tamis.lab.bittner.measures import ACCURACY, MEASURES
from tamis.lab.bittner.pruning import Pruner
from tamis.lab.bittner.selectivity_table import SelectivityTable
from tests.lab.bittner.auctions import class_formulas
from tests.routing.drawing import formula_of, misses, random_formula, random_frame


def uncovered_terms(covering: Covering) -> dict[TermId, Formula]:
    return {
        term.id: term.formula for found in covering._entries.values() for term in found if term.coverer is None
    }


def check(covering: Covering, entries: dict[Hashable, Formula], frame: BatchFrame) -> None:
    """Uncovered terms match what all entries match, and none covers another."""
    uncovered = [*uncovered_terms(covering).values()]
    assert np.array_equal(disjunction(uncovered).mask(frame), disjunction(entries.values()).mask(frame))
    pairs = [
        (one, other) for one in uncovered for other in uncovered if one is not other and covers(one, other, 1)
    ]
    assert pairs == []


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("most", [2, 64])
def test_whatever_comes_and_goes_the_same_events_match(seed: int, most: int) -> None:
    random_ = random.Random(seed)
    frame = random_frame(random_)
    covering = Covering(most)
    entries: dict[Hashable, Formula] = {}
    uncovered: dict[TermId, Formula] = {}
    for number in range(50):
        if entries and random_.random() < 0.4:
            gone = random_.choice(list(entries))
            change = covering.remove(gone)
            del entries[gone]
        else:
            entries[number] = random_formula(random_, random_.randint(0, 2))
            change = covering.add(number, entries[number])
        for term in change.removed:
            del uncovered[term]
        assert not uncovered.keys() & change.added.keys()
        uncovered.update(change.added)
        assert uncovered == uncovered_terms(covering)
        if number % 5 == 0:
            check(covering, entries, frame)
    for gone in list(entries):
        covering.remove(gone)
    assert len(covering) == covering.terms == 0
    assert not (covering._coverers or covering._coverer_key or covering._uncovered)


def test_a_chain_comes_back_link_by_link() -> None:
    covering = Covering()
    for bound in (3, 5, 4, 6):
        covering.add(bound, formula_of(f"a < {bound}"))
    assert [term.id for term in uncovered_terms(covering)] == [6]
    assert covering.covered_share == 0.75
    assert covering.remove(4).added == {}
    assert list(covering.remove(6).added) == [TermId(5, 0)]
    assert list(covering.remove(5).added) == [TermId(3, 0)]


def test_of_equal_entries_one_is_uncovered_and_the_other_replaces_it() -> None:
    covering = Covering()
    covering.add("first", formula_of("a = 1 AND s LIKE '%x'"))
    assert covering.add("second", formula_of("s LIKE '%x' AND a = 1")) == ({}, [])
    change = covering.remove("first")
    assert (list(change.added), change.removed) == ([TermId("second", 0)], [TermId("first", 0)])


def test_what_always_holds_covers_everything() -> None:
    covering = Covering()
    covering.add(1, formula_of("a = 1"))
    assert covering.add(2, TRUE).removed == [TermId(1, 0)]
    assert covering.add(3, formula_of("b < 3")).added == {}
    assert set(covering.remove(2).added) == {TermId(1, 0), TermId(3, 0)}


def test_auctions_become_terms() -> None:
    covering = Covering()
    for number, formula in enumerate(class_formulas()):
        covering.add(number, formula)
    assert covering.terms == 12
    assert covering.covered_share == 0.0


def test_ids_are_unique() -> None:
    covering = Covering()
    covering.add(1, formula_of("a = 1"))
    with pytest.raises(ValueError, match="subscription 1"):
        covering.add(1, formula_of("a = 2"))
    with pytest.raises(KeyError):
        covering.remove(2)


@pytest.mark.parametrize("name", MEASURES)
def test_covering_then_pruning_loses_no_event(name: str) -> None:
    random_ = random.Random(name)
    frame = random_frame(random_)
    pruner = Pruner(MEASURES[name], SelectivityTable())
    both = CoveringPruner(pruner)
    entries: dict[Hashable, tuple[str, Formula]] = {}
    for number in range(60):
        if entries and random_.random() < 0.3:
            gone = random_.choice(list(entries))
            both.deregister(gone)
            del entries[gone]
        else:
            entries[number] = random_.choice(("north", "south")), random_formula(random_, random_.randint(0, 2))
            both.register(number, entries[number][1], neighbour=entries[number][0], hops=number % 3 + 1)
        pruner.prune(count=2)
    for neighbour in ("north", "south"):
        exact = disjunction(formula for where, formula in entries.values() if where == neighbour)
        routed = disjunction(entry.current for entry in pruner if entry.neighbour == neighbour)
        assert misses(routed, exact, frame) == 0
    assert 0 < both.covered_share < 1
    for gone in list(entries):
        both.deregister(gone)
    assert len(pruner) == 0


def test_entries_of_different_neighbours_do_not_cover_each_other() -> None:
    both = CoveringPruner(Pruner(ACCURACY, SelectivityTable()))
    both.register(1, formula_of("a < 5"), neighbour="north")
    both.register(2, formula_of("a < 3"), neighbour="south")
    both.register(3, formula_of("a < 3"), neighbour="north")
    assert [entry.id for entry in both.pruner] == [TermId(1, 0), TermId(2, 0)]
    with pytest.raises(ValueError, match="subscription 3"):
        both.register(3, formula_of("a < 3"), neighbour="south")
