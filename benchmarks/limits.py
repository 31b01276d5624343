"""How near the engine is to what the machine can do: bytes that a batch makes it read and write, against memory.

Every entry of a group that some event of the batch visits is read at least once, and every pair is written. Memory
that can copy so many bytes a second would take the *limit* for these; what the engine takes more is arithmetic,
verification, and waiting for single cache lines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamis.engines.base import frame_of
from tamis.engines.bitslice import BitsliceIndex
from tamis.engines.bitslice.kernels.visits import batch_of, row_tests, visits_of
from tamis.engines.encoding import EncodedBatch
from tamis.events.batch import EventBatch
from tamis.lab.measuring.timing import timed

_COPIED_BYTES = 1 << 27
_COPIES = 3
_PAIR_BYTES = 8
HEADS = (
    "entries a batch",
    "bytes an entry",
    "ns an entry",
    "pairs an event",
    "us/event",
    "limit, us/event",
    "share",
)


@dataclass(frozen=True, slots=True)
class Limit:
    """What one batch takes, and what it would take at the speed of memory.

    Attributes:
        entries: Of all groups that events of the batch visit, each once, and formulas of mask programs.
        entry_bytes: That the search reads of an entry.
        pairs: Found.
        events: Of the batch.
        microseconds: Of the processor, an event.
        memory: Bytes a second that the machine copies.
    """

    entries: int
    entry_bytes: float
    pairs: int
    events: int
    microseconds: float
    memory: float

    @property
    def limit(self) -> float:
        """Microseconds an event if nothing but memory took time."""
        moved = self.entries * self.entry_bytes + self.pairs * _PAIR_BYTES
        return moved / self.memory * 1e6 / self.events

    def cells(self) -> tuple[float, ...]:
        """A row of the table, in the order of `HEADS`."""
        each = self.microseconds * 1e3 * self.events / max(1, self.entries)
        share = self.limit / self.microseconds
        return self.entries, self.entry_bytes, each, self.pairs / self.events, self.microseconds, self.limit, share


def copied_bytes_a_second() -> float:
    """How fast one thread copies memory that is in no cache; a byte that is read and written counts once."""
    source = np.ones(_COPIED_BYTES, np.uint8)
    target = np.zeros(_COPIED_BYTES, np.uint8)
    return _COPIED_BYTES / min(timed(lambda: np.copyto(target, source)) for _ in range(_COPIES))


def limit_of(index: BitsliceIndex, batch: EventBatch, microseconds: float, memory: float) -> Limit:
    """The limit for a batch that takes so many microseconds of the processor an event."""
    arrays = index.index
    encoded: EncodedBatch = index._encoder.encode(frame_of(batch))
    rows = batch_of(arrays.cells, encoded, np.full(len(index.forest.tests), -1, np.int32))
    visits = visits_of(arrays.groups, arrays.attribute_pairs, rows, row_tests(encoded))
    sizes = np.diff(arrays.groups.run_entries[arrays.groups.runs])
    visited = int(sizes[np.unique(visits.groups)].sum())
    entries, programs = arrays.entries, arrays.mask_programs
    of_entries = (entries.firsts.nbytes + entries.ranges.nbytes) / max(1, len(entries.slots))
    count = visited + len(programs.slots)
    moved = visited * of_entries + programs.roots.nbytes + programs.children.nbytes
    pairs = len(index.match(batch).slots)
    return Limit(count, moved / max(1, count), pairs, batch.rows, microseconds, memory)
