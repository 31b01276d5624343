"""Formulas in disjunctive normal form, for engines that index conjunctions.

A formula becomes at most 32 conjunctions with at most 512 leaves together. A normal form that would be larger is
weakened: its conjunctions are necessary for the formula, not sufficient, and it is flagged UNSURE, so that the
engine must verify its candidates by evaluating the formula. No match is missed: at worst the only conjunction is
empty, and the formula is evaluated for every event.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from tamis.arrays import I32, I64, U8
from tamis.engines.array_kernels import grow
from tamis.engines.forest import Forest, Nodes
from tamis.kernels import kernel

Sheets: TypeAlias = I32

CONJUNCTIONS, LEAVES = 32, 512
"""How many of each a formula may have."""
LONGEST = 255
"""How many leaves a conjunction may have, so that a byte can count them."""
_NODES = 500

# A sheet is the normal form of one node in one row of an int32 array: [count, unsure, firsts..., leaves...], where
# conjunction c is leaves[firsts[c]:firsts[c + 1]], sorted. There is one for each node of a formula and a few to
# work with. One array of rows instead of a tuple of arrays keeps the compiled kernels small.
_LEAF, _PRODUCT, _NEXT, _SUM, _FIRST_NODE = 0, 1, 2, 3, 4
_COUNT, _UNSURE, _FIRSTS = 0, 1, 2
_LEAVES = _FIRSTS + CONJUNCTIONS + 1

SEVERAL, UNSURE = 1, 2
"""Flags of a conjunction: its formula has other conjunctions; the formula must be evaluated, too."""


class Conjunctions(NamedTuple):
    """Conjunction c is the AND of `leaves[firsts[c]:firsts[c + 1]]`; those of a slot are consecutive.

    slots: int32[n]: the slot of each.
    flags: uint8[n]: SEVERAL and UNSURE.
    """

    firsts: I64
    leaves: I32
    slots: I32
    flags: U8


def conjunctions_of(forest: Forest) -> Conjunctions:
    """The conjunctions of all formulas, in the order of slots."""
    nodes = Nodes(*map(np.ascontiguousarray, forest.nodes))
    rows = _FIRST_NODE + min(_NODES, len(nodes.least))
    sheets = np.zeros((rows, _LEAVES + LEAVES), np.int32)
    return Conjunctions(*_convert(nodes, np.ascontiguousarray(forest.roots), sheets))


@kernel
def _convert(nodes: Nodes, roots: I32, sheets: Sheets) -> tuple[I64, I32, I32, U8]:
    places = np.full(len(nodes.least), -1, np.int64)
    reached = np.empty(_NODES + 1, np.int64)
    firsts = np.zeros(len(roots) + 2, np.int64)
    slots = np.empty(len(roots) + 1, np.int32)
    flags = np.empty(len(roots) + 1, np.uint8)
    leaves = np.empty(len(nodes.children) + len(roots) + 1, np.int32)
    count, used = 0, 0
    for slot in range(len(roots)):
        root = roots[slot]
        # Space for the largest formula; doubled, so that growth takes amortised constant time.
        if count + CONJUNCTIONS + 1 >= len(firsts):
            room = 2 * (len(firsts) + CONJUNCTIONS)
            firsts, slots, flags = grow(firsts, room), grow(slots, room), grow(flags, room)
        if used + LEAVES > len(leaves):
            leaves = grow(leaves, 2 * (len(leaves) + LEAVES))
        if root < 0 or _is_conjunction(nodes, root):
            if root < 0:
                leaves[used] = ~root
                used += 1
            else:
                for at in range(nodes.firsts[root], nodes.firsts[root + 1]):
                    leaves[used] = ~nodes.children[at]
                    used += 1
            slots[count], flags[count] = slot, 0
            count += 1
            firsts[count] = used
            continue
        sheet = _formula(nodes, root, sheets, places, reached)
        some = sheets[sheet, _COUNT]
        flag = (SEVERAL if some > 1 else 0) | (UNSURE if sheets[sheet, _UNSURE] else 0)
        for clause in range(some):
            for at in range(sheets[sheet, _FIRSTS + clause], sheets[sheet, _FIRSTS + clause + 1]):
                leaves[used] = sheets[sheet, _LEAVES + at]
                used += 1
            slots[count], flags[count] = slot, flag
            count += 1
            firsts[count] = used
    return firsts[: count + 1].copy(), leaves[:used].copy(), slots[:count].copy(), flags[:count].copy()


@kernel
def _is_conjunction(nodes: Nodes, node: int) -> bool:
    """Is it an AND of leaves, short enough to be taken as it is?"""
    first, last = nodes.firsts[node], nodes.firsts[node + 1]
    if nodes.least[node] != last - first or last - first > LONGEST:
        return False
    for at in range(first, last):
        if nodes.children[at] >= 0:
            return False
    return True


@kernel
def _formula(nodes: Nodes, root: int, sheets: Sheets, places: I64, reached: I64) -> int:
    """The row of `sheets` that has the conjunctions of a formula."""
    found = _reach(nodes, root, places, reached)
    if found > _NODES:
        # Too many nodes: only the leaves of a top-level AND are used.
        for at in range(found):
            places[reached[at]] = -1
        _node(nodes, int(np.int64(root)), sheets, places, _FIRST_NODE)  # as wide as below: one compilation
        sheet = _FIRST_NODE
    else:
        _sort(reached, found)
        for at in range(found):
            places[reached[at]] = _FIRST_NODE + at
            _node(nodes, int(reached[at]), sheets, places, _FIRST_NODE + at)
        sheet = _FIRST_NODE + found - 1
        for at in range(found):
            places[reached[at]] = -1
    for clause in range(sheets[sheet, _COUNT]):
        if sheets[sheet, _FIRSTS + clause] == sheets[sheet, _FIRSTS + clause + 1]:
            _set_true(sheets, sheet)  # an empty conjunction absorbs the others
            break
    return sheet


@kernel
def _reach(nodes: Nodes, root: int, places: I64, reached: I64) -> int:
    """Collect the nodes of a formula, each once; stops when they are too many."""
    reached[0] = root
    places[root] = 0
    found, done = 1, 0
    while done < found:
        node = reached[done]
        done += 1
        for at in range(nodes.firsts[node], nodes.firsts[node + 1]):
            child = nodes.children[at]
            if child >= 0 and places[child] < 0:
                if found > _NODES:
                    return found
                places[child] = 0
                reached[found] = child
                found += 1
    return found


@kernel
def _sort(numbers: I64, count: int) -> None:
    """Sort in place by insertion; reversed first, because nodes of a formula are mostly met in falling order."""
    for place in range(count // 2):
        numbers[place], numbers[count - 1 - place] = numbers[count - 1 - place], numbers[place]
    for place in range(1, count):
        number = numbers[place]
        at = place
        while at > 0 and numbers[at - 1] > number:
            numbers[at] = numbers[at - 1]
            at -= 1
        numbers[at] = number


@kernel
def _node(nodes: Nodes, node: int, sheets: Sheets, places: I64, sheet: int) -> None:
    """Fill in the row of a node whose children have theirs; a child without a row counts as unknown."""
    least = nodes.least[node]
    first, last = nodes.firsts[node], nodes.firsts[node + 1]
    sheets[sheet, _UNSURE] = 0
    if least <= 0:
        _set_true(sheets, sheet)
    elif least > last - first:
        sheets[sheet, _COUNT] = 0
    elif least == last - first:
        _conjoin(nodes, first, last, sheets, places, sheet)
    else:
        # If k of n hold, then at least j of any n - k + j of them do; j is the greatest that fits.
        for wanted in range(min(least, CONJUNCTIONS), 0, -1):
            if _choose(nodes, first, last - least + wanted, wanted, sheets, places, sheet):
                if wanted < least:
                    sheets[sheet, _UNSURE] = 1
                return
        _set_true(sheets, sheet)
        sheets[sheet, _UNSURE] = 1


@kernel
def _conjoin(nodes: Nodes, first: int, last: int, sheets: Sheets, places: I64, sheet: int) -> None:
    """AND of children: those with few conjunctions first; a child that does not fit is left out, which weakens."""
    _set_true(sheets, _PRODUCT)
    product, following = _PRODUCT, _NEXT
    unsure = 0
    for size in range(CONJUNCTIONS + 1):
        left = 0
        for at in range(first, last):
            child = _sheet_of(nodes.children[at], sheets, places)
            if child < 0:
                unsure = 1
                continue
            if sheets[child, _COUNT] != size:
                left += 1 if sheets[child, _COUNT] > size else 0
                continue
            unsure |= sheets[child, _UNSURE]
            if _times(sheets, product, child, following):
                product, following = following, product
            else:
                unsure = 1
        if left == 0:
            break
    sheets[sheet, _COUNT] = 0
    _append(sheets, product, sheet)
    sheets[sheet, _UNSURE] = unsure


@kernel
def _choose(nodes: Nodes, first: int, last: int, wanted: int, sheets: Sheets, places: I64, sheet: int) -> bool:
    """At least `wanted` of the children from `first` to `last`: an AND for every choice of them. Does it fit?"""
    choices = 1
    for place in range(min(wanted, last - first - wanted)):
        choices = choices * (last - first - place) // (place + 1)
        if choices > CONJUNCTIONS:
            return False
    chosen = np.arange(wanted)
    sheets[_SUM, _COUNT] = 0
    unsure = 0
    while True:
        _set_true(sheets, _PRODUCT)
        product, following = _PRODUCT, _NEXT
        for place in range(wanted):
            child = _sheet_of(nodes.children[first + chosen[place]], sheets, places)
            if child < 0:
                return False
            unsure |= sheets[child, _UNSURE]
            if not _times(sheets, product, child, following):
                return False
            product, following = following, product
        if not _append(sheets, product, _SUM):
            return False
        # The next choice in order.
        place = wanted - 1
        while place >= 0 and chosen[place] == last - first - wanted + place:
            place -= 1
        if place < 0:
            break
        chosen[place] += 1
        for after in range(place + 1, wanted):
            chosen[after] = chosen[after - 1] + 1
    sheets[sheet, _COUNT] = 0
    _append(sheets, _SUM, sheet)
    sheets[sheet, _UNSURE] = unsure
    return True


@kernel
def _sheet_of(child: int, sheets: Sheets, places: I64) -> int:
    """The row of a child; -1 if it has none."""
    if child >= 0:
        return int(places[child])
    sheets[_LEAF, _COUNT] = 1
    sheets[_LEAF, _FIRSTS + 1] = 1
    sheets[_LEAF, _LEAVES + 0] = ~child
    return _LEAF


@kernel
def _set_true(sheets: Sheets, sheet: int) -> None:
    """One conjunction without leaves."""
    sheets[sheet, _COUNT] = 1
    sheets[sheet, _FIRSTS + 0] = 0
    sheets[sheet, _FIRSTS + 1] = 0


@kernel
def _append(sheets: Sheets, source: int, target: int) -> bool:
    """OR: append the conjunctions of one row to those of another; do they fit?"""
    count = sheets[target, _COUNT]
    used = sheets[target, _FIRSTS + count] if count else 0
    more = sheets[source, _COUNT]
    length = sheets[source, _FIRSTS + more] if more else 0
    if count + more > CONJUNCTIONS or used + length > LEAVES:
        return False
    sheets[target, _FIRSTS + 0] = 0
    for clause in range(more):
        sheets[target, _FIRSTS + count + clause + 1] = used + sheets[source, _FIRSTS + clause + 1]
    for at in range(length):
        sheets[target, _LEAVES + used + at] = sheets[source, _LEAVES + at]
    sheets[target, _COUNT] = count + more
    return True


@kernel
def _times(sheets: Sheets, one: int, other: int, target: int) -> bool:
    """AND: every conjunction of one row with every conjunction of another; do they fit?"""
    if sheets[one, _COUNT] * sheets[other, _COUNT] > CONJUNCTIONS:
        return False
    count, used = 0, 0
    sheets[target, _FIRSTS + 0] = 0
    for a in range(sheets[one, _COUNT]):
        for b in range(sheets[other, _COUNT]):
            start = used
            i, i_end = sheets[one, _FIRSTS + a], sheets[one, _FIRSTS + a + 1]
            j, j_end = sheets[other, _FIRSTS + b], sheets[other, _FIRSTS + b + 1]
            while i < i_end or j < j_end:
                if used == LEAVES or used - start == LONGEST:
                    return False
                if j == j_end or (i < i_end and sheets[one, _LEAVES + i] <= sheets[other, _LEAVES + j]):
                    leaf = sheets[one, _LEAVES + i]
                    if j < j_end and sheets[other, _LEAVES + j] == leaf:
                        j += 1
                    i += 1
                else:
                    leaf = sheets[other, _LEAVES + j]
                    j += 1
                sheets[target, _LEAVES + used] = leaf
                used += 1
            count += 1
            sheets[target, _FIRSTS + count] = used
    sheets[target, _COUNT] = count
    return True
