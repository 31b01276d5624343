"""Prunings: the ways to generalise a formula by a step.

A pruning deletes one operand of an AND, or of "at least k of" and lowers k by one: the operand is taken as true.
An operand of an OR is never deleted, because that would restrict. Formulas are monotone, so generalising a part
generalises the whole. A result never misses an event of the formula that it was made from, and no formula but
TRUE becomes TRUE, because an entry that always holds is useless.

A formula is a graph: pruning a shared node prunes it for all nodes that use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tamis.formulas.formula import TRUE, Formula, at_least


@dataclass(frozen=True, slots=True)
class Pruning:
    """Delete an operand of a node.

    Attributes:
        node: Index of the node in `Formula.nodes()`.
        operand: Index of the operand.
    """

    node: int
    operand: int


class PruningOption(NamedTuple):
    """A pruning, the operand that it deletes, and the resulting formula."""

    change: Pruning
    taken: Formula
    result: Formula


def pruning_options(formula: Formula, *, bottom_up: bool = False) -> list[PruningOption]:
    """Every valid pruning with its result; one that would give TRUE is not valid.

    Args:
        formula: To prune.
        bottom_up: Delete only operands in which nothing can be pruned, as the memory measure asks.

    >>> from tamis.language.condition import normalise
    >>> [each.result for each in pruning_options(normalise("a < 3 AND (b = 1 OR c = 2)"))]
    [Formula(b = 1 OR c = 2), Formula(a < 3)]
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
            result = apply_pruning(nodes, above, change)
            if result is not TRUE:
                found.append(PruningOption(change, operand, result))
    return found


def apply_pruning(nodes: list[Formula], above: list[int], change: Pruning) -> Formula:
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
    """Bool for each node: can it or a node below it be pruned?"""
    found: list[bool] = []
    for node in nodes:
        found.append(node.least >= 2 or any(found[places[id(operand)]] for operand in node.operands))
    return found
