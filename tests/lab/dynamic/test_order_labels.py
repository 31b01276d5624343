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

from tamis.engines.forest.axes import LOWEST
from tamis.lab.dynamic.order_labels import OrderLabels
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


def check(order: OrderLabels, type_: Type, cuts: Sequence[Key], values: Sequence[Any]) -> None:
    """Values and cuts are on the same side of one another as labels and coordinates are."""
    labels, moved = order.labels(cuts)
    assert moved is None
    order.index_waiting()
    coordinates = order.coordinates(column_of(type_, [*values, None])).tolist()
    for value, coordinate in zip(values, coordinates, strict=False):
        assert order.coordinate(type_, value) == coordinate
        for cut, label in zip(cuts, labels.tolist(), strict=True):
            assert (coordinate >= label) == parts(type_, cut, value), (cut, value)
        below = [label for cut, label in zip(cuts, labels.tolist(), strict=True) if parts(type_, cut, value)]
        assert coordinate == max(below, default=LOWEST)


def put(order: OrderLabels, groups: Sequence[Sequence[Key]], index_after: Callable[[int], bool]) -> int:
    """Add groups of cuts; labels that were given must be those that are found later. How often all changed."""
    known: dict[Any, int] = {}
    times = 0
    for turn, group in enumerate(groups):
        labels, moved = order.labels(group)
        if moved is not None:
            times += 1
            assert np.all(np.diff(moved.old) > 0)
            assert np.all(np.diff(moved.new) > 0)
            becomes = dict(zip(moved.old.tolist(), moved.new.tolist(), strict=True))
            known = {cut: becomes[label] for cut, label in known.items()}
        known.update(zip(map(repr, group), labels.tolist(), strict=True))
        if index_after(turn):
            order.index_waiting()
    for cut, label in known.items():
        assert any(
            repr(each) == cut and order.labels([each])[0].tolist() == [label] for group in groups for each in group
        )
    return times


@settings(max_examples=50)
@given(st.lists(st.lists(st.text(max_size=3), max_size=8), max_size=6), st.lists(st.text(max_size=4)))
def test_strings(groups: list[list[str]], values: list[str]) -> None:
    order = OrderLabels(STRING)
    put(order, groups, lambda turn: turn % 2 == 0)
    cuts = sorted({cut for group in groups for cut in group})
    assert len(order) == len(cuts)
    assert np.all(np.diff(order.labels(cuts)[0]) > 0)
    check(order, STRING, cuts, [*values, *cuts, "", "é", "\U0001f600"])


@settings(max_examples=50)
@given(st.lists(st.lists(st.binary(max_size=3), max_size=8), max_size=5), st.lists(st.binary(max_size=4)))
def test_binaries(groups: list[list[bytes]], values: list[bytes]) -> None:
    order = OrderLabels(BINARY)
    put(order, groups, lambda turn: True)
    cuts = sorted({cut for group in groups for cut in group})
    assert np.all(np.diff(order.labels(cuts)[0]) > 0)
    check(order, BINARY, cuts, [*values, *cuts, b"", b"\xff\xff"])


@settings(max_examples=50)
@given(
    st.lists(st.lists(number_cuts(), max_size=8), max_size=5),
    st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats())),
)
def test_numbers_of_both_kinds(groups: list[list[Key]], values: list[float]) -> None:
    """Cuts that part the same numbers have the same label; others rise."""
    order = OrderLabels(NUMBER)
    put(order, groups, lambda turn: turn % 2 == 1)
    cuts = sorted({cut for group in groups for cut in group})
    assert np.all(np.diff(order.labels(cuts)[0]) >= 0)
    near = [value for _, value, _ in cuts if isinstance(value, float) or -(2**63) <= value < 2**63]
    check(order, NUMBER, cuts, [*values, *near, *ODD_NUMBERS])


@settings(max_examples=50)
@given(st.lists(st.lists(st.integers(-(10**38), 10**38), max_size=8), max_size=5), st.randoms())
def test_wide_decimals(groups: list[list[int]], random_: random.Random) -> None:
    order = OrderLabels(WIDE)
    put(order, groups, lambda turn: random_.random() < 0.5)
    cuts = sorted({cut for group in groups for cut in group})
    assert np.all(np.diff(order.labels(cuts)[0]) > 0)
    values = [value for cut in cuts for value in (cut - 1, cut, cut + 1) if abs(value) < 10**38]
    check(order, WIDE, cuts, [*values, 0])


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
    order = OrderLabels(type_)
    assert put(order, [[cut] for cut in cuts], lambda turn: turn % 3 == 0) > 0
    check(order, type_, sorted(set(cuts)), values)


def test_gaps_that_fill_up_within_one_insertion() -> None:
    """Cuts that came with the same group before labels were given anew are among those that changed."""
    order = OrderLabels(WIDE)
    order.labels([0, 10**37])
    before, _ = order.labels([0, 10**37])
    cuts = [10**37 >> turn for turn in range(1, 80)]
    labels, moved = order.labels(cuts)
    assert moved is not None
    assert set(before.tolist()) <= set(moved.old.tolist())
    assert np.all(np.diff(labels) < 0)
    check(order, WIDE, sorted([0, 10**37, *cuts]), [0, 1, 2**40, 10**37])


def test_many_cuts_beyond_both_ends() -> None:
    """Labels behind the last and before the first take even steps; nothing changes."""
    order = OrderLabels(WIDE)
    for turn in range(300):
        _, moved = order.labels([turn * 10**20, -turn * 10**20])
        assert moved is None
    assert len(order) == 599
    check(
        order, WIDE, sorted({sign * turn * 10**20 for turn in range(300) for sign in (1, -1)}), [0, 5 * 10**20 + 1]
    )


def test_without_cuts_everything_is_lowest() -> None:
    for type_, value in ((STRING, "a"), (NUMBER, 1), (NUMBER, math.nan), (WIDE, 1)):
        order = OrderLabels(type_)
        order.index_waiting()
        assert order.coordinate(type_, value) == LOWEST
        assert order.coordinates(column_of(type_, [value, None])).tolist()[0] == LOWEST
