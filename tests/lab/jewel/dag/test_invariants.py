"""A graph that breaks an invariant is found out, and the message says which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import pytest

from tamis.lab.jewel.dag import DagIndex
from tamis.lab.jewel.dag.invariants import GraphError
from tamis.language.condition import compile_condition


@pytest.fixture
def index() -> DagIndex:
    """Leaves a, b and c are nodes 0, 1 and 3, a AND b is 2, (a AND b) AND c is 4; 5 and 6 are free."""
    made = DagIndex()
    for slot, text in enumerate(("a = 1 AND b = 1", "a = 1 AND b = 1 AND c = 1", "a = 1 AND d = 1")):
        made.insert(slot, compile_condition(text).formula)
    made.delete(2)
    made.check()
    return made


@numba.njit(cache=True, nogil=True)
def level(graph: Any) -> None:
    graph.levels[4] = 4


@numba.njit(cache=True, nogil=True)
def uses(graph: Any) -> None:
    graph.uses[0] = 1


@numba.njit(cache=True, nogil=True)
def more_uses(graph: Any) -> None:
    graph.uses[0] = 9


@numba.njit(cache=True, nogil=True)
def child(graph: Any) -> None:
    graph.rights[4] = 6


@numba.njit(cache=True, nogil=True)
def order(graph: Any) -> None:
    graph.levels[2] = 3


@numba.njit(cache=True, nogil=True)
def population(graph: Any) -> None:
    graph.populations[2] = 0


@numba.njit(cache=True, nogil=True)
def highest(graph: Any) -> None:
    graph.highest = 4


@numba.njit(cache=True, nogil=True)
def free(graph: Any) -> None:
    graph.free = -1


@numba.njit(cache=True, nogil=True)
def free_but_used(graph: Any) -> None:
    graph.free = 4


@numba.njit(cache=True, nogil=True)
def priority(graph: Any) -> None:
    graph.traits[0] |= 3


@numba.njit(cache=True, nogil=True)
def trait(graph: Any) -> None:
    graph.traits[2] |= 8


@numba.njit(cache=True, nogil=True)
def parent(graph: Any) -> None:
    graph.parents.counts[0] = 0


@numba.njit(cache=True, nogil=True)
def slot(graph: Any) -> None:
    graph.slots.counts[2] = 0


@numba.njit(cache=True, nogil=True)
def table(graph: Any) -> None:
    graph.table[:] = -1


@numba.njit(cache=True, nogil=True)
def leaf(graph: Any) -> None:
    graph.leaf_of[graph.lefts[0]] = 1


@numba.njit(cache=True, nogil=True)
def count(graph: Any) -> None:
    graph.by_filter[2] += 1


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (level, r"node 4: level 4, its children are on \[.*\]"),
        (uses, "node 2: theorem 2: 2 uses, its child 0 has 1"),
        (more_uses, "node 0: 2 subscriptions use it, 9 were counted"),
        (child, "node 4: theorem 3: AND has no child 6"),
        (order, "node 4: theorem 4: its child 2 is visited too late"),
        (population, "level 2 has 1 nodes, 0 were counted"),
        (highest, "the highest level should be 3, found 4"),
        (free, "free, but not in the list of free numbers"),
        (free_but_used, "node 4: in the list of free numbers, but it is not free"),
        (priority, "node 0: priority 3, its subscriptions have 0"),
        (trait, "node 2: traits 24, expected 16 and the priority"),
        (parent, "node 0: parents"),
        (slot, "node 2: slots"),
        (table, "node 2: not found by its function and children"),
        (leaf, "node 0: not found by its function and children"),
        (count, "nodes by filter"),
    ],
)
def test_broken_invariants_are_found(index: DagIndex, damage: Callable[[Any], None], message: str) -> None:
    damage(index._graph)
    with pytest.raises(GraphError, match=message):
        index.check()
