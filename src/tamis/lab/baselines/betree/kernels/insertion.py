"""Insertion into a BE-Tree: down to the bucket of a term, and splits of overfull buckets.

An overfull bucket is clustered by value first, into two halves of the range that the ends of its sides have
there: a term moves into a half if its side lies in it. If all terms have the same side, which is so when they
come sorted, the range is that of the axis instead: were such a bucket partitioned by other attributes at once,
terms of all other values would follow into these partitions, and nothing would ever tell the values apart. The
rest is partitioned: one partition after another, for the attribute that scores highest, takes the terms that
restrict it. A bucket that cannot be split, since no attribute is left that several of its terms restrict, gets a
higher capacity.

The score of an attribute is its gain divided by its loss. It gains by the terms of the bucket that restrict it,
each the more the narrower its side is: popular attributes make large partitions, and wide sides distinguish
little. It loses by the terms that an event meets in a partition and does not satisfy, the more so the more
events have the attribute; attributes that many terms of the tree restrict are taken for those that many events
have. A term that several partitions could take goes to the one where its own score is highest.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import I64
from tamis.engines.array_kernels import grow
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.kernels import kernel
from tamis.lab.baselines.betree.kernels.tree import (
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
    PARTITIONS,
    RIGHT,
    ROOT,
    BETreeNodes,
    add_entry,
    is_clustered,
    new_half,
    new_partition,
    partition_in,
    remove_entry,
)
from tamis.lab.boxes.kernels.boxes import AXIS, HIGH, LOW, SIDE, Boxes

_WIDE_SHARE = 0.25
"""The gain of a side that spans its whole axis; a single value gains 1."""
_FEWEST = 2
"""How many terms a new partition must get."""


@kernel
def insert_terms(tree: BETreeNodes, boxes: Boxes, terms: I64) -> None:
    for term in terms:
        _observe(tree, boxes, term)
    for term in terms:
        _insert(tree, boxes, term)


@kernel
def _key_of(cells: I64, at: int) -> int:
    """The key of the side that begins at a cell."""
    return int(cells[at + AXIS] + 1 if cells[at + AXIS] >= 0 else ~cells[at + LOW])


@kernel
def _fold(key: int) -> int:
    """A key as an array index: injective, and not negative."""
    return int(2 * key if key >= 0 else -2 * key - 1)


@kernel
def _side_on(boxes: Boxes, term: int, key: int) -> int:
    """Where the side of a term on a key begins, -1 if it has none."""
    first = boxes.firsts[term]
    for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
        if _key_of(boxes.cells, at) == key:
            return int(at)
    return -1


@kernel
def _observe(tree: BETreeNodes, boxes: Boxes, term: int) -> None:
    """Count the keys of a new term, and extend the ranges of its axes; arrays grow as needed."""
    if term >= len(tree.homes):
        old, length = len(tree.homes), term + term // 2 + 16
        tree.homes, tree.places = grow(tree.homes, length), grow(tree.places, length)
        tree.homes[old:] = -1
    cells, first = boxes.cells, boxes.firsts[term]
    for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
        key = _key_of(cells, at)
        if _fold(key) >= len(tree.scores):
            old, length = len(tree.scores), 2 * _fold(key) + 16
            tree.scores, tree.counts = grow(tree.scores, length), grow(tree.counts, length)
            tree.marks, tree.uses = grow(tree.marks, length), grow(tree.uses, length)
            tree.scores[old:], tree.counts[old:], tree.marks[old:], tree.uses[old:] = 0.0, 0, 0, 0
        tree.uses[_fold(key)] += 1
        if key < 0:
            continue
        if key >= len(tree.least):
            old, length = len(tree.least), 2 * key + 16
            tree.least, tree.most = grow(tree.least, length), grow(tree.most, length)
            tree.least[old:], tree.most[old:] = HIGHEST, LOWEST
        for end in (cells[at + LOW], cells[at + HIGH]):
            if end != LOWEST and end != HIGHEST:
                tree.least[key], tree.most[key] = min(tree.least[key], end), max(tree.most[key], end)


@kernel
def forget_keys(tree: BETreeNodes, boxes: Boxes, term: int) -> None:
    """Take back the uses of the keys of a deleted term."""
    first = boxes.firsts[term]
    for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
        tree.uses[_fold(_key_of(boxes.cells, at))] -= 1


@kernel
def _narrowness(tree: BETreeNodes, boxes: Boxes, at: int) -> float:
    """The fraction of the range of its axis that a side excludes; 1 for a test."""
    key = _key_of(boxes.cells, at)
    if key < 0:
        return 1.0
    least, most = float(tree.least[key]), float(tree.most[key])
    low, high = max(float(boxes.cells[at + LOW]), least), min(float(boxes.cells[at + HIGH]), most)
    return 1.0 - (high - low + 1.0) / (most - least + 1.0) if most > least else 0.0


@kernel
def _score(tree: BETreeNodes, boxes: Boxes, at: int) -> float:
    """What a side adds to the score of its key: its gain, divided by the loss of the key."""
    gain = _WIDE_SHARE + (1.0 - _WIDE_SHARE) * _narrowness(tree, boxes, at)
    return gain / tree.uses[_fold(_key_of(boxes.cells, at))] if tree.has_loss else gain


@kernel
def _insert(tree: BETreeNodes, boxes: Boxes, term: int) -> None:
    if boxes.lengths[term] == 0:
        tree.weights[ALWAYS] += 1
        add_entry(tree, ALWAYS, term, LOWEST, HIGHEST)
        return
    node, side = ROOT, -1
    while True:
        tree.weights[node] += 1
        following = _half_for(tree, node, boxes.cells[side + LOW], boxes.cells[side + HIGH]) if side >= 0 else -1
        if following < 0:
            following, found = _partition_for(tree, boxes, node, term)
            if following < 0:
                break
            side = found
        node = following
    mark_path(tree, node, 1)
    add_fresh_entry(tree, boxes, node, term)
    mark_path(tree, node, 0)
    if tree.nodes[node * NODE + COUNT] > tree.caps[node]:
        _split_overfull(tree, boxes, node)


@kernel
def _half_for(tree: BETreeNodes, node: int, low: int, high: int) -> int:
    """The half of a node that contains a side; -1 if the side spans the middle, or the node has no halves."""
    if not is_clustered(tree, node):
        return -1
    middle = tree.nodes[node * NODE + MIDDLE]
    if low <= middle < high:
        return -1
    which = LEFT if high <= middle else RIGHT
    half = tree.nodes[node * NODE + which]
    return int(half) if half >= 0 else new_half(tree, node, which)


@kernel
def _partition_for(tree: BETreeNodes, boxes: Boxes, node: int, term: int) -> tuple[int, int]:
    """The partition of a node in which a term scores highest, and where its side begins; -1 if there is none."""
    count, directory = tree.nodes[node * NODE + PARTITIONS], tree.nodes[node * NODE + DIRECTORY]
    best, best_side, best_score = -1, -1, -1.0
    if count:
        first = boxes.firsts[term]
        for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
            partition = partition_in(tree.cells, directory, count, _key_of(boxes.cells, at))
            if partition >= 0:
                score = _score(tree, boxes, at)
                if score > best_score:
                    best, best_side, best_score = partition, int(at), score
    return best, best_side


@kernel
def mark_path(tree: BETreeNodes, node: int, mark: int) -> None:
    """Mark the keys of a node and of the nodes above it, or unmark them."""
    while node > ROOT:
        tree.marks[_fold(tree.nodes[node * NODE + KEY])] = mark
        node = int(tree.parents[node])


@kernel
def add_fresh_entry(tree: BETreeNodes, boxes: Boxes, node: int, term: int) -> None:
    """Add a term to a bucket, with its rarest side whose key is not marked."""
    cells, first = boxes.cells, boxes.firsts[term]
    for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
        key = _key_of(cells, at)
        if tree.marks[_fold(key)] == 0:
            add_entry(tree, node, (key << 32) | term, cells[at + LOW], cells[at + HIGH])
            return
    add_entry(tree, node, term, LOWEST, HIGHEST)


@kernel
def _split_overfull(tree: BETreeNodes, boxes: Boxes, start: int) -> None:
    """Split a node, and the nodes made of it, until no bucket is overfull."""
    waiting = np.empty(64, np.int64)
    waiting[0] = start
    top = 1
    while top:
        top -= 1
        node = int(waiting[top])
        at = node * NODE
        if tree.nodes[at + COUNT] <= tree.caps[node]:
            continue
        if tree.nodes[at + KEY] > 0 and not is_clustered(tree, node) and _cluster(tree, boxes, node):
            for which in (LEFT, RIGHT):
                if tree.nodes[at + which] >= 0:
                    waiting[top] = tree.nodes[at + which]
                    top += 1
        while tree.nodes[at + COUNT] > tree.caps[node]:
            partition = _split_off_partition(tree, boxes, node)
            if partition < 0:
                tree.caps[node] = 2 * tree.nodes[at + COUNT]
            else:
                if top + 2 >= len(waiting):
                    waiting = grow(waiting, 2 * len(waiting))
                waiting[top] = partition
                top += 1


@kernel
def _reachable_range(tree: BETreeNodes, node: int) -> tuple[int, int]:
    """Which of the values seen on its axis may come into a node, by the middles of the nodes above it."""
    key = tree.nodes[node * NODE + KEY]
    least, most = int(tree.least[key]), int(tree.most[key])
    above = int(tree.parents[node])
    while above > ROOT and tree.nodes[above * NODE + KEY] == key:
        middle = int(tree.nodes[above * NODE + MIDDLE])
        if tree.nodes[above * NODE + LEFT] == node:
            most = min(most, middle)
        else:
            least = max(least, middle + 1)
        node, above = above, int(tree.parents[above])
    return least, most


@kernel
def _between_sides(boxes: Boxes, sides: I64, least: int, middle: int) -> int:
    """The last place up to the middle that no side spans: a text is a range of keys, too, and not to be cut."""
    best = least - 1 if least > LOWEST else least
    for at in sides:
        low, high = boxes.cells[at + LOW], boxes.cells[at + HIGH]
        if high <= middle:
            best = max(best, high)
        elif LOWEST < low <= middle:
            best = max(best, low - 1)
    return int(best) if best >= least else int(middle)


@kernel
def _cluster(tree: BETreeNodes, boxes: Boxes, node: int) -> bool:
    """Move the terms whose sides lie in one half of the range into that half; False if there are none."""
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
    first = sides[0]
    if (boxes.cells[sides + LOW] == boxes.cells[first + LOW]).all() and (
        boxes.cells[sides + HIGH] == boxes.cells[first + HIGH]
    ).all():
        least, most = _reachable_range(tree, node)
    if least >= most:
        return False
    middle = (least & most) + ((least ^ most) >> 1)  # the mean; a sum could overflow
    middle = _between_sides(boxes, sides, least, middle)
    moved = False
    # From the end, so that the entry which fills a gap has been visited already.
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


@kernel
def _best_key(tree: BETreeNodes, boxes: Boxes, node: int) -> int:
    """The unmarked key that scores highest in a bucket; 0 if none has enough terms."""
    count, bucket = tree.nodes[node * NODE + COUNT], tree.nodes[node * NODE + BUCKET]
    best, best_score = 0, 0.0
    for again in range(2):
        for place in range(count):
            term = tree.cells[bucket + ENTRY * place] & LOW_BITS
            first = boxes.firsts[term]
            for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
                key = _key_of(boxes.cells, at)
                folded = _fold(key)
                if again:
                    tree.scores[folded], tree.counts[folded] = 0.0, 0
                elif tree.marks[folded] == 0:
                    tree.scores[folded] += _score(tree, boxes, at)
                    tree.counts[folded] += 1
                    if tree.scores[folded] > best_score and tree.counts[folded] >= _FEWEST:
                        best, best_score = int(key), tree.scores[folded]
    return best


@kernel
def _split_off_partition(tree: BETreeNodes, boxes: Boxes, node: int) -> int:
    """Move the terms of a bucket that restrict its best key to a new partition; -1 if there is no such key."""
    mark_path(tree, node, 1)
    key = _best_key(tree, boxes, node)
    partition = -1
    if key:
        partition = new_partition(tree, node, key)
        tree.marks[_fold(key)] = 1
        for place in range(tree.nodes[node * NODE + COUNT] - 1, -1, -1):
            cell = tree.nodes[node * NODE + BUCKET] + ENTRY * place
            head, low, high = tree.cells[cell], tree.cells[cell + 1], tree.cells[cell + 2]
            term = head & LOW_BITS
            if _side_on(boxes, term, key) < 0:
                continue
            tree.weights[partition] += 1
            remove_entry(tree, node, place)
            if head >> 32 == key:
                add_fresh_entry(tree, boxes, partition, term)
            else:
                add_entry(tree, partition, head, low, high)
        tree.marks[_fold(key)] = 0
    mark_path(tree, node, 0)
    return partition
