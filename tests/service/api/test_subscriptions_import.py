"""Many subscriptions at once: an export is what an import takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import httpx2

from tamis.service.accounts import TenantRights
from tests.service.api.running import Running, Tenant, problem
from tests.service.api.test_subscriptions import subscribe

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
    subscribe(tenant.subscribe, id="c", valid_from="2026-01-01T00:00:00Z")
    assert tenant.admin.post("/v1/subscriptions/b/pause").json()["state"] == "paused"
    lines = tenant.subscribe.get("/v1/subscriptions/export").text
    other = served.tenant()
    became = imported(other.subscribe, [lines])
    assert (counts(became), became["refusals"]) == ((3, 0, 0, 0), [])
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
            {"id": "hooked", "condition": "a = 1", "delivery": {"kind": "webhook", "url": "http://127.0.0.1/"}},
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
    tenant = served.tenant(TenantRights(subscriptions=2))
    lines = [{"id": id, "condition": "a = 1"} for id in ("a", "b")]
    imported(tenant.subscribe, lines)
    assert counts(imported(tenant.admin, lines, replace="true"))[0] == 0
    answer = tenant.subscribe.post(
        "/v1/subscriptions/import", content='{"id": "c", "condition": "a = 1"}', headers=NDJSON
    )
    problem(answer, 403, "quota")
    assert [each["id"] for each in exported(tenant.subscribe)] == ["a", "b"]


HOOK = {"kind": "webhook", "url": "http://127.0.0.1:9/hook"}


def deliveries(client: httpx2.Client) -> dict[str, str | None]:
    """The receiver of each subscription."""
    return {each["id"]: each["delivery"].get("url") for each in exported(client)}


def test_webhooks_are_exported_and_imported(serving: Callable[..., Running]) -> None:
    served = serving(webhook_networks=("127.0.0.1/32",))
    tenant, other = served.tenant(), served.tenant()
    secret = subscribe(tenant.subscribe, id="a", delivery=HOOK)["secret"]
    subscribe(tenant.subscribe, id="b")
    lines = [{**each, "refusal": None} for each in exported(tenant.subscribe)]
    became = imported(other.subscribe, lines)
    assert became["refusals"] == []
    assert became["secrets"].keys() == {"a"} and became["secrets"]["a"] != secret
    assert deliveries(other.subscribe) == deliveries(tenant.subscribe) == {"a": HOOK["url"], "b": None}


def test_a_webhook_of_a_refused_line_is_not_made(serving: Callable[..., Running]) -> None:
    served = serving(webhook_networks=("127.0.0.1/32",))
    tenant = served.tenant()
    subscribe(tenant.subscribe, id="there", delivery=HOOK)
    hook = {"delivery": {**HOOK, "url": "http://127.0.0.1:9/other"}}
    became = imported(
        tenant.subscribe,
        [{"id": "bad", "condition": "a =", **hook}, {"id": "there", "condition": "a = 1", **hook}],
    )
    assert ({each["id"] for each in became["refusals"]}, became["secrets"]) == ({"bad", "there"}, {})
    assert deliveries(tenant.subscribe) == {"there": HOOK["url"]}
    assert [each.subscription_id for each in served.service.webhooks.list()] == [f"{tenant.name}/there"]


def test_replacing_changes_how_a_subscription_is_delivered_and_its_state(serving: Callable[..., Running]) -> None:
    tenant = serving(webhook_networks=("127.0.0.1/32",)).tenant()
    for id in ("kept", "pulled", "moved", "new"):
        subscribe(tenant.subscribe, id=id, delivery={"kind": "pull"} if id == "new" else HOOK)
    moved = {"kind": "webhook", "url": "http://127.0.0.1:9/other"}
    wanted = {"kept": HOOK, "pulled": {"kind": "pull"}, "moved": moved, "new": HOOK}
    lines = [
        {"id": id, "condition": "price < 300", "delivery": delivery, "state": "paused"}
        for id, delivery in wanted.items()
    ]
    became = imported(tenant.admin, lines, replace="true")
    assert became["secrets"].keys() == {"moved", "new"}
    assert deliveries(tenant.subscribe) == {
        "kept": HOOK["url"],
        "pulled": None,
        "moved": moved["url"],
        "new": HOOK["url"],
    }
    assert {each["state"] for each in exported(tenant.subscribe)} == {"paused"}
    unsaid = imported(tenant.admin, [{"id": "kept", "condition": "price < 300"}], replace="true")
    assert unsaid["refusals"] == []
    assert deliveries(tenant.subscribe)["kept"] == HOOK["url"]


def test_an_import_says_how_many_went_to_which_type(tenant: Tenant) -> None:
    for name in ("camera", "lens"):
        described = {"attributes": {"price": "int"}}
        assert tenant.admin.put(f"/v1/event-types/{name}", json=described).is_success
    became = imported(
        tenant.subscribe,
        [
            {"id": "a", "condition": "price = 1", "event_type": "camera"},
            {"id": "b", "condition": "prcie = 1", "event_type": "camera"},
            {"id": "c", "condition": "price = 2", "type": "camera"},
            {"id": "d", "condition": "price = 2"},
        ],
    )
    assert became["event_types"] == {"camera": 2, "event": 1}
    assert became["warnings"] == ["line 3: 'type' is called 'event_type' now; rename it"]
    assert [each["id"] for each in became["refusals"]] == ["b"]


def test_fields_that_no_subscription_has_are_refused(tenant: Tenant) -> None:
    became = imported(
        tenant.subscribe,
        [
            {"id": "a", "condition": "a = 1", "prioriti": 3},
            {"id": "b", "condition": "a = 1", "delivery": {"kind": "pull", "adress": "x"}},
            {"id": "c", "condition": "a = 1", "zzz": 3},
        ],
    )
    assert [(each["id"], each["detail"].partition(": ")[2]) for each in became["refusals"][:1]] == [
        ("a", "there is no field 'prioriti'; did you mean 'priority'?")
    ]
    assert counts(became) == (0, 0, 0, 0)
    assert len(became["refusals"]) == 3
