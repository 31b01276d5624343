"""An interned program has equal parts once, and says what the forest says."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.bitslice.kernels.interning import _sort, intern_nodes
from tamis.engines.bitslice.residual_graph import residual_graph_of
from tamis.engines.forest import PIECES, empty_leaves
from tamis.engines.formula_program import FormulaGraph, holds, lay_out, new_memory
from tests.engines.bitslice.build_steps import build_steps


def test_equal_parts_are_one_and_mean_the_same() -> None:
    steps = build_steps(11, 60, 12, domain=6, depth=3)
    nodes, roots = steps.forest.nodes, steps.forest.roots.astype(np.int64)
    graph, numbers = residual_graph_of(steps.forest, *nodes, np.concatenate([roots, roots]))
    assert numbers[: len(roots)].tolist() == numbers[len(roots) :].tolist()
    parts = [
        (int(graph.least[node]), *graph.children[graph.firsts[node] : graph.firsts[node + 1]].tolist())
        for node in range(len(graph.least))
    ]
    assert len(set(parts)) == len(parts)
    assert len(graph.kinds) < len(steps.forest.leaves.kinds), "some leaves are equal"
    program, numbers = lay_out(graph, numbers)
    memory = new_memory(program, 0)
    for event in range(len(steps.events)):
        memory.turn[0] += 1
        for slot, root in enumerate(roots.tolist()):
            assert holds(program, int(numbers[slot]), steps.encoded, event, memory) == steps.holds(root, event)


def unfolded(program: FormulaGraph, root: int) -> tuple[object, ...]:
    """All that a root asks, in an order that does not depend on numbers."""
    if root >= 0:
        children = program.children[program.firsts[root] : program.firsts[root + 1]].tolist()
        return int(program.least[root]), *sorted((unfolded(program, child) for child in children), key=repr)
    leaf, lows, highs = ~root, program.lows, program.highs
    low, high = int(lows[leaf]), int(highs[leaf])
    own: list[object] = [low, high]
    if program.kinds[leaf] == PIECES:
        own = [*zip(program.piece_lows[low:high].tolist(), program.piece_highs[low:high].tolist(), strict=True)]
    return "leaf", int(program.kinds[leaf]), int(program.nulls[leaf]), int(program.axes[leaf]), *own


@pytest.mark.parametrize("seed", range(5))
def test_roots_are_one_where_their_formulas_are_equal(seed: int) -> None:
    forest = build_steps(seed, 40, 1, domain=4, depth=3).forest
    least, firsts, children = forest.nodes
    source = FormulaGraph(*forest.leaves, *forest.pieces, least, firsts, children)
    leaves, nodes = len(source.kinds), len(source.least)
    roots = np.concatenate([forest.roots.astype(np.int64), ~np.arange(leaves)])
    wanted = [unfolded(source, root) for root in roots.tolist()]
    pieces = np.empty(len(source.piece_lows), np.int64)
    out = FormulaGraph(
        *empty_leaves(leaves),
        pieces,
        pieces.copy(),
        np.empty(nodes, np.int32),
        np.zeros(nodes + 1, np.int64),
        np.empty(len(source.children), np.int32),
    )
    tables = [np.full(1 << 12, -1, np.int32) for _ in range(2)]
    counts = intern_nodes(source, roots, out, *tables).tolist()
    assert [unfolded(out, root) for root in roots.tolist()] == wanted
    assert len(set(roots.tolist())) == len({repr(each) for each in wanted})
    assert counts[0] <= leaves and counts[2] <= nodes


@pytest.mark.parametrize("count", [0, 1, 2, 31, 32, 33, 200])
def test_few_and_many_children_are_sorted(count: int) -> None:
    numbers = np.array([random.Random(count).randrange(-50, 50) for _ in range(count)], np.int32)
    wanted = sorted(numbers.tolist())
    _sort(numbers)
    assert numbers.tolist() == wanted
