"""A row: one claim of a paper, what is measured for it, and the two verdicts on it.

Direction: what the sentence says must hold in every round, so that the spread of the rounds is excluded. Figure:
the median of ours lies within a quarter of theirs, or inside the range that they give. A figure that was measured
at a smaller size than theirs is shown and not judged. A row that cannot be tested says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isinf
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tamis.lab.measuring.numbers import number, spread

if TYPE_CHECKING:
    from tamis.lab.claims.bench import Bench

Direction: TypeAlias = Literal["holds", "fails", "unclear", "none claimed"]
Agreement: TypeAlias = Literal["agrees", "differs", "partly", "not at this size", "none given"]
Ours: TypeAlias = float | Sequence[float]

NEAR = 0.25
"""How far from their single number ours may lie, as a share of theirs."""


class UntestableError(Exception):
    """A row cannot be tested; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of ours beside one of theirs.

    Attributes:
        what: It is.
        ours: One number of a count, or a number a round of a clock.
        theirs: A number twice, or a range, whose ends may be infinite; None where they give none.
        size: Subscriptions that it was measured with, and those of the paper; None if it does not matter.
    """

    what: str
    ours: tuple[float, ...]
    theirs: tuple[float, float] | None = None
    size: tuple[int, int] | None = None

    @property
    def agreement(self) -> Agreement:
        """The verdict on this figure."""
        if self.theirs is None:
            return "none given"
        if self.size is not None and self.size[0] < self.size[1]:
            return "not at this size"
        low, high = self.theirs
        if low == high:
            low, high = sorted((low * (1 - NEAR), low * (1 + NEAR)))
        return "agrees" if low <= median(self.ours) <= high else "differs"

    def __str__(self) -> str:
        told = spread(self.ours) if len(self.ours) > 1 else number(self.ours[0])
        if self.theirs is None:
            return f"{self.what}: {told}"
        return f"{self.what}: {told} (theirs {range_text(*self.theirs)})"


def range_text(low: float, high: float) -> str:
    """A number or a range, whose ends may be open."""
    if isinf(low) or isinf(high):
        return f"at most {number(high)}" if isinf(low) else f"at least {number(low)}"
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def figure(
    what: str,
    ours: Ours,
    theirs: float | tuple[float, float] | None = None,
    size: tuple[int, int] | None = None,
) -> Figure:
    """A figure of numbers as they come."""
    values = (float(ours),) if isinstance(ours, (int, float)) else tuple(map(float, ours))
    wanted = (theirs, theirs) if isinstance(theirs, (int, float)) else theirs
    return Figure(what, values, wanted, size)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured for a row.

    Attributes:
        direction: Does the sentence hold?
        figures: Counts first.
        note: What else a reader has to know; of sentences that contradict each other, which one held.
    """

    direction: Direction
    figures: Sequence[Figure] = ()
    note: str = ""

    @property
    def agreement(self) -> Agreement:
        """The verdict on all figures together."""
        found = {each.agreement for each in self.figures} - {"none given"}
        if not found:
            return "none given"
        judged = found - {"not at this size"}
        if len(judged) > 1:
            return "partly"
        return judged.pop() if judged else "not at this size"


# --- what a sentence says of rounds ------------------------------------------------------------------------------


def above(values: Ours, bound: float) -> Direction:
    """Do all lie above? Unclear if some do."""
    each = [values] if isinstance(values, (int, float)) else values
    return "holds" if min(each) > bound else "fails" if max(each) <= bound else "unclear"


def below(values: Ours, bound: float) -> Direction:
    """Do all lie below? Unclear if some do."""
    each = [values] if isinstance(values, (int, float)) else values
    return "holds" if max(each) < bound else "fails" if min(each) >= bound else "unclear"


def near(values: Ours, aim: float, within: float) -> Direction:
    """Does the median lie so near? Unclear if it does not and some round does."""
    each = [values] if isinstance(values, (int, float)) else values
    if abs(median(each) - aim) <= within:
        return "holds"
    return "unclear" if any(abs(value - aim) <= within for value in each) else "fails"


def is_true(fact: bool) -> Direction:
    """Of a count, which has no spread."""
    return "holds" if fact else "fails"


def all_of(*directions: Direction) -> Direction:
    """Several sentences at once: one that fails decides, then one that is unclear."""
    for word in ("fails", "unclear"):
        if word in directions:
            return word
    return "holds"


def rising(values: Sequence[float]) -> Direction:
    """Does each of these counts exceed the one before?"""
    return is_true(all(one < other for one, other in pairwise(values)))


# --- rows --------------------------------------------------------------------------------------------------------

Measure: TypeAlias = Callable[["Bench"], Outcome]


@dataclass(frozen=True, slots=True)
class Row:
    """One claim.

    Attributes:
        id: J1 and so on.
        where: Section, table or figure of the paper.
        claim: In our own words.
        theirs: Their figure, as text; "trend" if they give a direction only.
        workload: What it is measured on.
        counted: What is counted, or timed.
        measure: Measures it.
        contradicts: What it contradicts, if it does: rows, sentences, or itself.
    """

    id: str
    where: str
    claim: str
    theirs: str
    workload: str
    counted: str
    measure: Measure
    contradicts: str = ""

    def to_dict(self) -> dict[str, Any]:
        """What is written beside its results."""
        names = ("id", "where", "claim", "theirs", "workload", "counted", "contradicts")
        return {name: getattr(self, name) for name in names}


@dataclass(slots=True)
class Paper:
    """A paper and its rows, in the order of their numbers.

    Attributes:
        name: As `--paper` takes it, and its page is called.
        title: As people cite it.
        workload: Of rows that name none.
        rows: By id.
    """

    name: str
    title: str
    workload: str
    rows: dict[str, Row] = field(default_factory=dict)

    def row(
        self,
        id: str,
        where: str,
        claim: str,
        theirs: str,
        counted: str,
        *,
        workload: str = "",
        contradicts: str = "",
    ) -> Callable[[Measure], Measure]:
        """A decorator for the function that measures a row; it may serve several."""

        def added(measure: Measure) -> Measure:
            self.rows[id] = Row(id, where, claim, theirs, workload or self.workload, counted, measure, contradicts)
            return measure

        return added

    def untestable(self, id: str, where: str, claim: str, theirs: str, reason: str) -> None:
        """A row that cannot be measured, with the reason."""

        def refuse(_: Bench) -> Outcome:
            raise UntestableError(reason)

        self.rows[id] = Row(id, where, claim, theirs, "none", "nothing", refuse)
