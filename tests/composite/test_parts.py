"""How parts are split into what one event satisfies alone and what it satisfies with others."""

from __future__ import annotations

import pytest

from tamis import ConditionError, EventBatch, EventType
from tamis.composite.parts import compile_composite, keys_of, with_earlier
from tamis.reference import evaluate

OFFER = EventType.of(
    {
        "name": "offer",
        "attributes": {
            "price": "double",
            "kind": "string",
            "tags": "array<string>",
            "shop": {"type": "struct", "attributes": {"name": "string"}},
        },
    }
)
WITHIN = "WITHIN INTERVAL '10' MINUTE"


def test_conjuncts_that_refer_to_nobody_are_local() -> None:
    composite = compile_composite(
        f"kind = 'x' AS a THEN kind = 'y' AND price < 0.9 * A.price AS b {WITHIN}", OFFER
    )
    first, second = composite.parts
    assert (first.joint, first.local.text) == (None, "kind = 'x'")
    assert second.local.text == "kind = 'y'"
    assert second.joint is not None
    assert "price" in second.joint.text
    event = with_earlier({"price": 8.0}, [{"price": 10.0}], composite.parts)
    assert event == {"price": 8.0, "a": {"price": 10.0}}
    assert evaluate(second.joint, EventBatch.of([event], second.joint.schema)) == [True]


def test_a_part_that_only_refers_to_others_takes_every_event() -> None:
    composite = compile_composite(f"kind = 'x' AS a THEN price < a.price {WITHIN}")
    assert composite.parts[1].local.text == "TRUE"


def test_an_own_name_is_the_event_itself() -> None:
    composite = compile_composite(f"a.price > 3 AS a THEN NOT b.kind = 'x' AS b {WITHIN} BY shop.name", OFFER)
    assert composite.parts[0].local.text == "price > 3"
    assert composite.absent is not None
    assert composite.all_parts[1] is composite.absent
    assert composite.absent.local.text == "kind = 'x'"
    assert composite.keys == (("shop", "name"),)


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("price > b.price AS a THEN price > 1 AS b", "b.price", "'b' is a later part"),
        ("price > 1 AS a THEN price > c.price", "c.price", "c"),
        ("price > 1 AS a THEN a = 1", "a", "'a' names a part, not a value"),
        ("price > 1 AS a THEN price > 2 AS A", "A", "two parts are named 'A'"),
        ("price > 1 AS Kind THEN price > 2", "Kind", "events have an attribute 'Kind'"),
        ("price > 1 AS a THEN a.colour = 'x'", "a.colour", "colour"),
        ("price > 1 THEN colour = 'x'", "colour", "colour"),
        ("price > 1 THEN price + 1", "price + 1", "a condition must be Boolean"),
        ("price > 1 AS a THEN exists(tags, a -> a = 'x')", "a -> a = 'x'", "cannot be a variable"),
    ],
)
def test_a_refusal_points_into_the_whole_text(text: str, place: str, said: str) -> None:
    with pytest.raises(ConditionError) as refused:
        compile_composite(f"{text} {WITHIN}", OFFER)
    problem = refused.value.problems[0]
    assert said in problem.message
    assert text[problem.start : problem.end] == place


def test_parts_of_all_refer_to_nobody() -> None:
    with pytest.raises(ConditionError, match="parts of ALL come in any order"):
        compile_composite(f"ALL(price > 1 AS a, price > a.price) {WITHIN}", OFFER)


def test_problems_of_all_parts_are_reported_together() -> None:
    with pytest.raises(ConditionError) as refused:
        compile_composite(f"one = 1 THEN two = 2 {WITHIN} BY three", OFFER)
    assert [problem.start for problem in refused.value.problems] == [0, 13, 52]


def test_keys_are_equal_if_their_values_are() -> None:
    events = [{"k": 1}, {"k": 1.0}, {"k": True}, {"k": "1"}, {"k": None}, {}, {"k": {"b": [1.0], "a": 0}}]
    keys = keys_of(EventBatch.of(events), [("k",)])
    assert keys == ["[1]", "[1]", "[true]", '["1"]', None, None, '[{"a": 0, "b": [1]}]']
    assert keys_of(EventBatch.of(events), []) == ["[]"] * len(events)


def test_binary_keys() -> None:
    binary = EventType.of({"name": "t", "attributes": {"k": "binary"}})
    assert keys_of(EventBatch.of([{"k": b"\x01"}], binary), [("k",)]) == ['["01"]']
