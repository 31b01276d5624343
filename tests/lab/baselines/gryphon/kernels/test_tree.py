"""The tree shares the beginnings of paths, and has a test for each level at which edges leave a node."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tamis.events import EventBatch
from tests.lab.baselines.gryphon.conditions import built, counts, inserted, put


def test_equal_beginnings_share_nodes() -> None:
    index = inserted(
        ["a = 1 AND b = 1 AND c = 1", "c = 2 AND b = 1 AND a = 1", "b = 1 AND a = 1", "a = 2 AND b = 1"]
    )
    # The root, a=1, a=1 b=1, a=1 b=1 c=1, a=1 b=1 c=2, a=2, a=2 b=1; one test each but for the ends.
    assert counts(index, "nodes", "tests", "edges") == (7, 4, 6)
    assert counts(index, "predicates") == (5,)
    index.delete(0)
    assert counts(index, "nodes", "tests", "edges") == (6, 4, 5)
    index.delete(1)
    assert counts(index, "nodes", "tests", "edges") == (5, 3, 4)


def test_dont_care_edges_join_the_tests_of_a_node() -> None:
    index = inserted(["a = 1 AND b = 1 AND c = 1", "c = 1", "b = 1"])
    # At the root there are tests of a, b and c, and two edges between them.
    assert counts(index, "levels", "nodes", "tests", "edges") == (3, 6, 5, 7)
    assert index.match(EventBatch.of([{"b": 1, "c": 1}])).slots.tolist() == [1, 2]
    index.delete(2)
    assert counts(index, "levels", "nodes", "tests", "edges") == (3, 5, 4, 5)
    assert index.match(EventBatch.of([{"b": 1, "c": 1}])).slots.tolist() == [1]


def naive_plain_nodes(paths: Sequence[dict[int, int]], levels: int) -> int:
    """Of a tree with an edge at each level of each path; a node is known by the edges that lead to it."""
    found: set[tuple[int, ...]] = {()}
    for path in paths:
        edges = tuple(path.get(level, -1) for level in range(levels))
        found |= {edges[:length] for length in range(levels + 1)}
    return len(found)


def test_nodes_of_a_plain_tree() -> None:
    random_ = random.Random(44)
    index = inserted(["a0 = 9 AND a1 = 9 AND a2 = 9 AND a3 = 9 AND a4 = 9"])
    paths = [dict.fromkeys(range(5), 9)]
    assert counts(built([]), "plain nodes") == (1,)
    for slot in range(1, 80):
        path = {level: random_.randrange(3) for level in random_.sample(range(5), random_.randrange(1, 5))}
        put(index, slot, " AND ".join(f"a{a} = {v}" for a, v in path.items()))
        paths.append(path)
        assert counts(index, "plain nodes") == (naive_plain_nodes(paths, 5),)
