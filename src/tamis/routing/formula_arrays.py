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

from typing import Any, NamedTuple

import numpy as np

from tamis.arrays import F64, I32, I64, U8, U64, Bools
from tamis.engines.forest import Forest, ranges_of
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.formulas.formula import FALSE, TRUE, Formula, at_least, leaf
from tamis.formulas.predicates.within import Within
from tamis.frames import BatchFrame
from tamis.kernels import kernel
from tamis.routing import stored_bytes
from tamis.routing.leaf_sets import (
    AxisFacts,
    axis_facts,
    intersect,
    leaf_sets,
    mix,
    set_hash,
    set_hashes,
    set_selectivity,
    unite,
)
from tamis.routing.trees import INNER_BYTES, LEAF_BYTES
from tamis.selectivity.combination import at_least as at_least_of
from tamis.statistics import Statistics

ITEMS, ATOMS, INTERVALS, KEYS, STAMP, STATE = range(6)
"""Places in `used` and `tentative`: lengths, occupied keys, the last stamp of axes, and what went wrong."""
_AND = 2
FULL, TOO_WIDE = 1, 2
"""States: there is no room, or simplification would make a list longer than all lists of the formula."""
TRUE_ITEM, FALSE_ITEM = 1 << 40, (1 << 40) + 1
LOW, AVERAGE, HIGH, P_MIN, TREE, STORED, USES, OPAQUE = range(8)
"""Columns of facts: three selectivities, the least number of predicates that must hold, bytes of the encoded tree,
stored bytes, occurrences of the predicates in all entries, and 1 if all of them are opaque."""
_STORED_NODE, _STORED_CHILD, _STORED_TERM = (
    stored_bytes.NODE_BYTES,
    stored_bytes.CHILD_BYTES,
    stored_bytes.TERM_BYTES,
)
_STORED_LEAF, _STORED_PIECE = stored_bytes.LEAF_BYTES, stored_bytes.PIECE_BYTES


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
    forest: Forest, statistics: Statistics | None = None, sample: BatchFrame | None = None
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


def measure_all(s: FormulaArrays) -> F64:
    """float64[formulas, 8]: the facts of each formula."""
    return _measure_all(s, workspace(s))


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


# --- occurrences of predicates -----------------------------------------------------------------------------------


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


@kernel
def count_uses(s: FormulaArrays, w: Workspace, number: int, sign: int) -> None:
    """Add the predicates of a formula to the occurrences, as often as its tree has them, or subtract them."""
    root, base = s.roots[number], s.lowest[number]
    if root < 0:
        _count(s, ~root, sign)
        return
    if root >= TRUE_ITEM:
        return
    for node in range(base, root + 1):
        w.times[node - base] = 0
    w.times[root - base] = 1
    for node in range(root, base - 1, -1):
        times = w.times[node - base]
        if times:
            for place in range(s.firsts[node], s.lasts[node]):
                item = s.items[place]
                if item >= 0:
                    w.times[item - base] += times
                else:
                    _count(s, ~item, sign * times)


@kernel
def _count(s: FormulaArrays, atom: int, times: int) -> None:
    slot = slot_of(s.keys, s.hashes[atom])
    if not s.keys[slot]:
        s.keys[slot] = s.hashes[atom] if s.hashes[atom] else np.uint64(1)
        s.used[KEYS] += 1
    s.counts[slot] += times


@kernel(forceinline=True)
def _uses(keys: U64, counts: I64, key: np.uint64) -> float:
    slot = slot_of(keys, key)
    return float(max(1, counts[slot])) if keys[slot] else 1.0


# --- facts -------------------------------------------------------------------------------------------------------


@kernel(forceinline=True)
def item_facts(s: FormulaArrays, w: Workspace, base: int, item: int, counts: bool, found: F64) -> np.uint64:
    """Write the facts of an item into an array of eight numbers; returns its hash."""
    if item >= TRUE_ITEM:
        for column in range(8):
            found[column] = 1.0 if column < P_MIN and item == TRUE_ITEM else 0.0
        found[STORED] = _STORED_NODE
        return np.uint64(item)
    if item >= 0:
        version = w.changed[item - base]
        for column in range(8):
            found[column] = w.values[version, item - base, column]
        return np.uint64(w.hashes[version, item - base])
    atom = ~item
    found[LOW] = found[AVERAGE] = found[HIGH] = s.selectivities[atom]
    found[P_MIN], found[TREE], found[STORED] = 1.0, LEAF_BYTES, s.stored[atom]
    found[USES] = s.uses[atom]
    found[OPAQUE] = 1.0 if s.opaque[atom] else 0.0
    return np.uint64(s.hashes[atom])


