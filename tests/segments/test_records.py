"""Records: columns of subscriptions, found by id, saved and joined."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tamis.segments.records import Records, Subscription, join_records

pytestmark = pytest.mark.usefixtures("form")

SUBSCRIPTIONS = [
    Subscription("a", "x = 1"),
    Subscription("ü" * 40, "x = 2", priority=3, owner="yuto", revision=7),
    Subscription("", "x = 3", owner=""),
]


def test_a_slot_holds_what_was_given() -> None:
    records = Records.of(SUBSCRIPTIONS)
    assert [records[slot] for slot in range(3)] == SUBSCRIPTIONS


def test_ids_are_found_as_in_a_dictionary() -> None:
    ids = [f"s{number * 7919}" for number in range(500)]
    records = Records.of([Subscription(id, "TRUE") for id in ids])
    expected = {id: slot for slot, id in enumerate(ids)}
    wanted = [*ids[::3], "s1", "", "s7919x"]
    assert records.slots(pa.array(wanted, pa.large_string())).tolist() == [expected.get(id, -1) for id in wanted]
    assert [records.slot(id) for id in wanted] == [expected.get(id, -1) for id in wanted]


def test_a_slice_of_a_column_is_read_from_its_own_beginning() -> None:
    ids = pa.array(["other", "a", "b"], pa.large_string()).slice(1)
    nulls = pa.nulls(2, pa.large_string())
    records = Records.of_columns(ids, ids, nulls, np.zeros(2, np.int64), np.ones(2, np.int32))
    assert (records.slot("a"), records.slot("b"), records.slot("other")) == (0, 1, -1)


@pytest.mark.parametrize("some", [SUBSCRIPTIONS, SUBSCRIPTIONS[:1], []])
def test_arrays_come_back(some: list[Subscription]) -> None:
    again = Records.from_arrays(Records.of(some).arrays())
    assert [again[slot] for slot in range(len(again))] == some
    assert [again.slot(each.id) for each in some] == list(range(len(some)))


def test_joined_records_keep_the_order_of_their_parts() -> None:
    first, second = Records.of(SUBSCRIPTIONS[:2]), Records.of(SUBSCRIPTIONS[2:])
    whole = join_records([second.columns(np.array([0])), first.columns(np.array([1]))])
    assert [whole[slot] for slot in range(2)] == [SUBSCRIPTIONS[2], SUBSCRIPTIONS[1]]


def test_labels_come_back_and_segments_of_before_have_none() -> None:
    some = [Subscription("a", "x", label="first é"), Subscription("b", "x", owner="yuto")]
    records = Records.of(some)
    again = Records.from_arrays(records.arrays())
    assert [again[slot] for slot in range(2)] == some
    joined = join_records(
        [again.columns(np.array([1])), Records.of(some[1:]).columns(np.array([0])), again.columns(np.array([0]))]
    )
    assert [joined[slot].label for slot in range(3)] == [None, None, "first é"]
    without = Records.of(some[1:]).arrays()
    assert not any("label" in name for name in without), "as they were written before there were labels"
    assert Records.from_arrays(without)[0] == some[1]


def test_dialects_are_kept_and_joined_and_saved() -> None:
    some = [Subscription("a", "{}", dialect="eventbridge"), Subscription("b", "x = 1")]
    records = Records.of(some)
    assert [Records.from_arrays(records.arrays())[slot] for slot in range(2)] == some
    plain = Records.of(some[1:])
    assert plain.dialects is None
    joined = join_records([plain.columns(np.array([0])), records.columns(np.array([0, 1]))])
    assert [joined[slot].dialect for slot in range(3)] == ["sql", "eventbridge", "sql"]
