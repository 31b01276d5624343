"""What a load takes grows with the load, and shards appear where a node cannot hold all subscriptions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tamis import TamisError
from tamis.sizing.coefficients import Coefficients, WorkloadCoefficients
from tamis.sizing.estimate import SEGMENT_SUBSCRIPTIONS, Demand, Node, estimate, segments_of
from tamis.sizing.model import Model

WORKLOAD = WorkloadCoefficients(
    model=Model(1.0, 0.01, 0.5, 0.1),
    matches=5.0,
    largest=1_000_000,
    snapshot_bytes=600.0,
    resident_bytes=150.0,
    worker_bytes=0.5e9,
    event_bytes=100.0,
    visits=4.0,
)
KNOWN = Coefficients("2026-01-01", "two cores", 9.0, 1.0, 200.0, 0.25, 2.0, 0.1, 1e5, {"some": WORKLOAD})


def test_cores_are_those_of_the_model() -> None:
    found = estimate(Demand(1_000_000, 100_000), KNOWN, WORKLOAD, Node(16, 64e9, 0.5))
    assert found.engine_us == pytest.approx(1.0 + 0.01 * 1_000 + 0.5)
    assert found.event_us == pytest.approx(found.engine_us + 9.0 + 5.0)
    assert found.cores == pytest.approx(2 * 100_000 * found.event_us / 1e6)
    assert (found.nodes, found.shards, found.network_shuffle_bytes) == (1, 1, 0.0)
    assert found.network_out_bytes == pytest.approx(100_000 * 5 * 200)


def test_segments_are_searched_one_after_the_other() -> None:
    one, two = (estimate(Demand(count * SEGMENT_SUBSCRIPTIONS, 1), KNOWN, WORKLOAD).engine_us for count in (1, 2))
    assert two - 1.5 == pytest.approx(2 * (one - 1.5)), "an event is read once, and its matches are its matches"
    assert segments_of(1_000 * SEGMENT_SUBSCRIPTIONS) == segments_of(7 * SEGMENT_SUBSCRIPTIONS), "they are merged"


def test_more_of_anything_takes_more() -> None:
    demand = Demand(1e6, 1e5)
    few = estimate(demand, KNOWN, WORKLOAD)
    for more in (
        replace(demand, subscriptions=1e8),
        replace(demand, events_per_second=1e6),
        replace(demand, matches=50.0),
    ):
        assert estimate(more, KNOWN, WORKLOAD).cores > few.cores
    changing = estimate(replace(demand, changes_per_second=1_000.0), KNOWN, WORKLOAD)
    assert changing.driver_share > few.driver_share and changing.network_versions_bytes > 0


def test_subscriptions_that_do_not_fit_into_a_node_are_partitioned() -> None:
    demand, node = Demand(1e9, 1e5), Node(16, 64e9)
    found = estimate(demand, KNOWN, WORKLOAD, node)
    assert found.shards > node.cores
    assert found.node_memory_bytes < node.memory_bytes < 1e9 * WORKLOAD.resident_bytes
    assert found.visits == pytest.approx(WORKLOAD.visits * found.shards / 16)
    assert found.network_shuffle_bytes > found.network_in_bytes


def test_a_node_that_its_workers_fill_is_refused() -> None:
    with pytest.raises(TamisError, match="no room for 16 workers"):
        estimate(Demand(1e6, 1e5), KNOWN, WORKLOAD, Node(16, 4e9))
