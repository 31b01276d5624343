"""Plain twins of what kernels compute, and random forests to compare them on."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tamis import compile_conditions
from tamis.arrays import Mask
from tamis.engines.base import Index
from tamis.engines.forest import INTERVAL, PIECES, TEST, Forest, Leaves, Nodes, Pieces, forest_of
from tamis.engines.forest.axes import HIGHEST, KEY_SCALE, LOWEST, Axis
from tamis.engines.forest.tests import tests_of
from tamis.events import EventBatch, EventType
from tamis.formulas.expression import Path
from tamis.formulas.formula import Formula
from tamis.frames import BatchFrame
from tamis.lab.baselines.postings import Postings
from tamis.lab.workloads import generate
from tamis.values.types import BIGINT

Pair = tuple[int, int]


def pairs_of(formulas: Sequence[Formula], batch: EventBatch) -> list[Pair]:
    """Every row and slot whose formula holds, in order."""
    frame, memory = BatchFrame(batch), dict[Formula, Mask]()
    found = [(row, slot) for slot, each in enumerate(formulas) for row in np.flatnonzero(each.mask(frame, memory))]
    return sorted((int(row), slot) for row, slot in found)


def check(index: Index, formulas: Sequence[Formula], batch: EventBatch) -> int:
    """An index finds the pairs that there are, each once; how many there are."""
    found = index.match(batch)
    assert found.rows.dtype == found.slots.dtype == np.int32
    pairs = sorted(zip(found.rows.tolist(), found.slots.tolist(), strict=True))
    wanted = pairs_of(formulas, batch)
    assert pairs == wanted, sorted(set(pairs) ^ set(wanted))[:5]
    return len(wanted)


def check_workload(index_of: Callable[[Forest], Index], name: str, **parameters: Any) -> int:
    """An index finds the pairs that `postings` finds on a workload, each once; how many there are."""
    data = generate(name, subscriptions=600, events=60, seed=5, **parameters)
    forest = forest_of(compile_conditions(data.conditions, data.event_type))
    batch = EventBatch.of(data.events, data.event_type)
    found, wanted = (
        sorted(zip(each.rows.tolist(), each.slots.tolist(), strict=True))
        for each in (index_of(forest).match(batch), Postings().build(forest).match(batch))
    )
    assert found == wanted, sorted(set(found) ^ set(wanted))[:5]
    assert len(set(found)) == len(found)
    return len(found)


def event_type(axes: int) -> EventType:
    """Of events for `random_forest`: a0, a1, ..."""
    return EventType.from_dict({"name": "t", "attributes": {f"a{axis}": "bigint" for axis in range(axes)}})


def random_events(random_: random.Random, axes: int, domain: int, rows: int) -> EventBatch:
    """Events, some without some attributes."""
    events = [
        {f"a{axis}": random_.randrange(-2, domain + 2) for axis in range(axes) if random_.random() < 0.9}
        for _ in range(rows)
    ]
    return EventBatch.of(events, event_type(axes))


def random_forest(
    random_: random.Random, slots: int, *, axes: int = 4, domain: int = 50, depth: int = 2, width: float = 0.6
) -> Forest:
    """Formulas over intervals, pieces and NULL; nodes are shared within a formula, now and then."""
    leaves: list[tuple[int, int, int, int, int]] = []
    pieces: list[tuple[int, int]] = []
    least: list[int] = []
    firsts, children, roots = [0], list[int](), list[int]()

    def leaf() -> int:
        axis, null = random_.randrange(axes), int(random_.random() < 0.15)
        low = random_.randrange(domain)
        high = min(low + int(random_.random() * width * domain), domain)
        kind = random_.random()
        if kind < 0.2:
            cuts = sorted(random_.sample(range(domain + 20), 2 * random_.choice((2, 3, 5))))
            first = len(pieces)
            pieces.extend(zip(cuts[0::2], cuts[1::2], strict=True))
            leaves.append((PIECES, null, axis, first, len(pieces)))
        else:
            odd = ((low, low), (LOWEST, high), (low, HIGHEST), (low, low - 1))
            leaves.append((INTERVAL, null, axis, *random_.choice((*odd, *[(low, high)] * 5))))
        return ~(len(leaves) - 1)

    def node(level: int, known: list[int]) -> int:
        if known and random_.random() < 0.1:
            return random_.choice(known)
        if level == 0:
            return leaf()
        count = random_.choice((1, 2, 3, 3, 4))
        below = [node(level - random_.choice((1, 1, level)), known) for _ in range(count)]
        children.extend(below)
        firsts.append(len(children))
        least.append(random_.choice((0, 1, 1, count, count, count, 2, count + 1)) if level < depth else count)
        known.append(len(least) - 1)
        return len(least) - 1

    for _ in range(slots):
        roots.append(node(random_.choice((0, depth, depth)), []))
    table = np.array(leaves, np.int64).reshape(-1, 5)
    ends = np.array(pieces, np.int64).reshape(-1, 2)
    return Forest(
        tuple(Axis(Path((f"a{axis}",), BIGINT), KEY_SCALE) for axis in range(axes)),
        tests_of(())[0],
        Leaves(
            table[:, 0].astype(np.uint8),
            table[:, 1].astype(np.uint8),
            table[:, 2].astype(np.int32),
            table[:, 3].copy(),
            table[:, 4].copy(),
        ),
        Pieces(ends[:, 0].copy(), ends[:, 1].copy()),
        Nodes(np.array(least, np.int32), np.array(firsts, np.int64), np.array(children, np.int32)),
        np.array(roots, np.int32),
    )


def leaf_holds(forest: Forest, leaf: int, value: int | None) -> bool:
    """Does a leaf that is no test hold for a value of its axis?"""
    kind, low, high = (int(each[leaf]) for each in (forest.leaves.kinds, forest.leaves.lows, forest.leaves.highs))
    assert kind != TEST
    if value is None:
        return bool(forest.leaves.nulls[leaf])
    if kind == INTERVAL:
        return low <= value <= high
    intervals = zip(forest.pieces.lows[low:high], forest.pieces.highs[low:high], strict=True)
    return any(first <= value <= last for first, last in intervals)


def node_holds(forest: Forest, number: int, truth: Sequence[bool]) -> bool:
    """Does a node or leaf hold, given the truth of every leaf?"""
    if number < 0:
        return truth[~number]
    first, last = forest.nodes.firsts[number : number + 2].tolist()
    children = forest.nodes.children[first:last].tolist()
    return sum(node_holds(forest, child, truth) for child in children) >= int(forest.nodes.least[number])
