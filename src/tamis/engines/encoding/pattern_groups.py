"""The pattern tests of a forest: one index for all patterns on an attribute.

A negated test holds where there is a text and the pattern does not match, so it shares the entry of the positive
test with the same pattern. The entries of positive tests come first, in the order of the tests.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from tamis.arrays import I32, I64, AnyArray, Arrays
from tamis.engines.array_kernels import group_by_number
from tamis.engines.forest.tests import PATTERN_TESTS, Tests
from tamis.formulas.expression import Typed
from tamis.formulas.predicates.base import Frame
from tamis.kernels import kernel
from tamis.patterns.index import PatternIndex

Load: TypeAlias = Callable[[], tuple[PatternIndex, I32]]

_INDEX = "index."


class PatternGroup:
    """The pattern tests of one attribute.

    Attributes:
        attribute: What they read.
        number: The attribute's number in `Tests.attributes`.
        positives: int32[...]: tests that are not negated, ascending; the test of each of the first entries.
        negated: int32[...]: tests that are, ascending.
    """

    def __init__(self, attribute: Typed, number: int, positives: I32, negated: I32, load: Load) -> None:
        """As the attributes; `load` returns the index, and the entry of each negated test in it."""
        self.attribute = attribute
        self.number = number
        self.positives = _read_only(positives)
        self.negated = _read_only(negated)
        self._load = load
        self._lock = threading.Lock()
        self._loaded: tuple[PatternIndex, I32] | None = None

    def index(self) -> tuple[PatternIndex, I32]:
        """The index, and the entry of each negated test in it; loaded at the first call."""
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    index, complements = self._load()
                    self._loaded = index, _read_only(complements)
        return self._loaded

    def keys(self, frame: Frame) -> list[I64]:
        """Keys of all pairs that hold, a test in the upper half and a row in the lower; each array is sorted."""
        column = frame.column(self.attribute)
        if not np.count_nonzero(column.valid):
            return []
        index, complements = self.index()
        rows, entries = index.match(column)
        found = [_positive_keys(rows, entries, self.positives)] if len(self.positives) else []
        if len(self.negated):
            found.append(_negated_keys(rows, entries, self.negated, complements, np.flatnonzero(column.valid)))
        return found


@kernel
def _positive_keys(rows: I32, entries: I32, positives: I32) -> I64:
    """Keys of the tests that hold, given the entries that match, sorted."""
    count = np.searchsorted(entries, len(positives))
    keys = np.empty(count, np.int64)
    for place in range(count):
        keys[place] = (np.int64(positives[entries[place]]) << 32) | rows[place]
    return keys


@kernel
def _negated_keys(rows: I32, entries: I32, negated: I32, complements: I32, present: I64) -> I64:
    """Keys of the negated tests that hold: in the rows that have a text and no match."""
    firsts = np.searchsorted(entries, complements)
    lasts = np.searchsorted(entries, complements, side="right")
    keys = np.empty(len(negated) * len(present) - np.sum(lasts - firsts), np.int64)
    count = 0
    for number in range(len(negated)):
        match, last = firsts[number], lasts[number]
        for row in present:
            if match < last and rows[match] == row:
                match += 1
            else:
                keys[count] = (np.int64(negated[number]) << 32) | row
                count += 1
    return keys


def build_pattern_groups(tests: Tests) -> list[PatternGroup]:
    """One group for each attribute that patterns read."""
    patterns = tests.patterns
    firsts, order = group_by_number(np.ascontiguousarray(patterns.attributes), len(tests.attributes))
    groups = []
    for number, attribute in enumerate(tests.attributes):
        places = order[firsts[number] : firsts[number + 1]]
        if len(places):
            is_negated = patterns.negated[places] != 0
            positives, negated = places[~is_negated], places[is_negated]
            load = partial(_build, tests, positives, negated)
            groups.append(PatternGroup(attribute, number, positives, negated, load))
    return groups


def _build(tests: Tests, positives: I32, negated: I32) -> tuple[PatternIndex, I32]:
    asked = _patterns(tests, positives)
    if not len(negated):
        return PatternIndex.build(asked), np.empty(0, np.int32)
    known = {pattern: entry for entry, pattern in enumerate(asked)}
    complements = [known.setdefault(pattern, len(known)) for pattern in _patterns(tests, negated)]
    return PatternIndex.build([*known]), np.array(complements, np.int32)


def _patterns(tests: Tests, places: I32) -> list[tuple[str, str]]:
    """The kind and the text of each pattern."""
    patterns = tests.patterns
    buffers = [None, pa.py_buffer(patterns.offsets), pa.py_buffer(patterns.data)]
    texts = pa.Array.from_buffers(pa.large_string(), len(patterns.tests), buffers)
    kinds = [PATTERN_TESTS[kind] for kind in patterns.tests[places].tolist()]
    return list(zip(kinds, texts.take(pa.array(places)).to_pylist(), strict=True))


def write_pattern_groups(groups: Sequence[PatternGroup]) -> dict[str, AnyArray]:
    """All groups in a few arrays, however many attributes there are.

    groups: int64[groups, 3]: number of the attribute, how many tests are not negated, how many are.
    shapes: int64[groups, arrays, 2]: length and width (0 for one dimension) of each array of an index, by name.
    positives, negated, complements: Of all groups, one after another.
    index.*: The arrays of the indexes, one after another.
    """
    if not groups:
        return {}
    loaded = [group.index() for group in groups]
    arrays = [index.arrays() for index, _ in loaded]
    names = sorted(arrays[0])
    shapes = [[(*each[name].shape, 0)[:2] for name in names] for each in arrays]
    table = [(group.number, len(group.positives), len(group.negated)) for group in groups]
    return {
        "groups": np.array(table, np.int64),
        "shapes": np.array(shapes, np.int64),
        "positives": np.concatenate([group.positives for group in groups]),
        "negated": np.concatenate([group.negated for group in groups]),
        "complements": np.concatenate([complements for _, complements in loaded]),
        **{_INDEX + name: np.concatenate([each[name].ravel() for each in arrays]) for name in names},
    }


def read_pattern_groups(attributes: Sequence[Typed], saved: Arrays) -> list[PatternGroup]:
    """What `write_pattern_groups` wrote; nothing is read of an index before it is asked.

    Args:
        attributes: Of the same tests.
        saved: Arrays, possibly memory-mapped.
    """
    table, shapes = saved["groups"], saved["shapes"]
    sizes = shapes[:, :, 0] * np.maximum(shapes[:, :, 1], 1)
    starts = np.concatenate([np.zeros((1, sizes.shape[1]), np.int64), np.cumsum(sizes, axis=0)])
    tests = np.concatenate([np.zeros((1, 2), np.int64), np.cumsum(table[:, 1:], axis=0)])
    groups = []
    for place, number in enumerate(table[:, 0].tolist()):
        (first, negated_first), (last, negated_last) = tests[place].tolist(), tests[place + 1].tolist()
        positives = saved["positives"][first:last]
        negated = saved["negated"][negated_first:negated_last]
        complements = saved["complements"][negated_first:negated_last]
        load = partial(_load, saved, shapes[place], starts[place], complements)
        groups.append(PatternGroup(attributes[number], number, positives, negated, load))
    return groups


def _load(saved: Arrays, shapes: I64, starts: I64, complements: I32) -> tuple[PatternIndex, I32]:
    names = sorted(name for name in saved if name.startswith(_INDEX))
    arrays = {}
    for name, (length, width), start in zip(names, shapes.tolist(), starts.tolist(), strict=True):
        flat = saved[name][start : start + length * max(width, 1)]
        arrays[name.removeprefix(_INDEX)] = flat.reshape(length, width) if width else flat
    return PatternIndex.from_arrays(arrays), complements


def _read_only(array: I32) -> I32:
    """A read-only view, as memory-mapped arrays are; to numba that is a type, and kernels are compiled for one."""
    view = np.ascontiguousarray(array, np.int32).view()
    view.flags.writeable = False
    return view
