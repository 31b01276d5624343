"""What rows measure with: sizes, a seed, laboratories that remember points, and a budget of time a row."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from tamis.lab.measuring.cases import SEED, Case
from tamis.lab.measuring.contestants import engine_of
from tamis.lab.measuring.points import Effort, Lab, Point

Size: TypeAlias = Literal["smallest", "small", "full"]
SIZES: tuple[Size, ...] = ("smallest", "small", "full")
"""The smallest only shows that a row works; small takes minutes for all rows; full has the sizes of the papers."""
BUDGET_SECONDS = 3_600.0
"""That a row may take; larger sizes are left out when they would need more."""

_Found = TypeVar("_Found")
_Each = TypeVar("_Each")

_EFFORTS: dict[Size, Effort] = {
    "smallest": Effort(64, 16, 1, 0.0, 1, 60),
    "small": Effort(256, 64, 5, 0.02, 5, 2_000),
    "full": Effort(1_024, 64, 5, 0.3, 5, 10_000),
}


@dataclass(slots=True)
class Bench:
    """Where rows are measured; points that several rows need are measured once.

    Attributes:
        size: How much is measured.
        seed: Of all data.
        progress: Reports what goes on.
        budget: Seconds that a row may take.
        notes: What the current row left out, and why.
    """

    size: Size
    seed: int = SEED
    progress: Callable[[str], None] = field(default=lambda _: None)
    budget: float = BUDGET_SECONDS
    notes: list[str] = field(default_factory=list)
    lab: Lab = field(init=False)
    _known: dict[Hashable, Any] = field(default_factory=dict)
    _begun: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.lab = Lab(_EFFORTS[self.size], engine_of, self.seed, progress=self.progress)

    def begin(self) -> None:
        """Begin another row."""
        self.notes = []
        self.lab.left_out.clear()
        self._begun = time.monotonic()

    def left_out(self) -> str:
        """What did not fit, for the note of a row."""
        reasons = [*self.notes, *(f"{what} left out: {why}" for what, why in self.lab.left_out.items())]
        return "; ".join(reasons)

    def pick(self, smallest: _Each, small: _Each, full: _Each) -> _Each:
        """What goes with the size."""
        return dict(zip(SIZES, (smallest, small, full), strict=True))[self.size]

    def once(self, key: Hashable, make: Callable[[], _Found]) -> _Found:
        """What was made under this key before, or is made now."""
        if key not in self._known:
            self._known[key] = make()
        found: _Found = self._known[key]
        return found

    def within_budget(self, sizes: Sequence[int]) -> Iterator[int]:
        """Sizes, rising, as long as the next, in proportion to the last, fits into what is left of the budget."""
        for place, count in enumerate(sizes):
            begun = time.monotonic()
            yield count
            if place + 1 < len(sizes):
                expected = (time.monotonic() - begun) * sizes[place + 1] / count
                if time.monotonic() - self._begun + expected > self.budget:
                    self.notes.append(f"the largest size that fits is {count}")
                    return

    def curve(self, case: Case, sizes: Sequence[int], names: Sequence[str]) -> dict[int, dict[str, Point]]:
        """Points by size, as far as the budget goes."""
        return {count: self.lab.points(case, count, names) for count in self.within_budget(sizes)}
