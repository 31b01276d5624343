"""A cluster in simulated time: micro-batches of tasks on workers, with skewed shards, stragglers and replays.

Spark takes one micro-batch after the other: a batch takes all events that came during the one before, in some
tasks a core, each for one shard. A task waits for the driver to send it and for a free worker; the
batch ends with its last task. So an event waits for the rest of the batch that runs when it comes, and for its
own. Where a batch takes longer than its events took to come, the next one is larger: a cluster that cannot keep up
shows as batches that grow for ever.

What would help most is found by taking each cause away, with the same random numbers, and looking at p99.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace

import numpy as np

from tamis.sizing.coefficients import Coefficients, WorkloadCoefficients
from tamis.sizing.estimate import TASKS_PER_CORE, ClusterSize, Demand, Node

CORES = "cores"
CAUSES = ("skew of shards", "stragglers", "replays", "driver", CORES)
"""What may be taken away; of cores there are twice as many instead."""
_BATCHES, _WARM = 400, 40
_LONGEST_SECONDS = 3_600.0
"""Of a batch: a cluster whose batches take longer does not keep up, and is not simulated further."""


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What makes tasks and batches take longer than their work.

    Attributes:
        spread: Of the time of tasks with the same work: the deviation of its logarithm.
        straggler_share: Of tasks.
        straggler_times: As long as others.
        lost_share: Of batches, those in which a worker is lost and its tasks are done again.
        replay_share: Of batches, those that are done again from the start, because the driver was restarted.
        restart_seconds: Of the driver.
    """

    spread: float = 0.15
    straggler_share: float = 0.01
    straggler_times: float = 3.0
    lost_share: float = 0.002
    replay_share: float = 0.0005
    restart_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Simulation:
    """What was simulated.

    Attributes:
        workers: How many cores worked.
        p50: Seconds from the arrival of an event until its batch is committed.
        p95: Of these, too.
        p99: Of these, too.
        p999: Of these, too.
        batch_seconds: The median of batches.
        busy: The share of the time that workers worked.
        is_stable: Does the cluster keep up?
        without: p99 if one of `CAUSES` is taken away.
        bottleneck: The cause without which p99 falls most.
    """

    workers: int
    p50: float
    p95: float
    p99: float
    p999: float
    batch_seconds: float
    busy: float
    is_stable: bool
    without: dict[str, float]
    bottleneck: str


@dataclass(frozen=True, slots=True)
class _Cluster:
    """What a run needs to know; seconds, but for `event_us`."""

    workers: int
    tasks: int
    rate: float
    event_us: float
    fixed: float
    task_seconds: float
    trigger: float
    weights: tuple[float, ...]
    disturbance: Disturbance


