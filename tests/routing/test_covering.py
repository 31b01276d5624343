"""Covering: what is left covers everything, and is all that no other covers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tamis.engines.forest import forest_of
from tamis.events import EventBatch
from tamis.formulas.formula import TRUE, Formula
from tamis.frames import BatchFrame
from tamis.lab.bittner.implication import covers, implies
from tamis.language.condition import normalise
from tamis.routing.covering import uncovered

ATOMS = st.sampled_from(
    [
        *("a < 3", "a < 5", "a = 2", "a BETWEEN 1 AND 4", "a <> 3"),
        *("b = 'x'", "b IN ('x', 'y')", "(b = 'y' OR b IS NULL)", "b LIKE '%x'"),
        *("c IS NULL", "(a < 3 OR b = 'x')", "(b = 'x' OR 3 > a)"),
    ]
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


@given(st.lists(CONDITIONS, max_size=30))
def test_it_is_what_a_comparison_of_all_pairs_finds(conditions: list[str]) -> None:
    formulas = [normalise(each) for each in conditions]
    expected = [
        place
        for place, formula in enumerate(formulas)
        if not any(
            _covers(other, formula) and (at < place or not _covers(formula, other))
            for at, other in enumerate(formulas)
            if at != place
        )
    ]
    assert uncovered(formulas) == expected == uncovered(forest_of(formulas))


def _covers(wide: Formula, narrow: Formula) -> bool:
    """Is each operand of one implied by an operand of the other? Operand by operand, without any array."""
    sides = [[*each.operands] if each.is_and else [each] for each in (wide, narrow)]
    return wide == TRUE or all(any(_implies(one, other) for one in sides[1]) for other in sides[0])


def _implies(narrow: Formula, wide: Formula) -> bool:
    if narrow.predicate is None or wide.predicate is None:
        return narrow == wide
    return implies(narrow.predicate, wide.predicate)


def test_many_ranges_that_do_not_cover_each_other_are_compared_in_bounds() -> None:
    apart = [normalise(f"a BETWEEN {2 * n} AND {2 * n + 1}") for n in range(6_000)]
    assert len(uncovered(apart)) == 6_000
    # The most general are tried first, so what covers many is found however many there are.
    assert uncovered([*apart, normalise("a < 20000")]) == [6_000]
