"""One pruning of a formula as arrays: first tentatively, then for good.

`prune_tentatively` appends what a pruning would change, up to the root, behind the counts in `used`; `commit`
makes it part of the entry. What comes out is simplified as `at_least` simplifies.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import I64, U8, U64
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.kernels import kernel
from tamis.routing import stored_bytes
from tamis.routing.formula_arrays import (
    ATOMS,
    FALSE_ITEM,
    FULL,
    INTERVALS,
    ITEMS,
    STAMP,
    STATE,
    TOO_WIDE,
    TRUE_ITEM,
    FormulaArrays,
    Workspace,
)
from tamis.routing.formula_facts import node_facts, uses_of
from tamis.routing.leaf_sets import (
    intersect,
    set_hash,
    set_selectivity,
    unite,
)

_AND = 2
_STORED_LEAF, _STORED_PIECE = stored_bytes.LEAF_BYTES, stored_bytes.PIECE_BYTES


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
        # As wide as it is elsewhere: else all that is called with it is compiled twice.
        least, count, is_changed, is_kept = int(np.int64(s.least[above])), 0, above == node, above != node
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
            node_facts(s, w, base, above, (least, firsts[above], lasts[above]), counts, 1)
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
    node_facts(s, w, base, node, (least, first, first + count), counts, 1)
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
            least = w.least[item - base] if version else int(np.int64(s.least[item]))
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
        null = int(np.uint8(nulls[one] & nulls[other]))
    else:
        end = unite(lows, highs, first, second, at)
        null = int(np.uint8(nulls[one] | nulls[other]))
    axis, span = axes[one], (at, end)
    axes[new], nulls[new], set_firsts[new], set_lasts[new] = axis, null, at, end
    hashes[new] = set_hash(axis, null, lows, highs, span, 0)
    s.selectivities[new] = set_selectivity(axis, null, lows, highs, span, s.facts)
    s.stored[new] = _STORED_LEAF + _STORED_PIECE * max(0, end - at - 1) + 2.0 * s.facts.cuts[axis] * (end - at)
    s.opaque[new] = s.facts.opaque[axis]
    s.uses[new] = uses_of(s.keys, s.counts, hashes[new])
    tentative[ATOMS] += 1
    tentative[INTERVALS] = end
    return int(new)
