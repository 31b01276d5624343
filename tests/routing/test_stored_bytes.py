"""Estimated bytes of entries are those of the segments that hold them, and a little more."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from tamis.formulas.formula import TRUE, Formula
from tamis.language.condition import normalise
from tamis.routing.entries import entry_part
from tamis.routing.generalisation import Generalisation
from tamis.routing.shards import index_builder
from tamis.routing.stored_bytes import SEGMENT_BYTES
from tamis.routing.widening import stored_sizes

_RANDOM = random.Random(1)


def _numbers(count: int) -> list[int]:
    return [_RANDOM.randrange(10**9) for _ in range(count)]


CONDITIONS = {
    "values": [f"a = {number}" for number in range(800)],
    "texts": [f"a = 'word number {number}'" for number in range(800)],
    "ranges": [f"a < {number}" for number in range(800)],
    "and": [f"a = {number} AND b < {number % 50} AND c = 'x{number % 7}'" for number in range(800)],
    "or": [f"a = {number} OR b = {number * 7} OR c = 'x{number}'" for number in range(800)],
    "lists": [f"a IN ({', '.join(map(str, _numbers(50)))})" for _ in range(100)],
    "lists of texts": [f"a IN ({', '.join(repr(str(each)) for each in _numbers(50))})" for _ in range(100)],
    "patterns": [f"a LIKE '%word {number} more%'" for number in range(200)],
    "expressions": [f"a RLIKE 'w[ao]rd {number}.*x'" for number in range(100)],
    "and of or": [
        f"(a = {number} AND b = {number % 13} OR a = {number + 1} AND c = {number % 5}) AND (d < 7 OR e > 2)"
        for number in range(400)
    ],
}


def segment_bytes(formulas: list[Formula]) -> int:
    numbers = np.arange(len(formulas), dtype=np.int32)
    ids = pa.array([f"subscription {number}" for number in range(len(formulas))], pa.large_string())
    part = entry_part(Generalisation(formulas, numbers), numbers * 0, ids, "any", index_builder(None))
    assert part is not None
    return part.segment.bytes


@pytest.mark.slow
@pytest.mark.parametrize("kind", CONDITIONS)
def test_the_estimate_is_an_upper_bound_and_not_far_off(kind: str) -> None:
    formulas = [normalise(text) for text in CONDITIONS[kind]]
    stored, estimated = segment_bytes(formulas), float(stored_sizes(formulas).sum())
    assert stored <= estimated + SEGMENT_BYTES
    assert estimated <= 3 * stored


def test_an_empty_table_takes_what_a_segment_does() -> None:
    assert segment_bytes([TRUE]) <= SEGMENT_BYTES