@kernel
def measure_formula(s: FormulaArrays, w: Workspace, number: int, counts: bool, found: F64) -> np.uint64:
    """The facts of a formula, and of each of its nodes in version 0; returns its hash."""
    root, base = s.roots[number], s.lowest[number]
    if 0 <= root < TRUE_ITEM:
        _reach(s, w, base, root)
        for node in range(base, root + 1):
            w.changed[node - base] = 0
            if w.reached[node - base]:
                if counts:
                    _look_up_uses(s, node)
                made_of = int(s.least[node]), s.firsts[node], s.lasts[node]
                _node_facts(s, w, base, node, made_of, counts, 0)
    return item_facts(s, w, base, root, counts, found)


@kernel
def _look_up_uses(s: FormulaArrays, node: int) -> None:
    """Once for each measurement: the table is large, and every pruning that is tried needs the numbers."""
    items, uses, hashes, keys, counts = s.items, s.uses, s.hashes, s.keys, s.counts
    for place in range(s.firsts[node], s.lasts[node]):
        if items[place] < 0:
            uses[~items[place]] = _uses(keys, counts, hashes[~items[place]])


@kernel(forceinline=True)
def _reach(s: FormulaArrays, w: Workspace, base: int, root: int) -> None:
    """Mark the nodes that a formula still has; those between may be pruned, or belong to another one."""
    reached, items = w.reached, s.items
    for node in range(base, root):
        reached[node - base] = 0
    reached[root - base] = 1
    for node in range(root, base - 1, -1):
        if reached[node - base]:
            for place in range(s.firsts[node], s.lasts[node]):
                if items[place] >= 0:
                    reached[items[place] - base] = 1


@kernel(forceinline=True)
def _node_facts(
    s: FormulaArrays,
    w: Workspace,
    base: int,
    node: int,
    made_of: tuple[int, int, int],
    counts: bool,
    version: int,
) -> None:
    """The facts and the hash of a node: at least so many of a range of items, `made_of`.

    This is where ranking spends its time: it reads arrays directly, because each call with many arrays costs more
    than all arithmetic here.
    """
    least, first, last = made_of
    values, hashes, changed, items, operands = w.values, w.hashes, w.changed, s.items, w.operands
    low_sum = low_most = high_sum = needed_sum = uses = 0.0
    product = none = high_least = opaque = 1.0
    needed_least, tree, stored = np.inf, float(INNER_BYTES), _STORED_NODE + _STORED_CHILD * (last - first)
    total = np.uint64(0)
    is_mixed = least != 1 and least != last - first
    for place in range(first, last):
        item = items[place]
        if item >= 0:
            here = item - base
            which = changed[here]
            low, average, high = values[which, here, LOW], values[which, here, AVERAGE], values[which, here, HIGH]
            needed, key = values[which, here, P_MIN], hashes[which, here]
            tree += values[which, here, TREE]
            stored += values[which, here, STORED]
            uses += values[which, here, USES]
            opaque = min(opaque, values[which, here, OPAQUE])
        else:
            low = average = high = s.selectivities[~item]
            needed, key = 1.0, s.hashes[~item]
            tree += LEAF_BYTES
            stored += s.stored[~item]
            uses += s.uses[~item]
            if not s.opaque[~item]:
                opaque = 0.0
        total += mix(key)
        low_sum += low
        low_most = max(low_most, low)
        product *= average
        none *= 1.0 - average
        high_sum += high
        high_least = min(high_least, high)
        needed_sum += needed
        needed_least = min(needed_least, needed)
        if is_mixed:
            at = place - first
            operands[0, at], operands[1, at], operands[2, at], operands[3, at] = low, average, high, needed
    here = node - base
    hashes[version, here] = mix(total + mix(np.uint64(least)))
    into = values[version, here]
    if is_mixed:
        _combine(operands, last - first, least, into)
    elif least == 1:
        stored += _STORED_TERM * (last - first)
        into[LOW], into[AVERAGE], into[HIGH], into[P_MIN] = low_most, 1.0 - none, min(1.0, high_sum), needed_least
    else:
        into[LOW] = max(0.0, low_sum - (least - 1))
        into[AVERAGE], into[HIGH], into[P_MIN] = product, high_least, needed_sum
    into[TREE], into[STORED], into[USES], into[OPAQUE] = tree, stored, uses, opaque


