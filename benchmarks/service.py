"""The service under load: events are published at a fixed rate, and every notification is timed and accounted for.

Everything is real and on this machine: the service with its Spark, a process that publishes, and one that reads. A
notification's latency is the time from the answer to the request that published its event until the reader has it.
The pairs that were received are compared with those of a `Matcher` before anything is told: none may be missing,
none may come twice.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.report import Bar, Figures, Report, Size, number, print_bars
from benchmarks.service_data import Data, data_of, events_of, keys
from benchmarks.service_host import Host, serving
from benchmarks.service_load import Received, Sent, Times, publish, read
from benchmarks.spark_data import check
from tamis.report import charts

_RATE, _P99_SECONDS = 5_000.0, 5.0
_PATIENCE_SECONDS = 120.0
"""For the last notification after the last request was due."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured.

    Attributes:
        subscriptions: That are live.
        rate: Events that are due in a second.
        seconds: For how long.
        request: Events of a request.
        warm: Events that are published before, and not timed.
        connections: Requests that may be under way at once.
    """

    subscriptions: int
    rate: float
    seconds: float
    request: int = 500
    warm: int = 20_000
    connections: int = 8

    @property
    def events(self) -> int:
        """That are timed."""
        return max(1, round(self.rate * self.seconds / self.request)) * self.request


SCALES: dict[Size, Scale] = {
    "smallest": Scale(2_000, 400.0, 2.0, request=50, warm=100, connections=2),
    "quick": Scale(10_000, 5_250.0, 8.0, warm=10_000),
    "full": Scale(100_000, 5_250.0, 30.0),
}


@dataclass(slots=True)
class _Outcome:
    """What is gathered while the benchmark runs."""

    figures: Figures = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def progress(self, what: str) -> None:
        """Tell what goes on, to whoever waits."""
        print(f"[{time.monotonic() - self.started:6.1f} s] {what}", file=sys.stderr, flush=True)

    def tell(self, title: str, value: float | str) -> None:
        """A figure, for the last line and for people."""
        self.figures[title] = number(value) if isinstance(value, float) else value
        print(f"{title}: {self.figures[title]}")


@dataclass(frozen=True, slots=True)
class Run:
    """What happened under load.

    Attributes:
        sent: The requests.
        received: The notifications, those of the events before included.
        cpu: Seconds of a processor by part.
        batches: Reports of the stream.
    """

    sent: Sent
    received: Received
    cpu: Mapping[str, float]
    batches: list[dict[str, Any]]


def run(
    size: Size, subscriptions: int | None = None, rate: float | None = None, seconds: float | None = None
) -> Report:
    """Measure.

    Args:
        size: How much; bars are judged at full size only.
        subscriptions: That are live, instead of what goes with the size.
        rate: Events that are due in a second, instead.
        seconds: For how long, instead.
    """
    given = {"subscriptions": subscriptions, "rate": rate, "seconds": seconds}
    changed: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    scale = replace(SCALES[size], **changed)
    outcome = _Outcome()
    outcome.progress(f"generating and matching {scale.subscriptions} subscriptions, {scale.events} events")
    data = data_of(scale.subscriptions, scale.warm + scale.events)
    with tempfile.TemporaryDirectory(prefix="tamis-service-") as folder:
        outcome.progress("starting the service")
        with serving(Path(folder)) as host:
            outcome.figures["ready after, s"] = number(time.monotonic() - outcome.started)
            _import(host, data, outcome)
            load = _load(host, data, scale, outcome)
            outcome.progress("stopping the service")
    outcome.progress("comparing pairs")
    found = np.sort(keys(load.received.events, load.received.subscriptions))
    check("the service", found, data.expected, lambda slot: str(data.workload.conditions[slot]))
    report = _report(data, scale, load, outcome, is_judged=size == "full" and not changed)
    print_bars(report)
    return report


def _import(host: Host, data: Data, outcome: _Outcome) -> None:
    described = json.dumps(data.workload.event_type.to_dict()).encode()
    host.ask("PUT", f"/v1/event-types/{data.event_type}", described)
    outcome.progress("importing subscriptions")
    began = time.monotonic()
    for body in data.imports():
        refusals = host.ask("POST", "/v1/subscriptions/import", body)["refusals"]
        if refusals:
            msg = f"the service refuses subscription {refusals[0]['id']}: {refusals[0]['detail']}"
            raise SystemExit(msg)
    outcome.figures["subscriptions imported in, s"] = number(time.monotonic() - began)


def _load(host: Host, data: Data, scale: Scale, outcome: _Outcome) -> Run:
    """Publish everything, and take all notifications."""
    path = f"/v1/events?event_type={data.event_type}"
    bodies = data.bodies(scale.warm, scale.warm + scale.events, scale.request)
    seconds = scale.request / scale.rate
    most_seconds = 2 * _PATIENCE_SECONDS + len(bodies) * seconds
    reading = (host.target, len(data.expected), most_seconds)
    publishing = (host.target, path, bodies, seconds, scale.connections)
    with _child(read, *reading) as (reader, reads), _child(publish, *publishing) as (publisher, publishes):
        _warm(host, data, scale, path, outcome)
        outcome.progress(f"publishing {scale.events} events, {scale.rate:g} a second")
        before = host.cpu_seconds()
        first = len(host.batches())
        publishes.send("begin")
        sent = _answer(publishes, publisher, most_seconds)
        if not isinstance(sent, Sent):
            msg = f"publishing failed: {sent}"
            raise SystemExit(msg)
        outcome.progress("waiting for the last notifications")
        _settled(host, _PATIENCE_SECONDS)
        after = host.cpu_seconds()
        received = _answer(reads, reader, most_seconds)
        assert isinstance(received, Received), "the reader ends with what it received"
        cpu = {name: after[name] - before.get(name, 0.0) for name in after}
        cpu |= {"publisher": sent.cpu_seconds, "reader": received.cpu_seconds}
        return Run(sent, received, cpu, host.batches()[first:])


def _warm(host: Host, data: Data, scale: Scale, path: str, outcome: _Outcome) -> None:
    """Publish some events before those that are timed: one, then the others in a few batches, the last alone."""
    outcome.progress(f"warming up with {scale.warm} events")
    ends = (0, 1, scale.warm // 2, scale.warm - 1, scale.warm)
    for first, last in itertools.pairwise(ends):
        began = time.monotonic()
        for body in data.bodies(first, last, scale.request):
            host.ask("POST", path, body)
        _settled(host, _PATIENCE_SECONDS)
        if last - first == 1:
            name = "first event" if first == 0 else f"event {last:,}"
            outcome.figures[f"{name} matched after, s"] = number(time.monotonic() - began)


def _settled(host: Host, most_seconds: float) -> None:
    """Wait until the stream is done with everything that was published."""
    deadline = time.monotonic() + most_seconds
    while time.monotonic() < deadline:
        for line in host.text("/metrics").splitlines():
            if line.startswith("tamis_waiting_events "):
                if float(line.split()[1]) == 0:
                    return
                break
        time.sleep(0.1)


@contextmanager
def _child(work: Any, *arguments: Any) -> Iterator[tuple[BaseProcess, Connection]]:
    """A process that does some work and has said that it is ready; it is gone afterwards."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(theirs, *arguments), daemon=True)
    process.start()
    theirs.close()
    try:
        _answer(ours, process, _PATIENCE_SECONDS)
        yield process, ours
    finally:
        process.join(1)
        if process.is_alive():
            process.kill()
            process.join()


