"""A snapshot partitioned into shards, with the routing entries that lead events to them.

Every segment of a version is split: each shard gets the subscriptions assigned to it, unchanged, and the routing
table gets generalised copies of them, each with its shard. An event visits the shards whose entries admit it and
is matched there with the exact subscriptions. So an assignment may cost visits, never a match. It is published
as a snapshot of its own beside the original one, and workers map it like any other snapshot.

A segment is split once. Versions that share the segment share the split, and only its tombstones are computed
again. Entries of removed subscriptions stay until their segment is merged into another, so an event may visit a
shard for a subscription that is gone.

A shard that has grown beyond `Routing.shard_limit` is split in two when the next version is assigned: the parts of
that shard are split, the entries of their event types made again, and everything else stays as it is. Whoever
matches gets one more shard with that version, and has nothing to stop for.
"""

from __future__ import annotations

import logging
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tamis.arrays import I32, I64, U64
from tamis.engines import ENGINES, MAPPED_ENGINE
from tamis.engines.base import Index
from tamis.engines.forest import Forest, forest_of
from tamis.engines.forest.join import join_forests
from tamis.errors import SnapshotError, TamisError
from tamis.events.batch import EventBatch
from tamis.formulas.formula import Formula
from tamis.frames import BatchFrame
from tamis.routing.access_predicates import find_access_predicates
from tamis.routing.assignment import SLACK, ShardAssigner
from tamis.routing.decayed_events import HALF_LIFE, DecayedEvents, learn_statistics
from tamis.routing.entries import DIGITS, entry_part
from tamis.routing.generalisation import COMMON, Generalisation, generalise, known_measures
from tamis.routing.stored_bytes import SEGMENT_BYTES
from tamis.routing.tenancy import TenantShards, group_by_tenant
from tamis.segments.files import open_segment, store_segment
from tamis.segments.merge import merge_slots
from tamis.segments.segment import LiveSegment
from tamis.snapshot import Manifest, SnapshotPart, Snapshots
from tamis.statistics import Statistics
from tamis.urls import without_secrets

BUDGET = 16 << 20
"""Default for the bytes of all entries."""
SAMPLE_ROWS = 4_096
"""Default for the events of a type by which similarity is measured."""
_RESERVE = 0.125
"""The share of the budget that the first assignment leaves to later ones."""
_ATTEMPTS = 5
_NO_SLOTS = np.empty(0, np.int32)
_log = logging.getLogger("tamis")
_EXTRA_KEY = "dealt"
"""Of an assignment in a manifest; part of the file format."""


@dataclass(frozen=True, slots=True)
class Routing:
    """How subscriptions are assigned to shards, and how exact the routing entries are.

    Attributes:
        budget: Bytes that the segments of all entries may take: subscriptions are generalised until they take no
            more; what cannot be pruned is widened, in the end to TRUE. The more, the fewer visits are in vain, and
            the longer it takes to route. A budget that cannot be kept is a warning.
        measure: What is generalised first: "common" deletes whole attributes, beginning with those that
            distinguish many subscriptions and few events; the names of `tamis.routing.pruning.MEASURES` prune
            operand by operand.
        merging: Merge subscriptions that differ only in constants first, as far as the budget asks for: bounds are
            replaced by wider ones, and values become lists.
        by_similarity: Assign similar subscriptions to the same shard; if not, assign by a hash of the id.
        by_tenant: Keep the subscriptions of an owner in as few shards as hold them, by similarity within these:
            for owners that have events of their own, as the tenants of a service.
        slack: The share by which a shard may have more subscriptions than the average.
        sample: Events of a type by which similarity is measured; 0 to use conditions and statistics alone.
        shard_limit: Subscriptions that a shard may have. There are as many shards as that needs, at least those
            asked for, and one that grows beyond it is split in two; None to keep their number.
        adapts: Look for the budget, at most `budget`, with which an event costs least, by measured processor time
            and visits in vain; of streams only.
    """

    budget: int = BUDGET
    measure: str = COMMON
    by_similarity: bool = True
    slack: float = SLACK
    sample: int = SAMPLE_ROWS
    by_tenant: bool = False
    adapts: bool = False
    shard_limit: int | None = None
    merging: bool = False

    def __post_init__(self) -> None:
        if self.measure not in known_measures():
            msg = f"there is no measure {self.measure!r}; known are {', '.join(known_measures())}"
            raise TamisError(msg)
        if self.budget < 0 or self.slack < 0 or self.sample < 0:
            msg = f"expected a budget, a slack and a sample of 0 or more, found {self}"
            raise TamisError(msg)
        if self.shard_limit is not None and self.shard_limit < 1:
            msg = f"expected a shard to have room for 1 subscription or more, found {self.shard_limit}"
            raise TamisError(msg)


