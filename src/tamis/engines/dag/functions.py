"""What a node says of its two children, by number.

A result is a state and a value. The state of a Boolean node is its truth; of arithmetic it says whether there is a
value, and what is undefined makes all that is reckoned from it undefined. A partial sum of "at least k of these"
stops at k; the topmost one, which has a number of its own, is true if it arrived there.
"""

from __future__ import annotations

import math

import numba

PREDICATE, TRUE, FALSE, CONSTANT = 0, 1, 2, 3
"""Nodes without children."""
AND, OR, XOR, NAND, NOR, XNOR = 4, 5, 6, 7, 8, 9
PLUS, MINUS, TIMES, DIVIDED_BY, LEAST, GREATEST = 10, 11, 12, 13, 14, 15
LESS, LESS_OR_EQUAL, EQUAL, UNEQUAL = 16, 17, 18, 19
_SUMS = 32
"""Partial sums of "at least k" are from here on: 2k above this, and the topmost one a step higher."""

NAMES = {
    PREDICATE: "predicate",
    TRUE: "TRUE",
    FALSE: "FALSE",
    CONSTANT: "constant",
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
    LEAST: "min",
    GREATEST: "max",
    LESS: "<",
    LESS_OR_EQUAL: "<=",
    EQUAL: "=",
    UNEQUAL: "<>",
}

TRUE_VALUE_PATH, ZERO_SUPPRESSION, GENERAL = 0, 1, 2
"""The filters; each serves what the ones before it serve, and more."""
FILTERS = ("true-value-path", "zero-suppression", "general")


def name_of(function: int) -> str:
    """As messages have it."""
    return NAMES[function] if function < _SUMS else f"at least {(function - _SUMS) // 2} of"


@numba.njit(cache=True, nogil=True)
def at_least_of(least: int) -> int:
    """The topmost sum of "at least so many of these"."""
    return _SUMS + 2 * least + 1


@numba.njit(cache=True, nogil=True)
def is_topmost(function: int) -> bool:
    """Is it "at least k of these"?"""
    return bool(function >= _SUMS and function & 1)


@numba.njit(cache=True, nogil=True)
def partial_of(function: int) -> int:
    """What joins some of the operands of a function that takes any number of them."""
    return function - 1 if is_topmost(function) else function


@numba.njit(cache=True, nogil=True)
def is_sum(function: int) -> bool:
    """Is it a partial sum, whose value counts and not its truth?"""
    return bool(function >= _SUMS and function & 1 == 0)


@numba.njit(cache=True, nogil=True)
def sum_bound(function: int) -> int:
    """The k of a sum."""
    return (function - _SUMS) >> 1


@numba.njit(cache=True, nogil=True)
def is_inner(function: int) -> bool:
    """Has it two children?"""
    return bool(function > CONSTANT)


@numba.njit(cache=True, nogil=True)
def is_commutative(function: int) -> bool:
    """May the children change places?"""
    return not (function == MINUS or function == DIVIDED_BY or function == LESS or function == LESS_OR_EQUAL)


@numba.njit(cache=True, nogil=True)
def is_idempotent(function: int) -> bool:
    """Does it say of something twice what that says once?"""
    return bool(function == AND or function == OR)


@numba.njit(cache=True, nogil=True)
def is_true_of_nothing(function: int) -> bool:
    """Is it true when none of its children is?"""
    return bool(function == NAND or function == NOR or function == XNOR or function == TRUE)


@numba.njit(cache=True, nogil=True)
def reads_values(function: int) -> bool:
    """Does it read the values of its children, rather than their truth?"""
    return bool(PLUS <= function <= UNEQUAL)


@numba.njit(cache=True, nogil=True)
def filter_for(function: int) -> int:
    """The first filter that serves it."""
    if function <= OR:
        return TRUE_VALUE_PATH
    return ZERO_SUPPRESSION if function == XOR else GENERAL


@numba.njit(cache=True, nogil=True)
def truth_of(function: int, left: bool, right: bool) -> bool:
    """Of a node whose children have a truth."""
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


@numba.njit(cache=True, nogil=True)
def is_true_of(function: int, left: float, right: float) -> bool:
    """Of a comparison; nothing is true of what is undefined."""
    if math.isnan(left) or math.isnan(right):
        return False
    if function == LESS:
        return left < right
    if function == LESS_OR_EQUAL:
        return left <= right
    return left == right if function == EQUAL else left != right


@numba.njit(cache=True, nogil=True)
def value_of(function: int, left: float, right: float) -> float:
    """Of arithmetic; NaN stands for undefined, also of a division by zero."""
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
    if function == LEAST:
        return min(left, right)
    return max(left, right)
