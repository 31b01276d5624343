"""The tables of general Boolean filtering: subscriptions in and out, and the pairs of a batch.

A subscription has a dense number, which is given again. The thesis's structures (4.2.3):

    users         predicate-subscription association table: a subscription as often as it uses the predicate
    places        subscription location table: where its encoded tree begins in `data`
    needed        minimum predicate count vector
    counters      hit vector, counted down from `needed` (`tamis.lab.dynamic.kernels.hit_counters`)

An event (4.3) sets the bits of the predicates that it satisfies, counts their hits, and evaluates the trees of the
subscriptions whose counter reached zero. A gate counts for `GATE` hits, and `needed` is raised by `GATE` - 1: a
tree that has a gate has fewer than `GATE` leaves, so no number of other hits is enough.
"""

from __future__ import annotations

import numpy as np
from numba.experimental import structref

from tamis.arrays import I32, I64, U8
from tamis.engines.array_kernels import grow
from tamis.engines.forest import Nodes
from tamis.engines.structs import struct
from tamis.kernels import kernel
from tamis.lab.bittner.hits.kernels.encoding import (
    MAX_BYTES,
    MAX_DEPTH,
    encode,
    gate_size,
    least_hits,
    tree_holds,
    tree_length,
    write_leaves,
)
from tamis.lab.dynamic.kernels.hit_counters import COPY_SHARE, count_down, restore_counters
from tamis.lab.dynamic.kernels.posting_lists import (
    PostingLists,
    add_posting,
    empty_posting_lists,
    posting_list_bytes,
    postings_in,
    remove_posting,
    reserve_lists,
    run_bounds,
    run_count,
)
from tamis.lab.dynamic.kernels.predicates import (
    Predicates,
    release_predicate,
    retain_predicate,
    satisfied_buffer,
    satisfied_in,
)
from tamis.lab.dynamic.predicate_index import EncodedEvents

UNIT = 8
"""Trees begin at multiples of this many bytes."""
MAX_LEAVES = 255
"""Hits are counted in a byte; a tree with more leaves than this is a candidate of every event."""
GATE = 64
"""How many hits a gate counts for; a tree that has one has fewer leaves than this."""
_NEVER = 255
HELD, HITS, CANDIDATES, MATCHES = 0, 1, 2, 3
"""Counts of work: satisfied predicates, hits, candidates, matches."""


@struct
class SubscriptionTable(structref.StructRefProxy):  # type: ignore[misc]
    """Made by `empty_table`; only compiled code reads its fields.

    users: the subscriptions of each predicate; gated: those to which the predicate is a gate.
    data: uint8[...]: the trees; used: how many bytes of it; free: int32[sizes]: a free range by size, in units.
    places: int32[subscriptions]: where the tree begins, in units; of a free number the next free one.
    needed: uint8[subscriptions]: hits that make it a candidate; 0 if it always is one.
    slots: int32[subscriptions]: -1 of a free one.
    numbers: int32[slots]: the subscription, -1 if there is none.
    made, free_number, count: numbers ever given, a free one or -1, subscriptions.
    always: list 0 has the subscriptions that are candidates of every event.
    counters: uint8[subscriptions]: equal to `needed` between events.
    work: int64[4]: see HELD and so on.
    """

    users: PostingLists
    gated: PostingLists
    data: U8
    used: int
    free: I32
    places: I32
    needed: U8
    slots: I32
    numbers: I32
    made: int
    free_number: int
    count: int
    always: PostingLists
    counters: U8
    work: I64


