"""What the contestants of `spark` read and write: events and bounds in Parquet, a snapshot, and pairs.

Pairs are compared as numbers: `e12` and `s7` are event 12 and subscription 7, whoever wrote them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tamis import Matcher
from tamis.arrays import I64
from tamis.lab.measuring.cases import SEED
from tamis.lab.workloads import Workload, generate
from tamis.lab.workloads.ranges import DOMAIN

FAMILY: dict[str, Any] = {"name": "ranges", "width": 0.3}
"""Ten ranges a condition, each of which holds for three events in ten: an event satisfies 6 of a million."""
EVENT_ID = "id"
ATTRIBUTES = tuple(f"a{number}" for number in range(20))
_FILES = 8
_RANGE = re.compile(r"a(\d+) BETWEEN (\d+) AND (\d+)")
_SHIFT = np.int64(1 << 32)

Keys = I64


@dataclass(frozen=True, slots=True)
class Data:
    """Subscriptions and events of a contest, and where they are.

    Attributes:
        workload: Both, in memory.
        folder: With everything that contestants read and write.
    """

    workload: Workload
    folder: Path

    @property
    def subscriptions(self) -> int:
        """How many there are."""
        return len(self.workload.ids)

    @property
    def events(self) -> int:
        """How many there are."""
        return int(self.workload.events.num_rows)

    @property
    def snapshot(self) -> Path:
        """The folder of the published subscriptions."""
        return self.folder / "snapshot"

    def event_files(self, events: int | None = None, files: int = _FILES) -> Path:
        """A folder of Parquet files with the first so many events, all by default."""
        count = self.events if events is None else events
        place = self.folder / f"events-{count}"
        if not place.exists():
            place.mkdir()
            for number in range(files):
                first, last = count * number // files, count * (number + 1) // files
                pq.write_table(
                    self.workload.events.slice(first, last - first), place / f"part-{number:02}.parquet"
                )
        return place

    def bounds(self, subscriptions: int) -> Path:
        """A Parquet file with `id`, and `low_x` and `high_x` for every attribute x, of the first subscriptions."""
        place = self.folder / f"bounds-{subscriptions}.parquet"
        if not place.exists():
            lows = np.zeros((subscriptions, len(ATTRIBUTES)), np.int32)
            highs = np.full_like(lows, DOMAIN - 1)
            for row, condition in enumerate(self.workload.conditions.slice(0, subscriptions).to_pylist()):
                for attribute, low, high in _RANGE.findall(condition):
                    lows[row, int(attribute)], highs[row, int(attribute)] = int(low), int(high)
            columns = {"id": self.workload.ids.slice(0, subscriptions)}
            for number, name in enumerate(ATTRIBUTES):
                columns |= {f"low_{name}": lows[:, number], f"high_{name}": highs[:, number]}
            pq.write_table(pa.table(columns), place)
        return place


def data_of(subscriptions: int, events: int, folder: Path) -> Data:
    """Generate the contest and publish its subscriptions."""
    folder.mkdir(parents=True)
    data = Data(generate(**FAMILY, subscriptions=subscriptions, events=events, seed=SEED), folder)
    matcher = Matcher(data.workload.event_type)
    refused = matcher.add_many(pa.table({"id": data.workload.ids, "condition": data.workload.conditions}))
    if refused:
        msg = f"subscription {refused[0].id} is refused: {refused[0].error}"
        raise SystemExit(msg)
    matcher.publish(data.snapshot)
    return data


def keys_of(written: Path) -> Keys:
    """The pairs in a folder of Parquet files, in order."""
    table = pq.read_table(written, columns=["event_id", "subscription_id"])
    events, subscriptions = (
        pc.cast(pc.utf8_slice_codeunits(table[name], 1), pa.int64()).to_numpy()
        for name in ("event_id", "subscription_id")
    )
    return np.sort(events * _SHIFT + subscriptions)


def first_of(keys: Keys, events: int, subscriptions: int) -> Keys:
    """The pairs of the first events and subscriptions."""
    return keys[(keys // _SHIFT < events) & (keys % _SHIFT < subscriptions)]


def check(name: str, found: Keys, expected: Keys, condition: Callable[[int], str]) -> None:
    """Stop if a contestant found something else.

    Raises:
        SystemExit: With a pair that is missing or too many.
    """
    wrong = np.setxor1d(found, expected)
    if len(wrong) or len(found) != len(expected):
        what = "finds a pair twice"
        if len(wrong):
            event, subscription = divmod(int(wrong[0]), int(_SHIFT))
            verb = "finds" if wrong[0] in found else "does not find"
            what = f"{verb} event {event} with subscription {subscription}: {condition(subscription)}"
        msg = f"{name} has {len(found)} pairs, {len(expected)} were expected; {len(wrong)} differ; it {what}"
        raise SystemExit(msg)
