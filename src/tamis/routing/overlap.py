"""Which registered conditions overlap with another one: could an event satisfy both?

The condition is taken as an OR of ANDs. For each AND, the registered predicates that are disjoint to one of its
own cannot hold, and a registered condition overlaps if it can hold without them. A condition with too few
predicates left to hold is no candidate; the others are evaluated, impossible predicates false and all others true.

The answer is safe: an overlap is never missed. It may be reported where there is none, since predicates that can
hold in pairs need not hold all together, and a part of the condition with more than `most_terms` ANDs is taken for
granted. Within that bound it does not matter which of two conditions is the registered one. Conditions of
different event types never overlap.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.events.event_type import EventType
from tamis.language.formula import FALSE, TRUE, Formula
from tamis.predicates.base import Predicate
from tamis.routing.disjoint import DisjointIndex, Domains, domains_of
from tamis.routing.trees import leaf_counts, outline, terms
from tamis.values.column import Mask

MOST_TERMS = 64
"""ANDs that a condition may have before parts of it are taken for granted."""

Ints: TypeAlias = npt.NDArray[np.int64]
Matrix: TypeAlias = npt.NDArray[np.bool_]

_LEAF = -1
_MOST_LEAVES = 1 << 30
_FEW_REMOVED = 64


class OverlapIndex:
    """Conditions by id: subscriptions, to ask advertisements about, or the other way round.

    Attributes:
        candidates: How many candidates were evaluated so far.
        version: Changes whenever something is registered or removed.
    """

    def __init__(self, event_types: Iterable[EventType] = (), *, most_terms: int = MOST_TERMS) -> None:
        """Nothing registered yet.

        Args:
            event_types: Those whose domains all publishers keep to, which tells more overlaps apart.
            most_terms: ANDs that a condition may have before parts of it are taken for granted.
        """
        self.candidates = 0
        self.version = 0
        self._domains = {each.name: domains_of(each) for each in event_types}
        self._most_terms = most_terms
        self._tables: dict[str, _Table] = {}
        self._types: dict[str, str] = {}

    def __len__(self) -> int:
        """How many are registered."""
        return len(self._types)

    def __contains__(self, name: str) -> bool:
        """Is it registered?"""
        return name in self._types

    def __iter__(self) -> Iterator[str]:
        """The ids."""
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
        """Forget a condition; KeyError if there is none."""
        event_type = self._types.pop(name)
        self.version += 1
        table = self._tables[event_type]
        table.remove(name)
        if table.removed > max(_FEW_REMOVED, len(table.formulas)):
            fresh = self._tables[event_type] = _Table(self._domains.get(event_type))
            for each, formula in table.formulas.items():
                fresh.add(each, formula)

    def replace(self, name: str, formula: Formula) -> None:
        """Put another formula in the place of a condition's; KeyError if there is none."""
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
        >>> index.add("dear", "book", normalise("price > 50"))
        >>> index.overlapping("book", normalise("price BETWEEN 5 AND 20"))
        ['cheap']
        """
        names = self._table(event_type).names
        return [
            names[place] for place in np.flatnonzero(self._marked(event_type, formula, only_one=False)).tolist()
        ]

    def overlaps(self, event_type: str, formula: Formula) -> bool:
        """Is there one that overlaps? Ends with the first one found."""
        return bool(self._marked(event_type, formula, only_one=True).any())

    def disjoint_sets(self, event_type: str, formula: Formula) -> list[frozenset[Predicate]]:
        """For each AND of the condition, the registered predicates that cannot hold with it."""
        table = self._table(event_type)
        predicates = list(table.numbers)
        sets = _disjoint_sets(formula, table, self._most_terms)
        return [frozenset(predicates[number] for number in np.flatnonzero(row).tolist()) for row in sets]

    def associations(self, event_type: str) -> int:
        """How many leaves all conditions of an event type have."""
        return sum(self._table(event_type).uses)

    def disjoint_weights(
        self, event_type: str, weight: Callable[[Predicate], float]
    ) -> Callable[[Predicate], float]:
        """What sums up the weights of the registered predicates that are disjoint to one, each time they are used.

        It is right until something is registered or removed.
        """
        table = self._table(event_type)
        weights = np.array([weight(each) for each in table.numbers], np.float64) * np.array(table.uses, np.int64)
        return lambda predicate: float(weights[table.index.find(predicate)].sum())

    def _table(self, event_type: str) -> _Table:
        table = self._tables.get(event_type)
        if table is None:
            table = self._tables[event_type] = _Table(self._domains.get(event_type))
        return table

    def _marked(self, event_type: str, formula: Formula, *, only_one: bool) -> Mask:
        """Which conditions overlap, or the first of them, by their places."""
        table = self._table(event_type)
        marked = np.zeros(len(table.names), np.bool_)
        arrays, holds = table.arrays(), np.empty(table.longest, np.bool_)
        for impossible in _disjoint_sets(formula, table, self._most_terms):
            hits = _hits(np.flatnonzero(impossible), arrays, len(marked))
            self.candidates += _mark(impossible, hits, arrays, holds, marked, only_one)
            if only_one and marked.any():
                break
        return marked


class _Arrays(NamedTuple):
    """The registered conditions of one event type, for kernels."""

    code: Ints  # nodes, operands first: (-1, predicate), or (number of operands, least, operands...)
    starts: Ints  # [conditions + 1]: condition c is code[starts[c]:starts[c + 1]]
    needed: Ints  # per condition: least number of leaves that must hold; more than it has once it is removed
    leaves: Ints  # per condition: leaves
    heads: Ints  # per predicate: its last association, or -1
    nexts: Ints  # per association: the one before it of the same predicate, or -1
    owners: Ints  # per association: the condition
    times: Ints  # per association: how often the predicate stands there


class _Table:
    """The conditions of one event type. Predicates and conditions that are gone keep their numbers."""

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

    def arrays(self) -> _Arrays:
        """Views of what is registered; nothing can be added while one is alive."""
        conditions = self._code, self._starts, self._needed, self._leaves
        return _Arrays(*map(np.asarray, (*conditions, self._heads, self._nexts, self._owners, self._times)))

    def add(self, name: str, formula: Formula) -> None:
        counts, needed = _counted(formula)
        for predicate, times in counts.items():
            number = self._number(predicate)
            self.uses[number] += times
            self._nexts.append(self._heads[number])
            self._heads[number] = len(self._owners)
            self._owners.append(len(self.names))
            self._times.append(times)
        code = _encoded(formula, self.numbers)
        self._code.extend(code)
        self.longest = max(self.longest, len(code))
        self._starts.append(len(self._code))
        self._needed.append(needed)
        self._leaves.append(sum(counts.values()))
        self._places[name] = len(self.names)
        self.names.append(name)
        self.formulas[name] = formula

    def remove(self, name: str) -> None:
        for predicate, times in _counted(self.formulas.pop(name))[0].items():
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


def _counted(formula: Formula) -> tuple[Mapping[Predicate, int], int]:
    """How often each predicate stands in the tree, and the least number of leaves that must hold."""
    counts, (needed, _, leaves) = leaf_counts(formula), outline(formula)
    if leaves > _MOST_LEAVES:  # a small graph can be a huge tree
        return dict.fromkeys(counts, 1), 0
    return counts, (1 if formula is FALSE else needed)


def _encoded(formula: Formula, numbers: Mapping[Predicate, int]) -> list[int]:
    code: list[int] = []
    places: dict[int, int] = {}
    for place, node in enumerate(formula.nodes()):
        places[id(node)] = place
        if node.predicate is not None:
            code += (_LEAF, numbers[node.predicate])
        else:
            code += (len(node.operands), node.least, *(places[id(operand)] for operand in node.operands))
    return code


def _disjoint_sets(formula: Formula, table: _Table, most: int) -> Matrix:
    """For each AND of the formula, which registered predicates cannot hold: [ANDs, predicates]."""
    known: dict[int, Matrix] = {}
    for node in formula.nodes():
        if node.predicate is not None:
            known[id(node)] = table.impossible(node.predicate)[None]
        else:
            operands = [known[id(operand)] for operand in node.operands]
            known[id(node)] = _joined(node, operands, len(table.numbers), most)
    return known[id(formula)]


def _joined(node: Formula, operands: list[Matrix], width: int, most: int) -> Matrix:
    """The sets of an inner node: `ways[k]` are those for k of the operands so far."""
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


@numba.njit(cache=True, nogil=True)
def _hits(impossible: Ints, arrays: _Arrays, conditions: int) -> Ints:
    """How many leaves of each condition are impossible."""
    hits = np.zeros(conditions, np.int64)
    for number in impossible:
        at = arrays.heads[number]
        while at >= 0:
            hits[arrays.owners[at]] += arrays.times[at]
            at = arrays.nexts[at]
    return hits


@numba.njit(cache=True, nogil=True)
def _mark(impossible: Mask, hits: Ints, arrays: _Arrays, holds: Mask, marked: Mask, only_one: bool) -> int:
    """Mark the conditions that can hold, or the first of them; gives how many were evaluated in `holds`."""
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


@numba.njit(cache=True, nogil=True)
def _can_hold(condition: int, arrays: _Arrays, impossible: Mask, holds: Mask) -> bool:
    """The condition with impossible predicates false and all others true; `holds` has room for its nodes."""
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


class ConjunctiveIndex:
    """The baseline: conditions turned into ANDs, each filed for itself, which overlap if no predicate is hit.

    The ranges that an AND has on one attribute are one range, so that it reports fewer overlaps that are none; it
    holds and asks as many conditions as there are ANDs. A condition with too many of them overlaps with all.
    """

    def __init__(self, event_types: Iterable[EventType] = (), *, most_terms: int = MOST_TERMS) -> None:
        """Nothing registered yet; the arguments are those of `OverlapIndex`."""
        self._index = OverlapIndex(event_types)
        self._most_terms = most_terms
        self._names: list[str] = []
        self._owners: dict[str, array[int]] = {}  # by event type: of each AND, the place of its condition

    def __len__(self) -> int:
        """How many ANDs are registered."""
        return len(self._index)

    def add(self, name: str, event_type: str, formula: Formula) -> None:
        """Register a condition."""
        owners = self._owners.setdefault(event_type, array("q"))
        for term in self._terms(formula):
            self._index.add(str(len(self._index)), event_type, term)
            owners.append(len(self._names))
        self._names.append(name)

    def overlapping(self, event_type: str, formula: Formula) -> list[str]:
        """The ids of all that overlap with the condition, in the order of their registration."""
        owners = np.asarray(self._owners.get(event_type, array("q")))
        marked = np.zeros(len(owners), np.bool_)
        for term in self._terms(formula):
            marked |= self._index._marked(event_type, term, only_one=False)
        return [self._names[place] for place in np.unique(owners[marked]).tolist()]

    def overlaps(self, event_type: str, formula: Formula) -> bool:
        """Is there one that overlaps?"""
        return any(self._index.overlaps(event_type, term) for term in self._terms(formula))

    def _terms(self, formula: Formula) -> list[Formula]:
        found = terms(formula, self._most_terms)
        return [TRUE] if found is None else found
