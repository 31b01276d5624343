"""A collection: subscriptions that come and go over segments that never change.

Every change makes a new version; a reader works on the state that was the newest when it began and sees nothing of
later ones. What was added lately is in the memtable, in no index; when enough has gathered it becomes a segment,
and segments are merged as `tamis.segments.merge` says. Changes wait for each other, readers wait for nobody.

Nothing that takes time for all subscriptions happens under `lock`: segments are built and merged from what does
not change, and the lock is taken to put the result in its place, with the tombstones that came meanwhile. Whoever
needs several locks takes `_flushing` first and `lock` last.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import NamedTuple
from weakref import WeakSet

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import I64, Mask
from tamis.engines.base import Index, Matches, Stats
from tamis.engines.forest import Forest, ForestBuilder
from tamis.engines.forest.join import join_forests
from tamis.formulas.calls import calls_of
from tamis.formulas.expression import OperatorCall, Typed
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame
from tamis.segments.background import BackgroundWork
from tamis.segments.columns import Columns
from tamis.segments.memtable import MemtableEntry, match_entries, verifier_of
from tamis.segments.merge import carry_tombstones, due, merge
from tamis.segments.pairs import Pairs
from tamis.segments.records import Records, Subscription
from tamis.segments.segment import NEVER, LiveSegment
from tamis.segments.small_index import needs_index
from tamis.verification.residuals import split_forest
from tamis.verification.verifier import DEFAULT_POLICY, CallPolicy, CallVerifier

SMALL_MEMTABLE = 32
"""Entries that a match evaluates one by one rather than building an index for them."""
LARGE_MEMTABLE = 10_000
"""Entries from which the memtable becomes a segment without waiting for a match."""
_MERGED_AT_ONCE = 4_000
"""As much is merged while whoever changed something waits, which takes some 20 ms; the rest beside the callers."""
_MOST_MEMTABLES, _MOST_SEGMENTS = 4, 64
"""Memtables' worth of entries, and segments, beyond which changes are slowed down until merging catches up."""
_PATIENCE_SECONDS = 0.05
"""How long a change waits then. It goes on all the same: nobody is kept for the seconds that a merge may take."""
_LOOK_UPS = 4
"""How often ids are looked for in segments that came meanwhile before everybody else has to wait for it."""
_collections: WeakSet[SegmentCollection] = WeakSet()
"""Those of this process; each is told when it finds itself in the child of a fork."""
_collections_lock = threading.Lock()


class SegmentState(NamedTuple):
    """One version: segments, and the first `added` entries of the memtable."""

    version: int
    segments: tuple[LiveSegment, ...]
    memtable: list[MemtableEntry]
    added: int

    def subscriptions(self) -> Iterator[Subscription]:
        for segment in self.segments:
            for slot in segment.living(self.version).tolist():
                yield segment.records[slot]
        for entry in self.entries():
            yield entry.subscription

    def entries(self) -> Iterator[MemtableEntry]:
        """The living entries of the memtable."""
        return (entry for entry in self.memtable[: self.added] if entry.deleted > self.version)

    def match(self, frame: Frame, policy: CallPolicy = DEFAULT_POLICY) -> Pairs:
        """All pairs; operators are called by that policy."""
        groups: list[tuple[Records | list[MemtableEntry], Matches]] = []
        for segment in self.segments:
            matches = segment.keep_living(segment.index.match(frame), self.version)
            segment.adopt_built_index()
            if segment.verifier is not None:
                matches = segment.verifier.verify(frame, matches, policy)
            groups.append((segment.records, matches))
        if self.added:
            entries = self.memtable[: self.added]
            groups.append((entries, match_entries(entries, self.version, frame, policy)))
        return Pairs(frame.rows, groups)

    def users(self, call: OperatorCall) -> int:
        """How many subscriptions make a call of an operator."""
        verifiers = [segment.verifier for segment in self.segments if segment.verifier is not None]
        rests = [entry.rest for entry in self.entries() if entry.rest is not None]
        calling = sum(any(call in calls_of(leaf) for leaf in rest.predicates()) for rest in rests)
        return calling + sum(verifier.count_users(call) for verifier in verifiers)

    def estimate(self, frame: Frame, policy: CallPolicy = DEFAULT_POLICY) -> I64:
        """The expected work of each row; the memtable takes the same for all."""
        return sum((each.estimate(frame, policy) for each in self.segments), np.zeros(frame.rows, np.int64))

    def is_expensive(self, policy: CallPolicy) -> bool:
        """Are there calls of operators that make some events far more work than others?"""
        return any(each.verifier is not None and each.verifier.is_expensive(policy) for each in self.segments)


