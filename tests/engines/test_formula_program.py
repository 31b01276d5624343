"""Formulas evaluated one by one say what their masks say."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.encoding import Encoder
from tamis.engines.forest import forest_of
from tamis.engines.formula_program import (
    ALL,
    ANY,
    AT_LEAST,
    SHARED,
    Candidates,
    FormulaGraph,
    FormulaProgram,
    child_counts,
    lay_out,
    new_memory,
    program_of,
    row_tests_of,
    verify_candidates,
)
from tamis.events import EventBatch
from tamis.formulas.formula import Formula
from tamis.frames import BatchFrame
from tamis.language.condition import compile_condition
from tests.engines.naive import pairs_of, random_events, random_forest
from tests.worlds import WORLDS, world


def evaluate_all(formulas: list[Formula], batch: EventBatch) -> list[tuple[int, int]]:
    """All pairs, each evaluated."""
    forest = forest_of(formulas)
    program, roots = program_of(forest)
    event = Encoder(forest.axes, forest.tests).encode(BatchFrame(batch))
    rows, slots = np.divmod(np.arange(batch.rows * len(formulas), dtype=np.int32), len(formulas))
    candidates = Candidates(rows.astype(np.int32), slots.astype(np.int32), np.zeros(len(rows), np.uint8))
    pairs = verify_candidates(
        program, roots, event, row_tests_of(event), candidates, new_memory(program, len(forest.tests))
    )
    return list(zip(pairs.rows.tolist(), pairs.slots.tolist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_random_conditions(name: str) -> None:
    random_ = random.Random(51)
    formulas = [condition.formula for condition in world(name).accepted(random_, 150)]
    batch = world(name).batch(random_, 30)
    assert evaluate_all(formulas, batch) == pairs_of(formulas, batch)


def test_random_forests() -> None:
    random_ = random.Random(52)
    formulas = list(random_forest(random_, 200, depth=4))
    batch = random_events(random_, 4, 50, 30)
    assert evaluate_all(formulas, batch) == pairs_of(formulas, batch)


def test_what_is_sure_is_not_evaluate_all() -> None:
    formulas = [compile_condition("a = 1").formula, compile_condition("a = 2").formula]
    forest = forest_of(formulas)
    program, roots = program_of(forest)
    event = Encoder(forest.axes, forest.tests).encode(BatchFrame(EventBatch.of([{"a": 1}])))
    rows, slots = np.zeros(2, np.int32), np.arange(2, dtype=np.int32)
    for sure, wanted in (([1, 1], [0, 1]), ([0, 0], [0]), ([0, 1], [0, 1])):
        candidates = Candidates(rows, slots, np.array(sure, np.uint8))
        assert (
            verify_candidates(
                program,
                roots,
                event,
                row_tests_of(event),
                candidates,
                new_memory(program, len(forest.tests)),
            ).slots.tolist()
            == wanted
        )


def test_shared_nodes_are_evaluated_once() -> None:
    """As a tree, this one would have 2 ** 40 leaves."""
    formula = compile_condition(" XOR ".join(f"a{number} = 1" for number in range(40))).formula
    odd = {f"a{number}": 1 if number < 7 else 0 for number in range(40)}
    even = {f"a{number}": 1 if number < 8 else 0 for number in range(40)}
    assert evaluate_all([formula], EventBatch.of([odd, even])) == [(0, 0)]


def nested(graph: FormulaGraph, root: int) -> tuple[object, ...]:
    if root < 0:
        return ("leaf", ~root)
    children = graph.children[graph.firsts[root] : graph.firsts[root + 1]].tolist()
    return (int(graph.least[root]), *(nested(graph, child) for child in children))


def nested_records(program: FormulaProgram, root: int, remembered: dict[int, int]) -> tuple[object, ...]:
    """What the records say, read word by word; `remembered` gets the places of values and their nodes."""
    if root < 0:
        return ("leaf", ~root)
    head, *words = program.records[root:].tolist()
    count, kind = head >> 3, head & 3
    least = {ALL: count, ANY: 1}.get(kind)
    if kind == AT_LEAST:
        least = words.pop(0)
    if head & SHARED:
        assert remembered.setdefault(words.pop(0), root) == root
    return (least, *(nested_records(program, child, remembered) for child in words[:count]))


def test_records_say_what_the_graph_says() -> None:
    """Nodes 0 and 1 have two parents each, 2 is at least two of three, 4 is TRUE and 5 is FALSE."""
    least = np.array([2, 1, 2, 1, 0, 1], np.int32)
    children = [[~0, ~1], [0, ~2, ~3], [0, 1, ~4], [1, 2], [], []]
    firsts = np.cumsum([0, *map(len, children)])
    none = np.empty(0, np.int64)
    bytes_, axes, bounds = np.zeros(5, np.uint8), np.zeros(5, np.int32), np.zeros(5, np.int64)
    joined = np.array([child for each in children for child in each], np.int32)
    graph = FormulaGraph(bytes_, bytes_, axes, bounds, bounds, none, none, least, firsts, joined)
    roots = np.array([3, ~2, 4, 5, 3, 2])
    program, places = lay_out(graph, roots)
    remembered: dict[int, int] = {}
    for root, place in zip(roots.tolist(), places.tolist(), strict=True):
        assert nested_records(program, place, remembered) == nested(graph, root)
    assert sorted(remembered) == [0, 1, 2, 3], "nodes 0, 1, 2 and 3 are named more than once"
    assert program.sizes.tolist() == [6, 4, 4]
    inner = places[places >= 0].astype(np.int32)
    assert child_counts(program, inner).tolist() == [2, 0, 0, 2, 3]
