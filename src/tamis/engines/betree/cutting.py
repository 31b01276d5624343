"""A term in: down to where it belongs, and buckets that have too many terms are cut.

A node that has too many terms in its bucket is cut by value first, into two halves of the range that the ends of
its sides have there: a term goes into a half if its side lies in it. What stays is cut by attribute: one part
after another, for the attribute that scores highest, takes the terms that ask for it. What cannot be cut, since no
attribute is left that several terms ask for, makes the bucket larger.

An attribute gains by the terms of the bucket that ask for it, each more the narrower its side is: popular ones
make large parts, and wide sides few distinctions within. It loses by the terms that an event comes upon in a part
and does not satisfy, and the more so the more events have it. Those that many terms of the tree ask for are taken
for those that many events have: the score is the gain by each such term, or the gain alone where a tree is to know
no loss. A term that could go into several parts goes where it scores highest by itself.
"""

from __future__ import annotations

import numba
import numpy as np

from tamis.engines.betree.tree import (
    ALWAYS,
    BUCKET,
    COUNT,
    DIRECTORY,
    ENTRY,
    KEY,
    LEFT,
    LOW_BITS,
    MIDDLE,
    NODE,
    PARTS,
    RIGHT,
    ROOT,
    Ints,
    Tree,
    add_entry,
    is_cut,
    new_half,
    new_part,
    part_in,
    remove_entry,
)
from tamis.engines.boxes.sides import AXIS, HIGH, LOW, SIDE, Boxes
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.engines.grouping import grown

_WIDE_SHARE = 0.25
"""What a side counts that says no more than that there is a value; a single value counts 1."""
_FEWEST = 2
"""How many terms a part must get when it is made."""


@numba.njit(cache=True, nogil=True)
def put_terms(tree: Tree, boxes: Boxes, terms: Ints) -> None:
    """File terms that are not there."""
    for term in terms:
        _observe(tree, boxes, term)
    for term in terms:
        _put(tree, boxes, term)


@numba.njit(cache=True, nogil=True)
def _key_of(cells: Ints, at: int) -> int:
    """The key of the side that begins at a cell."""
    return int(cells[at + AXIS] + 1 if cells[at + AXIS] >= 0 else ~cells[at + LOW])


@numba.njit(cache=True, nogil=True)
def _folded(key: int) -> int:
    """Different for all keys, and not below 0."""
    return int(2 * key if key >= 0 else -2 * key - 1)


@numba.njit(cache=True, nogil=True)
def _side_on(boxes: Boxes, term: int, key: int) -> int:
    """Where the side of a term on a key begins; -1 if it has none."""
    first = boxes.firsts[term]
    for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
        if _key_of(boxes.cells, at) == key:
            return int(at)
    return -1


@numba.njit(cache=True, nogil=True)
def _observe(tree: Tree, boxes: Boxes, term: int) -> None:
    """Make room for a term and its keys, count those, and widen the ranges of its axes."""
    if term >= len(tree.homes):
        old, length = len(tree.homes), term + term // 2 + 16
        tree.homes, tree.places = grown(tree.homes, length), grown(tree.places, length)
        tree.homes[old:] = -1
    cells, first = boxes.cells, boxes.firsts[term]
    for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
        key = _key_of(cells, at)
        if _folded(key) >= len(tree.scores):
            old, length = len(tree.scores), 2 * _folded(key) + 16
            tree.scores, tree.counts = grown(tree.scores, length), grown(tree.counts, length)
            tree.marks, tree.uses = grown(tree.marks, length), grown(tree.uses, length)
            tree.scores[old:], tree.counts[old:], tree.marks[old:], tree.uses[old:] = 0.0, 0, 0, 0
        tree.uses[_folded(key)] += 1
        if key < 0:
            continue
        if key >= len(tree.least):
            old, length = len(tree.least), 2 * key + 16
            tree.least, tree.most = grown(tree.least, length), grown(tree.most, length)
            tree.least[old:], tree.most[old:] = HIGHEST, LOWEST
        for end in (cells[at + LOW], cells[at + HIGH]):
            if end != LOWEST and end != HIGHEST:
                tree.least[key], tree.most[key] = min(tree.least[key], end), max(tree.most[key], end)


@numba.njit(cache=True, nogil=True)
def discount(tree: Tree, boxes: Boxes, term: int) -> None:
    """Count the keys of a term that goes."""
    first = boxes.firsts[term]
    for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
        tree.uses[_folded(_key_of(boxes.cells, at))] -= 1


