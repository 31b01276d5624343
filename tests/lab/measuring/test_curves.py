"""Curves tell what was put into them."""

from __future__ import annotations

import pytest

from tamis.engines.base import Stats
from tamis.lab.measuring.curves import bend, caches, crossing, exponent, exponents, line_of, saved, times
from tamis.lab.measuring.points import Point


def _point(*microseconds: float, name: str = "a") -> Point:
    return Point(name, 10, microseconds, 1.0, {}, Stats({}, {}), 1.0, (), ())


def test_a_bend_is_where_the_curve_bends() -> None:
    sizes = [10.0, 20.0, 40.0, 60.0, 80.0, 100.0]
    found = bend(sizes, [5 + size + 3 * max(0.0, size - 40) for size in sizes])
    assert found is not None
    assert found.at == pytest.approx(40, rel=0.03)
    assert (found.before, found.after) == pytest.approx((1, 4), rel=0.05)
    assert bend(sizes[:3], [1.0, 2.0, 3.0]) is None


def test_a_crossing_lies_between_two_sizes() -> None:
    assert crossing([10, 100, 1000], [4, 2, 1], [1, 2, 4]) == pytest.approx(100)
    assert crossing([10, 1000], [4, 1], [1, 4]) == pytest.approx(100)
    assert crossing([10, 100], [4, 4], [1, 2]) is None


def test_the_exponent_of_a_square_is_two() -> None:
    assert exponent([1, 2, 4], [3, 12, 48]) == pytest.approx(2)


def test_ratios_are_taken_round_by_round() -> None:
    points = {"slow": _point(4.0, 9.0), "fast": _point(2.0, 3.0)}
    assert times(points, "slow", "fast") == (2.0, 3.0)
    assert saved(points, "fast", "slow") == pytest.approx((0.5, 2 / 3))
    with pytest.raises(KeyError, match="nobody"):
        times(points, "nobody", "fast")


def test_exponents_are_taken_round_by_round() -> None:
    curve = {10: {"a": _point(1.0, 5.0)}, 100: {"a": _point(10.0, 5.0)}, 1000: {}}
    assert exponents(line_of(curve, "a")) == pytest.approx((1.0, 0.0))


def test_caches_grow_with_their_level() -> None:
    sizes = [*caches().values()]
    assert sizes == sorted(sizes)
