r"""A suffix structure, which the paper plans for strings (5): patterns that a string contains, or ends with.

A string contains a pattern if one of its suffixes begins with it, and ends with it if one of its suffixes is it.
So the patterns are the paths of a tree, and every suffix of a value walks down as far as it can:

    patterns %ab%, %abc, %b      value "xabc":  x       no edge
                                                abc     a - ab (found %ab%) - abc, which ends here (found %abc)
       root - a - b - c                         bc      b, but the value goes on
            \ b                                 c       no edge

That is the part of the suffix tree of the value that patterns share. A pattern comes and goes along its path, and
nothing is built again. Edges are single bytes of UTF-8 in one hash table; a walk takes one step for each byte.
"""

from __future__ import annotations

import numpy as np
from numba.experimental import structref

from tamis.arrays import I32, I64, U8
from tamis.engines.array_kernels import grow
from tamis.engines.structs import struct
from tamis.kernels import kernel
from tamis.lab.mishra_sahni.buckets.kernels.hash_table import (
    HashTable,
    empty_table,
    look_up,
    remove_key,
    set_value,
    table_bytes,
)

_NONE = -1


@struct
class SuffixTree(structref.StructRefProxy):  # type: ignore[misc]
    """Made by `empty_suffix_tree`; only compiled code reads its fields.

    edges: the node of (node, byte).
    inside, ending: int32[nodes]: the pattern that a string contains, or ends with, if a suffix comes here; -1 if
        none.
    uses: int32[nodes]: how many patterns go through it; of a free node the next free one, or -1.
    made, free: nodes ever made, the first of which is the root, and a free one or -1.
    path: int32[...]: scratch.
    """

    edges: HashTable
    inside: I32
    ending: I32
    uses: I32
    made: int
    free: int
    path: I32


@kernel
def empty_suffix_tree() -> SuffixTree:
    tree = SuffixTree(
        empty_table(),
        np.empty(16, np.int32),
        np.empty(16, np.int32),
        np.empty(16, np.int32),
        0,
        -1,
        np.empty(16, np.int32),
    )
    _new_node(tree)
    return tree


@kernel
def _new_node(tree: SuffixTree) -> int:
    if tree.free >= 0:
        node = tree.free
        tree.free = tree.uses[node]
    else:
        node = tree.made
        tree.made += 1
        if node == len(tree.uses):
            length = node + node // 2
            tree.inside, tree.ending = grow(tree.inside, length), grow(tree.ending, length)
            tree.uses = grow(tree.uses, length)
    tree.inside[node] = tree.ending[node] = _NONE
    tree.uses[node] = 0
    return int(node)


@kernel
def add_pattern(tree: SuffixTree, text: U8, is_ending: int, pattern: int) -> None:
    """Add a pattern that is not there yet: bytes that a string ends with (1), or contains (0)."""
    node = 0
    for byte in text:
        following = look_up(tree.edges, node, np.int64(byte))
        if following < 0:
            following = _new_node(tree)
            set_value(tree.edges, node, np.int64(byte), following)
        node = following
        tree.uses[node] += 1
    if is_ending:
        tree.ending[node] = pattern
    else:
        tree.inside[node] = pattern


@kernel
def remove_pattern(tree: SuffixTree, text: U8, is_ending: int) -> None:
    """Remove a pattern that is there, with the nodes that no other goes through."""
    if len(tree.path) <= len(text):
        tree.path = np.empty(2 * len(text) + 1, np.int32)
    node = 0
    for at, byte in enumerate(text):
        tree.path[at] = node
        node = look_up(tree.edges, node, np.int64(byte))
    if is_ending:
        tree.ending[node] = _NONE
    else:
        tree.inside[node] = _NONE
    for at in range(len(text) - 1, -1, -1):
        above, byte = np.int64(tree.path[at]), np.int64(text[at])
        node = look_up(tree.edges, above, byte)
        tree.uses[node] -= 1
        if tree.uses[node] == 0:
            remove_key(tree.edges, above, byte)
            tree.uses[node] = tree.free
            tree.free = node


@kernel
def patterns_in(tree: SuffixTree, offsets: I64, data: U8, patterns: int) -> tuple[I32, I32, int]:
    """Rows and patterns of all strings that contain or end with one, each pair once; and how many steps it took.

    Args:
        tree: The patterns.
        offsets: int64[strings + 1]: where the string of each row begins in `data`; that of NULL is empty.
        data: uint8[...]: the strings.
        patterns: One more than the greatest pattern.
    """
    rows, found, count, steps = np.empty(1024, np.int32), np.empty(1024, np.int32), 0, 0
    seen = np.full(patterns, -1, np.int32)  # the last row in which a pattern was found
    for row in range(len(offsets) - 1):
        end = offsets[row + 1]
        for start in range(offsets[row], end):
            node = 0
            for at in range(start, end):
                node = look_up(tree.edges, node, np.int64(data[at]))
                steps += 1
                if node < 0:
                    break
                if count + 2 > len(found):
                    rows, found = grow(rows, 2 * len(rows)), grow(found, 2 * len(found))
                pattern = tree.inside[node]
                if pattern >= 0 and seen[pattern] != row:
                    seen[pattern] = row
                    rows[count], found[count] = row, pattern
                    count += 1
                if at == end - 1 and tree.ending[node] >= 0:
                    rows[count], found[count] = row, tree.ending[node]
                    count += 1
    return rows[:count].copy(), found[:count].copy(), steps


@kernel
def suffix_tree_size(tree: SuffixTree) -> tuple[int, int]:
    """Its nodes, and its bytes."""
    return tree.edges.count + 1, table_bytes(tree.edges) + 12 * tree.made
