"""Conditions before they are subscribed; event types, advertisements, tokens and tenants."""

from __future__ import annotations

import pickle

import pytest

from tamis.client import Client, ClientError, Rights
from tests.client.conftest import Connect
from tests.client.server import Served

CAMERA = {"name": "camera", "attributes": {"price": "decimal(8,2)", "brand": "string"}}


def test_a_good_condition_has_no_findings(client: Client) -> None:
    assert client.lint("price < 300") == ()


def test_findings_have_places(client: Client) -> None:
    client.declare(CAMERA)
    (wrong,) = client.lint("prise < 300", event_type="camera")
    assert (wrong.severity, wrong.line, wrong.column, wrong.start, wrong.end) == ("error", 1, 1, 0, 5)
    assert wrong.hint is not None and "price" in wrong.hint
    (never,) = client.lint("x < 1 AND x > 2")
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


def test_an_explanation_needs_one_condition_and_one_event(served: Served, client: Client) -> None:
    for wrong in ({}, {"condition": "x = 1"}, {"condition": "x = 1", "subscription": "s", "event_id": "e"}):
        with pytest.raises(ClientError, match="expected a"):
            client.explain(**wrong)  # type: ignore[arg-type]
    assert not served.asked


def test_an_error_survives_pickling(client: Client) -> None:
    with pytest.raises(ClientError) as caught:
        client.test("price <")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.status, again.kind, again.problems) == (422, "condition", caught.value.problems)
    assert str(again) == str(caught.value)


# --- event types and advertisements --------------------------------------------------------------------------


def test_event_types_are_declared_and_given_back(client: Client) -> None:
    declared = client.declare(CAMERA)
    assert declared.event_type["attributes"] == CAMERA["attributes"]
    assert declared.refused == ()
    assert client.event_type("camera") == declared
    assert "camera" in [each["name"] for each in client.event_types()]
    with pytest.raises(ClientError, match="there is no event type 'tripod'"):
        client.event_type("tripod")
    with pytest.raises(ClientError, match="event type with a name"):
        client.declare({"attributes": {}})


def test_what_a_change_would_refuse_is_told_before_it_is_made(client: Client) -> None:
    client.declare(CAMERA)
    client.subscribe("brand = 'Sony'", id="sony", event_type="camera")
    narrow = {"name": "camera", "attributes": {"price": "decimal(8,2)"}}
    (refused,) = client.declare(narrow, dry_run=True).refused
    assert (refused.id, [each.start for each in refused.problems]) == ("sony", [0])
    assert client.get("sony").refusal is None
    assert [each.id for each in client.declare(narrow).refused] == ["sony"]
    assert "brand" in (client.get("sony").refusal or "")
    assert [each.id for each in client.event_type("camera").refused] == ["sony"]


def test_an_advertisement_is_compared_with_what_was_published(client: Client) -> None:
    said = client.advertise("cheap things", "price < 100")
    assert (said.id, said.condition, said.event_type) == ("cheap things", "price < 100", "event")
    assert client.advertisements() == (said,)
    client.publish([{"price": 1}, {"price": 2}, {"price": 200}])
    found = client.advertisement("cheap things")
    assert (found.advertisement, found.events, found.conforming) == (said, 3, 2)
    client.withdraw("cheap things")
    assert client.advertisements() == ()
    for ask in (client.advertisement, client.withdraw):
        with pytest.raises(ClientError, match="there is no advertisement 'cheap things'"):
            ask("cheap things")


# --- tokens and tenants --------------------------------------------------------------------------------------


def test_a_token_may_do_what_its_roles_say(client: Client, connect: Connect, tenant: str) -> None:
    made = client.create_token("publish", label="a sensor")
    assert (made.tenant, made.roles, made.label) == (tenant, ("publish",), "a sensor")
    assert made.token is not None and made.token not in repr(made)
    sensor = connect(token=made.token)
    assert sensor.publish({"x": 1}).accepted == 1
    with pytest.raises(ClientError, match="role 'subscribe'") as caught:
        sensor.subscribe("x = 1")
    assert (caught.value.status, caught.value.kind) == (403, "forbidden")
    both = client.create_token(["subscribe", "publish"])
    assert sorted(both.roles) == ["publish", "subscribe"]


def test_a_revoked_token_is_worthless(client: Client, connect: Connect) -> None:
    made = client.create_token("subscribe")
    assert made.id in [each.id for each in client.tokens()]
    assert all(each.token is None for each in client.tokens())
    client.revoke_token(made.id)
    assert made.id not in [each.id for each in client.tokens()]
    with pytest.raises(ClientError, match="not one of this service") as caught:
        [*connect(token=made.token).subscriptions()]
    assert (caught.value.status, caught.value.kind) == (401, "unauthorized")
    with pytest.raises(ClientError, match="there is no token"):
        client.revoke_token(made.id)


def test_an_unknown_role_is_refused(client: Client) -> None:
    with pytest.raises(ClientError, match="roles") as caught:
        client.create_token("boss")
    assert (caught.value.status, caught.value.kind) == (422, "invalid")


def test_the_operator_makes_tenants(served: Served, connect: Connect, client: Client) -> None:
    operator = connect(token=served.token("default"))
    made = operator.set_rights(f"{served.new_tenant()}-b", Rights(subscriptions=7, operators=("cosine",)))
    assert made.rights == Rights(subscriptions=7, operators=("cosine",))
    assert made in operator.tenants()
    token = operator.create_token("subscribe", tenant=made.name).token
    assert [*connect(token=token).subscriptions()] == []
    for ask in (client.tenants, lambda: client.create_token("admin", tenant="default")):
        with pytest.raises(ClientError) as caught:
            ask()
        assert (caught.value.status, caught.value.kind) == (403, "forbidden")