def _answer(told: Connection, process: BaseProcess, most_seconds: float) -> Any:
    try:
        if told.poll(most_seconds):
            return told.recv()
    except EOFError:
        process.join(1)
        msg = f"{process.name} ended with {process.exitcode}"
        raise SystemExit(msg) from None
    msg = f"{process.name} says nothing for {most_seconds:.0f} s"
    raise SystemExit(msg)


def _report(data: Data, scale: Scale, load: Run, outcome: _Outcome, *, is_judged: bool) -> Report:
    sent, received, events = load.sent, load.received, scale.events
    if int(sent.accepted.sum()) != events:
        msg = f"the service took {int(sent.accepted.sum())} events, {events} were published"
        raise SystemExit(msg)
    rate = events / float(sent.answered.max() - sent.sent.min())
    timed = received.events >= scale.warm
    request = (received.events[timed] - scale.warm) // scale.request
    latencies = received.at[timed] - sent.answered[request]
    since_due = received.at[timed] - sent.due[request]
    expected = data.expected[data.pairs_before(scale.warm) :]
    family = f"{scale.subscriptions} subscriptions, {events} events in requests of {scale.request}"
    print(f"\n{family}; every notification came, none twice, as a Matcher has them")
    print(f"p50, p99 and greatest; {os.cpu_count()} processors")
    outcome.figures |= {"subscriptions": scale.subscriptions, "events": events, "due, events/s": scale.rate}
    outcome.tell("accepted, events/s", rate)
    outcome.tell("matches an event", len(expected) / events)
    outcome.tell("share of events that match", len(np.unique(events_of(expected))) / events)
    outcome.tell("accept to notification, s", _spread(latencies))
    outcome.tell("due to notification, s", _spread(since_due))
    outcome.tell("sent to answered, ms", _spread((sent.answered - sent.sent) * 1_000))
    outcome.tell("due to sent, ms", _spread((sent.sent - sent.due) * 1_000))
    for name, cpu_seconds in load.cpu.items():
        outcome.tell(f"CPU of {name}, us/event", cpu_seconds / events * 1e6)
    outcome.tell("CPU in all, us/event", sum(load.cpu.values()) / events * 1e6)
    full = [each for each in load.batches if each["events"]]
    outcome.tell("batches", len(full))
    for name in ("events", "seconds", "match_seconds", "commit_seconds"):
        outcome.tell(f"a batch: {name}", f"{number(median(each[name] for each in full))} (median)")
    bars = {
        "events accepted in a second": Bar(round(rate, 1), _RATE),
        "p99 from accept to notification, s": Bar(
            round(float(np.percentile(latencies, 99)), 3), _P99_SECONDS, at_most=True
        ),
    }
    outcome.figures["bars"] = "judged" if is_judged else "not judged: this is not the size that they are set for"
    shares = {"CPU": {name: cpu_seconds / events * 1e6 for name, cpu_seconds in load.cpu.items()}}
    drawing = charts.bars(family, "us of a processor an event", shares)
    return Report("service", outcome.figures, bars, is_judged, (drawing,))


def _spread(values: Times) -> str:
    if not len(values):
        return "nothing"
    return ", ".join(number(float(np.percentile(values, share))) for share in (50, 99, 100))
