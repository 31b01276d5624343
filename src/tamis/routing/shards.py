"""A snapshot dealt to shards, with the entries that lead events to them.

Every segment of a version is cut up: each shard gets the subscriptions that were dealt to it, exact as they are,
and the routing table gets generalised copies of them, each with its shard. An event visits the shards that an
entry sends it to, and is matched there with the exact subscriptions; so a deal may cost visits, and never a match.
What was dealt is published as a snapshot of its own, beside the one that it is of: workers map it like any other.

A segment is dealt once. Versions that share it share what was made of it; only what has died in it since is told
anew. Entries of subscriptions that are gone stay until their segment is merged into another: an event may visit a
shard in vain for their sake.
"""

from __future__ import annotations

import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.engines import ENGINES
from tamis.engines.base import Index
from tamis.engines.choosing import MAPPED
from tamis.engines.forest import Forest, forest_of
from tamis.engines.forest.join import join_forests
from tamis.errors import SnapshotError, TamisError
from tamis.events.batch import EventBatch
from tamis.events.compute import BatchFrame
from tamis.language.formula import Formula
from tamis.routing.common import Generalised, generalised_to, pruned_to
from tamis.routing.dealing import SLACK, Dealer
from tamis.routing.entries import DIGITS, entry_part
from tamis.routing.gates import gates_of
from tamis.routing.measures import MEASURES
from tamis.routing.selectivity import SelectivityTable
from tamis.routing.tenancy import Homes, by_tenant
from tamis.routing.trees import size
from tamis.segments.files import opened, stored
from tamis.segments.live import LiveSegment
from tamis.segments.merging import gathered
from tamis.snapshot import Manifest, Part, Snapshots
from tamis.statistics import Statistics

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]

BUDGET = 1 << 20
"""Bytes of all entries."""
COMMON = "common"
SAMPLE_ROWS = 4_096
"""Events of a type that a deal looks at."""
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Routing:
    """How subscriptions are dealt, and how exact the entries are that lead events to them.

    Attributes:
        budget: Bytes that all entries may take: subscriptions are generalised until they take no more, or nothing
            is left to generalise. The more, the fewer visits are in vain, and the longer it takes to route.
        measure: What is generalised first: "common" deletes whole attributes, those first that tell subscriptions
            apart and events hardly, and is quick; the names of `tamis.routing.measures.MEASURES` prune step by
            step.
        by_similarity: Deal similar subscriptions together; if not, by their ids, as if at random.
        by_tenant: Keep the subscriptions of an owner in as few shards as hold them, by similarity within these:
            for owners whose events are theirs alone, as the tenants of a service.
        slack: The share by which a shard may have more subscriptions than the average.
        sample: Events of a type that a deal looks at; 0 to go by conditions and statistics alone.
    """

    budget: int = BUDGET
    measure: str = COMMON
    by_similarity: bool = True
    slack: float = SLACK
    sample: int = SAMPLE_ROWS
    by_tenant: bool = False

    def __post_init__(self) -> None:
        """Check what can be checked."""
        if self.measure not in (COMMON, *MEASURES):
            msg = f"there is no measure {self.measure!r}; known are {', '.join((COMMON, *MEASURES))}"
            raise TamisError(msg)
        if self.budget < 0 or self.slack < 0 or self.sample < 0:
            msg = f"expected a budget, a slack and a sample of 0 or more, found {self}"
            raise TamisError(msg)


class Dealt(NamedTuple):
    """A version that was dealt.

    Attributes:
        url: The snapshot with the shards, as workers reach it.
        version: Of it.
        of: The version that was dealt.
        shards: The names of the segments of each shard; a shard may have none.
        routes: The names of those with the entries that lead there.
    """

    url: str
    version: int
    of: int
    shards: tuple[frozenset[str], ...]
    routes: frozenset[str]


