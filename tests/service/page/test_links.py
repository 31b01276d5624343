"""Addresses of pages: every id has one, and none leads elsewhere."""

from __future__ import annotations

from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.service.page.links import address, local, twin_path, with_query


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_an_id_can_be_read_back_from_its_address(id: str) -> None:
    parts = urlsplit(address("events", id))
    query = parse_qs(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    assert (query["id"][0] if query else unquote(parts.path.removeprefix("/events/"))) == id
    assert parts.path.count("/") == 2


@pytest.mark.parametrize(
    "path", ["", None, "feed", "//x.example", "/\\x.example", "http://x.example", "/a b", "/\n"]
)
def test_a_path_that_leads_elsewhere_is_the_first_page(path: str | None) -> None:
    assert local(path) == "/"


def test_a_path_of_ours_is_kept_with_its_query() -> None:
    assert local("/feed?before=3#x") == "/feed?before=3#x"


def test_twins_and_queries() -> None:
    assert [twin_path(path) for path in ("/", "/feed")] == ["/index.json", "/feed.json"]
    assert with_query("/feed", a="", b=None, c=0) == "/feed?c=0"
