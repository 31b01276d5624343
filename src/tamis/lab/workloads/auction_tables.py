"""Counts of online book auctions (fiction, one day in July 2005), read from the files in `data`.

They were published in S. Bittner's thesis, "General Boolean Expressions in Publish-Subscribe Systems" (Waikato,
2008), appendix A. There the captions of the tables of signed books and of first editions are interchanged, as
the selectivities in its text show; the files have them corrected.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from decimal import Decimal
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from tamis.arrays import F64, I64
from tamis.lab.workloads.draws import Draws, cumulate

FORMATS = ("hardcover", "softcover", "mixed lot", "other")
SPECIALS = ("1st edition", "signed", "unspecified")
CONDITIONS = ("new", "used")


class CategoryIntervals(NamedTuple):
    """A distribution by category: intervals with their shares, uniform within an interval."""

    ends: F64  # per interval: number of its category plus its cumulated share
    least: I64
    most: I64

    def draw(self, draws: Draws, categories: I64) -> I64:
        """A number for each row, by its category."""
        found = self.ends.searchsorted(categories + draws.uniform(), side="right")
        return self.least[found] + draws.below(self.most[found] - self.least[found] + 1)


class AuctionTables(NamedTuple):
    """All counts; categories, formats and so on are indices into their lists."""

    categories: tuple[str, ...]
    items: I64  # per category
    buy_it_now: F64  # per category: share
    kinds: I64  # [kind, 4]: category, format, special, condition
    kind_shares: F64  # cumulated
    bids: CategoryIntervals
    cents: CategoryIntervals


def read_tables() -> AuctionTables:
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
    return AuctionTables(
        names,
        np.array([int(row["items"]) for row in categories]),
        np.array([float(row["buy_it_now"]) for row in categories]),
        np.array(kinds),
        cumulate([int(row["items"]) for row in _rows("items")]),
        _intervals("bids", names, int),
        _intervals("prices", names, lambda text: int(Decimal(text) * 100)),
    )


def _intervals(name: str, categories: Sequence[str], read: Callable[[str], int]) -> CategoryIntervals:
    rows = _rows(name)
    by_category = [[float(row["share"]) for row in rows if row["category"] == one] for one in categories]
    ends = [number + cumulate(weights) for number, weights in enumerate(by_category)]
    least, most = (np.array([read(row[bound]) for row in rows]) for bound in ("least", "most"))
    return CategoryIntervals(np.concatenate(ends), least, most)


def _rows(name: str) -> list[dict[str, str]]:
    text = (files("tamis.lab.workloads") / "data" / f"auction_{name}.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))
