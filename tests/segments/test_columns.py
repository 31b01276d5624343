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


def test_a_text_that_utf8_cannot_say_is_left_to_the_compiler() -> None:
    columns = columns_of([("a", "x = '\ud800'")])
    assert columns.conditions.to_pylist() == [None]
    assert columns.given == ["x = '\ud800'"]


def test_texts_of_any_column_are_large_strings() -> None:
    for values in (["a", None], pa.array(["a", None]), pa.chunked_array([["a"], [None]])):
        assert texts_of(values).equals(pa.array(["a", None], pa.large_string()))
