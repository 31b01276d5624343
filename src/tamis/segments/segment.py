"""A segment as a matcher has it: formulas, their index and records, immutable but for tombstones.

A tombstone is the version that deleted a slot: the slot is alive in all versions before that one. So a reader of
one version sees nothing of what later versions delete in the same segment.

Whoever opens or publishes a version does so for some changes, so nothing here may take time or memory for all
slots: deleted slots are listed, and found by a bitmap and an array of versions that begin as zeros, of which the
system provides only the pages that are touched.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.arrays import I64, U8, Integers, Mask
from tamis.engines.base import Estimating, Index, Matches
from tamis.engines.forest import Forest
from tamis.engines.work_estimate import WorkEstimator
from tamis.formulas.predicates.base import Frame
from tamis.segments.records import Records
from tamis.segments.small_index import SmallIndex
from tamis.snapshot.segment import Segment
from tamis.verification.verifier import DEFAULT_POLICY, CallPolicy, CallVerifier

SECONDS_OF_WORK = 1e-8
"""About how long a unit of estimated work takes: one predicate."""
NEVER = (1 << 63) - 1
"""The tombstone of a slot that no version has deleted."""
_MOST_LISTS = 64
"""Lists of deleted slots, after which they are made one."""


class LiveSegment:
    """Subscriptions by slot.

    Attributes:
        forest: Their formulas, with what calls an operator taken for granted.
        records: Their ids, texts and so on.
        index: Finds them.
        verifier: Decides what of them calls operators; None if nothing does.
        stored: The segment as it was opened or last published, None if it never was.
    """

    __slots__ = (
        *("_bits", "_guess", "_lists", "_versions", "dead", "forest", "index", "records", "stored", "verifier"),
        "__weakref__",
    )

    def __init__(
        self,
        forest: Forest,
        records: Records,
        index: Index,
        verifier: CallVerifier | None = None,
        stored: Segment | None = None,
    ) -> None:
        self.forest = forest
        self.records = records
        self.index = index
        self.verifier = verifier
        self.stored = stored
        self.dead = 0
        # Most segments never lose a subscription, and then have none of these three.
        self._bits: U8 | None = None  # a bit a slot, 1 if it is deleted in some version
        self._versions: I64 | None = None  # int64[slots]: which one; absent while it is 0 for all that are deleted
        self._lists: tuple[I64, ...] = ()  # the deleted slots
        self._guess: WorkEstimator | None = None

    def __len__(self) -> int:
        """Number of slots, the deleted ones included."""
        return len(self.records)

    @property
    def alive(self) -> int:
        return len(self) - self.dead

    def mark_deleted(self, slots: Integers | Sequence[int], version: int | I64) -> None:
        """Delete living slots in a version, or each in its own; the caller holds the matcher's lock."""
        which = np.asarray(slots, np.int64)
        if self._bits is None:
            self._bits = np.zeros(-(-len(self) // 8), np.uint8)
        if self._versions is None and np.any(version):
            self._versions = np.zeros(len(self), np.int64)
        # The version first: a reader of an older one that finds the bit must find the version, too.
        if self._versions is not None:
            self._versions[which] = version
        np.bitwise_or.at(self._bits, which >> 3, (1 << (which & 7)).astype(np.uint8))
        lists = (*self._lists, which)
        self._lists = lists if len(lists) < _MOST_LISTS else (np.concatenate(lists),)
        self.dead += len(which)

    def is_alive(self, slots: Integers, version: int) -> Mask:
        if self._bits is None:
            return np.ones(len(slots), np.bool_)
        alive = (self._bits[slots >> 3] >> (slots & 7).astype(np.uint8)) & 1 == 0
        if self._versions is not None:
            deleted = np.flatnonzero(~alive)
            alive[deleted] = self._versions[slots[deleted]] > version
        return np.asarray(alive)

    def living(self, version: int) -> I64:
        """The slots that are alive in a version; takes time for all slots, unlike everything else here."""
        slots = np.arange(len(self))
        return slots if self._bits is None else slots[self.is_alive(slots, version)]

    def tombstones(self, version: int) -> I64:
        """The slots that are deleted in a version, in order."""
        found = np.sort(np.concatenate([np.empty(0, np.int64), *self._lists]))
        return found if self._versions is None else found[self._versions[found] <= version]

    def deleted_after(self, version: int) -> tuple[I64, I64]:
        """The slots that are alive in a version and deleted in later ones, in order, and which version did it."""
        if self._versions is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        deleted = np.sort(np.concatenate([np.empty(0, np.int64), *self._lists]))
        late = deleted[self._versions[deleted] > version]
        return late, self._versions[late]

    def find(self, id: str, version: int) -> int:
        """The living slot of an id, -1 if there is none."""
        slot = self.records.slot(id)
        return slot if slot < 0 or self.is_alive(np.array([slot]), version)[0] else -1

    def estimate(self, frame: Frame, policy: CallPolicy = DEFAULT_POLICY) -> I64:
        """The expected work of each row: predicates that hold, what the index expects to look at, and calls."""
        if self._guess is None:
            self._guess = WorkEstimator(self.forest)
        work = self._guess.estimate(frame)
        if isinstance(self.index, Estimating):
            work = work + self.index.estimate(frame)
        if self.verifier is not None and self.verifier.is_expensive(policy):
            seconds = self.verifier.expected_seconds(frame.rows, self.index.match(frame), policy)
            work = work + np.rint(seconds / SECONDS_OF_WORK).astype(np.int64)
        return work

    def keep_living(self, matches: Matches, version: int) -> Matches:
        """The matches of the index whose slots are alive in a version."""
        if self._bits is None or not len(matches.slots):
            return matches
        keep = self.is_alive(matches.slots, version)
        return matches if keep.all() else Matches(matches.rows[keep], matches.slots[keep])

    def adopt_built_index(self) -> None:
        """Answer with the index that a small one has built meanwhile, if it has."""
        if isinstance(self.index, SmallIndex) and self.index.built is not None:
            self.index = self.index.built
