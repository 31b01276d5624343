"""Mask programs: nested formulas that many events come near, evaluated for all events of a batch.

The search by entries finds the few events that may satisfy a formula and evaluates it for each of them. Where that
would be many events, it is cheaper to compute the formula as a mask, like `scan`, but over cell ranges and with
every node that formulas share once. The choice is made for each formula, by the share of events that are expected
to reach it.

Programs are independent of each other. Each has so few cell ranges and nodes that two bytes number both, and that
the table of their masks stays in the cache. Its cells are exact: every bound of its formulas is a cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tamis.arrays import F64, I32, I64, Bools
from tamis.engines.bitslice.cell_ranges import number_ranges
from tamis.engines.bitslice.cells import exact_cells
from tamis.engines.bitslice.kernels.cell_ranges import NumberedRanges
from tamis.engines.bitslice.kernels.mask_programs import (
    ALL,
    ANY,
    AT_LEAST,
    HEAD,
    RUN,
    fill_several,
    levels_of,
    write_children,
)
from tamis.engines.bitslice.layout import MaskPrograms
from tamis.engines.bitslice.residual_graph import residual_graph_of
from tamis.engines.forest import INTERVAL, PIECES, Forest, Leaves, Nodes, Pieces
from tamis.engines.forest.axes import LOWEST
from tamis.engines.forest.selection import select_formulas
from tamis.engines.selectivity import leaf_selectivities, most_selective_parts
from tamis.statistics import Statistics

FEWEST_FORMULAS = 256
"""Fewer take less time than the tables of a program."""
_WALK_NS = 8.0
"""To evaluate one child of a node for one event that has come so far."""
_MASK_NS = 0.4
"""To compute one child of a node for one event, three at a time. In batches it is a tenth of that, so that
programs would pay sooner, but a single event pays for all of them."""
_MOST_POSITIONS = 1 << 16
"""Cell ranges and nodes of a program."""


class _FormulaSizes(NamedTuple):
    """Of each formula.

    children: int64[formulas]: of all of its nodes.
    ranges: [formulas]: of leaves that are several cell ranges, these, too.
    positions: int64[formulas]: what it takes in a program, at most.
    """

    children: I64
    ranges: F64 | I64
    positions: I64


def formulas_for_masks(forest: Forest, statistics: Statistics | None) -> I64:
    """The slots of formulas that are cheaper as masks; none if they are few."""
    none = np.empty(0, np.int64)
    nested = np.flatnonzero(_is_nested(forest))
    if len(nested) < FEWEST_FORMULAS:
        return none
    some = select_formulas(forest, nested)
    sizes = _sizes_of(some)
    reached = most_selective_parts(some.nodes, leaf_selectivities(some, statistics))[some.roots]
    is_cheaper = _MASK_NS * (sizes.children + sizes.ranges) < _WALK_NS * reached * sizes.children
    chosen = is_cheaper & (sizes.positions + len(forest.axes) <= _MOST_POSITIONS)
    return nested[chosen] if np.count_nonzero(chosen) >= FEWEST_FORMULAS else none


def mask_programs_of(forest: Forest, slots: I64) -> MaskPrograms:
    """The programs of these formulas of a forest."""
    parts = [_program_of(forest, some) for some in _parts(forest, slots)]
    axes = len(forest.axes)
    sizes = [(len(each.slots), len(each.range_lows), len(each.runs) // RUN, len(each.children)) for each in parts]
    heads = np.concatenate(
        [[0] * HEAD, np.cumsum(np.array(sizes, np.int64).reshape(-1, HEAD), axis=0).reshape(-1)]
    )
    cuts = np.cumsum([0, *(len(each.cuts) for each in parts)])
    joined = MaskPrograms(*(np.concatenate(some) for some in zip(_no_program(), *parts, strict=True)))
    return joined._replace(heads=heads, cut_firsts=joined.cut_firsts + np.repeat(cuts[:-1], axes + 1))


def positions_of(programs: MaskPrograms) -> int:
    """Cell ranges and nodes of the largest program: the masks that a table must hold."""
    ranges, runs = (programs.heads.reshape(-1, HEAD)[:, column] for column in (1, 2))
    nodes = np.concatenate([[0], np.cumsum(programs.runs.reshape(-1, RUN)[:, 3])])
    return int(np.max(np.diff(ranges) + np.diff(nodes[runs]), initial=0))


def _no_program() -> MaskPrograms:
    """Arrays without elements, of the types that programs have."""
    i32, i64, u16 = np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.uint16)
    return MaskPrograms(i64, i32, u16, i32, i64, i64, i32, i32, i32, i32, u16)


def _is_nested(forest: Forest) -> Bools:
    """Per formula: is it more than a leaf, a constant or an AND of leaves?"""
    nodes = forest.nodes
    sizes = np.diff(nodes.firsts)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    has_nodes = np.bincount(owners[nodes.children >= 0], minlength=len(sizes)) > 0
    is_nested = np.append((sizes > 0) & (has_nodes | (nodes.least != sizes)), False)
    return np.asarray(is_nested[np.maximum(forest.roots, -1)])


def _sizes_of(forest: Forest) -> _FormulaSizes:
    """The sizes of formulas that `select_formulas` has put one after the other, none of which is a leaf."""
    nodes, leaves = forest.nodes, forest.leaves
    sizes = np.diff(nodes.firsts)
    owners = np.searchsorted(forest.roots, np.arange(len(sizes)))  # a root is the last node of its formula
    by_child = np.repeat(owners, sizes)
    is_leaf = nodes.children < 0
    leaf_owners = np.empty(len(leaves.kinds), np.int64)
    leaf_owners[~nodes.children[is_leaf]] = by_child[is_leaf]
    # A leaf takes its range; one of several ranges these, their hull and a node.
    ranges = np.where(
        leaves.kinds == PIECES, leaves.highs - leaves.lows + 2, 1 + 2 * leaves.nulls.astype(np.int64)
    )
    count = len(forest)
    positions = np.bincount(leaf_owners, ranges, count) + np.bincount(owners, minlength=count)
    children = np.bincount(by_child, minlength=count)
    return _FormulaSizes(children, np.bincount(leaf_owners, ranges - 1, count), positions.astype(np.int64))


def _parts(forest: Forest, slots: I64) -> Iterator[I64]:
    """The slots, in parts that fit into one program."""
    if not len(slots):
        return
    room = _MOST_POSITIONS - len(forest.axes)
    ends = np.cumsum(_sizes_of(select_formulas(forest, slots)).positions)
    first = 0
    while first < len(slots):
        before = ends[first - 1] if first else 0
        last = int(np.searchsorted(ends, before + room, side="right"))
        yield slots[first:last]
        first = last


def _program_of(forest: Forest, slots: I64) -> MaskPrograms:
    """One program; its `heads` are empty, and its `cut_firsts` begin at 0."""
    selected = select_formulas(forest, slots)
    graph, roots = residual_graph_of(selected, *selected.nodes, selected.roots.astype(np.int64))
    leaves, pieces, nodes = Leaves(*graph[:5]), Pieces(*graph[5:7]), Nodes(*graph[7:])
    interned = replace(selected, leaves=leaves, pieces=pieces)
    cells = exact_cells(interned)
    numbered = number_ranges(interned, cells)
    least, firsts, children, first_node = _with_nodes_of_leaves(leaves, nodes, numbered)
    order, runs = _runs_of(least, firsts, children)
    positions = np.empty(len(least), np.int32)
    positions[order] = np.arange(len(numbered.ranges.lows), len(numbered.ranges.lows) + len(least))
    written = np.empty(len(children), np.uint16)
    write_children(order, positions, firsts, children, written)
    return MaskPrograms(
        heads=np.empty(0, np.int64),
        slots=slots.astype(np.int32),
        roots=positions[roots + first_node].astype(np.uint16),
        bases=cells.bases,
        cut_firsts=cells.cut_firsts,
        cuts=cells.cuts,
        range_lows=numbered.ranges.lows,
        range_highs=numbered.ranges.highs,
        range_axes=numbered.ranges.axes,
        runs=runs,
        children=written,
    )


def _with_nodes_of_leaves(leaves: Leaves, nodes: Nodes, numbered: NumberedRanges) -> tuple[I64, I64, I32, int]:
    """The nodes, whose children c < 0 are now cell ranges ~c: `least`, `firsts`, `children`.

    A leaf of several cell ranges becomes a node, the OR of these. Such nodes come first; the last element of the
    tuple is their number.
    """
    is_pieces = leaves.kinds == PIECES
    has_bound = (leaves.kinds == INTERVAL) & (leaves.lows != LOWEST) & (leaves.lows <= leaves.highs)
    several = np.flatnonzero(is_pieces | (has_bound & (leaves.nulls != 0))).astype(np.int32)
    sizes = np.where(is_pieces, leaves.highs - leaves.lows, 1)[several] + leaves.nulls[several]
    firsts = np.concatenate([[0], np.cumsum(sizes)])
    own = np.empty(int(firsts[-1]), np.int32)
    fill_several(several, leaves, (numbered.values, numbered.pieces, numbered.nulls), firsts, own)
    of_leaf = ~numbered.leaves
    of_leaf[several] = np.arange(len(several))
    is_leaf = nodes.children < 0
    children = np.where(is_leaf, 0, nodes.children + len(several)).astype(np.int32)
    children[is_leaf] = of_leaf[~nodes.children[is_leaf]]
    return (
        np.concatenate([np.ones(len(several), np.int64), nodes.least]),
        np.concatenate([firsts, firsts[-1] + nodes.firsts[1:]]),
        np.concatenate([own, children]),
        len(several),
    )


def _runs_of(least: I64, firsts: I64, children: I32) -> tuple[I64, I32]:
    """The order in which nodes are evaluated, children first, and its runs of nodes of the same kind."""
    sizes = np.diff(firsts)
    kinds = np.where(least == sizes, ALL, np.where(least == 1, ANY, AT_LEAST))
    fields = (kinds, np.where(kinds == AT_LEAST, least, 0), sizes)
    levels = levels_of(firsts, children)
    # Equal nodes keep their order, that of formulas, so that what a formula reads stands together.
    order = np.lexsort((*reversed(fields), levels))
    keys = np.stack([each[order] for each in (levels, *fields)])
    begins = np.flatnonzero(np.concatenate([[True], (keys[:, 1:] != keys[:, :-1]).any(axis=0)]))
    counts = np.diff(np.append(begins, len(order)))
    return order, np.stack([*keys[1:, begins], counts], axis=1).astype(np.int32).reshape(-1)
