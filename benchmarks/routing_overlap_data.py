"""The ground of the benchmarks of overlap: subscriptions and advertisements of book auctions, and what is asked.

Advertisements are registered and subscriptions are asked about, as a broker does that looks for the neighbours
which a subscription has to go to. Sizes are those of S. Bittner's thesis (2008) where one processor does them in
about ten minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from benchmarks.report import Bar, Figures, Size
from tamis.lab.claims.overlaps import Effort

Found: TypeAlias = tuple[Figures, dict[str, Bar], list[str]]
"""Figures, bars and drawings of a part."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured.

    Attributes:
        sizes: Numbers of advertisements that are asked for overlap, rising.
        asked: Subscriptions that are asked about for shares.
        clocked: The first of them, which are asked about for times.
        rounds: How often.
        checked: Subscriptions and advertisements of which all pairs are checked one by one.
        pruned: Subscriptions and advertisements, the latter pruned, with uniform operands.
        others: The same with the other distributions of operands, in half as many steps.
        both: The same where subscriptions are pruned before.
        steps: Of pruning advertisements, about so many.
        events: That selectivities are counted in.
        classed: Advertisements of one class.
        network: Subscriptions of a line of brokers, and events of each broker at most.
        publishers: Advertisements of each broker of the line.
    """

    sizes: tuple[int, ...]
    asked: int
    clocked: int
    rounds: int
    checked: int
    pruned: tuple[int, int]
    others: tuple[int, int]
    both: tuple[int, int]
    steps: int
    events: int
    classed: int
    network: tuple[int, int]
    publishers: tuple[int, ...]

    @property
    def effort(self) -> Effort:
        return Effort(self.asked, self.clocked, self.rounds)


SCALES: dict[Size, Scale] = {
    "smallest": Scale((40, 80), 20, 10, 1, 8, (60, 40), (30, 16), (40, 24), 4, 300, 20, (20, 10), (1,)),
    "quick": Scale(
        (500, 1_000, 2_000, 4_000),
        90,
        30,
        1,
        24,
        (1_000, 600),
        (300, 100),
        (300, 160),
        12,
        2_000,
        200,
        (80, 1_000),
        (1, 8),
    ),
    "full": Scale(
        (20_000, 50_000, 80_000, 120_000, 200_000, 300_000, 500_000),
        150,
        45,
        2,
        60,
        (100_000, 50_000),
        (6_000, 2_500),
        (20_000, 8_000),
        20,
        20_000,
        2_000,
        (1_000, 4_000),
        (1, 4, 16, 100),
    ),
}


def scale_of(size: Size, sizes: Sequence[int] = ()) -> Scale:
    """How much is measured; with `sizes`, subscriptions and advertisements up to the greatest of them."""
    scale = SCALES[size]
    if not sizes:
        return scale
    most = max(sizes)
    smaller = [count for count in scale.sizes if count < most]

    def each(counts: tuple[int, int]) -> tuple[int, int]:
        subscriptions = min(most, counts[0])
        return subscriptions, max(1, counts[1] * subscriptions // counts[0])

    return replace(
        scale,
        sizes=(*(smaller or [max(1, most // 2)]), most),  # two at least, to tell growth
        pruned=each(scale.pruned),
        others=each(scale.others),
        both=each(scale.both),
    )
