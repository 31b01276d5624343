"""How near the engine is to what the machine can do: bytes that a batch makes it read and write, against memory.

The *limit* is what these bytes would take if nothing else took time: what is read at the speed at which one thread
reads memory, what is written at the speed at which it copies. What the engine takes more is arithmetic, branches,
and waiting for single cache lines. Counted are, of one batch:

- entries of the groups that its events visit: once, or once for every 512 events if masks search the group;
- masks of cell ranges and of nodes of mask programs, written and read;
- coordinates of the events and their rows, written and read;
- residuals: what the pairs that were found need beyond their conjunctions, and the children of those nodes;
- patterns: every distinct text, and a state of the automaton for each of its bytes;
- pairs, written.

What candidates cost that turn out to be none is not counted, so a limit is a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tamis.engines.base import frame_of
from tamis.engines.bitslice import BitsliceIndex
from tamis.engines.bitslice.kernels.mask_programs import HEAD, RUN
from tamis.engines.bitslice.kernels.masks import STRIP
from tamis.engines.bitslice.kernels.visits import (
    PackedGroups,
    Visits,
    batch_of,
    packed_groups,
    row_tests,
    visits_of,
)
from tamis.engines.bitslice.layout import NO_NODE, CellBatch, IndexArrays
from tamis.engines.encoding import EncodedBatch
from tamis.engines.formula_program import child_counts
from tamis.events.batch import EventBatch
from tamis.formulas.predicates.base import Frame
from tamis.formulas.predicates.matches import MatchesPattern
from tamis.lab.measuring.timing import timed

_MEASURED_BYTES = 1 << 27
_REPEATS = 3
_PAIR_BYTES = 8
_MASK_BYTES = STRIP // 8
_STATE_BYTES = 4
HEADS = (
    "entries a batch",
    "ns an entry",
    "pairs an event",
    "KB of entries",
    "of masks",
    "of coordinates",
    "of residuals",
    "of patterns",
    "of pairs",
    "us/event",
    "limit, us/event",
    "share",
)


class Memory(NamedTuple):
    """Bytes a second that one thread reads, and that it copies; a byte that is copied counts once."""

    read: float
    copied: float


class Touched(NamedTuple):
    """Bytes that a batch reads, by what they are, or writes; masks and coordinates are written, then read."""

    entries: float
    masks: float
    coordinates: float
    residuals: float
    patterns: float
    pairs: float

    @property
    def read(self) -> float:
        return self.entries + self.masks + self.coordinates + self.residuals + self.patterns

    @property
    def written(self) -> float:
        return self.masks + self.coordinates + self.pairs


@dataclass(frozen=True, slots=True)
class Limit:
    """What one batch takes, and what it would take at the speed of memory.

    Attributes:
        entries: Of all groups that events of the batch visit, each once, and formulas of mask programs.
        touched: Bytes.
        pairs: Found.
        events: Of the batch.
        microseconds: Of the processor, an event.
        memory: Of the machine.
    """

    entries: int
    touched: Touched
    pairs: int
    events: int
    microseconds: float
    memory: Memory

    @property
    def limit(self) -> float:
        """Microseconds an event if nothing but memory took time."""
        seconds = self.touched.read / self.memory.read + self.touched.written / self.memory.copied
        return seconds * 1e6 / self.events

    def cells(self) -> tuple[float, ...]:
        """A row of the table, in the order of `HEADS`."""
        each = self.microseconds * 1e3 * self.events / max(1, self.entries)
        kilobytes = [size / 1e3 for size in self.touched]
        share = self.limit / self.microseconds
        return self.entries, each, self.pairs / self.events, *kilobytes, self.microseconds, self.limit, share


def measure_memory() -> Memory:
    """How fast one thread reads and copies memory that is in no cache."""
    source = np.ones(_MEASURED_BYTES // 8, np.uint64)
    target = np.zeros_like(source)
    return Memory(_speed(source.max), _speed(lambda: np.copyto(target, source)))


def _speed(run: Callable[[], object]) -> float:
    return _MEASURED_BYTES / min(timed(run) for _ in range(_REPEATS))


def limit_of(index: BitsliceIndex, batch: EventBatch, microseconds: float, memory: Memory) -> Limit:
    """The limit for a batch that takes so many microseconds of the processor an event."""
    arrays, frame = index.index, frame_of(batch)
    encoded: EncodedBatch = index._encoder.encode(frame)
    no_lines = np.full(len(index.forest.tests), -1, np.int32)
    rows = batch_of(arrays.cells, encoded, no_lines, False)
    visits = visits_of(arrays.groups, arrays.attribute_pairs, rows, row_tests(encoded))
    counts = np.zeros(len(arrays.groups.runs) - 1, np.int32)
    packed = packed_groups(
        arrays.groups, arrays.bitmaps, arrays.attribute_pairs.first_group[0], visits, index.fewest, counts
    )
    slots = index.match(batch).slots
    visited, of_entries, of_masks = _searched(arrays, visits, packed)
    programs = arrays.mask_programs
    strips = -(-batch.rows // STRIP)
    nodes = int(programs.runs[RUN - 1 :: RUN].sum(dtype=np.int64))
    of_programs = strips * (programs.roots.nbytes + programs.children.nbytes)
    of_masks += strips * _MASK_BYTES * (len(programs.range_lows) + nodes) if len(programs.heads) > HEAD else 0
    touched = Touched(
        of_entries + of_programs,
        of_masks,
        _coordinate_bytes(encoded, rows),
        _residual_bytes(arrays, slots),
        _text_bytes(index, frame),
        len(slots) * _PAIR_BYTES,
    )
    return Limit(visited + len(programs.slots), touched, len(slots), batch.rows, microseconds, memory)


def _searched(arrays: IndexArrays, visits: Visits, packed: PackedGroups) -> tuple[int, float, float]:
    """The entries that a batch visits, their bytes, and those of the masks that it makes for them."""
    groups, entries = arrays.groups, arrays.entries
    every = np.unique(visits.groups)
    strips = np.ones(len(groups.runs) - 1, np.int64)
    strips[packed.groups] = -(-np.diff(packed.firsts) // STRIP)
    first, last = groups.run_entries[groups.runs[every]], groups.run_entries[groups.runs[every + 1]]
    ranges = entries.firsts[last].astype(np.int64) - entries.firsts[first]
    sizes = (last - first) * entries.firsts.itemsize + ranges * entries.ranges.itemsize
    named = np.diff(groups.range_firsts)[packed.groups]
    masks = int((named * strips[packed.groups]).sum()) * _MASK_BYTES
    return int((last - first).sum()), float((sizes * strips[every]).sum()), float(masks)


def _coordinate_bytes(encoded: EncodedBatch, rows: CellBatch) -> float:
    return float(encoded.coordinates.nbytes + encoded.valid.nbytes + rows.values.nbytes + rows.rows.nbytes)


def _residual_bytes(arrays: IndexArrays, slots: np.ndarray[tuple[int], np.dtype[np.int32]]) -> float:
    """Of the residuals and guards of the subscriptions that were found, once a pair, with their children."""
    entries, program = arrays.entries, arrays.program
    size = int(max(entries.slots.max(initial=-1), slots.max(initial=-1))) + 1
    of_slot = np.zeros(size, np.int64)
    for nodes in (entries.residuals, entries.guards):
        if len(nodes):
            here = nodes[nodes != NO_NODE]
            children = np.where(here >= 0, child_counts(program, np.maximum(here, 0)), 1)
            bytes_of = nodes.itemsize + children * program.records.itemsize
            np.add.at(of_slot, entries.slots[nodes != NO_NODE], bytes_of)
    return float(of_slot[slots].sum())


def _text_bytes(index: BitsliceIndex, frame: Frame) -> float:
    """Of every distinct text that patterns search, with a state of the automaton a byte."""
    tests = [index.forest.tests[number] for number in range(len(index.forest.tests))]
    attributes = {test.attribute: None for test in tests if isinstance(test, MatchesPattern)}
    texts = [{text for text in frame.column(each).to_list() if isinstance(text, str)} for each in attributes]
    return float(sum(len(text.encode()) * (1 + _STATE_BYTES) for several in texts for text in several))
