"""What was counted at online book auctions (fiction, one day in July 2005), read from the files beside this one.

Facts published in S. Bittner's thesis, "General Boolean Expressions in Publish-Subscribe Systems" (Waikato, 2008),
appendix A. There the captions of the tables of signed books and of first editions are interchanged, as the
selectivities in its text show; the files have them corrected.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from decimal import Decimal
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from tamis.workloads.draws import Draws, Real, Whole, cumulated

FORMATS = ("hardcover", "softcover", "mixed lot", "other")
SPECIALS = ("1st edition", "signed", "unspecified")
CONDITIONS = ("new", "used")


class Intervals(NamedTuple):
    """A distribution by category: an interval by its share, then any of its whole numbers."""

    ends: Real  # per interval: number of its category plus its cumulated share
    least: Whole
    most: Whole

    def drawn(self, draws: Draws, categories: Whole) -> Whole:
        """A number for each row, which is of that category."""
        found = self.ends.searchsorted(categories + draws.uniform(), side="right")
        return self.least[found] + draws.below(self.most[found] - self.least[found] + 1)


class Tables(NamedTuple):
    """All of it; categories, formats and so on are places in their lists."""

    categories: tuple[str, ...]
    items: Whole  # per category
    buy_it_now: Real  # per category: share
    kinds: Whole  # [kind, 4]: category, format, special, condition
    kind_shares: Real  # cumulated
    bids: Intervals
    cents: Intervals


def read_tables() -> Tables:
    """Read the files."""
    categories = _rows("categories")
    names = tuple(row["category"] for row in categories)
    kinds = [
        (
            names.index(row["category"]),
            FORMATS.index(row["format"]),
            SPECIALS.index(row["special"]),
            CONDITIONS.index(row["condition"]),
        )
        for row in _rows("items")
    ]
    return Tables(
        names,
        np.array([int(row["items"]) for row in categories]),
        np.array([float(row["buy_it_now"]) for row in categories]),
        np.array(kinds),
        cumulated([int(row["items"]) for row in _rows("items")]),
        _intervals("bids", names, int),
        _intervals("prices", names, lambda text: int(Decimal(text) * 100)),
    )


def _intervals(name: str, categories: Sequence[str], read: Callable[[str], int]) -> Intervals:
    rows = _rows(name)
    by_category = [[float(row["share"]) for row in rows if row["category"] == one] for one in categories]
    ends = [number + cumulated(weights) for number, weights in enumerate(by_category)]
    least, most = (np.array([read(row[bound]) for row in rows]) for bound in ("least", "most"))
    return Intervals(np.concatenate(ends), least, most)


def _rows(name: str) -> list[dict[str, str]]:
    text = (files("tamis.workloads") / "data" / f"auction_{name}.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))
