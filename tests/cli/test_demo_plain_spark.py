"""What the demo says of Spark alone: extrapolated by products, and only if it finds the same pairs.

The measurement itself runs in `test_demo.py`.
"""

from __future__ import annotations

import pytest

from tamis.cli.demo_plain_spark import PairsDiffer, PlainSpark, check_pairs

PAIRS = {("e1", "s1"), ("e1", "s2"), ("e3", "s1")}


def test_time_is_extrapolated_by_products() -> None:
    plain = PlainSpark(subscriptions=25, events=400, pairs=3, seconds=0.5)
    assert plain.extrapolate(10_000) == 0.5
    assert plain.extrapolate(100_000 * 200_000) == pytest.approx(1_000_000)


def test_the_same_pairs_pass() -> None:
    check_pairs(PAIRS, set(PAIRS))
    check_pairs(set(), set())


@pytest.mark.parametrize(
    ("recorded", "found", "message"),
    [
        (
            PAIRS,
            PAIRS - {("e3", "s1")},
            "1 pairs differ .* event 'e3' with subscription 's1', which only the stream",
        ),
        (set(), PAIRS, "3 pairs differ .* event 'e1' with subscription 's1', which only Spark alone"),
    ],
    ids=["too many", "too few"],
)
def test_other_pairs_are_an_error_that_names_one(
    recorded: set[tuple[str, str]], found: set[tuple[str, str]], message: str
) -> None:
    with pytest.raises(PairsDiffer, match=message):
        check_pairs(recorded, found)
