"""Conditions that Spark's optimiser computes in another order than they are written.

In a chain of additions, or of multiplications, of integers it moves the constants to the end and joins them,
unless it holds the rows in the driver. tamis does so too: `tests/language/test_quirks_spark.py` compares that over
a file.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.oracle.grammar import Node

_CHAINS = (frozenset({"+", "try_add", "average"}), frozenset({"*", "try_multiply"}))


def reorders_constants(condition: Node) -> bool:
    """May Spark add or multiply in another order than written?"""
    return any(_is_reordered(node, chain) for node in condition.nodes() for chain in _CHAINS)


def _is_reordered(node: Node, chain: frozenset[str]) -> bool:
    operands = list(_operands(node, chain))
    return len(operands) > 2 and any(_is_constant(operand) for operand in operands)


def _operands(node: Node, chain: frozenset[str]) -> Iterator[Node]:
    if chain.isdisjoint(node.features):
        yield node
        return
    for child in node.children:
        yield from _operands(child, chain)


def _is_constant(node: Node) -> bool:
    return not any(
        inner.variable is not None or any(feature.startswith("type ") for feature in inner.features)
        for inner in node.nodes()
    )
