"""Formulas with XOR or with calls of operators as programs; all others are programs already (`program_of`).

A predicate that calls an operator is a node of its own kind, the user's function: `CalledPredicates` numbers
them, so that equal ones are one node, and answers them for the events that a formula depends on.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import I8, I32, I64, Bools
from tamis.engines.forest import INTERVAL, Forest, Leaves
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.formulas.calls import calls_of
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame, Predicate
from tamis.lab.jewel.dag.exclusive_or import ExclusiveOr, XorFinder
from tamis.lab.jewel.dag.kernels.functions import CALLED
from tamis.lab.jewel.dag.kernels.level_filter import ASKED, UNASKED
from tamis.lab.jewel.dag.program import ProgramWriter
from tamis.verification.residuals import calling_slots, slots_reaching


class CalledPredicates:
    """Predicates that call operators, by number."""

    def __init__(self) -> None:
        self._numbers: dict[Predicate, int] = {}
        self._predicates: list[Predicate | None] = []
        self._free: list[int] = []

    def number(self, predicate: Predicate) -> int:
        """The number of a predicate, which is added if it is new."""
        number = self._numbers.get(predicate)
        if number is None:
            number = self._free.pop() if self._free else len(self._predicates)
            self._predicates[number : number + 1] = [predicate]
            self._numbers[predicate] = number
        return number

    def keep(self, numbers: I32) -> None:
        """Forget all others."""
        living = set(numbers.tolist())
        for predicate, number in list(self._numbers.items()):
            if number not in living:
                del self._numbers[predicate]
                self._predicates[number] = None
                self._free.append(number)

    def unanswered(self, rows: int) -> I8:
        """int8[predicates, rows]: nothing asked yet."""
        return np.full((len(self._predicates), rows), UNASKED, np.int8)

    def answer(self, frame: Frame, answers: I8) -> None:
        """Answer what is asked; the operators are called for those rows, once for all predicates on a call."""
        for number in np.flatnonzero((answers == ASKED).any(axis=1)).tolist():
            rows = np.flatnonzero(answers[number] == ASKED)
            predicate = self._predicates[number]
            assert predicate is not None, "it has a node"
            answers[number, rows] = predicate.mask(frame.take(rows))


def slots_with_xor_or_calls(forest: Forest, finder: XorFinder | None) -> I64:
    """The slots whose formulas have a XOR, if a finder is given, or call an operator."""
    found = calling_slots(forest)
    if finder is None:
        return found
    least, counts = forest.nodes.least, np.diff(forest.nodes.firsts)
    is_and = np.append((least == counts) & (counts > 1), False)
    owners = np.repeat(np.arange(len(least)), counts)
    conjunctions = np.bincount(owners[is_and[np.maximum(forest.nodes.children, -1)]], minlength=len(least))
    candidates = (least == 1) & (conjunctions > 1)
    paired = _may_have_complements(forest.leaves)
    if not (candidates.any() and paired.any()):
        return found
    nowhere = np.zeros(len(paired), np.bool_)
    slots = np.flatnonzero(slots_reaching(forest, nowhere, candidates) & slots_reaching(forest, paired))
    having = [slot for slot in slots.tolist() if finder.has_xor(forest[slot])]
    return np.union1d(found, np.array(having, np.int64))


def _may_have_complements(leaves: Leaves) -> Bools:
    """Which leaves some other leaf may be the complement of; most formulas are ruled out by this alone.

    The complement of a ray is the ray up to its end. Others have several pieces, NULL or a test on one side.
    """
    is_up = (leaves.kinds == INTERVAL) & (leaves.highs == HIGHEST) & (leaves.lows != LOWEST)
    is_down = (leaves.kinds == INTERVAL) & (leaves.lows == LOWEST) & (leaves.highs != HIGHEST)
    ends = np.where(is_up, leaves.lows - 1, leaves.highs) ^ (leaves.axes.astype(np.int64) << 40)
    has_other = np.isin(ends, np.intersect1d(ends[is_up], ends[is_down]))
    return np.asarray(((is_up | is_down) & has_other) | (leaves.kinds != INTERVAL) | (leaves.nulls != 0))


class FormulaWriter:
    """Writes formulas as terms; a node that is there twice is written once.

    Attributes:
        writer: What was written.
    """

    def __init__(self, finder: XorFinder | None, calls: CalledPredicates) -> None:
        self.writer = ProgramWriter()
        self._finder = finder
        self._calls = calls
        self._known: dict[Formula | ExclusiveOr, int] = {}

    def write(self, formula: Formula) -> int:
        if formula not in self._known:
            self._known[formula] = self._write(formula)
        return self._known[formula]

    def _write(self, formula: Formula) -> int:
        if formula.predicate is not None:
            if calls_of(formula.predicate):
                return self.writer.term(CALLED, [self._calls.number(formula.predicate)])
            return self.writer.leaf(formula)
        found = self._finder.operands(formula) if self._finder is not None else formula.operands
        least = len(found) if formula.is_and else formula.least
        terms = [self._xor(each) if isinstance(each, ExclusiveOr) else self.write(each) for each in found]
        return terms[0] if len(terms) == 1 else self.writer.at_least(least, terms)

    def _xor(self, found: ExclusiveOr) -> int:
        """A XOR whose operands are XORs is one row, which is bracketed as a whole."""
        if found not in self._known:
            row: list[int] = []
            self._collect(found, row)
            self._known[found] = self.writer.term(found.function, row)
        return self._known[found]

    def _collect(self, found: ExclusiveOr, row: list[int]) -> None:
        assert self._finder is not None
        for each in (found.left, found.right):
            inner = self._finder.operands(each) if each.is_or else ()
            if len(inner) == 1 and isinstance(inner[0], ExclusiveOr) and inner[0].function == found.function:
                self._collect(inner[0], row)
            else:
                row.append(self.write(each))
