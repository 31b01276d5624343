"""Many subscriptions at once: an export is what an import takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import httpx2

from tamis.service.accounts import Rights
from tests.service.api.running import Running, Tenant, problem
from tests.service.api.test_subscribing import subscribe

NDJSON = {"Content-Type": "application/x-ndjson"}


def imported(client: httpx2.Client, lines: Iterable[Any], **params: str) -> dict[str, Any]:
    content = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    answer = client.post("/v1/subscriptions/import", content=content, headers=NDJSON, params=params)
    assert answer.status_code == 200, answer.text
    became: dict[str, Any] = answer.json()
    return became


def exported(client: httpx2.Client) -> list[dict[str, Any]]:
    answer = client.get("/v1/subscriptions/export")
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in answer.text.split("\n") if line]


def counts(became: dict[str, Any]) -> tuple[int, ...]:
    return tuple(became[name] for name in ("added", "replaced", "edited", "unchanged"))


def test_what_was_exported_can_be_imported_elsewhere(served: Running, tenant: Tenant) -> None:
    subscribe(tenant.subscribe, "name = 'Zoë\n\u2028'", id="a", label="ü", priority=2)
    subscribe(tenant.subscribe, id="b", valid_for=90)
    lines = tenant.subscribe.get("/v1/subscriptions/export").text
    other = served.tenant()
    became = imported(other.subscribe, [lines])
    assert (counts(became), became["refusals"]) == ((2, 0, 0, 0), [])
    kept = ("id", "condition", "event_type", "label", "priority", "valid_from", "expires", "state")
    mine, theirs = exported(tenant.subscribe), exported(other.subscribe)
    assert [[each[name] for name in kept] for each in mine] == [[each[name] for name in kept] for each in theirs]


def test_more_than_a_page_is_exported(tenant: Tenant) -> None:
    ids = [f"s{number:04}" for number in range(1_001)]
    imported(tenant.subscribe, [{"id": id, "condition": "a = 1"} for id in ids])
    assert [each["id"] for each in exported(tenant.subscribe)] == ids


def test_each_new_one_has_a_ticket(tenant: Tenant) -> None:
    became = imported(tenant.subscribe, [{"id": "a", "condition": "a = 1"}, {"condition": "a = 2"}])
    assert len(became["tickets"]) == 2
    headers = {"Tamis-Ticket": became["tickets"]["a"]}
    assert tenant.subscribe.delete("/v1/subscriptions/a", headers=headers).status_code == 204


def test_what_is_refused_comes_back_and_the_rest_is_taken(tenant: Tenant) -> None:
    subscribe(tenant.subscribe, id="there")
    became = imported(
        tenant.subscribe,
        [
            {"id": "good", "condition": "a = 1"},
            {"id": "bad", "condition": "a ="},
            "",
            "{",
            "[]",
            {"id": "a/b", "condition": "a = 1"},
            {"id": "there", "condition": "a = 2"},
            {"id": "far", "condition": "a = 1", "expires": "2999-01-01T00:00:00Z"},
            {"id": "hooked", "condition": "a = 1", "delivery": {"kind": "webhook", "url": "https://example.com"}},
        ],
    )
    assert counts(became) == (1, 0, 0, 0)
    refused = {each["id"]: each for each in became["refusals"]}
    assert refused.keys() == {"bad", "line 4", "line 5", "a/b", "there", "far", "hooked"}
    assert refused["bad"]["problems"][0]["line"] == 1
    assert tenant.name not in json.dumps(became["refusals"])


def test_changing_what_is_there_is_for_administrators_since_no_ticket_is_shown(tenant: Tenant) -> None:
    before = subscribe(tenant.subscribe, id="a")
    line = [{"id": "a", "condition": "b = 2"}]
    answer = tenant.subscribe.post(
        "/v1/subscriptions/import", content=json.dumps(line[0]), headers=NDJSON, params={"replace": "true"}
    )
    problem(answer, 403, "forbidden")
    assert tenant.subscribe.get("/v1/subscriptions/a").json() == before["subscription"]
    became = imported(tenant.admin, line, replace="true")
    assert (counts(became), became["tickets"]) == ((0, 1, 0, 0), {})
    headers = {"Tamis-Ticket": before["ticket"]}
    assert tenant.subscribe.post("/v1/subscriptions/a/renew", headers=headers).status_code == 200


def test_an_import_keeps_to_the_quota_and_counts_only_what_is_new(served: Running) -> None:
    tenant = served.tenant(Rights(subscriptions=2))
    lines = [{"id": id, "condition": "a = 1"} for id in ("a", "b")]
    imported(tenant.subscribe, lines)
    assert counts(imported(tenant.admin, lines, replace="true"))[0] == 0
    answer = tenant.subscribe.post(
        "/v1/subscriptions/import", content='{"id": "c", "condition": "a = 1"}', headers=NDJSON
    )
    problem(answer, 403, "quota")
    assert [each["id"] for each in exported(tenant.subscribe)] == ["a", "b"]


def test_an_export_says_how_each_is_delivered(serving: Callable[..., Running]) -> None:
    served = serving(webhook_networks=("127.0.0.1/32",))
    tenant, delivery = served.tenant(), {"kind": "webhook", "url": "http://127.0.0.1:9/hook"}
    subscribe(tenant.subscribe, id="a", delivery=delivery)
    [line] = exported(tenant.subscribe)
    assert line["delivery"] | delivery == line["delivery"]
    [refusal] = imported(served.tenant().subscribe, [line])["refusals"]
    assert "pull only" in refusal["detail"]
