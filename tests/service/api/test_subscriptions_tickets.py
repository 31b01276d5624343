"""Tickets: told once, kept as salted hashes, needed for every change but those of administrators."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from tests.service.api.running import Running, Tenant, problem
from tests.service.api.test_subscriptions import expires, subscribe


def test_a_ticket_cannot_be_guessed(tenant: Tenant) -> None:
    tickets = {subscribe(tenant.subscribe)["ticket"] for _ in range(5)}
    assert len(tickets) == 5
    assert min(len(ticket) for ticket in tickets) * 6 >= 256  # bits of base 64


def test_only_a_salted_hash_of_it_is_kept(served: Running, tenant: Tenant) -> None:
    ticket = subscribe(tenant.subscribe, id="s")["ticket"]
    query = text("SELECT salt, hash FROM tamis_tickets WHERE subscription_id = :id")
    with served.service.accounts.database.reading() as connection:
        [(salt, hash)] = connection.execute(query, {"id": f"{tenant.name}/s"}).all()
    assert len(salt) >= 16
    assert hash == hashlib.sha256(salt + ticket.encode()).digest()
    for file in served.service.settings.folder.rglob("*"):
        assert not file.is_file() or ticket.encode() not in file.read_bytes(), file


def test_it_is_told_nowhere_else(tenant: Tenant) -> None:
    ticket = subscribe(tenant.subscribe, id="s")["ticket"]
    for path in ("", "/s", "/s/history", "/export"):
        assert ticket not in tenant.admin.get(f"/v1/subscriptions{path}").text


CHANGES: list[tuple[str, str, dict[str, Any] | None]] = [
    ("PATCH", "", {"priority": 1}),
    ("POST", "/renew", None),
    ("POST", "/pause", None),
    ("POST", "/resume", None),
    ("DELETE", "", None),
]


@pytest.mark.parametrize(("method", "path", "body"), CHANGES)
def test_every_change_needs_the_ticket(tenant: Tenant, method: str, path: str, body: Any) -> None:
    made = subscribe(tenant.subscribe, id="s")
    other = subscribe(tenant.subscribe)["ticket"]
    options = {} if body is None else {"json": body}
    for headers in ({}, {"Tamis-Ticket": ""}, {"Tamis-Ticket": other}, {"Tamis-Ticket": made["ticket"] + "x"}):
        answer = tenant.subscribe.request(method, f"/v1/subscriptions/s{path}", headers=headers, **options)
        problem(answer, 403, "forbidden")
    assert tenant.subscribe.get("/v1/subscriptions/s").json() == made["subscription"]
    headers = {"Tamis-Ticket": made["ticket"]}
    answer = tenant.subscribe.request(method, f"/v1/subscriptions/s{path}", headers=headers, **options)
    assert answer.is_success, answer.text


def test_an_administrator_needs_no_ticket_and_what_it_does_is_on_record(tenant: Tenant) -> None:
    subscribe(tenant.subscribe, id="s")
    path = "/v1/subscriptions/s"
    assert tenant.admin.post(f"{path}/pause").json()["state"] == "paused"
    assert tenant.admin.post(f"{path}/pause").json()["state"] == "paused"
    assert tenant.admin.post(f"{path}/resume").json()["state"] == "active"
    assert tenant.admin.patch(path, json={"condition": "price = 7"}).json()["revision"] == 2
    assert tenant.admin.patch(path, json={"label": "mine"}).json()["label"] == "mine"
    renewed = tenant.admin.post(f"{path}/renew", json={"valid_for": 3 * 86_400}).json()
    assert expires(renewed) > datetime.now(UTC) + timedelta(days=2)
    assert tenant.admin.delete(path).status_code == 204
    kinds = [each["kind"] for each in tenant.admin.get(f"{path}/history").json()["items"]]
    assert kinds == ["add", "pause", "resume", "replace", "edit", "renew", "remove"]
    for method, more, body in CHANGES:
        problem(tenant.admin.request(method, f"{path}{more}", json=body), 404, "not-found")


def test_the_history_says_who_made_each_change(served: Running, tenant: Tenant) -> None:
    accounts, path = served.service.accounts, "/v1/subscriptions/s"
    tokens = {
        role: accounts.new_token(tenant.name, [role], label)
        for role, label in (("subscribe", "Ann's"), ("admin", ""))
    }
    ann, boss = (served.client(text) for _, text in tokens.values())
    by_ann, by_boss = f"token {tokens['subscribe'][0].id}: Ann's", f"token {tokens['admin'][0].id}"
    boss.put("/v1/event-types/order", json={"attributes": {"price": "int"}})
    given = {"id": "s", "condition": "price = 1", "event_type": "order"}
    headers = {"Tamis-Ticket": ann.post("/v1/subscriptions", json=given).json()["ticket"]}
    ann.post(f"{path}/renew", headers=headers)
    boss.post(f"{path}/pause")
    boss.post(f"{path}/resume", headers=headers)
    boss.post(f"{path}/pause", headers={"Tamis-Ticket": "guessed"})
    boss.put("/v1/event-types/order", json={"attributes": {"cost": "int"}})
    line = json.dumps({**given, "event_type": "event"})
    boss.post("/v1/subscriptions/import", content=line, params={"replace": True})
    ann.delete(path, headers=headers)
    without = f"{by_boss}, admin without a ticket"
    assert [(each["kind"], each["actor"]) for each in ann.get(f"{path}/history").json()["items"]] == [
        ("add", by_ann),
        ("renew", by_ann),
        ("pause", without),
        ("resume", by_boss),
        ("pause", without),
        ("refuse", by_boss),
        ("replace", without),
        ("remove", by_ann),
    ]


def test_an_administrator_of_another_tenant_finds_nothing(served: Running, tenant: Tenant) -> None:
    made = subscribe(tenant.subscribe, id="s")
    others = [served.tenant().admin, served.client(served.token("admin"))]
    for other in others:
        for method, more, body in CHANGES:
            problem(other.request(method, f"/v1/subscriptions/s{more}", json=body), 404, "not-found")
    assert tenant.subscribe.get("/v1/subscriptions/s").json() == made["subscription"]


def test_a_ticket_ends_with_its_subscription(tenant: Tenant) -> None:
    headers = {"Tamis-Ticket": subscribe(tenant.subscribe, id="s")["ticket"]}
    assert tenant.subscribe.delete("/v1/subscriptions/s", headers=headers).status_code == 204
    problem(tenant.subscribe.delete("/v1/subscriptions/s", headers=headers), 404, "not-found")
    subscribe(tenant.subscribe, id="s")
    problem(tenant.subscribe.delete("/v1/subscriptions/s", headers=headers), 403, "forbidden")


# --- what changes do -----------------------------------------------------------------------------------------


def test_renewing_lets_it_last_a_day_more_or_as_long_as_is_said(tenant: Tenant) -> None:
    headers = {"Tamis-Ticket": subscribe(tenant.subscribe, id="s", valid_for=60)["ticket"]}
    path = "/v1/subscriptions/s/renew"
    before = datetime.now(UTC)
    day = tenant.subscribe.post(path, headers=headers).json()
    assert expires(day) >= before + timedelta(days=1)
    hour = tenant.subscribe.post(path, headers=headers, json={"valid_for": 3600}).json()
    assert expires(hour) <= datetime.now(UTC) + timedelta(hours=1)
    assert hour["revision"] == 1
    problem(tenant.subscribe.post(path, headers=headers, json={"valid_for": 1e12}), 422, "invalid")
    problem(tenant.subscribe.post(path, headers=headers, json={"expires": "2020-01-01T00:00:00Z"}), 422, "invalid")


@pytest.mark.parametrize("id", ["s", "a b?#%é"])
def test_subscribing_says_when_it_ends_and_how_to_renew_it(tenant: Tenant, id: str) -> None:
    made = subscribe(tenant.subscribe, id=id, valid_for=60)
    how = made["renewal"]
    assert (how["before"], how["method"]) == (made["subscription"]["expires"], "POST")
    answer = tenant.subscribe.request(how["method"], how["path"], headers={how["header"]: made["ticket"]})
    assert expires(answer.json()) > datetime.fromisoformat(how["before"])


def test_a_change_changes_what_it_names(tenant: Tenant) -> None:
    made = subscribe(tenant.subscribe, id="s", label="old", priority=5)
    headers, path = {"Tamis-Ticket": made["ticket"]}, "/v1/subscriptions/s"
    changed = tenant.subscribe.patch(path, json={"condition": "price < 5"}, headers=headers).json()
    assert changed == made["subscription"] | {
        "condition": "price < 5",
        "revision": 2,
        "changed": changed["changed"],
        "warnings": [],
    }
    changed = tenant.subscribe.patch(path, json={"label": None, "priority": -1}, headers=headers).json()
    assert (changed["label"], changed["priority"], changed["revision"]) == (None, -1, 2)


@pytest.mark.parametrize("field", ["condition", "event_type", "priority"])
def test_what_must_be_there_cannot_be_taken_away(tenant: Tenant, field: str) -> None:
    made = subscribe(tenant.subscribe, id="s")
    headers = {"Tamis-Ticket": made["ticket"]}
    problem(tenant.subscribe.patch("/v1/subscriptions/s", json={field: None}, headers=headers), 422, "invalid")
    assert tenant.subscribe.get("/v1/subscriptions/s").json() == made["subscription"]


def test_a_refused_change_changes_nothing(tenant: Tenant) -> None:
    made = subscribe(tenant.subscribe, id="s")
    headers, path = {"Tamis-Ticket": made["ticket"]}, "/v1/subscriptions/s"
    said = problem(tenant.subscribe.patch(path, json={"condition": "price <"}, headers=headers), 422, "condition")
    assert said["problems"][0]["line"] == 1
    problem(tenant.subscribe.patch(path, json={"id": "t"}, headers=headers), 422, "invalid")
    problem(tenant.subscribe.patch(path, json={"event_type": "unheard"}, headers=headers), 404, "not-found")
    assert tenant.subscribe.get(path).json() == made["subscription"]
