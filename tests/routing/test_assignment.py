"""Shards get about the same number of subscriptions, and those that the same events satisfy stay together."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.engines.forest import forest_of
from tamis.language.condition import normalise
from tamis.routing.access_predicates import find_access_predicates
from tamis.routing.assignment import ShardAssigner


def test_no_shard_gets_much_more_than_its_share() -> None:
    assigner = ShardAssigner(4, slack=0.1)
    texts = ["a = 1"] * 70 + [f"a = {number}" for number in range(2, 32)]
    access = find_access_predicates(forest_of([normalise(text) for text in texts]))
    counts = np.bincount(access.of)
    nothing = [np.empty(0, np.int64)] * len(counts)
    portions = assigner.assign(access._replace(of=np.arange(len(counts), dtype=np.int32)), counts, nothing, 0)
    assert sum(each.subscriptions for each in portions) == 100
    assert assigner.loads.sum() == 100
    assert assigner.loads.max() <= 28
    assigner.release(assigner.loads.copy())
    assert assigner.loads.sum() == 0


def test_entries_that_the_same_events_satisfy_share_a_shard() -> None:
    texts = [f"title = {number}" for number in range(20)] + [f"author = {number}" for number in range(4)]
    access = find_access_predicates(forest_of([normalise(text) for text in texts]))
    names = [formula.describe() for formula in access.formulas]
    rows = {f"title = {number}": [number] for number in range(20)}
    rows |= {f"author = {number}": [*range(number, 20, 4)] for number in range(4)}
    sample_rows = [np.array(rows[name], np.int64) for name in names]
    counts = np.ones(len(names), np.int64)
    shards = {names[each.entry]: each.shard for each in ShardAssigner(4).assign(access, counts, sample_rows, 20)}
    assert len(set(shards.values())) == 4
    assert all(shards[f"title = {number}"] == shards[f"author = {number % 4}"] for number in range(20))


def test_an_entry_larger_than_a_shard_is_divided_over_allowed_shards() -> None:
    access = find_access_predicates(forest_of([normalise("a = 1")]))
    allowed = np.array([False, True, True])
    portions = ShardAssigner(3, slack=0.5).assign(
        access, np.array([9]), [np.empty(0, np.int64)], 0, total=9, allowed=allowed
    )
    assert sorted((each.shard, each.subscriptions) for each in portions) == [(1, 5), (2, 4)]


def test_entries_that_most_events_satisfy_are_spread_over_shards() -> None:
    texts = [f"a = {number}" for number in range(40)]
    access = find_access_predicates(forest_of([normalise(text) for text in texts]))
    names = [formula.describe() for formula in access.formulas]
    # One value that half of the events have; the others are rare, so that counts alone say nothing of work.
    rows = {f"a = {number}": np.arange(500) if number == 0 else np.array([500 + number]) for number in range(40)}
    counts = np.array([400 if name == "a = 0" else 40 for name in names])
    assigner = ShardAssigner(4, slack=0.5)
    portions = assigner.assign(access, counts, [rows[name] for name in names], 1_000)
    assert sum(each.subscriptions for each in portions) == counts.sum()
    assert assigner.work.max() <= 1.3 * assigner.work.mean()
    assert assigner.loads.max() <= 1.5 * counts.sum() / 4 + 1
    before = assigner.work.sum()
    assigner.release(assigner.loads // 2)
    assert assigner.work.sum() < before


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="at least one shard"):
        ShardAssigner(0)