@numba.njit(cache=True, nogil=True)
def _narrowness(tree: Tree, boxes: Boxes, at: int) -> float:
    """The share of its axis' range that a side leaves out; 1 for a test."""
    key = _key_of(boxes.cells, at)
    if key < 0:
        return 1.0
    least, most = float(tree.least[key]), float(tree.most[key])
    low, high = max(float(boxes.cells[at + LOW]), least), min(float(boxes.cells[at + HIGH]), most)
    return 1.0 - (high - low + 1.0) / (most - least + 1.0) if most > least else 0.0


@numba.njit(cache=True, nogil=True)
def _score(tree: Tree, boxes: Boxes, at: int) -> float:
    """What a side gains for its key, by what that key loses."""
    gain = _WIDE_SHARE + (1.0 - _WIDE_SHARE) * _narrowness(tree, boxes, at)
    return gain / tree.uses[_folded(_key_of(boxes.cells, at))] if tree.has_loss else gain


@numba.njit(cache=True, nogil=True)
def _put(tree: Tree, boxes: Boxes, term: int) -> None:
    if boxes.lengths[term] == 0:
        tree.weights[ALWAYS] += 1
        add_entry(tree, ALWAYS, term, LOWEST, HIGHEST)
        return
    node, side = ROOT, -1
    while True:
        tree.weights[node] += 1
        following = _half_for(tree, node, boxes.cells[side + LOW], boxes.cells[side + HIGH]) if side >= 0 else -1
        if following < 0:
            following, found = _part_for(tree, boxes, node, term)
            if following < 0:
                break
            side = found
        node = following
    mark_path(tree, node, 1)
    add_fresh_entry(tree, boxes, node, term)
    mark_path(tree, node, 0)
    if tree.nodes[node * NODE + COUNT] > tree.caps[node]:
        _relieve(tree, boxes, node)


@numba.njit(cache=True, nogil=True)
def _half_for(tree: Tree, node: int, low: int, high: int) -> int:
    """The half of a node in which a side lies; -1 if it lies in both, or the node has none."""
    if not is_cut(tree, node):
        return -1
    middle = tree.nodes[node * NODE + MIDDLE]
    if low <= middle < high:
        return -1
    which = LEFT if high <= middle else RIGHT
    half = tree.nodes[node * NODE + which]
    return int(half) if half >= 0 else new_half(tree, node, which)


@numba.njit(cache=True, nogil=True)
def _part_for(tree: Tree, boxes: Boxes, node: int, term: int) -> tuple[int, int]:
    """The part of a node in which a term scores highest, and where its side begins; -1 if there is none."""
    count, directory = tree.nodes[node * NODE + PARTS], tree.nodes[node * NODE + DIRECTORY]
    best, best_side, best_score = -1, -1, -1.0
    if count:
        first = boxes.firsts[term]
        for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
            part = part_in(tree.cells, directory, count, _key_of(boxes.cells, at))
            if part >= 0:
                score = _score(tree, boxes, at)
                if score > best_score:
                    best, best_side, best_score = part, int(at), score
    return best, best_side


@numba.njit(cache=True, nogil=True)
def mark_path(tree: Tree, node: int, mark: int) -> None:
    """Mark the keys of a node and of those above it."""
    while node > ROOT:
        tree.marks[_folded(tree.nodes[node * NODE + KEY])] = mark
        node = int(tree.parents[node])


@numba.njit(cache=True, nogil=True)
def add_fresh_entry(tree: Tree, boxes: Boxes, node: int, term: int) -> None:
    """Put a term into a bucket, with its rarest side whose key is not marked."""
    cells, first = boxes.cells, boxes.firsts[term]
    for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
        key = _key_of(cells, at)
        if tree.marks[_folded(key)] == 0:
            add_entry(tree, node, (key << 32) | term, cells[at + LOW], cells[at + HIGH])
            return
    add_entry(tree, node, term, LOWEST, HIGHEST)


