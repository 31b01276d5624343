"""Which parts of a formula call operators, and the formula without them.

A formula that calls is split in two: `relaxed` takes every predicate with a call for granted, so that an engine
can index it; `rest` is what remains to be decided of an event that satisfies the first. The formula holds exactly
when both do.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.engines.forest import TEST, Forest, forest_of
from tamis.engines.forest.join import join_forests
from tamis.language.expression import Call, calls_in
from tamis.language.formula import TRUE, Formula, at_least, conjunction
from tamis.predicates.base import Predicate
from tamis.predicates.quantified import Quantified


class Split(NamedTuple):
    """The two halves of a formula; `rest` is None if it calls nothing."""

    relaxed: Formula
    rest: Formula | None


def calls_of(predicate: Predicate) -> tuple[Call, ...]:
    """The calls that a predicate takes."""
    return _inner_calls(predicate) if isinstance(predicate, Quantified) else calls_in(predicate.attribute)


@lru_cache(maxsize=1 << 12)
def _inner_calls(predicate: Quantified) -> tuple[Call, ...]:
    found = dict.fromkeys(calls_in(predicate.attribute))
    for inner in predicate.formula.predicates():
        found.update(dict.fromkeys(calls_of(inner)))
    return tuple(found)


def is_calling(formula: Formula) -> bool:
    """Does it call an operator?"""
    return any(calls_of(predicate) for predicate in formula.predicates())


def split(formula: Formula) -> Split:
    """What an engine can decide, and the rest."""
    if not is_calling(formula):
        return Split(formula, None)
    conjuncts = formula.operands if formula.is_and else (formula,)
    rest = [each for each in conjuncts if is_calling(each)]
    return Split(_relaxed(formula), conjunction(rest))


def _relaxed(formula: Formula) -> Formula:
    known: dict[int, Formula] = {}
    for node in formula.nodes():
        if node.predicate is not None:
            known[id(node)] = TRUE if calls_of(node.predicate) else node
        else:
            known[id(node)] = at_least(node.least, [known[id(operand)] for operand in node.operands])
    return known[id(formula)]


def separated(forest: Forest) -> tuple[Forest, tuple[npt.NDArray[np.int64], Forest] | None]:
    """The relaxed formulas of all slots, and the rests of those that call, by slot; None if none does."""
    axes = [bool(calls_in(axis.attribute)) for axis in forest.axes]
    attributes = [bool(calls_in(attribute)) for attribute in forest.tests.attributes]
    others = [bool(calls_of(predicate)) for predicate in forest.tests.others]
    if not any([*axes, *attributes, *others]):
        return forest, None
    leaves = forest.leaves
    is_test = leaves.kinds == TEST
    tests = np.concatenate([np.array([*attributes, False])[forest.tests.patterns.attributes], [*others, False]])
    calls = np.zeros(len(leaves.kinds), np.bool_)
    calls[~is_test] = np.array([*axes, False])[leaves.axes[~is_test]]
    calls[is_test] = tests.astype(np.bool_)[leaves.lows[is_test]]
    slots = np.flatnonzero(_reaching(forest, calls))
    halves = [split(forest[int(slot)]) for slot in slots]
    rests = forest_of([half.rest for half in halves if half.rest is not None])
    plain = np.setdiff1d(np.arange(len(forest)), slots)
    joined = join_forests([(forest, plain), (forest_of([half.relaxed for half in halves]), np.arange(len(slots)))])
    places = np.empty(len(forest), np.int64)
    places[plain] = np.arange(len(plain))
    places[slots] = len(plain) + np.arange(len(slots))
    return join_forests([(joined, places)]), (slots, rests)


def _reaching(forest: Forest, leaves: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which slots use one of these leaves."""
    nodes = forest.nodes
    found = np.zeros(len(nodes.least) + 1, np.bool_)
    reached = np.where(nodes.children < 0, np.append(leaves, False)[~np.minimum(nodes.children, -1)], False)
    owners = np.repeat(np.arange(len(nodes.least)), np.diff(nodes.firsts))
    np.logical_or.at(found, owners, reached)
    for node, child in zip(owners.tolist(), nodes.children.tolist(), strict=True):
        if child >= 0 and found[child]:
            found[node] = True  # children stand before their parents
    roots = forest.roots
    return np.where(roots < 0, np.append(leaves, False)[~np.minimum(roots, -1)], found[np.maximum(roots, 0)])
