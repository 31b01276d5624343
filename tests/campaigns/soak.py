"""A service, and a pipeline beside it, under steady load for hours: nothing grows that should not.

Events are published, plain and composite subscriptions come and go, and a fifth of them is delivered to a receiver
that fails now and then.

Memory, open files and threads of each process, rows of each table and the sizes of files and folders are sampled.
A series grows if a line through its second half rises by more than a tenth of its mean and more than a floor of
its kind: what fills up first and then stays is flat. What is kept for days is kept for a quarter of the time here.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
from sqlalchemy import text

from tamis.report import charts
from tamis.service.feed import FeedReader
from tamis.service.inbox import Inbox
from tamis.service.settings import ServiceSettings
from tamis.service.stream import STREAM
from tamis.store import Store
from tests.campaigns.outcome import Outcome
from tests.campaigns.processes import Process, family
from tests.campaigns.service import Life, backend, until
from tests.campaigns.service_load import Load
from tests.campaigns.soak_pipeline import Pipeline, running
from tests.campaigns.soak_receiver import receiving

Points = list[tuple[float, float]]
SAMPLES = 240
JUDGED_MINUTES = 90.0
"""A shorter soak reports what grows, and does not mind: versions of subscriptions stay for an hour."""
_MIB = 1 << 20
_LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of series: its unit, what a unit of it is, and how much growth is none."""

    unit: str
    scale: float
    floor: float


