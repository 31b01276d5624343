"""Priority search trees answer like a look at every point, stay red-black, and take O(log n + found) steps."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from math import log2

import numba
import numpy as np
import pytest

from tamis.arrays import I64
from tamis.lab.mishra_sahni.buckets.kernels.priority_search_tree import (
    PrioritySearchTrees,
    delete,
    empty_search_trees,
    exact,
    insert,
    last,
    query,
    search_tree_bytes,
    successor,
)
from tests.lab.mishra_sahni.buckets.trees import EXTREMES, check_free, check_points, counts_of

Naive = dict[tuple[int, int], tuple[int, int]]
"""(end, start) to (low, bucket)."""
Longs = I64

MOST_ROTATIONS_IN, MOST_ROTATIONS_OUT = 2, 3


def ask(points: PrioritySearchTrees, root: int, value: int, room: int) -> tuple[list[int], int]:
    # What is already there stays; a bucket too many would be an index beyond the end, which nothing checks.
    out = np.full(room + 2, -7, np.int32)
    count, steps = query(points, root, value, out, 1)
    assert out[0] == out[count] == -7
    return sorted(out[1:count].tolist()), steps


def check_answers(points: PrioritySearchTrees, root: int, naive: Naive, values: Iterable[int]) -> None:
    rising = sorted(naive)
    assert last(points, root) == (naive[rising[-1]][1] if rising else -1)
    for value in values:
        found, steps = ask(points, root, value, len(naive))
        assert found == sorted(bucket for (end, _), (low, bucket) in naive.items() if low <= value <= end)
        assert steps <= most_steps(len(naive), len(found))
        for start in (value, value - 1 if value > EXTREMES[0] else value):
            x = (value, start)
            assert exact(points, root, *x) == naive.get(x, (0, -1))[1]
            following = [each for each in rising if each >= x]
            assert successor(points, root, *x) == (naive[following[0]][1] if following else -1)


def height(count: int) -> float:
    """No leaf of a red-black tree of so many leaves is deeper, in nodes."""
    return 2 * log2(count + 1) + 1 if count else 0


def most_steps(count: int, found: int) -> float:
    """Nodes on the way to the value, the right children beside it, and the children of those that were found."""
    return 2 * height(count) + 2 * found


def rotated(
    points: PrioritySearchTrees, change: Callable[..., int], *arguments: int, most: int, count: int
) -> int:
    """The root after a change, which takes no more rotations and steps than it may."""
    before = counts_of(points)
    root = change(points, *arguments)
    after = counts_of(points)
    assert after.rotations - before.rotations <= most
    # The way down, one push and one pull; a rotation is a push and a pull.
    assert after.steps - before.steps <= (3 + 2 * most) * (height(count + 1) + 1)
    return root


COORDINATES: dict[str, Callable[[random.Random], int]] = {
    "few": lambda random_: random_.randrange(6),
    "some": lambda random_: random_.randrange(-40, 40),
    "wide": lambda random_: random_.randrange(-(2**63), 2**63),
    "extreme": lambda random_: random_.choice(EXTREMES),
}


@pytest.mark.slow
@pytest.mark.parametrize("hulls", [False, True], ids=["ranges", "hulls"])
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_random_changes_of_several_trees(coordinates: str, hulls: bool) -> None:
    random_ = random.Random(f"{coordinates} {hulls}")
    draw = COORDINATES[coordinates]
    points = empty_search_trees()
    roots, naives = [-1] * 3, [Naive() for _ in range(3)]
    for step in range(700):
        tree = random_.randrange(3)
        naive, root = naives[tree], roots[tree]
        grows = random_.random() < (0.8 if (step // 120) % 2 == 0 else 0.2)
        if grows or not naive:
            start, end = sorted((draw(random_), draw(random_)))
            if (end, start) in naive:
                continue
            low = min(start, draw(random_)) if hulls else start
            roots[tree] = rotated(
                points, insert, root, end, start, low, step, most=MOST_ROTATIONS_IN, count=len(naive)
            )
            naive[end, start] = low, step
        else:
            x = random_.choice([*naive])
            roots[tree] = rotated(points, delete, root, *x, most=MOST_ROTATIONS_OUT, count=len(naive))
            del naive[x]
        if step % 5 == 0:
            looked = [check_points(points, each) for each in roots]
            assert [found for found, _ in looked] == naives
            check_free(points, set().union(*(used for _, used in looked)))
            check_answers(points, roots[tree], naives[tree], [draw(random_) for _ in range(3)])
    for tree, naive in enumerate(naives):
        check_answers(points, roots[tree], naive, {*EXTREMES, *(end for end, _ in naive)})
        for x in random_.sample([*naive], len(naive)):
            roots[tree] = delete(points, roots[tree], *x)
    assert roots == [-1] * 3
    check_free(points, set())


@pytest.mark.parametrize("order", ["rising", "falling", "shuffled", "inside"])
@pytest.mark.parametrize("count", [1, 2, 3, 200])
def test_filled_and_emptied(order: str, count: int) -> None:
    # "inside": each range in the one before, so that ends fall while starts rise.
    ranges = [
        (number, 3 * number) if order != "inside" else (number, 2 * count - number) for number in range(count)
    ]
    if order == "falling":
        ranges.reverse()
    if order == "shuffled":
        random.Random(count).shuffle(ranges)
    points = empty_search_trees()
    sizes = []
    for turn in range(3):
        naive, root = Naive(), -1
        for bucket, (start, end) in enumerate(ranges):
            root = insert(points, root, end, start, start, bucket)
            naive[end, start] = start, bucket
        assert check_points(points, root)[0] == naive
        check_answers(points, root, naive, range(0, 3 * count, 7))
        gone = [*naive] if turn == 0 else [*naive][::-1] if turn == 1 else random.Random(1).sample([*naive], count)
        for place, x in enumerate(gone):
            root = delete(points, root, *x)
            del naive[x]
            if place % 9 == 0:
                assert check_points(points, root)[0] == naive
        assert root == -1
        check_free(points, set())
        sizes.append(search_tree_bytes(points))
    assert len(set(sizes)) == 1, sizes


def test_an_empty_tree_has_nothing() -> None:
    points = empty_search_trees()
    assert exact(points, -1, 3, 3) == successor(points, -1, -5, -5) == last(points, -1) == -1
    assert ask(points, -1, 3, 0) == ([], 0)


def test_an_x_is_there_once_and_only_what_is_there_can_go() -> None:
    points = empty_search_trees()
    with pytest.raises(AssertionError, match="empty"):
        delete(points, -1, 1, 1)
    root = -1
    for end in range(5):
        root = insert(points, root, end, -1, -1, end)
    before = check_points(points, root)
    with pytest.raises(AssertionError, match="already"):
        insert(points, root, 3, -1, -2, 9)
    for x in ((3, 0), (3, -2), (7, 0), (-1, -1)):
        with pytest.raises(AssertionError, match="is not in its tree"):
            delete(points, root, *x)
    assert check_points(points, root) == before
    check_free(points, before[1])


@numba.njit(cache=True, nogil=True)
def insert_all(points: PrioritySearchTrees, root: int, ends: Longs, starts: Longs) -> int:
    for bucket in range(len(ends)):
        root = insert(points, root, ends[bucket], starts[bucket], starts[bucket], bucket)
    return root


@numba.njit(cache=True, nogil=True)
def delete_all(points: PrioritySearchTrees, root: int, ends: Longs, starts: Longs) -> int:
    for place in range(len(ends)):
        root = delete(points, root, ends[place], starts[place])
    return root


@numba.njit(cache=True, nogil=True)
def query_all(points: PrioritySearchTrees, root: int, values: Longs, found: Longs, steps: Longs) -> None:
    out = np.empty(points.count, np.int32)
    for place in range(len(values)):
        found[place], steps[place] = query(points, root, values[place], out, 0)


@pytest.mark.parametrize("order", ["shuffled", "rising"])
@pytest.mark.parametrize("largest", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_steps_grow_with_the_logarithm_and_with_what_is_found(order: str, largest: int) -> None:
    random_ = np.random.default_rng(4)
    changes, misses = [], []
    sizes = [count for count in (1_000, 3_000, 10_000, 30_000, 100_000) if count <= largest]
    for count in sizes:
        starts = random_.permutation(count) * 1_000
        if order == "rising":
            starts.sort()
        # Some five ranges hold a value; some twenty among the wide ones.
        ends = starts + random_.integers(0, np.where(np.arange(count) % 20 == 0, 300_000, 10_000))
        points = empty_search_trees()
        root = insert_all(points, -1, ends, starts)
        values = random_.integers(0, 1_000 * count, 300)
        found, steps = np.zeros(300, np.int64), np.zeros(300, np.int64)
        query_all(points, root, values, found, steps)
        for value, each in zip(values[:20], found[:20], strict=True):
            assert each == np.count_nonzero((starts <= value) & (value <= ends))
        assert np.all(steps <= most_steps(count, 0) + 2 * found)
        misses.append(float(np.mean(steps - 2 * found)) / log2(count))
        gone = random_.permutation(count)
        assert delete_all(points, root, ends[gone], starts[gone]) == -1
        counts = counts_of(points)
        assert counts.used == 0
        assert counts.rotations <= (MOST_ROTATIONS_IN + MOST_ROTATIONS_OUT) * count
        changes.append(counts.steps / (2 * count) / log2(count))
    # So many steps for each doubling, at every size.
    assert max(misses) <= 2
    assert max(changes) <= 4
    assert max(changes) / min(changes) <= 1.25


@pytest.mark.slow
def test_a_large_tree_keeps_its_invariants() -> None:
    random_ = np.random.default_rng(5)
    starts = random_.permutation(20_000)
    ends = starts + random_.integers(0, 500, len(starts))
    points = empty_search_trees()
    root = insert_all(points, -1, ends, starts)
    root = delete_all(points, root, ends[::2], starts[::2])
    found, used = check_points(points, root)
    wanted = zip(ends[1::2].tolist(), starts[1::2].tolist(), range(1, len(starts), 2), strict=True)
    assert found == {(end, start): (start, bucket) for end, start, bucket in wanted}
    check_free(points, used)