@kernel
def empty_table() -> SubscriptionTable:
    return SubscriptionTable(
        empty_posting_lists(0),
        empty_posting_lists(0),
        np.empty(0, np.uint8),
        0,
        np.full(MAX_BYTES // UNIT + 2, -1, np.int32),
        np.empty(0, np.int32),
        np.empty(0, np.uint8),
        np.empty(0, np.int32),
        np.empty(0, np.int32),
        0,
        -1,
        0,
        empty_posting_lists(1),
        np.empty(0, np.uint8),
        np.zeros(4, np.int64),
    )


@kernel
def _new_subscription(table: SubscriptionTable, slot: int) -> int:
    if slot >= len(table.numbers):
        old = len(table.numbers)
        table.numbers = grow(table.numbers, max(slot + 1, old + old // 2))
        table.numbers[old:] = -1
    table.count += 1
    if table.free_number >= 0:
        number = table.free_number
        table.free_number = table.places[number]
    else:
        number = table.made
        table.made += 1
        if number == len(table.places):
            length = number + number // 2 + 16
            table.places, table.slots = grow(table.places, length), grow(table.slots, length)
            table.needed, table.counters = grow(table.needed, length), grow(table.counters, length)
    table.numbers[slot] = number
    table.slots[number] = slot
    return int(number)


@kernel
def _store_tree(table: SubscriptionTable, tree: U8, length: int) -> int:
    """Copy a tree to a free range of `data`; returns where it begins, in units."""
    units = (length + UNIT - 1) // UNIT
    place = table.free[units]
    if place >= 0:
        table.free[units] = table.data[place * UNIT : place * UNIT + 4].view(np.int32)[0]
    else:
        place = table.used // UNIT
        table.used += units * UNIT
        if table.used > len(table.data):
            # A multiple of the unit, so that every free range can hold the number of the next one.
            room = (len(table.data) + len(table.data) // 2 + 4_096) // UNIT * UNIT
            table.data = grow(table.data, max(table.used, room))
    for byte in range(length):
        table.data[place * UNIT + byte] = tree[byte]
    return int(place)


@kernel
def _required_hits(tree: U8, at: int, leaves: I32, settings: tuple[bool, bool, bool]) -> tuple[int, int]:
    """How many hits make a tree a candidate, and how many of its first leaves are gates.

    A tree that begins with an AND of a leaf, or of an OR of leaves, cannot be true without one of them: those
        leaves are gates.
    """
    widths, weighted, semantic = settings
    if len(leaves) > MAX_LEAVES:
        return 0, 0
    needed = min(_NEVER, least_hits(tree, at, widths, leaves, semantic))
    gates = gate_size(tree, at, widths) if weighted and len(leaves) < GATE else 0
    return (needed + GATE - 1, gates) if gates else (needed, 0)


@kernel
def insert_trees(
    table: SubscriptionTable,
    predicates: Predicates,
    nodes: Nodes,
    children: I32,
    given: tuple[I32, I32, I32],
    settings: tuple[bool, bool, bool],
) -> I32:
    """Insert formulas into empty slots; returns the indices of those whose trees are too long, which are left out.

    Args:
        table: All subscriptions.
        predicates: The interned predicates.
        nodes: The inner nodes of the forest.
        children: Their children, in the order of evaluation.
        given: The slots, the root of each, and the predicate of every leaf of the forest.
        settings: Do trees have widths, are there gates, are hits counted semantically?
    """
    slots, roots, numbers = given
    widths = settings[0]
    reserve_lists(table.users, len(predicates.axes))
    reserve_lists(table.gated, len(predicates.axes))
    tree = np.empty(MAX_BYTES, np.uint8)
    leaves = np.empty(MAX_BYTES // 5 + 1, np.int32)
    refused = np.empty(len(slots), np.int32)
    refusals = 0
    for each in range(len(slots)):
        length = encode(nodes, children, numbers, roots[each], widths, tree)
        if length == 0:
            refused[refusals] = each
            refusals += 1
            continue
        count = write_leaves(tree, 0, widths, leaves)
        subscription = _new_subscription(table, slots[each])
        table.places[subscription] = _store_tree(table, tree, length)
        needed, gates = _required_hits(tree, 0, leaves[:count], settings)
        table.needed[subscription] = table.counters[subscription] = needed
        if needed == 0:
            add_posting(table.always, 0, subscription)
        for leaf in range(count):
            retain_predicate(predicates, leaves[leaf])
            if needed:
                add_posting(table.gated if leaf < gates else table.users, leaves[leaf], subscription)
    return refused[:refusals]


@kernel
def delete_trees(
    table: SubscriptionTable, predicates: Predicates, slots: I32, settings: tuple[bool, bool, bool]
) -> None:
    """Delete the subscriptions of slots; settings are those of their insertion."""
    widths = settings[0]
    leaves = np.empty(MAX_BYTES // 5 + 1, np.int32)
    for slot in slots:
        subscription = table.numbers[slot]
        place = table.places[subscription]
        count = write_leaves(table.data, place * UNIT, widths, leaves)
        needed, gates = _required_hits(table.data, place * UNIT, leaves[:count], settings)
        if needed == 0:
            remove_posting(table.always, 0, subscription)
        for leaf in range(count):
            if needed:
                remove_posting(table.gated if leaf < gates else table.users, leaves[leaf], subscription)
            release_predicate(predicates, leaves[leaf])
        units = (tree_length(table.data, place * UNIT, widths) + UNIT - 1) // UNIT
        table.data[place * UNIT : place * UNIT + 4].view(np.int32)[0] = table.free[units]
        table.free[units] = place
        table.numbers[slot] = -1
        table.slots[subscription] = -1
        table.places[subscription] = table.free_number
        table.free_number = subscription
        table.count -= 1


@kernel
def _count_gates(cells: I32, start: int, end: int, counters: U8, candidates: I32, waiting: int) -> int:
    """Count the hit of a gate for each subscription of a run.

    A counter that passed zero has wrapped around to more than `2 * GATE`: the subscription is a candidate already.
    """
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


@kernel
def match_trees(
    table: SubscriptionTable,
    predicates: Predicates,
    event: EncodedEvents,
    owners: I32,
    widths: bool,
    circuit: bool,
) -> tuple[I32, I32]:
    """The pairs of a batch: rows and slots.

    With `owners` (int32[slots], or empty), the pairs are rows and owners, each once, and the further candidates of
    an owner are not evaluated.
    """
    held = satisfied_buffer(predicates)
    bits = np.zeros(len(held) // 8 + 1, np.uint8)
    seen = np.full(owners.max() + 1 if len(owners) else 0, -1, np.int32)
    candidates = np.empty(table.count + 1, np.int32)
    path = np.empty((MAX_DEPTH, 3), np.int64)
    users, gated = table.users, table.gated
    counters, needed = table.counters, table.needed
    data, places, slots = table.data, table.places, table.slots
    rows, found = np.empty(1024, np.int32), np.empty(1024, np.int32)
    used = 0
    for row in range(event.encoded.rows):
        holding = satisfied_in(predicates, event.encoded, event.tests, event.with_null, row, held)
        waiting, hits = 0, 0
        for subscription in postings_in(table.always, 0):
            candidates[waiting] = subscription
            waiting += 1
        for each in range(holding):
            number = held[each]
            bits[number >> 3] |= 1 << (number & 7)
            for run in range(run_count(users.counts, users.heads, users.cells, number)):
                start, end = run_bounds(users.counts, users.heads, users.cells, number, run)
                hits += end - start
                waiting = count_down(users.cells, start, end, counters, candidates, waiting)
            for run in range(run_count(gated.counts, gated.heads, gated.cells, number)):
                start, end = run_bounds(gated.counts, gated.heads, gated.cells, number, run)
                hits += end - start
                waiting = _count_gates(gated.cells, start, end, counters, candidates, waiting)
        if used + waiting > len(rows):
            rows, found = grow(rows, 2 * (used + waiting)), grow(found, 2 * (used + waiting))
        before = used
        for each in range(waiting):
            subscription = candidates[each]
            if len(owners) and seen[owners[slots[subscription]]] == row:
                continue
            if tree_holds(data, places[subscription] * UNIT, widths, bits, circuit, path):
                answer = slots[subscription]
                if len(owners):
                    answer = owners[answer]
                    seen[answer] = row
                rows[used], found[used] = row, answer
                used += 1
        table.work[HELD] += holding
        table.work[CANDIDATES] += waiting
        table.work[HITS] += hits
        table.work[MATCHES] += used - before
        for each in range(holding):
            bits[held[each] >> 3] = 0
        if hits * COPY_SHARE > table.made:
            for subscription in range(table.made):
                counters[subscription] = needed[subscription]
        else:
            for each in range(holding):
                restore_counters(users, held[each], counters, needed)
                restore_counters(gated, held[each], counters, needed)
    return rows[:used].copy(), found[:used].copy()


@kernel
def table_bytes(table: SubscriptionTable) -> tuple[int, int, int, int, int, int]:
    """Bytes of the association table, trees, locations, needed hits, counters, and slots."""
    return (
        posting_list_bytes(table.users) + posting_list_bytes(table.gated) + posting_list_bytes(table.always),
        table.used,
        4 * table.made,
        table.made,
        table.made,
        4 * table.made + table.numbers.nbytes,
    )


@kernel
def table_counts(table: SubscriptionTable) -> tuple[int, int]:
    """The number of subscriptions, and of those that are always candidates."""
    return table.count, int(table.always.counts[0])


@kernel
def take_work(table: SubscriptionTable) -> I64:
    """Counts of the work since the last call; see HELD and so on."""
    done = table.work.copy()
    table.work[:] = 0
    return done


@kernel
def encoded_tree(table: SubscriptionTable, slot: int, widths: bool) -> U8:
    """The bytes of the tree in a slot."""
    start = table.places[table.numbers[slot]] * UNIT
    return table.data[start : start + tree_length(table.data, start, widths)].copy()


@kernel
def required_hits(table: SubscriptionTable, slot: int, settings: tuple[bool, bool, bool]) -> int:
    """How many hits make the subscription in a slot a candidate, a gate counted as one."""
    start = table.places[table.numbers[slot]] * UNIT
    leaves = np.empty(MAX_BYTES // 5 + 1, np.int32)
    count = write_leaves(table.data, start, settings[0], leaves)
    needed, gates = _required_hits(table.data, start, leaves[:count], settings)
    return needed - GATE + 1 if gates else needed