@numba.njit(cache=True, nogil=True)
def _relieve(tree: Tree, boxes: Boxes, start: int) -> None:
    """Cut a node, and what comes out of it, until no bucket has too many terms."""
    waiting = np.empty(64, np.int64)
    waiting[0] = start
    top = 1
    while top:
        top -= 1
        node = int(waiting[top])
        at = node * NODE
        if tree.nodes[at + COUNT] <= tree.caps[node]:
            continue
        if tree.nodes[at + KEY] > 0 and not is_cut(tree, node) and _halve(tree, boxes, node):
            for which in (LEFT, RIGHT):
                if tree.nodes[at + which] >= 0:
                    waiting[top] = tree.nodes[at + which]
                    top += 1
        while tree.nodes[at + COUNT] > tree.caps[node]:
            part = _part_off(tree, boxes, node)
            if part < 0:
                tree.caps[node] = 2 * tree.nodes[at + COUNT]
            else:
                if top + 2 >= len(waiting):
                    waiting = grown(waiting, 2 * len(waiting))
                waiting[top] = part
                top += 1


@numba.njit(cache=True, nogil=True)
def _halve(tree: Tree, boxes: Boxes, node: int) -> bool:
    """Move the terms whose sides lie in one half of their range into that half; are there any?"""
    key, count = tree.nodes[node * NODE + KEY], tree.nodes[node * NODE + COUNT]
    bucket = tree.nodes[node * NODE + BUCKET]
    sides = np.empty(count, np.int64)
    least, most = HIGHEST, LOWEST
    for place in range(count):
        at = _side_on(boxes, tree.cells[bucket + ENTRY * place] & LOW_BITS, key)
        sides[place] = at
        for end in (boxes.cells[at + LOW], boxes.cells[at + HIGH]):
            if end != LOWEST and end != HIGHEST:
                least, most = min(least, end), max(most, end)
    if least >= most:
        return False
    middle = (least & most) + ((least ^ most) >> 1)  # their mean, which their sum would be too large for
    moved = False
    # From behind, so that the last entry, which fills the gap, has been asked for.
    for place in range(count - 1, -1, -1):
        low, high = boxes.cells[sides[place] + LOW], boxes.cells[sides[place] + HIGH]
        if low <= middle < high:
            continue
        moved = True
        which = LEFT if high <= middle else RIGHT
        half = tree.nodes[node * NODE + which]
        if half < 0:
            half = new_half(tree, node, which)
        tree.weights[half] += 1
        cell = tree.nodes[node * NODE + BUCKET] + ENTRY * place
        head, low, high = tree.cells[cell], tree.cells[cell + 1], tree.cells[cell + 2]
        remove_entry(tree, node, place)
        add_entry(tree, half, head, low, high)
    tree.nodes[node * NODE + MIDDLE] = middle
    return moved


@numba.njit(cache=True, nogil=True)
def _best_key(tree: Tree, boxes: Boxes, node: int) -> int:
    """The key without a mark that scores highest in a bucket; 0 if none has enough terms."""
    count, bucket = tree.nodes[node * NODE + COUNT], tree.nodes[node * NODE + BUCKET]
    best, best_score = 0, 0.0
    for again in range(2):
        for place in range(count):
            term = tree.cells[bucket + ENTRY * place] & LOW_BITS
            first = boxes.firsts[term]
            for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
                key = _key_of(boxes.cells, at)
                folded = _folded(key)
                if again:
                    tree.scores[folded], tree.counts[folded] = 0.0, 0
                elif tree.marks[folded] == 0:
                    tree.scores[folded] += _score(tree, boxes, at)
                    tree.counts[folded] += 1
                    if tree.scores[folded] > best_score and tree.counts[folded] >= _FEWEST:
                        best, best_score = int(key), tree.scores[folded]
    return best


@numba.njit(cache=True, nogil=True)
def _part_off(tree: Tree, boxes: Boxes, node: int) -> int:
    """Make a part of the terms of a bucket that ask for its best key; -1 if there is none."""
    mark_path(tree, node, 1)
    key = _best_key(tree, boxes, node)
    part = -1
    if key:
        part = new_part(tree, node, key)
        tree.marks[_folded(key)] = 1
        for place in range(tree.nodes[node * NODE + COUNT] - 1, -1, -1):
            cell = tree.nodes[node * NODE + BUCKET] + ENTRY * place
            head, low, high = tree.cells[cell], tree.cells[cell + 1], tree.cells[cell + 2]
            term = head & LOW_BITS
            if _side_on(boxes, term, key) < 0:
                continue
            tree.weights[part] += 1
            remove_entry(tree, node, place)
            if head >> 32 == key:
                add_fresh_entry(tree, boxes, part, term)
            else:
                add_entry(tree, part, head, low, high)
        tree.marks[_folded(key)] = 0
    mark_path(tree, node, 0)
    return part
