"""Subscriptions in one index that changes in place, for engines that can: no segments, no memtable, no merges.

Changes and matches take turns, so that a match sees one version. A batch that is matched in several parts sees the
version of its beginning in all of them: what was added since is left out by its version, and what was removed
since is kept as an entry, with its formula, until the last reader of an older version is gone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple
from weakref import WeakSet

import numpy as np
import pyarrow as pa

from tamis.arrays import I32, I64, Mask
from tamis.engines.base import DynamicIndex, Estimating, Matches, RankedIndex, Stats
from tamis.engines.forest import Forest, forest_of
from tamis.engines.forest.join import join_forests
from tamis.engines.work_estimate import WorkEstimator
from tamis.formulas.calls import calls_of
from tamis.formulas.expression import OperatorCall, Typed
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame
from tamis.segments.columns import Columns
from tamis.segments.memtable import HasSubscription, MemtableEntry, match_entries, verifier_of
from tamis.segments.pairs import Pairs
from tamis.segments.records import Subscription
from tamis.segments.segment import LiveSegment
from tamis.verification.residuals import split_forest, split_formula
from tamis.verification.verifier import DEFAULT_POLICY, CallPolicy, CallVerifier

_GUESSED_FROM = 1_000
"""Subscriptions from which the work of events is estimated."""


class LiveEntry(NamedTuple):
    """A subscription in the index, the version that added it, and the part of its formula that calls operators."""

    subscription: Subscription
    added: int
    rest: Formula | None


class LiveState:
    """One version of a live collection, which it keeps readable for as long as this object lives."""

    __slots__ = ("__weakref__", "_collection", "version")

    def __init__(self, collection: LiveCollection) -> None:
        self._collection = collection
        self.version = collection.version

    def match(self, frame: Frame, policy: CallPolicy = DEFAULT_POLICY) -> Pairs:
        """All pairs; operators are called by that policy."""
        here = self._collection
        with here.lock:
            matches = here.index.match(frame)
            if self.version < here.version and len(matches.slots):
                added = np.array([here.entries[slot].added for slot in matches.slots.tolist()])
                matches = Matches(matches.rows[added <= self.version], matches.slots[added <= self.version])
            if here.verifier is not None:
                matches = here.verifier.verify(frame, matches, policy)
            # Slots are used again, so the pairs speak of entries of their own.
            used, places = np.unique(matches.slots, return_inverse=True)
            entries = [here.entries[slot] for slot in used.tolist()]
            # As from segments, an event's pairs come by slot; or by priority, if the index has put them so.
            order = np.argsort(places, kind="stable") if here.ranked is None else np.arange(len(places))
            groups: list[tuple[Sequence[HasSubscription], Matches]] = [
                (entries, Matches(matches.rows[order], places[order].astype(np.int32)))
            ]
            gone = [entry for added, entry in here.removed if added <= self.version]
        if gone:
            groups.append((gone, match_entries(gone, self.version, frame, policy)))
        return Pairs(frame.rows, groups)

    def estimate(self, frame: Frame, policy: CallPolicy = DEFAULT_POLICY) -> I64:
        """The expected work of each row, without that of calls."""
        return self._collection.estimate(frame)

    def is_expensive(self, policy: CallPolicy) -> bool:
        """As `SegmentState`; an index that changes in place knows nothing of calls."""
        return False

    def subscriptions(self) -> Iterator[Subscription]:
        """All subscriptions, as they are now."""
        return iter(self._collection.subscriptions())

    def users(self, call: OperatorCall) -> int:
        """How many subscriptions make a call of an operator."""
        return self._collection.users(call)


class LiveCollection:
    """Subscriptions by id in a dynamic index.

    Attributes:
        version: Grows with every change.
        updates: How many subscriptions were added and removed so far.
        lock: Held while something changes or is matched; the same thread may hold it several times.
        index: The index, whose slots are used again.
        ranked: The same index, if it reports the pairs of an event by priority.
        entries: The living subscriptions by slot.
        removed: Entries that some `LiveState` may still see, each with the version that added it.
        verifier: Decides the calls of operators; None if there are none, or the index makes them.
    """

    def __init__(self, index: DynamicIndex, formula_of: Callable[[Subscription], Formula]) -> None:
        """An empty collection over an empty index; `formula_of` compiles a subscription again."""
        self.version = 0
        self.updates = 0
        self.lock = threading.RLock()
        self.index = index
        self.ranked = index if isinstance(index, RankedIndex) else None
        self._makes_calls = self.ranked is not None and self.ranked.makes_calls
        self._formula_of = formula_of
        self.entries: dict[int, LiveEntry] = {}
        self._slots: dict[str, int] = {}
        self._free: list[int] = []
        self._attributes: dict[Typed, None] = {}
        self._readers: WeakSet[LiveState] = WeakSet()
        self.removed: list[tuple[int, MemtableEntry]] = []
        self.verifier: CallVerifier | None = None
        self._guess: tuple[int, WorkEstimator] | None = None

    @property
    def count(self) -> int:
        return len(self.entries)

    def newest(self, _rows: int = 1) -> LiveState:
        with self.lock:
            state = LiveState(self)
            self._readers.add(state)
            return state

    def find(self, id: str) -> Subscription | None:
        with self.lock:
            slot = self._slots.get(id)
            return None if slot is None else self.entries[slot].subscription

    def subscriptions(self) -> list[Subscription]:
        with self.lock:
            return [entry.subscription for entry in self.entries.values()]

    def stats(self) -> Stats:
        """What the index holds, by name and by structure."""
        with self.lock:
            counts, sizes = self.index.stats()
            return Stats({**counts, "subscriptions": self.count, "segments": 0}, sizes)

    def attributes(self) -> list[Typed]:
        """What the conditions of any subscription so far read."""
        return list(self._attributes)

    def forests(self) -> list[Forest]:
        """The formulas of all living subscriptions, compiled again."""
        return [forest_of([self._formula_of(each) for each in self.subscriptions()])]

    def users(self, call: OperatorCall) -> int:
        """How many subscriptions make a call of an operator."""
        with self.lock:
            rests = [entry.rest for entry in self.entries.values() if entry.rest is not None]
        return sum(any(call in calls_of(leaf) for leaf in rest.predicates()) for rest in rests)

    def estimate(self, frame: Frame) -> I64:
        """The expected work of each row: by the index if it can say, and by a sample of the formulas."""
        with self.lock:
            if self._guess is None or self.updates - self._guess[0] > self.count // 2:
                step = -(-self.count // _GUESSED_FROM) or 1
                some = [entry.subscription for entry in list(self.entries.values())[::step]]
                self._guess = self.updates, WorkEstimator(forest_of([self._formula_of(each) for each in some]))
            held = self._guess[1].estimate(frame)
            return held + self.index.estimate(frame) if isinstance(self.index, Estimating) else held

    # --- changes -----------------------------------------------------------------------------------------

    def append(self, subscription: Subscription, formula: Formula) -> None:
        """Add a subscription of a new id."""
        decided, rest = split_formula(formula)
        self._insert(
            [subscription], [formula if self._makes_calls else decided], {} if rest is None else {0: rest}
        )
        self._attributes |= dict.fromkeys(leaf.attribute for leaf in decided.predicates())

    def append_all(self, given: Iterable[tuple[Subscription, Formula]]) -> None:
        """Add some subscriptions of new ids; the caller holds the lock if they shall be seen together."""
        for subscription, formula in given:
            self.append(subscription, formula)

    def append_many(
        self, columns: Columns, forest: Forest, places: I64, _searched: Sequence[LiveSegment] = ()
    ) -> I64:
        """Add some subscriptions of new ids in one version; returns those that were taken: none."""
        if len(places) < len(columns):
            columns, forest = columns.take(places), join_forests([(forest, places)])
        decided, calling = split_forest(forest)
        rests = {} if calling is None else dict(zip(calling[0].tolist(), calling[1], strict=True))
        subscriptions = [columns.subscription(place) for place in range(len(columns))]
        self._insert(subscriptions, forest if self._makes_calls else decided, rests)
        self._attributes |= dict.fromkeys(axis.attribute for axis in decided.axes)
        return np.empty(0, np.int64)

    def replace(self, subscription: Subscription, formula: Formula) -> None:
        """Put a subscription in the place of the one with its id, in one version."""
        with self.lock:
            old = self._slots[subscription.id]
            self.append(subscription, formula)  # first, because an engine may refuse it
            self.version -= 1
            self._delete([old])

    def remove(self, id: str) -> bool:
        """Remove a subscription; False if there is none of that id."""
        with self.lock:
            if id not in self._slots:
                return False
            self._delete([self._slots[id]])
            return True

    def remove_many(self, ids: pa.LargeStringArray) -> list[str]:
        """Remove many in one version; returns the ids that are not there."""
        with self.lock:
            wanted: list[str] = list(dict.fromkeys(ids.to_pylist()))
            missing = [id for id in wanted if id not in self._slots]
            self._delete([self._slots[id] for id in wanted if id in self._slots])
            return missing

    def existing(self, ids: pa.LargeStringArray) -> Mask:
        """Which ids are there already, or stand there a second time."""
        found = np.zeros(len(ids), np.bool_)
        seen: set[str] = set()
        for place, id in enumerate(ids.to_pylist()):
            found[place] = id in self._slots or id in seen
            seen.add(id)
        return found

    def search(self, ids: pa.LargeStringArray) -> tuple[Mask, tuple[LiveSegment, ...]]:
        """As `existing`; there are no segments."""
        return self.existing(ids), ()

    def make_room(self) -> None:
        """Nothing gathers that would have to be merged."""

    maintain = settle = stop = make_room

    def merge(self) -> None:
        """There is one index already."""

    def _insert(
        self, subscriptions: Sequence[Subscription], formulas: Sequence[Formula], rests: dict[int, Formula]
    ) -> None:
        with self.lock:
            slots, reused = self._new_slots(len(subscriptions))
            if self.ranked is not None:
                self.ranked.insert_ranked(slots, formulas, np.array([each.priority for each in subscriptions]))
            elif len(slots) == 1:  # an index may let single ones wait and enter them together
                self.index.insert(int(slots[0]), formulas[0])
            else:
                self.index.insert_many(slots, formulas)
            del self._free[len(self._free) - reused :]  # not before: a slot of what was refused stays free
            self.version += 1
            self.updates += len(subscriptions)
            for place, (slot, subscription) in enumerate(zip(slots.tolist(), subscriptions, strict=True)):
                self.entries[slot] = LiveEntry(subscription, self.version, rests.get(place))
                self._slots[subscription.id] = slot
            self._after_change(calls=bool(rests))

    def _delete(self, slots: list[int]) -> None:
        with self.lock:
            gone = [self.entries[slot] for slot in slots]
            kept = [
                (entry.added, MemtableEntry(entry.subscription, self._formula_of(entry.subscription)))
                for entry in (gone if len(self._readers) else ())
            ]
            self.index.delete_many(np.array(slots, np.int32))
            self.version += 1
            self.updates += len(slots)
            for slot, entry in zip(slots, gone, strict=True):
                del self.entries[slot]
                if self._slots[entry.subscription.id] == slot:  # else a replacement has the id
                    del self._slots[entry.subscription.id]
                self._free.append(slot)
            for _, each in kept:
                each.deleted = self.version
            self.removed += kept
            self._after_change(calls=any(entry.rest is not None for entry in gone))

    def _new_slots(self, count: int) -> tuple[I32, int]:
        """Empty slots, and how many of them are the last free ones; each slot so far is in use or free."""
        reused = min(count, len(self._free))
        first = len(self.entries) + len(self._free)
        slots = [*self._free[len(self._free) - reused :], *range(first, first + count - reused)]
        return np.array(slots, np.int32), reused

    def _after_change(self, *, calls: bool) -> None:
        if calls and not self._makes_calls:
            self.verifier = verifier_of(
                [(slot, entry.rest) for slot, entry in self.entries.items() if entry.rest is not None]
            )
        oldest = min((reader.version for reader in self._readers), default=self.version)
        self.removed = [(added, entry) for added, entry in self.removed if entry.deleted > oldest]
