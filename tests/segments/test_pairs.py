"""Pairs: groups of rows and slots, joined, sorted and given names."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.arrays import I32
from tamis.engines.base import Matches
from tamis.formulas.formula import TRUE
from tamis.segments.memtable import MemtableEntry
from tamis.segments.pairs import Pairs, group_by_owner
from tamis.segments.records import Records, Subscription

SEGMENT = Records.of([Subscription("a", "", 1), Subscription("b", "", revision=2), Subscription("c", "", 9)])
MEMTABLE = [MemtableEntry(Subscription("m", "", 5, revision=4), TRUE)]
IDS = pa.array(["e0", "e1", "e2"])


def i32(*numbers: int) -> I32:
    return np.array(numbers, np.int32)


def pairs() -> Pairs:
    return Pairs(3, [(SEGMENT, Matches(i32(2, 0, 2), i32(1, 2, 0))), (MEMTABLE, Matches(i32(1, 0), i32(0, 0)))])


def test_every_pair_has_the_priority_of_its_subscription() -> None:
    assert pairs().columns()[1].to_pylist() == ["b", "c", "a", "m", "m"]
    assert pairs().priorities().tolist() == [0, 9, 1, 5, 5]
    assert Pairs(0, []).priorities().tolist() == []


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("event", ["e0 c", "e0 m", "e1 m", "e2 b", "e2 a"]),
        ("subscription", ["e2 a", "e2 b", "e0 c", "e1 m", "e0 m"]),
    ],
)
def test_a_table_is_sorted_by_event_or_by_subscription(sort: str, expected: list[str]) -> None:
    table = pairs().table(IDS, sort)  # type: ignore[arg-type]
    assert [f"{row['event_id']} {row['subscription_id']}" for row in table.to_pylist()] == expected


def test_without_pairs_the_table_has_its_columns() -> None:
    table = Pairs(3, []).table(IDS, "event")
    assert table.schema.names == ["event_id", "subscription_id"]
    assert table.num_rows == 0


def test_columns_have_revisions() -> None:
    rows, ids, revisions = pairs().columns()
    assert sorted(zip(rows.tolist(), ids.to_pylist(), revisions.tolist(), strict=True)) == [
        *((0, "c", 1), (0, "m", 4), (1, "m", 4)),
        *((2, "a", 1), (2, "b", 2)),
    ]


def test_parts_are_joined_by_their_rows_in_the_batch() -> None:
    first = Pairs(2, [(SEGMENT, Matches(i32(0, 1), i32(0, 1)))])
    second = Pairs(1, [(SEGMENT, Matches(i32(0), i32(2)))])
    whole = Pairs.join([(np.array([2, 0]), first), (np.array([1]), second)])
    assert whole.rows == 3
    assert len(whole.groups) == 1
    rows, ids, _ = whole.columns()
    assert dict(zip(rows.tolist(), ids.to_pylist(), strict=True)) == {2: "a", 0: "b", 1: "c"}


def test_one_event_reports_higher_priorities_first() -> None:
    whole = Pairs(1, [(SEGMENT, Matches(i32(0, 0, 0), i32(0, 1, 2))), (MEMTABLE, Matches(i32(0), i32(0)))])
    assert whole.by_priority() == ["c", "m", "a", "b"]


# --- by owner ------------------------------------------------------------------------------------------------


def naive_groups(found: list[tuple[int, str, str | None, int]]) -> list[tuple[int, str | None, list[str]]]:
    """What `group_by_owner` means: pairs in order, each put with the first of its row that has the same owner."""
    groups: list[tuple[int, str | None, list[str]]] = []
    for row, id, owner, _ in sorted(found, key=lambda each: (each[0], -each[3], each[1])):
        same = [each for each in groups if owner is not None and each[:2] == (row, owner)]
        if same:
            same[0][2].append(id)
        else:
            groups.append((row, owner, [id]))
    return groups


PAIR = st.tuples(st.integers(0, 4), st.sampled_from(["ann", "bob", "ö", None]), st.integers(-1, 2))


@given(st.lists(PAIR, max_size=30))
def test_grouping_by_owner_equals_its_naive_twin(found: list[tuple[int, str | None, int]]) -> None:
    rows = [(row, f"s{place * 7 % 31}", owner, priority) for place, (row, owner, priority) in enumerate(found)]
    groups = group_by_owner(
        i32(*(row for row, *_ in rows)),
        pa.array([id for _, id, _, _ in rows], pa.string()),
        pa.array([owner for _, _, owner, _ in rows], pa.string()),
        np.array([priority for *_, priority in rows], np.int64),
    )
    columns = (groups.rows.tolist(), groups.owners.to_pylist(), groups.ids.to_pylist())
    assert list(zip(*columns, strict=True)) == naive_groups(rows)
