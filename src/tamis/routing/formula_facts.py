"""What is known of formulas as arrays: selectivities, sizes, hashes, and how often predicates occur.

The facts of a node are eight numbers; `tamis.routing.formula_arrays` names their columns. A workspace holds them
in two versions: as the entry stands, and as a pruning would leave it.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import F64, I64, U64
from tamis.kernels import kernel
from tamis.routing import stored_bytes
from tamis.routing.formula_arrays import (
    AVERAGE,
    HIGH,
    KEYS,
    LOW,
    OPAQUE,
    P_MIN,
    STORED,
    TREE,
    TRUE_ITEM,
    USES,
    FormulaArrays,
    Workspace,
    slot_of,
    workspace,
)
from tamis.routing.leaf_sets import (
    mix,
    set_hash,
)
from tamis.routing.trees import INNER_BYTES, LEAF_BYTES
from tamis.selectivity.combination import at_least as at_least_of

_STORED_NODE, _STORED_CHILD, _STORED_TERM = (
    stored_bytes.NODE_BYTES,
    stored_bytes.CHILD_BYTES,
    stored_bytes.TERM_BYTES,
)


def measure_all(s: FormulaArrays) -> F64:
    """float64[formulas, 8]: the facts of each formula."""
    return _measure_all(s, workspace(s))


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
def uses_of(keys: U64, counts: I64, key: np.uint64) -> float:
    slot = slot_of(keys, key)
    return float(max(1, counts[slot])) if keys[slot] else 1.0


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
                made_of = int(np.int64(s.least[node])), s.firsts[node], s.lasts[node]  # else all is compiled twice
                node_facts(s, w, base, node, made_of, counts, 0)
    return item_facts(s, w, base, root, counts, found)


@kernel
def _look_up_uses(s: FormulaArrays, node: int) -> None:
    """Once for each measurement: the table is large, and every pruning that is tried needs the numbers."""
    items, uses, hashes, keys, counts = s.items, s.uses, s.hashes, s.keys, s.counts
    for place in range(s.firsts[node], s.lasts[node]):
        if items[place] < 0:
            uses[~items[place]] = uses_of(keys, counts, hashes[~items[place]])


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
def node_facts(
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
