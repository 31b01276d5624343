"""Verdicts: a figure within a quarter of theirs or inside their range; a direction that no round contradicts."""

from __future__ import annotations

from math import inf

import pytest

from tamis.lab.claims.bench import Bench
from tamis.lab.claims.row import (
    Outcome,
    Paper,
    UntestableError,
    above,
    all_of,
    below,
    figure,
    is_true,
    near,
    range_text,
    rising,
)


@pytest.mark.parametrize(
    ("ours", "theirs", "agreement"),
    [
        (75, 100, "agrees"),
        (125, 100, "agrees"),
        (74.9, 100, "differs"),
        (125.1, 100, "differs"),
        (-1.2, -1.0, "agrees"),
        (-1.3, -1.0, "differs"),
        (0.19, (0.19, 0.31), "agrees"),
        (0.18, (0.19, 0.31), "differs"),  # a range is not widened
        (0.32, (0.19, 0.31), "differs"),
        (5, (-inf, 6), "agrees"),
        (7, (-inf, 6), "differs"),
        ([60, 80, 300], 100, "agrees"),  # the median counts
        (3, None, "none given"),
    ],
)
def test_a_figure_agrees_within_a_quarter_or_inside_a_range(ours: float, theirs: float, agreement: str) -> None:
    assert figure("some", ours, theirs).agreement == agreement


def test_a_figure_of_a_smaller_size_is_not_judged() -> None:
    assert figure("some", 1, 100, (10_000, 500_000)).agreement == "not at this size"
    assert figure("some", 1, 100, (500_000, 500_000)).agreement == "differs"


def test_figures_of_a_row_agree_all_partly_or_not() -> None:
    good, bad, smaller, bare = (
        figure("a", 1, 1),
        figure("b", 2, 1),
        figure("c", 1, 1, (1, 2)),
        figure("d", 1),
    )
    assert Outcome("holds", [good, smaller, bare]).agreement == "agrees"
    assert Outcome("holds", [good, bad]).agreement == "partly"
    assert Outcome("holds", [bad]).agreement == "differs"
    assert Outcome("holds", [smaller, bare]).agreement == "not at this size"
    assert Outcome("holds", [bare]).agreement == "none given"


def test_a_direction_holds_if_no_round_contradicts_it() -> None:
    assert above([1.1, 1.3, 1.2], 1) == "holds"
    assert above([1.1, 0.9], 1) == "unclear"
    assert above([0.8, 1.0], 1) == "fails"
    assert below([0.8, 0.9], 1) == "holds"
    assert below([0.8, 1.1], 1) == "unclear"
    assert below(1.0, 1) == "fails"
    assert near([0.9, 1.0, 1.4], 1, 0.05) == "holds"
    assert near([0.8, 0.7, 1.0], 1, 0.05) == "unclear"
    assert near([0.8, 0.7], 1, 0.05) == "fails"


def test_several_directions_fail_before_they_are_unclear() -> None:
    assert all_of("holds", "unclear", "fails") == "fails"
    assert all_of("holds", "unclear") == "unclear"
    assert all_of("holds", is_true(True)) == "holds"
    assert rising([1, 2, 3]) == "holds" and rising([1, 3, 3]) == "fails"


def test_figures_are_written_beside_theirs() -> None:
    assert str(figure("time", [3.0, 1.0, 2.0], (1, 4))) == "time: 2 (1-3) (theirs 1 to 4)"
    assert str(figure("nodes", 8, 8)) == "nodes: 8 (theirs 8)"
    assert range_text(-inf, 2) == "at most 2" and range_text(2, inf) == "at least 2"


def test_a_row_that_cannot_be_tested_says_why() -> None:
    paper = Paper("some", "Some paper", "some workload")
    paper.untestable("S1", "1", "Something is so.", "7", "there is nothing like it here")
    with pytest.raises(UntestableError, match="there is nothing like it here"):
        paper.rows["S1"].measure(Bench("smallest"))
    assert paper.rows["S1"].to_dict()["theirs"] == "7"
