"""A segment as a matcher has it: formulas, their index and records, immutable but for deaths.

A death has the version in which it happened: slot s is alive in version v if `died[s] > v`. So whoever reads one
version sees nothing of what later ones do to the same segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.base import Estimating, Index, Matches
from tamis.engines.forest import Forest
from tamis.engines.guess import Guess
from tamis.operators.settling import USUAL, Manner, Settler
from tamis.predicates.base import Frame
from tamis.segments.records import Records
from tamis.snapshot.segment import Segment

NEVER = (1 << 63) - 1
Slots: TypeAlias = npt.NDArray[np.int64]


class LiveSegment:
    """Subscriptions by slot.

    Attributes:
        forest: Their formulas, with what calls an operator taken for granted.
        records: Their ids, texts and so on.
        index: Finds them.
        settler: Decides what of them calls operators; None if nothing does.
        stored: The segment as it was opened or last published, None if it never was.
    """

    __slots__ = ("_died", "_guess", "dead", "forest", "index", "records", "settler", "stored")

    def __init__(
        self,
        forest: Forest,
        records: Records,
        index: Index,
        settler: Settler | None = None,
        stored: Segment | None = None,
    ) -> None:
        self.forest = forest
        self.records = records
        self.index = index
        self.settler = settler
        self.stored = stored
        self.dead = 0
        self._died: Slots | None = None
        self._guess: Guess | None = None

    def __len__(self) -> int:
        """Number of slots, the dead ones included."""
        return len(self.records)

    @property
    def alive(self) -> int:
        """Number of slots that are alive now."""
        return len(self) - self.dead

    def kill(self, slots: npt.NDArray[np.integer] | Sequence[int], version: int | Slots) -> None:
        """Some living slots die; only whoever holds the matcher's lock may say so."""
        if self._died is None:
            self._died = np.full(len(self), NEVER, np.int64)
        self._died[slots] = version
        self.dead += len(slots)

    def is_alive(self, slots: npt.NDArray[np.integer], version: int) -> npt.NDArray[np.bool_]:
        """Which of these slots are alive in a version."""
        died = self._died
        return np.ones(len(slots), np.bool_) if died is None else np.asarray(died[slots] > version)

    def living(self, version: int) -> Slots:
        """The slots that are alive in a version."""
        died = self._died
        return np.arange(len(self)) if died is None else np.flatnonzero(died > version)

    def buried(self, version: int) -> Slots:
        """The slots that are dead in a version."""
        died = self._died
        return np.empty(0, np.int64) if died is None else np.flatnonzero(died <= version)

    def deaths(self, slots: Slots) -> Slots:
        """In which version each of these slots died, NEVER if it did not."""
        died = self._died
        return np.full(len(slots), NEVER, np.int64) if died is None else died[slots]

    def find(self, id: str, version: int) -> int:
        """The living slot of an id, -1 if there is none."""
        slot = self.records.slot(id)
        return slot if slot < 0 or self._died is None or self._died[slot] > version else -1

    def estimate(self, frame: Frame) -> npt.NDArray[np.int64]:
        """The expected work of each row: what the index says it looks at, if it can, and a guess of what holds."""
        if self._guess is None:
            self._guess = Guess(self.forest)
        held = self._guess.estimate(frame)
        return held + self.index.estimate(frame) if isinstance(self.index, Estimating) else held

    def match(self, frame: Frame, version: int, manner: Manner = USUAL) -> Matches:
        """The pairs of a version; operators are called in that manner."""
        found = self.index.match(frame)
        died = self._died
        if died is not None and len(found.slots):
            keep = died[found.slots] > version
            found = found if keep.all() else Matches(found.rows[keep], found.slots[keep])
        return found if self.settler is None else self.settler.settle(frame, found, manner)
