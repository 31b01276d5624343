"""Subscriptions as columns, however they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.errors import SubscriptionError
from tamis.segments.columns import columns_of, texts_of
from tamis.segments.records import Subscription

EXPECTED = [Subscription("a", "x = 1"), Subscription("b", "x = 2", 5, "yuto")]


@pytest.mark.parametrize(
    "given",
    [
        EXPECTED,
        [("a", "x = 1"), {"id": "b", "condition": "x = 2", "priority": 5, "owner": "yuto"}],
        pa.table(
            {"id": ["a", "b"], "condition": ["x = 1", "x = 2"], "priority": [None, 5], "owner": [None, "yuto"]}
        ),
    ],
)
def test_every_form_gives_the_same_columns(given: Any) -> None:
    columns = columns_of(given)
    assert [columns.subscription(place) for place in range(len(columns))] == EXPECTED
    assert [columns.take(np.array([1])).subscription(0)] == EXPECTED[1:]


def test_ids_may_lead_to_conditions() -> None:
    columns = columns_of({"a": "x = 1", "b": "x = 2"})
    assert [columns.subscription(place) for place in range(2)] == [
        Subscription("a", "x = 1"),
        Subscription("b", "x = 2"),
    ]


@pytest.mark.parametrize(
    "given",
    [
        ["x = 1"],
        ["ab"],
        [("a", "x = 1", 5)],
        [7],
        [None],
        [{"id": "a"}],
        [{"name": "a", "condition": "x = 1"}],
        pa.table({"name": ["a"], "condition": ["x = 1"]}),
        pa.table({"id": ["a"]}),
    ],
)
def test_what_has_no_id_or_condition_is_refused(given: Any) -> None:
    with pytest.raises(SubscriptionError, match=r"id|condition"):
        columns_of(given)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("zzz", "x", "there is no {what} 'zzz'; expected id, condition, priority"),
        ("prioriti", 1, "there is no {what} 'prioriti'; did you mean 'priority'"),
        ("event_type", "offer", "the {what} 'event_type' is for stores only: a matcher has one event type"),
        ("type", "offer", "the {what} 'type' is for stores only: a matcher has one event type"),
        ("expires", "2030-01-01", "the {what} 'expires' is for stores only: a matcher keeps no times and states"),
    ],
)
def test_a_field_that_no_subscription_has_is_refused_by_name(field: str, value: Any, said: str) -> None:
    record = {"id": "a", "condition": "x = 1", field: value}
    for given, what in ([record], "field"), (pa.Table.from_pylist([record]), "column"):
        with pytest.raises(SubscriptionError, match=said.format(what=what)):
            columns_of(given)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("priority", "5"),
        ("priority", 1.5),
        ("priority", True),
        ("revision", "2"),
        ("revision", 1 << 31),
        ("owner", [5]),
        ("label", {"a": 1}),
        ("dialect", [5]),
    ],
)
def test_a_field_of_another_type_is_refused_by_name(field: str, value: Any) -> None:
    record = {"id": "a", "condition": "x = 1", field: value}
    for given in ([record], pa.Table.from_pylist([record])):
        with pytest.raises(SubscriptionError, match=f"{field}.*: expected (a text|texts|an integer|integers)"):
            columns_of(given)


def test_whole_floats_of_a_table_are_integers() -> None:
    columns = columns_of(pa.table({"id": ["a", "b"], "condition": ["true"] * 2, "priority": [1.0, None]}))
    assert columns.priorities.tolist() == [1, 0]


def test_a_text_that_utf8_cannot_say_is_left_to_the_compiler() -> None:
    columns = columns_of([("a", "x = '\ud800'")])
    assert columns.conditions.to_pylist() == [None]
    assert columns.given == ["x = '\ud800'"]


def test_texts_of_any_column_are_large_strings() -> None:
    for values in (["a", None], pa.array(["a", None]), pa.chunked_array([["a"], [None]])):
        assert texts_of(values).equals(pa.array(["a", None], pa.large_string()))
