"""The copy of a graph has what the graph has."""

from __future__ import annotations

import numpy as np

from tamis.lab.jewel.dag import Dag
from tamis.lab.jewel.dag.kernels.inspection import graph_arrays, graph_bytes, graph_counts, roots_of
from tests.lab.formulas import formulas_of


def test_counts_links_and_roots() -> None:
    index = Dag().build(formulas_of("a = 1 AND b = 2", "b = 2 AND a = 1", "a = 1"))
    graph = index._graph
    counts, arrays = graph_counts(graph), graph_arrays(graph)
    assert (counts.subscriptions, counts.nodes, counts.edges, counts.highest) == (3, 3, 2, 2)
    roots = roots_of(graph, np.array([0, 1, 2, 3, -1], np.int32)).tolist()
    assert roots[0] == roots[1] != roots[2]
    assert roots[3:] == [-1, -1]
    (top, leaf) = roots[0], roots[2]
    assert leaf in (arrays.lefts[top], arrays.rights[top])
    assert arrays.parent_cells[arrays.parent_firsts[leaf] : arrays.parent_firsts[leaf + 1]].tolist() == [top]
    assert arrays.slot_cells[arrays.slot_firsts[top] : arrays.slot_firsts[top + 1]].tolist() == [0, 1]
    assert graph_bytes(graph).nodes >= 25 * counts.nodes
