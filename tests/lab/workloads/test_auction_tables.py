from __future__ import annotations

import numpy as np
import pytest

from tamis.lab.workloads.auction_tables import CONDITIONS, FORMATS, SPECIALS, read_tables
from tamis.lab.workloads.draws import Draws

TABLES = read_tables()


def test_totals() -> None:
    assert len(TABLES.categories) == 22
    assert TABLES.items.sum() == 141_602
    assert TABLES.items[TABLES.categories.index("Folklore/Mythology")] == 984
    shares = np.diff(TABLES.kind_shares, prepend=0)
    assert np.allclose(shares * 154_574, np.rint(shares * 154_574))


@pytest.mark.parametrize(
    ("column", "value", "share"),
    [
        (0, TABLES.categories.index("Romance"), 0.172),
        (0, TABLES.categories.index("Mystery/Thriller"), 0.165),
        (1, FORMATS.index("softcover"), 0.545),
        (1, FORMATS.index("hardcover"), 0.425),
        (1, FORMATS.index("mixed lot"), 0.009),
        (2, SPECIALS.index("signed"), 0.018),
        (2, SPECIALS.index("1st edition"), 0.155),
        (3, CONDITIONS.index("used"), 0.795),
    ],
)
def test_marginal_shares(column: int, value: int, share: float) -> None:
    shares = np.diff(TABLES.kind_shares, prepend=0)
    assert shares[TABLES.kinds[:, column] == value].sum() == pytest.approx(share, abs=0.0006)


def test_largest_kind() -> None:
    largest = int(np.argmax(np.diff(TABLES.kind_shares, prepend=0)))
    category, format_, special, condition = TABLES.kinds[largest]
    assert (TABLES.categories[category], FORMATS[format_]) == ("Romance", "softcover")
    assert (SPECIALS[special], CONDITIONS[condition]) == ("unspecified", "used")


def test_extremes_of_categories() -> None:
    assert TABLES.categories[int(np.argmin(TABLES.buy_it_now))] == "Pulps"


def test_intervals_are_drawn_by_category_and_uniform_inside() -> None:
    fantasy = TABLES.categories.index("Fantasy")
    draws = Draws(1, "auction", "test", 0, 20_000)
    categories = np.full(20_000, fantasy)
    cents = TABLES.cents.draw(draws, categories)
    assert (cents.min(), cents.max() <= 100_000) == (1, True)
    assert np.mean(cents > 1_000) == pytest.approx(0.222, abs=0.01)
    first = cents[cents <= 100]
    assert np.mean(first) == pytest.approx(50.5, abs=2)
    bids = TABLES.bids.draw(draws, categories)
    assert np.mean(bids == 0) == pytest.approx(0.814717, abs=0.01)
    assert bids.max() <= 60
