"""Coordinates keep the order of values, and intervals of coordinates say what sets of values say."""

from __future__ import annotations

import math
from bisect import bisect_right

import pytest

from tamis.engines.forest.axes import HIGHEST, KEY_SCALE, LOWEST, has_keys, scale_of
from tamis.values.column import Value, column_of
from tamis.values.types import BIGINT, BINARY, DATE, DOUBLE, NUMBER, STRING, Type


def test_numbers_between_integers_and_doubles() -> None:
    values = [0, 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 0.5, 2.0**53, 2.0**63, 1e300, -1e300]
    values += [float("inf"), float("-inf"), float("nan"), 0.1, -0.0, 1.5]
    finite = (*values[:13], *values[14:], 2**64, -(2**70), 10**400)
    cuts = [(0, value, side) for value in finite for side in (0, 1)]
    cuts += [(1, 0, 0), (1, 0, 1)]
    scale, places = scale_of(NUMBER, cuts)
    column = column_of(NUMBER, values)
    ranks = scale.coordinates(column)
    for cut, place in places.items():
        for value, rank in zip(values, ranks.tolist(), strict=True):
            key = (1, 0, 0) if math.isnan(value) else (0, value, 0)
            assert (rank > place) == (key >= cut), (value, cut)
    assert LOWEST < min(ranks) and max(ranks) < HIGHEST


@pytest.mark.parametrize(
    ("type_", "cuts", "values"),
    [
        (STRING, ["b", "b\0", "ä", "日"], ["", "a", "b", "b\0", "bc", "z", "ä", "日本"]),
        (BINARY, [b"\x01", b"\xff"], [b"", b"\0", b"\x01", b"\x01\0", b"\xff", b"\xff\xff"]),
    ],
)
def test_ranks_of_texts_count_the_cuts_at_or_below(type_: Type, cuts: list[Value], values: list[Value]) -> None:
    scale, places = scale_of(type_, reversed(cuts))
    assert [places[cut] for cut in cuts] == [*range(len(cuts))]
    assert [scale.cut(type_, place + 1) for place in range(len(scale))] == cuts
    ordered = [each.encode() if isinstance(each, str) else each for each in cuts]
    wanted = [bisect_right(ordered, each.encode() if isinstance(each, str) else each) for each in values]
    assert scale.coordinates(column_of(type_, values)).tolist() == wanted
    assert [scale.coordinate(type_, each) for each in values] == wanted


def test_types_with_integer_keys_need_no_cuts() -> None:
    assert all(has_keys(type_) for type_ in (BIGINT, DOUBLE, DATE))
    assert not any(has_keys(type_) for type_ in (STRING, BINARY, NUMBER))
    assert scale_of(BIGINT, [3, 1]) == (KEY_SCALE, {})
    values = [-1.5, -0.0, 0.0, 2.5, math.inf]
    coordinates = KEY_SCALE.coordinates(column_of(DOUBLE, values)).tolist()
    assert coordinates == sorted(coordinates) == [KEY_SCALE.coordinate(DOUBLE, each) for each in values]
