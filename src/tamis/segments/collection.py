"""A collection: subscriptions that come and go over segments that never change.

Every change makes a new version; a reader works on the state that was the newest when it began and sees nothing of
later ones. What was added lately waits in the head, in no index; when enough has gathered it becomes a segment,
and segments are merged as `tamis.segments.merging` says. Changes wait for each other, readers wait for nobody.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.engines.base import Index, Matches, Stats
from tamis.engines.forest import Forest, ForestBuilder, forest_of
from tamis.engines.forest.join import join_forests
from tamis.language.expression import Call
from tamis.language.formula import Formula
from tamis.operators.calling import calls_of, separated, split
from tamis.operators.settling import USUAL, Manner, Settler
from tamis.predicates.base import Frame
from tamis.segments.columns import Columns
from tamis.segments.live import NEVER, LiveSegment
from tamis.segments.merging import carry_deaths, due, merge
from tamis.segments.pairs import Pairs
from tamis.segments.records import Records, Subscription
from tamis.values.column import Mask

Places: TypeAlias = npt.NDArray[np.int64]

SMALL_HEAD = 32
"""Subscriptions that a match asks one by one rather than building an index for them."""
LARGE_HEAD = 10_000
"""Subscriptions that wait for a match at most."""


class Waiting:
    """A subscription in the head: its formula, split where it calls operators; `died` is when it was removed."""

    __slots__ = ("died", "formula", "rest", "subscription")

    def __init__(self, subscription: Subscription, formula: Formula) -> None:
        self.subscription = subscription
        self.formula, self.rest = split(formula)
        self.died = NEVER


class State(NamedTuple):
    """One version: segments, and the first `waiting` of the head."""

    version: int
    segments: tuple[LiveSegment, ...]
    head: list[Waiting]
    waiting: int

    def subscriptions(self) -> Iterator[Subscription]:
        """All subscriptions."""
        for segment in self.segments:
            for slot in segment.living(self.version).tolist():
                yield segment.records[slot]
        for waiting in self.heads():
            yield waiting.subscription

    def heads(self) -> Iterator[Waiting]:
        """Those that wait."""
        return (waiting for waiting in self.head[: self.waiting] if waiting.died > self.version)

    def match(self, frame: Frame, manner: Manner = USUAL) -> Pairs:
        """All pairs; operators are called in that manner."""
        lots: list[tuple[Records | list[Waiting], Matches]] = [
            (segment.records, segment.match(frame, self.version, manner)) for segment in self.segments
        ]
        if self.waiting:
            lots.append((self.head, self._asked(frame, manner)))
        return Pairs(frame.rows, lots)

    def users(self, call: Call) -> int:
        """How many subscriptions make a call of an operator."""
        settlers = [segment.settler for segment in self.segments if segment.settler is not None]
        waiting = [each.rest for each in self.heads() if each.rest is not None]
        calling = sum(any(call in calls_of(leaf) for leaf in rest.predicates()) for rest in waiting)
        return calling + sum(settler.users(call) for settler in settlers)

    def estimate(self, frame: Frame) -> Places:
        """The expected work of each row; the head takes the same for all."""
        return sum((segment.estimate(frame) for segment in self.segments), np.zeros(frame.rows, np.int64))

    def _asked(self, frame: Frame, manner: Manner) -> Matches:
        """The pairs of the head, its subscriptions asked one by one."""
        calling = [
            (slot, waiting.rest)
            for slot, waiting in enumerate(self.head[: self.waiting])
            if waiting.rest is not None and waiting.died > self.version
        ]
        memory: dict[Formula, Mask] = {}
        rows, slots = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        for slot, waiting in enumerate(self.head[: self.waiting]):
            if waiting.died > self.version:
                here = np.flatnonzero(waiting.formula.mask(frame, memory)).astype(np.int32)
                rows.append(here)
                slots.append(np.full(len(here), slot, np.int32))
        found = Matches(np.concatenate(rows), np.concatenate(slots))
        return _settler(calling).settle(frame, found, manner) if calling else found


def _settler(calling: Sequence[tuple[int, Formula]]) -> Settler:
    """What decides these formulas, by slot."""
    return Settler(np.array([slot for slot, _ in calling], np.int64), forest_of([rest for _, rest in calling]))


class Collection:
    """Subscriptions by id.

    Attributes:
        state: The newest version.
        count: Number of subscriptions in it.
        updates: How many came and went so far.
        lock: Held by whoever changes it; may be held by the same thread several times.
    """

    def __init__(self, build: Callable[[Forest], Index], segments: Sequence[LiveSegment] = ()) -> None:
        """Of no subscriptions, or of those in some segments; `build` makes the index of a new segment."""
        self.state = State(0, tuple(segments), [], 0)
        self.count = sum(segment.alive for segment in segments)
        self.updates = 0
        self.lock = threading.RLock()
        self._build = build
        self._waiting: dict[str, Waiting] = {}
        self._merging = threading.Lock()

    def find(self, id: str) -> Subscription | None:
        """The subscription of that id, None if there is none."""
        with self.lock:
            waiting = self._waiting.get(id)
            if waiting is not None:
                return waiting.subscription
            found = self._find(id)
            return None if found is None else found[0].records[found[1]]

    def stats(self) -> Stats:
        """What it holds: counts by name, and bytes by structure of all indexes."""
        state = self.state
        counts = {
            "subscriptions": self.count,
            "segments": len(state.segments),
            "dead": sum(segment.dead for segment in state.segments),
            "waiting": sum(1 for _ in state.heads()),
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
            waiting = Waiting(subscription, formula)
            state = self.state
            state.head.append(waiting)
            self._waiting[subscription.id] = waiting
            self.count += 1
            self.updates += 1
            self.state = state._replace(version=state.version + 1, waiting=state.waiting + 1)
            if self.state.waiting >= LARGE_HEAD:
                self.flush()

    def append_many(self, columns: Columns, forest: Forest, places: Places) -> None:
        """Add some subscriptions of new ids as a segment."""
        if len(places) < len(columns):
            columns, forest = columns.take(places), join_forests([(forest, places)])
        records = Records.of_columns(*columns[:5])
        forest, rest = separated(forest)
        segment = LiveSegment(forest, records, self._build(forest), None if rest is None else Settler(*rest))
        with self.lock:
            state = self.state
            self.count += len(columns)
            self.updates += len(columns)
            self.state = state._replace(version=state.version + 1, segments=(*state.segments, segment))

    def replace(self, subscription: Subscription, formula: Formula) -> None:
        """Put a subscription in the place of the one with its id."""
        with self.lock:
            self._kill(subscription.id, self.state.version + 1)
            self.append(subscription, formula)

    def remove(self, id: str) -> bool:
        """Remove a subscription; False if there is none of that id."""
        with self.lock:
            version = self.state.version + 1
            found = self._kill(id, version)
            if found:
                self.state = self.state._replace(version=version)
            return found

    def remove_many(self, ids: pa.LargeStringArray) -> list[str]:
        """Remove many in one version; gives the ids that were not there."""
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
                    segment.kill(slots[here], version)
                    missing[here] = False
            found = int(len(wanted) - missing.sum())
            self.count -= found
            self.updates += found
            if self._waiting:
                for place in np.flatnonzero(missing).tolist():
                    missing[place] = not self._kill(wanted[place].as_py(), version)
            self.state = state._replace(version=version)
        self.tidy()
        not_there: list[str] = wanted.filter(pa.array(missing)).to_pylist()
        return not_there

    def taken(self, ids: pa.LargeStringArray) -> Mask:
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
        if self._waiting:
            taken |= np.fromiter((id in self._waiting for id in ids.to_pylist()), np.bool_, len(ids))
        return np.asarray(taken)

    def _kill(self, id: str, version: int) -> bool:
        """Let a subscription die in a version that is yet to come; False if there is none of that id."""
        waiting = self._waiting.pop(id, None)
        if waiting is not None:
            waiting.died = version
        else:
            found = self._find(id)
            if found is None:
                return False
            segment, slot = found
            segment.kill([slot], version)
        self.count -= 1
        self.updates += 1
        return True

    def _find(self, id: str) -> tuple[LiveSegment, int] | None:
        """Where an id is, if it is in a segment."""
        for segment in reversed(self.state.segments):
            # A death of the version to come counts already.
            slot = segment.find(id, NEVER - 1)
            if slot >= 0:
                return segment, slot
        return None

    # --- order -------------------------------------------------------------------------------------------

    def settled(self) -> State:
        """The newest version, with a head that is small enough to be asked one by one."""
        state = self.state
        if state.waiting <= SMALL_HEAD:
            return state
        with self.lock:
            if self.state.waiting > SMALL_HEAD:
                self.flush()
            state = self.state
        self.tidy()
        return state

    def flush(self) -> State:
        """Make the head a segment; the version stays, because nothing that a match finds changes."""
        with self.lock:
            state = self.state
            living = list(state.heads())
            segments = state.segments
            if living:
                builder = ForestBuilder()
                for waiting in living:
                    builder.add(waiting.formula)
                forest = builder.forest()
                records = Records.of([waiting.subscription for waiting in living])
                calling = [(slot, each.rest) for slot, each in enumerate(living) if each.rest is not None]
                settler = _settler(calling) if calling else None
                segments = (*segments, LiveSegment(forest, records, self._build(forest), settler))
            self._waiting = {}
            self.state = State(state.version, segments, [], 0)
            return self.state

    def tidy(self) -> None:
        """Merge what is due, unless somebody is at it."""
        while due(self.state.segments) and self._merging.acquire(blocking=False):
            try:
                several = due(self.state.segments)
                if several:
                    self._merge(several)
            finally:
                self._merging.release()

    def merge(self) -> None:
        """Make one segment of all, without what is dead."""
        with self._merging:
            segments = self.flush().segments
            if len(segments) > 1 or any(segment.dead for segment in segments):
                self._merge(segments)

    def _merge(self, several: Sequence[LiveSegment]) -> None:
        """Put one segment in the place of several; changes may go on meanwhile."""
        merged, kept = merge(several, self.state.version, self._build)
        with self.lock:
            carry_deaths(merged, several, kept)
            gone = {id(segment) for segment in several}
            rest = [segment for segment in self.state.segments if id(segment) not in gone]
            self.state = self.state._replace(segments=(*([merged] if len(merged) else []), *rest))
