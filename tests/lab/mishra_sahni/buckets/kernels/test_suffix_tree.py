"""The tree finds what `in` and `endswith` find, after any changes, and is empty when all patterns are gone."""

from __future__ import annotations

import random

import numpy as np

from tamis.arrays import U8
from tamis.lab.mishra_sahni.buckets.kernels.suffix_tree import (
    SuffixTree,
    add_pattern,
    empty_suffix_tree,
    patterns_in,
    remove_pattern,
    suffix_tree_size,
)


def bytes_of(text: str) -> U8:
    return np.frombuffer(text.encode(), np.uint8)


def found_in(tree: SuffixTree, texts: list[str], patterns: int) -> list[tuple[int, int]]:
    offsets = np.cumsum([0, *(len(text.encode()) for text in texts)])
    rows, found, _ = patterns_in(tree, offsets, bytes_of("".join(texts) or " "), patterns)
    return sorted(zip(rows.tolist(), found.tolist(), strict=True))


def naive(patterns: dict[int, tuple[str, int]], texts: list[str]) -> list[tuple[int, int]]:
    return sorted(
        (row, number)
        for row, text in enumerate(texts)
        for number, (sought, is_ending) in patterns.items()
        if (text.endswith(sought) if is_ending else sought in text)
    )


def test_random_patterns_come_and_go() -> None:
    random_ = random.Random(12)
    tree, held = empty_suffix_tree(), dict[int, tuple[str, int]]()

    def draw(longest: int) -> str:
        return "".join(random_.choice("aabé") for _ in range(random_.randint(1, longest)))

    for turn in range(400):
        pattern = draw(5), random_.randrange(2)
        if held and random_.random() < 0.45:
            sought, is_ending = held.pop(random_.choice([*held]))
            remove_pattern(tree, bytes_of(sought), is_ending)
        elif pattern not in held.values():
            held[turn] = pattern
            add_pattern(tree, bytes_of(pattern[0]), pattern[1], turn)
        texts = ["", draw(3), draw(12), draw(1)]
        assert found_in(tree, texts, 400) == naive(held, texts)
    prefixes = {
        sought.encode()[:length] for sought, _ in held.values() for length in range(len(sought.encode()) + 1)
    }
    assert suffix_tree_size(tree)[0] == len(prefixes)
    for sought, is_ending in held.values():
        remove_pattern(tree, bytes_of(sought), is_ending)
    assert suffix_tree_size(tree)[0] == 1


def test_a_pattern_is_found_once_however_often_it_occurs() -> None:
    tree = empty_suffix_tree()
    add_pattern(tree, bytes_of("a"), 0, 0)
    add_pattern(tree, bytes_of("a"), 1, 1)
    assert found_in(tree, ["aaa", "aab"], 2) == [(0, 0), (0, 1), (1, 0)]


def test_steps_are_the_bytes_that_suffixes_share_with_patterns() -> None:
    tree = empty_suffix_tree()
    for number, (text, is_ending) in enumerate([("ab", 0), ("abc", 1), ("b", 1)]):
        add_pattern(tree, bytes_of(text), is_ending, number)
    rows, found, steps = patterns_in(tree, np.array([0, 4]), bytes_of("xabc"), 3)
    assert (rows.tolist(), sorted(found.tolist()), steps) == ([0, 0], [0, 1], 1 + 3 + 2 + 1)
