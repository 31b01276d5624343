"""Why an event matched, or what is in the way of saying so."""

from __future__ import annotations

from collections.abc import Callable

from tamis.service.page.explanations import condition_at_revision, explain_match
from tamis.service.page.page_request import PageRequest


def test_a_match_is_explained_by_the_condition_that_it_had(ask: Callable[..., PageRequest]) -> None:
    request = ask()
    event = request.service.inbox.get(["default/e1"])["default/e1"]
    was = condition_at_revision(request, "cheap", 1)
    assert was == ("price < 300 AND brand = 'Lumen'", "sql")
    found = explain_match(request, event, *was, "cheap")
    assert (found["explanation"].matched, found["problem"]) == (True, None)
    assert condition_at_revision(request, "cheap", 2) is None
    assert condition_at_revision(request, "secret-plan", 1) is None, "it is another tenant's"


def test_a_condition_that_its_type_refuses_by_now_is_a_problem(ask: Callable[..., PageRequest]) -> None:
    request = ask()
    event = request.service.inbox.get(["default/e1"])["default/e1"]
    found = explain_match(request, event, "price <", "sql", "cheap")
    assert found["explanation"] is None
    assert "line 1" in found["problem"]