class ShardAssignment(NamedTuple):
    """A version of a snapshot on its shards.

    Attributes:
        url: The snapshot with the shards, as workers reach it.
        version: Of the snapshot with the shards.
        of: The version of the original snapshot.
        shards: The names of the segments of each shard; a shard may have none.
        routes: The names of the segments with the routing entries.
        entry_bytes: Of these segments.
        budget: What they were to take at most; None if that is not known.
    """

    url: str
    version: int
    of: int
    shards: tuple[frozenset[str], ...]
    routes: frozenset[str]
    entry_bytes: int = 0
    budget: int | None = None

    @property
    def is_over_budget(self) -> bool:
        """Do the entries take more than they should?"""
        return self.budget is not None and self.entry_bytes > self.budget


def read_assignment(manifest: Manifest, url: str) -> ShardAssignment:
    """The assignment that a version of a snapshot holds.

    Raises:
        SnapshotError: It holds none.
    """
    try:
        stored = manifest.extra[_EXTRA_KEY]
        shards = tuple(frozenset(names) for names in stored["shards"])
        routes = frozenset(stored["routes"])
        taken = sum(entry.bytes for entry in manifest.entries if entry.segment in routes)
        return ShardAssignment(
            url, manifest.version, int(stored["of"]), shards, routes, taken, stored.get("budget")
        )
    except (KeyError, TypeError, ValueError) as error:
        raise SnapshotError(
            without_secrets(url), "its subscriptions are not assigned to shards", "foreign"
        ) from error


@dataclass(frozen=True, slots=True)
class AssignmentSummary:
    """The sizes of an assignment.

    Attributes:
        url: The snapshot with the shards.
        version: Of the snapshot with the shards.
        of: The version of the original snapshot.
        subscriptions: How many each shard has.
        entries: How many routing entries there are.
        entry_bytes: Of the segments that hold them.
        budget: What these were to take at most; None if that is not known.
    """

    url: str
    version: int
    of: int
    subscriptions: list[int]
    entries: int
    entry_bytes: int
    budget: int | None = None


def summarise(assignment: ShardAssignment) -> AssignmentSummary:
    """The sizes of an assignment."""
    snapshots = Snapshots(assignment.url)
    living = {entry.segment: entry.slots - entry.dead for entry in snapshots.manifest(assignment.version).entries}
    return AssignmentSummary(
        assignment.url,
        assignment.version,
        assignment.of,
        [sum(living[name] for name in names) for names in assignment.shards],
        sum(living[name] for name in assignment.routes),
        assignment.entry_bytes,
        assignment.budget,
    )


class _SegmentSplit(NamedTuple):
    """A segment split by shard: the segments of each shard, and the routing entries.

    Segments that were assigned together share their entries.

    Attributes:
        event_type: Its name.
        assigned: int32[slots], the shard of each slot.
        places: int32[slots], the slot in the part of that shard.
        parts: By shard.
        routes: The entries.
    """

    event_type: str
    assigned: I32
    places: I32
    parts: dict[int, SnapshotPart]
    routes: SnapshotPart | None

    def with_parts(
        self, segment: LiveSegment, shards: Sequence[int], build: Callable[[Forest], Index]
    ) -> _SegmentSplit:
        """The same split with the parts of these shards made from the segment."""
        parts, places = dict(self.parts), self.places.copy()
        for shard in shards:
            slots = np.flatnonzero(self.assigned == shard)
            parts.pop(shard, None)
            if len(slots):
                stored = store_segment(merge_slots([segment], [slots], build))
                parts[shard] = SnapshotPart(stored, len(slots), event_type=self.event_type)
            places[slots] = np.arange(len(slots))
        return self._replace(places=places, parts=parts)

    def use_published(self, target: Snapshots) -> _SegmentSplit:
        """The same split with the published segments, so that nothing stays in memory."""

        def published(part: SnapshotPart) -> SnapshotPart:
            return replace(part, segment=target.segment(part.segment.name))

        routes = None if self.routes is None else published(self.routes)
        return self._replace(parts={shard: published(part) for shard, part in self.parts.items()}, routes=routes)

    def tombstones(self, dead: I64) -> dict[int, I32]:
        """The tombstones of each part, given those of the whole segment; takes time for these only."""
        shards, places = self.assigned[dead], self.places[dead]
        return {shard: np.sort(places[shards == shard]) for shard in np.unique(shards).tolist()}


