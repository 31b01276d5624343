"""Tickets: told once, kept as salted hashes, needed for every change."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.service.api.running import Running, Tenant, problem
from tests.service.api.test_subscribing import expires, subscribe


def test_a_ticket_cannot_be_guessed(tenant: Tenant) -> None:
    tickets = {subscribe(tenant.subscribe)["ticket"] for _ in range(5)}
    assert len(tickets) == 5
    assert min(len(ticket) for ticket in tickets) * 6 >= 256  # bits of base 64


def test_only_a_salted_hash_of_it_is_kept(served: Running, tenant: Tenant) -> None:
    ticket = subscribe(tenant.subscribe, id="s")["ticket"]
    with closing(sqlite3.connect(Path(served.service.settings.data) / "store.db")) as database:
        query = "SELECT salt, hash FROM tamis_tickets WHERE subscription_id = ?"
        rows = database.execute(query, (f"{tenant.name}/s",)).fetchall()
    [(salt, hash)] = rows
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


def test_an_administrator_may_pause_without_it_and_nothing_else(tenant: Tenant) -> None:
    subscribe(tenant.subscribe, id="s")
    path = "/v1/subscriptions/s"
    assert tenant.admin.post(f"{path}/pause").json()["state"] == "paused"
    assert tenant.admin.post(f"{path}/pause").json()["state"] == "paused"
    assert tenant.admin.post(f"{path}/resume").json()["state"] == "active"
    problem(tenant.admin.delete(path), 403, "forbidden")
    problem(tenant.admin.patch(path, json={"priority": 1}), 403, "forbidden")
    problem(tenant.admin.post(f"{path}/renew"), 403, "forbidden")


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


def test_a_change_changes_what_it_names(tenant: Tenant) -> None:
    made = subscribe(tenant.subscribe, id="s", label="old", priority=5)
    headers, path = {"Tamis-Ticket": made["ticket"]}, "/v1/subscriptions/s"
    changed = tenant.subscribe.patch(path, json={"condition": "price < 5"}, headers=headers).json()
    assert changed == made["subscription"] | {
        "condition": "price < 5",
        "revision": 2,
        "changed": changed["changed"],
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