@kernel
def _combine(operands: F64, count: int, least: int, into: F64) -> None:
    """The selectivities and p_min of some but not all of `operands[:, :count]`, which are sorted meanwhile."""
    lows, averages, highs, needed = (
        operands[0, :count],
        operands[1, :count],
        operands[2, :count],
        operands[3, :count],
    )
    into[AVERAGE] = at_least_of(least, averages)
    lows.sort()
    highs.sort()
    needed.sort()
    into[P_MIN] = needed[:least].sum()
    # Of the m most frequent operands, an event outside has at most least - 1, and one inside at most m.
    into[LOW] = 0.0
    for m in range(least, count + 1):
        into[LOW] = max(into[LOW], (lows[count - m :].sum() - (least - 1)) / (m - least + 1))
    # Without the m most frequent operands, every event of the result has least - m of the others.
    into[HIGH] = 1.0
    for m in range(least):
        into[HIGH] = min(into[HIGH], highs[: count - m].sum() / (least - m))


@kernel
def _measure_all(s: FormulaArrays, w: Workspace) -> F64:
    found = np.empty((len(s.roots), 8))
    for number in range(len(s.roots)):
        measure_formula(s, w, number, False, found[number])
    return found


# --- prunings ----------------------------------------------------------------------------------------------------


@kernel
def prune_tentatively(s: FormulaArrays, w: Workspace, number: int, node: int, place: int, counts: bool) -> int:
    """Delete the operand at a place of `items` from a node; returns the item that the formula becomes.

    The nodes above are made again, in version 1. `measure_formula` must have been called for the formula.
    """
    root, base = s.roots[number], s.lowest[number]
    changed, results, reached, gathered, tentative = w.changed, w.results, w.reached, w.gathered, w.tentative
    firsts, lasts, items, kept = s.firsts, s.lasts, s.items, w.kept
    tentative[ITEMS], tentative[ATOMS], tentative[INTERVALS] = s.used[ITEMS], s.used[ATOMS], s.used[INTERVALS]
    tentative[STATE] = 0
    for above in range(base, root + 1):
        changed[above - base] = kept[above - base] = 0
    for above in range(node, root + 1):
        if not reached[above - base]:
            continue
        least, count, is_changed, is_kept = int(s.least[above]), 0, above == node, above != node
        length = lasts[above] - firsts[above]
        kind = _kind(least, length)
        for at in range(firsts[above], lasts[above]):
            item = int(items[at])
            if above == node and at == place:
                least -= 1
                continue
            if item >= 0 and changed[item - base]:
                is_changed = True
                is_kept = is_kept and kept[item - base] == 1
                item = results[item - base]
                if item == TRUE_ITEM:
                    least -= 1
                    continue
                if item == FALSE_ITEM:
                    continue
            gathered[count] = item
            count += 1
        if not is_changed:
            continue
        here = above - base
        if is_kept and not _has_duplicates(w.hashes, changed, gathered, count, base):
            # Each operand is what it was, AND, OR or neither: there is nothing new to simplify.
            w.least[here], w.firsts[here], w.lasts[here] = least, firsts[above], lasts[above]
            _node_facts(s, w, base, above, (least, firsts[above], lasts[above]), counts, 1)
            results[here] = above
        else:
            is_simple = above == node and kind == _AND and count >= 2
            results[here] = _make_node(s, w, base, above, least, count, is_simple, counts)
            if tentative[STATE]:
                return FALSE_ITEM
        changed[here] = 1
        if results[here] == above and _kind(w.least[here], w.lasts[here] - w.firsts[here]) == kind:
            kept[here] = 1
    return int(results[root - base])


