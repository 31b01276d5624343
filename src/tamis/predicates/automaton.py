"""An automaton that finds all of very many literals in a text at once (Aho and Corasick's).

It owns arrays and nothing else. Time to build is linear in the bytes of the literals but for sorting them; time to
scan a text is linear in its bytes and in what is found in it, whatever the literals are.

The literals, sorted, make a tree whose states are numbered breadth first: the children of a state are neighbours,
the states that most bytes lead to come first, and a state's longest proper suffix (where to go on when no child
fits) has a smaller number than the state. The first states have a row of transitions each, in which suffixes are
already followed. Bytes that occur in no literal are one class of bytes, which keeps the rows short.

A text is scanned as if `START` stood before it and `END` behind it. No UTF-8 has these two bytes, so a literal
that begins or ends with one is found at that end of a text only.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from tamis.predicates.texts import Bytes, Ints, Shorts, Texts, read_only

START, END = 0xFE, 0xFF
"""The bytes that stand for the two ends of a text."""

# A row of `nodes`.
_CHILD, _SUFFIX, _FOUND, _LABELS = 0, 1, 2, 3  # the last: 256 times the number of children, and the first's label

# A row of `literals`.
_FIRST, _SHORTER = 0, 1

_ROWS_LEAST, _ROWS_MOST = 1 << 12, 1 << 20  # transitions in rows: as many as states, within these bounds
_CHUNK = 7  # bytes of a literal that one sorting key holds


class Automaton(NamedTuple):
    """States and literals are numbered; state 0 is where nothing has been read."""

    classes: Bytes  # [256]: class of each byte, 0 for those that no literal has
    rows: Shorts  # [dense, number of classes]: where each class leads from the first states
    nodes: Shorts  # [states, 4]: first child, suffix to go on from, longest literal found, how many children
    labels: Bytes  # [states]: class that leads to the state
    literals: Shorts  # [literals + 1, 2]: first value; the longest other literal that it ends with, -1 for none
    values: Shorts  # what the literals stand for


def build_automaton(data: Bytes, offsets: Ints, values: Ints) -> Automaton:
    """The automaton of some literals.

    Args:
        data: The literals: number i is `data[offsets[i]:offsets[i + 1]]`. None is empty; equal ones are fine.
        offsets: One more than there are literals.
        values: What each stands for: any number of 32 bits.
    """
    order = sorted_order(data, offsets)
    shared, depths = _shared(data, offsets, order)
    states = 1 + int(depths.sum())
    if states > np.iinfo(np.int32).max:
        msg = f"literals need {states} states, and an automaton has at most {np.iinfo(np.int32).max}"
        raise ValueError(msg)
    classes, width = _classes(data)
    dense = min(states, max(1, min(max(states, _ROWS_LEAST), _ROWS_MOST) // width))
    nodes, labels, literals = _tree(data, offsets, order, shared, depths, classes)
    rows = np.zeros((dense, width), np.int32)
    _link(nodes, labels, rows, literals)
    arrays: tuple[np.ndarray, ...] = (classes, rows, nodes, labels, literals, values[order].astype(np.int32))
    return Automaton(*map(read_only, arrays))


def sorted_order(data: Bytes, offsets: Ints) -> Ints:
    """The numbers of the byte strings in their order."""
    order = np.arange(len(offsets) - 1)
    places, groups = order.copy(), np.zeros(len(order), np.int64)
    depth = 0
    while len(places):  # of equal keys so far
        members = order[places]
        keys = _keys(data, offsets, members, depth)
        by_key = np.lexsort((keys, groups)) if depth else np.argsort(keys)
        order[places] = members[by_key]
        keys = keys[by_key]
        changes = np.ones(len(keys), np.bool_)
        changes[1:] = (keys[1:] != keys[:-1]) | (groups[1:] != groups[:-1])
        groups = np.cumsum(changes) - 1
        tied = (np.bincount(groups)[groups] > 1) & (keys & 0xFF > _CHUNK)
        places, groups = places[tied], groups[tied]
        depth += _CHUNK
    return order


@numba.njit(cache=True, nogil=True)
def _keys(data: Bytes, offsets: Ints, members: Ints, depth: int) -> npt.NDArray[np.uint64]:
    """Of each member the bytes from `depth` on, and in the last place how many there are (8: more than 7)."""
    keys = np.empty(len(members), np.uint64)
    for place in range(len(members)):
        start, end = offsets[members[place]] + depth, offsets[members[place] + 1]
        key = np.uint64(0)
        for at in range(start, start + _CHUNK):
            key = (key << np.uint64(8)) | (np.uint64(data[at]) if at < end else np.uint64(0))
        keys[place] = (key << np.uint64(8)) | np.uint64(min(end - start, _CHUNK + 1))
    return keys


@numba.njit(cache=True, nogil=True)
def _shared(data: Bytes, offsets: Ints, order: Ints) -> tuple[Shorts, Ints]:
    """How many bytes each literal shares with the one before it in order; and how many states each depth has."""
    shared = np.zeros(len(order), np.int32)
    longest = 0
    for place in range(len(order)):
        longest = max(longest, offsets[order[place] + 1] - offsets[order[place]])
    depths = np.zeros(longest + 1, np.int64)
    for place in range(len(order)):
        start, length = offsets[order[place]], offsets[order[place] + 1] - offsets[order[place]]
        same = 0
        if place > 0:
            before = offsets[order[place - 1]]
            most = min(length, offsets[order[place - 1] + 1] - before)
            while same < most and data[start + same] == data[before + same]:
                same += 1
        shared[place] = same
        for depth in range(same + 1, length + 1):
            depths[depth] += 1
    return shared, depths


def _classes(data: Bytes) -> tuple[Bytes, int]:
    """The class of each byte and the number of classes."""
    used = np.flatnonzero(np.bincount(data, minlength=256))
    if len(used) == 256:  # bytes that are not of UTF-8: no class is left for those that do not occur
        msg = "literals use every byte"
        raise ValueError(msg)
    classes = np.zeros(256, np.uint8)
    classes[used] = np.arange(1, len(used) + 1)
    return classes, len(used) + 1


@numba.njit(cache=True, nogil=True)
def _tree(
    data: Bytes, offsets: Ints, order: Ints, shared: Shorts, depths: Ints, classes: Bytes
) -> tuple[Shorts, Bytes, Shorts]:
    """States with their children and labels, and of each distinct literal the first place in the order."""
    free = np.empty(len(depths), np.int64)  # by depth: the next state
    free[0] = 0
    states = 1
    for depth in range(1, len(depths)):
        free[depth] = states
        states += depths[depth]
    nodes = np.zeros((states, 4), np.int32)
    labels = np.zeros(states, np.uint8)
    literals = np.full((len(order) + 1, 2), -1, np.int32)
    path = np.zeros(len(depths), np.int64)
    for state in range(states):
        nodes[state, _FOUND] = -1
    count = 0
    for place in range(len(order)):
        start, end = offsets[order[place]], offsets[order[place] + 1]
        for depth in range(shared[place] + 1, end - start + 1):
            state, parent = free[depth], path[depth - 1]
            free[depth] += 1
            path[depth] = state
            label = classes[data[start + depth - 1]]
            labels[state] = label
            if nodes[parent, _LABELS] == 0:
                nodes[parent, _CHILD] = state
                nodes[parent, _LABELS] = label
            nodes[parent, _LABELS] += 256
        state = path[end - start]
        if nodes[state, _FOUND] < 0:
            nodes[state, _FOUND] = count
            literals[count, _FIRST] = place
            count += 1
    literals[count, _FIRST] = len(order)
    return nodes, labels, literals[: count + 1].copy()


@numba.njit(cache=True, nogil=True)
def _step(rows: Shorts, nodes: Shorts, labels: Bytes, state: np.int64, label: int) -> np.int64:
    """The state that a byte of the class `label` leads to."""
    while True:
        if state < len(rows):
            return np.int64(rows[state, label])
        packed = nodes[state, _LABELS]
        if packed & 255 == label:  # class 0 leads to state 0, which is a leaf's child
            return np.int64(nodes[state, _CHILD])
        if packed >= 512:
            low = np.int64(nodes[state, _CHILD])
            end = low + (packed >> 8)
            high = end
            while low < high:
                middle = (low + high) >> 1
                if labels[middle] < label:
                    low = middle + 1
                else:
                    high = middle
            if low < end and labels[low] == label:
                return low
        state = np.int64(nodes[state, _SUFFIX])


@numba.njit(cache=True, nogil=True)
def _link(nodes: Shorts, labels: Bytes, rows: Shorts, literals: Shorts) -> None:
    """Find each state's longest proper suffix, what is found there, and the rows."""
    suffixes = np.zeros(len(nodes), np.int32)
    for state in range(len(nodes)):
        suffix = suffixes[state]
        packed = nodes[state, _LABELS]
        child, children = nodes[state, _CHILD], packed >> 8
        if state > 0:
            if nodes[state, _FOUND] >= 0:
                literals[nodes[state, _FOUND], _SHORTER] = nodes[suffix, _FOUND]
            else:
                nodes[state, _FOUND] = nodes[suffix, _FOUND]
        if state < len(rows):
            if state > 0:
                rows[state] = rows[suffix]
            for place in range(child, child + children):
                rows[state, labels[place]] = place
        # A suffix that has no child but one that this state has as well need not be asked.
        further = suffix
        while further >= len(rows) and (
            nodes[further, _LABELS] == 0 or (nodes[further, _LABELS] == packed and children == 1)
        ):
            further = nodes[further, _SUFFIX]
        nodes[state, _SUFFIX] = further
        if state > 0:
            for place in range(child, child + children):
                suffixes[place] = _step(rows, nodes, labels, np.int64(suffix), labels[place])


