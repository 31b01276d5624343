"""Formulas as arrays that can be generalised in place: the result of a pruning is simplified as `at_least` would.

The nodes of an entry keep their numbers while it is pruned. A node has an operand list, a range of `items`: an
item i >= 0 is node i, an item i < 0 is atom ~i. Atoms are the leaves of the forest and, behind them, the unions
and intersections that simplification makes of leaves on one attribute. Lists, atoms and intervals are appended,
first tentatively: what stands behind the counts in `used` is scratch, and `commit` moves these counts.

    s.items   | lists of all nodes ............ | tentative lists |     room
                                         used[0] ^     ^ tentative[0]

Every kernel that appends stops with a `STATE` of `FULL` when there is no room; nothing is committed then, and
the caller makes room and repeats it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tamis.arrays import F64, I32, I64, U8, U64, Bools
from tamis.engines.forest import Forest, ranges_of
from tamis.formulas.formula import FALSE, TRUE, Formula, at_least, leaf
from tamis.formulas.predicates.base import Frame
from tamis.formulas.predicates.within import Within
from tamis.kernels import kernel
from tamis.routing import stored_bytes
from tamis.routing.leaf_sets import (
    AxisFacts,
    axis_facts,
    leaf_sets,
    set_hashes,
)
from tamis.statistics import Statistics

ITEMS, ATOMS, INTERVALS, KEYS, STAMP, STATE = range(6)
"""Places in `used` and `tentative`: lengths, occupied keys, the last stamp of axes, and what went wrong."""
FULL, TOO_WIDE = 1, 2
"""States: there is no room, or simplification would make a list longer than all lists of the formula."""
TRUE_ITEM, FALSE_ITEM = 1 << 40, (1 << 40) + 1
LOW, AVERAGE, HIGH, P_MIN, TREE, STORED, USES, OPAQUE = range(8)
"""Columns of facts: three selectivities, the least number of predicates that must hold, bytes of the encoded tree,
stored bytes, occurrences of the predicates in all entries, and 1 if all of them are opaque."""


class FormulaArrays(NamedTuple):
    """All formulas.

    least, firsts, lasts: of each node; its operands are `items[firsts[n]:lasts[n]]`.
    roots: int64[formulas]: an item, `TRUE_ITEM` or `FALSE_ITEM`.
    lowest: int64[formulas]: the lowest node of each; its nodes are from there to its root.
    axes to uses: of each atom; its occurrences are those when its formula was measured.
    keys, counts: a hash table, the occurrences of each predicate by its hash.
    """

    least: I32
    firsts: I64
    lasts: I64
    items: I32
    roots: I64
    lowest: I64
    axes: I32
    nulls: U8
    set_firsts: I64
    set_lasts: I64
    hashes: U64
    selectivities: F64
    stored: F64
    opaque: Bools
    uses: F64
    lows: I64
    highs: I64
    facts: AxisFacts
    keys: U64
    counts: I64
    used: I64


class Workspace(NamedTuple):
    """Scratch for one formula at a time; `values[version, node]` are facts, version 1 those after a pruning."""

    reached: U8
    changed: U8
    kept: U8
    results: I64
    values: F64
    hashes: U64
    least: I64
    firsts: I64
    lasts: I64
    gathered: I64
    flat: I64
    keys: U64
    operands: F64
    times: I64
    axis_stamps: I64
    axis_places: I64
    tentative: I64


def formula_arrays(
    forest: Forest, statistics: Statistics | None = None, sample: Sequence[Frame] = ()
) -> FormulaArrays:
    """The formulas of a forest, not pruned yet; selectivities are those of a sample, or by statistics."""
    nodes = forest.nodes
    facts = axis_facts(forest, statistics, sample)
    leaves = leaf_sets(forest, facts)
    pieces = leaves.lasts - leaves.firsts
    cuts = np.append(facts.cuts, 0.0)[np.maximum(leaves.axes, -1)]
    stored = stored_bytes.leaf_bytes(pieces, cuts)
    stored[leaves.axes < 0] = stored_bytes.test_bytes(forest)
    roots = forest.roots.astype(np.int64)
    is_inner = np.append(nodes.firsts[1:] > nodes.firsts[:-1], True)[np.where(roots >= 0, roots, -1)]
    constants = np.append(np.where(nodes.least > 0, FALSE_ITEM, TRUE_ITEM), 0)[np.where(roots >= 0, roots, -1)]
    hashes = set_hashes(leaves)
    size = 16
    while size < 4 * len(hashes):
        size *= 2
    counts = (len(nodes.children), len(hashes), len(leaves.lows), 0, 0, 0)
    return FormulaArrays(
        nodes.least.copy(),
        nodes.firsts[:-1].copy(),
        nodes.firsts[1:].copy(),
        nodes.children.astype(np.int32),
        np.where(is_inner, roots, constants),
        _lowest_nodes(nodes.firsts, nodes.children, roots),
        leaves.axes,
        leaves.nulls,
        leaves.firsts,
        leaves.lasts,
        hashes,
        leaves.selectivities,
        stored,
        leaves.opaque,
        np.zeros(len(hashes)),
        leaves.lows.copy(),
        leaves.highs.copy(),
        facts,
        np.zeros(size, np.uint64),
        np.zeros(size, np.int64),
        np.array(counts, np.int64),
    )


def with_room(s: FormulaArrays) -> FormulaArrays:
    """The same with room for twice as many lists, atoms, intervals and predicates."""
    items, atoms, intervals = (2 * int(s.used[each]) + 1024 for each in (ITEMS, ATOMS, INTERVALS))
    per_atom = ("axes", "nulls", "set_firsts", "set_lasts", "hashes", "selectivities", "stored", "opaque", "uses")
    longer: dict[str, Any] = {name: np.resize(getattr(s, name), atoms) for name in per_atom}
    keys, counts = np.zeros(2 * len(s.keys), np.uint64), np.zeros(2 * len(s.keys), np.int64)
    _copy_counts(s.keys, s.counts, keys, counts)
    return s._replace(
        items=np.resize(s.items, items),
        lows=np.resize(s.lows, intervals),
        highs=np.resize(s.highs, intervals),
        keys=keys,
        counts=counts,
        **longer,
    )


def workspace(s: FormulaArrays) -> Workspace:
    """Scratch for the largest of the formulas."""
    is_node = (s.roots >= 0) & (s.roots < TRUE_ITEM)
    span = int((s.roots[is_node] - s.lowest[is_node] + 1).max(initial=1))
    sizes = np.concatenate([np.zeros(1, np.int64), np.cumsum(s.lasts - s.firsts)])
    width = int((sizes[s.roots[is_node] + 1] - sizes[s.lowest[is_node]]).max(initial=1))
    axes = len(s.facts.points)
    return Workspace(
        np.zeros(span, np.uint8),
        np.zeros(span, np.uint8),
        np.zeros(span, np.uint8),
        np.zeros(span, np.int64),
        np.zeros((2, span, 8)),
        np.zeros((2, span), np.uint64),
        np.zeros(span, np.int64),
        np.zeros(span, np.int64),
        np.zeros(span, np.int64),
        np.zeros(2 * width, np.int64),
        np.zeros(2 * width, np.int64),
        np.zeros(2 * width, np.uint64),
        np.zeros((4, 2 * width)),
        np.zeros(span, np.int64),
        np.zeros(axes, np.int64),
        np.zeros(axes, np.int64),
        np.zeros(6, np.int64),
    )


def formula_at(forest: Forest, s: FormulaArrays, number: int) -> Formula:
    """A formula as an object; `forest` is the one that the arrays were made from."""
    return _formula(forest, s, int(s.roots[number]), {})


def _formula(forest: Forest, s: FormulaArrays, item: int, known: dict[int, Formula]) -> Formula:
    if item in (TRUE_ITEM, FALSE_ITEM):
        return TRUE if item == TRUE_ITEM else FALSE
    if item not in known:
        if item >= 0:
            items = s.items[s.firsts[item] : s.lasts[item]].tolist()
            known[item] = at_least(int(s.least[item]), [_formula(forest, s, each, known) for each in items])
        elif ~item < len(forest.leaves.kinds):
            known[item] = leaf(forest.predicate(~item))
        else:
            axis, span = forest.axes[s.axes[~item]], slice(int(s.set_firsts[~item]), int(s.set_lasts[~item]))
            intervals = list(zip(s.lows[span].tolist(), s.highs[span].tolist(), strict=True))
            known[item] = leaf(Within(axis.attribute, ranges_of(axis, intervals), bool(s.nulls[~item])))
    return known[item]


@kernel
def _lowest_nodes(firsts: I64, children: I32, roots: I64) -> I64:
    lowest = np.arange(len(firsts) - 1)
    for node in range(len(lowest)):
        for place in range(firsts[node], firsts[node + 1]):
            if children[place] >= 0:
                lowest[node] = min(lowest[node], lowest[children[place]])
    found = np.zeros(len(roots), np.int64)
    for number in range(len(roots)):
        if roots[number] >= 0:
            found[number] = lowest[roots[number]]
    return found


@kernel(forceinline=True)
def slot_of(keys: U64, key: np.uint64) -> int:
    """The place of a key in an open hash table, or the free place for it; 0 marks free places."""
    key = key if key else np.uint64(1)
    place = key & np.uint64(len(keys) - 1)
    while keys[place] and keys[place] != key:
        place = (place + np.uint64(1)) & np.uint64(len(keys) - 1)
    return int(place)


@kernel
def _copy_counts(keys: U64, counts: I64, new_keys: U64, new_counts: I64) -> None:
    for place in range(len(keys)):
        if keys[place] and counts[place]:
            slot = slot_of(new_keys, keys[place])
            new_keys[slot], new_counts[slot] = keys[place], counts[place]
