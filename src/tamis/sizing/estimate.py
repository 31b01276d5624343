"""From a load to machines: cores, memory, disk, shards, network and the driver's share."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tamis.errors import TamisError
from tamis.segments.merge import FANOUT
from tamis.sizing.coefficients import Coefficients, WorkloadCoefficients

SEGMENT_SUBSCRIPTIONS = 1_500_000
"""Of one segment as it is compiled: its index is built in memory."""
TASKS_PER_CORE = 3
"""In a batch: with one, every straggler holds up its batch for as long as it takes."""
_MERGING = 3.0
"""Times the bytes of a segment that it takes to build: the old forests, the new one, and what is stored."""
_NODE_SHARE = 0.6
"""Of a node's memory, what subscriptions and Python workers may take: the rest is Spark's and the system's."""


@dataclass(frozen=True, slots=True)
class Demand:
    """The load.

    Attributes:
        subscriptions: How many.
        events_per_second: That come.
        matches: Of an event; None for as many as were measured.
        changes_per_second: Of subscriptions.
        batch_seconds: From one micro-batch to the next.
    """

    subscriptions: float
    events_per_second: float
    matches: float | None = None
    changes_per_second: float = 0.0
    batch_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class Node:
    """A machine of the cluster.

    Attributes:
        cores: That Spark may use.
        memory_bytes: Of the machine.
        utilisation: The share of the time that a core is busy, at most; the rest is for peaks and stragglers.
    """

    cores: int = 16
    memory_bytes: float = 64e9
    utilisation: float = 0.4


@dataclass(frozen=True, slots=True)
class ClusterSize:
    """What a load takes.

    Attributes:
        engine_us: Of a core, to match one event, in all shards that it visits.
        event_us: Of a core for one event, with Spark and notifications.
        matches: Of an event.
        visits: Of an event to shards.
        cores: Of all workers.
        nodes: Machines.
        shards: Into which subscriptions are partitioned.
        node_memory_bytes: That a node needs, without Spark's Java.
        node_disk_bytes: Of the cache of a node.
        snapshot_bytes: In the shared place, one version.
        network_in_bytes: A second, of events to workers.
        network_shuffle_bytes: A second, between workers.
        network_out_bytes: A second, of notifications.
        network_versions_bytes: A second, of new versions to all nodes.
        driver_share: Of one core of the driver.
        driver_memory_bytes: Of the driver, to merge segments into the largest one.
        extrapolated: How many times as many subscriptions as were measured.
    """

    engine_us: float
    event_us: float
    matches: float
    visits: float
    cores: float
    nodes: int
    shards: int
    node_memory_bytes: float
    node_disk_bytes: float
    snapshot_bytes: float
    network_in_bytes: float
    network_shuffle_bytes: float
    network_out_bytes: float
    network_versions_bytes: float
    driver_share: float
    driver_memory_bytes: float
    extrapolated: float


def segments_of(subscriptions: float) -> int:
    """How many segments so many subscriptions are in: when there are too many of one size, they are merged.

    >>> segments_of(1_000), segments_of(10_000_000), segments_of(100_000_000)
    (1, 7, 7)
    """
    return max(1, min(FANOUT - 1, math.ceil(subscriptions / SEGMENT_SUBSCRIPTIONS)))


def estimate(
    demand: Demand, known: Coefficients, workload: WorkloadCoefficients, node: Node | None = None
) -> ClusterSize:
    """What a load takes, by the model; shards are as few as fit into the memory of a node.

    Raises:
        TamisError: Workers alone fill a node.
    """
    machine = Node() if node is None else node
    matches = workload.matches if demand.matches is None else demand.matches
    snapshot = demand.subscriptions * workload.snapshot_bytes
    room = _NODE_SHARE * machine.memory_bytes - machine.cores * workload.worker_bytes
    resident = demand.subscriptions * workload.resident_bytes
    if room <= 0:
        msg = f"a node of {machine.memory_bytes / 1e9:.0f} GB has no room for {machine.cores} workers and a shard"
        raise TamisError(msg)
    # A task holds one shard, so a node has as many in memory as it has cores: fewer shards save nothing.
    shards = 1 if resident <= room else math.ceil(machine.cores * resident / room)
    # As measured with 16 shards, and at worst in proportion where there are more.
    visits = 1.0 if shards == 1 else min(float(shards), workload.visits * max(1.0, shards / 16))
    held = demand.subscriptions / shards
    segments = segments_of(held)
    own = workload.model.microseconds(held, matches / visits, segments)
    engine = visits * own
    event = engine + known.spark_us * (1.0 if shards == 1 else 2.0) + known.notification_us * matches
    cores = demand.events_per_second * event / 1e6 / machine.utilisation
    nodes = max(1, math.ceil(cores / machine.cores))
    arriving = demand.events_per_second * workload.event_bytes
    versions = min(demand.changes_per_second, 1.0)
    tasks = max(nodes * machine.cores * TASKS_PER_CORE, shards)
    driver = (known.batch_seconds + tasks * known.driver_task_ms / 1e3) / demand.batch_seconds
    return ClusterSize(
        engine_us=engine,
        event_us=event,
        matches=matches,
        visits=visits,
        cores=cores,
        nodes=nodes,
        shards=shards,
        node_memory_bytes=min(resident, resident / shards * machine.cores) + machine.cores * workload.worker_bytes,
        node_disk_bytes=min(snapshot, snapshot / shards * machine.cores),
        snapshot_bytes=snapshot,
        network_in_bytes=arriving,
        network_shuffle_bytes=0.0 if shards == 1 else arriving * visits,
        network_out_bytes=demand.events_per_second * matches * known.notification_bytes,
        network_versions_bytes=versions * known.version_bytes * nodes,
        driver_share=driver + versions * known.publish_seconds,
        driver_memory_bytes=_MERGING * snapshot / segments_of(demand.subscriptions),
        extrapolated=demand.subscriptions / workload.largest,
    )
