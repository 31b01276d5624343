"""What conditions cost: known for those that events were seen for."""

from __future__ import annotations

from collections.abc import Callable

from tamis.service.page.costs import costs
from tamis.service.page.page_request import PageRequest


def test_a_condition_costs_something_and_the_answer_is_kept(ask: Callable[..., PageRequest]) -> None:
    request = ask()
    found = request.service.subscriptions.page("default")
    first = costs(request, found)
    assert first.keys() == {"called", "cheap", "hostile"}
    assert all(0 < seconds < 1 for seconds in first.values())
    assert costs(request, found) == first


def test_without_events_of_the_type_nothing_is_said(ask: Callable[..., PageRequest]) -> None:
    request = ask()
    [stored] = request.service.subscriptions.page("acme")
    assert costs(request, [stored]).keys() == {"secret-plan"}, "by the type's name in one's own tenant"
    from dataclasses import replace

    assert costs(request, [replace(stored, id="other", event_type="none")]) == {}
