"""Generalising formulas: what may be taken away from one, or widened in it, so that it holds in no fewer events.

A pruning deletes one operand of an AND, or of "at least k of" with k lowered by one: the operand is taken for
granted. An operand of an OR is never deleted, for that would restrict. Formulas are monotone, so that whatever is
generalised inside of one generalises the whole; nothing here ever makes a formula that misses an event of the one
that it was made from, and no formula but TRUE becomes TRUE, since an entry that always holds says nothing.

A formula is a graph: what several nodes share is pruned for all of them. Sizes are those of the tree that it
stands for, in which shared nodes are written out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from tamis.language.expression import Apply, Path, Typed
from tamis.language.formula import FALSE, TRUE, Formula, at_least, conjunction, disjunction, leaf
from tamis.operators.calling import calls_of
from tamis.predicates.base import Predicate
from tamis.predicates.quantified import Quantified
from tamis.predicates.within import Within
from tamis.values.ranges import Ranges

LEAF_BYTES, INNER_BYTES = 5, 2
"""What a node of an encoded tree takes: a tag with the number of a predicate, or an operator and a count."""


@dataclass(frozen=True, slots=True)
class Pruning:
    """Delete an operand of a node.

    Attributes:
        node: Which node: its place among `Formula.nodes()`.
        operand: Which operand of it.
    """

    node: int
    operand: int


@dataclass(frozen=True, slots=True)
class Replacement:
    """Put a wider predicate in the place of an operand of an OR, or of the formula if it is one predicate."""

    operand: int
    predicate: Within


class Option(NamedTuple):
    """A way to generalise a formula, what it takes away or widens, and what it makes of the formula."""

    change: Pruning | Replacement
    taken: Formula
    result: Formula


class Outline(NamedTuple):
    """The least number of predicates that must hold, bytes and leaves of a formula; all 0 for a constant."""

    p_min: int
    bytes: int
    leaves: int


_CONSTANT = Outline(0, 0, 0)
_LEAF = Outline(1, LEAF_BYTES, 1)


def options(formula: Formula, *, bottom_up: bool = False) -> list[Option]:
    """Every valid pruning with what it gives; one that would give TRUE is none.

    Args:
        formula: To prune.
        bottom_up: Delete only operands in which nothing can be pruned, as the memory measure asks.
    """
    nodes = list(formula.nodes())
    places = {id(node): place for place, node in enumerate(nodes)}
    is_prunable = _prunable(nodes, places)
    found = []
    for place, node in enumerate(nodes):
        if node.least < 2:
            continue
        above = ancestors(nodes, place)
        for number, operand in enumerate(node.operands):
            if bottom_up and is_prunable[places[id(operand)]]:
                continue
            change = Pruning(place, number)
            result = pruned(nodes, above, change)
            if result is not TRUE:
                found.append(Option(change, operand, result))
    return found


def prunings(formula: Formula, *, bottom_up: bool = False) -> list[Pruning]:
    """Every valid pruning, see `options`.

    >>> from tamis.language.condition import normalise
    >>> prunings(normalise("a < 3 AND (b = 1 OR c = 2)"))
    [Pruning(node=4, operand=0), Pruning(node=4, operand=1)]
    """
    return [each.change for each in options(formula, bottom_up=bottom_up) if isinstance(each.change, Pruning)]


def apply(formula: Formula, change: Pruning | Replacement) -> Formula:
    """The formula after a pruning or a replacement; nodes with one operand vanish, nested ANDs and ORs are flat.

    >>> from tamis.language.condition import normalise
    >>> apply(normalise("a < 3 AND (b = 1 OR c = 2)"), Pruning(node=4, operand=0))
    Formula(b = 1 OR c = 2)
    """
    if isinstance(change, Replacement):
        return _replaced(formula, change)
    nodes = list(formula.nodes())
    node = nodes[change.node]
    if node.least < 2 or change.operand not in range(len(node.operands)):
        msg = f"expected a pruning of {formula.describe()}, found {change}"
        raise ValueError(msg)
    return pruned(nodes, ancestors(nodes, change.node), change)


def pruned(nodes: list[Formula], above: list[int], change: Pruning) -> Formula:
    """The last of the nodes after a pruning of one of them; `above` are the `ancestors` of that one."""
    node = nodes[change.node]
    rest = node.operands[: change.operand] + node.operands[change.operand + 1 :]
    changed = {id(node): at_least(node.least - 1, rest)}
    for at in above:
        node = nodes[at]
        operands = [changed.get(id(operand), operand) for operand in node.operands]
        changed[id(node)] = at_least(node.least, operands)
    return changed[id(nodes[-1])]


def ancestors(nodes: list[Formula], place: int) -> list[int]:
    """The places of all nodes that depend on one, operands before those that use them."""
    changed = {id(nodes[place])}
    found = []
    for at in range(place + 1, len(nodes)):
        if any(id(operand) in changed for operand in nodes[at].operands):
            changed.add(id(nodes[at]))
            found.append(at)
    return found


def _prunable(nodes: list[Formula], places: dict[int, int]) -> list[bool]:
    """In which nodes, or below, something can be pruned."""
    found: list[bool] = []
    for node in nodes:
        found.append(node.least >= 2 or any(found[places[id(operand)]] for operand in node.operands))
    return found


# --- replacing predicates by wider ones ------------------------------------------------------------------------


def hulls(predicate: Within) -> Iterator[Within]:
    """The predicate without the gaps between its ranges, if it has any."""
    wide = hull(predicate.ranges)
    if wide != predicate.ranges:
        yield Within(predicate.attribute, wide, predicate.null)


def hull(ranges: Ranges) -> Ranges:
    """Everything from the least to the greatest of a set.

    >>> hull(Ranges(False, (1, 2, 5, 6)))
    Ranges(inside=False, cuts=(1, 6))
    """
    pieces = list(ranges.pieces())
    if len(pieces) < 2:
        return ranges
    ends = (pieces[0][0], pieces[-1][1])
    return Ranges(ranges.inside, tuple(end for end in ends if end is not None))


def replacements(formula: Formula, wider: Callable[[Within], Iterable[Within]] = hulls) -> list[Replacement]:
    """What can be widened in a formula in which nothing can be pruned: a predicate, or an OR of predicates.

    Args:
        formula: Any; none of another form has a replacement.
        wider: Gives the predicates that a predicate may be replaced by; those that do not cover it are left out.
    """
    return [each.change for each in replacing_options(formula, wider) if isinstance(each.change, Replacement)]


def replacing_options(formula: Formula, wider: Callable[[Within], Iterable[Within]] = hulls) -> list[Option]:
    """Every replacement with what it gives."""
    found = []
    if formula.predicate is None and not formula.is_or:
        return []
    for place, operand in enumerate(formula.operands or (formula,)):
        if operand.operands:
            return []
        if isinstance(operand.predicate, Within):
            for predicate in wider(operand.predicate):
                if predicate != operand.predicate and implies(operand.predicate, predicate):
                    change = Replacement(place, predicate)
                    found.append(Option(change, operand, _replaced(formula, change)))
    return [each for each in found if each.result is not TRUE]


def _replaced(formula: Formula, change: Replacement) -> Formula:
    operands = list(formula.operands or (formula,))
    operands[change.operand] = leaf(change.predicate)
    return disjunction(operands)


# --- sizes -----------------------------------------------------------------------------------------------------


def outline(formula: Formula, memory: dict[int, Outline] | None = None) -> Outline:
    """The sizes of a formula; `memory` shares those of nodes, by identity, while they are alive."""
    if formula.predicate is not None:
        return _LEAF
    memory = {} if memory is None else memory
    known = memory.get(id(formula))
    if known is None:
        known = memory[id(formula)] = _outlined(formula, memory)
    return known


def _outlined(formula: Formula, memory: dict[int, Outline]) -> Outline:
    if not formula.operands:
        return _CONSTANT
    counts, bytes_, leaves = zip(*[outline(operand, memory) for operand in formula.operands], strict=True)
    if formula.is_and:
        needed = sum(counts)
    else:
        needed = sum(sorted(counts)[: formula.least])
    return Outline(needed, INNER_BYTES + sum(bytes_), sum(leaves))


def p_min(formula: Formula) -> int:
    """The least number of predicates that must hold for the formula to hold: what makes it a candidate."""
    return outline(formula).p_min


def size(formula: Formula) -> int:
    """Bytes of the encoded tree."""
    return outline(formula).bytes


def leaf_counts(formula: Formula) -> Counter[Predicate]:
    """How often each predicate stands in the tree."""
    times: Counter[int] = Counter({id(formula): 1})
    found: Counter[Predicate] = Counter()
    for node in reversed(list(formula.nodes())):
        if node.predicate is not None:
            found[node.predicate] += times[id(node)]
        for operand in node.operands:
            times[id(operand)] += times[id(node)]
    return found


def is_opaque(predicate: Predicate) -> bool:
    """Does it call an operator or read what must be computed? Such predicates are dear, and tell little."""
    if not is_plain(predicate.attribute):
        return True
    return isinstance(predicate, Quantified) and bool(calls_of(predicate))


def is_plain(attribute: Typed) -> bool:
    """Is it an attribute of the event as it is, or as a schemaless one is read?"""
    if isinstance(attribute, Apply) and attribute.function == "read":
        return isinstance(attribute.arguments[0], Path)
    return isinstance(attribute, Path)


# --- which formulas cover which --------------------------------------------------------------------------------

TERMS = 32
"""Terms that a formula may have as an OR of ANDs."""


def implies(special: Predicate, general: Predicate) -> bool:
    """Does the general predicate hold wherever the special one does? Only ranges are looked into."""
    if isinstance(special, Within) and isinstance(general, Within):
        if special.attribute != general.attribute or (special.null and not general.null):
            return False
        return (special.ranges & general.ranges) == special.ranges
    return special == general


def terms(formula: Formula, most: int = TERMS) -> list[Formula] | None:
    """The formula as an OR of ANDs of predicates; None if there would be more than `most`."""
    known: dict[int, list[Formula]] = {}
    for node in formula.nodes():
        made = [node] if node.predicate is not None else _terms_of(node, known, most)
        if made is None:
            return None
        known[id(node)] = made
    return known[id(formula)]


def _terms_of(node: Formula, known: dict[int, list[Formula]], most: int) -> list[Formula] | None:
    """Those of an inner node: `ways[k]` are the terms in which k of the operands so far hold."""
    ways: list[list[Formula]] = [[TRUE]] + [[] for _ in range(node.least)]
    for left, operand in zip(range(len(node.operands) - 1, -1, -1), node.operands, strict=True):
        # With fewer than these, the operands that are left would not be enough.
        for count in range(node.least, max(0, node.least - left - 1), -1):
            longer = [conjunction(pair) for pair in product(ways[count - 1], known[id(operand)])]
            ways[count] = list(dict.fromkeys(each for each in ways[count] + longer if each is not FALSE))
            if len(ways[count]) > most:
                return None
    return ways[node.least]


def covers(general: Formula, special: Formula, most: int = TERMS) -> bool:
    """Is it certain that the general formula holds wherever the special one does?

    Each AND of the special one must be covered by one of the general one, whose predicates its own imply. Two
    formulas with many terms are compared as they stand, so that False may mean that nobody looked.

    >>> from tamis.language.condition import normalise
    >>> covers(normalise("a < 5"), normalise("a < 3 AND b = 1 OR a = 4"))
    True
    """
    if general == special:
        return True
    generals, specials = terms(general, most), terms(special, most)
    if generals is None or specials is None:
        return False
    sides = [Conjuncts.of(each) for each in generals]
    return all(any(each.covers(other) for each in sides) for other in map(Conjuncts.of, specials))


class Conjuncts(NamedTuple):
    """An AND of predicates, to be compared with others: one range an attribute, and whatever else it asks."""

    ranges: dict[Typed, Within]
    others: frozenset[Predicate]

    @classmethod
    def of(cls, term: Formula) -> Conjuncts:
        """Of a term as `terms` gives it."""
        ranges: dict[Typed, Within] = {}
        others = set()
        for part in term.operands if term.predicate is None else (term,):
            if isinstance(part.predicate, Within):
                ranges[part.predicate.attribute] = part.predicate
            elif part.predicate is not None:
                others.add(part.predicate)
        return cls(ranges, frozenset(others))

    def covers(self, special: Conjuncts) -> bool:
        """Is each of its predicates implied by one of the special AND?"""
        if len(self.ranges) > len(special.ranges) or not self.others <= special.others:
            return False
        for attribute, wide in self.ranges.items():
            narrow = special.ranges.get(attribute)
            if narrow is None or not (narrow == wide or implies(narrow, wide)):
                return False
        return True
