"""Terms as boxes say what their formulas say, whatever comes and goes."""

from __future__ import annotations

import random
from typing import Any, TypeAlias

import numba
import numpy as np
import numpy.typing as npt
import pytest

from tamis.engines.base import Engine, Stats
from tamis.engines.boxes import BoxFile
from tamis.engines.boxes.rows import Rows, empty_view, hide_row, show_row
from tamis.engines.boxes.sides import all_terms, head_at, holds_at, sides_of, uses_of
from tamis.engines.buckets import Buckets
from tamis.engines.dynamic.index import PredicateIndex
from tamis.engines.dynamic.normal_form import TermIndex
from tamis.engines.rtree import Rtree
from tamis.events import EventBatch, EventType
from tamis.language.condition import compile_condition
from tests.engines.changes import change_at_random
from tests.engines.naive import check, random_events, random_forest
from tests.worlds import WORLDS

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]

TYPE = EventType.from_dict(
    {
        "name": "t",
        "attributes": dict.fromkeys(("a", "b", "often", "sometimes", "rare"), "bigint") | {"c": "string"},
    }
)


@numba.njit
def holding(boxes: Any, predicates: Any, rows: Any, terms: Shorts) -> Any:
    found = []
    view = empty_view(boxes, predicates)
    for row in range(len(rows.firsts) - 1):
        show_row(rows, row, view)
        for term in terms:
            if holds_at(boxes, predicates, boxes.firsts[term], view):
                found.append((row, head_at(boxes, boxes.firsts[term])))
        hide_row(rows, row, view)
    return found


class AllFile(BoxFile):
    """Looks at every term."""

    def __init__(self) -> None:
        super().__init__()
        self.filed: set[int] = set()
        self.cleared = 0

    def sides(self) -> list[list[list[int]]]:
        return [sides_of(self._boxes, term).tolist() for term in sorted(self.filed)]

    def uses(self) -> list[int]:
        return [int(count) for count in uses_of(self._boxes)]

    def _clear(self, predicates: PredicateIndex) -> None:
        self.filed = set()
        self.cleared += 1

    def _put(self, terms: Shorts) -> None:
        assert not self.filed & set(terms.tolist())
        self.filed |= set(terms.tolist())

    def _take(self, terms: Shorts) -> None:
        assert self.filed >= set(terms.tolist())
        self.filed -= set(terms.tolist())

    def _match(self, predicates: PredicateIndex, rows: Rows) -> tuple[Shorts, Ints]:
        assert self.filed == set(all_terms(self._boxes).tolist())
        if not self.filed:
            return np.empty(0, np.int32), np.empty(0, np.int64)
        terms = np.array(sorted(self.filed), np.int32)
        found = np.array(holding(self._boxes, predicates.predicates, rows, terms), np.int64).reshape(-1, 2)
        return found[:, 0].astype(np.int32), found[:, 1].copy()

    def _stats(self) -> Stats:
        return Stats({}, {})

    def work(self) -> dict[str, int]:
        return {}


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 3])
def test_random_forests(depth: int) -> None:
    random_ = random.Random(71)
    forest = random_forest(random_, 300, depth=depth)
    index = TermIndex(AllFile())
    index.insert_many(np.arange(300, dtype=np.int32), forest)
    assert check(index, list(forest), random_events(random_, 4, 50, 40)) > 1_000


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_random_changes(name: str) -> None:
    file = AllFile()
    change_at_random(TermIndex(file), name)
    assert file.filed == set()
    assert set(file.uses()) == {0}


def file_of(*texts: str) -> AllFile:
    file = AllFile()
    index = TermIndex(file)
    index.insert_many(
        np.arange(len(texts), dtype=np.int32), [compile_condition(text, TYPE).formula for text in texts]
    )
    return file


def test_sides_of_one_axis_are_one() -> None:
    (sides,) = file_of("a > 3 AND a < 9 AND b = 2").sides()
    assert len(sides) == 2


def test_what_nothing_satisfies_is_no_term() -> None:
    assert file_of("a > 3 AND a < 2", "a IN (1, 2) AND a > 5", "FALSE").sides() == []


@pytest.mark.parametrize("engine", [Buckets(), Rtree()])
def test_an_index_that_begins_with_what_nothing_satisfies(engine: Engine) -> None:
    formulas = [compile_condition(text).formula for text in ("a = 1 AND a = 2", "a = 1")]
    index: Any = engine.build(formulas[:1])
    index.insert(1, formulas[1])
    assert check(index, formulas, EventBatch.of([{"a": 1}, {"a": 2}])) == 1


def test_pieces_have_their_hull_and_nulls_no_side() -> None:
    pieces, nulls, test = file_of("a IN (1, 2, 9)", "b IS NULL OR b = 1", "c LIKE '%x%'").sides()
    assert len(pieces) == 1
    assert nulls == []
    assert test[0][0] == -1


def test_sides_stand_from_rare_to_frequent() -> None:
    texts = [f"often = {place} AND sometimes = 1" for place in range(4)]
    file = file_of(*texts, "often = 1 AND rare = 1 AND sometimes = 2", "often = 3")
    orders = {tuple(side[0] for side in sides) for sides in file.sides()}
    often, sometimes, rare = 0, 1, 2
    assert orders == {(sometimes, often), (rare, sometimes, often), (often,)}


def test_the_order_is_made_anew_when_there_are_twice_as_many() -> None:
    file = AllFile()
    index = TermIndex(file)
    for slot in range(64):
        index.insert_many(np.array([slot], np.int32), [compile_condition(f"a{slot % 3} = {slot}").formula])
    assert file.cleared == 6  # with 1, 3, 7, 15, 31 and 63
    index.delete_many(np.arange(64, dtype=np.int32))
    assert file.filed == set()


@pytest.mark.slow
def test_strings_between_strings_until_labels_are_given_anew() -> None:
    file = AllFile()
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


def test_the_estimate_is_the_number_of_sides_that_an_event_meets() -> None:
    index = TermIndex(AllFile())
    texts = ["a > 3 AND b = 2", "a < 9", "c LIKE '%x%'", "b IS NULL"]
    formulas = [compile_condition(text, TYPE).formula for text in texts]
    index.insert_many(np.arange(len(texts), dtype=np.int32), formulas)
    events = EventBatch.of([{"a": 1}, {"a": 1, "b": 1}, {"rare": 1}, {"b": 1, "c": "axb"}], TYPE)
    assert index.estimate(events).tolist() == [2, 3, 0, 2]
