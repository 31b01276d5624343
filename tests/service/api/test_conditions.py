"""Conditions before they are subscribed: lint, test and explain, on events of one's own."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from tests.service.api.running import Running, Tenant, problem
from tests.service.api.test_subscriptions import subscribe

JSON = {"Content-Type": "application/json"}


def asked(client: httpx2.Client, what: str, **body: Any) -> dict[str, Any]:
    answer = client.post(f"/v1/conditions/{what}", content=json.dumps(body), headers=JSON)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def publish(client: httpx2.Client, *events: dict[str, Any]) -> None:
    assert client.post("/v1/events", json=[*events]).status_code == 202


# --- lint ----------------------------------------------------------------------------------------------------


def test_a_good_condition_has_no_findings(tenant: Tenant) -> None:
    assert asked(tenant.subscribe, "lint", condition="price < 300") == {"findings": []}


def test_a_finding_says_where_and_how_bad(tenant: Tenant) -> None:
    text = "price < 300\n AND brand ="
    [found] = asked(tenant.subscribe, "lint", condition=text)["findings"]
    assert (found["severity"], found["line"], found["column"]) == ("error", 2, 13)
    assert found["start"] == len(text) < found["end"]  # just after it
    assert found["message"]


def test_what_is_right_but_useless_is_a_finding_too(tenant: Tenant) -> None:
    found = asked(tenant.subscribe, "lint", condition="a = 1\n AND a = 2")["findings"]
    assert found and {each["severity"] for each in found} <= {"warning", "info"}
    assert all(0 <= each["start"] <= each["end"] for each in found)


def test_what_a_condition_is_linted_for_must_be_declared(tenant: Tenant) -> None:
    given = {"condition": "a = 1", "event_type": "unheard"}
    problem(tenant.subscribe.post("/v1/conditions/lint", json=given), 404, "not-found")


# --- test ----------------------------------------------------------------------------------------------------


def test_pasted_events_are_tried(tenant: Tenant) -> None:
    events = [{"price": 1}, {"price": 500}, {"id": "x", "price": 2}, {}]
    assert asked(tenant.subscribe, "test", condition="price < 300", events=events) == {
        "events": 4,
        "matched": 2,
        "ids": ["1", "x"],
        "unknown": 1,
    }


def test_recent_events_are_tried_and_those_of_others_are_not(served: Running, tenant: Tenant) -> None:
    publish(tenant.publish, {"id": "a", "price": 1}, {"id": "b", "price": 900})
    other = served.tenant()
    publish(other.publish, {"id": "c", "price": 1})
    assert asked(tenant.subscribe, "test", condition="price < 300") == {
        **{"events": 2, "matched": 1, "ids": ["a"], "unknown": 0}
    }
    assert asked(tenant.subscribe, "test", condition="price < 300", last=1)["events"] == 1
    assert asked(other.subscribe, "test", condition="price < 300")["ids"] == ["c"]


def test_a_refused_condition_is_a_problem(tenant: Tenant) -> None:
    answer = tenant.subscribe.post("/v1/conditions/test", json={"condition": "a =", "events": []})
    assert problem(answer, 422, "condition")["problems"]


# --- explain -------------------------------------------------------------------------------------------------


def test_a_pasted_event_is_explained(tenant: Tenant) -> None:
    found = asked(tenant.subscribe, "explain", condition="price < 300 AND brand = 'x'", event={"price": 1})
    assert found["verdict"] is None
    assert found["tree"] and found["reason"] and "price" in found["text"]
    assert asked(tenant.subscribe, "explain", condition="price < 300", event={"price": 1})["verdict"] is True
    assert asked(tenant.subscribe, "explain", condition="price < 300", event={"price": 300})["verdict"] is False


def test_a_published_event_and_a_subscription_are_explained_by_their_ids(tenant: Tenant) -> None:
    publish(tenant.publish, {"id": "a/b", "price": 1})
    subscribe(tenant.subscribe, "price < 300", id="cheap")
    found = asked(tenant.subscribe, "explain", subscription="cheap", event_id="a/b")
    assert found["verdict"] is True
    assert tenant.name not in json.dumps(found)


def test_events_and_subscriptions_of_others_cannot_be_explained(served: Running, tenant: Tenant) -> None:
    publish(tenant.publish, {"id": "a", "price": 1})
    subscribe(tenant.subscribe, id="cheap")
    other = served.tenant().admin
    for body in (
        {"condition": "price < 3", "event_id": "a"},
        {"condition": "price < 3", "event_id": f"{tenant.name}/a"},
        {"subscription": "cheap", "event": {}},
    ):
        problem(other.post("/v1/conditions/explain", json=body), 404, "not-found")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"condition": "a = 1"},
        {"event": {}},
        {"condition": "a = 1", "subscription": "s", "event": {}},
        {"condition": "a = 1", "event": {}, "event_id": "e"},
        {"condition": "a = 1", "event": []},
    ],
)
def test_one_condition_and_one_event_are_explained(tenant: Tenant, body: dict[str, Any]) -> None:
    problem(tenant.subscribe.post("/v1/conditions/explain", json=body), 422, "invalid")


ODD: list[dict[str, Any]] = [
    {"a": "\ud800"},
    {"\ud800": 1},
    {"id": "\ud800", "a": 1},
    {"a": float("nan")},
    {"a": 10**400},
    {"a": "\0"},
    {"a": json.loads("[" * 200 + "]" * 200)},
]


@pytest.mark.parametrize("event", ODD)
def test_an_odd_event_is_no_mistake_of_the_service(tenant: Tenant, event: dict[str, Any]) -> None:
    for what, body in (("explain", {"event": event}), ("test", {"events": [event, {"a": 1}]})):
        content = json.dumps({"condition": "a = 1 OR a IS NULL OR a LIKE '%'", **body})
        answer = tenant.subscribe.post(f"/v1/conditions/{what}", content=content, headers=JSON)
        assert answer.status_code in (200, 422), answer.text
        if answer.status_code == 422:
            problem(answer, 422, "invalid")


# --- match ---------------------------------------------------------------------------------------------------


def test_an_event_is_matched_with_the_subscriptions_of_its_type(served: Running, tenant: Tenant) -> None:
    sale = {"attributes": {"price": "double"}}
    for name in ("sale", "other"):
        assert tenant.admin.put(f"/v1/event-types/{name}", json=sale).status_code in (200, 201)
    for id, condition, more in (
        ("a", "price < 300", {}),
        ("b", "price < 3", {}),
        ("off", "price < 300", {}),
        ("sale", "price < 300", {"event_type": "sale"}),
    ):
        subscribe(tenant.subscribe, condition, id=id, **more)
    tenant.admin.post("/v1/subscriptions/off/pause")
    subscribe(served.tenant().subscribe, "price < 300", id="theirs")
    found = asked(tenant.subscribe, "match", event={"price": 7})
    assert found == {"event_type": "event", "subscriptions": 2, "ids": ["a"]}
    assert asked(tenant.subscribe, "match", event={"price": 7}, event_type="sale")["ids"] == ["sale"]
    publish(tenant.publish, {"id": "e", "price": 1})
    assert asked(tenant.subscribe, "match", event_id="e")["ids"] == ["a", "b"]


@pytest.mark.parametrize("body", [{}, {"event": {}, "event_id": "e"}])
def test_a_match_wants_one_event(tenant: Tenant, body: dict[str, Any]) -> None:
    problem(tenant.subscribe.post("/v1/conditions/match", json=body), 422, "invalid")


def test_there_is_a_limit_of_what_is_matched_in_one_request(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tamis.service.matching.MOST_SUBSCRIPTIONS", 1)
    subscribe(tenant.subscribe)
    assert asked(tenant.subscribe, "match", event={})["subscriptions"] == 1
    subscribe(tenant.subscribe)
    problem(tenant.subscribe.post("/v1/conditions/match", json={"event": {}}), 403, "quota")


def test_many_events_are_matched_with_what_is_subscribed_now(served: Running, tenant: Tenant) -> None:
    def matches() -> Any:
        answer = tenant.subscribe.post("/v1/match", json={"events": [{"price": 7}, {"price": 700}, {}]})
        assert answer.status_code == 200, answer.text
        return answer.json()

    subscribe(tenant.subscribe, "price < 300", id="cheap")
    subscribe(tenant.subscribe, '{"price": [{"numeric": [">", 5]}]}', id="rule", dialect="eventbridge")
    subscribe(served.tenant().subscribe, "price < 300", id="theirs")
    assert matches() == {"event_type": "event", "subscriptions": 2, "matches": [["cheap", "rule"], ["rule"], []]}
    tenant.admin.delete("/v1/subscriptions/cheap")
    assert matches()["matches"] == [["rule"], ["rule"], []]
    assert tenant.subscribe.get("/v1/events").json()["items"] == []


@pytest.mark.parametrize("body", [{}, {"events": []}, {"events": [1]}, {"events": [{}], "dialect": "sql"}])
def test_matching_wants_events(tenant: Tenant, body: dict[str, Any]) -> None:
    problem(tenant.subscribe.post("/v1/match", json=body), 422, "invalid")


def test_a_condition_of_another_dialect_is_tried_as_such(tenant: Tenant) -> None:
    given = {"condition": "color = 'red' AND", "dialect": "jms"}
    [found] = asked(tenant.subscribe, "lint", **given)["findings"]
    assert (found["severity"], found["column"]) == ("error", 18)
    jms = {"condition": "color = 'red'", "dialect": "jms"}
    assert asked(tenant.subscribe, "test", events=[{"color": "red"}, {"color": 1}], **jms)["matched"] == 1
    assert asked(tenant.subscribe, "explain", event={"color": "red"}, **jms)["verdict"] is True
    answer = tenant.subscribe.post("/v1/conditions/lint", json={"condition": "a", "dialect": "jmx"})
    problem(answer, 422, "invalid")


def test_a_subscription_keeps_its_dialect(tenant: Tenant) -> None:
    made = subscribe(tenant.subscribe, "color = 'red'", id="j", dialect="jms")
    assert made["subscription"]["dialect"] == "jms"
    changed = tenant.admin.patch("/v1/subscriptions/j", json={"condition": '{"a": [1]}', "dialect": "eventbridge"})
    assert (changed.json()["dialect"], changed.json()["revision"]) == ("eventbridge", 2)
    [exported] = [json.loads(line) for line in tenant.subscribe.get("/v1/subscriptions/export").text.splitlines()]
    assert exported["dialect"] == "eventbridge"
    history = tenant.subscribe.get("/v1/subscriptions/j/history").json()["items"]
    assert [each["dialect"] for each in history] == ["jms", "eventbridge"]
    assert asked(tenant.subscribe, "explain", event={"a": 1}, subscription="j")["verdict"] is True


def test_lint_looks_at_recent_events(tenant: Tenant) -> None:
    asked = {"condition": "brnd = 'Sony'"}
    assert tenant.subscribe.post("/v1/conditions/lint", json=asked).json() == {"findings": []}
    events = [{"id": str(number), "brand": "Sony"} for number in range(3)]
    assert tenant.publish.post("/v1/events", json=events).is_success
    (found,) = tenant.subscribe.post("/v1/conditions/lint", json=asked).json()["findings"]
    assert (found["severity"], found["code"], found["hint"]) == ("warning", "unseen", "did you mean brand?")
    assert found["message"] == "none of the last 3 events has brnd"
