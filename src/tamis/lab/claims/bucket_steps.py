"""Steps in structures, counted: trees by ranges, ranges found and values; a table against links.

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

from tamis.arrays import I64
from tamis.engines.bitslice import Bitslice
from tamis.engines.forest import Forest, forest_of
from tamis.events.batch import EventBatch
from tamis.events.event_type import Attribute, EventType
from tamis.lab.claims.bucket_cases import DIMENSIONS
from tamis.lab.measuring.contest import keys_of
from tamis.lab.measuring.timing import timed
from tamis.lab.mishra_sahni.buckets import Buckets
from tamis.lab.mishra_sahni.buckets.kernels.hash_table import empty_table, look_up, set_value
from tamis.language.bulk import compile_conditions
from tamis.values.types import BIGINT

_TYPE = EventType("steps", attributes=(Attribute("x", BIGINT, required=True),))
_EVENTS = 64
_ASKED = 15
"""Attributes of an event."""


class Counted(NamedTuple):
    """Steps of a query in one tree: of n ranges, with s buckets found, over K values."""

    ranges: int
    found: float
    values: int
    steps: float


def count_steps(structure: Any, count: int, found: int, values: int, seed: int) -> Counted:
    """Steps of a query in a tree of so many ranges; its pairs are compared with another engine's first."""
    forest, batch = _ranges(count, found, values, seed)
    index = Buckets(1, structure).build(forest)
    _check(structure, index, forest, batch)
    index.work()
    index.match(batch)
    done = index.work()
    return Counted(count, done["buckets"] / batch.rows, values, done["steps"] / batch.rows)


def _ranges(count: int, found: int, values: int, seed: int) -> tuple[Forest, EventBatch]:
    """So many ranges of one attribute, of which about `found` hold a value, and events."""
    draws = np.random.default_rng(seed)
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
        msg = f"{structure} of {len(forest)} ranges finds other pairs than bitslice"
        raise SystemExit(msg)


class Fit(NamedTuple):
    """Steps as `constant + found s + ranges log2 n + values log2 K`, and the greatest relative residual."""

    constant: float
    found: float
    ranges: float
    values: float
    residual: float


def fit_steps(counted: list[Counted]) -> Fit:
    """Steps as a sum of what they should grow with, by least squares of relative errors."""
    steps = np.array([each.steps for each in counted])
    design = np.array([[1.0, each.found, np.log2(each.ranges), np.log2(each.values)] for each in counted])
    weights, *_ = np.linalg.lstsq(design / steps[:, None], np.ones(len(steps)), rcond=None)
    constant, found, ranges, values = weights.tolist()
    residual = float(np.abs(design @ weights / steps - 1).max())
    return Fit(constant, found, ranges, values, residual)


def table_against_links(count: int, children: int, seed: int, rounds: int) -> tuple[float, ...]:
    """Time from (bucket, attribute) to a structure along lists in buckets, by that with one hash table."""
    draws = np.random.default_rng(seed)
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
    table, heads = _filled(labels, nodes), nodes[:, 0].copy()
    asked = draws.integers(0, buckets, max(_EVENTS, min(count, 20_000)))
    wanted = np.sort(draws.integers(0, DIMENSIONS, (len(asked), _ASKED)), axis=1)
    by_table, by_links = _by_table(table, asked, wanted), _by_links(heads, following, axes, asked, wanted)
    if by_table != by_links:
        msg = f"the table finds structures that sum up to {by_table}, the lists to {by_links}"
        raise SystemExit(msg)
    ratios = []
    for _ in range(rounds):
        seconds = timed(lambda: _by_table(table, asked, wanted))
        ratios.append(timed(lambda: _by_links(heads, following, axes, asked, wanted)) / max(seconds, 1e-9))
    return tuple(ratios)


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
def _by_links(heads: I64, following: I64, axes: I64, asked: I64, wanted: I64) -> int:
    """The same along lists, which are walked beside the attributes of an event, both being sorted."""
    total = 0
    for at in range(len(asked)):
        node = heads[asked[at]]
        for axis in wanted[at]:
            while node >= 0 and axes[node] < axis:
                node = following[node]
            if node < 0:
                break
            if axes[node] == axis:
                total += node
    return total
