"""Requests for pages: filters, and answers that are kept for a while."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tamis.service.page.page_request import PageRequest, TimedCache


def test_an_answer_is_made_again_when_it_is_older_than_allowed() -> None:
    cache, made = TimedCache(), iter(range(9))
    assert [cache.get("a", 60, lambda: next(made)) for _ in range(3)] == [0, 0, 0]
    assert cache.get("a", 0, lambda: next(made)) == 1
    assert cache.get("b", 60, lambda: next(made)) == 2


def test_the_oldest_answers_go_first() -> None:
    cache = TimedCache()
    for key in range(1_001):
        cache.get(key, 60, lambda: "old")
    assert [cache.get(key, 60, lambda: "new") for key in (1_000, 0)] == ["old", "new"]


@pytest.mark.parametrize(("given", "number"), [("7", 7), ("", None), ("-1", None), ("²", None), ("9" * 19, 2**62)])
def test_a_number_is_one_or_none(ask: Callable[..., PageRequest], given: str, number: int | None) -> None:
    assert ask(before=given).number("before") == number


def test_filters_are_stripped_and_who_runs_the_service_is_known(ask: Callable[..., PageRequest]) -> None:
    request = ask(search="  x ")
    assert (request.text("search"), request.text("label"), request.tenant) == ("x", "", "default")
    assert request.is_operator
