"""Labels rise as the cuts do, in whatever order these come, and values fall between them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.engines.dynamic.rulers import Ruler
from tamis.engines.forest.axes import LOWEST
from tamis.values.column import column_of
from tamis.values.order import order_key
from tamis.values.ranges import Key
from tamis.values.types import BINARY, NUMBER, STRING, Type, decimal

WIDE = decimal(38, 0)

ODD_NUMBERS: tuple[float, ...] = (
    *(0, -0.0, 0.5, 1, 1.0, -1, 2**53, 2**53 + 1, 2.0**53, -(2**53) - 1, 2**63 - 1, -(2**63), 2.0**63, -(2.0**63)),
    *(1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan),
)


def number_cuts() -> st.SearchStrategy[Key]:
    """Just below or just above a number."""
    numbers = st.one_of(
        st.sampled_from(ODD_NUMBERS),
        st.integers(-(2**63), 2**63 - 1),
        st.integers(-5, 5),
        st.floats(),
        st.integers(-9, 9).map(lambda eighths: eighths / 8),
    )
    return st.tuples(numbers, st.integers(0, 1)).map(lambda cut: (*order_key(NUMBER)(cut[0])[:2], cut[1]))


def parts(type_: Type, cut: Key, value: Any) -> bool:
    """Is a value at or above a cut?"""
    return bool(order_key(type_)(value) >= cut)


def check(ruler: Ruler, type_: Type, cuts: Sequence[Key], values: Sequence[Any]) -> None:
    """Values and cuts are on the same side of one another as labels and coordinates are."""
    labels, moved = ruler.labels(cuts)
    assert moved is None
    ruler.settle()
    coordinates = ruler.coordinates(column_of(type_, [*values, None])).tolist()
    for value, coordinate in zip(values, coordinates, strict=False):
        assert ruler.coordinate(type_, value) == coordinate
        for cut, label in zip(cuts, labels.tolist(), strict=True):
            assert (coordinate >= label) == parts(type_, cut, value), (cut, value)
        below = [label for cut, label in zip(cuts, labels.tolist(), strict=True) if parts(type_, cut, value)]
        assert coordinate == max(below, default=LOWEST)


def put(ruler: Ruler, lots: Sequence[Sequence[Key]], settled: Callable[[int], bool]) -> int:
    """Put in lots of cuts; labels that were given must be those that are found later. How often all changed."""
    known: dict[Any, int] = {}
    times = 0
    for turn, lot in enumerate(lots):
        labels, moved = ruler.labels(lot)
        if moved is not None:
            times += 1
            assert np.all(np.diff(moved.old) > 0)
            assert np.all(np.diff(moved.new) > 0)
            becomes = dict(zip(moved.old.tolist(), moved.new.tolist(), strict=True))
            known = {cut: becomes[label] for cut, label in known.items()}
        known.update(zip(map(repr, lot), labels.tolist(), strict=True))
        if settled(turn):
            ruler.settle()
    for cut, label in known.items():
        assert any(
            repr(each) == cut and ruler.labels([each])[0].tolist() == [label] for lot in lots for each in lot
        )
    return times


@settings(max_examples=50)
@given(st.lists(st.lists(st.text(max_size=3), max_size=8), max_size=6), st.lists(st.text(max_size=4)))
def test_strings(lots: list[list[str]], values: list[str]) -> None:
    ruler = Ruler(STRING)
    put(ruler, lots, lambda turn: turn % 2 == 0)
    cuts = sorted({cut for lot in lots for cut in lot})
    assert len(ruler) == len(cuts)
    assert np.all(np.diff(ruler.labels(cuts)[0]) > 0)
    check(ruler, STRING, cuts, [*values, *cuts, "", "é", "\U0001f600"])


@settings(max_examples=50)
@given(st.lists(st.lists(st.binary(max_size=3), max_size=8), max_size=5), st.lists(st.binary(max_size=4)))
def test_binaries(lots: list[list[bytes]], values: list[bytes]) -> None:
    ruler = Ruler(BINARY)
    put(ruler, lots, lambda turn: True)
    cuts = sorted({cut for lot in lots for cut in lot})
    assert np.all(np.diff(ruler.labels(cuts)[0]) > 0)
    check(ruler, BINARY, cuts, [*values, *cuts, b"", b"\xff\xff"])


@settings(max_examples=50)
@given(
    st.lists(st.lists(number_cuts(), max_size=8), max_size=5),
    st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats())),
)
def test_numbers_of_both_kinds(lots: list[list[Key]], values: list[float]) -> None:
    """Cuts that part the same numbers have the same label; others rise."""
    ruler = Ruler(NUMBER)
    put(ruler, lots, lambda turn: turn % 2 == 1)
    cuts = sorted({cut for lot in lots for cut in lot})
    assert np.all(np.diff(ruler.labels(cuts)[0]) >= 0)
    near = [value for _, value, _ in cuts if isinstance(value, float) or -(2**63) <= value < 2**63]
    check(ruler, NUMBER, cuts, [*values, *near, *ODD_NUMBERS])


@settings(max_examples=50)
@given(st.lists(st.lists(st.integers(-(10**38), 10**38), max_size=8), max_size=5), st.randoms())
def test_wide_decimals(lots: list[list[int]], random_: random.Random) -> None:
    ruler = Ruler(WIDE)
    put(ruler, lots, lambda turn: random_.random() < 0.5)
    cuts = sorted({cut for lot in lots for cut in lot})
    assert np.all(np.diff(ruler.labels(cuts)[0]) > 0)
    values = [value for cut in cuts for value in (cut - 1, cut, cut + 1) if abs(value) < 10**38]
    check(ruler, WIDE, cuts, [*values, 0])


HALVES: dict[str, tuple[Type, list[Key], list[Any]]] = {
    "strings": (STRING, ["a", *("a" + "\x01" * turn + "b" for turn in range(90))], ["", "a", "a\x01", "z"]),
    "numbers": (
        NUMBER,
        [(0, 0, 0), *((0, 2.0 ** -(turn % 60) + (turn // 60) * 2**60, turn % 2) for turn in range(120))],
        [0, 1, 2.0**-30, 2.0**-31, 2**60, 2.0**-70, math.nan, -1],
    ),
    "decimals": (WIDE, [0, *(10**37 >> turn for turn in range(120))], [-1, 0, 1, 2, 10**36, 10**38 - 1]),
}


@pytest.mark.parametrize("name", HALVES)
def test_gaps_that_fill_up(name: str) -> None:
    """Every cut falls between the least and the one before, so that labels run out."""
    type_, cuts, values = HALVES[name]
    ruler = Ruler(type_)
    assert put(ruler, [[cut] for cut in cuts], lambda turn: turn % 3 == 0) > 0
    check(ruler, type_, sorted(set(cuts)), values)


def test_gaps_that_fill_up_within_a_lot() -> None:
    """Cuts that came with the same lot before labels were given anew are among those that changed."""
    ruler = Ruler(WIDE)
    ruler.labels([0, 10**37])
    before, _ = ruler.labels([0, 10**37])
    cuts = [10**37 >> turn for turn in range(1, 80)]
    labels, moved = ruler.labels(cuts)
    assert moved is not None
    assert set(before.tolist()) <= set(moved.old.tolist())
    assert np.all(np.diff(labels) < 0)
    check(ruler, WIDE, sorted([0, 10**37, *cuts]), [0, 1, 2**40, 10**37])


def test_many_cuts_beyond_both_ends() -> None:
    """Labels behind the last and before the first take even steps; nothing changes."""
    ruler = Ruler(WIDE)
    for turn in range(300):
        _, moved = ruler.labels([turn * 10**20, -turn * 10**20])
        assert moved is None
    assert len(ruler) == 599
    check(
        ruler, WIDE, sorted({sign * turn * 10**20 for turn in range(300) for sign in (1, -1)}), [0, 5 * 10**20 + 1]
    )


def test_without_cuts_everything_is_lowest() -> None:
    for type_, value in ((STRING, "a"), (NUMBER, 1), (NUMBER, math.nan), (WIDE, 1)):
        ruler = Ruler(type_)
        ruler.settle()
        assert ruler.coordinate(type_, value) == LOWEST
        assert ruler.coordinates(column_of(type_, [value, None])).tolist()[0] == LOWEST
