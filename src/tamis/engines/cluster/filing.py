"""The kernels of `cluster`: terms in and out, and the pairs of a batch.

A cluster has the terms with the same access predicate and the same number of predicates: a line of terms, and
their other predicates in rows of the same length. The clusters of a predicate are a chain.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt
from numba.experimental import structref

from tamis.engines.conjunctions.dnf import Conjunctions
from tamis.engines.dynamic.bags import Bags, bag_bytes, bags_of, numbers_in, put_in, take_out
from tamis.engines.dynamic.index import Event
from tamis.engines.dynamic.predicates import Predicates, held_in, hold_on, let_go, room_for_held
from tamis.engines.dynamic.terms import Terms, free_term, new_term, report_terms, term_bytes, terms_of
from tamis.engines.grouping import grown
from tamis.engines.structs import struct

Bytes: TypeAlias = npt.NDArray[np.uint8]
Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]

_POWERS = 40


@struct
class Clusters(structref.StructRefProxy):  # type: ignore[misc]
    """What `clusters_of` gives; only compiled code looks into it.

    terms: all terms.
    always: bag 0 has the terms without predicates.
    firsts: int32[predicates]: the first cluster of an access predicate, -1 if there is none.
    following, widths, lengths: int32[clusters]: the next one of the chain, or the next free one; predicates of a
        term besides the access predicate; terms.
    places: int64[clusters]: where its cells begin; powers: int32[clusters]: how many terms there is room for.
    made, free, count: clusters ever made, a free one or -1, clusters.
    cells: int32[...]: of a cluster, its line of terms and then its rows.
    used, spare: cells ever used, and free places by their power of two.
    homes, rows: int32[terms]: the cluster of a term, and its place in there.
    accesses: int32[terms]: the access predicate of a term.
    work: int64[4]: predicates that held, clusters, terms looked at, terms that held.
    """

    terms: Terms
    always: Bags
    firsts: Shorts
    following: Shorts
    widths: Shorts
    lengths: Shorts
    places: Ints
    powers: Shorts
    made: int
    free: int
    count: int
    cells: Shorts
    used: int
    spare: Ints
    homes: Shorts
    rows: Shorts
    accesses: Shorts
    work: Ints


@numba.njit(cache=True, nogil=True)
def clusters_of() -> Clusters:
    """Of no terms."""
    none = np.empty(0, np.int32)
    return Clusters(
        *(terms_of(), bags_of(1), none, none.copy(), none.copy(), none.copy()),
        *(np.empty(0, np.int64), none.copy(), 0, -1, 0),
        *(none.copy(), 0, np.full(_POWERS, -1, np.int64), none.copy(), none.copy(), none.copy()),
        np.zeros(4, np.int64),
    )


@numba.njit(cache=True, nogil=True)
def _take(clusters: Clusters, cells: int) -> tuple[int, int]:
    """A free place for so many cells, and its power of two."""
    power = 1  # the number of the next free place takes two cells
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
        clusters.cells = grown(clusters.cells, length)
    return place, power


@numba.njit(cache=True, nogil=True)
def _give(clusters: Clusters, place: int, power: int) -> None:
    """Make a place free."""
    following = clusters.spare[power]
    if following < 0:
        clusters.cells[place], clusters.cells[place + 1] = -1, -1
    else:
        clusters.cells[place] = following & 0x7FFFFFFF
        clusters.cells[place + 1] = following >> 31
    clusters.spare[power] = place


@numba.njit(cache=True, nogil=True)
def _room(clusters: Clusters, cluster: int) -> int:
    """How many terms a cluster has room for."""
    return (1 << clusters.powers[cluster]) // (1 + clusters.widths[cluster])


@numba.njit(cache=True, nogil=True)
def _cluster_for(clusters: Clusters, access: int, width: int) -> int:
    """The cluster of terms with that access predicate and so many others; made if it is not there."""
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
            clusters.following, clusters.widths = grown(clusters.following, length), grown(clusters.widths, length)
            clusters.lengths, clusters.powers = grown(clusters.lengths, length), grown(clusters.powers, length)
            clusters.places = grown(clusters.places, length)
    clusters.widths[cluster], clusters.lengths[cluster] = width, 0
    clusters.places[cluster], clusters.powers[cluster] = _take(clusters, 1 + width)
    clusters.following[cluster] = clusters.firsts[access]
    clusters.firsts[access] = cluster
    clusters.count += 1
    return int(cluster)


@numba.njit(cache=True, nogil=True)
def _widen(clusters: Clusters, cluster: int) -> None:
    """Let a cluster have room for twice as many terms."""
    width, length, old = clusters.widths[cluster], clusters.lengths[cluster], clusters.places[cluster]
    old_room, old_power = _room(clusters, cluster), clusters.powers[cluster]
    place, power = _take(clusters, 2 * length * (1 + width))
    clusters.places[cluster], clusters.powers[cluster] = place, power
    room = _room(clusters, cluster)
    for row in range(length):
        clusters.cells[place + row] = clusters.cells[old + row]
        for column in range(width):
            source = old + old_room + row * width + column
            clusters.cells[place + room + row * width + column] = clusters.cells[source]
    _give(clusters, old, old_power)


@numba.njit(cache=True, nogil=True)
def insert_terms(
    clusters: Clusters,
    predicates: Predicates,
    conjunctions: Conjunctions,
    numbers: Shorts,
    chances: Floats,
    slots: Shorts,
) -> None:
    """Put conjunctions into clusters.

    Args:
        clusters: Of the index.
        predicates: Of the index.
        conjunctions: Of formulas.
        numbers: The predicate of every leaf.
        chances: That of every leaf, from which the access predicate is chosen.
        slots: Empty ones, for the formulas.
    """
    if len(predicates.axes) > len(clusters.firsts):
        old = len(clusters.firsts)
        clusters.firsts = grown(clusters.firsts, len(predicates.axes))
        clusters.firsts[old:] = -1
    for conjunction in range(len(conjunctions.slots)):
        first, last = conjunctions.firsts[conjunction], conjunctions.firsts[conjunction + 1]
        mine = numbers[conjunctions.leaves[first:last]]
        term = new_term(
            clusters.terms, slots[conjunctions.slots[conjunction]], conjunctions.flags[conjunction], mine
        )
        if term >= len(clusters.homes):
            length = term + term // 2 + 16
            clusters.homes, clusters.rows = grown(clusters.homes, length), grown(clusters.rows, length)
            clusters.accesses = grown(clusters.accesses, length)
        if len(mine) == 0:
            put_in(clusters.always, 0, term)
            clusters.homes[term] = -1
            continue
        best = 0
        for at in range(1, len(mine)):
            if chances[conjunctions.leaves[first + at]] < chances[conjunctions.leaves[first + best]]:
                best = at
        for number in mine:
            hold_on(predicates, number)
        cluster = _cluster_for(clusters, mine[best], len(mine) - 1)
        row = clusters.lengths[cluster]
        if row == _room(clusters, cluster):
            _widen(clusters, cluster)
        clusters.lengths[cluster] = row + 1
        clusters.homes[term], clusters.rows[term], clusters.accesses[term] = cluster, row, mine[best]
        place, room, width = clusters.places[cluster], _room(clusters, cluster), len(mine) - 1
        clusters.cells[place + row] = term
        column = place + room + row * width
        for at in range(len(mine)):
            if at != best:
                clusters.cells[column] = mine[at]
                column += 1


@numba.njit(cache=True, nogil=True)
def delete_terms(clusters: Clusters, predicates: Predicates, slots: Shorts) -> None:
    """Empty some slots."""
    for slot in slots:
        if slot >= len(clusters.terms.filled.counts):
            continue  # FALSE has no terms
        for term in numbers_in(clusters.terms.filled, slot):
            if clusters.homes[term] < 0:
                take_out(clusters.always, 0, term)
            else:
                _remove(clusters, predicates, term)
            free_term(clusters.terms, term)


@numba.njit(cache=True, nogil=True)
def _remove(clusters: Clusters, predicates: Predicates, term: int) -> None:
    """Take a term out of its cluster, where the last one takes its place, and let go of its predicates."""
    cluster, row, cells = clusters.homes[term], clusters.rows[term], clusters.cells
    place, room, width = clusters.places[cluster], _room(clusters, cluster), clusters.widths[cluster]
    let_go(predicates, clusters.accesses[term])
    for column in range(width):
        let_go(predicates, cells[place + room + row * width + column])
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
    _give(clusters, place, clusters.powers[cluster])
    clusters.following[cluster] = clusters.free
    clusters.free = cluster
    clusters.count -= 1


@numba.njit(cache=True, nogil=True)
def match_terms(clusters: Clusters, predicates: Predicates, event: Event) -> tuple[Shorts, Shorts, Bytes]:
    """The pairs that hold, and those that may: rows, slots, and 1 for those that do."""
    held = room_for_held(predicates)
    bits = np.zeros(len(held) // 8 + 1, np.uint8)
    terms, cells = clusters.terms, clusters.cells
    found = np.empty(terms.count + 1, np.int32)
    seen = np.full(len(terms.filled.counts), -1, np.int32)
    rows, slots, sure = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.uint8)
    used = 0
    for row in range(event.encoded.rows):
        holding = held_in(predicates, event.encoded, event.tests, event.with_null, row, held)
        count = 0
        for term in numbers_in(clusters.always, 0):
            found[count] = term
            count += 1
        for each in range(holding):
            bits[held[each] >> 3] |= 1 << (held[each] & 7)
        for each in range(holding):
            cluster = clusters.firsts[held[each]]
            while cluster >= 0:
                width, length = clusters.widths[cluster], clusters.lengths[cluster]
                place = clusters.places[cluster]
                first = place + _room(clusters, cluster)
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
            rows, slots, sure = grown(rows, room), grown(slots, room), grown(sure, room)
        used = report_terms(terms, found, count, row, seen, (rows, slots, sure), used)
    return rows[:used].copy(), slots[:used].copy(), sure[:used].copy()


@numba.njit(cache=True, nogil=True)
def cluster_bytes(clusters: Clusters) -> tuple[int, int, int, int]:
    """Of clusters, what finds them, the clusters of terms, and slots."""
    nothing, slots = term_bytes(clusters.terms)
    heads = 20 * clusters.made + clusters.firsts.nbytes
    return 4 * clusters.used, heads, 12 * clusters.terms.made, nothing + slots + bag_bytes(clusters.always)


@numba.njit(cache=True, nogil=True)
def cluster_counts(clusters: Clusters) -> tuple[int, int, int]:
    """Terms, clusters, and terms without predicates."""
    return clusters.terms.count, clusters.count, int(clusters.always.counts[0])


@numba.njit(cache=True, nogil=True)
def cluster_work(clusters: Clusters) -> Ints:
    """What was done since this was asked last."""
    done = clusters.work.copy()
    clusters.work[:] = 0
    return done