def simulate(
    demand: Demand,
    size: ClusterSize,
    known: Coefficients,
    workload: WorkloadCoefficients,
    *,
    nodes: int | None = None,
    node: Node | None = None,
    disturbance: Disturbance | None = None,
    tasks_per_core: int = TASKS_PER_CORE,
    seed: int = 1,
) -> Simulation:
    """Latencies of a load on a cluster.

    Args:
        demand: The load; its `batch_seconds` is the least time from one batch to the next.
        size: What `estimate` says of it.
        known: What was measured.
        workload: Of it, the kind of subscriptions.
        nodes: How many; as many as `size` says by default.
        node: Of which kind.
        disturbance: What makes tasks take longer.
        tasks_per_core: In a batch.
        seed: Of the random numbers.
    """
    workers = (size.nodes if nodes is None else nodes) * (node or Node()).cores
    spread = max(1, -(-workers * tasks_per_core // size.shards))
    cluster = _Cluster(
        workers=workers,
        tasks=size.shards * spread,
        rate=demand.events_per_second,
        event_us=size.event_us,
        fixed=known.batch_seconds,
        task_seconds=known.driver_task_ms / 1e3,
        trigger=demand.batch_seconds,
        weights=_weights(size.shards, workload.hottest, spread),
        disturbance=disturbance or Disturbance(),
    )
    latencies, seconds, busy, is_stable = _run(cluster, seed)
    without = {cause: _percentile(_run(_without(cluster, cause), seed)[0], 99) for cause in CAUSES}
    p50, p95, p99, p999 = (_percentile(latencies, share) for share in (50, 95, 99, 99.9))
    bottleneck = min(CAUSES, key=lambda cause: without[cause])
    return Simulation(workers, p50, p95, p99, p999, seconds, busy, is_stable, without, bottleneck)


def _weights(shards: int, hottest: float, spread: int) -> tuple[float, ...]:
    """The work of each task against the mean; from the hottest shard it falls evenly in its logarithm."""
    if shards == 1:
        return (1.0,) * spread
    falling = np.geomspace(hottest, 1.0 / hottest, shards)
    return tuple(np.repeat(falling / falling.mean(), spread).tolist())


def _without(cluster: _Cluster, cause: str) -> _Cluster:
    """The same cluster without one cause of latency; without `cores`, with twice as many."""
    calm = cluster.disturbance
    if cause == "skew of shards":
        return replace(cluster, weights=(1.0,) * len(cluster.weights))
    if cause == "stragglers":
        return replace(cluster, disturbance=replace(calm, straggler_share=0.0, spread=0.0))
    if cause == "replays":
        return replace(cluster, disturbance=replace(calm, lost_share=0.0, replay_share=0.0))
    if cause == "driver":
        return replace(cluster, fixed=0.0, task_seconds=0.0)
    return replace(cluster, workers=2 * cluster.workers, event_us=cluster.event_us / 2)


def _run(cluster: _Cluster, seed: int) -> tuple[list[tuple[float, float, float]], float, float, bool]:
    """Batches one after the other: (longest wait, shortest wait, events) of each, their median time, and more."""
    random = np.random.default_rng(seed)
    odd = cluster.disturbance
    weights = np.array(cluster.weights)
    begun, since = cluster.trigger, 0.0
    waits: list[tuple[float, float, float]] = []
    times: list[float] = []
    worked = 0.0
    for number in range(_BATCHES + _WARM):
        # All random numbers are drawn in every run, so that runs without a cause differ in that cause only.
        noise = np.exp(random.normal(0.0, 1.0, len(weights)) * odd.spread)
        is_slow = random.random(len(weights)) < odd.straggler_share
        lost, replayed, place = random.random(3)
        events = cluster.rate * (begun - since)
        work = events / len(weights) * weights * cluster.event_us / 1e6 * noise
        work = np.where(is_slow, work * odd.straggler_times, work)
        took = cluster.fixed + _makespan(work, cluster.workers, cluster.task_seconds)
        if lost < odd.lost_share:
            took += float(np.median(work)) * (1.0 + place)  # what a lost worker had begun is done again
        if replayed < odd.replay_share:
            took += odd.restart_seconds + place * took
        ended = begun + took
        is_stable = took < _LONGEST_SECONDS
        if number >= _WARM or not is_stable:
            waits.append((ended - since, took, events))
            times.append(took)
            worked += float(work.sum())
        if not is_stable:
            break
        since, begun = begun, max(ended, begun + cluster.trigger)
    busy = worked / (cluster.workers * sum(longest - took for longest, took, _ in waits))
    return waits, float(np.median(times)), busy, is_stable


def _makespan(work: np.ndarray, workers: int, task_seconds: float) -> float:
    """When the last task ends: the driver sends them one after the other, the first free worker takes each."""
    if len(work) <= workers:
        return float((work + task_seconds * np.arange(1, len(work) + 1)).max())
    free = [0.0] * workers
    for number, seconds in enumerate(work.tolist()):
        start = max(heapq.heappop(free), task_seconds * (number + 1))
        heapq.heappush(free, start + seconds)
    return max(free)


def _percentile(waits: list[tuple[float, float, float]], share: float) -> float:
    """Over events: those of a batch came evenly, so their waits are spread evenly between two bounds."""
    each = np.linspace(0.0, 1.0, 21)
    longest, shortest, events = np.array(waits).T
    values = (shortest[:, None] + (longest - shortest)[:, None] * each).ravel()
    counts = np.repeat(events, len(each))
    order = np.argsort(values)
    passed = np.cumsum(counts[order])
    return float(values[order][np.searchsorted(passed, share / 100 * passed[-1])])
