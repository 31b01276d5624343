"""The kernels of `hits`: subscriptions in and out, and the pairs of a batch.

A subscription has a dense number, used again when it goes: where its tree is, how many hits make it a candidate,
and which slot it fills. A predicate has a bag of subscriptions, one of them as often as the predicate stands in
its tree.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt
from numba.experimental import structref

from tamis.engines.dynamic.bags import (
    Bags,
    bag_bytes,
    bags_of,
    numbers_in,
    put_in,
    reserve_bags,
    run_of,
    runs_of,
    take_out,
)
from tamis.engines.dynamic.counters import COPY_SHARE, count_down, restore
from tamis.engines.dynamic.index import Event
from tamis.engines.dynamic.predicates import Predicates, held_in, hold_on, let_go, room_for_held
from tamis.engines.forest import Nodes
from tamis.engines.grouping import grown
from tamis.engines.hits.trees import (
    MOST_BYTES,
    MOST_DEPTH,
    encode,
    gate_of,
    holds,
    least_hits,
    leaves_in,
    tree_length,
)
from tamis.engines.structs import struct

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]

UNIT = 8
"""Trees begin at multiples of it."""
MOST_LEAVES = 255
"""Hits are counted in a byte; a tree with more leaves is a candidate of every event."""
GATE = 64
"""What a gate weighs in hits; a tree that has one has fewer leaves."""
_NEVER = 255
HELD, HITS, CANDIDATES, MATCHES = 0, 1, 2, 3
"""What is counted of the work: predicates that held, hits, candidates, matches."""


@struct
class File(structref.StructRefProxy):  # type: ignore[misc]
    """What `file_of` gives; only compiled code looks into it.

    users: the bags of all predicates; gated: those of the subscriptions to which a predicate is a gate.
    data: uint8[...]: the trees; used: how many bytes of it; free: int32[sizes]: free places by size, in units.
    places: int32[subscriptions]: where the tree is, in units; the next free number of a free one.
    needed: uint8[subscriptions]: hits that make it a candidate; 0 if it always is one.
    slots: int32[subscriptions]: -1 of a free one.
    numbers: int32[slots]: the subscription, -1 if there is none.
    made, free_number, count: numbers ever given, a free one or -1, subscriptions.
    always: bag 0 has the subscriptions that are candidates of every event.
    counters: uint8[subscriptions]: as `needed` between events.
    work: int64[4]: see HELD and so on.
    """

    users: Bags
    gated: Bags
    data: Bytes
    used: int
    free: Shorts
    places: Shorts
    needed: Bytes
    slots: Shorts
    numbers: Shorts
    made: int
    free_number: int
    count: int
    always: Bags
    counters: Bytes
    work: Ints


@numba.njit(cache=True, nogil=True)
def file_of() -> File:
    """Of no subscriptions."""
    return File(
        bags_of(0),
        bags_of(0),
        np.empty(0, np.uint8),
        0,
        np.full(MOST_BYTES // UNIT + 2, -1, np.int32),
        np.empty(0, np.int32),
        np.empty(0, np.uint8),
        np.empty(0, np.int32),
        np.empty(0, np.int32),
        0,
        -1,
        0,
        bags_of(1),
        np.empty(0, np.uint8),
        np.zeros(4, np.int64),
    )


@numba.njit(cache=True, nogil=True)
def _new_number(file: File, slot: int) -> int:
    if slot >= len(file.numbers):
        old = len(file.numbers)
        file.numbers = grown(file.numbers, max(slot + 1, old + old // 2))
        file.numbers[old:] = -1
    file.count += 1
    if file.free_number >= 0:
        number = file.free_number
        file.free_number = file.places[number]
    else:
        number = file.made
        file.made += 1
        if number == len(file.places):
            length = number + number // 2 + 16
            file.places, file.slots = grown(file.places, length), grown(file.slots, length)
            file.needed, file.counters = grown(file.needed, length), grown(file.counters, length)
    file.numbers[slot] = number
    file.slots[number] = slot
    return int(number)


@numba.njit(cache=True, nogil=True)
def _store(file: File, tree: Bytes, length: int) -> int:
    """Put a tree into a free place; gives the place."""
    units = (length + UNIT - 1) // UNIT
    place = file.free[units]
    if place >= 0:
        file.free[units] = file.data[place * UNIT : place * UNIT + 4].view(np.int32)[0]
    else:
        place = file.used // UNIT
        file.used += units * UNIT
        if file.used > len(file.data):
            # Room by units, so that every place can hold the number of the next free one.
            room = (len(file.data) + len(file.data) // 2 + 4_096) // UNIT * UNIT
            file.data = grown(file.data, max(file.used, room))
    for byte in range(length):
        file.data[place * UNIT + byte] = tree[byte]
    return int(place)


@numba.njit(cache=True, nogil=True)
def _needed(tree: Bytes, at: int, leaves: Shorts, settings: tuple[bool, bool, bool]) -> tuple[int, int]:
    """How many hits make a tree a candidate, and how many of its first leaves are gates.

    A tree that begins with an AND of a leaf, or of an OR of leaves, cannot hold without one of them. Each of these
    weighs as much as `GATE` others, which are fewer: without it, no number of hits is enough.
    """
    widths, weighted, semantic = settings
    if len(leaves) > MOST_LEAVES:
        return 0, 0
    needed = min(_NEVER, least_hits(tree, at, widths, leaves, semantic))
    gates = gate_of(tree, at, widths) if weighted and len(leaves) < GATE else 0
    return (needed + GATE - 1, gates) if gates else (needed, 0)


@numba.njit(cache=True, nogil=True)
def insert_trees(
    file: File,
    predicates: Predicates,
    nodes: Nodes,
    children: Shorts,
    given: tuple[Shorts, Shorts, Shorts],
    settings: tuple[bool, bool, bool],
) -> Shorts:
    """Put formulas into empty slots; gives the places of those whose trees are too long, which are not put in.

    Args:
        file: Of the index.
        predicates: Of the index.
        nodes: Of the forest.
        children: Its children, in the order in which they shall stand.
        given: The slots, the roots that go there, and the predicate of every leaf of the forest.
        settings: Do trees have widths, are there gates, are hits counted semantically?
    """
    slots, roots, numbers = given
    widths = settings[0]
    reserve_bags(file.users, len(predicates.axes))
    reserve_bags(file.gated, len(predicates.axes))
    tree = np.empty(MOST_BYTES, np.uint8)
    leaves = np.empty(MOST_BYTES // 5 + 1, np.int32)
    refused = np.empty(len(slots), np.int32)
    refusals = 0
    for each in range(len(slots)):
        length = encode(nodes, children, numbers, roots[each], widths, tree)
        if length == 0:
            refused[refusals] = each
            refusals += 1
            continue
        count = leaves_in(tree, 0, widths, leaves)
        subscription = _new_number(file, slots[each])
        file.places[subscription] = _store(file, tree, length)
        needed, gates = _needed(tree, 0, leaves[:count], settings)
        file.needed[subscription] = file.counters[subscription] = needed
        if needed == 0:
            put_in(file.always, 0, subscription)
        for leaf in range(count):
            hold_on(predicates, leaves[leaf])
            if needed:
                put_in(file.gated if leaf < gates else file.users, leaves[leaf], subscription)
    return refused[:refusals]


@numba.njit(cache=True, nogil=True)
def delete_trees(file: File, predicates: Predicates, slots: Shorts, settings: tuple[bool, bool, bool]) -> None:
    """Empty some slots that are not empty; settings as they were when these were filled."""
    widths = settings[0]
    leaves = np.empty(MOST_BYTES // 5 + 1, np.int32)
    for slot in slots:
        subscription = file.numbers[slot]
        place = file.places[subscription]
        count = leaves_in(file.data, place * UNIT, widths, leaves)
        needed, gates = _needed(file.data, place * UNIT, leaves[:count], settings)
        if needed == 0:
            take_out(file.always, 0, subscription)
        for leaf in range(count):
            if needed:
                take_out(file.gated if leaf < gates else file.users, leaves[leaf], subscription)
            let_go(predicates, leaves[leaf])
        units = (tree_length(file.data, place * UNIT, widths) + UNIT - 1) // UNIT
        file.data[place * UNIT : place * UNIT + 4].view(np.int32)[0] = file.free[units]
        file.free[units] = place
        file.numbers[slot] = -1
        file.slots[subscription] = -1
        file.places[subscription] = file.free_number
        file.free_number = subscription
        file.count -= 1


@numba.njit(cache=True, nogil=True)
def _count_gates(cells: Shorts, start: int, end: int, counters: Bytes, candidates: Shorts, waiting: int) -> int:
    """A gate's hit for each subscription of a run; what is a candidate has wrapped around, above `2 * GATE`."""
    for place in range(start, end):
        subscription = np.uint32(cells[place])
        left = counters[subscription]
        if 0 < left <= GATE:
            candidates[waiting] = subscription
            waiting += 1
            counters[subscription] = 0
        elif GATE < left < 2 * GATE:
            counters[subscription] = left - np.uint8(GATE)
    return waiting


