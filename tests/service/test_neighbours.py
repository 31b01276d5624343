"""Neighbours: the same from a table of a file and from a text, with settings of their own."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tamis.service.neighbours import Neighbour, NeighbourError, neighbour_text, read_neighbour

TABLE: dict[str, Any] = {"name": "north", "url": "http://north", "token": "0123456789abcdef"}


@pytest.mark.parametrize(
    "own",
    [
        {},
        {"link_bytes": 0},
        {"link_bytes": 5_000, "link_measure": "memory", "link_merging": False},
        {"link_merging": True},
    ],
)
def test_a_table_and_its_text_mean_the_same(own: dict[str, Any]) -> None:
    assert read_neighbour(neighbour_text({**TABLE, **own})) == Neighbour(**TABLE, **own)


def test_a_token_is_not_shown() -> None:
    assert TABLE["token"] not in repr(Neighbour(**TABLE))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("north http://north", "expected name, url, token of each"),
        ("north http://north t more", "expected name, url, token of each"),
        ("north http://north t link_bytes", "and perhaps link_bytes, link_measure and link_merging"),
        ("north http://north t link_bytes=1 link_bytes=2", "expected name, url, token of each"),
        ("north http://north t link_bytes=few", "north: link_bytes: expected a whole number, found 'few'"),
        ("north http://north t link_bytes=-1", "north: link_bytes: expected 0 or more, found -1"),
        ("north http://north t link_merging=maybe", "north: link_merging: expected true or false, found 'maybe'"),
        ("north http://north t link_measure=luck", "north: link_measure: expected one of common, accuracy"),
    ],
)
def test_texts_that_are_no_neighbour_are_refused(text: str, message: str) -> None:
    with pytest.raises(NeighbourError, match=re.escape(message)):
        read_neighbour(text)


@pytest.mark.parametrize(
    "table",
    [
        "north",
        {},
        {**TABLE, "token": 7},
        {**TABLE, "link_bytes": "5000"},
        {**TABLE, "link_bytes": True},
        {**TABLE, "x": 1},
    ],
)
def test_tables_that_are_no_neighbour_are_refused(table: Any) -> None:
    with pytest.raises(NeighbourError, match="expected the texts name, url, token, and perhaps link_bytes"):
        neighbour_text(table)
