"""A segment as a matcher has it: formulas, their index and records, immutable but for tombstones.

A tombstone is the version that deleted a slot: slot s is alive in version v if `deleted[s] > v`. So a reader of
one version sees nothing of what later versions delete in the same segment.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tamis.arrays import I64, Mask
from tamis.engines.base import Estimating, Index, Matches
from tamis.engines.forest import Forest
from tamis.engines.work_estimate import WorkEstimator
from tamis.formulas.predicates.base import Frame
from tamis.segments.records import Records
from tamis.snapshot.segment import Segment
from tamis.verification.verifier import DEFAULT_POLICY, CallPolicy, CallVerifier

SECONDS_OF_WORK = 1e-8
"""About how long a unit of estimated work takes: one predicate."""
NEVER = (1 << 63) - 1
"""The tombstone of a slot that no version has deleted."""


class LiveSegment:
    """Subscriptions by slot.

    Attributes:
        forest: Their formulas, with what calls an operator taken for granted.
        records: Their ids, texts and so on.
        index: Finds them.
        verifier: Decides what of them calls operators; None if nothing does.
        stored: The segment as it was opened or last published, None if it never was.
    """

    __slots__ = ("_deleted", "_guess", "dead", "forest", "index", "records", "stored", "verifier")

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
        self._deleted: I64 | None = None  # most segments never lose a subscription
        self._guess: WorkEstimator | None = None

    def __len__(self) -> int:
        """Number of slots, the deleted ones included."""
        return len(self.records)

    @property
    def alive(self) -> int:
        return len(self) - self.dead

    def mark_deleted(self, slots: npt.NDArray[np.integer] | Sequence[int], version: int | I64) -> None:
        """Delete living slots in a version, or each in its own; the caller holds the matcher's lock."""
        if self._deleted is None:
            self._deleted = np.full(len(self), NEVER, np.int64)
        self._deleted[slots] = version
        self.dead += len(slots)

    def is_alive(self, slots: npt.NDArray[np.integer], version: int) -> Mask:
        deleted = self._deleted
        return np.ones(len(slots), np.bool_) if deleted is None else np.asarray(deleted[slots] > version)

    def living(self, version: int) -> I64:
        """The slots that are alive in a version."""
        deleted = self._deleted
        return np.arange(len(self)) if deleted is None else np.flatnonzero(deleted > version)

    def tombstones(self, version: int) -> I64:
        """The slots that are deleted in a version."""
        deleted = self._deleted
        return np.empty(0, np.int64) if deleted is None else np.flatnonzero(deleted <= version)

    def deleted_in(self, slots: I64) -> I64:
        """The version that deleted each of these slots, NEVER if none did."""
        deleted = self._deleted
        return np.full(len(slots), NEVER, np.int64) if deleted is None else deleted[slots]

    def find(self, id: str, version: int) -> int:
        """The living slot of an id, -1 if there is none."""
        slot = self.records.slot(id)
        return slot if slot < 0 or self._deleted is None or self._deleted[slot] > version else -1

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

    def match(self, frame: Frame, version: int, policy: CallPolicy = DEFAULT_POLICY) -> Matches:
        """The pairs of a version; operators are called by that policy."""
        candidates = self.index.match(frame)
        deleted = self._deleted
        if deleted is not None and len(candidates.slots):
            keep = deleted[candidates.slots] > version
            candidates = candidates if keep.all() else Matches(candidates.rows[keep], candidates.slots[keep])
        return candidates if self.verifier is None else self.verifier.verify(frame, candidates, policy)
