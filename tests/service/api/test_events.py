"""Publishing: every way to give events, all or nothing, each event once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tamis.service.accounts import TenantRights
from tests.service.api.running import Running, Tenant, problem, running


def publish(
    client: httpx2.Client, content: str | bytes, media_type: str = "application/json", **params: str
) -> Any:
    headers = {"Content-Type": media_type}
    return client.post("/v1/events", content=content, headers=headers, params=params)


def accepted(answer: httpx2.Response) -> tuple[int, int, list[str]]:
    assert answer.status_code == 202, answer.text
    said = answer.json()
    return said["accepted"], said["repeated"], said["ids"]


def texts(tenant: Tenant) -> list[str]:
    """The events of a tenant as they are kept, the oldest first."""
    answer = tenant.subscribe.get("/v1/events")
    assert answer.status_code == 200, answer.text
    return [each["id"] for each in answer.json()["items"]][::-1]


def cloud(id: str, **more: Any) -> dict[str, Any]:
    return {"specversion": "1.0", "id": id, "source": "/shop", "type": "order", "data": {"price": 1}, **more}


# --- forms ---------------------------------------------------------------------------------------------------


def test_one_event(tenant: Tenant) -> None:
    assert accepted(publish(tenant.publish, '{"id": "a", "price": 1}')) == (1, 0, ["a"])
    assert texts(tenant) == ["a"]


def test_many_events(tenant: Tenant) -> None:
    assert accepted(publish(tenant.publish, '[{"id": "a"}, {"id": 7}]')) == (2, 0, ["a", "7"])
    assert texts(tenant) == ["a", "7"]


@pytest.mark.parametrize("media_type", ["application/x-ndjson", "application/jsonl; charset=utf-8"])
def test_json_lines(tenant: Tenant, media_type: str) -> None:
    lines = '{"id": "a"}\r\n\n{"id": "\u2028"}\n'
    assert accepted(publish(tenant.publish, lines, media_type)) == (2, 0, ["a", "\u2028"])


def test_a_cloud_event(tenant: Tenant) -> None:
    said = accepted(publish(tenant.publish, json.dumps(cloud("1")), "application/cloudevents+json"))
    assert said == (1, 0, ["/shop#1"])
    assert tenant.subscribe.get("/v1/events//shop%231").json()["event"]["data"] == {"price": 1}


def test_a_batch_of_cloud_events(tenant: Tenant) -> None:
    batch = json.dumps([cloud("1"), cloud("1", source="/other")])
    said = accepted(publish(tenant.publish, batch, "application/cloudevents-batch+json"))
    assert said == (2, 0, ["/shop#1", "/other#1"])


def test_a_cloud_event_has_the_type_that_it_names_if_that_is_declared(tenant: Tenant) -> None:
    publish(tenant.publish, json.dumps(cloud("1")), "application/cloudevents+json")
    declared = tenant.admin.put("/v1/event-types/order", json={"attributes": {"data": {"type": "struct",
        "attributes": {"price": "int"}}}})  # fmt: skip
    assert declared.status_code == 200, declared.text
    publish(tenant.publish, json.dumps(cloud("2")), "application/cloudevents+json")
    items = tenant.subscribe.get("/v1/events").json()["items"]
    assert [each["event_type"] for each in items] == ["order", "event"]


def test_the_type_of_all_events_of_a_request_can_be_given(tenant: Tenant) -> None:
    problem(publish(tenant.publish, "{}", event_type="order"), 404, "not-found")
    tenant.admin.put("/v1/event-types/order", json={"attributes": {"price": "int"}})
    accepted(publish(tenant.publish, '{"price": 1}', event_type="order"))
    assert [each["event_type"] for each in tenant.subscribe.get("/v1/events").json()["items"]] == ["order"]


def test_an_event_without_an_id_is_given_one(tenant: Tenant) -> None:
    _, _, [id] = accepted(publish(tenant.publish, '{"price": 1}'))
    assert tenant.subscribe.get(f"/v1/events/{id}").json()["event"] == {"id": id, "price": 1}


# --- once, and as it came --------------------------------------------------------------------------------------


def test_the_same_id_is_taken_once(tenant: Tenant) -> None:
    accepted(publish(tenant.publish, '{"id": "a", "price": 1}'))
    assert accepted(publish(tenant.publish, '[{"id": "a", "price": 2}, {"id": "b"}, {"id": "b"}]')) == (
        1,
        2,
        ["a", "b", "b"],
    )
    assert texts(tenant) == ["a", "b"]
    assert tenant.subscribe.get("/v1/events/a").json()["event"]["price"] == 1


def test_tenants_do_not_share_ids(served: Running, tenant: Tenant) -> None:
    accepted(publish(tenant.publish, '{"id": "a"}'))
    other = served.tenant()
    problem(other.admin.get("/v1/events/a"), 404, "not-found")
    assert other.admin.get("/v1/events").json()["items"] == []
    assert accepted(publish(other.publish, '{"id": "a"}'))[0] == 1


def test_numbers_keep_all_their_digits(tenant: Tenant) -> None:
    numbers = "[0.12345678901234567890123, 1.50, 123456789012345678901234567890, 1e400, -0.0]"
    accepted(publish(tenant.publish, f'{{"id": "a", "numbers": {numbers}}}'))
    for path in ("/v1/events", "/v1/events/a"):
        assert f'"numbers": {numbers}' in tenant.subscribe.get(path).text


@pytest.mark.parametrize("value", ['"\\ud800"', "1e999", "[" * 300 + "]" * 300, '"\\u0000"'])
def test_whatever_was_accepted_can_be_looked_at(served: Running, tenant: Tenant, value: str) -> None:
    accepted(publish(tenant.publish, f'{{"id": "a", "value": {value}}}'))
    [id] = served.match(tenant.name, "s", "a")
    for path in ("/v1/events", "/v1/events/a", f"/v1/notifications/{id}"):
        answer = tenant.subscribe.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
        assert value in answer.text


def test_events_have_pages(tenant: Tenant) -> None:
    accepted(publish(tenant.publish, json.dumps([{"id": str(number)} for number in range(5)])))
    first = tenant.subscribe.get("/v1/events", params={"limit": 3}).json()
    assert [each["id"] for each in first["items"]] == ["4", "3", "2"]
    second = tenant.subscribe.get("/v1/events", params={"limit": 3, "before": first["next"]}).json()
    assert ([each["id"] for each in second["items"]], second["next"]) == (["1", "0"], None)


# --- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "places"),
    [
        ('[{"id": "a"}, 1, {"id": []}]', [2, 3]),
        ('[{"id": "a"}, ', [1]),
        ("", [1]),
        ("[]", [1]),
        ("null", [1]),
        ('{"a": NaN}', [1]),
        ('{"id": "\\u0000"}', [1]),
        ('{"id": "\\ud800"}', [1]),
        ("[" * 100_000, [1]),
        (b'{"a": "\xff"}', [1]),
        (json.dumps({"id": "x" * 513}), [1]),
    ],
)
def test_nothing_is_taken_if_anything_is_wrong(tenant: Tenant, content: str | bytes, places: list[int]) -> None:
    said = problem(publish(tenant.publish, content), 422, "invalid")
    assert [each["event"] for each in said["problems"]] == places
    assert all(each["message"] for each in said["problems"])
    assert texts(tenant) == []


@pytest.mark.parametrize(
    "changes", [{"specversion": "0.3"}, {"id": ""}, {"source": None}, {"data_base64": "eA=="}]
)
def test_a_cloud_event_is_as_the_standard_says(tenant: Tenant, changes: dict[str, Any]) -> None:
    content = json.dumps([cloud("1"), {**cloud("2"), **changes}])
    said = problem(publish(tenant.publish, content, "application/cloudevents-batch+json"), 422, "invalid")
    assert [each["event"] for each in said["problems"]] == [2]


def test_a_long_event_is_refused_with_its_place(serving: Callable[..., Running]) -> None:
    tenant = serving(event_bytes=50, request_bytes=1_000).tenant()
    content = json.dumps([{"id": "a"}, {"id": "b", "text": "x" * 50}])
    assert [each["event"] for each in problem(publish(tenant.publish, content), 422, "invalid")["problems"]] == [2]
    problem(publish(tenant.publish, "x" * 1_001), 413, "invalid")


@pytest.mark.parametrize("media_type", ["text/plain", "application/xml", "multipart/form-data", ""])
def test_other_media_types_are_refused(tenant: Tenant, media_type: str) -> None:
    said = problem(publish(tenant.publish, "{}", media_type), 415, "invalid")
    assert "application/x-ndjson" in said["detail"]


# --- too much ------------------------------------------------------------------------------------------------


def test_publishing_waits_when_too_many_events_do(serving: Callable[..., Running]) -> None:
    served = serving(most_waiting=1)
    tenant = served.tenant()
    accepted(publish(tenant.publish, '[{"id": "a"}, {"id": "b"}]'))
    served.service._backlog = (0.0, 0)  # as if a moment had passed
    answer = publish(tenant.publish, '{"id": "c"}')
    problem(answer, 503, "unavailable")
    assert int(answer.headers["retry-after"]) >= 1
    served.service.inbox.begin(served.service.inbox.end())
    served.service.inbox.finish()
    served.service._backlog = (0.0, 0)
    accepted(publish(tenant.publish, '{"id": "c"}'))


def test_a_tenant_publishes_no_faster_than_it_may(served: Running) -> None:
    tenant = served.tenant(TenantRights(events_per_second=0.01))
    accepted(publish(tenant.publish, '[{"id": "a"}, {"id": "b"}]'))
    answer = publish(tenant.publish, '{"id": "c"}')
    problem(answer, 429, "rate")
    assert int(answer.headers["retry-after"]) > 1
    assert texts(tenant) == ["a", "b"]
    accepted(publish(served.tenant().publish, '{"id": "c"}'))


# --- nobody in particular --------------------------------------------------------------------------------------


def test_anybody_may_publish_where_the_setting_says_so_and_nothing_else(
    serving: Callable[..., Running], served: Running
) -> None:
    problem(publish(served.client(), '{"id": "a"}'), 401, "unauthorized")
    opened = serving(anonymous_publish=True)
    nobody = opened.client()
    accepted(publish(nobody, '{"id": "a"}'))
    found = opened.client(opened.token("subscribe")).get("/v1/events").json()["items"]
    assert [each["id"] for each in found] == ["a"]
    for path in ("/v1/events", "/v1/subscriptions", "/v1/tokens", "/v1/advertisements"):
        problem(nobody.get(path), 401, "unauthorized")
    problem(publish(opened.client("tamis_wrong_token"), '{"id": "b"}'), 401, "unauthorized")


# --- misfits -------------------------------------------------------------------------------------------------


def test_an_event_that_does_not_fit_its_type_is_taken(tenant: Tenant) -> None:
    tenant.admin.put("/v1/event-types/order", json={"attributes": {"price": "int"}}).raise_for_status()
    assert accepted(publish(tenant.publish, '{"id": "a", "price": "dear"}', event_type="order")) == (1, 0, ["a"])


def test_an_event_that_does_not_fit_its_type_may_be_refused(tmp_path: Path) -> None:
    with running(tmp_path, on_misfit="refuse") as service:
        tenant = service.tenant()
        tenant.admin.put("/v1/event-types/order", json={"attributes": {"price": "int"}}).raise_for_status()
        events = '[{"id": "a", "price": 1}, {"id": "b", "price": "dear"}]'
        answer = publish(tenant.publish, events, event_type="order")
        said = problem(answer, 422, "invalid")
        assert "event 2: price expected int, found 'dear'" in said["detail"]
        assert texts(tenant) == []
        assert accepted(publish(tenant.publish, events, event_type="event"))[0] == 2, "of no declared type"