@numba.njit(cache=True, nogil=True)
def _advance(automaton: Automaton, data: Bytes, at: int, end: int, state: np.int64) -> tuple[int, np.int64]:
    """Read bytes, and behind the last one `END`, until something is found; from where to go on, and the state."""
    classes, rows, nodes, labels = automaton.classes, automaton.rows, automaton.nodes, automaton.labels
    while at < end:
        # Bytes that are not of UTF-8 are not the ends of a text, either.
        state = _step(rows, nodes, labels, state, classes[min(data[at], START - 1)])
        at += 1
        if nodes[state, _FOUND] >= 0:
            return at, state
    return end + 1, _step(rows, nodes, labels, state, classes[END])


@numba.njit(cache=True, nogil=True, inline="always")
def _is_new(table: Ints, text: int, key: int) -> bool:
    """Note a key in the set of a text, which has room for it; what is left of other texts counts as room."""
    mask = len(table) - 1
    key &= 0xFFFFFFFF
    entry = ((np.int64(text) + 1) << 32) | key
    at = ((key * 0x9E3779B1) >> 16) & mask
    while table[at] >> 32 == text + 1:
        if table[at] == entry:
            return False
        at = (at + 1) & mask
    table[at] = entry
    return True


@numba.njit(cache=True, nogil=True)
def _enlarged(table: Ints, text: int) -> Ints:
    """The set of a text with more room."""
    larger = np.zeros(2 * len(table), np.int64)
    for at in range(len(table)):
        if table[at] >> 32 == text + 1:
            _is_new(larger, text, table[at])
    return larger


