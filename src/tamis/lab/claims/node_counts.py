"""Nodes counted one by one, in plain Python: what other ways of keeping or walking expressions would have taken.

Formulas here have AND and OR only. These counts stand beside those of `dag`, which the engine keeps itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from tamis.arrays import Bools
from tamis.events.batch import EventBatch
from tamis.formulas.formula import Formula
from tamis.frames import BatchFrame


def conjunctions(formula: Formula) -> int:
    """How many conjunctions a formula becomes, without a bound."""
    if formula.predicate is not None:
        return 1
    sizes = [conjunctions(operand) for operand in formula.operands]
    if not formula.is_and:
        return sum(sizes)
    product = 1
    for size in sizes:
        product *= size
    return product


def left_deep_nodes(formulas: Iterable[Formula]) -> int:
    """Nodes of a shared graph if every row of operands is put in brackets from the left, whatever is there."""
    known: dict[object, int] = {}

    def number_of(formula: Formula) -> int:
        if formula.predicate is not None:
            return known.setdefault(formula, len(known))
        first, *rest = (number_of(operand) for operand in formula.operands)
        for other in rest:
            first = known.setdefault((formula.is_and, first, other), len(known))
        return first

    for formula in formulas:
        number_of(formula)
    return len(known)


def top_down_visits(formulas: list[Formula], events: EventBatch) -> tuple[float, float]:
    """Nodes that walks from the roots visit, of an event: without memory, and if no node is visited twice.

    A row of operands is walked from the left and left as soon as it is decided. Each operand but the last costs a
    visit to a node of two operands besides: the fewest that brackets can have.
    """
    frame = BatchFrame(events)
    held: dict[Formula, Bools] = {}
    forgetful = remembering = 0
    for row in range(events.rows):
        seen: dict[Formula, tuple[bool, int]] = {}
        fresh = 0

        def visit(
            formula: Formula, row: int = row, seen: dict[Formula, tuple[bool, int]] = seen
        ) -> tuple[bool, int]:
            """Its truth, and the visits of a walk that remembers nothing."""
            nonlocal fresh
            if formula in seen:
                return seen[formula]
            if formula.predicate is not None:
                if formula not in held:
                    held[formula] = formula.mask(frame)
                outcome = bool(held[formula][row]), 1
                fresh += 1
            else:
                decisive = not formula.is_and
                visits = 0
                truth = not decisive
                for place, operand in enumerate(formula.operands):
                    joins = int(place < len(formula.operands) - 1)
                    truth, below = visit(operand)
                    visits += joins + below
                    fresh += joins
                    if truth is decisive:
                        break
                outcome = truth, visits
            seen[formula] = outcome
            return outcome

        forgetful += sum(visit(formula)[1] for formula in formulas)
        remembering += fresh
    return forgetful / events.rows, remembering / events.rows