class SegmentCollection:
    """Subscriptions by id.

    Attributes:
        state: The newest version.
        count: Number of subscriptions in it.
        updates: How many came and went so far.
        lock: Held by whoever changes it; may be held by the same thread several times.
    """

    def __init__(
        self,
        build: Callable[[Forest], Index],
        segments: Sequence[LiveSegment] = (),
        lock: threading.RLock | None = None,
    ) -> None:
        """Of no subscriptions, or of those in some segments.

        Args:
            build: Makes the index of a new segment.
            segments: What is there already.
            lock: That of what this takes the place of; one of its own by default.
        """
        self.state = SegmentState(0, tuple(segments), [], 0)
        self.count = sum(segment.alive for segment in segments)
        self.updates = 0
        self.lock = threading.RLock() if lock is None else lock
        self._build = build
        self._added: dict[str, MemtableEntry] = {}
        self._background = BackgroundWork(self._work)
        self._begin()
        with _collections_lock:
            _collections.add(self)

    def _begin(self) -> None:
        """With nothing under way, as at first and in the child of a fork."""
        self._progress = threading.Condition(self.lock)  # notified when something has been merged or flushed
        self._flushing = threading.Lock()
        self._merged: set[int] = set()  # the segments that are being merged, by `id`
        self._whole_merges = 0  # how many wait to merge everything: meanwhile nothing else is begun

    def after_fork(self) -> None:
        """Forget what other threads were doing: they are not there. The caller holds the lock."""
        self._background.reset()
        self._begin()

    def find(self, id: str) -> Subscription | None:
        """The subscription of that id, None if there is none."""
        with self.lock:
            entry = self._added.get(id)
            if entry is not None:
                return entry.subscription
            found = self._find(id)
            return None if found is None else found[0].records[found[1]]

    def attributes(self) -> list[Typed]:
        """What the conditions of the largest segment read."""
        segments = self.state.segments
        return [axis.attribute for axis in max(segments, key=len).forest.axes] if segments else []

    def forests(self) -> list[Forest]:
        """The formulas of all living subscriptions: what engines hold, and what calls operators."""
        state = self.flush()
        found = []
        for segment in state.segments:
            found.append(segment.forest)
            if segment.verifier is not None:
                living = np.isin(segment.verifier.slots, segment.living(state.version))
                # What is left of removed ones may call an operator that is not there any more.
                found.append(join_forests([(segment.verifier.forest, np.flatnonzero(living))]))
        return found

    def stats(self) -> Stats:
        """What it holds: counts by name, and bytes by structure of all indexes."""
        state = self.state
        counts = {
            "subscriptions": self.count,
            "segments": len(state.segments),
            "dead": sum(segment.dead for segment in state.segments),
            "waiting": sum(1 for _ in state.entries()),
        }
        sizes: dict[str, int] = {}
        for segment in state.segments:
            found = segment.index.stats()
            for name, number in found.counts.items():
                if name != "subscriptions":
                    counts[name] = counts.get(name, 0) + number
            for name, size in found.bytes.items():
                sizes[name] = sizes.get(name, 0) + size
        return Stats(counts, sizes)

    # --- changes -----------------------------------------------------------------------------------------

    def make_room(self) -> None:
        """To be called before a change, without the lock: waits a little if maintenance is far behind.

        Raises:
            MergeError: It failed since somebody was told last.
        """
        self._background.raise_failure()
        if self._background.is_under_way and self._is_behind():
            with self._progress:
                self._progress.wait(_PATIENCE_SECONDS)

    def _is_behind(self) -> bool:
        state = self.state
        return state.added > _MOST_MEMTABLES * LARGE_MEMTABLE or len(state.segments) > _MOST_SEGMENTS

    def append(self, subscription: Subscription, formula: Formula) -> None:
        """Add a subscription of a new id."""
        self.append_all([(subscription, formula)])

    def append_all(self, given: Iterable[tuple[Subscription, Formula]]) -> None:
        """Add some subscriptions of new ids in one version."""
        entries = [MemtableEntry(subscription, formula) for subscription, formula in given]
        with self.lock:
            state = self.state
            state.memtable.extend(entries)
            self._added.update((entry.subscription.id, entry) for entry in entries)
            self.count += len(entries)
            self.updates += len(entries)
            self.state = state._replace(version=state.version + 1, added=state.added + len(entries))
            if self.state.added >= LARGE_MEMTABLE:
                self._background.wake()

    def append_many(
        self, columns: Columns, forest: Forest, places: I64, searched: Sequence[LiveSegment] = ()
    ) -> I64:
        """Add some subscriptions as a segment, which is built while others change things.

        Returns those of `places` whose ids somebody else has taken meanwhile. They are left out; so are any that
        were taken before, but they are looked for only in segments that are not in `searched`.
        """
        if len(places) < len(columns):
            columns, forest = columns.take(places), join_forests([(forest, places)])
        records = Records.of_columns(*columns[:7])
        forest, rest = split_forest(forest)
        segment = LiveSegment(forest, records, self._build(forest), None if rest is None else CallVerifier(*rest))
        known, taken = list(searched), [np.empty(0, np.int64)]
        for attempt in range(_LOOK_UPS):
            taken += self._taken_slots(records, known)
            with self.lock:
                if attempt + 1 < _LOOK_UPS and not self._are_known(known):
                    continue
                return places[self._put(segment, [*taken, *self._taken_slots(records, known)])]
        msg = "the last attempt always returns"
        raise AssertionError(msg)

    def _put(self, segment: LiveSegment, taken: Sequence[I64]) -> I64:
        """Add a segment without the slots that are taken, or whose ids the memtable has; returns these."""
        slots = segment.records.slots(pa.array(list(self._added), pa.large_string()))
        late = np.unique(np.concatenate([*taken, slots[slots >= 0]]))
        if len(late):
            segment.mark_deleted(late, 0)  # no version has ever had them
        if segment.alive:
            self.count += segment.alive
            self.updates += segment.alive
            state = self.state
            self.state = state._replace(version=state.version + 1, segments=(*state.segments, segment))
        return late

    def _are_known(self, known: Sequence[LiveSegment]) -> bool:
        return {id(each) for each in self.state.segments} <= {id(each) for each in known}

    def _taken_slots(self, records: Records, known: list[LiveSegment]) -> list[I64]:
        """The slots of records whose ids are alive in segments that are not known yet; now they are known."""
        found = []
        for segment in self.state.segments:
            if any(segment is each for each in known):
                continue
            known.append(segment)
            if len(segment) < len(records):  # look for the fewer ids
                mine, theirs = records.slots(segment.records.ids), np.arange(len(segment), dtype=np.int32)
            else:
                theirs, mine = segment.records.slots(records.ids), np.arange(len(records), dtype=np.int32)
            here = np.flatnonzero((mine >= 0) & (theirs >= 0))
            alive = segment.is_alive(theirs[here], NEVER - 1)
            found.append(mine[here[alive]].astype(np.int64))
        return found

    def replace(self, subscription: Subscription, formula: Formula) -> None:
        """Put a subscription in the place of the one with its id."""
        with self.lock:
            self._mark_deleted(subscription.id, self.state.version + 1)
            self.append(subscription, formula)

    def remove(self, id: str) -> bool:
        """Remove a subscription; False if there is none of that id."""
        with self.lock:
            version = self.state.version + 1
            found = self._mark_deleted(id, version)
            if found:
                self.state = self.state._replace(version=version)
            return found

    def remove_many(self, ids: pa.LargeStringArray, *, merge: bool = True) -> list[str]:
        """Remove many in one version; returns the ids that are not there.

        Without `merge`, segments that are due stay as they are: another process published and merges them.
        """
        wanted = pc.unique(ids)
        missing = np.ones(len(wanted), np.bool_)
        with self.lock:
            state = self.state
            version = state.version + 1
            for segment in state.segments:
                slots = segment.records.slots(wanted)
                here = np.flatnonzero(slots >= 0)
                here = here[segment.is_alive(slots[here], NEVER - 1)]
                if len(here):
                    segment.mark_deleted(slots[here], version)
                    missing[here] = False
            found = int(len(wanted) - missing.sum())
            self.count -= found
            self.updates += found
            if self._added:
                for place in np.flatnonzero(missing).tolist():
                    missing[place] = not self._mark_deleted(wanted[place].as_py(), version)
            self.state = state._replace(version=version)
        if merge:
            self.maintain()
        not_there: list[str] = wanted.filter(pa.array(missing)).to_pylist()
        return not_there

    def ids_with(self, mark: str) -> pa.LargeStringArray:
        """The ids of living subscriptions with this text in them."""
        state = self.newest()
        found = [pa.array([], pa.large_string())]
        for segment in state.segments:
            ids = segment.records.ids.take(pa.array(segment.living(state.version)))
            found.append(ids.filter(pc.match_substring(ids, mark)))
        entries = [each.subscription.id for each in state.entries() if mark in each.subscription.id]
        return pa.concat_arrays([*found, pa.array(entries, pa.large_string())])

    def ids_in(self, dialects: Sequence[str]) -> pa.LargeStringArray:
        """The ids of living subscriptions in these dialects; takes no time for segments with SQL alone."""
        state = self.newest()
        found = [pa.array([], pa.large_string())]
        for segment in state.segments:
            if segment.records.dialects is not None:
                living = pa.array(segment.living(state.version))
                named = pc.is_in(segment.records.dialects.take(living), pa.array(dialects, pa.large_string()))
                found.append(segment.records.ids.take(living.filter(named)))
        entries = [each.subscription.id for each in state.entries() if each.subscription.dialect in dialects]
        return pa.concat_arrays([*found, pa.array(entries, pa.large_string())])

    def existing(self, ids: pa.LargeStringArray) -> Mask:
        """Which ids are there already, or stand there a second time."""
        return self.search(ids)[0]

    def search(self, ids: pa.LargeStringArray) -> tuple[Mask, tuple[LiveSegment, ...]]:
        """As `existing`, and the segments in which they were looked for."""
        with self.lock:  # an entry that becomes a segment meanwhile must be in one of the two
            segments, added = self.state.segments, self._added.copy()
        encoded = ids.dictionary_encode()
        codes = encoded.indices.to_numpy()
        everyone = np.arange(len(ids))
        firsts = np.full(len(encoded.dictionary), len(ids), np.int64)
        np.minimum.at(firsts, codes, everyone)
        taken = firsts[codes] != everyone
        for segment in segments:
            slots = segment.records.slots(ids)
            here = np.flatnonzero(slots >= 0)
            taken[here[segment.is_alive(slots[here], NEVER - 1)]] = True
        if added:
            taken |= np.fromiter((id in added for id in ids.to_pylist()), np.bool_, len(ids))
        return np.asarray(taken), segments

    def _mark_deleted(self, id: str, version: int) -> bool:
        """Delete a subscription in a version that is yet to come; False if there is none of that id."""
        entry = self._added.pop(id, None)
        if entry is not None:
            entry.deleted = version
        else:
            found = self._find(id)
            if found is None:
                return False
            segment, slot = found
            segment.mark_deleted([slot], version)
        self.count -= 1
        self.updates += 1
        return True

    def _find(self, id: str) -> tuple[LiveSegment, int] | None:
        """Where an id is, if it is in a segment."""
        for segment in reversed(self.state.segments):
            # What the version to come deletes counts already.
            slot = segment.find(id, NEVER - 1)
            if slot >= 0:
                return segment, slot
        return None

    # --- maintenance -------------------------------------------------------------------------------------------

    def newest(self, rows: int = 1) -> SegmentState:
        """The newest version, with a memtable that is small enough to be evaluated one by one on so many rows."""
        state = self.state
        if state.added <= SMALL_MEMTABLE:
            return state
        if not needs_index(state.added, rows):
            return state
        # If another thread makes the memtable a segment, evaluating it once more is quicker than waiting for that.
        if self._flushing.acquire(blocking=False):
            try:
                if self.state.added > SMALL_MEMTABLE:
                    self._flush()
            finally:
                self._flushing.release()
            self.maintain()
        return self.state

    def flush(self) -> SegmentState:
        """Make the memtable a segment; the version stays, because nothing that a match finds changes."""
        with self._flushing:
            return self._flush()

    def _flush(self) -> SegmentState:
        """As `flush`; the caller holds `_flushing`. Others append and remove entries meanwhile."""
        state = self.state
        if not state.added:
            return state
        living = list(state.entries())
        segment = self._segment_of(living) if living else None
        with self.lock:
            now = self.state
            segments = now.segments
            if segment is not None:
                late = [slot for slot, entry in enumerate(living) if entry.deleted != NEVER]
                if late:
                    segment.mark_deleted(late, np.array([living[slot].deleted for slot in late], np.int64))
                segments = (*segments, segment)
            for entry in living:
                if self._added.get(entry.subscription.id) is entry:
                    del self._added[entry.subscription.id]
            # A list of its own: readers of older versions keep theirs.
            memtable = now.memtable[state.added :]
            self.state = SegmentState(now.version, segments, memtable, len(memtable))
            self._progress.notify_all()
            return self.state

    def _segment_of(self, entries: Sequence[MemtableEntry]) -> LiveSegment:
        builder = ForestBuilder()
        for entry in entries:
            builder.add(entry.formula)
        forest = builder.forest()
        records = Records.of([entry.subscription for entry in entries])
        calling = [(slot, each.rest) for slot, each in enumerate(entries) if each.rest is not None]
        return LiveSegment(forest, records, self._build(forest), verifier_of(calling))

    def maintain(self) -> None:
        """Merge what is due: here and now if it is little, else beside the callers, who use the old segments."""
        while several := self._claim(_MERGED_AT_ONCE):
            self._merge(several)
        if self._is_due():
            self._background.wake()

    def settle(self) -> None:
        """Wait until nothing is due, and nothing is being merged any more.

        Raises:
            MergeError: A merge failed.
        """
        self.maintain()
        self._background.wait()
        with self._progress:
            self._progress.wait_for(lambda: not self._merged)

    def stop(self) -> None:
        """End what goes on beside the callers; what is due stays due.

        Raises:
            MergeError: A merge has failed.
        """
        self._background.stop()
        self._background.raise_failure()

    def merge(self) -> None:
        """Make one segment of all, without what is deleted.

        Raises:
            MergeError: A merge in the background has failed.
        """
        self._background.raise_failure()
        self.flush()
        with self._progress:
            self._whole_merges += 1
            try:
                self._progress.wait_for(lambda: not self._merged)
            finally:
                self._whole_merges -= 1
            segments = self.state.segments
            if len(segments) <= 1 and not any(segment.dead for segment in segments):
                return
            self._merged.update(map(id, segments))
        self._merge(segments)

    def _is_due(self) -> bool:
        return bool(due([each for each in self.state.segments if id(each) not in self._merged]))

    def _work(self) -> bool:
        """What the background does: one thing that is due; False if nothing is."""
        if self.state.added >= LARGE_MEMTABLE:
            self.flush()
            return True
        several = self._claim()
        if several:
            self._merge(several)
        return bool(several)

    def _claim(self, most: float = inf) -> list[LiveSegment]:
        """Segments that are due, if that is no more work than `most`; the caller merges them, and nobody else."""
        with self.lock:
            if self._whole_merges:
                return []
            several = due([each for each in self.state.segments if id(each) not in self._merged], most)
            self._merged.update(map(id, several))
            return several

    def _merge(self, several: Sequence[LiveSegment]) -> None:
        """Put one segment in the place of several that the caller has claimed; changes may go on meanwhile."""
        try:
            version = self.state.version
            merged, kept = merge(several, version, self._build, self._background.check)
            with self.lock:
                carry_tombstones(merged, several, kept, version)
                gone = {id(segment) for segment in several}
                rest = [segment for segment in self.state.segments if id(segment) not in gone]
                self.state = self.state._replace(segments=(*([merged] if len(merged) else []), *rest))
        finally:
            with self._progress:
                self._merged.difference_update(map(id, several))
                self._progress.notify_all()


_held: list[SegmentCollection] = []
"""The collections whose locks the thread that forks holds."""


def _before_fork() -> None:
    """Let no collection be in the middle of a change: its lock is held for moments only."""
    _collections_lock.acquire()
    _held.extend(_collections)
    for collection in _held:
        collection.lock.acquire()


def _after_fork(*, is_child: bool) -> None:
    for collection in _held:
        if is_child:
            collection.after_fork()
        collection.lock.release()
    _held.clear()
    _collections_lock.release()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=lambda: _after_fork(is_child=False),
    after_in_child=lambda: _after_fork(is_child=True),
)
