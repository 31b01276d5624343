"""Limits on what a condition may ask for, checked when it is registered.

They bound time and memory of everything downstream; raising one is a decision of the operator of a system,
never of the writer of a condition.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Each limit and its default.

    Attributes:
        text_characters: Length of a condition.
        depth: Nesting of parentheses, calls and operators.
        operands: Operands of one AND, OR, IN or call.
        nodes: Nodes of a condition's syntax tree, and of its formula.
        pattern_characters: Length of a LIKE or RLIKE pattern.
        operators: The operators that may be called; None for all.
    """

    text_characters: int = 100_000
    depth: int = 64
    operands: int = 10_000
    nodes: int = 50_000
    pattern_characters: int = 1_000
    operators: frozenset[str] | None = None


DEFAULT_LIMITS = Limits()