@kernel(forceinline=True)
def _kind(least: int, count: int) -> int:
    return _AND if least == count else least == 1


@kernel(forceinline=True)
def _has_duplicates(hashes: U64, changed: U8, gathered: I64, count: int, base: int) -> bool:
    """Does a changed operand equal another node?"""
    for place in range(count):
        item = gathered[place]
        if item >= 0 and changed[item - base]:
            for at in range(count):
                other = gathered[at]
                if other >= 0 and at != place:
                    if hashes[changed[other - base], other - base] == hashes[1, item - base]:
                        return True
    return False


@kernel
def commit(s: FormulaArrays, w: Workspace, number: int, node: int, result: int) -> None:
    """Keep the last tentative pruning."""
    root, base = s.roots[number], s.lowest[number]
    for each in (ITEMS, ATOMS, INTERVALS):
        s.used[each] = w.tentative[each]
    for above in range(node, root + 1):
        if w.reached[above - base] and w.changed[above - base] and w.results[above - base] == above:
            s.least[above] = w.least[above - base]
            s.firsts[above], s.lasts[above] = w.firsts[above - base], w.lasts[above - base]
    s.roots[number] = result


@kernel(forceinline=True)
def _make_node(
    s: FormulaArrays, w: Workspace, base: int, node: int, least: int, count: int, is_simple: bool, counts: bool
) -> int:
    """At least so many of the gathered items, none of which is a constant: a constant, one item, or this node."""
    tentative, gathered = w.tentative, w.gathered
    items = s.items
    if least <= 0:
        return TRUE_ITEM
    if least > count:
        return FALSE_ITEM
    if not is_simple and (least == 1 or least == count):
        every = least != 1
        count = _join(s, w, base, count, every)
        if count < 0:
            return FALSE_ITEM if every else TRUE_ITEM
        if count == 0:
            return TRUE_ITEM if every else FALSE_ITEM
        if count == 1:
            return int(gathered[0])
        least = count if every else 1
    first = tentative[ITEMS]
    if first + count > len(items):
        tentative[STATE] = FULL
        return FALSE_ITEM
    for place in range(count):
        items[first + place] = gathered[place]
    tentative[ITEMS] += count
    here = node - base
    w.least[here], w.firsts[here], w.lasts[here] = least, first, first + count
    _node_facts(s, w, base, node, (least, first, first + count), counts, 1)
    return node


@kernel(forceinline=True)
def _join(s: FormulaArrays, w: Workspace, base: int, count: int, every: bool) -> int:
    """AND or OR of the gathered items, flat, without duplicates, one atom an attribute; -1 if it is absorbed."""
    gathered, flat, changed, tentative, keys = w.gathered, w.flat, w.changed, w.tentative, w.keys
    axis_stamps, axis_places = w.axis_stamps, w.axis_places
    items, axes = s.items, s.axes
    length = 0
    for place in range(count):
        item = gathered[place]
        if item >= 0:
            version = changed[item - base]
            least = w.least[item - base] if version else int(s.least[item])
            first = w.firsts[item - base] if version else s.firsts[item]
            last = w.lasts[item - base] if version else s.lasts[item]
            if least == (last - first if every else 1):
                if length + last - first > len(flat):
                    tentative[STATE] = TOO_WIDE
                    return 0
                for at in range(first, last):
                    flat[length] = items[at]
                    length += 1
                continue
        if length == len(flat):
            tentative[STATE] = TOO_WIDE
            return 0
        flat[length] = item
        length += 1
    tentative[STAMP] += 1
    stamp, kept, is_merged = tentative[STAMP], 0, False
    for place in range(length):
        item = flat[place]
        axis = -1 if item >= 0 else int(axes[~item])
        if axis >= 0:
            if axis_stamps[axis] == stamp:
                at, is_merged = axis_places[axis], True
                gathered[at] = ~_merge_atoms(s, w, ~gathered[at], ~item, every)
                if tentative[STATE]:
                    return 0
                continue
            axis_stamps[axis], axis_places[axis] = stamp, kept
            keys[kept] = 0  # ranges are never duplicates
        else:
            key = s.hashes[~item] if item < 0 else w.hashes[changed[item - base], item - base]
            is_known = False
            for at in range(kept):
                is_known |= gathered[at] == item or keys[at] == key
            if is_known:
                continue
            keys[kept] = key
        gathered[kept] = item
        kept += 1
    count = 0
    for place in range(kept):
        item = gathered[place]
        constant = _constant(s, ~item) if item < 0 and is_merged else 0
        if constant == (2 if every else 1):
            return -1
        if constant == 0:
            gathered[count] = item
            count += 1
    return count


