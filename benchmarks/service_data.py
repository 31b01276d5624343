"""What `service` subscribes to and publishes, and the notifications that must come of it.

Pairs are numbers, as in `spark_data`: event `e12` and subscription `s7` are 12 and 7.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.spark_data import Keys
from tamis import Matcher
from tamis.arrays import I64
from tamis.lab.measuring.cases import SEED
from tamis.lab.workloads import Workload, generate
from tamis.lab.workloads.files import event_lines

FAMILY: dict[str, Any] = {"name": "auction", "classes": (1.0, 1.0, 0.1), "auctions_per_book": 10.0}
"""Book auctions, most subscriptions to one of 14,000 titles, one in twenty to a category or an author."""
_SHIFT = np.int64(1 << 32)
_IMPORTED = 10_000

Numbers = I64


@dataclass(frozen=True, slots=True)
class Data:
    """Subscriptions, events, and which belong together.

    Attributes:
        workload: Subscriptions and events.
        expected: The pairs that a `Matcher` of this process finds, in order.
    """

    workload: Workload
    expected: Keys

    @property
    def event_type(self) -> str:
        """The name of the events' type."""
        return self.workload.event_type.name

    def imports(self) -> Iterator[bytes]:
        """Subscriptions as the bodies of requests to import them."""
        ids, conditions = self.workload.ids.to_pylist(), self.workload.conditions.to_pylist()
        for start in range(0, len(ids), _IMPORTED):
            some = zip(ids[start : start + _IMPORTED], conditions[start : start + _IMPORTED], strict=True)
            lines = [
                json.dumps({"id": id, "condition": condition, "event_type": self.event_type})
                for id, condition in some
            ]
            yield "\n".join(lines).encode()

    def bodies(self, first: int, last: int, events: int) -> list[bytes]:
        """Events from one number to before another as the bodies of requests, so many in each."""
        lines = list(event_lines(self.workload.events.slice(first, last - first)))
        return ["".join(lines[start : start + events]).encode() for start in range(0, len(lines), events)]

    def pairs_before(self, event: int) -> int:
        """How many pairs the events before this one have."""
        return int(np.searchsorted(self.expected, event * _SHIFT))


def data_of(subscriptions: int, events: int) -> Data:
    """Generate the workload and match it.

    Raises:
        SystemExit: A condition is refused.
    """
    workload = generate(**FAMILY, subscriptions=subscriptions, events=events, seed=SEED)
    matcher = Matcher(workload.event_type)
    refused = matcher.add_many(pa.table({"id": workload.ids, "condition": workload.conditions}))
    if refused:
        msg = f"subscription {refused[0].id} is refused: {refused[0].error}"
        raise SystemExit(msg)
    pairs = matcher.match_batch(workload.events, event_id="id", sort=None)
    event, subscription = (
        pc.cast(pc.utf8_slice_codeunits(pairs[name], 1), pa.int64()).to_numpy()
        for name in ("event_id", "subscription_id")
    )
    return Data(workload, np.sort(keys(event, subscription)))


def keys(events: Numbers, subscriptions: Numbers) -> Keys:
    """Pairs as numbers."""
    return events * _SHIFT + subscriptions


def events_of(pairs: Keys) -> Numbers:
    """The events of pairs."""
    return pairs // _SHIFT
