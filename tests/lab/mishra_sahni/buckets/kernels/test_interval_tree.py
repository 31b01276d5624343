"""Interval trees lead every range and every value to the same buckets as a look at every node."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from math import log2

import numba
import numpy as np
import pytest

from tamis.arrays import I64
from tamis.lab.mishra_sahni.buckets.kernels.interval_tree import (
    IntervalTrees,
    add_range,
    bucket_of,
    close,
    empty_interval_trees,
    find,
    holds_middle,
    interval_tree_bytes,
    is_closed,
    new_tree,
    prune,
    query,
    range_bucket,
    remove_range,
    set_bucket,
)
from tests.lab.mishra_sahni.buckets.trees import (
    EXTREMES,
    GREATEST,
    LEAST,
    check_free,
    check_points,
    nodes_of,
    ranges_of,
)

Range = tuple[int, int]
Longs = I64
DOMAINS = {"one": (5, 5), "two": (-1, 0), "few": (-3, 9), "some": (0, 1_000), "all": (LEAST, GREATEST)}


@dataclass(slots=True)
class Filed:
    """Ranges by id in the buckets of one tree, split when they are full, as whoever uses the tree would."""

    intervals: IntervalTrees
    domain: Range
    capacity: int
    by_range: bool
    root: int = -1
    buckets: dict[int, dict[int, Range]] = field(default_factory=dict)
    homes: dict[int, tuple[int, int]] = field(default_factory=dict)
    made: int = 0

    def add(self, number: int, range_: Range) -> None:
        if self.root < 0:
            self.root = new_tree(self.intervals, *self.domain)
        node = find(self.intervals, self.root, *range_)
        in_ranges = self.by_range and is_closed(self.intervals, node)
        bucket = range_bucket(self.intervals, node, *range_) if in_ranges else bucket_of(self.intervals, node)
        if bucket < 0:
            bucket = self.made
            self.made += 1
            self.buckets[bucket] = {}
            if in_ranges:
                add_range(self.intervals, node, *range_, bucket)
            else:
                set_bucket(self.intervals, node, bucket)
        members = self.buckets[bucket]
        members[number] = range_
        self.homes[number] = node, bucket
        if len(members) > self.capacity and not is_closed(self.intervals, node):
            if self.by_range or not all(holds_middle(self.intervals, node, *each) for each in members.values()):
                close(self.intervals, node)
                set_bucket(self.intervals, node, -1)
                del self.buckets[bucket]
                for each in members.items():
                    self.add(*each)

    def remove(self, number: int) -> None:
        node, bucket = self.homes.pop(number)
        range_ = self.buckets[bucket].pop(number)
        if not self.buckets[bucket]:
            del self.buckets[bucket]
            if self.by_range and is_closed(self.intervals, node):
                remove_range(self.intervals, node, *range_)
            else:
                set_bucket(self.intervals, node, -1)
            self.root = prune(self.intervals, self.root, node)

    def ask(self, value: int) -> tuple[list[int], int]:
        out = np.full(len(self.buckets) + 2, -7, np.int32)
        count, steps = query(self.intervals, self.root, value, out, 1)
        assert out[0] == out[count] == -7
        return sorted(out[1:count].tolist()), steps

    def within(self, value: int) -> int:
        return min(max(value, self.domain[0]), self.domain[1])

    def check(self) -> tuple[set[int], set[int]]:
        """Every node is as it must be; gives the nodes, and those of the trees of ranges."""
        nodes, seen, points = nodes_of(self.intervals), set[int](), set[int]()
        placed: dict[int, int] = {}
        stack = [(self.root, -1, *self.domain)] if self.root >= 0 else []
        while stack:
            number, above, from_, to = stack.pop()
            low, high, parent, left, right, bucket, by_start, by_end, closed = nodes[number].tolist()
            assert (low, high, parent) == (from_, to, above)
            assert low <= high
            seen.add(number)
            assert bucket >= 0 or left >= 0 or right >= 0 or by_start >= 0
            if bucket >= 0:
                placed[bucket] = number
                assert not (self.by_range and closed)
            rising, used = check_points(ranges_of(self.intervals), by_start)
            falling, also_used = check_points(ranges_of(self.intervals), by_end)
            points |= used | also_used
            assert {(~start, ~end): (~end, bucket) for (end, start), (_, bucket) in rising.items()} == falling
            placed |= {bucket: number for _, bucket in rising.values()}
            middle = (low + high) // 2
            assert all(low <= start <= middle <= end <= high for end, start in rising)
            if not closed:
                assert left == right == by_start == by_end == -1
            if left >= 0:
                stack.append((left, number, low, middle - 1))
            if right >= 0:
                stack.append((right, number, middle + 1, high))
        assert placed == {bucket: node for node, bucket in self.homes.values()}
        for bucket, members in self.buckets.items():
            low, high, *_, closed = nodes[placed[bucket]].tolist()
            clamped = {(self.within(start), self.within(end)) for start, end in members.values()}
            assert all(low <= start <= end <= high for start, end in clamped)
            if closed:
                assert all(start <= (low + high) // 2 <= end for start, end in clamped)
                assert not self.by_range or len(clamped) == 1
        return seen, points

    def wanted(self, value: int) -> list[int]:
        """The buckets of all nodes that cover a value, of closed ones in the range variant those that hold it."""
        nodes = nodes_of(self.intervals)
        value = self.within(value)
        found = set()
        for number, (node, bucket) in self.homes.items():
            low, high, *_, closed = nodes[node].tolist()
            start, end = (self.within(each) for each in self.buckets[bucket][number])
            if low <= value <= high and (not (self.by_range and closed) or start <= value <= end):
                found.add(bucket)
        return sorted(found)

    def check_answer(self, value: int) -> None:
        found, steps = self.ask(value)
        assert found == self.wanted(value)
        holding = {
            bucket for number, (_, bucket) in self.homes.items() if _holds(self.buckets[bucket][number], value)
        }
        assert holding <= {*found}
        # A node, and the root of its ranges, for each halving of the domain; the children of what is found there.
        depth = log2(self.domain[1] - self.domain[0] + 1) + 1
        assert steps <= (2 * depth + 2 * len(found) if self.by_range else depth)


def _holds(range_: Range, value: int) -> bool:
    return range_[0] <= value <= range_[1]


COORDINATES: dict[str, Callable[[random.Random, Range], int]] = {
    "inside": lambda random_, domain: random_.randint(*domain),
    "around": lambda random_, domain: random_.randint(max(domain[0] - 5, LEAST), min(domain[1] + 5, GREATEST)),
    "extreme": lambda random_, _: random_.choice(EXTREMES),
}


@pytest.mark.slow
@pytest.mark.parametrize("by_range", [False, True], ids=["node", "range"])
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("domain", DOMAINS)
def test_random_changes(domain: str, coordinates: str, by_range: bool) -> None:
    random_ = random.Random(f"{domain} {coordinates} {by_range}")
    intervals = empty_interval_trees()
    trees = [Filed(intervals, DOMAINS[domain], capacity, by_range) for capacity in (1, 4)]
    for step in range(200):
        tree = random_.choice(trees)
        start, end = sorted(COORDINATES[coordinates](random_, tree.domain) for _ in range(2))
        if random_.random() < 0.4:
            start = end
        if random_.random() < (0.75 if (step // 50) % 2 == 0 else 0.3) or not tree.homes:
            tree.add(step, (start, end))
        else:
            tree.remove(random_.choice([*tree.homes]))
        if step % 4 == 0:
            looked = [each.check() for each in trees]
            check_free(intervals, looked[0][0] | looked[1][0])
            check_free(ranges_of(intervals), looked[0][1] | looked[1][1])
            for value in (start, end, COORDINATES[coordinates](random_, tree.domain)):
                tree.check_answer(value)
    for tree in trees:
        for value in {*EXTREMES, *tree.domain, sum(tree.domain) // 2}:
            tree.check_answer(value)
        for number in random_.sample([*tree.homes], len(tree.homes)):
            tree.remove(number)
        assert tree.root == -1
        assert tree.ask(0) == ([], 0)
    check_free(intervals, set())
    check_free(ranges_of(intervals), set())


@pytest.mark.parametrize("by_range", [False, True], ids=["node", "range"])
def test_free_nodes_are_reused(by_range: bool) -> None:
    intervals = empty_interval_trees()
    sizes = []
    for _ in range(3):
        tree = Filed(intervals, (0, 10_000), 2, by_range)
        random_ = random.Random(1)
        for number in range(100):
            start = random_.randrange(9_000)
            tree.add(number, (start, start + random_.randrange(1_000)))
        for number in range(100):
            tree.remove(number)
        sizes.append(interval_tree_bytes(intervals))
    assert len(set(sizes)) == 1, sizes


def test_a_closed_node_keeps_what_holds_its_middle() -> None:
    intervals = empty_interval_trees()
    root = new_tree(intervals, 0, 100)
    assert find(intervals, root, 1, 2) == root
    assert holds_middle(intervals, root, 50, 50)
    assert not holds_middle(intervals, root, 51, 60)
    close(intervals, root)
    assert find(intervals, root, 10, 50) == root
    below, above = find(intervals, root, 10, 49), find(intervals, root, 51, 200)
    assert len({root, below, above}) == 3
    assert find(intervals, root, -7, -3) == below
    assert [bool(is_closed(intervals, each)) for each in (root, below, above)] == [True, False, False]
    for node, bucket in ((root, 0), (below, 1), (above, 2)):
        set_bucket(intervals, node, bucket)
    out = np.empty(3, np.int32)
    answers = {}
    for value in (-1, 49, 50, 51, 999):
        count, _ = query(intervals, root, value, out, 0)
        answers[value] = out[:count].tolist()
    assert answers == {-1: [0, 1], 49: [0, 1], 50: [0], 51: [0, 2], 999: [0, 2]}
    for node in (below, above):
        set_bucket(intervals, node, -1)
        assert prune(intervals, root, node) == root


def test_a_range_has_one_bucket() -> None:
    intervals = empty_interval_trees()
    root = new_tree(intervals, LEAST, GREATEST)
    with pytest.raises(AssertionError, match="open node"):
        add_range(intervals, root, LEAST, GREATEST, 0)
    close(intervals, root)
    add_range(intervals, root, LEAST, GREATEST, 0)
    add_range(intervals, root, -1, GREATEST, 1)
    with pytest.raises(AssertionError, match="already"):
        add_range(intervals, root, -1, GREATEST, 2)
    with pytest.raises(AssertionError, match="not in its tree"):
        remove_range(intervals, root, -1, 0)
    assert range_bucket(intervals, root, LEAST, GREATEST) == 0
    assert range_bucket(intervals, root, -1, GREATEST) == 1
    assert range_bucket(intervals, root, -1, 0) == -1


@numba.njit(cache=True, nogil=True)
def spread(intervals: IntervalTrees, root: int, starts: Longs, ends: Longs) -> None:
    """A bucket for each range, with every node closed that a range comes to."""
    for bucket in range(len(starts)):
        node = find(intervals, root, starts[bucket], ends[bucket])
        while not is_closed(intervals, node):
            close(intervals, node)
            node = find(intervals, node, starts[bucket], ends[bucket])
        add_range(intervals, node, starts[bucket], ends[bucket], bucket)


@numba.njit(cache=True, nogil=True)
def gather(intervals: IntervalTrees, root: int, starts: Longs, ends: Longs) -> int:
    for bucket in range(len(starts)):
        node = find(intervals, root, starts[bucket], ends[bucket])
        remove_range(intervals, node, starts[bucket], ends[bucket])
        root = prune(intervals, root, node)
    return root


@numba.njit(cache=True, nogil=True)
def query_all(intervals: IntervalTrees, root: int, values: Longs, found: Longs, steps: Longs) -> None:
    out = np.empty(intervals.ranges.count, np.int32)
    for place in range(len(values)):
        found[place], steps[place] = query(intervals, root, values[place], out, 0)


@pytest.mark.parametrize("largest", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("bits", [20, 64])
def test_steps_depend_on_the_domain_and_on_what_is_found(bits: int, largest: int) -> None:
    random_ = np.random.default_rng(bits)
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    for count in (1_000, largest // 3, largest):
        starts = np.unique(random_.integers(low, high, count, endpoint=True))
        random_.shuffle(starts)
        lengths = random_.integers(0, max(2**bits // 1_000, 2), len(starts))
        ends = np.where(starts > high - lengths, high, starts + lengths)
        intervals = empty_interval_trees()
        root = new_tree(intervals, low, high)
        spread(intervals, root, starts, ends)
        values = random_.integers(low, high, 200, endpoint=True)
        found, steps = np.zeros(200, np.int64), np.zeros(200, np.int64)
        query_all(intervals, root, values, found, steps)
        for value, each in zip(values, found, strict=True):
            assert each == np.count_nonzero((starts <= value) & (value <= ends))
        assert np.all(steps <= 2 * (bits + 1) + 2 * found)
        gone = random_.permutation(len(starts))
        assert gather(intervals, root, starts[gone], ends[gone]) == -1
        check_free(intervals, set())
        check_free(ranges_of(intervals), set())
