"""The automaton of Aho and Corasick, which finds all of many literals in a text in one pass.

It consists of arrays. Building takes time linear in the bytes of the literals, apart from sorting them; scanning
takes time linear in the bytes of the text and in the occurrences found.

The sorted literals form a trie whose states are numbered breadth first. So the children of a state are
neighbours, the most frequent states come first, and the suffix link of a state (its longest proper suffix, where
to continue if no child matches) has a smaller number than the state. The first states have a dense row of
transitions each, in which suffix links are already followed; the others have a list of children. All bytes that
occur in no literal are one byte class, which keeps the rows short.

A text is scanned as if it stood between `START` and `END`. These bytes do not occur in UTF-8, so a literal that
begins or ends with one is found only at that end of a text.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64, U8, U64
from tamis.kernels import kernel
from tamis.patterns.texts import PackedTexts, read_only

START, END = 0xFE, 0xFF
"""The bytes that mark the two ends of a text."""

# The columns of `nodes`.
_CHILD, _SUFFIX, _FOUND, _LABELS = 0, 1, 2, 3  # the last: 256 * number of children + label of the first child

# The columns of `literals`.
_FIRST, _SHORTER = 0, 1

_ROWS_LEAST, _ROWS_MOST = 1 << 12, 1 << 20  # transitions in dense rows: as many as states, within these bounds
_CHUNK = 7  # bytes of a literal that one sorting key holds


class Automaton(NamedTuple):
    """The arrays of an automaton; states and literals are numbers, and state 0 is the initial one."""

    classes: U8  # [256]: class of each byte, 0 for bytes that occur in no literal
    rows: I32  # [dense states, classes]: next state by byte class
    nodes: I32  # [states, 4]: first child, suffix link, longest literal that ends here, children and first label
    labels: U8  # [states]: byte class of the edge to the state
    literals: I32  # [literals + 1, 2]: index of the first value; longest proper suffix that is a literal, or -1
    values: I32  # [literals in order]: the values, those of one literal together


def build_automaton(data: U8, offsets: I64, values: I64) -> Automaton:
    """The automaton of some literals.

    Args:
        data: The literals: number i is `data[offsets[i]:offsets[i + 1]]`. None is empty; equal ones are allowed.
        offsets: One more than there are literals.
        values: A number of 32 bits for each literal, which a scan reports.
    """
    order = sorted_order(data, offsets)
    shared, depths = _shared_prefixes(data, offsets, order)
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


def sorted_order(data: U8, offsets: I64) -> I64:
    """The permutation that sorts byte strings: a radix sort by chunks of 7 bytes."""
    order = np.arange(len(offsets) - 1)
    places, groups = order.copy(), np.zeros(len(order), np.int64)
    depth = 0
    while len(places):  # the strings that are still tied
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


@kernel
def _keys(data: U8, offsets: I64, members: I64, depth: int) -> U64:
    """Per member a sorting key: 7 bytes from `depth` on, then how many there are (8: more than 7)."""
    keys = np.empty(len(members), np.uint64)
    for place in range(len(members)):
        start, end = offsets[members[place]] + depth, offsets[members[place] + 1]
        key = np.uint64(0)
        for at in range(start, start + _CHUNK):
            key = (key << np.uint64(8)) | (np.uint64(data[at]) if at < end else np.uint64(0))
        keys[place] = (key << np.uint64(8)) | np.uint64(min(end - start, _CHUNK + 1))
    return keys


@kernel
def _shared_prefixes(data: U8, offsets: I64, order: I64) -> tuple[I32, I64]:
    """The length of the prefix shared by each literal and its predecessor; the number of states per depth."""
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


def _classes(data: U8) -> tuple[U8, int]:
    """The class of each byte and the number of classes."""
    used = np.flatnonzero(np.bincount(data, minlength=256))
    if len(used) == 256:  # impossible for UTF-8; class 0 needs a byte that does not occur
        msg = "literals use every byte"
        raise ValueError(msg)
    classes = np.zeros(256, np.uint8)
    classes[used] = np.arange(1, len(used) + 1)
    return classes, len(used) + 1


@kernel
def _tree(data: U8, offsets: I64, order: I64, shared: I32, depths: I64, classes: U8) -> tuple[I32, U8, I32]:
    """The states with their children and labels, and the first place in the order of each distinct literal."""
    free = np.empty(len(depths), np.int64)  # [depths]: the next free state
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


@kernel(borrows=True)
def _step(rows: I32, nodes: I32, labels: U8, state: np.int64, label: int) -> np.int64:
    """The next state after a byte of the class `label`."""
    while True:
        if state < len(rows):
            return np.int64(rows[state, label])
        packed = nodes[state, _LABELS]
        if packed & 255 == label:  # a leaf has label 0 and child 0, so class 0 leads it to state 0
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


@kernel
def _link(nodes: I32, labels: U8, rows: I32, literals: I32) -> None:
    """Set the suffix link of each state, its longest literal, and the dense rows."""
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
        # Skip suffixes that cannot help: those without children, or with the same only child as this state.
        further = suffix
        while further >= len(rows) and (
            nodes[further, _LABELS] == 0 or (nodes[further, _LABELS] == packed and children == 1)
        ):
            further = nodes[further, _SUFFIX]
        nodes[state, _SUFFIX] = further
        if state > 0:
            for place in range(child, child + children):
                suffixes[place] = _step(rows, nodes, labels, np.int64(suffix), labels[place])


@kernel(borrows=True)
def _advance(automaton: Automaton, data: U8, at: int, end: int, state: np.int64) -> tuple[int, np.int64]:
    """Read bytes, and after the last one `END`, until a literal is found; the place to continue, and the state."""
    classes, rows, nodes, labels = automaton.classes, automaton.rows, automaton.nodes, automaton.labels
    while at < end:
        # Invalid UTF-8 must not be taken for the ends of a text.
        state = _step(rows, nodes, labels, state, classes[min(data[at], START - 1)])
        at += 1
        if nodes[state, _FOUND] >= 0:
            return at, state
    return end + 1, _step(rows, nodes, labels, state, classes[END])


@kernel(inline="always", borrows=True)
def _is_new(table: I64, text: int, key: int) -> bool:
    """Add a key to the set of a text, and tell whether it was new.

    An open-addressing hash set with a free slot. Entries carry the number of their text, so entries of earlier
    texts count as free, and the set needs no clearing.
    """
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


@kernel
def _enlarge(table: I64, text: int) -> I64:
    """The set of a text with twice the slots."""
    larger = np.zeros(2 * len(table), np.int64)
    for at in range(len(table)):
        if table[at] >> 32 == text + 1:
            _is_new(larger, text, table[at])
    return larger


@kernel(borrows=True)
def _report(
    automaton: Automaton,
    text: int,
    literal: int,
    keys: I64,
    seen: tuple[I64, I64],
    counts: tuple[int, int, int],
) -> tuple[int, tuple[int, int, int]]:
    """Add the keys of a literal and of the literals that are its suffixes.

    Args:
        automaton: The literals.
        text: The text that contains the literal.
        literal: The literal that was found.
        keys: The array to which keys are added.
        seen: The sets of literals and of values that were found in the text.
        counts: Keys before this text, keys now, and literals found in the text.

    Returns:
        The literal to continue with when the arrays have been enlarged, or -1; and the counts.
    """
    before, count, literals = counts
    while literal >= 0:
        first, last = automaton.literals[literal, _FIRST], automaton.literals[literal + 1, _FIRST]
        most = count + last - first
        if most > len(keys) or 2 * (most - before) >= len(seen[1]) or 2 * literals + 2 >= len(seen[0]):
            break
        if not _is_new(seen[0], text, literal):
            literal = -1  # then its suffixes have been seen, too
            break
        literals += 1
        for place in range(first, last):
            value = automaton.values[place]
            if _is_new(seen[1], text, value):
                keys[count] = (np.int64(value) << 32) | text
                count += 1
        literal = automaton.literals[literal, _SHORTER]
    return literal, (before, count, literals)


@kernel
def scan(automaton: Automaton, texts: PackedTexts, first: int, most: int) -> tuple[I64, int]:
    """All pairs of a text and a value of a literal that occurs in it, each once, in the order of the texts.

    Args:
        automaton: The literals.
        texts: The texts to scan.
        first: The first text to scan.
        most: After this many pairs no further text is begun.

    Returns:
        Keys of the pairs, `value << 32 | text`, and the number of the text to continue with.
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
                    seen = (_enlarge(seen[0], text), _enlarge(seen[1], text))
        count = counts[1]
        text += 1
    return keys[:count], text
