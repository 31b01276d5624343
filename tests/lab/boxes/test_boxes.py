"""Terms as boxes say what their formulas say, whatever comes and goes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tamis.engines.base import Engine
from tamis.events import EventBatch
from tamis.lab.dynamic.term_index import TermIndex
from tamis.lab.mishra_sahni.buckets import Buckets
from tamis.lab.wang.rtree import Rtree
from tamis.language.condition import compile_condition
from tests.engines.changes import change_at_random
from tests.engines.naive import check, random_events, random_forest
from tests.lab.boxes.scan_store import ScanStore
from tests.worlds import WORLDS


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 3])
def test_random_forests(depth: int) -> None:
    random_ = random.Random(71)
    forest = random_forest(random_, 300, depth=depth)
    index = TermIndex(ScanStore())
    index.insert_many(np.arange(300, dtype=np.int32), forest)
    assert check(index, list(forest), random_events(random_, 4, 50, 40)) > 1_000


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_random_changes(name: str) -> None:
    file = ScanStore()
    change_at_random(TermIndex(file), name)
    assert file.stored == set()
    assert set(file.uses()) == {0}


@pytest.mark.parametrize("engine", [Buckets(), Rtree()])
def test_an_index_that_begins_with_an_unsatisfiable_formula(engine: Engine) -> None:
    formulas = [compile_condition(text).formula for text in ("a = 1 AND a = 2", "a = 1")]
    index: Any = engine.build(formulas[:1])
    index.insert(1, formulas[1])
    assert check(index, formulas, EventBatch.of([{"a": 1}, {"a": 2}])) == 1


def test_axes_are_ranked_again_when_terms_have_doubled() -> None:
    file = ScanStore()
    index = TermIndex(file)
    for slot in range(64):
        index.insert_many(np.array([slot], np.int32), [compile_condition(f"a{slot % 3} = {slot}").formula])
    assert file.cleared == 6  # with 1, 3, 7, 15, 31 and 63
    index.delete_many(np.arange(64, dtype=np.int32))
    assert file.stored == set()


@pytest.mark.slow
def test_strings_between_strings_until_labels_are_redistributed() -> None:
    file = ScanStore()
    index = TermIndex(file)
    texts = [
        "a" + "0" * zeros for zeros in range(90, -1, -1)
    ]  # each is between the first of all and the one before
    texts = ["", *texts]
    formulas = [compile_condition(f"s = '{text}'").formula for text in texts]
    for slot, formula in enumerate(formulas):
        index.insert_many(np.array([slot], np.int32), [formula])
    assert file.cleared > 6, "more often than by numbers alone"
    assert check(index, formulas, EventBatch.of([{"s": text} for text in [*texts, "b", "a01"]])) == len(texts)
