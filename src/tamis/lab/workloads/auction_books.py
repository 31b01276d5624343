"""The pool of books of `auction`: which titles and authors there are in which category.

A book belongs to one category; its author writes in that category, and its title is its own or, seldom, that of
another book. Every category has at least one book and one author.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tamis.arrays import I64, Bools
from tamis.lab.workloads.draws import Draws


class Books(NamedTuple):
    """All books, by category."""

    firsts: I64  # [categories + 1]: the books of category c are those from firsts[c] to just before firsts[c + 1]
    titles: I64  # per book: from 0 to below `title_count`
    authors: I64  # per book: from 0 to below `author_count`
    title_count: int
    author_count: int

    def draw(self, draws: Draws, categories: I64) -> I64:
        """A book of the category of each row."""
        return self.firsts[categories] + draws.below(np.diff(self.firsts)[categories])


def book_pool(
    seed: int,
    items: I64,
    *,
    auctions_per_book: float,
    books_per_author: float,
    author_share: float,
    title_share: float,
) -> Books:
    """Draw the pool.

    Args:
        seed: Of the workload.
        items: Auctions of each category.
        auctions_per_book: How many of them have the same book.
        books_per_author: Over all categories.
        author_share: Of authors that write in another category as well, and again of those in a third one.
        title_share: Of books that have the title of an earlier book.
    """
    counts = np.maximum(np.rint(items / auctions_per_book), 1).astype(np.int64)
    books = int(counts.sum())
    author_count = max(round(books / books_per_author), 1)
    writes = _writes(Draws(seed, "auction", "authors", 0, author_count), len(items), author_share)
    draws = Draws(seed, "auction", "books", 0, books)
    order = np.argsort(draws.uniform(), kind="stable")  # in which books appear, over all categories
    title_of = np.empty(books, np.int64)
    title_of[order] = _titles(draws, title_share)
    used, titles = np.unique(title_of, return_inverse=True)
    firsts = np.concatenate([[0], np.cumsum(counts)])
    chance = draws.uniform()
    authors = np.empty(books, np.int64)
    for category, (start, stop) in enumerate(pairwise(firsts.tolist())):
        theirs = np.flatnonzero(writes[:, category])
        authors[start:stop] = theirs[np.floor(chance[start:stop] * len(theirs)).astype(np.int64)]
    return Books(firsts, titles, authors, len(used), author_count)


def _writes(draws: Draws, categories: int, share: float) -> Bools:
    """Who writes in which category: [authors, categories]."""
    writes = np.zeros((draws.rows, categories), np.bool_)
    writing = np.arange(draws.rows)
    for number in range(categories):
        # The one drawn from those in which they do not write yet.
        wanted = draws.below(categories - number)[writing]
        free = np.cumsum(~writes[writing], axis=1)
        writes[writing, (free <= wanted[:, None]).sum(axis=1)] = True
        writing = writing[draws.uniform()[writing] < share]
        if not len(writing):
            break
    for category in np.flatnonzero(~writes.any(axis=0)):
        writes[draws.below(draws.rows)[0], category] = True
    return writes


def _titles(draws: Draws, share: float) -> I64:
    """For each book, in the order of appearance, the first book of that title."""
    own = np.arange(draws.rows)
    earlier = np.floor(draws.uniform() * own).astype(np.int64)
    found = np.where(draws.uniform() < share, earlier, own)
    while True:
        further = found[found]
        if np.array_equal(further, found):
            return found
        found = further
