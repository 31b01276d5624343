"""What the text of a composite subscription says, and where it is wrong."""

from __future__ import annotations

import pytest

from tamis import ConditionError, Limits
from tamis.composite.syntax import MOST_PARTS, parse_composite

MINUTE = 60_000_000
WITHIN = "WITHIN INTERVAL '10' MINUTE"


def test_a_sequence_has_its_parts_in_order() -> None:
    composite = parse_composite(f"SEQUENCE(a > 1, b IN (2, 3), c) {WITHIN}")
    assert [composite.text[slice(*part.span)] for part in composite.parts] == ["a > 1", "b IN (2, 3)", "c"]
    assert (composite.form, composite.count, composite.within_us) == ("sequence", 3, 10 * MINUTE)
    assert (composite.strict, composite.shared, composite.by, composite.absent) == (True, False, (), None)


def test_then_is_the_short_form_of_a_sequence() -> None:
    short, long = (parse_composite(text) for text in (f"a THEN b {WITHIN}", f"sequence(a, b) {WITHIN}"))
    assert [part.tree for part in short.parts] == [part.tree for part in long.parts]
    assert short.form == long.form == "sequence"


def test_order_at_equal_times_may_be_not_strict() -> None:
    assert not parse_composite(f"SEQUENCE NON STRICT (a, b) {WITHIN}").strict


def test_all_and_at_least() -> None:
    assert parse_composite(f"ALL(a, b) {WITHIN}").form == "all"
    counted = parse_composite(f"at_least(5, a OR b) {WITHIN}")
    assert (counted.form, counted.count, len(counted.parts)) == ("at_least", 5, 1)


@pytest.mark.parametrize(
    "first",
    ["AT_LEAST(1, a, b)", "AT_LEAST(1, a, b) AND c", "CASE WHEN a THEN b ELSE c END", "`all` > 2", "all = 1"],
)
def test_ordinary_conditions_may_look_like_forms(first: str) -> None:
    composite = parse_composite(f"{first} THEN d {WITHIN}")
    assert [composite.text[slice(*part.span)] for part in composite.parts] == [first, "d"]


def test_what_must_not_come_stands_last() -> None:
    composite = parse_composite(f"a THEN b THEN NOT c > 1 {WITHIN}")
    assert composite.absent is not None
    assert composite.text[slice(*composite.absent.span)] == "c > 1"
    assert composite.count == 2
    assert parse_composite(f"a THEN (NOT b) {WITHIN}").absent is None


def test_names_gaps_keys_and_consumption() -> None:
    composite = parse_composite(
        f"a AS x THEN b AS `y z` AFTER INTERVAL 90 SECONDS {WITHIN} BY user, shop.name FOR ALL"
    )
    assert [(part.name, part.gap_us) for part in composite.parts] == [("x", 0), ("y z", 90_000_000)]
    assert [name.parts for name in composite.by] == [("user",), ("shop", "name")]
    assert composite.shared
    assert not parse_composite(f"a THEN b {WITHIN} FOR OLDEST").shared


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("a", "", "expected THEN, found the end"),
        ("a THEN b", "", "expected WITHIN, found the end"),
        ("SEQUENCE(a, b) BY c", "BY", "expected WITHIN, found 'BY'"),
        ("a THEN b AFTER INTERVAL '1' MINUTE", "", "expected WITHIN, found the end"),
        ("a THEN b WITHIN 10", "10", "expected an interval after WITHIN"),
        ("a THEN b WITHIN INTERVAL '1' MONTH", "INTERVAL '1' MONTH", "months differ in length"),
        ("a THEN b WITHIN INTERVAL '0' DAY", "INTERVAL '0' DAY", "WITHIN takes more than no time"),
        ("a THEN b AFTER INTERVAL '-1' DAY WITHIN INTERVAL '1' DAY", "INTERVAL '-1' DAY", "AFTER takes more"),
        (
            "a THEN b AFTER INTERVAL 1 HOUR WITHIN INTERVAL 1 DAY THEN",
            "THEN",
            "expected BY, FOR OLDEST, FOR ALL or",
        ),
        (
            "a THEN b AFTER INTERVAL 1 DAY WITHIN INTERVAL 1 HOUR",
            "WITHIN INTERVAL 1 HOUR",
            "it can never complete",
        ),
        (f"a AFTER INTERVAL 1 DAY THEN b {WITHIN}", "AFTER", "expected a part without AFTER"),
        (f"ALL(a, b AFTER INTERVAL 1 DAY) {WITHIN}", "AFTER", "expected a part without AFTER"),
        (f"a > THEN b {WITHIN}", "THEN", "expected an attribute"),
        (f"a THEN b + {WITHIN}", "INTERVAL", "expected WITHIN, found 'INTERVAL'"),
        (f"a THEN NOT b THEN c {WITHIN}", "THEN", "expected WITHIN after THEN NOT"),
        (f"a THEN b AS 3 {WITHIN}", "3", "expected a name after AS"),
        (f"SEQUENCE(a) {WITHIN}", ")", "expected another part of SEQUENCE"),
        (f"ALL(a) {WITHIN}", ")", "expected another part of ALL"),
        (f"SEQUENCE(a, b {WITHIN}", "WITHIN", "expected , or )"),
        (f"SEQUENCE NON STRICT a, b {WITHIN}", "a", "expected ( after SEQUENCE"),
        ("AT_LEAST(1, a) WITHIN INTERVAL 2 DAY", "1", "expected a number of events, 2 or more"),
        (f"AT_LEAST(x, a) {WITHIN}", "x", "expected a number of events, 2 or more"),
        (f"AT_LEAST(3 a) {WITHIN}", "a", "expected , after the number"),
        (f"AT_LEAST(3, a, b) {WITHIN}", ",", "expected ), found ','"),
        (f"a THEN b {WITHIN} BY 3", "3", "expected a name"),
        (f"a THEN b {WITHIN} FOR SOME", "SOME", "expected OLDEST or ALL after FOR"),
        (f"{' THEN '.join(['a'] * MOST_PARTS)} THEN z {WITHIN}", "z", f"has {MOST_PARTS} parts at most"),
        ("a THEN 'b WITHIN", "'b WITHIN", "begins a string that does not end"),
    ],
)
def test_a_refusal_points_at_its_place(text: str, place: str, said: str) -> None:
    with pytest.raises(ConditionError) as refused:
        parse_composite(text)
    [problem] = refused.value.problems
    assert said in problem.message
    assert text[problem.start : problem.end] == place
    assert problem.start == (text.rindex(place) if place else len(text))


def test_a_distance_after_within_is_told_where_it_belongs() -> None:
    with pytest.raises(ConditionError) as refused:
        parse_composite(f"a THEN b {WITHIN} AFTER INTERVAL '1' MINUTE")
    [problem] = refused.value.problems
    assert problem.hint is not None
    assert problem.hint.startswith("AFTER belongs to a part")


def test_all_problems_of_a_part_are_reported() -> None:
    with pytest.raises(ConditionError) as refused:
        parse_composite(f"a > AND b < THEN c {WITHIN}")
    assert [problem.start for problem in refused.value.problems] == [4, 12]


def test_the_limits_of_conditions_hold() -> None:
    with pytest.raises(ConditionError, match="characters at most"):
        parse_composite(f"a THEN b {WITHIN}", Limits(text_characters=10))
    with pytest.raises(ConditionError, match="parts, 5 are allowed"):
        parse_composite(f"a THEN b + c + d + e > 3 {WITHIN}", Limits(nodes=5))
