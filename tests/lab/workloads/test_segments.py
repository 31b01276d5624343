from __future__ import annotations

import pytest

from tamis import Formula, compile_condition
from tamis.lab.workloads.draws import Dice
from tamis.lab.workloads.segments import CONTEXT, Joint, PredicateSource, SegmentBuilder


def predicates(formula: Formula) -> int:
    return 1 if formula.predicate is not None else sum(map(predicates, formula.operands))


def depth(formula: Formula) -> int:
    return 1 + max(map(depth, formula.operands), default=0)


@pytest.mark.slow
def test_segments_are_within_their_bounds() -> None:
    builder = SegmentBuilder(Dice(1, "ads", "test"))
    joints: tuple[Joint, ...] = ("OR", "AND")
    for joint in joints:
        formulas = [compile_condition(builder.segment(joint)).formula for _ in range(400)]
        assert {2, 3, 4, 5} <= {depth(formula) for formula in formulas} <= {2, 3, 4, 5, 6}
        sizes = [predicates(formula) for formula in formulas]
        assert min(sizes) == 2
        assert 8 <= max(sizes) <= 12
        assert all((formula.least == 1) == (joint == "OR") for formula in formulas)


def test_segments_share_parts() -> None:
    builder = SegmentBuilder(Dice(1, "ads", "test"))
    inner = [part for _ in range(1_000) for part in builder.segment("OR").split("(")[1:2]]
    assert len(set(inner)) < 0.8 * len(inner)


def test_predicates_of_every_form() -> None:
    speaker = PredicateSource(Dice(1, "ads", "test"))
    told = [speaker.any() for _ in range(500)] + [speaker.placement() for _ in range(100)]
    for form in (" = ", " <> ", " IN (", " NOT IN (", " BETWEEN ", " >= ", " < "):
        assert any(form in one for one in told), form
    for name in CONTEXT:
        assert speaker.context(name).startswith(f"{name} ")


def test_lists_are_of_different_values() -> None:
    speaker = PredicateSource(Dice(1, "ads", "test"))
    assert all(len(set(speaker.literals("os", 5).split(", "))) == 5 for _ in range(50))
