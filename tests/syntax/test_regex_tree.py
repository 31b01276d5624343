"""Character sets and trees of regular expressions: exact algebra, simplified trees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.syntax import regex_tree
from tamis.syntax.regex_tree import (
    BEGIN,
    EMPTY,
    END,
    NEVER,
    Edge,
    chars,
    either,
    empties,
    join,
    negate,
    of,
    repeat,
    union,
    write,
)
from tests.syntax.test_regex import found_by_pyarrow

RANGES = st.lists(st.tuples(st.integers(0, 0x10FFFF), st.integers(0, 0x2FFF)), max_size=6).map(
    lambda pairs: regex_tree.union((low, min(low + length, 0x10FFFF)) for low, length in pairs)
)


@pytest.mark.slow
@given(RANGES, RANGES)
def test_sets_are_what_their_edges_say(left: regex_tree.CharSet, right: regex_tree.CharSet) -> None:
    def holds(ranges: regex_tree.CharSet, code: int) -> bool:
        return any(low <= code <= high for low, high in ranges)

    edges = {code + step for span in (*left, *right, (0, 65)) for code in span for step in (-1, 0, 1)}
    codes = [code for code in edges if 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF]
    written = regex_tree.write(regex_tree.chars(left))
    assert found_by_pyarrow(written, [chr(code) for code in codes]) == [holds(left, code) for code in codes]
    for code in codes:
        assert holds(regex_tree.negate(left), code) != holds(left, code)
        assert holds(regex_tree.minus(left, right), code) == (holds(left, code) and not holds(right, code))


A, B = chars(of("a")), chars(of("b"))


def test_constructors_simplify() -> None:
    assert join(A) is A
    assert join() is EMPTY
    assert join(A, NEVER) is NEVER
    assert either() is NEVER
    assert join(join(A, B), A) == join(A, B, A)
    assert either(either(A, B), A) == either(A, B, A)
    assert repeat(A, 1, 1) is A
    assert repeat(A, 0, 0) is EMPTY
    assert repeat(BEGIN, 2, None) is BEGIN
    assert chars(()) is NEVER


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [([(3, 5), (1, 2)], ((1, 5),)), ([(1, 9), (2, 3)], ((1, 9),)), ([(1, 1), (3, 3)], ((1, 1), (3, 3))), ([], ())],
)
def test_union_merges_ranges_that_touch(
    ranges: list[tuple[int, int]], expected: tuple[tuple[int, int], ...]
) -> None:
    assert union(ranges) == expected
    assert negate(negate(union(ranges))) == expected


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (A, NEVER),
        (repeat(A, 0, None), EMPTY),
        (repeat(A, 1, None), NEVER),
        (join(repeat(A, 0, 1), BEGIN), BEGIN),
        (either(A, END), END),
        (join(A, END), NEVER),
    ],
    ids=repr,
)
def test_restriction_to_empty_matches(node: regex_tree.Node, expected: regex_tree.Node) -> None:
    assert empties(node) == expected


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (join(A, either(A, B)), "a(?:a|b)"),
        (repeat(join(A, B), 0, None), "(?:ab)*"),
        (repeat(A, 2, 3), "a{2,3}"),
        (chars(of("ac")), "[ac]"),
        (chars(of("Kk")), "(?:K|k)"),
        (chars(negate(of("\n"))), "[^\\n]"),
        (NEVER, r"[^\x{0}-\x{10FFFF}]"),
        (join(Edge(r"\A"), chars(of("."))), r"\A\."),
    ],
    ids=repr,
)
def test_trees_are_written_with_the_fewest_groups(node: regex_tree.Node, text: str) -> None:
    assert write(node) == text
