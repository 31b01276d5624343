"""Covering: of the entries of one neighbour, those are dropped that another one says more generally.

Entries become ORs of ANDs, *terms*, and a term is hidden while another term holds wherever it does. What is shown
matches exactly the events that all entries match. A hidden term hangs under one that covers it, which may be
hidden itself; covering is transitive, so that everything hidden is covered by something shown. When a term goes,
those under it are put elsewhere or shown again, which is what makes deregistration dear.

To find what may cover a term, each shown term is filed once, under a predicate that only an equal one implies if
it has one (a single value, a pattern), else under an attribute; to find what a term may cover, under all of them.
Terms that are ranges and nothing else are compared with all that ask the same attribute.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from tamis.language.formula import Formula
from tamis.predicates.within import Within
from tamis.routing.pruning import Pruner
from tamis.routing.trees import TERMS, Conjuncts, terms
from tamis.values.ranges import NONE, after


class TermId(NamedTuple):
    """Which term of which entry."""

    id: Hashable
    number: int


class Change(NamedTuple):
    """What to show from now on, and what no longer."""

    shown: dict[TermId, Formula]
    hidden: list[TermId]


@dataclass(slots=True, eq=False)
class _Term:
    """A term, and those that hang under it; one that is not AND of predicates is only covered by its equal."""

    id: TermId
    formula: Formula
    conjuncts: Conjuncts | None
    above: _Term | None = None
    under: dict[TermId, _Term] = field(default_factory=dict)

    def covers(self, other: _Term) -> bool:
        if self.conjuncts is None or other.conjuncts is None:
            return self.formula == other.formula
        return self.conjuncts.covers(other.conjuncts)

    def keys(self) -> tuple[list[object], list[object]]:
        """Its predicates that only equal ones imply, and the attributes of the others; together never empty."""
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


_Files: TypeAlias = dict[object, dict[TermId, _Term]]
_ANYTHING = "anything"
"""The key of a term that asks nothing, and of whatever it may cover."""


def _is_rigid(within: Within) -> bool:
    """Is the predicate, which some value satisfies, implied by no range but its own?"""
    cuts = within.ranges.cuts
    if within.null:
        return within.ranges == NONE
    return len(cuts) == 2 and not within.ranges.inside and after(cuts[0]) == cuts[1]


class Covering:
    """The entries of one neighbour, of which only those terms are shown that no other covers.

    >>> from tamis.language.condition import normalise
    >>> covering = Covering()
    >>> covering.add("wide", normalise("a = 1")).shown
    {TermId(id='wide', number=0): Formula(a = 1)}
    >>> covering.add("narrow", normalise("a = 1 AND b < 3"))
    Change(shown={}, hidden=[])
    >>> covering.remove("wide").shown
    {TermId(id='narrow', number=0): Formula(a = 1 AND b < 3)}
    """

    def __init__(self, most: int = TERMS) -> None:
        """No entries yet; one with more than `most` terms stays as it is."""
        self._most = most
        self._entries: dict[Hashable, list[_Term]] = {}
        self._coverers: _Files = {}
        self._filed: dict[TermId, object] = {}
        self._shown: _Files = {}
        self._count = 0

    def __len__(self) -> int:
        """Number of entries, shown or not."""
        return len(self._entries)

    @property
    def terms(self) -> int:
        """Number of terms, shown or not."""
        return self._count

    @property
    def hidden(self) -> float:
        """The share of terms that others cover."""
        return 1.0 - len(self._filed) / self._count if self._count else 0.0

    def shown(self) -> Iterator[tuple[TermId, Formula]]:
        """The terms that decide."""
        for found in self._entries.values():
            yield from ((term.id, term.formula) for term in found if term.above is None)

    def add(self, id_: Hashable, formula: Formula) -> Change:
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

    def remove(self, id_: Hashable) -> Change:
        """Remove an entry; what it hid and nothing else covers is shown again.

        Raises:
            KeyError: There is none.
        """
        gone: list[TermId] = []
        orphans: dict[TermId, _Term] = {}
        found = self._entries.pop(id_)
        self._count -= len(found)
        # Hidden ones first: what is under them goes to those above them, perhaps of the same entry.
        for term in sorted(found, key=lambda each: each.above is None):
            if term.above is not None:
                del term.above.under[term.id]
                _hang(term.under.values(), term.above)
            else:
                self._unfile(term)
                gone.append(term.id)
                orphans.update(term.under)
        for orphan in orphans.values():
            orphan.above = None
        return self._place_all(orphans.values(), gone)

    def _place_all(self, new: Iterable[_Term], hidden: list[TermId]) -> Change:
        """Place terms; `hidden` are those that were shown and are gone."""
        shown: dict[TermId, Formula] = {}
        for term in new:
            for covered in self._place(term):
                if shown.pop(covered.id, None) is None:
                    hidden.append(covered.id)
            if term.above is None:
                shown[term.id] = term.formula
        return Change(shown, hidden)

    def _place(self, term: _Term) -> list[_Term]:
        """Hang a term under one that covers it, or show it; gives those that it hides then."""
        rigid, loose = term.keys()
        for key in (*rigid, *self._attributes(term), *loose):
            for other in self._coverers.get(key, {}).values():
                if other.covers(term):
                    _hang([term], other)
                    return []
        covered = [other for other in self._candidates(rigid, loose) if term.covers(other)]
        for other in covered:
            self._unfile(other)
        _hang(covered, term)
        self._file(term, rigid, loose)
        return covered

    def _attributes(self, term: _Term) -> list[object]:
        """Those that a range may ask which covers one of its single values."""
        ranges = {} if term.conjuncts is None else term.conjuncts.ranges
        return [attribute for attribute, within in ranges.items() if _is_rigid(within)]

    def _candidates(self, rigid: list[object], loose: list[object]) -> list[_Term]:
        """The shown terms that one with these keys may cover."""
        lists = [self._shown.get(key, {}) for key in (*rigid, *loose)]
        return list(min(lists, key=len).values())

    def _file(self, term: _Term, rigid: list[object], loose: list[object]) -> None:
        under = min(rigid or loose[1:] or loose, key=lambda each: len(self._coverers.get(each, ())))
        self._coverers.setdefault(under, {})[term.id] = term
        self._filed[term.id] = under
        for key in (*rigid, *loose, *self._attributes(term)):
            self._shown.setdefault(key, {})[term.id] = term

    def _unfile(self, term: _Term) -> None:
        rigid, loose = term.keys()
        _drop(self._coverers, self._filed.pop(term.id), term)
        for key in (*rigid, *loose, *self._attributes(term)):
            _drop(self._shown, key, term)


def _hang(below: Iterable[_Term], above: _Term) -> None:
    for term in list(below):
        term.above = above
        above.under[term.id] = term


def _drop(files: _Files, key: object, term: _Term) -> None:
    del files[key][term.id]
    if not files[key]:
        del files[key]


class CoveringPruner:
    """Covering, then pruning: the pruner has what covering shows, neighbour by neighbour.

    What is hidden stays so when what hides it is generalised. When it is shown again, it is registered as it came.
    """

    def __init__(self, pruner: Pruner, most: int = TERMS) -> None:
        """No entries yet; the pruner must have none either."""
        self.pruner = pruner
        self._most = most
        self._coverings: dict[Hashable, Covering] = {}
        self._entries: dict[Hashable, tuple[Hashable, int]] = {}

    @property
    def hidden(self) -> float:
        """The share of terms that others cover."""
        count = sum(each.terms for each in self._coverings.values())
        return sum(each.hidden * each.terms for each in self._coverings.values()) / count if count else 0.0

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
        """Remove an entry; what it hid comes back.

        Raises:
            KeyError: There is none.
        """
        neighbour, _ = self._entries[id_]
        self._follow(self._coverings[neighbour].remove(id_), neighbour)
        del self._entries[id_]

    def _follow(self, change: Change, neighbour: Hashable) -> None:
        for term in change.hidden:
            self.pruner.deregister(term)
        for term, formula in change.shown.items():
            self.pruner.register(term, formula, neighbour=neighbour, hops=self._entries[term.id][1])
