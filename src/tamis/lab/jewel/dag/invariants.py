"""The invariants of a graph, checked from scratch: four theorems of the thesis (3.7), and all counts and links.

1. No level from 1 to the highest one is empty. 2. A parent has no more uses than its child; uses are the
subscriptions that contain a node. 3. Every inner node has two children. 4. When a node is visited, the results of
its children are final: they are on lower levels, and of no lower priority.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import NoReturn

import numpy as np

from tamis.errors import TamisError
from tamis.lab.jewel.dag.kernels.functions import (
    AND,
    CALLED,
    FILTERS,
    OR,
    PREDICATE,
    filter_for,
    is_commutative,
    is_inner,
    name_of,
)
from tamis.lab.jewel.dag.kernels.inspection import GraphArrays, graph_arrays, graph_counts
from tamis.lab.jewel.dag.kernels.nodes import FREE, HAS_SLOTS, IS_FREE, IS_OR, PRIORITY, Graph, find_node


class GraphError(TamisError):
    """A graph breaks an invariant, which is a bug of the engine."""


def check_graph(graph: Graph) -> None:
    """Raise GraphError if an invariant is broken; takes time for every node of every subscription."""
    view = graph_arrays(graph)
    living = np.flatnonzero(view.functions != FREE).tolist()
    _check_free_numbers(view)
    _check_children(view, living)
    _check_levels(view, living)
    _check_parents(view, living)
    _check_subscriptions(view, living)
    _check_lookup(graph, view, living)
    _check_counts(graph, view, living)


def _fail(node: int, what: str) -> NoReturn:
    message = f"node {node}: {what}"
    raise GraphError(message)


def _check_free_numbers(view: GraphArrays) -> None:
    free = set(np.flatnonzero(view.functions == FREE).tolist())
    at = view.free
    while at >= 0:
        if at not in free:
            _fail(at, "in the list of free numbers, but it is not free, or twice there")
        free.remove(at)
        at = int(view.chain[at])
    if free:
        _fail(min(free), "free, but not in the list of free numbers")


def _check_children(view: GraphArrays, living: list[int]) -> None:
    known: dict[tuple[int, int, int], int] = {}
    for node in living:
        function = int(view.functions[node])
        key = function, int(view.lefts[node]), int(view.rights[node])
        if known.setdefault(key, node) != node:
            _fail(node, f"has the function and children of node {known[key]}")
        if not is_inner(function):
            continue
        for child in key[1:]:
            if not 0 <= child < len(view.functions) or view.functions[child] == FREE:
                _fail(node, f"theorem 3: {name_of(function)} has no child {child}")
            if view.levels[child] >= view.levels[node] or _priority(view, child) < _priority(view, node):
                _fail(node, f"theorem 4: its child {child} is visited too late")
            if view.uses[child] < view.uses[node]:
                _fail(node, f"theorem 2: {view.uses[node]} uses, its child {child} has {view.uses[child]}")
        if is_commutative(function) and key[1] > key[2]:
            _fail(node, "its children are not in order")


def _check_levels(view: GraphArrays, living: list[int]) -> None:
    found: Counter[int] = Counter()
    for node in living:
        below = [view.levels[child] for child in _children(view, node)]
        if view.levels[node] != 1 + max(below, default=0):
            _fail(node, f"level {view.levels[node]}, its children are on {below}")
        found[int(view.levels[node])] += 1
    if view.highest != max(found, default=0):
        message = f"the highest level should be {max(found, default=0)}, found {view.highest}"
        raise GraphError(message)
    for level in range(1, len(view.populations)):
        if view.populations[level] != found[level]:
            message = f"level {level} has {found[level]} nodes, {view.populations[level]} were counted"
            raise GraphError(message)
        if level <= view.highest and not found[level]:
            message = f"theorem 1: level {level} is empty, the highest is {view.highest}"
            raise GraphError(message)


def _check_parents(view: GraphArrays, living: list[int]) -> None:
    wanted: dict[int, list[int]] = {}
    for node in living:
        for child in set(_children(view, node)):
            wanted.setdefault(child, []).append(node)
    for node, (start, end) in enumerate(pairwise(view.parent_firsts.tolist())):
        if view.parent_cells[start:end].tolist() != wanted.get(node, []):
            _fail(node, f"parents {view.parent_cells[start:end]}, expected {wanted.get(node, [])}")


def _check_subscriptions(view: GraphArrays, living: list[int]) -> None:
    uses: Counter[int] = Counter()
    slots: dict[int, list[int]] = {}
    priorities: dict[int, int] = {}
    for slot in np.flatnonzero(view.root_of >= 0).tolist():
        root = int(view.root_of[slot])
        slots.setdefault(root, []).append(slot)
        reached, waiting = {root}, [root]
        while waiting:
            below = set(_children(view, waiting.pop())) - reached
            reached |= below
            waiting += below
        uses.update(reached)
        for node in reached:
            priorities[node] = max(priorities.get(node, 0), int(view.slot_priorities[slot]))
    for node in living:
        if view.uses[node] != uses[node] or not uses[node]:
            _fail(node, f"{uses[node]} subscriptions use it, {view.uses[node]} were counted")
        if _priority(view, node) != priorities[node]:
            _fail(node, f"priority {_priority(view, node)}, its subscriptions have {priorities[node]}")
        wanted = (IS_OR if view.functions[node] == OR else 0) | (HAS_SLOTS if node in slots else 0)
        free = [int(view.traits[child]) & IS_FREE for child in _children(view, node)]
        some = all(free) if view.functions[node] == AND else any(free) or view.functions[node] == CALLED
        wanted |= IS_FREE if some else 0
        if int(view.traits[node]) & ~PRIORITY != wanted:
            _fail(node, f"traits {view.traits[node]}, expected {wanted} and the priority")
    for node, (start, end) in enumerate(pairwise(view.slot_firsts.tolist())):
        if view.slot_cells[start:end].tolist() != slots.get(node, []):
            _fail(node, f"slots {view.slot_cells[start:end]}, expected {slots.get(node, [])}")


def _check_lookup(graph: Graph, view: GraphArrays, living: list[int]) -> None:
    """Every node is found by its function and children."""
    leaves = 0
    for node in living:
        leaves += int(view.functions[node] == PREDICATE)
        if find_node(graph, *(int(each[node]) for each in (view.functions, view.lefts, view.rights))) != node:
            _fail(node, "not found by its function and children")
    if np.count_nonzero(view.leaf_of >= 0) != leaves:
        message = f"{leaves} leaves, but {np.count_nonzero(view.leaf_of >= 0)} predicates have one"
        raise GraphError(message)


def _check_counts(graph: Graph, view: GraphArrays, living: list[int]) -> None:
    counts = graph_counts(graph)
    functions = view.functions[living].tolist()
    inner = Counter(filter_for(function) for function in functions if is_inner(function))
    slots = int(np.count_nonzero(view.root_of >= 0))
    wanted = [len(living), slots, functions.count(CALLED), *(inner[place] for place in range(len(FILTERS)))]
    found = [counts.nodes, counts.subscriptions, counts.called, *counts.by_filter.tolist()]
    if wanted != found:
        message = f"nodes, subscriptions, calls, nodes by filter: expected {wanted}, counted {found}"
        raise GraphError(message)


def _priority(view: GraphArrays, node: int) -> int:
    return int(view.traits[node]) & PRIORITY


def _children(view: GraphArrays, node: int) -> tuple[int, ...]:
    if not is_inner(int(view.functions[node])):
        return ()
    return int(view.lefts[node]), int(view.rights[node])