@kernel
def _constant(s: FormulaArrays, atom: int) -> int:
    """1 if an atom is TRUE, 2 if it is FALSE, else 0."""
    if s.axes[atom] < 0:
        return 0
    first, last = s.set_firsts[atom], s.set_lasts[atom]
    if s.nulls[atom]:
        return 1 if last - first == 1 and s.lows[first] == LOWEST and s.highs[first] == HIGHEST else 0
    return 2 if first == last else 0


@kernel
def _merge_atoms(s: FormulaArrays, w: Workspace, one: int, other: int, every: bool) -> int:
    """A new atom, the intersection or union of two on one axis."""
    tentative = w.tentative
    axes, nulls, set_firsts, set_lasts, lows, highs, hashes = (
        s.axes,
        s.nulls,
        s.set_firsts,
        s.set_lasts,
        s.lows,
        s.highs,
        s.hashes,
    )
    new, at = tentative[ATOMS], tentative[INTERVALS]
    first, second = (set_firsts[one], set_lasts[one]), (set_firsts[other], set_lasts[other])
    if new == len(axes) or at + first[1] - first[0] + second[1] - second[0] > len(lows):
        tentative[STATE] = FULL
        return one
    if every:
        end = intersect(lows, highs, first, second, at)
        null = nulls[one] & nulls[other]
    else:
        end = unite(lows, highs, first, second, at)
        null = nulls[one] | nulls[other]
    axis, span = axes[one], (at, end)
    axes[new], nulls[new], set_firsts[new], set_lasts[new] = axis, null, at, end
    hashes[new] = set_hash(axis, null, lows, highs, span, 0)
    s.selectivities[new] = set_selectivity(axis, null, lows, highs, span, s.facts)
    s.stored[new] = _STORED_LEAF + _STORED_PIECE * max(0, end - at - 1) + 2.0 * s.facts.cuts[axis] * (end - at)
    s.opaque[new] = s.facts.opaque[axis]
    s.uses[new] = _uses(s.keys, s.counts, hashes[new])
    tentative[ATOMS] += 1
    tentative[INTERVALS] = end
    return int(new)


@kernel
def formula_hashes(s: FormulaArrays, w: Workspace) -> U64:
    """uint64[formulas, 2]: equal for equal formulas, whatever the order of operands."""
    found = np.empty((len(s.roots), 2), np.uint64)
    for number in range(len(s.roots)):
        root, base = s.roots[number], s.lowest[number]
        for lane in range(2):
            if root >= TRUE_ITEM:
                found[number, lane] = np.uint64(root)
            elif root < 0:
                found[number, lane] = _atom_hash(s, ~root, lane)
            else:
                _reach(s, w, base, root)
                for node in range(base, root + 1):
                    if not w.reached[node - base]:
                        continue
                    total = np.uint64(0)
                    for place in range(s.firsts[node], s.lasts[node]):
                        item = s.items[place]
                        total += mix(w.hashes[0, item - base] if item >= 0 else _atom_hash(s, ~item, lane))
                    w.hashes[0, node - base] = mix(total + mix(np.uint64(s.least[node])))
                found[number, lane] = w.hashes[0, root - base]
    return found


@kernel
def _atom_hash(s: FormulaArrays, atom: int, lane: int) -> np.uint64:
    if lane == 0:
        return np.uint64(s.hashes[atom])
    return set_hash(s.axes[atom], s.nulls[atom], s.lows, s.highs, (s.set_firsts[atom], s.set_lasts[atom]), lane)
