"""`auction`: online book auctions, after S. Bittner's thesis (2008), chapter 3 and appendices A and B.

An event is an auction of a book. Category, format, special attribute and condition are drawn together, as often
as they were counted; "buy it now", bids and price by category; title and author from a pool of books of the
category. Subscriptions are of three classes, whose operands follow one of five distributions: uniform; Zipf or
normal with the least value the most likely; both with the greatest the most likely. Titles and authors are names
that stand for themselves, and "contains" is equality unless asked for otherwise, as in the thesis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tamis.arrays import F64, I64
from tamis.events.event_type import Attribute, EventType
from tamis.lab.workloads.auction_books import Books, book_pool
from tamis.lab.workloads.auction_tables import CONDITIONS, FORMATS, SPECIALS, AuctionTables, read_tables
from tamis.lab.workloads.base import Family, WorkloadPlan, event_type_of
from tamis.lab.workloads.draws import Draws, cumulate, zipf
from tamis.lab.workloads.forms import Forms
from tamis.lab.workloads.parameters import choice, real, shares
from tamis.lab.workloads.text import Phrases, cents, integers, render
from tamis.values.types import BOOLEAN, INT, STRING, decimal

CLASSES = (
    "title = 'T{title}' AND ((condition = 'new' AND price < {p4}) OR (price < {p5} AND condition = 'used'))"
    " AND ending_within < 1440",
    "title = 'T{title}' AND ((format = 'hardcover' AND"
    " ((condition = 'new' AND price < {p6}) OR (price < {p7} AND condition = 'used')))"
    " OR (format = 'softcover' AND"
    " ((condition = 'new' AND price < {p10}) OR (price < {p11} AND condition = 'used'))))"
    " AND ending_within < 1440",
    "(category = '{category}' OR author = 'A{author}') AND"
    " ((ending_within < 60 AND (bids = 0 OR special = 'signed')) OR (buy_it_now AND special = 'signed'))",
)
"""The classes, with the variable operands as slots; prices are numbered as the thesis numbers predicates."""
PRICES = {"p4": (5, 10), "p5": (1, 5), "p6": (12, 18), "p7": (8, 13), "p10": (10, 15), "p11": (5, 10)}
"""Least and greatest operand of each price, in dollars."""
DISTRIBUTIONS = ("uniform", "zipf", "normal", "zipf-reversed", "normal-reversed")
MINUTES = 14_400
_FIRST_NAME = 10_000_000
"""Where the numbers in names begin: all have as many digits, so that none is part of another."""


@dataclass(frozen=True, slots=True)
class AuctionParameters:
    """The parameters of `auction`."""

    classes: tuple[float, ...] = shares((1.0, 1.0, 1.0), "weights of the three classes of subscriptions")
    operands: str = choice("uniform", "distribution of the operands of subscriptions", DISTRIBUTIONS)
    auctions_per_book: float = real(100.0, "auctions of the same book", least=0.01, most=100_000)
    books_per_author: float = real(5.0, "books of the same author", least=0.01, most=100_000)
    author_share: float = real(0.1, "share of authors with a second category, of those with a third, ...")
    title_share: float = real(0.01, "share of books with the title of an earlier one")
    names: str = choice("equal", "how titles and authors are asked for", ("equal", "contain"))
    captions: str = choice(
        "corrected", "of the tables of signed books and first editions", ("corrected", "printed")
    )


def plan(parameters: AuctionParameters, seed: int, _subscriptions: int) -> WorkloadPlan:
    """Conditions as `title = 'T10000042' AND ((condition = 'new' AND price < 7.25) OR ...) AND ...`."""
    tables = read_tables()
    books = book_pool(
        seed,
        tables.items,
        auctions_per_book=parameters.auctions_per_book,
        books_per_author=parameters.books_per_author,
        author_share=parameters.author_share,
        title_share=parameters.title_share,
    )
    phrases = Phrases()
    forms = Forms([_with_names(form, parameters.names) for form in CLASSES], phrases)
    weights = cumulate(parameters.classes)
    domains = {
        "title": integers(_FIRST_NAME + np.arange(books.title_count)),
        "author": integers(_FIRST_NAME + np.arange(books.author_count)),
        "category": phrases.codes(tables.categories),
        **{name: cents(np.arange(100 * least, 100 * most + 1)) for name, (least, most) in PRICES.items()},
    }
    likely = {size: operand_shares(parameters.operands, size) for size in {len(each) for each in domains.values()}}

    def conditions(draws: Draws) -> I64:
        chosen = draws.pick(weights)
        fillings = {name: each[draws.pick(likely[len(each)], 1)] for name, each in domains.items()}
        return forms.spell(chosen, fillings)

    specials = [1, 0, 2] if parameters.captions == "printed" else [0, 1, 2]

    def events(draws: Draws) -> dict[str, pa.Array]:
        return _events(draws, tables, books, [SPECIALS[place] for place in specials])

    facts = {"books": len(books.titles), "titles": books.title_count, "authors": books.author_count}
    return WorkloadPlan(_event_type(tables), phrases, conditions, events, facts)


def operand_shares(distribution: str, size: int) -> F64:
    """How likely each of `size` operands is, the least one first, cumulated.

    Of the normal distribution the halves are folded together at the least operand, a quarter of the operands is
    the standard deviation, and what is more than four of them away is dropped.
    """
    kind, _, reversed_ = distribution.partition("-")
    if kind == "uniform":
        return cumulate(np.ones(size))
    if kind == "zipf":
        weights = np.diff(zipf(size, 1.0), prepend=0.0)
    else:
        within = [math.erf(4 * place / size / math.sqrt(2)) for place in range(size + 1)]
        weights = np.diff(within)
    return cumulate(weights[::-1] if reversed_ else weights)


def _with_names(form: str, names: str) -> str:
    if names == "equal":
        return form
    for name, letter in (("title", "T"), ("author", "A")):
        form = form.replace(f"{name} = '{letter}{{{name}}}'", f"{name} LIKE '%{letter}{{{name}}}%'")
    return form


def _event_type(tables: AuctionTables) -> EventType:
    return event_type_of(
        "book",
        Attribute("category", STRING, values=tables.categories, required=True),
        Attribute("format", STRING, values=FORMATS, required=True),
        Attribute("special", STRING, values=SPECIALS, required=True),
        Attribute("condition", STRING, values=CONDITIONS, required=True),
        Attribute("buy_it_now", BOOLEAN, required=True),
        Attribute("price", decimal(6, 2), min=1, max=100_000, required=True),
        Attribute("bids", INT, min=0, max=60, required=True),
        Attribute("ending_within", INT, min=1, max=MINUTES, required=True),
        Attribute("title", STRING, required=True),
        Attribute("author", STRING, required=True),
    )


def _events(draws: Draws, tables: AuctionTables, books: Books, specials: list[str]) -> dict[str, pa.Array]:
    category, format_, special, condition = tables.kinds[draws.pick(tables.kind_shares)].T
    buy_it_now = draws.uniform() < tables.buy_it_now[category]
    bids = tables.bids.draw(draws, category)
    price = tables.cents.draw(draws, category)
    ending_within = 1 + draws.below(MINUTES)
    book = books.draw(draws, category)
    return {
        "category": pa.array(tables.categories).take(pa.array(category)),
        "format": pa.array(FORMATS).take(pa.array(format_)),
        "special": pa.array(specials).take(pa.array(special)),
        "condition": pa.array(CONDITIONS).take(pa.array(condition)),
        "buy_it_now": pa.array(buy_it_now),
        "price": _dollars(price),
        "bids": pa.array(bids.astype(np.int32)),
        "ending_within": pa.array(ending_within.astype(np.int32)),
        "title": _names("T", books.titles[book]),
        "author": _names("A", books.authors[book]),
    }


def _dollars(amounts: I64) -> pa.Array:
    """Amounts in cents as decimals."""
    phrases = Phrases()
    return render(cents(amounts)[:, None], phrases.table()).cast(pa.decimal128(6, 2))


def _names(letter: str, numbers: I64) -> pa.StringArray:
    phrases = Phrases()
    codes = np.column_stack([np.full(len(numbers), phrases.code(letter)), integers(_FIRST_NAME + numbers)])
    return render(codes, phrases.table()).cast(pa.string())


AUCTION = Family(
    "auction", "online book auctions: three classes of subscriptions, counted events", AuctionParameters, plan
)
