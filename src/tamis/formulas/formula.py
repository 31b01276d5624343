"""Formulas: the two-valued form of conditions, in which NULL no longer occurs.

A formula is monotone: predicates joined by AND, OR and "at least k of". It is a graph, not a tree: a node may have
several parents, and whatever walks it must remember the nodes that it has seen. Nodes are made by
`conjunction`, `disjunction` and `at_least` only, which keep them flat, free of duplicates and of constants, and
with one `Within` for each attribute. The digest of a node is independent of the order of its operands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b

import numpy as np

from tamis.arrays import Mask
from tamis.formulas.expression import Typed
from tamis.formulas.predicates.base import Frame, Predicate
from tamis.formulas.predicates.within import Within
from tamis.values.ranges import ALL, NONE


class Formula:
    """A node: a predicate, or at least `least` of `operands`.

    Attributes:
        predicate: The leaf's predicate, or None for an inner node.
        least: How many operands must hold: all for AND, one for OR. TRUE is 0 of none, FALSE 1 of none.
        operands: Other nodes.
    """

    __slots__ = ("_digest", "_hash", "least", "operands", "predicate")

    def __init__(self, predicate: Predicate | None, least: int = 0, operands: tuple[Formula, ...] = ()) -> None:
        """Used by this module, the bulk compiler and models of formulas; all others use the functions below."""
        self.predicate = predicate
        self.least = least
        self.operands = operands
        self._digest: bytes | None = None
        self._hash: int | None = None

    @property
    def is_and(self) -> bool:
        """Must all operands hold? Also true of TRUE."""
        return self.predicate is None and self.least == len(self.operands)

    @property
    def is_or(self) -> bool:
        """Is one operand enough? Also true of FALSE."""
        return self.predicate is None and self.least == 1 and len(self.operands) != 1

    @property
    def digest(self) -> bytes:
        """16 bytes that identify the formula."""
        if self._digest is None:
            if self.predicate is not None:
                text = self.predicate.identity.encode()
            else:
                parts = sorted(operand.digest for operand in self.operands)
                text = b"%d of " % self.least + b"".join(parts)
            self._digest = blake2b(text, digest_size=16).digest()
        return self._digest

    def __eq__(self, other: object) -> bool:
        """Equal formulas have the same digest, whatever the order of their operands."""
        if self is other:
            return True
        if not isinstance(other, Formula) or hash(self) != hash(other):
            return False
        return self.digest == other.digest

    def __hash__(self) -> int:
        """Agrees with equality, and is much cheaper than a digest."""
        if self._hash is None:
            if self.predicate is not None:
                self._hash = hash(self.predicate)
            else:
                # A sum, because the order of operands does not matter but their multiplicity does.
                self._hash = hash((self.least, sum(map(hash, self.operands))))
        return self._hash

    def __repr__(self) -> str:
        return f"Formula({self.describe()})"

    def nodes(self) -> Iterator[Formula]:
        """Every node once, operands before their parents."""
        seen = {id(self)}
        stack = [(self, iter(self.operands))]
        while stack:
            node, rest = stack[-1]
            for operand in rest:
                if id(operand) not in seen:
                    seen.add(id(operand))
                    if operand.operands:
                        stack.append((operand, iter(operand.operands)))
                        break
                    yield operand
            else:
                stack.pop()
                yield node

    def predicates(self) -> list[Predicate]:
        """Its distinct predicates, in the order of the condition."""
        return [node.predicate for node in self.nodes() if node.predicate is not None]

    @property
    def cost(self) -> float:
        """Rough cost for one event, in units of an integer comparison."""
        return sum(node.predicate.cost if node.predicate is not None else 0.5 for node in self.nodes())

    def mask(self, frame: Frame, memory: dict[Formula, Mask] | None = None) -> Mask:
        """In which rows of the frame it holds; `memory` shares the masks of equal nodes between formulas."""
        memory = {} if memory is None else memory
        for node in self.nodes():
            if node not in memory:
                memory[node] = _mask_of(node, frame, memory)
        return memory[self]

    def lazy_mask(self, frame: Frame) -> Mask:
        """As `mask`, evaluating expensive operands only for the rows that cheap ones leave undecided."""
        if self.predicate is not None:
            return self.predicate.mask(frame)
        holding = np.zeros(frame.rows, np.int64)
        failing = np.zeros(frame.rows, np.int64)
        for operand in sorted(self.operands, key=lambda each: each.cost):
            open_ = np.flatnonzero((holding < self.least) & (failing <= len(self.operands) - self.least))
            if len(open_):
                found = operand.lazy_mask(frame if len(open_) == frame.rows else frame.take(open_))
                holding[open_] += found
                failing[open_] += ~found
        return np.asarray(holding >= self.least)

    def describe(self) -> str:
        """The formula as text; a shared node is written out where it is used, until there is too much of it."""
        return _describe(self, [_DESCRIBED_NODES])


def _mask_of(node: Formula, frame: Frame, memory: dict[Formula, Mask]) -> Mask:
    if node.predicate is not None:
        return node.predicate.mask(frame)
    masks = [memory[operand] for operand in node.operands]
    if node.is_and:
        return np.logical_and.reduce(masks) if masks else np.ones(frame.rows, np.bool_)
    if node.is_or:
        return np.logical_or.reduce(masks) if masks else np.zeros(frame.rows, np.bool_)
    return np.asarray(np.sum(masks, axis=0, dtype=np.int32) >= node.least)


_DESCRIBED_NODES = 1_000


def _describe(node: Formula, left: list[int]) -> str:
    """The text of a node; `left` holds how many more may be written."""
    left[0] -= 1
    if left[0] < 0:
        return "..."
    if node.predicate is not None:
        return node.predicate.describe()
    if not node.operands:
        return "TRUE" if node is TRUE else "FALSE"
    texts = [_describe(operand, left) for operand in node.operands]
    if not (node.is_and or node.is_or):
        return f"at_least({node.least}, {', '.join(texts)})"
    other = " OR " if node.is_and else " AND "
    return (" AND " if node.is_and else " OR ").join(f"({text})" if other in text else text for text in texts)


TRUE = Formula(None, 0)
FALSE = Formula(None, 1)
# There is one object of each, so `is` suffices to recognise them.


def leaf(predicate: Predicate) -> Formula:
    """The formula that is one predicate."""
    if isinstance(predicate, Within):
        if predicate.ranges == NONE and not predicate.null:
            return FALSE
        if predicate.ranges == ALL and predicate.null:
            return TRUE
    return Formula(predicate)


def conjunction(operands: Iterable[Formula]) -> Formula:
    """AND of the operands."""
    return _join(list(operands), every=True)


def disjunction(operands: Iterable[Formula]) -> Formula:
    """OR of the operands."""
    return _join(list(operands), every=False)


def _join(operands: list[Formula], *, every: bool) -> Formula:
    neutral, absorbing = (TRUE, FALSE) if every else (FALSE, TRUE)
    withins: dict[Typed, tuple[int, list[Within]]] = {}  # by attribute: the place in `found`, and all of them
    found: list[Formula] = []
    seen: set[Formula] = set()
    for operand in _flatten(operands, every=every):
        predicate = operand.predicate
        if isinstance(predicate, Within):
            place, same = withins.setdefault(predicate.attribute, (len(found), []))  # hashed once: it is slow
            if not same:
                found.append(operand)
            same.append(predicate)
        elif operand not in seen:
            seen.add(operand)
            found.append(operand)
    for place, same in withins.values():
        if len(same) > 1:
            found[place] = leaf(_merge_ranges(same, every=every))
    found = [operand for operand in found if operand is not neutral]
    if any(operand is absorbing for operand in found):
        return absorbing
    if len(found) == 1:
        return found[0]
    if not found:
        return neutral
    return Formula(None, len(found) if every else 1, tuple(found))


def _merge_ranges(several: list[Within], *, every: bool) -> Within:
    """One predicate for all; merged in pairs, so that ten thousand on one attribute take no quadratic time."""
    while len(several) > 1:
        pairs = zip(several[0::2], several[1::2], strict=False)
        rest = several[-1:] if len(several) % 2 else []
        several = [_intersect(a, b) if every else _unite(a, b) for a, b in pairs] + rest
    return several[0]


def _intersect(a: Within, b: Within) -> Within:
    return Within(a.attribute, a.ranges & b.ranges, a.null and b.null)


def _unite(a: Within, b: Within) -> Within:
    return Within(a.attribute, a.ranges | b.ranges, a.null or b.null)


def _flatten(operands: Iterable[Formula], *, every: bool) -> Iterator[Formula]:
    for operand in operands:
        if operand.operands and (operand.is_and if every else operand.is_or):
            yield from operand.operands
        else:
            yield operand


def at_least(least: int, operands: Iterable[Formula]) -> Formula:
    """At least `least` of the operands; equal operands count each time."""
    rest = []
    for operand in operands:
        if operand is TRUE:
            least -= 1
        elif operand is not FALSE:
            rest.append(operand)
    if least <= 0:
        return TRUE
    if least > len(rest):
        return FALSE
    if least == 1:
        return disjunction(rest)
    if least == len(rest):
        return conjunction(rest)
    return Formula(None, least, tuple(rest))
