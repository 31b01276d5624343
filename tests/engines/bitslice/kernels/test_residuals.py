"""Residuals are ANDs, guards are ORs, and one part alone needs no node."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.bitslice.kernels.entries import WrittenEntries
from tamis.engines.bitslice.kernels.placement import PlacedFormulas, Placements
from tamis.engines.bitslice.kernels.residuals import NewNodes, residual_nodes
from tamis.engines.bitslice.layout import NO_NODE, EntryArrays

NONE = np.empty(0, np.int32)


def test_nodes_of_four_entries() -> None:
    """Slot 0 has a cover of three leaves, 7 8 9, and an earlier disjunct, node 5; slot 1 has neither."""
    slots = np.array([0, 0, 0, 1], np.int32)
    earlier = np.array([0, 1, 2, 0], np.int32)
    ints = np.zeros(4, np.int64)
    placements = Placements(slots, slots.astype(np.uint8), slots, ints, ints, slots, earlier)
    covers, cover_firsts = np.array([7, 8, 9], np.int32), np.array([0, 3, 3])
    entries = EntryArrays(slots, NONE, np.empty(0, np.uint16), NONE, NONE, NONE, NONE)
    # Entry 0 has no residual part, entry 1 has leaf 4, entry 2 has nodes 1 and 2, entry 3 has node 3.
    residual_parts = np.array([~4, 1, 2, 3], np.int32)
    written = WrittenEntries(entries, np.arange(4), np.array([0, 0, 1, 3, 4]), residual_parts)
    new = NewNodes(np.zeros(12, np.int32), np.zeros(12, np.int64), np.zeros(20, np.int32))
    residuals, guards = np.zeros(4, np.int64), np.zeros(4, np.int64)
    placed = PlacedFormulas(placements, covers, cover_firsts, np.empty(0))
    nodes, edges = residual_nodes(written, placed, np.array([5, NO_NODE]), 10, new, residuals, guards)
    ends = [0, *new.ends[:nodes].tolist()]
    assert edges == ends[-1]
    made = {
        10 + node: (int(new.least[node]), new.children[ends[node] : ends[node + 1]].tolist())
        for node in range(nodes)
    }
    assert residuals[[0, 1, 3]].tolist() == [NO_NODE, ~4, 3]
    assert made[int(residuals[2])] == (2, [1, 2])
    assert guards[[0, 3]].tolist() == [5, NO_NODE]
    assert made[int(guards[1])] == (1, [5, ~7])
    least, (disjunct, cover) = made[int(guards[2])]
    assert (least, disjunct, made[cover]) == (1, 5, (1, [~7, ~8]))


@pytest.mark.parametrize("seed", range(20))
def test_residuals_and_guards_mean_what_a_plain_loop_says(seed: int) -> None:
    """Each node is unfolded into what it asks: (least, what its children ask), a part alone for itself."""
    random_, offset = random.Random(seed), 100
    covers = [[random_.randrange(30) for _ in range(random_.randint(1, 4))] for _ in range(random_.randint(1, 12))]
    disjuncts = [random_.choice([NO_NODE, random_.randrange(-30, 99)]) for _ in covers]
    placed = [(slot, earlier) for slot, cover in enumerate(covers) for earlier in range(len(cover))]
    order = random_.sample(range(len(placed)), len(placed))
    parts = [[random_.randrange(-30, 99) for _ in range(random_.randint(0, 3))] for _ in order]

    def joined(least: int, asked: list[object]) -> object:
        return NO_NODE if not asked else asked[0] if len(asked) == 1 else (least or len(asked), asked)

    wanted = []
    for entry, placement in enumerate(order):
        slot, earlier = placed[placement]
        cover = joined(1, [~leaf for leaf in covers[slot][:earlier]])
        guard = joined(1, [each for each in (disjuncts[slot], cover) if each != NO_NODE])
        wanted.append((joined(0, [*parts[entry]]), guard))

    slots = np.array([slot for slot, _ in placed], np.int32)
    ints = np.zeros(len(placed), np.int64)
    placements = Placements(
        slots, slots.astype(np.uint8), slots, ints, ints, slots, np.array([each for _, each in placed], np.int32)
    )
    flat = np.array([leaf for cover in covers for leaf in cover], np.int32)
    everything = PlacedFormulas(placements, flat, np.cumsum([0, *map(len, covers)]), np.empty(0))
    entries = EntryArrays(slots, NONE, np.empty(0, np.uint16), NONE, NONE, NONE, NONE)
    residual_parts = np.array([part for own in parts for part in own], np.int32)
    written = WrittenEntries(entries, np.array(order), np.cumsum([0, *map(len, parts)]), residual_parts)
    room = 3 * len(order)
    new = NewNodes(np.zeros(room, np.int32), np.zeros(room, np.int64), np.zeros(9 * room, np.int32))
    residuals, guards = np.zeros(len(order), np.int64), np.zeros(len(order), np.int64)
    nodes, edges = residual_nodes(written, everything, np.array(disjuncts), offset, new, residuals, guards)
    ends = [0, *new.ends[:nodes].tolist()]
    assert ends[-1] == edges

    def unfolded(number: int) -> object:
        if number == NO_NODE or number < offset:
            return number
        node = number - offset
        children = new.children[ends[node] : ends[node + 1]].tolist()
        assert all(child < number for child in children), "children have lower numbers"
        return int(new.least[node]), [unfolded(child) for child in children]

    found = [(unfolded(int(one)), unfolded(int(other))) for one, other in zip(residuals, guards, strict=True)]
    assert found == wanted
