"""The states of composite subscriptions, as the driver knows them: the names of files, never what is in them.

After each batch there is a record of the watermark and of the file of each partition. It is written before the
sink commits the batch, and under (query, batch). A batch that is done again begins from the record of the batch
before it, as the first time.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tamis.composite.open_matches import Bounds
from tamis.errors import TamisError
from tamis.quotas import KEPT_STATES
from tamis.segments.published import PARTS
from tamis.sinks.folder_commits import batch_name
from tamis.snapshot import Manifest
from tamis.snapshot.documents import seal, unseal
from tamis.snapshot.storage import open_storage
from tamis.spark.composite_events import CompositePlan
from tamis.spark.snapshot_ref import SnapshotRef
from tamis.spark.stream_task import REACHED, TAKEN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KIND, _FORMAT = "tamis.composite_state", 1
_MICROSECOND = timedelta(microseconds=1)


class CompositeError(TamisError):
    """The settings of composite subscriptions make no sense, or their state is not there."""


@dataclass(frozen=True, slots=True)
class CompositeSettings:
    """How a stream keeps what is open of composite subscriptions.

    Attributes:
        lateness: How far behind the latest event another may come; later ones are counted and set aside.
        partitions: Into how many files the state is split; fixed with the first batch of a query.
        most_per_key: Events that a subscription keeps of one key; one more is dropped and counted.
        most_per_subscription: Events that a subscription keeps of all keys.
        most_per_group: Events that the subscriptions of a group keep: of what ids have before the first slash.
        most_tries: Events that are tried to find the matches that one event ends.
        state: A folder that driver and workers reach; None for one in the state of the query.
    """

    lateness: timedelta = timedelta(0)
    partitions: int = 4
    most_per_key: int = 1000
    most_per_subscription: int = 1_000_000
    most_per_group: int = 10_000_000
    most_tries: int = 100_000
    state: str | None = None

    def __post_init__(self) -> None:
        if self.lateness < timedelta(0):
            msg = f"composite: lateness must not be negative, found {self.lateness}"
            raise CompositeError(msg)
        for name in ("partitions", "most_per_key", "most_per_subscription", "most_per_group", "most_tries"):
            if getattr(self, name) < 1:
                msg = f"composite: {name} must be 1 or more, found {getattr(self, name)}"
                raise CompositeError(msg)

    def bounds(self, partitions: int) -> Bounds:
        """The bounds of each partition: keys are spread evenly, so each has its share of a subscription's."""
        own, group = (-(-most // partitions) for most in (self.most_per_subscription, self.most_per_group))
        return Bounds(self.most_per_key, own, group, self.most_tries)


class CompositeStates:
    """Plans the state of each batch, and records it."""

    def __init__(self, settings: CompositeSettings, folder: str | os.PathLike[str]) -> None:
        """Nothing is touched yet; `folder` is where states are unless the settings say otherwise."""
        self.settings = settings
        self.url = os.path.abspath(folder) if settings.state is None else settings.state
        self._storage = open_storage(self.url)

    def plan(self, query: str, batch: int, manifest: Manifest, ref: SnapshotRef) -> CompositePlan | None:
        """What the tasks of a batch know; None if its version has no composite subscriptions, and nothing is open.

        Raises:
            CompositeError: The state of the batch before is not there.
        """
        _, before = self._before(query, batch)
        files = tuple(before["files"])
        if not manifest.extra.get(PARTS) and not any(files):
            return None
        return CompositePlan(
            self.url,
            replace(ref, parts=True),
            self.settings.bounds(len(files)),
            self.settings.lateness // _MICROSECOND,
            before["watermark_us"],
            files,
            batch_name(query, batch),
        )

    def commit(self, query: str, batch: int, plan: CompositePlan, told: pa.Table) -> None:
        """Record the state after a batch, from the rows of the kind `STATE`; before the sink commits it."""
        after, before = self._before(query, batch)
        files, watermark = list(before["files"]), before["watermark_us"]
        for row in told["reason"].to_pylist():
            found = json.loads(row)
            files[found["partition"]] = found["file"]
            watermark = found["watermark_us"]
        content = {"after": after, "watermark_us": watermark, "files": files}
        self._storage.write(f"{batch_name(query, batch)}.json", [seal(_KIND, _FORMAT, content)])
        self._forget(query, batch)

    def _forget(self, query: str, batch: int) -> None:
        """Remove old records, and files of this query that no record names: what failed attempts left, too."""
        records = self._batches(query)
        for old in records[:-KEPT_STATES]:
            self._storage.remove(f"{batch_name(query, old)}.json")
        named = {name for each in records[-KEPT_STATES:] for name in self._read(query, each)["files"]}
        first, _, _ = batch_name(query, 0).rpartition(".")
        for each in self._storage.listing(""):
            own = each.name.split(".")
            if each.name.endswith(".arrow") and own[0] == first and int(own[1]) < batch and each.name not in named:
                self._storage.remove(each.name)

    def _before(self, query: str, batch: int) -> tuple[int | None, dict[str, Any]]:
        """The batch with a record before this one, and what it says."""
        batches = self._batches(query)
        earlier = [each for each in batches if each < batch]
        if earlier:
            return earlier[-1], self._read(query, earlier[-1])
        if not batches or (batch in batches and self._read(query, batch)["after"] is None):
            return None, {"watermark_us": None, "files": [""] * self.settings.partitions}
        where = self._storage.where(f"{batch_name(query, batches[0])}.json")
        msg = f"composite: no state from before batch {batch} of query {query}; the oldest is {where}"
        raise CompositeError(msg)

    def _batches(self, query: str) -> list[int]:
        first, _, _ = batch_name(query, 0).rpartition(".")
        names = [each.name.split(".") for each in self._storage.listing("")]
        return sorted(int(each[1]) for each in names if len(each) == 3 and each[0] == first and each[2] == "json")

    def _read(self, query: str, batch: int) -> dict[str, Any]:
        name = f"{batch_name(query, batch)}.json"
        return dict(unseal(self._storage.read(name), _KIND, _FORMAT, self._storage.where(name)))


def newest_files(folder: str | os.PathLike[str]) -> list[str]:
    """The files of the state after the newest batch, for whoever looks at it beside a running query."""
    storage = open_storage(folder)
    records = [each for each in storage.listing("") if each.name.endswith(".json")]
    if not records:
        return []
    newest = max(records, key=lambda each: (each.modified, each.name)).name
    return [*unseal(storage.read(newest), _KIND, _FORMAT, storage.where(newest))["files"]]


def by_partition(rows: DataFrame, partitions: int) -> DataFrame:
    """The rows of tasks, those for a partition of the state in the task of its number."""
    from pyspark.sql import functions as F

    is_own = F.col("row_kind").isin(TAKEN, REACHED)
    anywhere = F.pmod(F.xxhash64("event_id"), F.lit(partitions))
    return rows.repartitionById(partitions, F.when(is_own, F.col("priority")).otherwise(anywhere).cast("int"))
