"""What operators were asked."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Recorded:
    """Calls by operator: how often with which arguments, and how many runs it took."""

    calls: dict[str, Counter[tuple[Any, ...]]] = field(default_factory=dict)
    runs: Counter[str] = field(default_factory=Counter)

    def note(self, operator: str, arguments: Sequence[tuple[Any, ...]]) -> None:
        self.calls.setdefault(operator, Counter()).update(arguments)
        self.runs[operator] += 1

    def count(self, operator: str) -> int:
        return self.calls.get(operator, Counter()).total()

    def clear(self) -> None:
        self.calls.clear()
        self.runs.clear()
