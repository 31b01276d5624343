"""`advertisements`: advertisements of publishers for the book auctions of `auction`, in eight classes.

After S. Bittner's thesis (2008), appendix B. Events, pool of books and distributions of operands are those of
`auction`: with the same seed and the same parameters of the pool, titles and authors are the same books.
Conditions are advertisements here, which ask for prices above an operand where subscriptions ask for prices below.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamis.arrays import I64
from tamis.lab.workloads import auction
from tamis.lab.workloads.auction import _FIRST_NAME, DISTRIBUTIONS, operand_shares
from tamis.lab.workloads.base import Family, WorkloadPlan
from tamis.lab.workloads.draws import Draws, cumulate
from tamis.lab.workloads.forms import Forms
from tamis.lab.workloads.parameters import choice, real, shares
from tamis.lab.workloads.text import Phrases, cents, integers

_CONDITION = "((condition = 'used' AND price > {used}) OR (price > {new} AND condition = 'new'))"
_FORMAT = "((format = 'hardcover' AND price > {hardcover}) OR (price > {softcover} AND format = 'softcover'))"
_BOTH = (
    "((format = 'hardcover' AND"
    " ((condition = 'new' AND price > {new_hardcover}) OR (price > {used_hardcover} AND condition = 'used')))"
    " OR (format = 'softcover' AND"
    " ((condition = 'new' AND price > {new_softcover}) OR (price > {used_softcover} AND condition = 'used'))))"
)
_SPECIAL = "((buy_it_now AND price > {buy_it_now}) OR (price > {signed} AND special = 'signed'))"

CLASSES = (
    f"category = '{{category}}' AND {_SPECIAL}",
    f"author = 'A{{author}}' AND {_SPECIAL}",
    f"title = 'T{{title}}' AND {_CONDITION}",
    f"title = 'T{{title}}' AND {_FORMAT}",
    f"title = 'T{{title}}' AND {_BOTH}",
    _CONDITION[1:-1],
    _FORMAT[1:-1],
    _BOTH[1:-1],
)
"""The classes A1 to A8, with the variable operands as slots."""
PRICES = {
    "buy_it_now": (5, 30),
    "signed": (15, 30),
    "used": (3, 20),
    "new": (8, 25),
    "hardcover": (9, 20),
    "softcover": (8, 18),
    "new_hardcover": (9, 25),
    "used_hardcover": (9, 20),
    "new_softcover": (8, 22),
    "used_softcover": (3, 18),
}
"""Least and greatest operand of each price, in dollars."""


@dataclass(frozen=True, slots=True)
class AdvertisementsParameters:
    """The parameters of `advertisements`."""

    classes: tuple[float, ...] = shares((1.0,) * 8, "weights of the eight classes of advertisements")
    operands: str = choice("uniform", "distribution of the operands of advertisements", DISTRIBUTIONS)
    auctions_per_book: float = real(100.0, "auctions of the same book", least=0.01, most=100_000)
    books_per_author: float = real(5.0, "books of the same author", least=0.01, most=100_000)
    author_share: float = real(0.1, "share of authors with a second category, of those with a third, ...")
    title_share: float = real(0.01, "share of books with the title of an earlier one")


def plan(parameters: AdvertisementsParameters, seed: int, subscriptions: int) -> WorkloadPlan:
    """Conditions as `title = 'T10000042' AND ((condition = 'used' AND price > 7.25) OR ...)`."""
    pool = auction.AuctionParameters(
        auctions_per_book=parameters.auctions_per_book,
        books_per_author=parameters.books_per_author,
        author_share=parameters.author_share,
        title_share=parameters.title_share,
    )
    auctions = auction.plan(pool, seed, subscriptions)
    categories = auctions.event_type.find("category")[0].values
    phrases = Phrases()
    forms = Forms(CLASSES, phrases)
    weights = cumulate(parameters.classes)
    domains = {
        "title": integers(_FIRST_NAME + np.arange(auctions.facts["titles"])),
        "author": integers(_FIRST_NAME + np.arange(auctions.facts["authors"])),
        "category": phrases.codes(map(str, categories or ())),
        **{name: cents(np.arange(100 * least, 100 * most + 1)) for name, (least, most) in PRICES.items()},
    }
    likely = {size: operand_shares(parameters.operands, size) for size in {len(each) for each in domains.values()}}

    def conditions(draws: Draws) -> I64:
        chosen = draws.pick(weights)
        fillings = {name: each[draws.pick(likely[len(each)], 1)] for name, each in domains.items()}
        return forms.spell(chosen, fillings)

    return WorkloadPlan(auctions.event_type, phrases, conditions, auctions.events, auctions.facts)


ADVERTISEMENTS = Family(
    "advertisements",
    "of book auctions: eight classes of conditions, events of auction",
    AdvertisementsParameters,
    plan,
)
