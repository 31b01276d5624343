"""Covering: what is left covers everything, and what was covered comes back when its coverer goes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tamis.events import EventBatch
from tamis.frames import BatchFrame
from tamis.lab.bittner.implication import covers
from tamis.language.condition import normalise
from tamis.routing.covering import Covering, uncovered

ATOMS = st.sampled_from(
    ["a < 3", "a < 5", "a = 2", "b = 'x'", "b IN ('x', 'y')", "c IS NULL", "(a < 3 OR b = 'x')"]
)
CONDITIONS = st.lists(ATOMS, min_size=1, max_size=4).map(" AND ".join)
EVENTS = [{"a": a, "b": b, "c": c} for a in (None, 2, 4, 9) for b in ("x", "y", None) for c in (None, 1)]


def test_narrower_ranges_and_more_operands_are_covered() -> None:
    texts = ["p < 5 AND t = 'x'", "t = 'x' AND p < 9", "t = 'x' AND p < 9 AND u", "t = 'y'", "t = 'y' AND NOT u"]
    assert uncovered([normalise(each) for each in texts]) == [1, 3]


def test_of_equal_formulas_the_first_is_left() -> None:
    assert uncovered([normalise(each) for each in ("a = 1 AND b = 2", "b = 2 AND a = 1")]) == [0]


def test_everything_is_covered_by_true() -> None:
    assert uncovered([normalise(each) for each in ("a = 1", "TRUE", "b < 3")]) == [1]


def test_an_or_covers_only_what_has_it() -> None:
    texts = ["a = 1 OR b = 2", "(b = 2 OR a = 1) AND c = 3", "a = 1"]
    assert uncovered([normalise(each) for each in texts]) == [0, 2]


@given(st.lists(CONDITIONS, max_size=10))
def test_what_is_left_holds_wherever_something_did(conditions: list[str]) -> None:
    formulas = [normalise(each) for each in conditions]
    left = [formulas[place] for place in uncovered(formulas)]
    frame = BatchFrame(EventBatch.of(EVENTS))
    wanted = [any(rows) for rows in zip(*(each.mask(frame).tolist() for each in formulas), strict=True)]
    found = [any(rows) for rows in zip(*(each.mask(frame).tolist() for each in left), strict=True)]
    assert found == wanted
    for dropped in {*formulas} - {*left}:
        assert any(covers(each, dropped) for each in left)


@given(st.lists(st.tuples(CONDITIONS, st.booleans()), max_size=12))
def test_after_removals_it_is_as_if_they_had_never_been(steps: list[tuple[str, bool]]) -> None:
    covering = Covering()
    for number, (condition, _) in enumerate(steps):
        covering.add(number, normalise(condition))
    for number, (_, is_removed) in enumerate(steps):
        if is_removed:
            covering.remove(number)
    kept = [number for number, (_, is_removed) in enumerate(steps) if not is_removed]
    expected = [kept[place] for place in uncovered([normalise(steps[number][0]) for number in kept])]
    assert sorted(number for number in covering if isinstance(number, int)) == expected
