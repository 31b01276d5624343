"""Subscriptions and advertisements of book auctions that may overlap, as in S. Bittner's thesis, section 8.5."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from statistics import median
from typing import NamedTuple, Protocol

import pyarrow as pa

from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Predicate
from tamis.frames import BatchFrame
from tamis.lab.bittner.selectivity_table import SelectivityTable
from tamis.lab.measuring.timing import timed
from tamis.lab.workloads import generate
from tamis.language.bulk import compile_conditions
from tamis.routing.overlap import OverlapIndex
from tamis.routing.trees import tree_size

SEED = 2026


@dataclass(frozen=True, slots=True)
class Auctions:
    """Conditions of book auctions, compiled.

    Attributes:
        event_type: Of all.
        subscriptions: As drawn, their classes in turn.
        advertisements: As drawn.
        table: In which share of events predicates of subscriptions hold.
        events: In which that was counted.
    """

    event_type: EventType
    subscriptions: list[Formula]
    advertisements: list[Formula]
    table: SelectivityTable
    events: pa.Table

    @property
    def name(self) -> str:
        """Of the event type."""
        return self.event_type.name

    def matches(self, predicate: Predicate) -> float:
        """In how many of the events a predicate holds."""
        return float(self.events.num_rows * self.table.of(predicate))


def auctions(subscriptions: int, advertisements: int, events: int = 0, *, operands: str = "uniform") -> Auctions:
    """Draw them.

    Args:
        subscriptions: How many.
        advertisements: How many.
        events: In which the predicates of subscriptions are counted.
        operands: Distribution of operands, of subscriptions and advertisements.
    """
    asking = generate("auction", subscriptions=subscriptions, events=events, seed=SEED, operands=operands)
    telling = generate("advertisements", subscriptions=advertisements, events=1, seed=SEED, operands=operands)
    type_ = asking.event_type
    found = Auctions(
        type_,
        in_turn(compiled(asking.conditions.to_pylist(), type_)),
        compiled(telling.conditions.to_pylist(), type_),
        SelectivityTable(),
        asking.events,
    )
    if events:
        for formula in found.subscriptions:
            found.table.track(formula.predicates())
        found.table.observe(BatchFrame(EventBatch.of(found.events, type_)))
    return found


def compiled(texts: Sequence[str], event_type: EventType) -> list[Formula]:
    """Conditions as formulas.

    Raises:
        SystemExit: One is refused.
    """
    column = compile_conditions(texts, event_type)
    found = [each for each in column if isinstance(each, Formula)]
    if len(found) < len(texts):
        first = column.refused[0]
        msg = f"condition {first} is refused: {texts[first]}\n{column[first]}"
        raise SystemExit(msg)
    return found


def in_turn(formulas: Iterable[Formula]) -> list[Formula]:
    """Formulas of different sizes one after the other, so that the first few have all classes of subscriptions."""
    kinds: dict[int, list[Formula]] = {}
    for formula in formulas:
        kinds.setdefault(tree_size(formula).leaves, []).append(formula)
    rounds = zip_longest(*(kinds[leaves] for leaves in sorted(kinds)))
    return [formula for each in rounds for formula in each if formula is not None]


def filed(formulas: Iterable[Formula], event_type: EventType) -> OverlapIndex:
    """An index of formulas, by their numbers."""
    index = OverlapIndex([event_type])
    for number, formula in enumerate(formulas):
        index.add(str(number), event_type.name, formula)
    return index


class Effort(NamedTuple):
    """How much is asked.

    Attributes:
        asked: Subscriptions that are asked about for shares.
        clocked: The first of them, which are asked about for times.
        rounds: How often.
    """

    asked: int
    clocked: int
    rounds: int


class Contestant(Protocol):
    """What answers both problems."""

    def overlapping(self, event_type: str, formula: Formula) -> list[str]:
        """All that overlap."""

    def overlaps(self, event_type: str, formula: Formula) -> bool:
        """Is there one?"""


class Answers(NamedTuple):
    """What subscriptions found.

    Attributes:
        found: Which overlap, by subscription.
        share: Of all pairs of a subscription and an advertisement, how many overlap.
        candidates: How many pairs are evaluated, by pair: at most once for each AND of the subscription, and not
            if no predicate of the advertisement is disjoint to it.
        function_ms: Of the processor for all overlaps of a subscription.
        decision_ms: For whether there is one.
    """

    found: list[list[str]]
    share: float
    candidates: float
    function_ms: float
    decision_ms: float


def function_problems(index: Contestant, name: str, formulas: Sequence[Formula]) -> list[list[str]]:
    """All overlaps of each."""
    return [index.overlapping(name, each) for each in formulas]


def decision_problems(index: Contestant, name: str, formulas: Sequence[Formula]) -> list[bool]:
    """Whether each has one."""
    return [index.overlaps(name, each) for each in formulas]


def times(index: Contestant, name: str, formulas: Sequence[Formula], rounds: int) -> tuple[float, float]:
    """Milliseconds of the processor for a problem of each kind, medians of rounds in turn."""
    seconds: list[tuple[float, float]] = []
    for _ in range(rounds):
        whole = timed(partial(function_problems, index, name, formulas))
        seconds.append((whole, timed(partial(decision_problems, index, name, formulas))))
    function, decision = (1e3 * median(each) / len(formulas) for each in zip(*seconds, strict=True))
    return function, decision


def answers(index: OverlapIndex, name: str, formulas: Sequence[Formula], effort: Effort) -> Answers:
    """Ask both problems; a decision must be what the function says.

    Raises:
        SystemExit: It is not.
    """
    before = index.candidates
    found = function_problems(index, name, formulas)
    pairs = len(formulas) * len(index)
    evaluated = (index.candidates - before) / pairs
    clocked = formulas[: effort.clocked]
    if decision_problems(index, name, clocked) != [bool(each) for each in found[: effort.clocked]]:
        msg = "decisions are not what the overlaps say"
        raise SystemExit(msg)
    share = sum(map(len, found)) / pairs
    return Answers(found, share, evaluated, *times(index, name, clocked, effort.rounds))


def is_part(few: Sequence[Sequence[str]], many: Sequence[Sequence[str]]) -> bool:
    """Has each list nothing that the other one of its place lacks?"""
    return all(set(one) <= set(other) for one, other in zip(few, many, strict=True))
