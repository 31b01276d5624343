from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tamis.lab.workloads.auction_books import Books, book_pool
from tamis.lab.workloads.auction_tables import read_tables
from tamis.lab.workloads.draws import Draws

ITEMS = read_tables().items


def pool(
    seed: int = 1,
    auctions_per_book: float = 100.0,
    books_per_author: float = 5.0,
    author_share: float = 0.1,
    title_share: float = 0.01,
) -> Books:
    return book_pool(
        seed,
        ITEMS,
        auctions_per_book=auctions_per_book,
        books_per_author=books_per_author,
        author_share=author_share,
        title_share=title_share,
    )


def categories_of_authors(books: Books) -> list[int]:
    """In how many categories each author has books."""
    found: dict[int, set[int]] = {}
    for category, (start, stop) in enumerate(pairwise(books.firsts.tolist())):
        for author in books.authors[start:stop].tolist():
            found.setdefault(author, set()).add(category)
    return [len(each) for each in found.values()]


def test_standard_sizes() -> None:
    books = pool()
    assert len(books.titles) == len(books.authors) == books.firsts[-1]
    assert len(books.titles) == pytest.approx(1_416, abs=11)
    assert books.author_count == pytest.approx(283, abs=3)
    assert np.all(np.diff(books.firsts) == np.maximum(np.rint(ITEMS / 100), 1))


def test_titles_and_authors_are_numbered_without_gaps() -> None:
    books = pool(auctions_per_book=20)
    assert set(books.titles.tolist()) == set(range(books.title_count))
    assert books.authors.min() >= 0
    assert books.authors.max() < books.author_count


def test_titles_are_used_again_as_often_as_asked() -> None:
    assert pool(title_share=0.0).title_count == len(pool().titles)
    books = pool(auctions_per_book=5, title_share=0.2)
    assert 1 - books.title_count / len(books.titles) == pytest.approx(0.2, abs=0.01)
    assert pool(title_share=1.0).title_count == 1


@pytest.mark.slow
def test_authors_write_in_more_categories_as_often_as_asked() -> None:
    assert max(categories_of_authors(pool(author_share=0.0, auctions_per_book=20))) == 1
    counts = np.bincount(categories_of_authors(pool(author_share=0.3, auctions_per_book=1, books_per_author=50)))
    assert counts[2:].sum() / counts.sum() == pytest.approx(0.3, abs=0.03)
    assert counts[3:].sum() / counts.sum() == pytest.approx(0.09, abs=0.02)
    assert set(categories_of_authors(pool(author_share=1.0, auctions_per_book=0.5, books_per_author=10_000))) == {
        22
    }


def test_every_category_has_an_author_and_a_book() -> None:
    books = pool(auctions_per_book=100_000, books_per_author=100_000)
    assert np.all(np.diff(books.firsts) == 1)
    assert books.author_count == 1


def test_books_are_drawn_from_the_category() -> None:
    books = pool()
    categories = np.arange(22_000) % 22
    drawn = books.draw(Draws(1, "auction", "test", 0, 22_000), categories)
    assert np.all((books.firsts[categories] <= drawn) & (drawn < books.firsts[categories + 1]))
    assert len(set(drawn.tolist())) > 1_200


def test_the_same_seed_gives_the_same_pool() -> None:
    assert np.array_equal(pool().authors, pool().authors)
    assert np.array_equal(pool().titles, pool().titles)
    assert not np.array_equal(pool().authors, pool(seed=2).authors)
