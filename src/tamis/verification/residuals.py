"""Splitting formulas at their operator calls: what an engine can index, and the residual for the verifier.

A formula that calls operators has two halves. In `relaxed` every predicate with a call counts as true, so an
engine can index it; `residual` is what is left to decide for an event that satisfies the first. The formula holds
exactly when both halves do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I64, Bools
from tamis.engines.forest import TEST, Forest, forest_of
from tamis.engines.forest.join import join_forests
from tamis.formulas.calls import calls_of
from tamis.formulas.expression import calls_in
from tamis.formulas.formula import TRUE, Formula, at_least, conjunction


class SplitFormula(NamedTuple):
    """The two halves of a formula; `residual` is None if it calls no operator."""

    relaxed: Formula
    residual: Formula | None


def calls_operators(formula: Formula) -> bool:
    return any(calls_of(predicate) for predicate in formula.predicates())


def split_formula(formula: Formula) -> SplitFormula:
    if not calls_operators(formula):
        return SplitFormula(formula, None)
    conjuncts = formula.operands if formula.is_and else (formula,)
    residual = [each for each in conjuncts if calls_operators(each)]
    return SplitFormula(_relax(formula), conjunction(residual))


def _relax(formula: Formula) -> Formula:
    known: dict[int, Formula] = {}
    for node in formula.nodes():
        if node.predicate is not None:
            known[id(node)] = TRUE if calls_of(node.predicate) else node
        else:
            known[id(node)] = at_least(node.least, [known[id(operand)] for operand in node.operands])
    return known[id(formula)]


def split_forest(forest: Forest) -> tuple[Forest, tuple[I64, Forest] | None]:
    """The relaxed formulas of all slots; and the slots and residuals of those that call, None if none does."""
    slots = calling_slots(forest)
    if not len(slots):
        return forest, None
    halves = [split_formula(forest[int(slot)]) for slot in slots]
    residuals = forest_of([half.residual for half in halves if half.residual is not None])
    plain = np.setdiff1d(np.arange(len(forest)), slots)
    joined = join_forests([(forest, plain), (forest_of([half.relaxed for half in halves]), np.arange(len(slots)))])
    places = np.empty(len(forest), np.int64)
    places[plain] = np.arange(len(plain))
    places[slots] = len(plain) + np.arange(len(slots))
    return join_forests([(joined, places)]), (slots, residuals)


def calling_slots(forest: Forest) -> I64:
    """The slots whose formulas call an operator."""
    axes = [bool(calls_in(axis.attribute)) for axis in forest.axes]
    attributes = [bool(calls_in(attribute)) for attribute in forest.tests.attributes]
    others = [bool(calls_of(predicate)) for predicate in forest.tests.others]
    if not any([*axes, *attributes, *others]):
        return np.empty(0, np.int64)
    leaves = forest.leaves
    is_test = leaves.kinds == TEST
    tests = np.concatenate([np.array([*attributes, False])[forest.tests.patterns.attributes], [*others, False]])
    calls = np.zeros(len(leaves.kinds), np.bool_)
    calls[~is_test] = np.array([*axes, False])[leaves.axes[~is_test]]
    calls[is_test] = tests.astype(np.bool_)[leaves.lows[is_test]]
    return np.flatnonzero(slots_reaching(forest, calls))


def called_operators(forest: Forest) -> set[str]:
    """The names of the operators that formulas call."""
    calls = [call for axis in forest.axes for call in calls_in(axis.attribute)]
    calls += [call for number in range(len(forest.tests)) for call in calls_of(forest.tests[number])]
    return {call.operator for call in calls}


def slots_reaching(forest: Forest, leaves: Bools, inner: Bools | None = None) -> Bools:
    """For every slot, whether its formula uses one of these leaves or inner nodes."""
    nodes = forest.nodes
    found = np.zeros(len(nodes.least) + 1, np.bool_)
    if inner is not None:
        found[:-1] = inner
    reached = np.where(nodes.children < 0, np.append(leaves, False)[~np.minimum(nodes.children, -1)], False)
    owners = np.repeat(np.arange(len(nodes.least)), np.diff(nodes.firsts))
    np.logical_or.at(found, owners, reached)
    for node, child in zip(owners.tolist(), nodes.children.tolist(), strict=True):
        if child >= 0 and found[child]:
            found[node] = True  # children come before their parents
    roots = forest.roots
    return np.where(roots < 0, np.append(leaves, False)[~np.minimum(roots, -1)], found[np.maximum(roots, 0)])