@numba.njit(cache=True, nogil=True)
def _report(
    automaton: Automaton,
    text: int,
    literal: int,
    keys: Ints,
    seen: tuple[Ints, Ints],
    counts: tuple[int, int, int],
) -> tuple[int, tuple[int, int, int]]:
    """Add keys for a literal, and for the shorter ones that it ends with.

    Args:
        automaton: The literals.
        text: In which the literal was found.
        literal: It.
        keys: Where to add them.
        seen: The sets of literals and values that the text has shown.
        counts: Keys before this text, keys now, and literals that the text has shown.

    Returns:
        The literal with which to go on when there is more room, or -1; and the counts.
    """
    before, count, literals = counts
    while literal >= 0:
        first, last = automaton.literals[literal, _FIRST], automaton.literals[literal + 1, _FIRST]
        most = count + last - first
        if most > len(keys) or 2 * (most - before) >= len(seen[1]) or 2 * literals + 2 >= len(seen[0]):
            break
        if not _is_new(seen[0], text, literal):
            literal = -1  # and so the shorter ones have been seen
            break
        literals += 1
        for place in range(first, last):
            value = automaton.values[place]
            if _is_new(seen[1], text, value):
                keys[count] = (np.int64(value) << 32) | text
                count += 1
        literal = automaton.literals[literal, _SHORTER]
    return literal, (before, count, literals)


@numba.njit(cache=True, nogil=True)
def scan(automaton: Automaton, texts: Texts, first: int, most: int) -> tuple[Ints, int]:
    """All pairs of a text and a value of a literal that occurs in it, each once, in the order of the texts.

    Args:
        automaton: The literals.
        texts: Where to look.
        first: The first text to scan.
        most: With this many pairs no further text is begun.

    Returns:
        Keys of the pairs, `value << 32 | text`, and the number of the text to go on with.
    """
    keys, count = np.empty(256, np.int64), 0
    seen = (np.zeros(64, np.int64), np.zeros(64, np.int64))
    begin = automaton.rows[0, automaton.classes[START]]
    text = first
    while text < len(texts.valid) and count < most:
        at, end, state = texts.offsets[text], texts.offsets[text + 1], np.int64(begin)
        counts = (count, count, 0)
        while at <= end and texts.valid[text]:
            at, state = _advance(automaton, texts.data, at, end, state)
            literal = automaton.nodes[state, _FOUND]
            while literal >= 0:
                literal, counts = _report(automaton, text, literal, keys, seen, counts)
                if literal >= 0:
                    keys = np.append(keys, keys)
                    seen = (_enlarged(seen[0], text), _enlarged(seen[1], text))
        count = counts[1]
        text += 1
    return keys[:count], text