KINDS = {
    "memory": Kind("MiB", _MIB, 24.0),
    "open files": Kind("files", 1.0, 8.0),
    "threads": Kind("threads", 1.0, 8.0),
    "size": Kind("MiB", _MIB, 4.0),
    "rows": Kind("rows", 1.0, 2_000.0),
    "files in": Kind("files", 1.0, 200.0),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a series does.

    Attributes:
        first: The first value.
        last: The last one.
        most: The largest.
        per_hour: How much a line through the second half rises in an hour.
        is_growing: Is that too much?
    """

    first: float
    last: float
    most: float
    per_hour: float
    is_growing: bool

    def __str__(self) -> str:
        state = "GROWING" if self.is_growing else "flat"
        return (
            f"{state}: {self.first:,.1f} → {self.last:,.1f}, most {self.most:,.1f}, {self.per_hour:+,.1f} an hour"
        )


def verdict(points: Points, floor: float) -> Verdict:
    """Does a series of (seconds, value) grow?"""
    quarter = max(1, len(points) // 4)
    half = points[-2 * quarter :]
    values = [value for _, value in points]
    slope = statistics.linear_regression(*zip(*half, strict=True)).slope if len(half) > 1 else 0.0
    rise = slope * (half[-1][0] - half[0][0])
    mean = statistics.fmean(value for _, value in half)
    # What is cut now and then rises or falls by chance; its peaks stay where they are.
    peaks = max(values[-quarter:]) - max(values[-2 * quarter : -quarter], default=0.0)
    is_growing = rise > max(floor, 0.1 * mean) and peaks > rise / 4
    return Verdict(values[0], values[-1], max(values), slope * 3_600, is_growing)


class Sampler:
    """Samples a service, and a pipeline beside it.

    Attributes:
        series: By kind and what it is of.
    """

    def __init__(
        self,
        settings: ServiceSettings,
        life: Life,
        pipeline: Pipeline,
        tables: Callable[[], dict[str, int]],
    ) -> None:
        self.series: dict[tuple[str, str], Points] = {}
        self._settings = settings
        self._life = life
        self._pipeline = pipeline
        self._tables = tables
        self._began = time.monotonic()

    def sample(self) -> None:
        """Take one of everything."""
        at = time.monotonic() - self._began
        found: dict[tuple[str, str], float] = {}
        for root, whose in ((self._life.process.pid, "stream"), (self._pipeline.process.pid, "pipeline")):
            for process in family(root):
                for kind, value in _of_process(process.pid).items():
                    key = (kind, _role(process, self._life.process.pid, whose))
                    found[key] = found.get(key, 0.0) + value
        folder, beside = self._settings.folder, self._pipeline.folder
        for parent, whose in ((folder, ""), (folder / STREAM, ""), (beside, "pipeline's ")):
            for path in parent.iterdir():
                if path.name == STREAM:
                    continue
                name = whose + path.name.removesuffix("-wal").removesuffix("-shm")
                sizes = [_size(each) for each in (_entries(path) if path.is_dir() else [path])]
                found["size", name] = found.get(("size", name), 0.0) + sum(sizes)
                if path.is_dir():
                    found["files in", name] = len(sizes)
        found |= {("rows", name): rows for name, rows in self._tables().items()}
        for key, value in found.items():
            self.series.setdefault(key, []).append((at, value / KINDS[key[0]].scale))

    def verdicts(self) -> dict[str, Verdict]:
        """Of each series that was there for at least half of the time."""
        most = max(len(points) for points in self.series.values())
        return {
            f"{kind}, {name} ({KINDS[kind].unit})": verdict(points, KINDS[kind].floor)
            for (kind, name), points in sorted(self.series.items())
            if len(points) > most / 2
        }

    def drawings(self) -> list[str]:
        """A chart for each kind."""
        found = []
        for kind, each in KINDS.items():
            chosen = {name: points for (of, name), points in sorted(self.series.items()) if of == kind}
            found += [charts.timeline(f"{kind}: {name}", each.unit, {name: chosen[name]}) for name in chosen]
        return found


def _of_process(pid: int) -> dict[str, float]:
    found: dict[str, float] = {}
    with suppress(OSError):  # it may just have ended
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        found["memory"] = int(status["VmRSS"].split()[0]) * 1024.0
        found["threads"] = float(status["Threads"])
        found["open files"] = float(len(os.listdir(f"/proc/{pid}/fd")))
    return found


def _role(process: Process, service: int, whose: str) -> str:
    if process.pid == service:
        return "service"
    if process.name == "java":
        return f"{whose}'s Java"
    return f"{whose}'s workers" if process.is_python_worker else f"{whose}'s driver"


def _entries(folder: Path) -> list[Path]:
    """Everything below a folder; what is deleted meanwhile is left out, as `Path.rglob` would not."""
    return [Path(place, name) for place, folders, files in os.walk(folder) for name in (*folders, *files)]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except FileNotFoundError:
        return 0


def run(
    outcome: Outcome,
    folder: Path,
    *,
    minutes: float,
    name: str = "sqlite",
    rate: float = 100.0,
    samples: int = SAMPLES,
) -> None:
    """Let a service run under load for so long.

    Args:
        outcome: What becomes of it.
        folder: Empty.
        minutes: How long.
        name: The back end.
        rate: Events that are published a second.
        samples: How many to take.
    """
    days = minutes / 4 / 1_440
    with backend(name, folder) as given, ExitStack() as stack:
        settings = replace(
            given,
            spark=given.spark[1:],
            webhook_networks=("127.0.0.1/32",),
            webhook_attempts=3,
            webhook_base_seconds=0.05,
            keep_events_days=days,
            keep_feed_days=days,
            keep_attempts_days=days,
            keep_changes_days=days,
        )
        settings.folder.mkdir()
        life = Life(settings, folder / "log")
        stack.callback(life.end)
        until(life.listens, life.said)
        inbox, reader = Inbox(settings.database("inbox")), FeedReader(settings.database("feed"))
        stack.callback(inbox.close)
        stack.callback(reader.close)

        store = stack.enter_context(Store.open(settings.database("store")))

        def tables() -> dict[str, int]:
            found = {}
            for connect, names in (
                (inbox._database.reading, ("tamis_events",)),
                (
                    reader.database.reading,
                    (
                        "tamis_feed",
                        "tamis_feed_commits",
                        "tamis_feed_dead_letters",
                        "tamis_attempts",
                        "tamis_webhooks",
                        "tamis_failed",
                    ),
                ),
                (store._database.reading, ("tamis_changes", "tamis_subscriptions", "tamis_tickets")),
            ):
                with connect() as connection:
                    for each in names:
                        found[each] = connection.execute(text(f"SELECT count(*) FROM {each}")).scalar_one()
            return found | pipeline.rows()

        token = (settings.folder / "token").read_text().strip()
        hook = stack.enter_context(receiving())
        load = Load(f"http://127.0.0.1:{settings.port}", token, rate, outcome.seed, composites=0.2, webhook=hook)
        load.start()
        stack.callback(load.end)
        until(lambda: reader.end() > 0, life.said)
        beside = folder / "beside"
        beside.mkdir()
        pipeline = stack.enter_context(
            running(beside, kept_seconds=minutes * 15, rate=rate / 2, seed=outcome.seed)
        )
        until(lambda: pipeline.batches() > 0, pipeline.said)
        over = threading.Event()
        looking = threading.Thread(target=_look_at_pages, args=(load.address, token, over))
        looking.start()
        stack.callback(looking.join)
        stack.callback(over.set)
        sampler = Sampler(settings, life, pipeline, tables)
        for number in range(samples):
            if outcome.stop.wait(minutes * 60 / samples):
                break
            assert life.process.poll() is None, f"the service ended: {life.said()}"
            assert pipeline.process.poll() is None, f"the pipeline ended: {pipeline.said()}"
            sampler.sample()
            if number % max(1, samples // 24) == 0:
                waiting = inbox.waiting()
                outcome.say(
                    f"sample {number + 1} of {samples}; {load.answered_events():,} events, {waiting:,} wait"
                )
        outcome.figures |= {
            "minutes": minutes,
            "back end": name,
            "events accepted": load.answered_events(),
            "events waiting at the end": inbox.waiting(),
            "answers by status": {str(status): count for status, count in sorted(load.statuses.items())},
            "samples": samples,
            "series": {each: str(found) for each, found in sampler.verdicts().items()},
        }
        outcome.drawings += sampler.drawings()
        growing = [each for each, found in sampler.verdicts().items() if found.is_growing]
        outcome.figures["growing"] = growing
        if minutes >= JUDGED_MINUTES:
            for each in growing:
                outcome.violate(f"{each} grows: {sampler.verdicts()[each]}")


def _look_at_pages(address: str, token: str, over: threading.Event) -> None:
    """What people and programs look at while a service runs."""
    paths: tuple[tuple[str, dict[str, Any]], ...] = (
        ("/v1/notifications", {"limit": 100}),
        ("/metrics", {}),
        ("/", {}),
        ("/v1/events", {"limit": 10}),
    )
    with httpx2.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
        while not over.wait(_LOOK_SECONDS):
            for path, parameters in paths:
                client.get(path, params=parameters)
