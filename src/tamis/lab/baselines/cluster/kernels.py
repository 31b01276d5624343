"""The compiled part of `cluster`: terms in and out of clusters, and the pairs of a batch.

A cluster has the terms with the same access predicate and the same number of predicates. The clusters of a
predicate are a chain, and the cells of a cluster with room for r terms of w further predicates are

    | term term ... (r) | w predicates of the first term | w of the second | ... (r * w) |

so that verifying a term reads neighbouring cells.
"""

from __future__ import annotations

import numpy as np
from numba.experimental import structref

from tamis.arrays import F64, I32, I64, U8
from tamis.engines.array_kernels import grow
from tamis.engines.conjunctions.dnf import Conjunctions
from tamis.engines.structs import struct
from tamis.kernels import kernel
from tamis.lab.dynamic.kernels.posting_lists import (
    PostingLists,
    add_posting,
    empty_posting_lists,
    posting_list_bytes,
    postings_in,
    remove_posting,
)
from tamis.lab.dynamic.kernels.predicates import (
    Predicates,
    release_predicate,
    retain_predicate,
    satisfied_buffer,
    satisfied_in,
)
from tamis.lab.dynamic.kernels.terms import Terms, empty_terms, free_term, new_term, report_terms, term_bytes
from tamis.lab.dynamic.predicate_index import EncodedEvents

_POWERS = 40


@struct
class Clusters(structref.StructRefProxy):  # type: ignore[misc]
    """Made by `empty_clusters`; only compiled code reads its fields.

    terms: all terms.
    always: list 0 has the terms without predicates.
    firsts: int32[predicates]: the first cluster of an access predicate, -1 if there is none.
    following, widths, lengths: int32[clusters]: the next one of the chain, or the next free one; the number of
        predicates of a term besides the access predicate; the number of terms.
    places: int64[clusters]: where its cells begin; powers: int32[clusters]: it has 2^power cells.
    made, free, count: clusters ever made, a free one or -1, clusters.
    cells: int32[...]: the terms and predicates of all clusters.
    used, spare: cells ever used, and int64[powers]: a free range of 2^power cells or -1.
    homes, rows: int32[terms]: the cluster of a term, -1 if it is in `always`, and its place in the cluster.
    accesses: int32[terms]: the access predicate of a term.
    work: int64[4]: satisfied predicates, clusters, terms verified, terms that held.
    """

    terms: Terms
    always: PostingLists
    firsts: I32
    following: I32
    widths: I32
    lengths: I32
    places: I64
    powers: I32
    made: int
    free: int
    count: int
    cells: I32
    used: int
    spare: I64
    homes: I32
    rows: I32
    accesses: I32
    work: I64


@kernel
def empty_clusters() -> Clusters:
    none = np.empty(0, np.int32)
    return Clusters(
        *(empty_terms(), empty_posting_lists(1), none, none.copy(), none.copy(), none.copy()),
        *(np.empty(0, np.int64), none.copy(), 0, -1, 0),
        *(none.copy(), 0, np.full(_POWERS, -1, np.int64), none.copy(), none.copy(), none.copy()),
        np.zeros(4, np.int64),
    )


