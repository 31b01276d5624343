"""The functions of nodes, by number.

A result is a state and a value (thesis, 4.2). The state of a Boolean node is its truth; the state of arithmetic
says whether there is a value, and whatever reads an undefined value is undefined. "At least k of these" is a tree
of partial sums that stop at k; the topmost one has a function of its own, and is true if it reached k.
"""

from __future__ import annotations

import math

from tamis.kernels import kernel

PREDICATE, TRUE, FALSE, CONSTANT, CALLED = 0, 1, 2, 3, 4
"""Nodes without children; CALLED is a predicate that calls an operator, asked only where its answer matters."""
AND, OR, XOR, NAND, NOR, XNOR = 5, 6, 7, 8, 9, 10
PLUS, MINUS, TIMES, DIVIDED_BY, MINIMUM, MAXIMUM = 11, 12, 13, 14, 15, 16
LESS, LESS_OR_EQUAL, EQUAL, UNEQUAL = 17, 18, 19, 20
XOR_OF_KNOWN = 21
"""The XOR of conditions: true if one operand is true and the other one is known to be false, not NULL. XOR itself
is that of the thesis, where what is not true is false."""
_SUMS = 32
"""The partial sum of "at least k" is function `_SUMS` + 2k; the topmost one is `_SUMS` + 2k + 1."""

NAMES = {
    PREDICATE: "predicate",
    TRUE: "TRUE",
    FALSE: "FALSE",
    CONSTANT: "constant",
    CALLED: "call of an operator",
    AND: "AND",
    OR: "OR",
    XOR: "XOR",
    NAND: "NAND",
    NOR: "NOR",
    XNOR: "XNOR",
    PLUS: "+",
    MINUS: "-",
    TIMES: "*",
    DIVIDED_BY: "/",
    MINIMUM: "min",
    MAXIMUM: "max",
    LESS: "<",
    LESS_OR_EQUAL: "<=",
    EQUAL: "=",
    UNEQUAL: "<>",
    XOR_OF_KNOWN: "XOR",
}

TRUE_VALUE_PATH, ZERO_SUPPRESSION, GENERAL = 0, 1, 2
"""The filters; each supports the functions of those before it, and more."""
FILTERS = ("true-value-path", "zero-suppression", "general")


def name_of(function: int) -> str:
    """The name of a function, for messages."""
    return NAMES[function] if function < _SUMS else f"at least {(function - _SUMS) // 2} of"


@kernel
def at_least_of(least: int) -> int:
    """The function of the topmost sum of "at least k"."""
    return _SUMS + 2 * least + 1


@kernel
def is_topmost(function: int) -> bool:
    """Is it the topmost sum of "at least k"?"""
    return bool(function >= _SUMS and function & 1)


@kernel
def partial_of(function: int) -> int:
    """The function that joins a part of the operands of another one."""
    return function - 1 if is_topmost(function) else function


@kernel
def is_sum(function: int) -> bool:
    """Is it a partial sum, which has a value instead of a truth?"""
    return bool(function >= _SUMS and function & 1 == 0)


@kernel
def sum_bound(function: int) -> int:
    """The k of a sum of "at least k"."""
    return (function - _SUMS) >> 1


@kernel
def is_inner(function: int) -> bool:
    return bool(function > CALLED)


@kernel
def is_commutative(function: int) -> bool:
    return not (function == MINUS or function == DIVIDED_BY or function == LESS or function == LESS_OR_EQUAL)


@kernel
def is_idempotent(function: int) -> bool:
    """Is f(x, x) the same as x?"""
    return bool(function == AND or function == OR)


@kernel
def is_true_of_falses(function: int) -> bool:
    """Is it true when none of its children is true?"""
    return bool(function == NAND or function == NOR or function == XNOR or function == TRUE)


@kernel
def reads_values(function: int) -> bool:
    """Does it read the values of its children, rather than their truth?"""
    return bool(PLUS <= function <= UNEQUAL)


@kernel
def filter_for(function: int) -> int:
    """The first filter that supports it."""
    if function == CALLED:
        return GENERAL
    if function <= OR:
        return TRUE_VALUE_PATH
    return ZERO_SUPPRESSION if function == XOR or function == XOR_OF_KNOWN else GENERAL


@kernel
def combine(function: int, left: bool, right: bool) -> bool:
    """The truth of a Boolean node."""
    if function == AND:
        return left and right
    if function == OR:
        return left or right
    if function == XOR:
        return left != right
    if function == NAND:
        return not (left and right)
    if function == NOR:
        return not (left or right)
    return left == right


@kernel
def compare(function: int, left: float, right: float) -> bool:
    """The truth of a comparison; false if an operand is undefined."""
    if math.isnan(left) or math.isnan(right):
        return False
    if function == LESS:
        return left < right
    if function == LESS_OR_EQUAL:
        return left <= right
    return left == right if function == EQUAL else left != right


@kernel
def calculate(function: int, left: float, right: float) -> float:
    """The value of arithmetic; NaN for undefined, which a division by zero is."""
    if math.isnan(left) or math.isnan(right):
        return math.nan
    if function == PLUS:
        return left + right
    if function == MINUS:
        return left - right
    if function == TIMES:
        return left * right
    if function == DIVIDED_BY:
        return left / right if right != 0 else math.nan
    if function == MINIMUM:
        return min(left, right)
    return max(left, right)
