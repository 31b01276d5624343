"""A collection: subscriptions that come and go over segments that never change.

Every change makes a new version; a reader works on the state that was the newest when it began and sees nothing of
later ones. What was added lately is in the memtable, in no index; when enough has gathered it becomes a segment,
and segments are merged as `tamis.segments.merge` says. Changes wait for each other, readers wait for nobody.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

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
from tamis.kernels import is_compiled
from tamis.segments.columns import Columns
from tamis.segments.memtable import MemtableEntry, match_entries, verifier_of
from tamis.segments.merge import carry_tombstones, due, merge
from tamis.segments.pairs import Pairs
from tamis.segments.records import Records, Subscription
from tamis.segments.segment import NEVER, LiveSegment
from tamis.verification.residuals import split_forest
from tamis.verification.verifier import DEFAULT_POLICY, CallPolicy, CallVerifier

SMALL_MEMTABLE = 32
"""Entries that a match evaluates one by one rather than building an index for them."""
LARGE_MEMTABLE = 10_000
"""Entries that wait for a match at most."""
_MERGED_AT_ONCE = 20_000
"""Subscriptions that are merged while whoever changed something waits, which takes a fraction of a second."""
_COMPILED_KERNELS = "tamis.engines.bitslice.kernels.handle"
"""The last module that the default engine calls kernels of: if they are compiled, so are those of the index."""
_EVALUATIONS_WORTH_COMPILING = 1_000_000
"""Where kernels must be compiled for an index, so many formulas are evaluated without one first: by then that has
taken as long as compiling will, so that nobody waits more than twice as long as was necessary."""
_ROWS_OF_EVALUATION = 1_000
"""Rows for which a formula is evaluated in about the time that its evaluation takes at least."""


class SegmentState(NamedTuple):
    """One version: segments, and the first `added` entries of the memtable."""

    version: int
    segments: tuple[LiveSegment, ...]
    memtable: list[MemtableEntry]
    added: int

    def subscriptions(self) -> Iterator[Subscription]:
        """All subscriptions."""
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
        groups: list[tuple[Records | list[MemtableEntry], Matches]] = [
            (segment.records, segment.match(frame, self.version, policy)) for segment in self.segments
        ]
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

    def __init__(self, build: Callable[[Forest], Index], segments: Sequence[LiveSegment] = ()) -> None:
        """Of no subscriptions, or of those in some segments; `build` makes the index of a new segment."""
        self.state = SegmentState(0, tuple(segments), [], 0)
        self.count = sum(segment.alive for segment in segments)
        self.updates = 0
        self.lock = threading.RLock()
        self._build = build
        self._added: dict[str, MemtableEntry] = {}
        self._evaluations = 0
        self._merging = threading.Lock()

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

    def append(self, subscription: Subscription, formula: Formula) -> None:
        """Add a subscription of a new id."""
        with self.lock:
            entry = MemtableEntry(subscription, formula)
            state = self.state
            state.memtable.append(entry)
            self._added[subscription.id] = entry
            self.count += 1
            self.updates += 1
            self.state = state._replace(version=state.version + 1, added=state.added + 1)
            if self.state.added >= LARGE_MEMTABLE:
                self.flush()

    def append_many(self, columns: Columns, forest: Forest, places: I64) -> None:
        """Add some subscriptions of new ids as a segment."""
        if len(places) < len(columns):
            columns, forest = columns.take(places), join_forests([(forest, places)])
        records = Records.of_columns(*columns[:7])
        forest, rest = split_forest(forest)
        segment = LiveSegment(forest, records, self._build(forest), None if rest is None else CallVerifier(*rest))
        with self.lock:
            state = self.state
            self.count += len(columns)
            self.updates += len(columns)
            self.state = state._replace(version=state.version + 1, segments=(*state.segments, segment))

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
        encoded = ids.dictionary_encode()
        codes = encoded.indices.to_numpy()
        everyone = np.arange(len(ids))
        firsts = np.full(len(encoded.dictionary), len(ids), np.int64)
        np.minimum.at(firsts, codes, everyone)
        taken = firsts[codes] != everyone
        for segment in self.state.segments:
            slots = segment.records.slots(ids)
            here = np.flatnonzero(slots >= 0)
            taken[here[segment.is_alive(slots[here], NEVER - 1)]] = True
        if self._added:
            taken |= np.fromiter((id in self._added for id in ids.to_pylist()), np.bool_, len(ids))
        return np.asarray(taken)

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
        if not is_compiled(_COMPILED_KERNELS):
            self._evaluations += state.added * (1 + rows // _ROWS_OF_EVALUATION)
            if self._evaluations < _EVALUATIONS_WORTH_COMPILING:
                return state
        with self.lock:
            if self.state.added > SMALL_MEMTABLE:
                self.flush()
            state = self.state
        self.maintain()
        return state

    def flush(self) -> SegmentState:
        """Make the memtable a segment; the version stays, because nothing that a match finds changes."""
        with self.lock:
            state = self.state
            living = list(state.entries())
            segments = state.segments
            if living:
                builder = ForestBuilder()
                for entry in living:
                    builder.add(entry.formula)
                forest = builder.forest()
                records = Records.of([entry.subscription for entry in living])
                calling = [(slot, each.rest) for slot, each in enumerate(living) if each.rest is not None]
                segment = LiveSegment(forest, records, self._build(forest), verifier_of(calling))
                segments = (*segments, segment)
            self._added = {}
            self.state = SegmentState(state.version, segments, [], 0)
            return self.state

    def maintain(self) -> None:
        """Merge the segments that are due, unless another thread does so already.

        What takes long is left to a thread of its own: changes and publications go on with the old segments.
        """
        while due(self.state.segments) and self._merging.acquire(blocking=False):
            several = due(self.state.segments)
            if sum(segment.alive for segment in several) > _MERGED_AT_ONCE:
                threading.Thread(target=self._merge_due, args=(several,), name="tamis merge", daemon=True).start()
                return
            self._merge_due(several)

    def _merge_due(self, several: Sequence[LiveSegment]) -> None:
        """Merge segments, and let go of what keeps other threads from doing so."""
        try:
            if several:
                self._merge(several)
        finally:
            self._merging.release()

    def merge(self) -> None:
        """Make one segment of all, without what is deleted."""
        with self._merging:
            segments = self.flush().segments
            if len(segments) > 1 or any(segment.dead for segment in segments):
                self._merge(segments)

    def _merge(self, several: Sequence[LiveSegment]) -> None:
        """Put one segment in the place of several; changes may go on meanwhile."""
        merged, kept = merge(several, self.state.version, self._build)
        with self.lock:
            carry_tombstones(merged, several, kept)
            gone = {id(segment) for segment in several}
            rest = [segment for segment in self.state.segments if id(segment) not in gone]
            self.state = self.state._replace(segments=(*([merged] if len(merged) else []), *rest))
