"""A simulated cluster: latencies follow from the load, and each cause can only make them longer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tamis.sizing import simulation
from tamis.sizing.estimate import Demand, Node, estimate
from tamis.sizing.simulation import CAUSES, Disturbance, Simulation, simulate
from tests.sizing.test_estimate import KNOWN, WORKLOAD

CALM = Disturbance(0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


def run(demand: Demand, disturbance: Disturbance | None = None, nodes: int = 10, tasks: int = 3) -> Simulation:
    size = estimate(demand, KNOWN, WORKLOAD)
    return simulate(
        demand, size, KNOWN, WORKLOAD, nodes=nodes, node=Node(), disturbance=disturbance, tasks_per_core=tasks
    )


def test_without_disturbance_an_event_waits_for_its_interval_and_its_batch() -> None:
    demand = Demand(1e6, 100_000.0, batch_seconds=2.0)
    found = run(demand, CALM, tasks=1)
    events_of_a_task = 100_000 * 2.0 / 160
    took = KNOWN.batch_seconds + events_of_a_task * estimate(demand, KNOWN, WORKLOAD).event_us / 1e6 + 160 * 2e-3
    assert found.batch_seconds == pytest.approx(took)
    assert found.p50 == pytest.approx(1.0 + took, rel=0.06)
    assert found.p999 == pytest.approx(2.0 + took, rel=0.06)
    assert found.is_stable


def test_each_cause_makes_latency_longer() -> None:
    found = run(Demand(1e6, 400_000.0, batch_seconds=2.0))
    assert found.without.keys() == {*CAUSES}
    assert all(without <= found.p99 * 1.001 for without in found.without.values())
    assert found.bottleneck == min(CAUSES, key=lambda cause: found.without[cause])
    assert found.p50 <= found.p95 <= found.p99 <= found.p999


def test_a_cluster_that_is_too_small_does_not_keep_up() -> None:
    demand = Demand(1e6, 1_000_000.0, batch_seconds=1.0)
    assert not run(demand, nodes=1).is_stable
    enough = run(demand, nodes=20)
    assert enough.is_stable and enough.busy < 1.0


def test_the_same_seed_gives_the_same_latencies() -> None:
    demand = Demand(1e6, 200_000.0)
    assert run(demand) == run(demand)


def test_the_hottest_shard_decides() -> None:
    demand, known = Demand(1e9, 200_000.0), replace(KNOWN, driver_task_ms=0.0)
    size = estimate(demand, KNOWN, WORKLOAD)
    even, uneven = (
        simulate(demand, size, known, replace(WORKLOAD, hottest=hottest), disturbance=CALM, tasks_per_core=1)
        for hottest in (1.0, 3.0)
    )
    assert size.shards > 1 and uneven.batch_seconds > 1.15 * even.batch_seconds


def test_tasks_wait_for_the_driver_and_for_a_free_worker() -> None:
    work = np.array([3.0, 1.0, 1.0])
    assert simulation._makespan(work, 3, 0.5) == pytest.approx(3.5)
    assert simulation._makespan(work, 2, 0.0) == pytest.approx(3.0)
    assert simulation._makespan(work, 1, 0.0) == pytest.approx(5.0)


def test_small_tasks_make_stragglers_harmless() -> None:
    demand = Demand(1e6, 400_000.0, batch_seconds=2.0)
    slow = Disturbance(straggler_share=0.05, straggler_times=5.0)
    one, four = (run(demand, slow, nodes=4, tasks=tasks) for tasks in (1, 4))
    assert four.p99 < one.p99