class ShardAssignments:
    """Assigns the versions of a snapshot to shards; several threads may call it."""

    def __init__(self, url: str, shards: int, routing: Routing | None = None, place: str | None = None) -> None:
        """Prepare to assign.

        Args:
            url: The snapshot, as workers reach it.
            shards: How many there are.
            routing: How subscriptions are assigned and generalised.
            place: Where to publish assignments; by default beside the snapshot.
        """
        if not 1 <= shards < 10**DIGITS:
            msg = f"expected from 1 to {10**DIGITS - 1} shards, found {shards}"
            raise TamisError(msg)
        self.url = place or f"{url.rstrip('/')}.shards"
        self.routing = routing or Routing()
        self._base, self._target = Snapshots(url), Snapshots(self.url)
        self._set_shards(shards)
        self._samples: dict[str, EventBatch] = {}
        self._passing: dict[str, DecayedEvents] = {}
        self._sampled: int | None = None  # how many events had passed when a sample was taken last
        self._splits: dict[str, _SegmentSplit] = {}
        self._last: ShardAssignment | None = None
        self._lock = threading.Lock()

    def _set_shards(self, shards: int) -> None:
        """Have so many shards, all of them empty."""
        self.shards = shards
        self._assigners: dict[str, ShardAssigner] = {}
        self._loads = np.zeros(shards, np.int64)
        self._tenant_shards = TenantShards(shards)

    def wants_sample(self, version: int, budget: int | None = None, passed: int = 0) -> bool:
        """Would newer events improve the next assignment? Only if it makes entries, and enough of them passed.

        Args:
            version: To be assigned next.
            budget: That its entries get.
            passed: How many events there were before.
        """
        with self._lock:
            if not self.routing.sample or (self._sampled is not None and passed < self._sampled + HALF_LIFE):
                return False
            if self._last is None or budget not in (None, self.routing.budget):
                return True
            return self._last.of != version and any(
                entry.segment not in self._splits for entry in self._base.manifest(version).entries
            )

    def observe(self, batches: Iterable[EventBatch], passed: int = 0) -> None:
        """Take some events.

        Similarity is measured by the first batch of a type, since shards are compared by which of these events
        visit them. Selectivities are learned from a decayed sample of all.

        Args:
            batches: Of any types.
            passed: How many events there were before.
        """
        with self._lock:
            self._sampled = passed
            for batch in batches:
                if not batch.rows or not self.routing.sample:
                    continue
                name = batch.event_type.name
                self._samples.setdefault(name, batch)
                passing = self._passing.setdefault(name, DecayedEvents(self.routing.sample))
                first = max(passed, int(passing.numbers.max(initial=-1)) + 1)
                passing.offer(batch, np.arange(first, first + batch.rows))

    def assign(self, version: int) -> ShardAssignment:
        """Assign a version to shards; segments that were assigned before keep their shards.

        Raises:
            SnapshotError: There is no such version, or the assignment cannot be written.
        """
        with self._lock:
            if self._last is None or self._last.of != version:
                self._last = self._assign(self._base.manifest(version))
            return self._last

    def generalise_again(self, budget: int) -> None:
        """Let the next assignment have entries for another budget; subscriptions stay on their shards."""
        with self._lock:
            if self._last is None or budget == self.routing.budget:
                return
            self.routing = replace(self.routing, budget=budget)
            statistics = self._statistics(self._last.of)
            for event_type in {split.event_type for split in self._splits.values()}:
                self._make_entries_again(event_type, statistics.get(event_type))
            self._last = None

    def _generalise(
        self,
        forest: Forest,
        budget: float,
        event_type: str,
        statistics: Statistics | None,
        groups: I32 | None,
    ) -> Generalisation:
        sample = self._passing[event_type].frames if event_type in self._passing else None
        known = learn_statistics(forest, sample)
        if known is not None and statistics is not None:
            known.adopt(statistics)
        measure, merging = self.routing.measure, self.routing.merging
        return generalise(forest, budget, measure, known or statistics, sample, groups, merging=merging)

    def forget(self, retention_seconds: float) -> None:
        """Delete assignments of versions that are neither recent nor among the newest two."""
        with self._lock:
            self._target.forget(keep_versions=2, older_than_seconds=retention_seconds)

    def _statistics(self, version: int) -> dict[str, Statistics]:
        """Of events, by event type."""
        known = self._base.statistics(version) or {}
        return {name: Statistics.from_json(each) for name, each in known.items()}

    def _entry_share(self, subscriptions: int) -> float:
        """Bytes for the entries of so many of the subscriptions that are assigned."""
        total = sum(len(split.assigned) for split in self._splits.values())
        return subscriptions / total * (1.0 - _RESERVE) * self.routing.budget - SEGMENT_BYTES

    def _make_entries_again(self, event_type: str, statistics: Statistics | None) -> None:
        """The entries of all segments of an event type, for the shards that their subscriptions have now."""
        names = [name for name, split in self._splits.items() if split.event_type == event_type]
        forest, ids, _ = _join_segments([self._open(name) for name in names])
        assigned = np.concatenate([self._splits[name].assigned for name in names])
        general = self._generalise(forest, self._entry_share(len(assigned)), event_type, statistics, assigned)
        routes = entry_part(general, assigned, ids, event_type, index_builder(statistics))
        self._splits.update({name: self._splits[name]._replace(routes=routes) for name in names})

    def _assign(self, manifest: Manifest) -> ShardAssignment:
        statistics = self._statistics(manifest.version)
        self._keep_only({entry.segment for entry in manifest.entries})
        totals: Counter[str] = Counter()
        for entry in manifest.entries:
            totals[entry.event_type] += entry.slots
        limit = self.routing.shard_limit
        if limit is not None and not self._splits:
            self._set_shards(max(self.shards, -(-totals.total() // limit)))
        new: dict[str, list[str]] = {}
        for entry in manifest.entries:
            if entry.segment not in self._splits:
                new.setdefault(entry.event_type, []).append(entry.segment)
        for event_type, names in new.items():
            total = totals.total() if self.routing.by_tenant else totals[event_type]
            share = sum(entry.slots for entry in manifest.entries if entry.segment in names) / totals.total()
            segments = [self._open(name) for name in names]
            splits = self._split(segments, event_type, statistics.get(event_type), self._allowance(share), total)
            self._splits.update(zip(names, splits, strict=True))
        if limit is not None:
            self._split_shards_above(limit, manifest, statistics)
        parts: dict[str, SnapshotPart] = {}
        shards: list[set[str]] = [set() for _ in range(self.shards)]
        routes: set[str] = set()
        for entry in manifest.entries:
            split = self._splits[entry.segment]
            tombstones = split.tombstones(np.asarray(self._base.tombstones(entry), np.int64))
            for shard, part in split.parts.items():
                deleted = tombstones.get(shard, _NO_SLOTS)
                parts[part.segment.name] = SnapshotPart(part.segment, part.slots, deleted, entry.event_type)
                shards[shard].add(part.segment.name)
            if split.routes is not None:
                parts[split.routes.segment.name] = split.routes
                routes.add(split.routes.segment.name)
        stored = {
            "of": manifest.version,
            "shards": [sorted(each) for each in shards],
            "routes": sorted(routes),
            "budget": self.routing.budget,
        }
        known = self._base.statistics(manifest.version)
        published = self._publish(list(parts.values()), manifest, {_EXTRA_KEY: stored}, known)
        self._splits = {name: split.use_published(self._target) for name, split in self._splits.items()}
        assignment = read_assignment(published, self.url)
        if assignment.is_over_budget:
            _log.warning(
                "the routing entries of version %d take %d bytes, more than their budget of %d, and cannot be "
                "generalised further",
                manifest.version,
                assignment.entry_bytes,
                self.routing.budget,
            )
        return assignment

    def _open(self, name: str) -> LiveSegment:
        return open_segment(self._base.segment(name), ENGINES[MAPPED_ENGINE])

    def _allowance(self, share: float) -> float:
        """Bytes for the entries of new segments with this share of all subscriptions.

        A part of the budget is kept for segments to come: a few new subscriptions have a small share, and would
        become TRUE. They may take half of what the others leave.
        """
        routes = [split.routes.segment for split in self._splits.values() if split.routes is not None]
        taken = sum({segment.name: segment.bytes for segment in routes}.values())
        budget = self.routing.budget
        return max(share * (1.0 - _RESERVE) * budget, (budget - taken) / 2 if taken else 0.0)

    def _keep_only(self, names: set[str]) -> None:
        """Drop the splits of all other segments."""
        for name in [name for name in self._splits if name not in names]:
            split = self._splits.pop(name)
            if split.event_type in self._assigners:
                self._assigners[split.event_type].release(np.bincount(split.assigned, minlength=self.shards))

    def _publish(
        self,
        parts: Sequence[SnapshotPart],
        of: Manifest,
        extra: Mapping[str, Any],
        statistics: Mapping[str, Any] | None,
    ) -> Manifest:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._target.publish(
                    parts,
                    parent=self._target.latest(),
                    event_types=of.event_types,
                    extra=extra,
                    statistics=statistics,
                )
            except SnapshotError as error:
                if error.kind != "conflict" or attempt == _ATTEMPTS:
                    raise
        raise AssertionError

    def _split(
        self,
        segments: Sequence[LiveSegment],
        event_type: str,
        statistics: Statistics | None,
        budget: float,
        total: int,
    ) -> list[_SegmentSplit]:
        """Assign the subscriptions of segments, removed ones included, which an older version may still have.

        Segments are generalised together, because equal entries count once, and share the resulting entries.

        Args:
            segments: To be split.
            event_type: Its name.
            statistics: Of events.
            budget: Bytes that their entries may take.
            total: How many subscriptions fill the shards that these go to.
        """
        counts = [len(segment.forest) for segment in segments]
        forest, ids, tenants = _join_segments(segments)
        groups = None
        if not self.routing.by_similarity:
            groups = (_hashes(ids) % np.uint64(self.shards)).astype(np.int32)
        elif self.routing.by_tenant:
            groups = np.asarray(tenants.dictionary_encode().indices.fill_null(-1), np.int32)
        general = self._generalise(forest, budget - SEGMENT_BYTES, event_type, statistics, groups)
        if self.routing.by_similarity or groups is None:
            into = (self._assigner(event_type), self._tenant_shards)
            assigned = self._by_similarity(general, tenants, event_type, statistics, total, into)
        else:
            assigned = groups
        build = index_builder(statistics)
        routes = entry_part(general, assigned, ids, event_type, build)
        splits = []
        for segment, here in zip(segments, np.split(assigned, np.cumsum(counts)[:-1]), strict=True):
            split = _SegmentSplit(event_type, here, np.empty(len(here), np.int32), {}, routes)
            splits.append(split.with_parts(segment, np.unique(here).tolist(), build))
        return splits

    def _by_similarity(
        self,
        general: Generalisation,
        tenants: pa.LargeStringArray,
        event_type: str,
        statistics: Statistics | None,
        total: int,
        into: tuple[ShardAssigner, TenantShards],
    ) -> I32:
        """int32[subscriptions]: the shard of each, if `total` subscriptions fill the same shards."""
        assigner, tenant_shards = into
        access = find_access_predicates(forest_of(general.formulas), statistics)
        sample_rows, rows = self._sample_rows(general.formulas, event_type)
        assigned = np.empty(len(general.of), np.int32)
        one_group = [(None, np.arange(len(general.of)))]
        for tenant, places in group_by_tenant(tenants) if self.routing.by_tenant else one_group:
            of = general.of[places]
            counts = np.bincount(of, minlength=len(general.counts)).astype(np.int64)
            allowed = None
            if self.routing.by_tenant:
                allowed = tenant_shards.reserve(tenant, len(places), assigner.room(total))
            ordered = places[np.argsort(of, kind="stable")]
            firsts = np.cumsum(counts) - counts
            for entry, shard, count in assigner.assign(access, counts, sample_rows, rows, total, allowed):
                assigned[ordered[firsts[entry] : firsts[entry] + count]] = shard
                firsts[entry] += count
        return assigned

    def _split_shards_above(self, limit: int, manifest: Manifest, statistics: Mapping[str, Statistics]) -> None:
        """Split shards in two until none has more living subscriptions than the limit."""
        changed: set[str] = set()
        while self.shards + 1 < 10**DIGITS:
            living = np.zeros(self.shards, np.int64)
            for split in self._splits.values():
                for shard, part in split.parts.items():
                    living[shard] += part.slots
            if living.max() <= limit:  # as nearly always: who is dead makes no difference
                break
            for entry in manifest.entries:
                tombstones = np.asarray(self._base.tombstones(entry), np.int64)
                for shard, dead in self._splits[entry.segment].tombstones(tombstones).items():
                    living[shard] -= len(dead)
            largest = int(np.argmax(living))
            if living[largest] <= limit:
                break
            _log.info("shard %d has %d subscriptions and is split", largest, living[largest])
            changed |= self._split_shard(largest, statistics)
        for event_type in changed:
            self._make_entries_again(event_type, statistics.get(event_type))

    def _split_shard(self, shard: int, statistics: Mapping[str, Statistics]) -> set[str]:
        """Move about half of the subscriptions of a shard into a new one; the event types that it has any of."""
        new = self.shards
        loads, tenant_halves = np.zeros(2, np.int64), TenantShards(2)
        in_shard = {name: split for name, split in self._splits.items() if shard in split.parts}
        total = sum(split.parts[shard].slots for split in in_shard.values())
        moved, tenants_moved = Counter[str](), set[str | None]()
        for event_type in {split.event_type for split in in_shard.values()}:
            names = [name for name, split in in_shard.items() if split.event_type == event_type]
            segments = {name: self._open(name) for name in names}
            slots = [np.flatnonzero(in_shard[name].assigned == shard) for name in names]
            known = statistics.get(event_type)
            forest, ids, tenants = _join_segments(list(segments.values()), slots)
            if self.routing.by_similarity:
                share = self._entry_share(len(forest))
                general = self._generalise(forest, share, event_type, known, None)
                into = (ShardAssigner(2, self.routing.slack, loads), tenant_halves)
                moves = self._by_similarity(general, tenants, event_type, known, total, into) == 1
            else:
                moves = _hashes(ids) // np.uint64(self.shards) % np.uint64(2) == 1
            build = index_builder(known)
            moved[event_type] = int(np.count_nonzero(moves))
            tenants_moved.update(tenant for tenant, _ in group_by_tenant(tenants.filter(pa.array(moves))))
            ends = np.cumsum([len(some) for some in slots])
            for name, some, here in zip(names, slots, np.split(moves, ends[:-1]), strict=True):
                assigned = in_shard[name].assigned.copy()
                assigned[some[here]] = new
                self._splits[name] = (
                    in_shard[name]._replace(assigned=assigned).with_parts(segments[name], (shard, new), build)
                )
        self.shards += 1
        self._tenant_shards.add_shard(tenants_moved)
        self._loads = np.append(self._loads, moved.total())
        self._loads[shard] -= moved.total()
        for event_type, assigner in self._assigners.items():
            assigner.split(shard, moved[event_type], self._loads if self.routing.by_tenant else None)
        return set(moved)

    def _assigner(self, event_type: str) -> ShardAssigner:
        """One for each event type, because predicates are; the loads are common if tenants share the shards."""
        if event_type not in self._assigners:
            loads = self._loads if self.routing.by_tenant else None
            self._assigners[event_type] = ShardAssigner(self.shards, self.routing.slack, loads)
        return self._assigners[event_type]

    def _sample_rows(self, formulas: Sequence[Formula], event_type: str) -> tuple[list[I64], int]:
        """The rows of the sample that satisfy each formula, and how many rows there are."""
        batch = self._samples.get(event_type)
        if batch is None:
            return [np.empty(0, np.int64)] * len(formulas), 0
        rows, slots = ENGINES[MAPPED_ENGINE].build(formulas).match(BatchFrame(batch))
        order = np.argsort(slots, kind="stable")
        ends = np.cumsum(np.bincount(slots, minlength=len(formulas)))
        return np.split(rows[order].astype(np.int64), ends[:-1]), batch.rows


def _join_segments(
    segments: Sequence[LiveSegment], slots: Sequence[I64] | None = None
) -> tuple[Forest, pa.LargeStringArray, pa.LargeStringArray]:
    """The formulas, ids and owners of all or some subscriptions of segments, removed ones included."""
    records = [segment.records for segment in segments]
    ids, owners = [each.ids for each in records], [each.owners for each in records]
    if slots is None and len(segments) == 1:
        return segments[0].forest, ids[0], owners[0]
    if slots is None:
        slots = [np.arange(len(segment.forest)) for segment in segments]
    forest = join_forests([(segment.forest, some) for segment, some in zip(segments, slots, strict=True)])
    ids, owners = (
        [each.take(pa.array(some)) for each, some in zip(column, slots, strict=True)] for column in (ids, owners)
    )
    return forest, pa.concat_arrays(ids), pa.concat_arrays(owners)


def index_builder(statistics: Statistics | None) -> Callable[[Forest], Index]:
    """A function that builds the index of a segment."""

    def build(forest: Forest) -> Index:
        return ENGINES[MAPPED_ENGINE].build(forest, statistics)

    return build


def _hashes(ids: pa.LargeStringArray) -> U64:
    """uint64[ids]: hashes that are the same in every process."""
    return np.fromiter((zlib.crc32(id.encode()) for id in ids.to_pylist()), np.uint64, len(ids))