@kernel
def _allocate(clusters: Clusters, cells: int) -> tuple[int, int]:
    """A free range of at least so many cells, and its power of two."""
    power = 1  # a free range names the next one by an int64, which takes two cells
    while (1 << power) < cells:
        power += 1
    place = clusters.spare[power]
    if place >= 0:
        clusters.spare[power] = np.int64(clusters.cells[place]) | np.int64(clusters.cells[place + 1]) << 31
        return place, power
    place = clusters.used
    clusters.used += 1 << power
    if clusters.used > len(clusters.cells):
        length = max(clusters.used, len(clusters.cells) + len(clusters.cells) // 2)
        clusters.cells = grow(clusters.cells, length)
    return place, power


@kernel
def _free(clusters: Clusters, place: int, power: int) -> None:
    """Return 2^power cells."""
    following = clusters.spare[power]
    if following < 0:
        clusters.cells[place], clusters.cells[place + 1] = -1, -1
    else:
        clusters.cells[place] = following & 0x7FFFFFFF
        clusters.cells[place + 1] = following >> 31
    clusters.spare[power] = place


@kernel
def _capacity(clusters: Clusters, cluster: int) -> int:
    """How many terms the cells of a cluster can hold."""
    return (1 << clusters.powers[cluster]) // (1 + clusters.widths[cluster])


@kernel
def _cluster_for(clusters: Clusters, access: int, width: int) -> int:
    """The cluster of an access predicate and so many other predicates, made if it is missing."""
    cluster = clusters.firsts[access]
    while cluster >= 0:
        if clusters.widths[cluster] == width:
            return int(cluster)
        cluster = clusters.following[cluster]
    if clusters.free >= 0:
        cluster = clusters.free
        clusters.free = clusters.following[cluster]
    else:
        cluster = clusters.made
        clusters.made += 1
        if cluster == len(clusters.widths):
            length = cluster + cluster // 2 + 16
            clusters.following, clusters.widths = grow(clusters.following, length), grow(clusters.widths, length)
            clusters.lengths, clusters.powers = grow(clusters.lengths, length), grow(clusters.powers, length)
            clusters.places = grow(clusters.places, length)
    clusters.widths[cluster], clusters.lengths[cluster] = width, 0
    clusters.places[cluster], clusters.powers[cluster] = _allocate(clusters, 1 + width)
    clusters.following[cluster] = clusters.firsts[access]
    clusters.firsts[access] = cluster
    clusters.count += 1
    return int(cluster)


@kernel
def _grow(clusters: Clusters, cluster: int) -> None:
    """Move a cluster to twice as many cells."""
    width, length, old = clusters.widths[cluster], clusters.lengths[cluster], clusters.places[cluster]
    old_room, old_power = _capacity(clusters, cluster), clusters.powers[cluster]
    place, power = _allocate(clusters, 2 * length * (1 + width))
    clusters.places[cluster], clusters.powers[cluster] = place, power
    room = _capacity(clusters, cluster)
    for row in range(length):
        clusters.cells[place + row] = clusters.cells[old + row]
        for column in range(width):
            source = old + old_room + row * width + column
            clusters.cells[place + room + row * width + column] = clusters.cells[source]
    _free(clusters, old, old_power)


@kernel
def insert_terms(
    clusters: Clusters,
    predicates: Predicates,
    conjunctions: Conjunctions,
    numbers: I32,
    selectivities: F64,
    slots: I32,
) -> None:
    """Insert conjunctions into clusters.

    Args:
        clusters: All clusters.
        predicates: The interned predicates.
        conjunctions: Those of some formulas.
        numbers: int32[leaves]: the predicate of every leaf.
        selectivities: float64[leaves]: the selectivity of every leaf; the least one makes the access predicate.
        slots: The empty slot of each formula.
    """
    if len(predicates.axes) > len(clusters.firsts):
        old = len(clusters.firsts)
        clusters.firsts = grow(clusters.firsts, len(predicates.axes))
        clusters.firsts[old:] = -1
    for conjunction in range(len(conjunctions.slots)):
        first, last = conjunctions.firsts[conjunction], conjunctions.firsts[conjunction + 1]
        mine = numbers[conjunctions.leaves[first:last]]
        term = new_term(
            clusters.terms, slots[conjunctions.slots[conjunction]], conjunctions.flags[conjunction], mine
        )
        if term >= len(clusters.homes):
            length = term + term // 2 + 16
            clusters.homes, clusters.rows = grow(clusters.homes, length), grow(clusters.rows, length)
            clusters.accesses = grow(clusters.accesses, length)
        if len(mine) == 0:
            add_posting(clusters.always, 0, term)
            clusters.homes[term] = -1
            continue
        best = 0
        for at in range(1, len(mine)):
            if selectivities[conjunctions.leaves[first + at]] < selectivities[conjunctions.leaves[first + best]]:
                best = at
        for number in mine:
            retain_predicate(predicates, number)
        cluster = _cluster_for(clusters, mine[best], len(mine) - 1)
        row = clusters.lengths[cluster]
        if row == _capacity(clusters, cluster):
            _grow(clusters, cluster)
        clusters.lengths[cluster] = row + 1
        clusters.homes[term], clusters.rows[term], clusters.accesses[term] = cluster, row, mine[best]
        place, room, width = clusters.places[cluster], _capacity(clusters, cluster), len(mine) - 1
        clusters.cells[place + row] = term
        column = place + room + row * width
        for at in range(len(mine)):
            if at != best:
                clusters.cells[column] = mine[at]
                column += 1


@kernel
def delete_terms(clusters: Clusters, predicates: Predicates, slots: I32) -> None:
    for slot in slots:
        if slot >= len(clusters.terms.slot_terms.counts):
            continue  # FALSE has no terms
        for term in postings_in(clusters.terms.slot_terms, slot):
            if clusters.homes[term] < 0:
                remove_posting(clusters.always, 0, term)
            else:
                _remove(clusters, predicates, term)
            free_term(clusters.terms, term)


@kernel
def _remove(clusters: Clusters, predicates: Predicates, term: int) -> None:
    """Delete a term from its cluster, where the last one takes its place, and release its predicates."""
    cluster, row, cells = clusters.homes[term], clusters.rows[term], clusters.cells
    place, room, width = clusters.places[cluster], _capacity(clusters, cluster), clusters.widths[cluster]
    release_predicate(predicates, clusters.accesses[term])
    for column in range(width):
        release_predicate(predicates, cells[place + room + row * width + column])
    last = clusters.lengths[cluster] - 1
    moved = cells[place + last]
    cells[place + row] = moved
    clusters.rows[moved] = row
    for column in range(width):
        cells[place + room + row * width + column] = cells[place + room + last * width + column]
    clusters.lengths[cluster] = last
    if last:
        return
    access = clusters.accesses[term]
    if clusters.firsts[access] == cluster:
        clusters.firsts[access] = clusters.following[cluster]
    else:
        before = clusters.firsts[access]
        while clusters.following[before] != cluster:
            before = clusters.following[before]
        clusters.following[before] = clusters.following[cluster]
    _free(clusters, place, clusters.powers[cluster])
    clusters.following[cluster] = clusters.free
    clusters.free = cluster
    clusters.count -= 1


@kernel
def match_terms(clusters: Clusters, predicates: Predicates, event: EncodedEvents) -> tuple[I32, I32, U8]:
    """Rows and slots of the candidate pairs, and 1 for those that need no verification."""
    held = satisfied_buffer(predicates)
    bits = np.zeros(len(held) // 8 + 1, np.uint8)
    terms, cells = clusters.terms, clusters.cells
    found = np.empty(terms.count + 1, np.int32)
    seen = np.full(len(terms.slot_terms.counts), -1, np.int32)
    rows, slots, sure = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.uint8)
    used = 0
    for row in range(event.encoded.rows):
        holding = satisfied_in(predicates, event.encoded, event.tests, event.with_null, row, held)
        count = 0
        for term in postings_in(clusters.always, 0):
            found[count] = term
            count += 1
        for each in range(holding):
            bits[held[each] >> 3] |= 1 << (held[each] & 7)
        for each in range(holding):
            cluster = clusters.firsts[held[each]]
            while cluster >= 0:
                width, length = clusters.widths[cluster], clusters.lengths[cluster]
                place = clusters.places[cluster]
                first = place + _capacity(clusters, cluster)
                clusters.work[1] += 1
                clusters.work[2] += length
                for at in range(length):
                    holds = True
                    for column in range(first + at * width, first + (at + 1) * width):
                        number = np.uint32(cells[column])
                        if (bits[number >> 3] >> (number & 7)) & 1 == 0:
                            holds = False
                            break
                    if holds:
                        found[count] = cells[place + at]
                        count += 1
                cluster = clusters.following[cluster]
        for each in range(holding):
            bits[held[each] >> 3] = 0
        clusters.work[0] += holding
        clusters.work[3] += count
        if used + count > len(rows):
            room = 2 * (used + count)
            rows, slots, sure = grow(rows, room), grow(slots, room), grow(sure, room)
        used = report_terms(terms, found, count, row, seen, (rows, slots, sure), used)
    return rows[:used].copy(), slots[:used].copy(), sure[:used].copy()


@kernel
def cluster_bytes(clusters: Clusters) -> tuple[int, int, int, int]:
    """Bytes of clusters, of the cluster vector, of the clusters of terms, and of slots."""
    nothing, slots = term_bytes(clusters.terms)
    heads = 20 * clusters.made + clusters.firsts.nbytes
    return (
        4 * clusters.used,
        heads,
        12 * clusters.terms.made,
        nothing + slots + posting_list_bytes(clusters.always),
    )


@kernel
def cluster_counts(clusters: Clusters) -> tuple[int, int, int]:
    """The number of terms, of clusters, and of terms without predicates."""
    return clusters.terms.count, clusters.count, int(clusters.always.counts[0])


@kernel
def take_work(clusters: Clusters) -> I64:
    """Counts of the work since the last call."""
    done = clusters.work.copy()
    clusters.work[:] = 0
    return done
