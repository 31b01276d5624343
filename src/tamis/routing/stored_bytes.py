"""What a routing entry takes where it is stored: an upper estimate of the bytes of a segment, by its parts.

A segment holds the record of an entry, its formula, the cuts of its ranges and its place in the index. Entries
share cuts and index rows, which is not counted, so that a budget of these bytes holds for the segment
(`tests/routing/test_stored_bytes.py` measures it).
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import F64, I64
from tamis.engines.forest import Forest
from tamis.engines.forest.axes import NumberScale, ObjectScale, TextScale

ENTRY_BYTES = 96.0
"""The record of an entry, its root, and its share of what a segment has once."""
NODE_BYTES, CHILD_BYTES = 12.0, 4.0
TERM_BYTES = 40.0
"""An operand of an OR in the index, which has a row for each."""
SEGMENT_BYTES = 4_096.0
"""What a segment takes besides: its arrays begin at multiples of 64 bytes, and some have a size of their own."""
LEAF_BYTES = 72.0
"""A leaf in the formula and in the index."""
PIECE_BYTES = 38.0
"""An interval of a leaf that has several, in the formula and in the index."""
_TEST_BYTES = 400.0
"""A test in the index, without its text, which counts three times."""
_SAMPLED = 256
"""Tests whose texts are measured."""


def cut_bytes(forest: Forest) -> F64:
    """float64[axes]: bytes of a cut of each axis, the mean of all; 0 where coordinates are the values."""
    found = np.zeros(len(forest.axes))
    for number, axis in enumerate(forest.axes):
        scale = axis.scale
        if isinstance(scale, NumberScale):
            found[number] = 16.0
        elif isinstance(scale, ObjectScale):
            found[number] = 24.0
        elif isinstance(scale, TextScale):
            found[number] = 8.0 + float(scale.offsets[-1] - scale.offsets[0]) / max(1, len(scale))
    return found


def test_bytes(forest: Forest) -> float:
    """Bytes of a test, the mean of some."""
    texts = [test.describe() for test in forest.tests[:_SAMPLED]]
    return _TEST_BYTES + 3.0 * sum(map(len, texts)) / max(1, len(texts))


def leaf_bytes(pieces: I64, cuts: F64) -> F64:
    """Bytes of leaves with so many intervals each, on axes with cuts of so many bytes."""
    return np.asarray(LEAF_BYTES + PIECE_BYTES * np.maximum(0, pieces - 1) + 2.0 * cuts * pieces)
