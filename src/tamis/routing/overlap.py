"""Overlap: which registered conditions can an event satisfy together with a given one?

The given condition is an OR of ANDs. For each AND, registered predicates that are disjoint to one of its own are
impossible, and a registered condition overlaps if it can hold without them. A condition with too few possible
leaves is no candidate; the others are evaluated with impossible predicates false and all others true.

The answer is safe: no overlap is missed. One may be reported where there is none, because predicates that can
hold in pairs need not hold all together, and because a part with more than `most_terms` ANDs is taken as true.
Within that bound the relation is symmetric. Conditions of different event types never overlap.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from tamis.arrays import I64, Bools, Mask
from tamis.events.event_type import EventType
from tamis.formulas.formula import FALSE, Formula
from tamis.formulas.predicates.base import Predicate
from tamis.interpretation import Allowance
from tamis.kernels import kernel
from tamis.routing.disjointness import DisjointIndex, Domains, domains_of
from tamis.routing.trees import leaf_counts, tree_size

MOST_TERMS = 64
"""ANDs that a condition may have before parts of it are taken as true."""

_LEAF = -1
_MOST_LEAVES = 1 << 30
_FEW_REMOVED = 64
_allowance = Allowance(to_load=10_000, to_compile=500_000)
"""Of conditions that are compared with one AND without kernels."""


class OverlapIndex:
    """Conditions by id: subscriptions, to ask advertisements about, or the other way round.

    Attributes:
        candidates: How many candidates were evaluated so far.
        version: Changes whenever something is registered or removed.
    """

    def __init__(self, event_types: Iterable[EventType] = (), *, most_terms: int = MOST_TERMS) -> None:
        """Start empty.

        Args:
            event_types: Types whose domains all publishers keep to, which excludes more overlaps.
            most_terms: ANDs that a condition may have before parts of it are taken as true.
        """
        self.candidates = 0
        self.version = 0
        self._domains = {each.name: domains_of(each) for each in event_types}
        self._most_terms = most_terms
        self._tables: dict[str, _ConditionTable] = {}
        self._types: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._types)

    def __contains__(self, name: str) -> bool:
        return name in self._types

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def add(self, name: str, event_type: str, formula: Formula) -> None:
        """Register a condition.

        Raises:
            ValueError: Its id is taken.
        """
        if name in self._types:
            msg = f"{name!r} is registered already"
            raise ValueError(msg)
        self.version += 1
        self._types[name] = event_type
        self._table(event_type).add(name, formula)

    def remove(self, name: str) -> None:
        """Remove a condition; KeyError if there is none."""
        event_type = self._types.pop(name)
        self.version += 1
        table = self._tables[event_type]
        table.remove(name)
        if table.removed > max(_FEW_REMOVED, len(table.formulas)):
            fresh = self._tables[event_type] = _ConditionTable(self._domains.get(event_type))
            for each, formula in table.formulas.items():
                fresh.add(each, formula)

    def replace(self, name: str, formula: Formula) -> None:
        """Replace the formula of a condition; KeyError if there is none."""
        event_type = self._types[name]
        self.remove(name)
        self.add(name, event_type, formula)

    def condition(self, name: str) -> tuple[str, Formula]:
        """Event type and formula of a registered condition; KeyError if there is none."""
        event_type = self._types[name]
        return event_type, self._tables[event_type].formulas[name]

    def overlapping(self, event_type: str, formula: Formula) -> list[str]:
        """The ids of all that overlap with the condition, in the order of their registration.

        >>> from tamis.language.condition import normalise
        >>> index = OverlapIndex()
        >>> index.add("cheap", "book", normalise("price < 10 AND (used OR price < 3)"))
        >>> index.add("expensive", "book", normalise("price > 50"))
        >>> index.overlapping("book", normalise("price BETWEEN 5 AND 20"))
        ['cheap']
        """
        names = self._table(event_type).names
        return [names[place] for place in np.flatnonzero(self.overlap_mask(event_type, formula)).tolist()]

    def overlaps(self, event_type: str, formula: Formula) -> bool:
        """Is there one that overlaps? Stops at the first."""
        return bool(self.overlap_mask(event_type, formula, only_one=True).any())

    def associations(self, event_type: str) -> int:
        """The number of leaves of all conditions of an event type."""
        return sum(self._table(event_type).uses)

    def disjoint_weights(
        self, event_type: str, weight: Callable[[Predicate], float]
    ) -> Callable[[Predicate], float]:
        """A function that sums the weights of the leaves whose predicates are disjoint to a given one.

        It is valid until something is registered or removed.
        """
        table = self._table(event_type)
        weights = np.array([weight(each) for each in table.numbers], np.float64) * np.array(table.uses, np.int64)
        return lambda predicate: float(weights[table.index.find(predicate)].sum())

    def _table(self, event_type: str) -> _ConditionTable:
        table = self._tables.get(event_type)
        if table is None:
            table = self._tables[event_type] = _ConditionTable(self._domains.get(event_type))
        return table

    def overlap_mask(self, event_type: str, formula: Formula, *, only_one: bool = False) -> Mask:
        """bool[conditions]: those that overlap, or only the first of them."""
        table = self._table(event_type)
        marked = np.zeros(len(table.names), np.bool_)
        arrays, holds = table.arrays(), np.empty(table.longest, np.bool_)
        for impossible in _disjoint_sets(formula, table, self._most_terms):
            hits = _allowance.choose(_hits, len(marked))(np.flatnonzero(impossible), arrays, len(marked))
            mark = _allowance.choose(_mark, len(marked))
            self.candidates += mark(impossible, hits, arrays, holds, marked, only_one)
            if only_one and marked.any():
                break
        return marked


class _ConditionArrays(NamedTuple):
    """The registered conditions of one event type as arrays, for kernels."""

    code: I64  # nodes, operands first: (-1, predicate), or (number of operands, least, operands...)
    starts: I64  # [conditions + 1]: condition c is code[starts[c]:starts[c + 1]]
    needed: I64  # per condition: least number of leaves that must hold; if removed, more than it has
    leaves: I64  # per condition: leaves
    heads: I64  # per predicate: its last association, or -1
    nexts: I64  # per association: the one before it of the same predicate, or -1
    owners: I64  # per association: the condition
    times: I64  # per association: how often the predicate occurs in the condition


class _ConditionTable:
    """The conditions of one event type. Numbers of removed predicates and conditions are not used again."""

    def __init__(self, domains: Domains | None) -> None:
        self.numbers: dict[Predicate, int] = {}
        self.uses: list[int] = []
        self.index = DisjointIndex(domains)
        self.names: list[str] = []
        self.formulas: dict[str, Formula] = {}
        self.removed = 0
        self.longest = 0
        self._places: dict[str, int] = {}
        self._code, self._starts = array("q"), array("q", [0])
        self._needed, self._leaves = array("q"), array("q")
        self._heads, self._nexts, self._owners, self._times = (array("q") for _ in range(4))

    def arrays(self) -> _ConditionArrays:
        """Views of the arrays; nothing can be added while one is alive."""
        conditions = self._code, self._starts, self._needed, self._leaves
        return _ConditionArrays(
            *map(np.asarray, (*conditions, self._heads, self._nexts, self._owners, self._times))
        )

    def add(self, name: str, formula: Formula) -> None:
        counts, needed = _leaf_use(formula)
        for predicate, times in counts.items():
            number = self._number(predicate)
            self.uses[number] += times
            self._nexts.append(self._heads[number])
            self._heads[number] = len(self._owners)
            self._owners.append(len(self.names))
            self._times.append(times)
        code = _encode(formula, self.numbers)
        self._code.extend(code)
        self.longest = max(self.longest, len(code))
        self._starts.append(len(self._code))
        self._needed.append(needed)
        self._leaves.append(sum(counts.values()))
        self._places[name] = len(self.names)
        self.names.append(name)
        self.formulas[name] = formula

    def remove(self, name: str) -> None:
        for predicate, times in _leaf_use(self.formulas.pop(name))[0].items():
            self.uses[self.numbers[predicate]] -= times
        place = self._places.pop(name)
        self._needed[place] = self._leaves[place] + 1  # never a candidate again
        self.removed += 1

    def impossible(self, predicate: Predicate) -> Mask:
        """Which registered predicates cannot hold together with this one."""
        found = np.zeros(len(self.numbers), np.bool_)
        found[self.index.find(predicate)] = True
        return found

    def _number(self, predicate: Predicate) -> int:
        number = self.numbers.get(predicate)
        if number is None:
            number = self.numbers[predicate] = len(self.numbers)
            self.uses.append(0)
            self.index.add(number, predicate)
            self._heads.append(-1)
        return number


def _leaf_use(formula: Formula) -> tuple[Mapping[Predicate, int], int]:
    """How often each predicate occurs in the tree, and the least number of leaves that must hold."""
    counts, (needed, _, leaves) = leaf_counts(formula), tree_size(formula)
    if leaves > _MOST_LEAVES:  # a small graph can be a huge tree
        return dict.fromkeys(counts, 1), 0
    return counts, (1 if formula is FALSE else needed)


def _encode(formula: Formula, numbers: Mapping[Predicate, int]) -> list[int]:
    code: list[int] = []
    places: dict[int, int] = {}
    for place, node in enumerate(formula.nodes()):
        places[id(node)] = place
        if node.predicate is not None:
            code += (_LEAF, numbers[node.predicate])
        else:
            code += (len(node.operands), node.least, *(places[id(operand)] for operand in node.operands))
    return code


def _disjoint_sets(formula: Formula, table: _ConditionTable, most: int) -> Bools:
    """bool[ANDs, predicates]: for each AND of the formula, the registered predicates that cannot hold."""
    known: dict[int, Bools] = {}
    for node in formula.nodes():
        if node.predicate is not None:
            known[id(node)] = table.impossible(node.predicate)[None]
        else:
            operands = [known[id(operand)] for operand in node.operands]
            known[id(node)] = _combine_sets(node, operands, len(table.numbers), most)
    return known[id(formula)]


def _combine_sets(node: Formula, operands: list[Bools], width: int, most: int) -> Bools:
    """The sets of an inner node. `ways[k]` are the sets in which k of the operands so far hold."""
    ways = [np.zeros((1, width), np.bool_), *(np.zeros((0, width), np.bool_) for _ in range(node.least))]
    for left, operand in zip(range(len(operands) - 1, -1, -1), operands, strict=True):
        # With fewer than these, the operands that are left would not be enough.
        for count in range(node.least, max(0, node.least - left - 1), -1):
            if len(ways[count]) + len(ways[count - 1]) * len(operand) <= most:
                longer = (ways[count - 1][:, None] | operand).reshape(len(ways[count - 1]) * len(operand), width)
                ways[count] = np.concatenate([ways[count], longer])
            elif node.is_and:
                ways[count] = ways[count - 1]  # without this operand
            else:
                return ways[0]
    return ways[node.least]


@kernel
def _hits(impossible: I64, arrays: _ConditionArrays, conditions: int) -> I64:
    """int64[conditions]: how many leaves of each are impossible."""
    hits = np.zeros(conditions, np.int64)
    for number in impossible:
        at = arrays.heads[number]
        while at >= 0:
            hits[arrays.owners[at]] += arrays.times[at]
            at = arrays.nexts[at]
    return hits


@kernel
def _mark(impossible: Mask, hits: I64, arrays: _ConditionArrays, holds: Mask, marked: Mask, only_one: bool) -> int:
    """Mark the conditions that can hold, or the first of them; returns how many trees were evaluated."""
    evaluated = 0
    for condition in range(len(hits)):
        if marked[condition] or hits[condition] + arrays.needed[condition] > arrays.leaves[condition]:
            continue
        if hits[condition] == 0:
            marked[condition] = True  # all of its predicates can hold
        else:
            evaluated += 1
            marked[condition] = _can_hold(condition, arrays, impossible, holds)
        if only_one and marked[condition]:
            break
    return evaluated


@kernel
def _can_hold(condition: int, arrays: _ConditionArrays, impossible: Mask, holds: Mask) -> bool:
    """Evaluate a condition with impossible predicates false and all others true; `holds` is scratch space."""
    code, at, node = arrays.code, arrays.starts[condition], 0
    while at < arrays.starts[condition + 1]:
        if code[at] == _LEAF:
            holds[node] = not impossible[code[at + 1]]
            at += 2
        else:
            count = 0
            for operand in code[at + 2 : at + 2 + code[at]]:
                count += holds[operand]
            holds[node] = count >= code[at + 1]
            at += 2 + code[at]
        node += 1
    return bool(holds[node - 1])
