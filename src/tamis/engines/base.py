"""What an engine is: something that finds the formulas which a batch of events satisfies.

An index answers for slots, small integers that its owner hands out; it knows nothing of subscription ids. All
engines return the same pairs and differ in time and memory only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from tamis.arrays import I32, I64, AnyArray
from tamis.events.batch import EventBatch
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame
from tamis.frames import BatchFrame
from tamis.statistics import Statistics


class Matches(NamedTuple):
    """Pairs of a row of the batch and a slot: `rows[i]` satisfies the formula in `slots[i]`."""

    rows: I32
    slots: I32


class Stats(NamedTuple):
    """What an index holds: counts by name, and bytes by structure."""

    counts: dict[str, int]
    bytes: dict[str, int]


class Index(Protocol):
    """Formulas in slots, ready to be matched; several threads may match at the same time."""

    def match(self, events: EventBatch | Frame) -> Matches:
        """All pairs, each once, in any order."""

    def stats(self) -> Stats:
        """What it holds."""


@runtime_checkable
class Estimating(Protocol):
    """What an index also is if it can tell the cheap events of a batch from the expensive ones before matching."""

    def estimate(self, events: EventBatch | Frame) -> I64:
        """The expected work of each row, in a unit of the engine's own; far cheaper than matching.

        int64[rows], 0 or more. Estimates of several indexes of one engine are added up.
        """


@runtime_checkable
class StoredIndex(Protocol):
    """What an index also is if snapshots can keep it as arrays."""

    def arrays(self) -> dict[str, AnyArray]:
        """What its engine's `open` takes."""


@runtime_checkable
class DynamicIndex(Protocol):
    """An index that changes in place; it lets one thread at a time change or match."""

    def match(self, events: EventBatch | Frame) -> Matches:
        """All pairs, each once, in any order."""

    def stats(self) -> Stats:
        """What it holds."""

    def insert(self, slot: int, formula: Formula) -> None:
        """Put a formula into an empty slot."""

    def delete(self, slot: int) -> None:
        """Empty a slot."""

    def insert_many(self, slots: I32, formulas: Sequence[Formula]) -> None:
        """Put formulas into empty slots."""

    def delete_many(self, slots: I32) -> None:
        """Empty slots."""


@runtime_checkable
class RankedIndex(DynamicIndex, Protocol):
    """What a dynamic index also is if it reports the pairs of an event by priority."""

    @property
    def makes_calls(self) -> bool:
        """Does it also take formulas that call operators, and call them?"""

    def insert_ranked(self, slots: I32, formulas: Sequence[Formula], priorities: I64) -> None:
        """Put formulas with any priorities into empty slots."""


class Engine(Protocol):
    """A way of matching, by name."""

    @property
    def name(self) -> str:
        """As users write it, without settings."""

    @property
    def dynamic(self) -> bool:
        """Does it build a `DynamicIndex`?"""

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> Index:
        """An index with formula i in slot i; `statistics` tell what to expect of events."""


@runtime_checkable
class MappedEngine(Protocol):
    """What an engine also is if its index is mapped from a snapshot rather than built in every process."""

    def open(self, formulas: Sequence[Formula], arrays: Mapping[str, AnyArray]) -> Index:
        """The index whose `arrays` these are; they are not read before they are needed."""


def frame_of(events: EventBatch | Frame) -> Frame:
    """The rows to match."""
    return BatchFrame(events) if isinstance(events, EventBatch) else events
