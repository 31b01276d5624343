"""Event types, whose changes show what they refuse before they are made; and advertisements."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from tamis.service.accounts import Conformity, TenantRights
from tests.service.api.running import Running, Tenant, problem
from tests.service.api.test_subscriptions import subscribe

ORDER = {"attributes": {"price": "int", "brand": "string"}}
CHANGED = {"attributes": {"price": "boolean", "brand": "string"}}


def declare(
    client: httpx2.Client, described: dict[str, Any], *, name: str = "order", **params: str
) -> dict[str, Any]:
    answer = client.put(f"/v1/event-types/{name}", json=described, params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_declared_type_is_there(tenant: Tenant) -> None:
    said = declare(tenant.admin, ORDER)
    assert said["refused"] == []
    assert said["event_type"]["name"] == "order"
    assert tenant.subscribe.get("/v1/event-types/order").json() == {**said, "warnings": []}
    names = [each["name"] for each in tenant.subscribe.get("/v1/event-types").json()["items"]]
    assert names == ["event", "order"]


def test_others_have_none_of_it(served: Running, tenant: Tenant) -> None:
    declare(tenant.admin, ORDER)
    other = served.tenant()
    problem(other.subscribe.get("/v1/event-types/order"), 404, "not-found")
    assert [each["name"] for each in other.subscribe.get("/v1/event-types").json()["items"]] == ["event"]


def test_a_change_shows_what_it_would_refuse_and_then_refuses_it(tenant: Tenant) -> None:
    declare(tenant.admin, ORDER)
    subscribe(tenant.subscribe, "price < 300", id="broken", event_type="order")
    subscribe(tenant.subscribe, "brand = 'x'", id="fine", event_type="order")
    tried = declare(tenant.admin, CHANGED, dry_run="true")
    assert [each["id"] for each in tried["refused"]] == ["broken"]
    assert tried["refused"][0]["problems"][0]["line"] == 1
    assert tenant.subscribe.get("/v1/event-types/order").json()["event_type"]["attributes"]["price"] == "int"
    assert tenant.subscribe.get("/v1/subscriptions/broken").json()["refusal"] is None
    assert declare(tenant.admin, CHANGED)["refused"] == tried["refused"]
    assert tenant.subscribe.get("/v1/event-types/order").json()["refused"] == tried["refused"]
    assert tenant.subscribe.get("/v1/subscriptions/broken").json()["refusal"]
    assert tenant.subscribe.get("/v1/subscriptions/fine").json()["refusal"] is None
    assert declare(tenant.admin, CHANGED)["refused"] == tried["refused"]
    declare(tenant.admin, ORDER)
    assert tenant.subscribe.get("/v1/subscriptions/broken").json()["refusal"] is None


@pytest.mark.parametrize(
    "described",
    [
        {"name": "other"},
        {"attributes": {"price": "colour"}},
        {"attributes": []},
        {"attributes": {"price": None}},
        {"attributes": {"": "int"}},
        {"time_zone": "Mars/Olympus"},
        {"colour": 1},
        {"attributes": {"a": {"type": "int", "min": "x", "values": {}}}},
        {"attributes": {"\ud800": "int"}},
        {"attributes": {"a\0": "int"}},
    ],
)
def test_what_is_no_event_type_is_refused(tenant: Tenant, described: dict[str, Any]) -> None:
    import json

    headers = {"Content-Type": "application/json"}
    for dry_run in ("true", "false"):
        answer = tenant.admin.put(
            "/v1/event-types/order", content=json.dumps(described), headers=headers, params={"dry_run": dry_run}
        )
        assert tenant.name not in problem(answer, 422, "invalid")["detail"]
    problem(tenant.admin.get("/v1/event-types/order"), 404, "not-found")


def test_a_type_that_nothing_needs_is_dropped(served: Running, tenant: Tenant) -> None:
    path, other = "/v1/event-types/order", served.tenant()
    declare(tenant.admin, ORDER)
    declare(other.admin, ORDER)
    ticket = subscribe(tenant.subscribe, "price < 300", id="s", event_type="order")["ticket"]
    said = problem(tenant.admin.delete(path), 409, "conflict")["detail"]
    assert said == "event type 'order' has 1 living subscription; remove them first"
    tenant.subscribe.delete("/v1/subscriptions/s", headers={"Tamis-Ticket": ticket})
    tenant.publish.put("/v1/advertisements/shop", json={"condition": "price > 0", "event_type": "order"})
    said = problem(tenant.admin.delete(path), 409, "conflict")["detail"]
    assert said == "event type 'order' has the advertisement 'shop'; withdraw it first"
    tenant.publish.delete("/v1/advertisements/shop")
    assert tenant.admin.delete(path).status_code == 204
    problem(tenant.publish.post("/v1/events", json={"price": 1}, params={"event_type": "order"}), 404, "not-found")
    problem(tenant.subscribe.get(path), 404, "not-found")
    said = problem(tenant.admin.delete(path), 404, "not-found")["detail"]
    assert said == "there is no event type 'order'; declared are event"
    assert other.subscribe.get(path).status_code == 200, "that of another tenant stays"
    declare(tenant.admin, CHANGED)


def test_the_schemaless_type_stays(tenant: Tenant) -> None:
    said = problem(tenant.admin.delete("/v1/event-types/event"), 409, "conflict")["detail"]
    assert said == "the schemaless event type 'event' is always there"
    assert tenant.publish.post("/v1/events", json={"price": 1}).status_code == 202


# --- advertisements ------------------------------------------------------------------------------------------


def test_an_advertisement_says_how_many_events_are_as_it_says(tenant: Tenant) -> None:
    given = {"condition": "price < 300"}
    said = tenant.publish.put("/v1/advertisements/shop", json=given).json()
    assert (said["id"], said["condition"], said["event_type"]) == ("shop", "price < 300", "event")
    tenant.publish.post("/v1/events", json=[{"price": 1}, {"price": 2}, {"price": 900}])
    found = tenant.publish.get("/v1/advertisements/shop").json()
    assert (found["events"], found["conforming"]) == (3, 2)
    assert [each["id"] for each in tenant.publish.get("/v1/advertisements").json()["items"]] == ["shop"]


def test_an_advertisement_can_be_changed_and_taken_back(served: Running, tenant: Tenant) -> None:
    for condition in ("a = 1", "a = 2"):
        tenant.publish.put("/v1/advertisements/shop", json={"condition": condition})
    assert tenant.publish.get("/v1/advertisements/shop").json()["condition"] == "a = 2"
    problem(served.tenant().publish.delete("/v1/advertisements/shop"), 404, "not-found")
    assert tenant.publish.delete("/v1/advertisements/shop").status_code == 204
    problem(tenant.publish.get("/v1/advertisements/shop"), 404, "not-found")


def test_an_advertisement_is_a_condition(tenant: Tenant) -> None:
    answer = tenant.publish.put("/v1/advertisements/shop", json={"condition": "a ="})
    assert problem(answer, 422, "condition")["problems"]


PATH = "/v1/advertisements/expensive"
EXPENSIVE = {"condition": "price > 100"}


@pytest.fixture
def advertised(served: Running) -> Callable[[Conformity], Tenant]:
    """Makes a tenant of a conformity whose publisher advertises what is expensive."""

    def make(conformity: Conformity) -> Tenant:
        made = served.tenant(TenantRights(conformity=conformity))
        assert made.publish.put(PATH, json=EXPENSIVE).json()["token"]
        return made

    return make


def test_an_event_that_is_not_as_advertised_is_refused(advertised: Callable[[Conformity], Tenant]) -> None:
    tenant = advertised("refuse")
    given = [{"id": "dear", "price": 300}, {"id": "cheap", "price": 3}]
    said = problem(tenant.publish.post("/v1/events", json=given), 422, "invalid")["detail"]
    assert "event 2: not as advertised: satisfies none of expensive" in said
    assert tenant.subscribe.get("/v1/events").json()["items"] == [], "none of the request is taken"
    assert tenant.publish.post("/v1/events", json=given[:1]).status_code == 202
    problem(tenant.admin.post("/v1/events", json=given[:1]), 422, "invalid")


def test_or_accepted_with_a_warning_or_in_silence(advertised: Callable[[Conformity], Tenant]) -> None:
    warned = advertised("warn").publish.post("/v1/events", json={"price": 3})
    assert warned.status_code == 202
    assert warned.json()["warnings"] == ["event 1: not as advertised: satisfies none of expensive"]
    silent = advertised("off").publish.post("/v1/events", json={"price": 3})
    assert silent.status_code == 202 and "warnings" not in silent.json()


def test_only_the_publisher_and_administrators_change_an_advertisement(
    served: Running, advertised: Callable[[Conformity], Tenant]
) -> None:
    tenant = advertised("refuse")
    other, text = served.service.accounts.new_token(tenant.name, ["publish"])
    theirs = served.client(text)
    problem(theirs.put(PATH, json={"condition": "true"}), 403, "forbidden")
    problem(theirs.delete(PATH), 403, "forbidden")
    mine = tenant.publish.get(PATH).json()["token"]
    problem(theirs.put("/v1/advertisements/b", json={"condition": "true", "token": mine}), 403, "forbidden")
    problem(tenant.admin.put(PATH, json={"condition": "true", "token": "nobody"}), 404, "not-found")
    assert tenant.admin.put(PATH, json={"condition": "true", "token": other.id}).json()["token"] == other.id
    assert theirs.post("/v1/events", json={"price": 3}).status_code == 202
    problem(tenant.publish.post("/v1/events", json={"price": 300}), 422, "invalid")
    assert theirs.delete(PATH).status_code == 204


def test_a_subscription_to_what_nobody_announces_is_warned_of(
    advertised: Callable[[Conformity], Tenant],
) -> None:
    tenant = advertised("off")
    made = tenant.subscribe.post("/v1/subscriptions", json={"condition": "price < 50"})
    assert made.status_code == 201 and [each["code"] for each in made.json()["warnings"]] == ["unadvertised"]
    good = tenant.subscribe.post("/v1/subscriptions", json={"condition": "price > 50"})
    assert good.json()["warnings"] == []
    lint = tenant.subscribe.post("/v1/conditions/lint", json={"condition": "price = 100"}).json()
    assert [each["code"] for each in lint["findings"]][-1:] == ["unadvertised"]


def typed(client: httpx2.Client, **params: str) -> dict[str, Any]:
    answer = client.post("/v1/events", json={"price": 1}, params=params)
    assert answer.status_code == 202, answer.text
    said: dict[str, Any] = answer.json()
    return said


def of(tenant: Tenant, said: dict[str, Any]) -> str:
    found: str = tenant.subscribe.get(f"/v1/events/{said['ids'][0]}").json()["event_type"]
    return found


def test_the_type_of_events_may_be_called_type_with_a_warning(tenant: Tenant) -> None:
    declare(tenant.admin, ORDER)
    declare(tenant.admin, ORDER, name="offer")
    new, old, neither = (
        typed(tenant.publish, **each) for each in ({"event_type": "order"}, {"type": "order"}, {})
    )
    assert [of(tenant, each) for each in (new, old, neither)] == ["order", "order", "event"]
    assert [each.get("warnings") for each in (new, old, neither)] == [
        None,
        ["'type' is called 'event_type' now; rename it"],
        None,
    ]
    both = {"type": "order", "event_type": "offer"}
    problem(tenant.publish.post("/v1/events", json={"price": 1}, params=both), 422, "invalid")


def test_the_only_declared_type_is_the_default_of_events_and_subscriptions(tenant: Tenant) -> None:
    before = subscribe(tenant.subscribe, id="before")["subscription"]
    said = declare(tenant.admin, ORDER)["warnings"]
    assert said == [
        "events and subscriptions that name no type are of type 'order' from now on, instead of 'event'"
    ]
    after = subscribe(tenant.subscribe, id="after")["subscription"]
    named = subscribe(tenant.subscribe, id="named", event_type="event")["subscription"]
    assert [each["event_type"] for each in (before, after, named)] == ["event", "order", "event"]
    assert of(tenant, typed(tenant.publish)) == "order"
    misspelt = tenant.subscribe.post("/v1/subscriptions", json={"condition": "prcie < 1"})
    assert "did you mean price?" in problem(misspelt, 422, "condition")["problems"][0]["hint"]
    line = json.dumps({"id": "before", "condition": "price < 5"})
    tenant.admin.post("/v1/subscriptions/import", content=line, params={"replace": "true"})
    assert tenant.subscribe.get("/v1/subscriptions/before").json()["event_type"] == "event"
    assert declare(tenant.admin, ORDER)["warnings"] == []
    assert "of type 'event' from now on" in declare(tenant.admin, ORDER, name="offer")["warnings"][0]
    assert of(tenant, typed(tenant.publish)) == "event"
