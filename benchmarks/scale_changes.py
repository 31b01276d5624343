"""Subscriptions that change while a stream matches: a process that publishes, and when each change was seen.

The publisher opens a snapshot, applies the changes that are due, half of them removals and half of them additions,
publishes, and does so again. It counts what the system read and wrote for it, and the pages that it touched: a map
is read without a call, so its bytes are in no other count. Where these grow with the subscriptions, something
happens for all of them with every change.
"""

from __future__ import annotations

import json
import resource
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from tamis.lab.workloads.draws import BLOCK_CONDITIONS
from tamis.lab.workloads.registry import generator
from tamis.matchers import Matchers

_IO = Path("/proc/self/io")
_PAGE_BYTES = resource.getpagesize()
_LEAST_SECONDS = 0.25
"""Between two versions: workers open every one that a batch is pinned to."""


@dataclass(frozen=True, slots=True)
class Published:
    """A version and what it took.

    Attributes:
        version: Of the snapshot.
        first: The number of its first change.
        changes: How many it has.
        at: When it was there, in seconds since 1970.
        seconds: From taking the changes until it was there.
        read_bytes: By calls of the system.
        written_bytes: By calls of the system.
        touched_bytes: Of pages that the process had not touched before, or whose content it had lost.
        merged: Were segments merged for it?
    """

    version: int
    first: int
    changes: int
    at: float
    seconds: float
    read_bytes: int
    written_bytes: int
    touched_bytes: int
    merged: bool


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """What a publisher does.

    Attributes:
        snapshot: That it changes.
        family: Of the workload whose conditions are added.
        subscriptions: That the snapshot holds, which are removed from s0 on.
        rate: Changes a second.
        seconds: For how long.
        log: The file that says what was published, a line of JSON each.
    """

    snapshot: str
    family: str
    subscriptions: int
    rate: float
    seconds: float
    log: str


def publish_changes(plan: ChangePlan) -> None:
    """In a process of its own: change and publish until the time is over, and write down what it took."""
    matchers = Matchers.open(plan.snapshot)
    matcher = matchers.only
    total = int(plan.rate * plan.seconds)
    made = generator(plan.family, subscriptions=max(plan.subscriptions, total), events=0, seed=97)
    blocks = range(-(-total // (2 * BLOCK_CONDITIONS)))
    new = pa.concat_tables([made.conditions(block) for block in blocks])["condition"]
    order = np.random.default_rng(5).permutation(plan.subscriptions)
    matcher.remove_many(["nothing"])  # whatever is due before the first change
    manifest = matchers.publish(plan.snapshot)
    done = 0
    with Path(plan.log).open("w", encoding="utf-8") as log:
        start = time.time()
        log.write(json.dumps({"start": start, "version": manifest.version}) + "\n")
        while done < total:
            begun = time.time()
            due = min(total, int((begun - start) * plan.rate))
            if due == done:
                time.sleep(_LEAST_SECONDS)
                continue
            before = _counters()
            changes = np.arange(done, due)
            removed, added = changes[changes % 2 == 0] // 2, changes[changes % 2 == 1] // 2
            segments = len(manifest.entries)
            matcher.remove_many([f"s{order[each % len(order)]}" for each in removed.tolist()])
            if len(added):
                ids = pa.array([f"new{each}" for each in added.tolist()])
                refused = matcher.add_many(pa.table({"id": ids, "condition": new.take(pa.array(added))}))
                assert not refused, refused[0]
            manifest = matchers.publish(plan.snapshot)
            now = time.time()
            read, written, touched = (after - first for after, first in zip(_counters(), before, strict=True))
            is_merged = len(manifest.entries) < segments + (1 if len(added) else 0)
            row = Published(
                manifest.version, done, due - done, now, now - begun, read, written, touched, is_merged
            )
            log.write(json.dumps(asdict(row)) + "\n")
            log.flush()
            done = due
            time.sleep(max(0.0, _LEAST_SECONDS - (time.time() - begun)))


def _counters() -> tuple[int, int, int]:
    """Bytes that this process has read, written and touched so far."""
    fields = dict(line.split(": ") for line in _IO.read_text().splitlines())
    used = resource.getrusage(resource.RUSAGE_SELF)
    return int(fields["rchar"]), int(fields["wchar"]), (used.ru_minflt + used.ru_majflt) * _PAGE_BYTES


def read_log(log: Path) -> tuple[float, list[Published]]:
    """When the publisher began, and what it published."""
    first, *rest = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    return first["start"], [Published(**each) for each in rest]


def seconds_until_seen(
    published: list[Published], start: float, rate: float, batches: list[tuple[int, float]]
) -> list[float]:
    """Of each change, from the moment when it was due until the first batch with it was committed.

    Args:
        published: The versions, in order.
        start: When the first change was due.
        rate: Changes a second.
        batches: The version of each batch, and when it was committed; in order.

    >>> one = Published(2, 0, 2, 10.5, 0.1, 0, 0, 0, False)
    >>> seconds_until_seen([one], 10.0, 4.0, [(1, 10.6), (2, 11.0), (2, 11.5)])
    [1.0, 0.75]
    """
    found: list[float] = []
    place = 0
    for each in published:
        while place < len(batches) and batches[place][0] < each.version:
            place += 1
        if place == len(batches):
            break
        due = start + np.arange(each.first, each.first + each.changes) / rate
        found += (batches[place][1] - due).tolist()
    return found
