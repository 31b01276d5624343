"""Steps in structures, counted (P17): trees by ranges, ranges found and values; a table against links.

A tree is that of one attribute, with buckets of one conjunction, so that it is as large as it can be. Steps of a
query are fitted by `a + b s + c log2 n + d log2 K`: n ranges, s buckets found, K values. The way from a bucket and
an attribute to a structure is measured with the hash table of the index, and with a list of structures in every
bucket.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import pyarrow as pa

from benchmarks.buckets_bench import Bench, Part
from benchmarks.buckets_cases import DIMENSIONS, STRUCTURES
from benchmarks.buckets_shape import changes_of
from benchmarks.contest import keys_of
from benchmarks.families import SEED
from benchmarks.report import number
from benchmarks.timing import timed
from tamis.arrays import I64
from tamis.engines.bitslice import Bitslice
from tamis.engines.forest import Forest, forest_of
from tamis.events.batch import EventBatch
from tamis.events.event_type import Attribute, EventType
from tamis.lab.mishra_sahni.buckets import Buckets
from tamis.lab.mishra_sahni.buckets.kernels.hash_table import empty_table, look_up, set_value
from tamis.language.bulk import compile_conditions
from tamis.values.types import BIGINT

_TYPE = EventType("steps", attributes=(Attribute("x", BIGINT, required=True),))
_FOUND = (4, 64)
"""Ranges that hold a value, about."""
_VALUES = (1 << 20, 1 << 40)
_EVENTS = 64
_CHILDREN = (8, DIMENSIONS)
"""Structures of a bucket: far below the header, and of the header itself."""
_ASKED = 15
"""Attributes of an event."""


class Counted(NamedTuple):
    """Steps of a query in one tree: of n ranges, with s buckets found, over K values."""

    ranges: int
    found: float
    values: int
    steps: float


def _measure(bench: Bench) -> None:
    for structure in STRUCTURES:
        _trees(bench, structure)
    for count in bench.extent.links:
        for children in _CHILDREN:
            _links(bench, count, children)


def _trees(bench: Bench, structure: Any) -> None:
    counted: list[Counted] = []
    for count in bench.extent.ranges:
        for values in _VALUES:
            for found in _FOUND:
                bench.lab.progress(f"P17, {structure}: {count} ranges, {found} found, {values} values")
                forest, batch = _ranges(count, found, values)
                index = Buckets(1, structure).build(forest)
                changed = changes_of(index)
                _check(structure, index, forest, batch)
                index.work()
                index.match(batch)
                done = index.work()
                each = Counted(count, done["buckets"] / batch.rows, values, done["steps"] / batch.rows)
                counted.append(each)
                title = f"P17, {structure}, n {count}, K 2^{values.bit_length() - 1}, s {number(each.found)}"
                bench.tell(f"{title}: steps of a query", number(each.steps))
                if changed.steps:
                    told = f"{number(changed.steps / count)}, {number(changed.rotations / count)}"
                    bench.tell(f"{title}: steps and rotations of an insertion", told)
    bench.tell(f"P17, {structure}: steps of a query", fitted(counted))


def _ranges(count: int, found: int, values: int) -> tuple[Forest, EventBatch]:
    """So many ranges of one attribute, of which about `found` hold a value, and events."""
    draws = np.random.default_rng(SEED)
    width = max(values * found // count, 1)
    lows = draws.integers(0, values, count)
    highs = lows + draws.integers(1, 2 * width, count, endpoint=True)
    texts = [f"x BETWEEN {low} AND {high}" for low, high in zip(lows.tolist(), highs.tolist(), strict=True)]
    column = compile_conditions(pa.array(texts, pa.large_string()), _TYPE)
    events = [{"x": value} for value in draws.integers(0, values, _EVENTS).tolist()]
    return forest_of(column), EventBatch.of(events, _TYPE)


def _check(structure: str, index: Any, forest: Forest, batch: EventBatch) -> None:
    """Compare pairs with those of another engine."""
    if not np.array_equal(keys_of(index, [batch]), keys_of(Bitslice().build(forest), [batch])):
        msg = f"P17: {structure} of {len(forest)} ranges finds other pairs than bitslice"
        raise SystemExit(msg)


def fitted(counted: list[Counted]) -> str:
    """Steps as a sum of what they should grow with, by least squares of relative errors."""
    steps = np.array([each.steps for each in counted])
    design = np.array([[1.0, each.found, np.log2(each.ranges), np.log2(each.values)] for each in counted])
    weights, *_ = np.linalg.lstsq(design / steps[:, None], np.ones(len(steps)), rcond=None)
    worst = float(np.abs(design @ weights / steps - 1).max())
    a, b, c, d = weights.tolist()
    told = f"{number(a)} {b:+.3g} s {c:+.3g} log2 n {d:+.3g} log2 K"
    return f"{told}; greatest residual {worst:.0%} of {len(counted)} points"


def _links(bench: Bench, count: int, children: int) -> None:
    """Time and steps from (bucket, attribute) to a structure, by one hash table and by a list in every bucket."""
    draws = np.random.default_rng(SEED)
    buckets = -(-count // children)
    labels = np.sort(draws.permuted(np.tile(np.arange(DIMENSIONS), (buckets, 1)), axis=1)[:, :children], axis=1)
    # Buckets are filled in turns, so that neighbours in a list are not neighbours in memory.
    order = draws.permutation(labels.size)
    places = np.empty(labels.size, np.int64)
    places[order] = np.arange(labels.size)
    nodes = places.reshape(labels.shape)
    following = np.full(labels.size, -1, np.int64)
    following[nodes[:, :-1].ravel()] = nodes[:, 1:].ravel()
    axes = np.empty(labels.size, np.int64)
    axes[nodes.ravel()] = labels.ravel()
    table = _filled(labels, nodes)
    asked = draws.integers(0, buckets, max(_EVENTS, min(count, 20_000)))
    wanted = np.sort(draws.integers(0, DIMENSIONS, (len(asked), _ASKED)), axis=1)
    by_table = _by_table(table, asked, wanted)
    by_links, steps = _by_links(nodes[:, 0].copy(), following, axes, asked, wanted)
    if by_table != by_links:
        msg = f"P17: the table finds structures that sum up to {by_table}, the lists to {by_links}"
        raise SystemExit(msg)
    seconds = timed(lambda: _by_table(table, asked, wanted))
    listed = timed(lambda: _by_links(nodes[:, 0].copy(), following, axes, asked, wanted))
    title = f"P17, {count} structures, {children} of a bucket"
    bench.tell(f"{title}: looks by table, steps by links", f"{_ASKED}, {number(steps / len(asked))}")
    bench.tell(f"{title}: time by links by time by table", number(listed / max(seconds, 1e-9)))


@numba.njit(nogil=True)
def _filled(labels: I64, nodes: I64) -> Any:
    table = empty_table()
    for bucket in range(labels.shape[0]):
        for place in range(labels.shape[1]):
            set_value(table, bucket, labels[bucket, place], nodes[bucket, place])
    return table


@numba.njit(nogil=True)
def _by_table(table: Any, asked: I64, wanted: I64) -> int:
    """The sum of all structures found."""
    total = 0
    for at in range(len(asked)):
        for axis in wanted[at]:
            total += max(look_up(table, asked[at], axis), 0)
    return total


@numba.njit(nogil=True)
def _by_links(heads: I64, following: I64, axes: I64, asked: I64, wanted: I64) -> tuple[int, int]:
    """The same, and steps along lists, which are walked beside the attributes of an event, both being sorted."""
    total = steps = 0
    for at in range(len(asked)):
        node = heads[asked[at]]
        for axis in wanted[at]:
            while node >= 0 and axes[node] < axis:
                node = following[node]
                steps += 1
            if node < 0:
                break
            if axes[node] == axis:
                total += node
    return total, steps


STEPS = {"P17": Part("steps in trees, and a table of structures against links", _measure)}
