"""Subscribing: what is taken, what is refused and how, and what it looks like afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from tamis.operators import Operator, install, uninstall
from tamis.service.accounts import TenantRights
from tamis.values.types import BIGINT
from tests.service.api.running import Running, Tenant, problem

DAY = timedelta(days=1)


def subscribe(client: httpx2.Client, condition: str = "price < 300", **fields: Any) -> dict[str, Any]:
    answer = client.post("/v1/subscriptions", json={"condition": condition, **fields})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def expires(subscription: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(subscription["expires"])


# --- one -----------------------------------------------------------------------------------------------------


def test_a_subscription_has_what_was_asked_for(tenant: Tenant) -> None:
    fields: dict[str, Any] = {"id": "cheap", "label": "for ann", "priority": 3}
    made = subscribe(tenant.subscribe, **fields)["subscription"]
    assert {name: made[name] for name in fields} == fields
    assert (made["condition"], made["event_type"], made["state"]) == ("price < 300", "event", "active")
    assert (made["revision"], made["refusal"], made["delivery"]["kind"]) == (1, None, "pull")
    assert tenant.subscribe.get("/v1/subscriptions/cheap").json() == made


def test_the_event_type_may_be_called_type_with_a_warning(tenant: Tenant) -> None:
    for name in ("camera", "lens"):
        tenant.admin.put(f"/v1/event-types/{name}", json={"attributes": {"price": "int"}})
    made = subscribe(tenant.subscribe, id="a", type="camera")
    assert made["subscription"]["event_type"] == "camera"
    assert [(each["code"], each["message"]) for each in made["warnings"]] == [
        ("renamed", "'type' is called 'event_type' now; rename it")
    ]
    changed = tenant.admin.patch("/v1/subscriptions/a", json={"type": "lens"}).json()
    assert (changed["event_type"], [each["code"] for each in changed["warnings"]]) == ("lens", ["renamed"])
    assert tenant.admin.patch("/v1/subscriptions/a", json={"event_type": "camera"}).json()["warnings"] == []
    both = {"condition": "true", "type": "lens", "event_type": "camera"}
    said = problem(tenant.subscribe.post("/v1/subscriptions", json=both), 422, "invalid")
    assert "give one of them" in said["detail"]


def test_without_events_there_is_nothing_to_warn_of(tenant: Tenant) -> None:
    assert subscribe(tenant.subscribe, "brnd = 'Nikon'")["warnings"] == []


def test_a_misspelt_attribute_is_warned_of_as_lint_does(tenant: Tenant) -> None:
    tenant.publish.post("/v1/events", json=[{"brand": "Nikon"}, {"price": 3}])
    given = {"condition": "price < 5 AND brnd = 'Nikon'"}
    linted = tenant.subscribe.post("/v1/conditions/lint", json=given).json()["findings"]
    made = subscribe(tenant.subscribe, given["condition"], id="s")
    assert made["warnings"] == linted
    assert linted[0]["message"] == "none of the last 2 events has brnd"
    assert linted[0]["hint"] == "did you mean brand?"
    changed = tenant.admin.patch("/v1/subscriptions/s", json={"condition": "pirce < 5"}).json()
    assert [each["code"] for each in changed["warnings"]] == ["unseen"]
    assert tenant.admin.patch("/v1/subscriptions/s", json={"condition": "price < 5"}).json()["warnings"] == []


def test_one_without_an_id_is_given_one(tenant: Tenant) -> None:
    first, second = (subscribe(tenant.subscribe)["subscription"]["id"] for _ in range(2))
    assert first and second and first != second


@pytest.mark.parametrize("id", ["a b", "ä€😀", "%2F", "a?b#c", "x" * 200])
def test_an_id_may_have_any_character_but_a_slash(tenant: Tenant, id: str) -> None:
    made = subscribe(tenant.subscribe, id=id)
    path = httpx2.URL(str(tenant.subscribe.base_url)).copy_with(raw_path=_path("/v1/subscriptions/", id))
    assert tenant.subscribe.get(path).json() == made["subscription"]


def _path(folder: str, id: str) -> bytes:
    from urllib.parse import quote

    return f"{folder}{quote(id, safe='')}".encode()


@pytest.mark.parametrize("id", ["", "a/b", "x" * 201, "a\0b", ".", "..", "export"])
def test_an_id_that_no_address_can_hold_is_refused(tenant: Tenant, id: str) -> None:
    problem(tenant.subscribe.post("/v1/subscriptions", json={"id": id, "condition": "a = 1"}), 422, "invalid")


def test_an_id_that_is_taken_is_a_conflict(tenant: Tenant) -> None:
    subscribe(tenant.subscribe, id="mine")
    said = problem(
        tenant.subscribe.post("/v1/subscriptions", json={"id": "mine", "condition": "a = 1"}), 409, "conflict"
    )
    assert "'mine'" in said["detail"]
    assert tenant.name not in said["detail"]


def test_tenants_may_use_the_same_id(served: Running, tenant: Tenant) -> None:
    subscribe(tenant.subscribe, id="mine")
    subscribe(served.tenant().subscribe, id="mine")


def test_everything_wrong_with_a_condition_is_said_with_its_place(tenant: Tenant) -> None:
    tenant.admin.put("/v1/event-types/order", json={"attributes": {"price": "int"}})
    given = {"condition": "price = 'x'\n AND colour = 1", "event_type": "order"}
    said = problem(tenant.subscribe.post("/v1/subscriptions", json=given), 422, "condition")
    assert [(each["line"], each["column"]) for each in said["problems"]] == [(1, 9), (2, 6)]
    first = said["problems"][0]
    assert given["condition"][first["start"] : first["end"]] == "'x'"
    assert all(each["message"] for each in said["problems"])
    assert tenant.name not in json.dumps(said)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"condition": 1}, "condition"),
        ({}, "condition"),
        ({"condition": "a = 1", "colour": "red"}, "colour"),
        ({"condition": "a = 1", "priority": 2**31}, "priority"),
        ({"condition": "a = 1", "valid_for": 0}, "valid_for"),
        ({"condition": "a = 1", "valid_for": float("inf")}, "valid_for"),
        ({"condition": "a = 1", "valid_for": float("nan")}, "valid_for"),
        ({"condition": "a = 1", "expires": "tomorrow"}, "expires"),
        ({"condition": "a = 1", "delivery": {"kind": "pigeon"}}, "delivery.kind"),
    ],
)
def test_a_field_that_is_not_what_it_should_be_is_named(
    tenant: Tenant, fields: dict[str, Any], field: str
) -> None:
    content = json.dumps(fields)
    headers = {"Content-Type": "application/json"}
    said = problem(tenant.subscribe.post("/v1/subscriptions", content=content, headers=headers), 422, "invalid")
    assert all(f"{each['field']}.".startswith(f"body.{field}.") for each in said["problems"])


@pytest.mark.parametrize("name", ["\ud800", "\0", "<b>"])
def test_a_field_may_have_any_name_to_be_refused_by(tenant: Tenant, name: str) -> None:
    content, headers = json.dumps({"condition": "a = 1", name: 1}), {"Content-Type": "application/json"}
    problem(tenant.subscribe.post("/v1/subscriptions", content=content, headers=headers), 422, "invalid")


@pytest.mark.parametrize(
    "fields",
    [
        {"label": "a\0b"},
        {"expires": "2020-01-01T00:00:00Z"},
        {"expires": "0001-01-01T00:00:00+23:00"},
        {"expires": "9999-12-31T23:59:59-23:00"},
        {"valid_from": "9999-12-31T23:59:59-23:00"},
        {"event_type": "a\0b"},
        {"delivery": {"kind": "webhook"}},
        {"delivery": {"kind": "webhook", "url": "ftp://example.com"}},
        {"delivery": {"kind": "webhook", "url": "http://127.0.0.1/"}},
    ],
)
def test_what_cannot_be_is_refused(tenant: Tenant, fields: dict[str, Any]) -> None:
    answer = tenant.subscribe.post("/v1/subscriptions", json={"condition": "a = 1", **fields})
    assert tenant.name not in problem(answer, 422, "invalid")["detail"]


def test_an_event_type_that_is_not_declared_is_not_found(tenant: Tenant) -> None:
    given = {"condition": "a = 1", "event_type": "unheard"}
    said = problem(tenant.subscribe.post("/v1/subscriptions", json=given), 404, "not-found")
    assert "'unheard'" in said["detail"]


# --- how long ------------------------------------------------------------------------------------------------


def test_a_subscription_lasts_a_day_if_nothing_is_said(tenant: Tenant) -> None:
    before = datetime.now(UTC)
    made = subscribe(tenant.subscribe)["subscription"]
    assert before + DAY <= expires(made) <= datetime.now(UTC) + DAY


def test_it_lasts_as_long_as_is_said(tenant: Tenant) -> None:
    until = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=3)
    assert expires(subscribe(tenant.subscribe, expires=until.isoformat())["subscription"]) == until
    naive = until.replace(tzinfo=None).isoformat()
    assert expires(subscribe(tenant.subscribe, expires=naive)["subscription"]) == until
    made = subscribe(tenant.subscribe, valid_for=60)["subscription"]
    assert expires(made) - datetime.fromisoformat(made["created"]) <= timedelta(seconds=60)


def test_one_that_begins_later_lasts_from_then_on(tenant: Tenant) -> None:
    begin = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=3)
    made = subscribe(tenant.subscribe, valid_from=begin.isoformat())["subscription"]
    assert (made["state"], expires(made)) == ("waiting", begin + DAY)


def test_nothing_lasts_longer_than_the_setting_says(serving: Callable[..., Running]) -> None:
    client = serving(longest_validity_seconds=7_200, validity_seconds=3_600).tenant().subscribe
    subscribe(client, valid_for=7_000)
    for fields in ({"valid_for": 7_300}, {"valid_for": 1e300}, {"expires": "2999-01-01T00:00:00Z"}):
        answer = client.post("/v1/subscriptions", json={"condition": "a = 1", **fields})
        assert "7,200 seconds" in problem(answer, 422, "invalid")["detail"]


# --- quota and operators -------------------------------------------------------------------------------------


def test_a_tenant_has_no_more_subscriptions_than_it_may(served: Running) -> None:
    tenant = served.tenant(TenantRights(subscriptions=2))
    first = subscribe(tenant.subscribe, id="a")
    subscribe(tenant.subscribe, id="b")
    said = problem(tenant.subscribe.post("/v1/subscriptions", json={"condition": "a = 1"}), 403, "quota")
    assert "2 subscriptions" in said["detail"]
    gone = tenant.subscribe.delete("/v1/subscriptions/a", headers={"Tamis-Ticket": first["ticket"]})
    assert gone.status_code == 204
    subscribe(tenant.subscribe, id="c")


@pytest.fixture
def doubled() -> Iterator[None]:
    """An operator that the service has loaded."""

    def double(value: int) -> int:
        return 2 * value

    install(Operator("doubled", (BIGINT,), BIGINT, double, batch=False))
    yield
    uninstall("doubled")


@pytest.mark.usefixtures("doubled")
def test_a_condition_calls_only_operators_that_its_tenant_may_use(served: Running) -> None:
    allowed, others = (
        served.tenant(TenantRights(operators=("doubled",))),
        served.tenant(TenantRights(operators=())),
    )
    subscribe(allowed.subscribe, condition="doubled(a) > 3")
    given = {"condition": "doubled(a) > 3"}
    said = problem(others.subscribe.post("/v1/subscriptions", json=given), 422, "condition")
    assert "doubled" in said["detail"]


# --- list, search, history ------------------------------------------------------------------------------------


def test_a_list_has_pages_that_end(tenant: Tenant) -> None:
    ids = [f"s{number}" for number in range(7)]
    for id in ids:
        subscribe(tenant.subscribe, id=id)
    found, after, pages = [], "", 0
    while after is not None:
        page = tenant.subscribe.get("/v1/subscriptions", params={"limit": 3, "after": after}).json()
        found += [each["id"] for each in page["items"]]
        after, pages = page["next"], pages + 1
    assert (found, pages) == (ids, 3)


def test_a_page_that_is_just_full_is_the_last(tenant: Tenant) -> None:
    for id in ("a", "b"):
        subscribe(tenant.subscribe, id=id)
    assert tenant.subscribe.get("/v1/subscriptions", params={"limit": 2}).json()["next"] is None


def test_search_looks_at_id_label_and_condition(tenant: Tenant) -> None:
    subscribe(tenant.subscribe, "price < 300", id="cheap_50%", label="Ann")
    subscribe(tenant.subscribe, "brand = 'Nikon'", id="other", label="Bob")

    def found(**params: str) -> list[str]:
        answer = tenant.subscribe.get("/v1/subscriptions", params=params).json()
        return [each["id"] for each in answer["items"]]

    assert found(search="CHEAP") == ["cheap_50%"]
    assert found(search="ann") == ["cheap_50%"]
    assert found(search="nikon") == ["other"]
    assert found(search="c_eap") == []
    assert found(search="50%") == ["cheap_50%"]
    assert found(search=tenant.name) == []
    assert found(label="Bob") == ["other"]
    assert found(event_type="event") == ["cheap_50%", "other"]
    assert found(event_type="unheard") == []


def test_others_see_nothing_of_it(served: Running, tenant: Tenant) -> None:
    ticket = subscribe(tenant.subscribe, id="mine")["ticket"]
    other = served.tenant()
    assert other.admin.get("/v1/subscriptions").json()["items"] == []
    path, headers = "/v1/subscriptions/mine", {"Tamis-Ticket": ticket}
    for answer in (
        other.admin.get(path),
        other.admin.get(f"{path}/history"),
        other.admin.patch(path, json={}, headers=headers),
        other.admin.post(f"{path}/renew", headers=headers),
        other.admin.post(f"{path}/pause"),
        other.admin.delete(path, headers=headers),
    ):
        problem(answer, 404, "not-found")


def test_history_tells_every_change_the_oldest_first(tenant: Tenant) -> None:
    headers = {"Tamis-Ticket": subscribe(tenant.subscribe, id="s")["ticket"]}
    path = "/v1/subscriptions/s"
    tenant.subscribe.patch(path, json={"condition": "price < 200"}, headers=headers)
    tenant.subscribe.post(f"{path}/renew", json={"valid_for": 90}, headers=headers)
    tenant.subscribe.post(f"{path}/pause", headers=headers)
    tenant.subscribe.post(f"{path}/resume", headers=headers)
    tenant.subscribe.delete(path, headers=headers)
    items = tenant.subscribe.get(f"{path}/history").json()["items"]
    assert [each["kind"] for each in items] == ["add", "replace", "renew", "pause", "resume", "remove"]
    assert [each["revision"] for each in items] == [1, 2, 2, 2, 2, 2]
    assert [each["state"] for each in items[-2:]] == ["active", "removed"]
    problem(tenant.subscribe.get("/v1/subscriptions/never/history"), 404, "not-found")


def test_a_subscription_has_a_subscriber_until_it_stands_alone(tenant: Tenant) -> None:
    made = subscribe(tenant.subscribe, id="mine", subscriber="ann")
    assert made["subscription"]["subscriber"] == "ann"
    path = "/v1/subscriptions/mine"
    assert tenant.subscribe.get(path).json()["subscriber"] == "ann"
    assert [each["id"] for each in tenant.subscribe.get("/v1/subscriptions").json()["items"]] == ["mine"]
    alone = tenant.subscribe.patch(path, json={"subscriber": None}, headers={"Tamis-Ticket": made["ticket"]})
    assert alone.status_code == 200 and alone.json()["subscriber"] is None
    assert alone.json()["revision"] == 1
    back = tenant.subscribe.patch(path, json={"subscriber": "bob"}, headers={"Tamis-Ticket": made["ticket"]})
    assert back.json()["subscriber"] == "bob"
    exported = tenant.subscribe.get("/v1/subscriptions/export").text
    again = tenant.admin.post("/v1/subscriptions/import", params={"replace": True}, content=exported)
    assert (again.json()["unchanged"], again.json()["refusals"]) == (1, [])


@pytest.mark.parametrize("given", [{"id": "@ann"}, {"subscriber": "a/b"}, {"subscriber": ""}])
def test_names_of_subscribers_are_kept_apart_from_ids(tenant: Tenant, given: dict[str, str]) -> None:
    problem(tenant.subscribe.post("/v1/subscriptions", json={"condition": "true", **given}), 422, "invalid")
