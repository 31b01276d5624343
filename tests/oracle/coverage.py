"""Counts what a campaign covered, so that a quiet generator cannot pass for an agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.oracle.grammar import Node
from tests.oracle.rows import ATTRIBUTES, INTEGERS
from tests.oracle.rules import RULES

LEAST_EACH = 50
LEAST_SELECTIVE = 0.3
FULL_CAMPAIGN = 9000
"""Pairs, of fewer of which less is asked."""
_NOISE = {"WHEN", "THEN", "ELSE", "END", "FROM", "AS", "NULL", "NTZ", "DATE", "STRING"}


def wanted() -> set[str]:
    """Every operator, function, literal and type that must come up."""
    shown = {feature for rule in RULES for feature in rule.features if not set(feature.split()) <= _NOISE}
    literals = (*INTEGERS, "float", "double", "decimal", "string", "boolean", "date", "timestamp", "timestamp_ntz")
    return (
        shown
        | {f"type {attribute.ddl}" for attribute in ATTRIBUTES}
        | {f"literal {kind}" for kind in (*literals, "binary", "NULL")}
    )


@dataclass(slots=True)
class Coverage:
    """What came up so far."""

    shown: Counter[str] = field(default_factory=Counter)
    pairs: int = 0
    selective: int = 0

    def add(self, condition: Node, outcomes: Sequence[bool | None]) -> None:
        """Count one condition and its answers for the rows of a table."""
        condition.count(self.shown)
        self.pairs += 1
        self.selective += 0 < sum(outcome is True for outcome in outcomes) < len(outcomes)

    def gaps(self, pairs: int) -> list[str]:
        """What is missing after `pairs` condition-table pairs; of fewer pairs than usual less is asked."""
        found = []
        if self.pairs < pairs:
            found.append(f"{self.pairs} condition-table pairs, expected {pairs}")
        if self.selective < LEAST_SELECTIVE * self.pairs:
            found.append(f"{self.selective} of {self.pairs} conditions kept some but not all rows")
        least = LEAST_EACH if pairs >= FULL_CAMPAIGN else LEAST_EACH * pairs // (2 * FULL_CAMPAIGN)
        rare = {name: self.shown[name] for name in sorted(wanted()) if self.shown[name] < least}
        if rare:
            found.append(f"came up fewer than {least} times: {rare}")
        return found
