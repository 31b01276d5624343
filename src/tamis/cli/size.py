"""`tamis size`: how many machines some load takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.cli.options import EventsFormat, Json

if TYPE_CHECKING:
    from tamis.sizing import ClusterSize, Coefficients, Demand, Node, Simulation, WorkloadCoefficients


def size(
    subscriptions: Annotated[
        float, typer.Option("--subscriptions", metavar="N", min=1, help="How many; 100e6 is a number, too.")
    ],
    events_per_second: Annotated[
        float, typer.Option("--events-per-second", metavar="N", min=0, help="That come, on average.")
    ],
    like: Annotated[
        str,
        typer.Option(
            "--like",
            metavar="NAME|URL",
            help="The kind of subscriptions: sparse, ads, auction, or a snapshot of your own, which is measured.",
        ),
    ] = "sparse",
    events: Annotated[
        str | None, typer.Option("--events", metavar="FILE", help="Events to measure a snapshot with.")
    ] = None,
    format: EventsFormat = None,
    matches: Annotated[
        float | None,
        typer.Option("--matches", metavar="N", min=0, help="Of an event; by default as many as were measured."),
    ] = None,
    changes_per_second: Annotated[
        float, typer.Option("--changes-per-second", metavar="N", min=0, help="Of subscriptions.")
    ] = 0.0,
    batch_seconds: Annotated[
        float, typer.Option("--batch-seconds", metavar="S", min=0.1, help="From one micro-batch to the next.")
    ] = 5.0,
    node_cores: Annotated[int, typer.Option("--node-cores", metavar="N", min=1, help="Of a machine.")] = 16,
    node_memory: Annotated[
        float, typer.Option("--node-memory", metavar="GB", min=1, help="Of a machine, in GB.")
    ] = 64.0,
    coefficients: Annotated[
        str | None,
        typer.Option(
            "--coefficients",
            metavar="FILE",
            help="Measured by `python -m benchmarks sizing --write FILE`; by default those shipped with tamis.",
        ),
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Simulate the cluster: latencies and the next bottleneck.")
    ] = False,
    nodes: Annotated[
        int | None,
        typer.Option(
            "--nodes", metavar="N", min=1, help="With --simulate: machines, instead of the computed number."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Compute the cluster that a load needs: cores, memory, disk, shards, network and the driver's share.

    It is a model: coefficients that were measured on one machine, and a curve through them. It says on how many
    subscriptions they were measured, and how far off they were where that was checked.

    \b
    Examples:
      tamis size --subscriptions 100e6 --events-per-second 1e6 --like sparse
      tamis size --subscriptions 5e6 --events-per-second 2e4 --like alerts --events yesterday.parquet --simulate

    Exit code 2 if there is no such kind, or a file cannot be read.
    """
    from dataclasses import asdict

    from tamis import sizing
    from tamis.cli.output import JsonLines, Screen, printing_errors

    with printing_errors():
        known = sizing.read_coefficients(sizing.SHIPPED if coefficients is None else coefficients)
        workload = _workload(like, known, events, format)
        demand = sizing.Demand(subscriptions, events_per_second, matches, changes_per_second, batch_seconds)
        node = sizing.Node(node_cores, node_memory * 1e9)
        found = sizing.estimate(demand, known, workload, node)
        simulated = (
            sizing.simulate(demand, found, known, workload, nodes=nodes, node=node)
            if simulate or nodes is not None
            else None
        )
        if json:
            measured = {"measured": known.measured, "machine": known.machine}
            errors = {"error": workload.error, "validated": workload.validated, "largest": workload.largest}
            answer = {**asdict(found), "coefficients": {**measured, **errors}}
            JsonLines().write(answer if simulated is None else {**answer, "simulation": asdict(simulated)})
            return
        screen = Screen()
        for line in _lines(demand, node, found, simulated):
            screen.say(line)
        for line in _origin(like, known, workload, found):
            screen.say(line)


