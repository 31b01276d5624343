"""A memory model: how many bytes the hit-counting engines need for given conditions, before an index is built.

This is the framework of S. Bittner's thesis (2008), chapter 5. Thirteen parameters describe the subscriptions,
their conversion to conjunctions, and the widths of references; they determine the bytes of every structure of
`counting`, `cluster` and `hits` (his Boolean algorithm). The model covers what the algorithms must keep.
Predicate indexes are left out, because all three have the same ones, and so is the overhead of an
implementation; `stats()` of an index has its actual bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from tamis.errors import TamisError

if TYPE_CHECKING:
    from tamis.engines.forest import Forest
    from tamis.formulas.formula import Formula
    from tamis.language.bulk import FormulaColumn

_COUNTER_BYTES = 1
"""Bytes of a hit counter, and of the count that it must reach."""
_NODE_BYTES = 2
"""Bytes of an operator in an encoded tree: its code and its number of children."""
_LEAF_MARK_BYTES = 1
"""Bytes of the code of a leaf in an encoded tree, before the predicate id."""
_SAME = 1e-9
"""A relative difference that counts as rounding."""


class AdviceError(TamisError, ValueError):
    """The parameters are not valid; the message lists every problem."""


@dataclass(frozen=True, slots=True)
class MemoryParameters:
    """The thirteen parameters of the framework: ten that are given and, as properties, three that follow.

    Numbers of a subscription are means over all subscriptions, so they need not be whole.

    Attributes:
        predicates: |p|, predicates of a subscription, repetitions included.
        operators: |op|, operators of a subscription; AND, OR or "at least k of" of any number of operands is one.
        subscriptions: |s|, how many there are.
        unique_predicates: |p_u|, different predicates of all subscriptions together.
        conjunctions: |s_s|, conjunctions of a subscription after conversion.
        conjunctions_per_predicate: |s_p|, how many of these contain a given predicate of the subscription.
        subscription_id_bytes: w(s), width of a reference to a subscription or conjunction.
        predicate_id_bytes: w(p), width of a reference to a predicate.
        location_bytes: w(l), width of the location of an encoded tree.
        cluster_reference_bytes: w(c), width of a reference to a cluster.

    Raises:
        AdviceError: With every problem.
    """

    predicates: float
    operators: float
    subscriptions: float
    unique_predicates: float
    conjunctions: float
    conjunctions_per_predicate: float
    subscription_id_bytes: int = 4
    predicate_id_bytes: int = 4
    location_bytes: int = 4
    cluster_reference_bytes: int = 4

    def __post_init__(self) -> None:
        problems = []
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            if name.endswith("_bytes"):
                if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                    problems.append(f"{name}: expected a whole number of bytes, at least 1, found {value!r}")
            elif name in {"operators", "conjunctions_per_predicate"}:
                if not _is_number(value) or value < 0:
                    problems.append(f"{name}: expected a number, 0 or more, found {value!r}")
            elif not _is_number(value) or value <= 0:
                problems.append(f"{name}: expected a number above 0, found {value!r}")
        if not problems:
            uses = self.predicates * self.subscriptions
            if self.unique_predicates > uses * (1 + _SAME):
                problems.append(
                    f"unique_predicates: expected at most predicates times subscriptions, {uses:g}, "
                    f"found {self.unique_predicates:g}"
                )
        if problems:
            raise AdviceError("\n".join(f"memory parameters: {problem}" for problem in problems))

    @property
    def operators_per_predicate(self) -> float:
        """op^prop, |op| / |p|."""
        return self.operators / self.predicates

    @property
    def conjunction_share(self) -> float:
        """s^prop, |s_p| / |s_s|: the share of its subscription's conjunctions that contain a predicate.

        For a mixture it may exceed 1: |s_p| is a mean over predicates, of which large subscriptions have more.
        """
        return self.conjunctions_per_predicate / self.conjunctions

    @property
    def commonality(self) -> float:
        """p_c, 1 - |p_u| / (|p| |s|): 0 if no predicate is used twice, near 1 if there are few different ones."""
        return max(0.0, 1 - self.unique_predicates / (self.predicates * self.subscriptions))

    @classmethod
    def of(cls, formulas: Sequence[Formula] | FormulaColumn | Forest) -> MemoryParameters:
        """Measure compiled conditions; widths are 4 bytes each.

        Formulas are measured, not texts: adjacent ranges of one attribute are one predicate. A part that a formula
        uses in several places counts each time, as in an encoded tree. A formula with too many conjunctions counts
        with those that engines keep, which are fewer and leave the rest to evaluation. Refused conditions do not
        count; TRUE and FALSE are subscriptions without predicates.

        Raises:
            AdviceError: There is no predicate in them.

        >>> from tamis import compile_conditions
        >>> found = MemoryParameters.of(compile_conditions(["a = 1 AND (b < 2 OR c < 3)", "a = 1"]))
        >>> found.predicates, found.operators, found.unique_predicates, found.conjunctions
        (2.0, 1.0, 3, 1.5)
        >>> found.conjunctions_per_predicate  # a = 1 in two and in one, the others in one each
        1.25
        """
        import numpy as np

        from tamis.engines.conjunctions.dnf import conjunctions_of
        from tamis.engines.forest import forest_of
        from tamis.engines.forest.distinct import distinct_predicates
        from tamis.language.bulk import FormulaColumn

        forest = forest_of(formulas)
        refused = len(formulas.refused) if isinstance(formulas, FormulaColumn) else 0
        subscriptions = len(forest) - refused
        children, roots = forest.nodes.children, forest.roots
        used = ~np.concatenate([children[children < 0], roots[roots < 0]])
        if not len(used):
            msg = f"memory parameters: expected conditions with predicates, found none in {subscriptions} of them"
            raise AdviceError(msg)
        predicates, operators = _tree_sizes(forest)
        converted = conjunctions_of(forest)
        return cls(
            predicates=predicates / subscriptions,
            operators=operators / subscriptions,
            subscriptions=subscriptions,
            unique_predicates=len(distinct_predicates(forest.leaves, forest.pieces, used).examples),
            conjunctions=len(converted.slots) / subscriptions,
            conjunctions_per_predicate=len(converted.leaves) / predicates,
        )


def _tree_sizes(forest: Forest) -> tuple[float, float]:
    """Leaves and operators of all formulas as trees; floats, because trees may be huge."""
    import numpy as np

    nodes = forest.nodes
    arity = np.diff(nodes.firsts)
    parents = np.repeat(np.arange(len(arity)), arity)
    is_inner = nodes.children >= 0
    above, below = parents[is_inner], nodes.children[is_inner]
    # How often a node occurs in the trees, from the roots down, one level a round.
    level = np.bincount(forest.roots[forest.roots >= 0], minlength=len(arity)).astype(np.float64)
    times = level
    while level.any():
        level = np.bincount(below, weights=level[above], minlength=len(arity)).astype(np.float64)
        times = times + level
    leaves = times[parents[~is_inner]].sum() + np.count_nonzero(forest.roots < 0)
    return float(leaves), float(times[arity > 0].sum())


@dataclass(frozen=True, slots=True)
class EngineMemory:
    """The memory of an engine by the model.

    Attributes:
        bytes: Per structure.
        total_bytes: Of all of them, equation 5.1 of `counting`, 5.2 of `cluster` and 5.3 of `hits`.
        bytes_per_subscription: The total divided by the number of subscriptions, to which it is proportional, so
            that it decides between engines; inferred to be equations 5.4 to 5.6, which were not at hand.
    """

    bytes: Mapping[str, float]
    total_bytes: float
    bytes_per_subscription: float


@dataclass(frozen=True, slots=True)
class Advice:
    """The answer of `memory`.

    Attributes:
        parameters: Of the subscriptions.
        engines: The memory of `hits`, `counting` and `cluster`, by name.
        turning_points: By the name of a conjunctive engine: with more conjunctions a subscription than this, and
            the same proportions, `hits` needs less than that engine. Equations 5.7 of `counting` and 5.8 of
            `cluster`, for references of any width.
        engine: The name of the engine that needs least; `hits` in a tie.
        reason: Why, in a sentence.
    """

    parameters: MemoryParameters
    engines: Mapping[str, EngineMemory]
    turning_points: Mapping[str, float]
    engine: str
    reason: str


def memory(parameters: MemoryParameters) -> Advice:
    """The bytes that `hits`, `counting` and `cluster` need, and which of them needs the least.

    >>> advice = memory(MemoryParameters(
    ...     predicates=7, operators=6, subscriptions=1000, unique_predicates=7000,
    ...     conjunctions=6, conjunctions_per_predicate=18 / 7,
    ... ))
    >>> advice.engine
    'hits'
    >>> print(advice.reason)
    hits needs 81.88 bytes a subscription, counting 156.88 and cluster 192.88: subscriptions become 6 conjunctions
    on average, and above 3.12 hits needs less than counting.
    >>> advice.engines["hits"].bytes["trees"]
    47000
    """
    engines = {
        name: _engine_memory(structures, parameters)
        for name, structures in (
            ("hits", _hits(parameters)),
            ("counting", _counting(parameters)),
            ("cluster", _cluster(parameters)),
        )
    }
    turning_points = _turning_points(parameters)
    # Never `cluster`: it keeps two references a conjunction where `counting` keeps two single bytes.
    hits, counting = engines["hits"].total_bytes, engines["counting"].total_bytes
    tied = math.isclose(hits, counting, rel_tol=_SAME)
    engine = "hits" if tied or hits < counting else "counting"
    conjunctions = _format(parameters.conjunctions)
    become = f"subscriptions become {conjunctions} conjunction{'' if conjunctions == '1' else 's'} on average"
    each = {name: _format(needed.bytes_per_subscription) for name, needed in engines.items()}
    if tied:
        reason = (
            f"hits and counting need {each['hits']} bytes a subscription each, cluster {each['cluster']}: "
            f"{become}, where both are equal, and hits has fewer counters to look at, one a subscription."
        )
    else:
        other, only = ("counting", "") if engine == "hits" else ("hits", "only ")
        reason = (
            f"{engine} needs {each[engine]} bytes a subscription, {other} {each[other]} and cluster "
            f"{each['cluster']}: {become}, and {only}above {_format(turning_points['counting'])} hits needs less "
            "than counting."
        )
    return Advice(parameters, engines, turning_points, engine, reason)


def _engine_memory(structures: dict[str, float], parameters: MemoryParameters) -> EngineMemory:
    total = sum(structures.values())
    return EngineMemory(structures, total, total / parameters.subscriptions)


def _counting(given: MemoryParameters) -> dict[str, float]:
    entries = given.conjunctions_per_predicate * given.predicates * given.subscriptions
    counters = _COUNTER_BYTES * given.conjunctions * given.subscriptions
    return {
        "fulfilled predicates": given.unique_predicates / 8,
        "hits": counters,
        "predicate counts": counters,
        "conjunctions of predicates": given.subscription_id_bytes * entries,
        "predicates of conjunctions": given.predicate_id_bytes * entries,
    }


def _cluster(given: MemoryParameters) -> dict[str, float]:
    """The cluster lists of access predicates and the padding of conjunctions are neglected."""
    entries = given.conjunctions_per_predicate * given.predicates * given.subscriptions
    conjunctions = given.conjunctions * given.subscriptions
    return {
        "fulfilled predicates": given.unique_predicates / 8,
        "conjunctions of predicates": given.subscription_id_bytes * entries,
        "clusters": given.subscription_id_bytes * conjunctions + given.predicate_id_bytes * entries,
        "clusters of conjunctions": given.cluster_reference_bytes * conjunctions,
    }


def _hits(given: MemoryParameters) -> dict[str, float]:
    counters = _COUNTER_BYTES * given.subscriptions
    leaves = (_LEAF_MARK_BYTES + given.predicate_id_bytes) * given.predicates
    return {
        "fulfilled predicates": given.unique_predicates / 8,
        "hits": counters,
        "least hits": counters,
        "subscriptions of predicates": given.subscription_id_bytes * given.predicates * given.subscriptions,
        "trees": (leaves + _NODE_BYTES * given.operators) * given.subscriptions,
        "locations": given.location_bytes * given.subscriptions,
    }


def _turning_points(given: MemoryParameters) -> dict[str, float]:
    """The |s_s| at which a conjunctive engine needs as many bytes as `hits`, with |s_p| = s^prop |s_s|."""
    both = given.subscription_id_bytes + given.predicate_id_bytes
    per_predicate = _LEAF_MARK_BYTES + both + _NODE_BYTES * given.operators_per_predicate
    of_hits = given.predicates * per_predicate + given.location_bytes + 2 * _COUNTER_BYTES
    of_entries = both * given.conjunction_share * given.predicates
    return {
        "counting": of_hits / (2 * _COUNTER_BYTES + of_entries),
        "cluster": of_hits / (given.cluster_reference_bytes + given.subscription_id_bytes + of_entries),
    }


def _format(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
