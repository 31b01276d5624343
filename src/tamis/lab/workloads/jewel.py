"""`jewel`: random binary trees of AND, OR and XOR, composed from two pools of sub-expressions.

After M. R. F. Jewel, "A Fast Filtering Engine for Publish/Subscribe System", MSc thesis, University of Toronto,
2004, chapter 5. A condition is an operator over two members of pools. Members of pool A are used again and again;
a member of pool B is made for one condition, so that nothing else has a part of it. A condition of two members of
B is *unique*, one of A and B, or of two of A, is not.

The predicates of a condition have different attributes. Within a block the operands of an attribute are spread
evenly over all values and assigned at random; blocks and pools have operands of their own, until all values are
used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tamis.arrays import F64, I64
from tamis.events.event_type import Attribute
from tamis.lab.workloads.base import Family, WorkloadPlan, event_type_of
from tamis.lab.workloads.draws import BLOCK_CONDITIONS, Draws, cumulate
from tamis.lab.workloads.jewel_matches import Trees, expected_share, leaves_present, solve_level
from tamis.lab.workloads.jewel_values import Operands
from tamis.lab.workloads.parameters import Parameter, choice, real, shares, span, whole
from tamis.lab.workloads.text import NOTHING, Phrases, integers
from tamis.values.types import INT

OPERATORS = {"A": (1.0, 0.0, 0.0), "B": (0.8, 0.2, 0.0), "C": (0.6, 0.3, 0.1)}
"""Weights of AND, OR and XOR, by the names of the thesis."""
_JOINTS = (" AND ", " OR ", " XOR ")
_SIGNS = ("=", "!=", "<", "<=", ">", ">=")
_POOLS = 2
_ROOT = 2.0
"""Priority of a root: above all others, which are below 1."""


def _operators(default: str, help: str) -> Any:
    """A field that is three weights, or the name of some."""
    weights: Parameter = shares(OPERATORS[default], help).metadata["parameter"]

    def check(value: Any) -> Any:
        return weights.check(OPERATORS.get(value, value) if isinstance(value, str) else value)

    def read(text: str) -> Any:
        return text if text in OPERATORS else weights.read(text)

    listed = ", ".join(OPERATORS)
    parameter = Parameter(help, f"one of {listed}, or {weights.expected}", check, read)
    return field(default=OPERATORS[default], metadata={"parameter": parameter})


@dataclass(frozen=True, slots=True)
class JewelParameters:
    """The parameters of `jewel`."""

    predicates: int = whole(10, "of a condition, each on another attribute; L", least=2, most=64)
    attributes: int = whole(20, "attributes that there are: a0, a1, ...; L_max", least=2, most=1_000)
    attribute_set: str = choice(
        "free", "attributes of a condition: drawn for each, or the first ones in their order", ("free", "fixed")
    )
    operators: tuple[float, ...] = _operators("A", "weights of AND, OR and XOR, or a set of them: A, B or C")
    comparison: str = choice(">", "of predicates; random draws one of six for each", ("=", ">", "random"))
    overlap: float = real(0.95, "share of conditions that are not unique; f_overlap")
    both: float = real(0.2, "share of those that have two members of pool A, not one")
    shared: float = real(0.4, "share of a condition's nodes that others have as well, on average; SNPS")
    pool: int = whole(1_000, "members of pool A, of each size", least=1, most=BLOCK_CONDITIONS // 2)
    limits: tuple[int, int] = span(
        (1, 2_000_000), "least and greatest value", least=0, most=10_000_000, integral=True
    )
    skew: float = real(0.0, "exponent of the Zipf distribution of operands; 0 for none", most=3.0)
    pairs: tuple[int, int] = span(20, "attributes that an event has; A_E", least=1, most=1_000, integral=True)
    matches: float | None = real(None, "share of conditions that an event satisfies on average; SMPE")

    def __post_init__(self) -> None:
        for name, count in (("predicates", self.predicates), ("pairs", self.pairs[1])):
            if count > self.attributes:
                msg = f"{name}: {count} need as many attributes, and there are {self.attributes}"
                raise ValueError(msg)
        _sizes(self)
        steering(self)


class _MemberSizes(NamedTuple):
    """Leaves of the member of pool A beside one of pool B: `low`, or one more."""

    low: int
    more: float  # share of those that have one more


@lru_cache(maxsize=64)
def _sizes(parameters: JewelParameters) -> _MemberSizes:
    """Sizes that give the requested share of shared nodes; a member of n leaves has 2 n - 1 nodes."""
    leaves, both = parameters.predicates, parameters.both
    nodes, whole_ = 2 * leaves - 1, both * (2 * leaves - 2)
    least, most = (parameters.overlap * (whole_ + (1 - both) * (2 * size - 1)) / nodes for size in (1, leaves - 1))
    if not least - 1e-9 <= parameters.shared <= most + 1e-9:
        msg = (
            f"shared: with {leaves} predicates, overlap {parameters.overlap:g} and both {both:g} it is from"
            f" {least:.4g} to {most:.4g}, not {parameters.shared:g}"
        )
        raise ValueError(msg)
    if parameters.overlap * (1 - both) == 0:
        return _MemberSizes(1, 0.0)
    own = (parameters.shared / parameters.overlap * nodes - whole_) / (1 - both)
    size = min(max((own + 1) / 2, 1.0), leaves - 1.0)
    low = min(int(size), max(leaves - 2, 1))
    return _MemberSizes(low, size - low)


class Steering(NamedTuple):
    """How values of events are drawn.

    level: Mean selectivity of a predicate whose attribute an event has; for `>`.
    aimed: Share of events that have the operands of two members of pool A; for `=`.
    share: Of conditions that an event satisfies, on average; None if unknown.
    """

    level: float
    aimed: float
    share: float | None


@lru_cache(maxsize=64)
def steering(parameters: JewelParameters) -> Steering:
    """How to draw events so that they have the requested matches.

    Raises:
        ValueError: It is not possible; the message says why.
    """
    requested = parameters.matches
    trees = _trees(parameters)
    present = leaves_present(trees, parameters.attributes, parameters.pairs)
    if parameters.comparison == "=":
        if any(parameters.operators[1:]):
            if requested is not None:
                msg = "matches: of equalities they can be steered only where all operators are AND"
                raise ValueError(msg)
            return Steering(0.5, 1.0, None)
        # An event that has the operands of two members satisfies the conditions made of just these.
        most = float(present[-1]) * parameters.overlap * parameters.both / parameters.pool**2
        if requested is not None and requested > most:
            msg = (
                f"matches: an event satisfies equal conditions only, at most {most:.4g} of all with a pool of"
                f" {parameters.pool}; a smaller pool, or more of both, makes more of them equal"
            )
            raise ValueError(msg)
        aimed = 1.0 if requested is None else requested / most if most else 0.0
        return Steering(0.5, aimed, aimed * most)
    if parameters.comparison == "random":
        if requested is not None:
            msg = "matches: of random comparisons half hold, whatever the event; matches cannot be steered"
            raise ValueError(msg)
        return Steering(0.5, 0.0, float(expected_share(trees, present, np.array([0.5]))[0]))
    operands = Operands.of(parameters.limits, parameters.skew)

    def share(levels: F64) -> F64:
        return expected_share(trees, present, operands.mean_below(levels))

    if requested is None:
        return Steering(0.5, 0.0, float(share(np.array([0.5]))[0]))
    level, found = solve_level(share, requested)
    if found < requested * 0.999:
        msg = f"matches: an event satisfies at most {found:.4g} of such conditions, not {requested:g}"
        raise ValueError(msg)
    return Steering(level, 0.0, found)


def _trees(parameters: JewelParameters) -> Trees:
    half, sizes = parameters.predicates // 2, _sizes(parameters)
    mixed = parameters.overlap * (1 - parameters.both)
    splits = {half: 1 - mixed}
    for size, weight in ((sizes.low, 1 - sizes.more), (sizes.low + 1, sizes.more)):
        if weight:
            splits[size] = splits.get(size, 0.0) + mixed * weight
    return Trees(splits, parameters.operators, parameters.predicates, parameters.attribute_set == "fixed")


class _TreeBlock(NamedTuple):
    """A block of trees; leaves [rows, predicates], gaps between them [rows, predicates - 1]."""

    attributes: I64
    signs: I64
    values: I64
    priorities: F64  # of two gaps of a sub-tree, the greater one is nearer to its root
    joints: I64


def plan(parameters: JewelParameters, seed: int, _subscriptions: int) -> WorkloadPlan:
    """Conditions as `((a3 > 12 AND a7 > 5) OR a1 > 90) AND (a2 > 41 XOR a9 > 8)`."""
    phrases = Phrases()
    spell = _speller(phrases, parameters.attributes)
    operands = Operands.of(parameters.limits, parameters.skew)
    half, sizes, members = parameters.predicates // 2, _sizes(parameters), parameters.pool
    beside = Draws(seed, "jewel", "pool beside B", 0, 2 * members)
    one_of_a = _draw_trees(beside, parameters, operands, 0, _attributes(beside, parameters))
    halves = Draws(seed, "jewel", "pool of halves", 0, members)
    two_of_a = _draw_trees(halves, parameters, operands, 1, _attributes_in_halves(halves, parameters))

    def conditions(draws: Draws) -> I64:
        kind, size = draws.uniform(), draws.uniform()
        doubles = kind < parameters.overlap * parameters.both
        singles = ~doubles & (kind < parameters.overlap)
        larger = singles & (size < sizes.more)
        split = np.where(singles, sizes.low + larger, half)
        left, right = draws.below(members), draws.below(members)
        # Members of either size have their own places in the pool.
        taken = one_of_a.attributes[left + members * larger]
        attributes = _attributes(draws, parameters, taken, np.where(singles, split, 0))
        tree = _draw_trees(draws, parameters, operands, _POOLS + draws.block, attributes)
        leaf, gap = np.arange(parameters.predicates), np.arange(parameters.predicates - 1)
        tree = _with_members(tree, one_of_a, left + members * larger, singles, leaf < split[:, None])
        tree = _with_members(tree, two_of_a, left, doubles, np.broadcast_to(leaf < half, tree.values.shape))
        tree = _with_members(tree, two_of_a, right, doubles, np.broadcast_to(leaf >= half, tree.values.shape))
        is_root = gap == split[:, None] - 1
        # What joins the two members belongs to neither.
        joints = np.where(is_root, draws.pick(cumulate(parameters.operators))[:, None], tree.joints)
        return spell(tree._replace(joints=joints, priorities=np.where(is_root, _ROOT, tree.priorities)))

    chosen = steering(parameters)

    def events(draws: Draws) -> dict[str, pa.Array]:
        values = operands.values_at(draws.uniform(parameters.attributes), chosen.level)
        aimed = np.flatnonzero(draws.uniform() < chosen.aimed)
        for part in (slice(0, half), slice(half, None)):
            member = draws.below(members)[aimed]
            values[aimed[:, None], two_of_a.attributes[member, part]] = two_of_a.values[member, part]
        absent = _absent(draws, parameters)
        return {
            f"a{number}": pa.array(values[:, number].astype(np.int32), mask=absent[:, number])
            for number in range(parameters.attributes)
        }

    facts = {"aimed": chosen.aimed} if parameters.comparison == "=" else {"level": chosen.level}
    if chosen.share is not None:
        facts["expected_matches"] = chosen.share
    return WorkloadPlan(event_type_of("jewel", *_event_attributes(parameters)), phrases, conditions, events, facts)


def _event_attributes(parameters: JewelParameters) -> list[Attribute]:
    least, most = parameters.limits
    certain = parameters.pairs[0]
    if parameters.attribute_set == "free" and certain < parameters.attributes:
        certain = 0
    return [
        Attribute(f"a{number}", INT, min=least, max=most, required=number < certain)
        for number in range(parameters.attributes)
    ]


def _draw_trees(
    draws: Draws, parameters: JewelParameters, operands: Operands, series: int, attributes: I64
) -> _TreeBlock:
    leaves = parameters.predicates
    values = operands.draw(draws, series, parameters.attributes)
    if parameters.comparison == "random":
        signs = draws.below(len(_SIGNS), leaves)
    else:
        signs = np.full((draws.rows, leaves), _SIGNS.index(parameters.comparison))
    return _TreeBlock(
        attributes,
        signs,
        np.take_along_axis(values, attributes, axis=1),
        draws.uniform(leaves - 1),
        draws.pick(cumulate(parameters.operators), leaves - 1),
    )


def _attributes(
    draws: Draws, parameters: JewelParameters, taken: I64 | None = None, counts: I64 | None = None
) -> I64:
    """Attributes of leaves: the first `counts` of those taken, then any others."""
    leaves = parameters.predicates
    if parameters.attribute_set == "fixed":
        return np.tile(np.arange(leaves), (draws.rows, 1))
    keys = draws.uniform(parameters.attributes)
    if taken is not None and counts is not None:
        rows, places = np.nonzero(np.arange(leaves) < counts[:, None])
        keys[rows, taken[rows, places]] = places - leaves
    return keys.argsort(axis=1, kind="stable")[:, :leaves]


def _attributes_in_halves(draws: Draws, parameters: JewelParameters) -> I64:
    """Attributes of leaves, those of left and right halves from parts that have none in common."""
    if parameters.attribute_set == "fixed":
        return _attributes(draws, parameters)
    left = parameters.predicates // 2
    right = parameters.predicates - left
    cut = left + (parameters.attributes - parameters.predicates) // 2
    keys = draws.uniform(parameters.attributes)
    return np.column_stack(
        [
            keys[:, :cut].argsort(axis=1, kind="stable")[:, :left],
            cut + keys[:, cut:].argsort(axis=1, kind="stable")[:, :right],
        ]
    )


def _with_members(tree: _TreeBlock, pool: _TreeBlock, member: I64, rows: Any, leaves: Any) -> _TreeBlock:
    """Trees in which some leaves, and the gaps between them, are those of members of a pool."""
    leaves = leaves & rows[:, None]
    gaps = leaves[:, 1:] & leaves[:, :-1]
    return _TreeBlock(
        *(
            np.where(leaves if own.shape == leaves.shape else gaps, other[member], own)
            for own, other in zip(tree, pool, strict=True)
        )
    )


def _absent(draws: Draws, parameters: JewelParameters) -> Any:
    """Which attributes an event does not have: [rows, attributes]."""
    least, most = parameters.pairs
    counts = least + draws.below(most - least + 1)
    places: I64 = np.tile(np.arange(parameters.attributes), (draws.rows, 1))
    if parameters.attribute_set == "free":
        places = draws.uniform(parameters.attributes).argsort(axis=1, kind="stable")
    return places >= counts[:, None]


def _speller(phrases: Phrases, attributes: int) -> Callable[[_TreeBlock], I64]:
    """The function from trees to codes, five a leaf: brackets, predicate, operand, brackets, operator."""
    starts = np.array([phrases.codes(f"a{number} {sign} " for number in range(attributes)) for sign in _SIGNS])
    joints = phrases.codes(_JOINTS)
    opened, closed = (phrases.codes(sign * count for count in range(64)) for sign in "()")

    def spell(tree: _TreeBlock) -> I64:
        opening, closing = _brackets(tree.priorities)
        codes = np.full((*tree.values.shape, 5), NOTHING)
        codes[:, :, 0] = opened[opening]
        codes[:, :, 1] = starts[tree.signs, tree.attributes]
        codes[:, :, 2] = integers(tree.values)
        codes[:, :, 3] = closed[closing]
        codes[:, :-1, 4] = joints[tree.joints]
        return codes.reshape(len(codes), -1)

    return spell


def _brackets(priorities: F64) -> tuple[I64, I64]:
    """How many brackets open before each leaf, and close behind it: [rows, leaves]."""
    rows, gaps = priorities.shape
    first = np.tile(np.arange(gaps), (rows, 1))  # leaf of the sub-tree of each gap
    last = first + 1
    goes_on_left, goes_on_right = (np.ones((rows, gaps), np.bool_) for _ in range(2))
    for distance in range(1, gaps):
        lower = priorities[:, :-distance] < priorities[:, distance:]
        goes_on_left[:, distance:] &= lower
        first[:, distance:] -= goes_on_left[:, distance:]
        goes_on_left[:, :distance] = False
        goes_on_right[:, :-distance] &= ~lower
        last[:, :-distance] += goes_on_right[:, :-distance]
        goes_on_right[:, gaps - distance :] = False
    inner = priorities != _ROOT
    row = np.broadcast_to(np.arange(rows)[:, None] * (gaps + 1), inner.shape)
    opening, closing = (
        np.bincount((row + leaf)[inner], minlength=rows * (gaps + 1)).reshape(rows, gaps + 1)
        for leaf in (first, last)
    )
    return opening, closing


JEWEL = Family("jewel", "random trees of AND, OR and XOR with shared sub-expressions", JewelParameters, plan)
