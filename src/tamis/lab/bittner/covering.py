"""Covering: of the entries of one neighbour, those are dropped that a more general one covers.

Entries become ORs of ANDs, *terms*. A term is covered while another term holds wherever it does. The uncovered
terms match exactly the events that all entries match. A covered term points to one that covers it, which may be
covered itself; covering is transitive, so every covered term is covered by an uncovered one. When a term is
removed, the terms below it are attached elsewhere or become uncovered again, which makes deregistration
expensive.

Two indexes hold the uncovered terms. `_coverers` finds what may cover a term: each term is there once, under a
*rigid* predicate if it has one (a single value or a pattern, which only an equal predicate implies), else under
an attribute. `_uncovered` finds what a term may cover: each term is there under all of its keys. Terms that have
ranges only are compared with all terms on the same attribute.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from tamis.formulas.formula import Formula
from tamis.formulas.predicates.within import Within
from tamis.lab.bittner.implication import TERMS, Conjuncts, terms
from tamis.lab.bittner.pruning import Pruner
from tamis.values.ranges import NONE, after


class TermId(NamedTuple):
    """Which term of which entry."""

    id: Hashable
    number: int


class CoverChange(NamedTuple):
    """Terms to add to a routing table, and terms to remove from it."""

    added: dict[TermId, Formula]
    removed: list[TermId]


@dataclass(slots=True, eq=False)
class _Term:
    """A term and the terms that it covers; one that is no AND of predicates is covered by its equal only."""

    id: TermId
    formula: Formula
    conjuncts: Conjuncts | None
    coverer: _Term | None = None
    covered: dict[TermId, _Term] = field(default_factory=dict)

    def covers(self, other: _Term) -> bool:
        if self.conjuncts is None or other.conjuncts is None:
            return self.formula == other.formula
        return self.conjuncts.covers(other.conjuncts)

    def keys(self) -> tuple[list[object], list[object]]:
        """Its rigid predicates, and the attributes of the others; together never empty."""
        if self.conjuncts is None:
            return [self.formula], []
        rigid: list[object] = list(self.conjuncts.others)
        loose: list[object] = [_ANYTHING]
        for attribute, within in self.conjuncts.ranges.items():
            if _is_rigid(within):
                rigid.append(within)
            else:
                loose.append(attribute)
        return rigid, loose


_TermIndex: TypeAlias = dict[object, dict[TermId, _Term]]
_ANYTHING = "anything"
"""The key of a term without predicates, and of every term that it may cover."""


def _is_rigid(within: Within) -> bool:
    """Is the predicate, which some value satisfies, implied only by itself?"""
    cuts = within.ranges.cuts
    if within.null:
        return within.ranges == NONE
    return len(cuts) == 2 and not within.ranges.inside and after(cuts[0]) == cuts[1]


class Covering:
    """The entries of one neighbour as terms, and which of these no other covers.

    >>> from tamis.language.condition import normalise
    >>> covering = Covering()
    >>> covering.add("wide", normalise("a = 1")).added
    {TermId(id='wide', number=0): Formula(a = 1)}
    >>> covering.add("narrow", normalise("a = 1 AND b < 3"))
    CoverChange(added={}, removed=[])
    >>> covering.remove("wide").added
    {TermId(id='narrow', number=0): Formula(a = 1 AND b < 3)}
    """

    def __init__(self, most: int = TERMS) -> None:
        """Start empty; an entry with more than `most` terms stays whole."""
        self._most = most
        self._entries: dict[Hashable, list[_Term]] = {}
        self._coverers: _TermIndex = {}
        self._coverer_key: dict[TermId, object] = {}
        self._uncovered: _TermIndex = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._entries

    @property
    def terms(self) -> int:
        """Number of terms, covered or not."""
        return self._count

    @property
    def covered_share(self) -> float:
        """The share of terms that others cover."""
        return 1.0 - len(self._coverer_key) / self._count if self._count else 0.0

    def add(self, id_: Hashable, formula: Formula) -> CoverChange:
        """Add an entry.

        Raises:
            ValueError: There is one of that id.
        """
        if id_ in self._entries:
            msg = f"subscription {id_!r}: expected an id that is not registered"
            raise ValueError(msg)
        made = terms(formula, self._most)
        if made is None:
            found = [_Term(TermId(id_, 0), formula, None)]
        else:
            found = [_Term(TermId(id_, place), each, Conjuncts.of(each)) for place, each in enumerate(made)]
        self._entries[id_] = found
        self._count += len(found)
        return self._place_all(found, [])

    def remove(self, id_: Hashable) -> CoverChange:
        """Remove an entry; terms that nothing else covers become uncovered again.

        Raises:
            KeyError: There is none.
        """
        gone: list[TermId] = []
        orphans: dict[TermId, _Term] = {}
        found = self._entries.pop(id_)
        self._count -= len(found)
        # Covered terms first: what they cover goes to their own coverer, perhaps of the same entry.
        for term in sorted(found, key=lambda each: each.coverer is None):
            if term.coverer is not None:
                del term.coverer.covered[term.id]
                _attach(term.covered.values(), term.coverer)
            else:
                self._unindex(term)
                gone.append(term.id)
                orphans.update(term.covered)
        for orphan in orphans.values():
            orphan.coverer = None
        return self._place_all(orphans.values(), gone)

    def _place_all(self, new: Iterable[_Term], removed: list[TermId]) -> CoverChange:
        """Place terms; `removed` are uncovered ones that are gone already."""
        added: dict[TermId, Formula] = {}
        for term in new:
            for covered in self._place(term):
                if added.pop(covered.id, None) is None:
                    removed.append(covered.id)
            if term.coverer is None:
                added[term.id] = term.formula
        return CoverChange(added, removed)

    def _place(self, term: _Term) -> list[_Term]:
        """Attach a term to one that covers it, or make it uncovered; returns the terms that it covers then."""
        rigid, loose = term.keys()
        for key in (*rigid, *self._attributes(term), *loose):
            for other in self._coverers.get(key, {}).values():
                if other.covers(term):
                    _attach([term], other)
                    return []
        covered = [other for other in self._candidates(rigid, loose) if term.covers(other)]
        for other in covered:
            self._unindex(other)
        _attach(covered, term)
        self._index(term, rigid, loose)
        return covered

    def _attributes(self, term: _Term) -> list[object]:
        """Attributes on which a range could cover a single value of the term."""
        ranges = {} if term.conjuncts is None else term.conjuncts.ranges
        return [attribute for attribute, within in ranges.items() if _is_rigid(within)]

    def _candidates(self, rigid: list[object], loose: list[object]) -> list[_Term]:
        """The uncovered terms that one with these keys may cover."""
        lists = [self._uncovered.get(key, {}) for key in (*rigid, *loose)]
        return list(min(lists, key=len).values())

    def _index(self, term: _Term, rigid: list[object], loose: list[object]) -> None:
        shortest = min(rigid or loose[1:] or loose, key=lambda each: len(self._coverers.get(each, ())))
        self._coverers.setdefault(shortest, {})[term.id] = term
        self._coverer_key[term.id] = shortest
        for key in (*rigid, *loose, *self._attributes(term)):
            self._uncovered.setdefault(key, {})[term.id] = term

    def _unindex(self, term: _Term) -> None:
        rigid, loose = term.keys()
        _drop(self._coverers, self._coverer_key.pop(term.id), term)
        for key in (*rigid, *loose, *self._attributes(term)):
            _drop(self._uncovered, key, term)


def _attach(terms_: Iterable[_Term], coverer: _Term) -> None:
    for term in list(terms_):
        term.coverer = coverer
        coverer.covered[term.id] = term


def _drop(index: _TermIndex, key: object, term: _Term) -> None:
    del index[key][term.id]
    if not index[key]:
        del index[key]


class CoveringPruner:
    """Covering, then pruning: the pruner holds the uncovered terms of every neighbour.

    A covered term stays covered when its coverer is generalised. When it becomes uncovered, it is registered in
    its original form.
    """

    def __init__(self, pruner: Pruner, most: int = TERMS) -> None:
        """Start empty; the pruner must be empty, too."""
        self.pruner = pruner
        self._most = most
        self._coverings: dict[Hashable, Covering] = {}
        self._entries: dict[Hashable, tuple[Hashable, int]] = {}

    @property
    def covered_share(self) -> float:
        """The share of terms that others cover."""
        count = sum(each.terms for each in self._coverings.values())
        return sum(each.covered_share * each.terms for each in self._coverings.values()) / count if count else 0.0

    def register(self, id_: Hashable, formula: Formula, *, neighbour: Hashable = None, hops: int = 1) -> None:
        """Add an entry that a neighbour sent.

        Raises:
            ValueError: The id is registered.
        """
        if id_ in self._entries:
            msg = f"subscription {id_!r}: expected an id that is not registered"
            raise ValueError(msg)
        covering = self._coverings.setdefault(neighbour, Covering(self._most))
        self._entries[id_] = neighbour, hops
        self._follow(covering.add(id_, formula), neighbour)

    def deregister(self, id_: Hashable) -> None:
        """Remove an entry; terms that it covered may come back.

        Raises:
            KeyError: There is none.
        """
        neighbour, _ = self._entries[id_]
        self._follow(self._coverings[neighbour].remove(id_), neighbour)
        del self._entries[id_]

    def _follow(self, change: CoverChange, neighbour: Hashable) -> None:
        for term in change.removed:
            self.pruner.deregister(term)
        for term, formula in change.added.items():
            self.pruner.register(term, formula, neighbour=neighbour, hops=self._entries[term.id][1])