@numba.njit(cache=True, nogil=True)
def match_trees(
    file: File, predicates: Predicates, event: Event, owners: Shorts, widths: bool, circuit: bool
) -> tuple[Shorts, Shorts]:
    """The pairs of a batch: rows and slots.

    With `owners` (one a slot, or none at all), an owner gets one pair an event, and his further candidates are
    not looked at; the second array has owners then.
    """
    held = room_for_held(predicates)
    bits = np.zeros(len(held) // 8 + 1, np.uint8)
    seen = np.full(owners.max() + 1 if len(owners) else 0, -1, np.int32)
    candidates = np.empty(file.count + 1, np.int32)
    path = np.empty((MOST_DEPTH, 3), np.int64)
    users, gated = file.users, file.gated
    counters, needed = file.counters, file.needed
    data, places, slots = file.data, file.places, file.slots
    rows, found = np.empty(1024, np.int32), np.empty(1024, np.int32)
    used = 0
    for row in range(event.encoded.rows):
        holding = held_in(predicates, event.encoded, event.tests, event.with_null, row, held)
        waiting, hits = 0, 0
        for subscription in numbers_in(file.always, 0):
            candidates[waiting] = subscription
            waiting += 1
        for each in range(holding):
            number = held[each]
            bits[number >> 3] |= 1 << (number & 7)
            for run in range(runs_of(users.counts, users.heads, users.cells, number)):
                start, end = run_of(users.counts, users.heads, users.cells, number, run)
                hits += end - start
                waiting = count_down(users.cells, start, end, counters, candidates, waiting)
            for run in range(runs_of(gated.counts, gated.heads, gated.cells, number)):
                start, end = run_of(gated.counts, gated.heads, gated.cells, number, run)
                hits += end - start
                waiting = _count_gates(gated.cells, start, end, counters, candidates, waiting)
        if used + waiting > len(rows):
            rows, found = grown(rows, 2 * (used + waiting)), grown(found, 2 * (used + waiting))
        before = used
        for each in range(waiting):
            subscription = candidates[each]
            if len(owners) and seen[owners[slots[subscription]]] == row:
                continue
            if holds(data, places[subscription] * UNIT, widths, bits, circuit, path):
                answer = slots[subscription]
                if len(owners):
                    answer = owners[answer]
                    seen[answer] = row
                rows[used], found[used] = row, answer
                used += 1
        file.work[HELD] += holding
        file.work[CANDIDATES] += waiting
        file.work[HITS] += hits
        file.work[MATCHES] += used - before
        for each in range(holding):
            bits[held[each] >> 3] = 0
        if hits * COPY_SHARE > file.made:
            for subscription in range(file.made):
                counters[subscription] = needed[subscription]
        else:
            for each in range(holding):
                restore(users, held[each], counters, needed)
                restore(gated, held[each], counters, needed)
    return rows[:used].copy(), found[:used].copy()


@numba.njit(cache=True, nogil=True)
def file_bytes(file: File) -> tuple[int, int, int, int, int, int]:
    """Of bags, trees, places, needed hits, counters, and slots."""
    return (
        bag_bytes(file.users) + bag_bytes(file.gated) + bag_bytes(file.always),
        file.used,
        4 * file.made,
        file.made,
        file.made,
        4 * file.made + file.numbers.nbytes,
    )


@numba.njit(cache=True, nogil=True)
def file_counts(file: File) -> tuple[int, int]:
    """Subscriptions, and those that are always candidates."""
    return file.count, int(file.always.counts[0])


@numba.njit(cache=True, nogil=True)
def work_of(file: File) -> Ints:
    """What was done since this was asked last; see HELD and so on."""
    done = file.work.copy()
    file.work[:] = 0
    return done


@numba.njit(cache=True, nogil=True)
def tree_of(file: File, slot: int, widths: bool) -> Bytes:
    """The bytes of a slot's tree."""
    start = file.places[file.numbers[slot]] * UNIT
    return file.data[start : start + tree_length(file.data, start, widths)].copy()


@numba.njit(cache=True, nogil=True)
def needed_by(file: File, slot: int, settings: tuple[bool, bool, bool]) -> int:
    """How many hits make a slot's subscription a candidate, if a gate weighs as much as others."""
    start = file.places[file.numbers[slot]] * UNIT
    leaves = np.empty(MOST_BYTES // 5 + 1, np.int32)
    count = leaves_in(file.data, start, settings[0], leaves)
    needed, gates = _needed(file.data, start, leaves[:count], settings)
    return needed - GATE + 1 if gates else needed