def dealt_in(manifest: Manifest, url: str) -> Dealt:
    """The deal that a version of a snapshot holds.

    Raises:
        SnapshotError: It was not dealt.
    """
    try:
        found = manifest.extra["dealt"]
        shards = tuple(frozenset(names) for names in found["shards"])
        return Dealt(url, manifest.version, int(found["of"]), shards, frozenset(found["routes"]))
    except (KeyError, TypeError, ValueError) as error:
        raise SnapshotError(url, "its subscriptions were not dealt to shards", "foreign") from error


@dataclass(frozen=True, slots=True)
class Summary:
    """What a deal amounts to.

    Attributes:
        url: The snapshot with the shards.
        version: Of it.
        of: The version that was dealt.
        subscriptions: How many each shard has.
        entries: How many lead there.
        entry_bytes: Of their trees.
    """

    url: str
    version: int
    of: int
    subscriptions: list[int]
    entries: int
    entry_bytes: int


def summary(dealt: Dealt) -> Summary:
    """What a deal amounts to; reads the entries."""
    snapshots = Snapshots(dealt.url)
    living = {entry.segment: entry.slots - entry.dead for entry in snapshots.manifest(dealt.version).entries}
    tables = [opened(snapshots.segment(name), MAPPED, building(None)).forest for name in sorted(dealt.routes)]
    return Summary(
        dealt.url,
        dealt.version,
        dealt.of,
        [sum(living[name] for name in names) for names in dealt.shards],
        sum(map(len, tables)),
        sum(size(formula) for table in tables for formula in table),
    )


class _Cut(NamedTuple):
    """What became of a segment: the slots that each shard has of it, their segments, and its entries.

    Segments that were dealt together have the same entries.
    """

    event_type: str
    slots: dict[int, Ints]
    parts: dict[int, Part]
    routes: Part | None

    def mapped(self, target: Snapshots) -> _Cut:
        """The same with segments as they are published, so that nothing stays in memory."""

        def found(part: Part) -> Part:
            return replace(part, segment=target.segment(part.segment.name))

        routes = None if self.routes is None else found(self.routes)
        return self._replace(parts={shard: found(part) for shard, part in self.parts.items()}, routes=routes)

    def dead_in(self, shard: int, dead: Ints) -> Shorts:
        """Which slots of a shard's part are dead, given those of the whole."""
        return np.flatnonzero(np.isin(self.slots[shard], dead)).astype(np.int32)


