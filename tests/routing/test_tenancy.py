"""A tenant keeps its shards and gets as few more as its subscriptions need."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tamis.routing.tenancy import TenantShards, group_by_tenant


def test_a_tenant_gets_the_emptiest_shards_until_its_subscriptions_fit() -> None:
    shards = TenantShards(3)
    room = np.array([4, 10, 7])
    assert shards.reserve("a", 9, room).tolist() == [False, True, False]
    assert shards.reserve("b", 12, room).tolist() == [False, True, True]
    assert shards.reserve(None, 1, np.array([5, 0, 0])).tolist() == [True, False, False]


def test_a_tenant_keeps_its_shards() -> None:
    shards = TenantShards(2)
    shards.reserve("a", 3, np.array([0, 5]))
    assert shards.reserve("a", 2, np.array([9, 2])).tolist() == [False, True]
    assert shards.reserve("a", 4, np.array([9, 2])).tolist() == [True, True]


def test_groups_come_with_the_largest_first() -> None:
    owners = pa.array(["a", None, "b", "b", "a", "b", None, None, None], pa.large_string())
    groups = [(name, rows.tolist()) for name, rows in group_by_tenant(owners)]
    assert groups == [(None, [1, 6, 7, 8]), ("b", [2, 3, 5]), ("a", [0, 4])]


def test_whoever_is_of_a_tenant_belongs_to_its_group() -> None:
    owners = pa.array(["a/@ann", "a", "b", "a/@bob/x"], pa.large_string())
    assert [(name, rows.tolist()) for name, rows in group_by_tenant(owners)] == [("a", [0, 1, 3]), ("b", [2])]
