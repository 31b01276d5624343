"""Pruning by measures, as kernels: the entry whose best pruning ranks first loses an operand, again and again.

A pruning deletes an operand of an AND, or of "at least k of" and lowers k: the operand is taken as true. The
rank of a pruning has up to four parts, as S. Bittner's thesis (2008) gives them, and the least comes first:

- accuracy: the largest rise among least, average and most selectivity, against the original; then efficiency,
  memory
- efficiency: how many fewer predicates must hold, against the original; then accuracy, memory
- memory: bytes of the tree saved, the most first, bottom-up; then accuracy, efficiency
- occurrence: accuracy, times the occurrences of the predicates in all entries before by those after; then
  accuracy, efficiency
- distance: accuracy by the hops to the subscriber; then accuracy, efficiency, memory

Predicates that are expensive to evaluate go before all others. Ranks are not computed again while other entries
change. `tamis.lab.bittner.ranking` ranks the same in plain Python, and is what these kernels are tested against.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tamis.arrays import F64, I32, I64, U64
from tamis.engines.forest import Forest
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame
from tamis.kernels import kernel
from tamis.routing import stored_bytes
from tamis.routing.formula_arrays import (
    AVERAGE,
    FULL,
    HIGH,
    KEYS,
    LOW,
    OPAQUE,
    P_MIN,
    STATE,
    STORED,
    TREE,
    TRUE_ITEM,
    USES,
    FormulaArrays,
    Workspace,
    formula_arrays,
    formula_at,
    slot_of,
    with_room,
    workspace,
)
from tamis.routing.formula_facts import count_uses, formula_hashes, item_facts, measure_formula
from tamis.routing.formula_pruning import commit, prune_tentatively
from tamis.routing.leaf_sets import mix
from tamis.statistics import Statistics

_ACCURACY, _EFFICIENCY, _MEMORY, _OCCURRENCE, _DISTANCE, _NOTHING = range(6)
MEASURES = {
    "accuracy": (_ACCURACY, _EFFICIENCY, _MEMORY, _NOTHING),
    "efficiency": (_EFFICIENCY, _ACCURACY, _MEMORY, _NOTHING),
    "memory": (_MEMORY, _ACCURACY, _EFFICIENCY, _NOTHING),
    "occurrence": (_OCCURRENCE, _ACCURACY, _EFFICIENCY, _NOTHING),
    "distance": (_DISTANCE, _ACCURACY, _EFFICIENCY, _MEMORY),
}
"""The parts of the rank of each measure."""
_ENTRY_BYTES = stored_bytes.ENTRY_BYTES
_MOST_LOADED = 0.6
"""The share of a hash table that may be occupied."""
_DIGITS = 1e12
"""Ranks are rounded, because numbers that differ only by the order of additions must tie."""


class Queue(NamedTuple):
    """The entries that can be pruned, as a binary heap by rank.

    ranks: float64[entries, 5]: 0 for opaque prunings else 1, and the parts of the rank.
    turns: int64[entries]: equal ranks are served in this order.
    nodes, places: the best pruning of each entry; node -1 if there is none.
    originals: float64[entries, 4]: selectivities and p_min of the original.
    stored: float64[entries], keys: uint64[entries]: bytes and hash of each entry, its group included.
    heap: entries; `state[0]` of them are in the queue, `state[1]` is the last turn, `state[2]` how many prunings
    were made, `state[3]` how many formulas are known, `state[4]` the next entry to be ranked for the first time,
    `state[5]` the entry that was pruned and not ranked again, or -1.
    known, uses: a hash table of the distinct formulas, and how many entries have each.
    total: float64[1]: bytes of the distinct formulas.
    """

    ranks: F64
    turns: I64
    nodes: I64
    places: I64
    originals: F64
    stored: F64
    keys: U64
    heap: I64
    state: I64
    known: U64
    uses: I64
    total: F64


_IN_QUEUE, _TURN, _PRUNED, _KNOWN, _RANKED, _PENDING = range(6)


class EntryPruner:
    """Entries, and the order in which a measure prunes them."""

    def __init__(
        self,
        forest: Forest,
        measure: str,
        statistics: Statistics | None = None,
        *,
        sample: Sequence[Frame] = (),
        groups: I32 | None = None,
        hops: I32 | None = None,
    ) -> None:
        """Rank all entries.

        Args:
            forest: The formulas of the entries.
            measure: A name of `MEASURES`.
            statistics: Of events, from which selectivities are estimated.
            sample: Events that say more.
            groups: int32[entries]: equal formulas of different groups are stored each; by default all are one
                group.
            hops: int32[entries]: links to the subscriber, for `distance`; by default 1.
        """
        self._forest = forest
        self._formulas = formula_arrays(forest, statistics, sample)
        self._workspace = workspace(self._formulas)
        self._parts = np.array(MEASURES[measure], np.int64)
        self._hops = np.ones(len(forest), np.int32) if hops is None else hops
        self._groups = np.zeros(len(forest), np.int32) if groups is None else groups
        count, size = len(forest), 16
        while size < 4 * count:
            size *= 2
        self.queue = Queue(
            np.zeros((count, 5)),
            np.zeros(count, np.int64),
            np.full(count, -1, np.int64),
            np.zeros(count, np.int64),
            np.zeros((count, 4)),
            np.zeros(count),
            np.zeros(count, np.uint64),
            np.zeros(count, np.int64),
            np.array([0, 0, 0, 0, 0, -1], np.int64),
            np.zeros(size, np.uint64),
            np.zeros(size, np.int64),
            np.zeros(1),
        )
        if measure == "occurrence":
            _count_all(self._formulas, self._workspace)
        self._run(_rank_all)

    @property
    def stored_bytes(self) -> float:
        """Of the distinct formulas of each group, as `tamis.routing.stored_bytes` estimates them."""
        return float(self.queue.total[0])

    @property
    def prunings(self) -> int:
        """How many were made."""
        return int(self.queue.state[_PRUNED])

    def prune(self, budget: float = 0.0, count: int | None = None) -> None:
        """Prune until the distinct formulas take no more bytes than a budget, so many times, or to the end."""
        most = np.iinfo(np.int64).max if count is None else self.prunings + count
        self._run(_prune_kernel, float(budget), most)

    def formulas(self) -> tuple[list[Formula], I64]:
        """The distinct formulas, and which of them each entry has."""
        hashes = formula_hashes(self._formulas, self._workspace)
        keys = hashes.view([("one", np.uint64), ("other", np.uint64)]).reshape(-1)
        _, firsts, of = np.unique(keys, return_index=True, return_inverse=True)
        return [formula_at(self._forest, self._formulas, slot) for slot in firsts.tolist()], of.reshape(-1)

    def formula(self, entry: int) -> Formula:
        return formula_at(self._forest, self._formulas, entry)

    def _run(self, step: Callable[..., bool], *rest: float) -> None:
        """Call a kernel, with more room each time that it returns for want of it."""
        while not step(self._formulas, self._workspace, self.queue, self._parts, self._groups, self._hops, *rest):
            self._formulas = with_room(self._formulas)
            if self.queue.state[_KNOWN] > _MOST_LOADED * len(self.queue.known) / 2:
                size = 2 * len(self.queue.known)
                known, uses = np.zeros(size, np.uint64), np.zeros(size, np.int64)
                self.queue.state[_KNOWN] = _copy_known(self.queue, known, uses)
                self.queue = self.queue._replace(known=known, uses=uses)


@kernel
def _count_all(s: FormulaArrays, w: Workspace) -> None:
    for entry in range(len(s.roots)):
        count_uses(s, w, entry, 1)


@kernel
def _copy_known(q: Queue, known: U64, uses: I64) -> int:
    count = 0
    for place in range(len(q.known)):
        if q.known[place] and q.uses[place]:
            slot = slot_of(known, q.known[place])
            known[slot], uses[slot] = q.known[place], q.uses[place]
            count += 1
    return count


@kernel
def _rank_all(s: FormulaArrays, w: Workspace, q: Queue, parts: I64, groups: I32, hops: I32) -> bool:
    """Rank each entry for the first time; False if there is no room, and it has to be called again."""
    found = np.empty(8)
    counts = parts[0] == _OCCURRENCE
    while q.state[_RANKED] < len(s.roots):
        entry = q.state[_RANKED]
        key = measure_formula(s, w, entry, counts, found)
        q.originals[entry] = found[:TREE]
        stored = found[STORED]
        if not _rank(s, w, q, parts, hops[entry], entry):
            return False
        _add_formula(q, entry, mix(key + np.uint64(groups[entry])), stored)
        _push(q, entry)
        q.state[_RANKED] += 1
    return True


@kernel
def _prune_kernel(
    s: FormulaArrays, w: Workspace, q: Queue, parts: I64, groups: I32, hops: I32, budget: float, most: int
) -> bool:
    """Prune until a bound is reached; False if there is no room, and it has to be called again."""
    found = np.empty(8)
    counts = parts[0] == _OCCURRENCE
    while True:
        if q.state[_PENDING] >= 0:
            entry = q.state[_PENDING]
            if not _rank(s, w, q, parts, hops[entry], entry):
                return False
            _push(q, entry)
            q.state[_PENDING] = -1
        if q.total[0] <= budget or q.state[_IN_QUEUE] == 0 or q.state[_PRUNED] >= most:
            return True
        if s.used[KEYS] > _MOST_LOADED * len(s.keys) or q.state[_KNOWN] > _MOST_LOADED * len(q.known):
            return False
        entry = q.heap[0]
        measure_formula(s, w, entry, counts, found)
        result = prune_tentatively(s, w, entry, q.nodes[entry], q.places[entry], counts)
        if w.tentative[STATE] == FULL:
            return False
        key = item_facts(s, w, s.lowest[entry], result, counts, found)
        stored = found[STORED]
        if counts:
            count_uses(s, w, entry, -1)
        commit(s, w, entry, q.nodes[entry], result)
        if counts:
            count_uses(s, w, entry, 1)
        _remove_formula(q, entry)
        _add_formula(q, entry, mix(key + np.uint64(groups[entry])), stored)
        q.state[_PRUNED] += 1
        _pop(q)
        q.state[_PENDING] = entry


@kernel
def _rank(s: FormulaArrays, w: Workspace, q: Queue, parts: I64, hops: int, entry: int) -> bool:
    """Find the best pruning of an entry; False if there is no room to try them."""
    root, base = s.roots[entry], s.lowest[entry]
    q.nodes[entry] = -1
    if root < 0 or root >= TRUE_ITEM:
        return True
    counts, bottom_up = parts[0] == _OCCURRENCE, parts[0] == _MEMORY
    now, after, rank = np.empty(8), np.empty(8), np.empty(5)
    measure_formula(s, w, entry, counts, now)
    is_prunable, reached, values = w.times, w.reached, w.values
    least, firsts, lasts, items = s.least, s.firsts, s.lasts, s.items
    ranks, nodes, places, original = q.ranks[entry], q.nodes, q.places, q.originals[entry]
    for node in range(base, root + 1):
        if not reached[node - base]:
            continue
        is_prunable[node - base] = 1 if least[node] >= 2 else 0
        for place in range(firsts[node], lasts[node]):
            if items[place] >= 0 and is_prunable[items[place] - base]:
                is_prunable[node - base] = 1
    for node in range(base, root + 1):
        if not reached[node - base] or least[node] < 2:
            continue
        for place in range(firsts[node], lasts[node]):
            item = items[place]
            if bottom_up and item >= 0 and is_prunable[item - base]:
                continue
            result = prune_tentatively(s, w, entry, node, place, counts)
            if w.tentative[STATE] == FULL:
                return False
            if w.tentative[STATE] or result == TRUE_ITEM:
                continue
            item_facts(s, w, base, result, counts, after)
            opaque = values[0, item - base, OPAQUE] if item >= 0 else (1.0 if s.opaque[~item] else 0.0)
            rank[0] = 1.0 - opaque
            for part in range(4):
                rank[part + 1] = _part(parts[part], original, now, after, hops)
            if nodes[entry] < 0 or _is_less(rank, ranks):
                for part in range(5):
                    ranks[part] = rank[part]
                nodes[entry], places[entry] = node, place
    return True


@kernel
def _part(part: int, original: F64, now: F64, after: F64, hops: int) -> float:
    """A part of a rank."""
    if part == _EFFICIENCY:
        return float(original[P_MIN] - after[P_MIN])
    if part == _MEMORY:
        return float(after[TREE] - now[TREE])
    if part == _NOTHING:
        return 0.0
    rise = max(after[LOW] - original[LOW], after[AVERAGE] - original[AVERAGE], after[HIGH] - original[HIGH])
    rise = np.rint(rise * _DIGITS) / _DIGITS
    if part == _OCCURRENCE:
        rise = np.rint(now[USES] / max(1.0, after[USES]) * rise * _DIGITS) / _DIGITS
    elif part == _DISTANCE:
        rise = np.rint(rise / max(1, hops) * _DIGITS) / _DIGITS
    return float(rise)


# --- the distinct formulas, and the heap -------------------------------------------------------------------------


@kernel
def _add_formula(q: Queue, entry: int, key: np.uint64, stored: float) -> None:
    slot = slot_of(q.known, key)
    if not q.known[slot]:
        q.known[slot] = key if key else np.uint64(1)
        q.state[_KNOWN] += 1
    q.keys[entry], q.stored[entry] = key, stored + _ENTRY_BYTES
    q.uses[slot] += 1
    if q.uses[slot] == 1:
        q.total[0] += q.stored[entry]


@kernel
def _remove_formula(q: Queue, entry: int) -> None:
    slot = slot_of(q.known, q.keys[entry])
    q.uses[slot] -= 1
    if q.uses[slot] == 0:
        q.total[0] -= q.stored[entry]


@kernel
def _is_less(one: F64, other: F64) -> bool:
    for part in range(len(one)):
        if one[part] != other[part]:
            return bool(one[part] < other[part])
    return False


@kernel
def _is_before(q: Queue, one: int, other: int) -> bool:
    if _is_less(q.ranks[one], q.ranks[other]):
        return True
    return not _is_less(q.ranks[other], q.ranks[one]) and q.turns[one] < q.turns[other]


@kernel
def _push(q: Queue, entry: int) -> None:
    """Put an entry into the queue, if it has a pruning."""
    q.state[_TURN] += 1
    q.turns[entry] = q.state[_TURN]
    if q.nodes[entry] < 0:
        return
    place = q.state[_IN_QUEUE]
    q.state[_IN_QUEUE] += 1
    q.heap[place] = entry
    while place and _is_before(q, q.heap[place], q.heap[(place - 1) // 2]):
        above = (place - 1) // 2
        q.heap[place], q.heap[above] = q.heap[above], q.heap[place]
        place = above


@kernel
def _pop(q: Queue) -> None:
    """Remove the first entry from the queue."""
    q.state[_IN_QUEUE] -= 1
    count = q.state[_IN_QUEUE]
    q.heap[0] = q.heap[count]
    place = 0
    while 2 * place + 1 < count:
        below = 2 * place + 1
        if below + 1 < count and _is_before(q, q.heap[below + 1], q.heap[below]):
            below += 1
        if not _is_before(q, q.heap[below], q.heap[place]):
            break
        q.heap[place], q.heap[below] = q.heap[below], q.heap[place]
        place = below