class Deals:
    """Deals the versions of a snapshot to shards; may be asked by several threads."""

    def __init__(self, url: str, shards: int, routing: Routing | None = None, place: str | None = None) -> None:
        """Nothing is dealt yet.

        Args:
            url: The snapshot, as workers reach it.
            shards: How many there are.
            routing: How to deal.
            place: Where to publish what was dealt; by default beside the snapshot.
        """
        if not 1 <= shards < 10**DIGITS:
            msg = f"expected from 1 to {10**DIGITS - 1} shards, found {shards}"
            raise TamisError(msg)
        self.url = place or f"{url.rstrip('/')}.shards"
        self.shards = shards
        self.routing = routing or Routing()
        self._base, self._target = Snapshots(url), Snapshots(self.url)
        self._dealers: dict[str, Dealer] = {}
        self._loads = np.zeros(shards, np.int64)
        self._homes = Homes(shards)
        self._samples: dict[str, EventBatch] = {}
        self._cuts: dict[str, _Cut] = {}
        self._last: Dealt | None = None
        self._lock = threading.Lock()

    @property
    def wants_sample(self) -> bool:
        """Would the next deal be better for some events? Only before the first one."""
        return self.routing.by_similarity and self.routing.sample > 0 and not self._cuts and not self._samples

    def observe(self, batches: Iterable[EventBatch]) -> None:
        """Some events, by which similarity is told; the first batch of a type counts."""
        with self._lock:
            for batch in batches:
                if batch.rows:
                    self._samples.setdefault(batch.event_type.name, batch)

    def deal(self, version: int) -> Dealt:
        """A version dealt to shards; what was dealt before is taken from there.

        Raises:
            SnapshotError: There is no such version, or what was dealt cannot be written.
        """
        with self._lock:
            if self._last is None or self._last.of != version:
                self._last = self._dealt(self._base.manifest(version))
            return self._last

    def forget(self, retention_seconds: float) -> None:
        """Collect what was dealt of versions that nobody can need any more."""
        with self._lock:
            self._target.forget(keep_versions=2, older_than_seconds=retention_seconds)

    def _dealt(self, manifest: Manifest) -> Dealt:
        known = {} if manifest.statistics is None else self._base.statistics(manifest.version) or {}
        statistics = {name: Statistics.from_json(each) for name, each in known.items()}
        self._keep({entry.segment for entry in manifest.entries})
        totals: Counter[str] = Counter()
        for entry in manifest.entries:
            totals[entry.event_type] += entry.slots
        new: dict[str, list[str]] = {}
        for entry in manifest.entries:
            if entry.segment not in self._cuts:
                new.setdefault(entry.event_type, []).append(entry.segment)
        for event_type, names in new.items():
            total = totals.total() if self.routing.by_tenant else totals[event_type]
            share = sum(entry.slots for entry in manifest.entries if entry.segment in names) / totals[event_type]
            segments = [opened(self._base.segment(name), MAPPED, building(None)) for name in names]
            cuts = self._cut(segments, event_type, statistics.get(event_type), share, total)
            self._cuts.update(zip(names, cuts, strict=True))
        parts: dict[str, Part] = {}
        shards: list[set[str]] = [set() for _ in range(self.shards)]
        routes: set[str] = set()
        for entry in manifest.entries:
            cut = self._cuts[entry.segment]
            dead = np.asarray(self._base.tombstones(entry), np.int64)
            for shard, part in cut.parts.items():
                buried = Part(part.segment, part.slots, cut.dead_in(shard, dead), entry.event_type)
                parts[part.segment.name] = buried
                shards[shard].add(part.segment.name)
            if cut.routes is not None:
                parts[cut.routes.segment.name] = cut.routes
                routes.add(cut.routes.segment.name)
        dealt = {"of": manifest.version, "shards": [sorted(each) for each in shards], "routes": sorted(routes)}
        made = self._publish(list(parts.values()), manifest, {"dealt": dealt}, known or None)
        self._cuts = {name: cut.mapped(self._target) for name, cut in self._cuts.items()}
        return dealt_in(made, self.url)

    def _keep(self, names: set[str]) -> None:
        """Forget what became of other segments."""
        for name in [name for name in self._cuts if name not in names]:
            cut = self._cuts.pop(name)
            if cut.event_type in self._dealers:
                loads = [len(cut.slots.get(shard, ())) for shard in range(self.shards)]
                self._dealers[cut.event_type].release(np.array(loads, np.int64))

    def _publish(
        self, parts: Sequence[Part], of: Manifest, extra: Mapping[str, Any], statistics: Mapping[str, Any] | None
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

    def _cut(
        self,
        segments: Sequence[LiveSegment],
        event_type: str,
        statistics: Statistics | None,
        share: float,
        total: int,
    ) -> list[_Cut]:
        """Deal the subscriptions of segments, dead ones included: an older version may have them alive.

        They are generalised together, since what they have in common counts once; their entries are those of each.

        Args:
            segments: To be dealt.
            event_type: Its name.
            statistics: What is known of events.
            share: Of all subscriptions of its type, and of the budget.
            total: How many subscriptions fill the shards that these go to.
        """
        counts = [len(segment.forest) for segment in segments]
        forest = segments[0].forest
        if len(segments) > 1:
            every = [(segment.forest, np.arange(count)) for segment, count in zip(segments, counts, strict=True)]
            forest = join_forests(every)
        ids = pa.concat_arrays([segment.records.ids for segment in segments])
        general = self._generalised(forest, event_type, statistics, share)
        if self.routing.by_similarity:
            tenants = pa.concat_arrays([segment.records.owners for segment in segments])
            owners = self._by_similarity(general, tenants, event_type, statistics, total)
        else:
            owners = (_hashes(ids) % np.uint64(self.shards)).astype(np.int32)
        build = building(statistics)
        routes = entry_part(general, owners, ids, event_type, build)
        cuts = []
        for segment, here in zip(segments, np.split(owners, np.cumsum(counts)[:-1]), strict=True):
            slots = {shard: np.flatnonzero(here == shard) for shard in np.unique(here).tolist()}
            parts = {
                shard: Part(stored(gathered([segment], [some], build)), len(some), event_type=event_type)
                for shard, some in slots.items()
            }
            cuts.append(_Cut(event_type, slots, parts, routes))
        return cuts

    def _generalised(
        self, forest: Forest, event_type: str, statistics: Statistics | None, share: float
    ) -> Generalised:
        budget = int(self.routing.budget * share)
        if self.routing.measure == COMMON:
            return generalised_to(forest, budget, statistics)
        measure = MEASURES[self.routing.measure]
        return pruned_to(forest, budget, measure, SelectivityTable(statistics), self._samples.get(event_type))

    def _by_similarity(
        self,
        general: Generalised,
        tenants: pa.LargeStringArray,
        event_type: str,
        statistics: Statistics | None,
        total: int,
    ) -> Shorts:
        """The shard of every subscription, of `total` that fill the same shards."""
        dealer = self._dealer(event_type)
        gates = gates_of(forest_of(general.formulas), statistics)
        sampled, rows = self._sampled(general.formulas, event_type)
        owners = np.empty(len(general.of), np.int32)
        everybody = [(None, np.arange(len(general.of)))]
        for tenant, places in by_tenant(tenants) if self.routing.by_tenant else everybody:
            of = general.of[places]
            counts = np.bincount(of, minlength=len(general.counts)).astype(np.int64)
            home = self._homes.of(tenant, len(places), dealer.room(total)) if self.routing.by_tenant else None
            ordered = places[np.argsort(of, kind="stable")]
            firsts = np.cumsum(counts) - counts
            for entry, shard, count in dealer.deal(gates, counts, sampled, rows, total, home):
                owners[ordered[firsts[entry] : firsts[entry] + count]] = shard
                firsts[entry] += count
        return owners

    def _dealer(self, event_type: str) -> Dealer:
        """That of an event type: its predicates are its own, the shards are everybody's if tenants have homes."""
        if event_type not in self._dealers:
            loads = self._loads if self.routing.by_tenant else None
            self._dealers[event_type] = Dealer(self.shards, self.routing.slack, loads)
        return self._dealers[event_type]

    def _sampled(self, formulas: Sequence[Formula], event_type: str) -> tuple[list[Ints], int]:
        """The rows of the sample that satisfy each formula, and how many rows there are."""
        batch = self._samples.get(event_type)
        if batch is None:
            return [np.empty(0, np.int64)] * len(formulas), 0
        rows, slots = ENGINES[MAPPED].build(formulas).match(BatchFrame(batch))
        order = np.argsort(slots, kind="stable")
        ends = np.cumsum(np.bincount(slots, minlength=len(formulas)))
        return np.split(rows[order].astype(np.int64), ends[:-1]), batch.rows


def building(statistics: Statistics | None) -> Callable[[Forest], Index]:
    """What builds the index of a segment."""

    def build(forest: Forest) -> Index:
        return ENGINES[MAPPED].build(forest, statistics)

    return build


def _hashes(ids: pa.LargeStringArray) -> npt.NDArray[np.uint64]:
    """Numbers of ids that are the same everywhere."""
    return np.fromiter((zlib.crc32(id.encode()) for id in ids.to_pylist()), np.uint64, len(ids))
