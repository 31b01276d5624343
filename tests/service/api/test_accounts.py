"""Tokens and tenants over HTTP."""

from __future__ import annotations

import httpx2

from tests.service.api.running import Running, Tenant, problem


def test_a_token_is_shown_once(tenant: Tenant) -> None:
    made = tenant.admin.post("/v1/tokens", json={"role": "publish", "label": "shop"})
    assert made.status_code == 201
    [listed] = [each for each in tenant.admin.get("/v1/tokens").json()["items"] if each["label"] == "shop"]
    assert (listed["id"], listed["roles"], listed["token"]) == (made.json()["id"], ["publish"], None)
    assert made.json()["token"].startswith("tamis_")


def test_tokens_for_others_are_made_by_the_operator_only(tenant: Tenant, operator: httpx2.Client) -> None:
    problem(tenant.admin.post("/v1/tokens", json={"role": "admin", "tenant": "default"}), 403, "forbidden")
    made = operator.post("/v1/tokens", json={"role": "subscribe", "tenant": tenant.name})
    assert made.json()["tenant"] == tenant.name
    problem(operator.delete(f"/v1/tokens/{made.json()['id']}"), 404, "not-found")
    assert tenant.admin.delete(f"/v1/tokens/{made.json()['id']}").status_code == 204


def test_the_rights_of_a_tenant_are_listed_as_they_were_set(served: Running, operator: httpx2.Client) -> None:
    answer = operator.put("/v1/tenants/new-one", json={"subscriptions": 5, "operators": ["geo"]})
    assert answer.json()["rights"] | {"subscriptions": 5, "operators": ["geo"]} == answer.json()["rights"]
    assert answer.json() in operator.get("/v1/tenants").json()["items"]
    assert "event" in served.service.subscriptions.event_types("new-one"), "its events have a place at once"