def _workload(like: str, known: Coefficients, events: str | None, format: Any) -> WorkloadCoefficients:
    from tamis.cli.inputs import open_events
    from tamis.errors import TamisError
    from tamis.events.event_type import EventType
    from tamis.sizing.measurement import measure_snapshot
    from tamis.snapshot import Snapshots

    if like in known.workloads:
        return known.workloads[like]
    manifest = Snapshots(like).manifest() if Snapshots(like).latest() is not None else None
    if manifest is None:
        msg = f"--like: expected {', '.join(known.workloads)} or the URL of a snapshot, found {like!r}"
        raise TamisError(msg)
    if events is None or len(manifest.event_types) != 1:
        msg = "--like with a snapshot needs --events FILE, and subscriptions to one event type"
        raise TamisError(msg)
    (described,) = manifest.event_types.values()
    batch = next(iter(open_events(events, EventType.of(dict(described)), format, batch_rows=8_192)))
    return measure_snapshot(like, batch, next(iter(known.workloads.values())))


def _lines(demand: Demand, node: Node, found: ClusterSize, simulated: Simulation | None) -> list[str]:
    from tamis.cli.output import count_text
    from tamis.numerals import duration_text, number_text, share_text
    from tamis.sizing.simulation import CORES

    def giga(value: float) -> str:
        return f"{number_text(value / 1e9)} GB"

    def mega(value: float) -> str:
        return f"{number_text(value / 1e6)} MB/s"

    busy = f"busy at most {share_text(node.utilisation)}"
    cores = f"{number_text(found.cores)}: {count_text(found.nodes, 'machine')} of {node.cores} cores, {busy}"
    matching = f"{number_text(found.engine_us)} of {number_text(found.event_us)} us of CPU time per event"
    network = f"events {mega(found.network_in_bytes)}, between workers {mega(found.network_shuffle_bytes)}"
    network += f", notifications {mega(found.network_out_bytes)}, versions {mega(found.network_versions_bytes)}"
    driver = f"busy {share_text(found.driver_share)}, {giga(found.driver_memory_bytes)} to merge segments"
    rows = {
        "cores": cores,
        "matching": f"{matching}, {number_text(found.matches)} matches",
        "shards": f"{found.shards}, of which an event visits {number_text(found.visits)}",
        "memory": f"{giga(found.node_memory_bytes)} per machine, without Spark's Java",
        "disk": f"{giga(found.node_disk_bytes)} per machine, its cache; {giga(found.snapshot_bytes)} per version",
        "network": network,
        "driver": f"{driver}, a batch every {duration_text(demand.batch_seconds)}",
    }
    if simulated is not None:
        shares = {"p50": simulated.p50, "p95": simulated.p95, "p99": simulated.p99, "p99.9": simulated.p999}
        latencies = ", ".join(f"{name} {duration_text(value)}" for name, value in shares.items())
        without = simulated.without[simulated.bottleneck]
        rows["latency"] = latencies if simulated.is_stable else "it does not keep up: batches grow for ever"
        rows["simulated"] = f"{simulated.workers:,} cores, busy {share_text(simulated.busy)}"
        what = "with twice as many" if simulated.bottleneck == CORES else "without"
        rows["bottleneck"] = f"{simulated.bottleneck}: p99 would be {duration_text(without)} {what}"
    return [f"{name:<11}{text}" for name, text in rows.items()]


def _origin(like: str, known: Coefficients, workload: WorkloadCoefficients, found: ClusterSize) -> list[str]:
    """What the figures are worth."""
    from tamis.numerals import number_text, share_text

    where = f"{known.measured}, {known.machine}"
    lines = ["", f"A model of {like}: up to {workload.largest:,} subscriptions were measured; {where}."]
    if found.extrapolated > 1:
        lines.append(f"This is {number_text(found.extrapolated)} times as many, so an order of magnitude only.")
    if workload.error is not None:
        lines.append(
            f"For {workload.validated:,} subscriptions the model was off by {share_text(abs(workload.error))}."
        )
    return lines
