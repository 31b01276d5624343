"""Segments are assigned to shards by size, in every process alike."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tamis import Matcher
from tamis.routing.shards import Routing
from tamis.snapshot import Manifest, ManifestEntry
from tamis.spark.shards import Sharding, assign_segments, shard_refs
from tamis.spark.snapshot_ref import SnapshotRef
from tests.reports import report


def manifest(sizes: dict[str, int]) -> Manifest:
    entries = tuple(ManifestEntry(name, 1, size) for name, size in sizes.items())
    return Manifest(1, None, datetime.now(UTC), {}, entries, {})


@pytest.mark.parametrize("shards", [1, 2, 3, 9])
def test_every_segment_is_in_one_shard_and_shards_are_balanced(shards: int) -> None:
    sizes = {f"{number:02}": 1 + number * number for number in range(12)}
    assigned = assign_segments(manifest(sizes), shards)
    assert sorted(name for names in assigned for name in names) == sorted(sizes)
    loads = [sum(sizes[name] for name in names) for names in assigned]
    assert max(loads) - min(loads) <= max(sizes.values())
    backwards = dict(reversed(sizes.items()))
    assert assign_segments(manifest(backwards), shards) == assigned, "the order of entries does not matter"


def test_no_shard_is_empty(tmp_path: Path) -> None:
    matcher = Matcher()
    whole = SnapshotRef(str(tmp_path), matcher.publish(tmp_path))
    assert shard_refs(whole, 3) == (whole,), "there are no segments"
    matcher.add("a", "n = 1")
    one = SnapshotRef(str(tmp_path), matcher.publish(tmp_path))
    (only,) = shard_refs(one, 3)
    assert only.segments is not None
    assert len(only.segments) == 1
    assert len(only.matchers()) == 1
    plan = Sharding(3).plan(one, lambda rows: [])
    assert (plan.shards, plan.routes) == ((only,), None)


@pytest.mark.slow
def test_a_budget_is_halved_while_that_pays(tmp_path: Path) -> None:
    matcher = Matcher()
    matcher.add_many([(f"s{n}", f"title = 'book {n % 40}' AND price < {n}") for n in range(400)])
    ref = SnapshotRef(str(tmp_path / "s"), matcher.publish(tmp_path / "s"))
    for adapts, best, budget in ((True, 1, 1 << 14), (True, 1, 1 << 24), (True, 0, 1 << 14), (False, 0, 1 << 14)):
        sharding = Sharding(3, Routing(budget=budget, adapts=adapts))
        sizes = [sharding.plan(ref, lambda _: []).entry_bytes]
        for batch in range(70):
            step = sharding._search.step
            # Up to the best step entries get cheaper, beyond it visits are in vain.
            cost, visits = 1.0 + max(0, best - step), 500 * (1 + max(0, step - best))
            if len(sizes) == 1 or sizes[-1] != sizes[-2]:
                cost = 9.0  # workers open new entries
            done: dict[str, Any] = {"filter_seconds": cost, "match_seconds": 1.0 + batch % 7}
            sharding.observe(report(shards=3, useful_visits=500, visits=visits, **done))
            sizes.append(sharding.plan(ref, lambda _: []).entry_bytes)
        search = sharding._search
        assert (search._search.settled or not search.is_worth_it) is adapts
        assert sharding.entry_budget == (sizes[0] >> 1 if best else budget), "half of what entries take"
        assert sizes[-1] <= sharding.entry_budget
        assert (min(sizes) < sizes[0]) is adapts
