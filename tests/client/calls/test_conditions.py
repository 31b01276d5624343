"""Conditions before they are subscribed; event types, advertisements, tokens and tenants."""

from __future__ import annotations

import pytest

from tamis.client import Client, ClientError
from tests.client.server import Served

CAMERA = {"name": "camera", "attributes": {"price": "decimal(8,2)", "brand": "string"}}


def test_a_good_condition_has_no_findings(client: Client) -> None:
    assert client.lint("price < 300") == ()


def test_findings_have_places(client: Client) -> None:
    client.declare(CAMERA)
    (wrong,) = client.lint("prise < 300", event_type="camera")
    assert (wrong.severity, wrong.line, wrong.column, wrong.start, wrong.end) == ("error", 1, 1, 0, 5)
    assert wrong.hint is not None and "price" in wrong.hint
    (never,) = client.lint("x < 1 AND x > 2", event_type="event")
    assert (never.severity, never.code) == ("warning", "never-true")


def test_a_condition_is_tried_on_recent_events(client: Client) -> None:
    client.publish({"id": f"e{price}", "price": price} for price in range(10))
    tested = client.test("price < 3")
    assert (tested.events, tested.matched, sorted(tested.ids)) == (10, 3, ["e0", "e1", "e2"])
    assert client.test("price < 3", last=4).matched == 0


def test_a_condition_is_tried_on_events_that_are_given(served: Served, client: Client) -> None:
    tested = client.test("price < 3", events=({"id": f"g{price}", "price": price} for price in range(5)))
    assert (tested.events, tested.matched, tested.ids) == (5, 3, ("g0", "g1", "g2"))
    served.asked.clear()
    with pytest.raises(ClientError, match="found both"):
        client.test("price < 3", last=3, events=[])
    assert not served.asked


def test_conditions_of_another_dialect(client: Client) -> None:
    pattern = '{"price": [{"numeric": ["<", 3]}]}'
    made = client.subscribe(pattern, id="rule", dialect="eventbridge").subscription
    assert made.dialect == "eventbridge"
    assert client.test(pattern, events=[{"price": 2}, {"price": 5}], dialect="eventbridge").matched == 1
    assert client.explain(condition=pattern, event={"price": 2}, dialect="eventbridge").verdict is True
    assert client.lint("price <", dialect="jms")[0].severity == "error"
    matched = client.match_events([{"price": 2}, {"price": 5}])
    assert (matched.subscriptions, matched.matches) == (1, (("rule",), ()))
    assert client.change("rule", condition="price < 9", dialect="sql").dialect == "sql"
    assert [each.dialect for each in client.history("rule")] == ["eventbridge", "sql"]


def test_a_refused_condition_is_refused_everywhere(client: Client) -> None:
    for ask in (
        lambda: client.test("price <"),
        lambda: client.explain(condition="price <", event={}),
        lambda: client.advertise("mine", "price <"),
    ):
        with pytest.raises(ClientError) as caught:
            ask()
        assert (caught.value.status, caught.value.kind) == (422, "condition")
        assert [(each.line, each.column) for each in caught.value.problems] == [(1, 8)]


def test_a_match_is_explained(client: Client) -> None:
    found = client.explain(condition="price < 3 AND brand = 'Sony'", event={"price": 2, "brand": "Leica"})
    assert found.verdict is False
    assert "brand" in found.reason
    assert found.text.startswith(found.reason)
    assert [part["verdict"] for part in found.tree["parts"]] == [True, False]
    assert found.calls == ()
    assert client.explain(condition="price < 3", event={}).verdict is None


def test_what_is_kept_is_explained_by_its_id(client: Client) -> None:
    client.subscribe("price < 3", id="cheap")
    client.publish({"id": "e1", "price": 2})
    found = client.explain(subscription="cheap", event_id="e1")
    assert found.verdict is True
    assert "subscription 'cheap'" in found.reason
    with pytest.raises(ClientError, match="there is no event 'e2'"):
        client.explain(subscription="cheap", event_id="e2")


def test_an_event_is_matched_with_what_is_subscribed(served: Served, client: Client) -> None:
    client.subscribe("price < 3", id="cheap")
    client.subscribe("price < 1", id="cheapest")
    found = client.match({"price": 2})
    assert (found.event_type, found.subscriptions, found.ids) == ("event", 2, ("cheap",))
    served.asked.clear()
    with pytest.raises(ClientError, match="expected an event or an event's id"):
        client.match()
    assert not served.asked


def test_an_explanation_needs_one_condition_and_one_event(served: Served, client: Client) -> None:
    for wrong in ({}, {"condition": "x = 1"}, {"condition": "x = 1", "subscription": "s", "event_id": "e"}):
        with pytest.raises(ClientError, match="expected a"):
            client.explain(**wrong)  # type: ignore[arg-type]
    assert not served.asked


# --- event types and advertisements --------------------------------------------------------------------------


# --- tokens and tenants --------------------------------------------------------------------------------------
