"""Formulas in mask programs match as the reference says, and only those are there that many events reach."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.bitslice import Bitslice, BitsliceIndex
from tamis.engines.bitslice import mask_programs as module
from tamis.engines.bitslice.build import build_index
from tamis.engines.bitslice.mask_programs import formulas_for_masks, mask_programs_of
from tamis.engines.forest import Forest, forest_of
from tamis.events import EventBatch
from tamis.language.condition import compile_condition
from tests.engines.naive import check, check_workload, random_events, random_forest
from tests.worlds import WORLDS, world

SIZES = (1, 64, 65, 300, 520)
"""Masks of one, four and eight words, and more than one strip."""


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """All formulas that are no conjunctions become masks."""
    monkeypatch.setattr(module, "FEWEST_FORMULAS", 1)
    monkeypatch.setattr(module, "_MASK_NS", 0.0)


def forest_of_texts(texts: list[str]) -> Forest:
    return forest_of([compile_condition(text).formula for text in texts])


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("positions", [1 << 16, 150])
def test_pairs_are_those_of_the_formulas(positions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_POSITIONS", positions)
    random_ = random.Random(positions)
    forest = random_forest(random_, 80, depth=4)
    index = Bitslice().build(forest)
    counts = index.stats().counts
    assert counts["mask_formulas"] > 30
    assert (counts["mask_programs"] > 3) == (positions == 150)
    formulas = list(forest)
    for rows in SIZES:
        assert check(index, formulas, random_events(random_, 4, 50, rows))


@pytest.mark.slow
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("name", WORLDS)
def test_the_whole_language(name: str) -> None:
    random_, here = random.Random(5), world(name)
    formulas = [condition.formula for condition in here.accepted(random_, 150)]
    index = Bitslice().build(formulas)
    assert index.stats().counts["mask_formulas"] > 10
    for rows in (1, 3, 70):
        check(index, formulas, here.batch(random_, rows))


@pytest.mark.slow
@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("name", ["auction", "advertisements", "strings"])
def test_workloads(name: str) -> None:
    check_workload(Bitslice().build, name)


def test_selective_formulas_and_conjunctions_stay_entries() -> None:
    wide = [f"a > {n} OR b < {n} AND c > 5" for n in range(module.FEWEST_FORMULAS)]
    narrow = [f"d = {n} AND (a > {n} OR b < 3)" for n in range(200)]
    plain = [f"a > {n} AND b > {n}" for n in range(200)]
    forest = forest_of_texts([*narrow, *wide, *plain])
    assert formulas_for_masks(forest, None).tolist() == list(range(200, 200 + len(wide)))
    few = forest_of_texts(wide[:-1])
    assert not len(formulas_for_masks(few, None))
    batch = EventBatch.of([{"a": n % 400, "b": n % 17, "c": n % 9, "d": n} for n in range(90)])
    assert check(Bitslice().build(forest), list(forest), batch) > 90


def test_a_list_of_many_values_is_cheaper_to_look_up() -> None:
    values = ", ".join(map(str, range(0, 600, 2)))
    texts = [f"a IN ({values}) AND b > {n} OR c > {n}" for n in range(300)]
    assert not len(formulas_for_masks(forest_of_texts(texts), None))


def test_equal_parts_of_formulas_are_one() -> None:
    shared = "(a > 5 OR b > 5) AND (c > 5 OR d > 5)"
    texts = [f"{shared} OR a = {n}" for n in range(50)]
    forest = forest_of_texts(texts)
    programs = mask_programs_of(forest, np.arange(50))
    nodes = programs.runs.reshape(-1, 4)[:, 3].sum()
    assert nodes == 3 + 50, "two ORs and their AND once, and an OR for each formula"


@pytest.mark.usefixtures("everywhere")
def test_stored_arrays_find_the_same() -> None:
    random_ = random.Random(8)
    forest = random_forest(random_, 60, depth=3)
    opened = BitsliceIndex.from_arrays(forest, BitsliceIndex(forest, build_index(forest)).arrays())
    assert len(opened.index.mask_programs.slots)
    assert check(opened, list(forest), random_events(random_, 4, 50, 80))


def test_no_formulas_make_no_program() -> None:
    programs = mask_programs_of(forest_of_texts(["a > 1"]), np.empty(0, np.int64))
    assert programs.heads.tolist() == [0, 0, 0, 0]
    assert not any(len(each) for each in programs[1:])
