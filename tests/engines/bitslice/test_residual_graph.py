"""The residual graph has what is below its roots, equal parts once, however they are written."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.engines.bitslice.residual_graph import residual_graph_of
from tamis.engines.forest import PIECES, TEST, Forest, forest_of
from tamis.engines.formula_program import FormulaGraph
from tamis.events import EventType
from tamis.language.condition import compile_condition
from tests.engines.bitslice.build_steps import build_steps

E = EventType.from_dict({"name": "e", "attributes": {"a": "int", "b": "int", "s": "string"}})

Part = tuple[object, ...]
"""A leaf, or a node with the set of its children, as a value that is equal where the parts are."""


def graph_of(texts: list[str], roots: list[int] | None = None) -> tuple[Forest, FormulaGraph, list[int]]:
    forest = forest_of([compile_condition(text, E).formula for text in texts])
    some = forest.roots if roots is None else forest.roots[roots]
    graph, numbers = residual_graph_of(forest, *forest.nodes, some.astype(np.int64))
    return forest, graph, numbers.tolist()


def naive_parts(forest: Forest, root: int, found: set[Part]) -> Part:
    """The part of a node or leaf, which is added to `found` with everything below it."""
    leaves, pieces, nodes = forest.leaves, forest.pieces, forest.nodes
    part: Part
    if root >= 0:
        children = nodes.children[nodes.firsts[root] : nodes.firsts[root + 1]].tolist()
        below = sorted((naive_parts(forest, child, found) for child in children), key=repr)
        part = ("node", int(nodes.least[root]), *below)
    else:
        kind, low, high = (int(each[~root]) for each in (leaves.kinds, leaves.lows, leaves.highs))
        intervals = (*pieces.lows[low:high].tolist(), *pieces.highs[low:high].tolist())
        content = intervals if kind == PIECES else (low, 0 if kind == TEST else high)
        part = ("leaf", kind, int(leaves.nulls[~root]), int(leaves.axes[~root]), *content)
    found.add(part)
    return part


@pytest.mark.parametrize("domain", [4, 50])
def test_every_different_part_is_there_once(domain: int) -> None:
    forest = build_steps(31, 80, 1, domain=domain, depth=3).forest
    roots = forest.roots[::2].astype(np.int64)
    graph, numbers = residual_graph_of(forest, *forest.nodes, roots)
    found = set[Part]()
    wanted = [naive_parts(forest, root, found) for root in roots.tolist()]
    assert len(graph.kinds) == sum(part[0] == "leaf" for part in found)
    assert len(graph.least) == sum(part[0] == "node" for part in found)
    by_part = dict(zip(wanted, numbers.tolist(), strict=True))
    assert numbers.tolist() == [by_part[part] for part in wanted]
    assert len(set(by_part.values())) == len(by_part)


def test_the_order_of_operands_makes_no_difference() -> None:
    _, graph, numbers = graph_of(["a > 1 AND (b > 2 OR s LIKE '%x%')", "(s LIKE '%x%' OR b > 2) AND a > 1"])
    assert numbers[0] == numbers[1]
    assert (len(graph.kinds), len(graph.least), len(graph.children)) == (3, 2, 4)


def test_formulas_share_parts() -> None:
    _, graph, numbers = graph_of(["a > 1 AND b > 2", "(a > 1 AND b > 2) OR s LIKE '%x%'", "a > 1"])
    children = graph.children[graph.firsts[numbers[1]] : graph.firsts[numbers[1] + 1]].tolist()
    assert numbers[0] in children
    assert numbers[2] in graph.children[graph.firsts[numbers[0]] :][:2].tolist()


def test_what_no_root_leads_to_is_left_out() -> None:
    forest, graph, numbers = graph_of(["a IN (1, 5, 9) AND b > 2", "a IN (2, 6, 8)", "b < 7"], [1])
    assert len(forest.pieces.lows) == 6
    assert (numbers, len(graph.kinds), len(graph.least)) == ([~0], 1, 0)
    assert graph.piece_lows.tolist() == graph.piece_highs.tolist() == [2, 6, 8]
    assert (int(graph.lows[0]), int(graph.highs[0])) == (0, 3), "the part of its own pieces"


def test_children_come_before_their_parents() -> None:
    forest = build_steps(32, 60, 1, depth=3).forest
    graph, _ = residual_graph_of(forest, *forest.nodes, forest.roots.astype(np.int64))
    for node in range(len(graph.least)):
        assert (graph.children[graph.firsts[node] : graph.firsts[node + 1]] < node).all()


def test_nothing_wanted_is_an_empty_graph() -> None:
    _, graph, numbers = graph_of(["a > 1 AND b > 2"], [])
    assert not numbers and not len(graph.kinds) and graph.firsts.tolist() == [0]
