"""Tenants against each other: on every route, one that has everything asks for what is another's.

What the other has carries a word that no request has, so that an answer that has it has leaked something.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.service.api.running import Running, Tenant, running
from tests.service.api.test_auth import LINK, MOVED, OPEN, ROUTES, all_routes
from tests.service.api.test_subscriptions import subscribe
from tests.service.webhooks.receiver import after_handshake, answering, receiving, until

WORD = "zanzibar"
SUBSCRIPTION, EVENT, TYPE, ADVERTISEMENT = "their-alarm", "their-event", "their-type", "their-advert"
SUBSCRIBER = "@their-person"
TEXT = {"content-type": "application/x-ndjson"}
HIDDEN = {403, 404}
OWN = {200, 201, 202, 204}


@dataclass(frozen=True)
class Victim:
    """A tenant that has one of everything."""

    tenant: Tenant
    ids: dict[str, str]
    """What each kind of thing is called."""

    def state(self) -> dict[str, Any]:
        """Everything that it sees of its own."""
        paths = [
            *("/v1/subscriptions", f"/v1/subscriptions/{SUBSCRIPTION}/history", "/v1/events", "/v1/event-types"),
            *("/v1/advertisements", "/v1/notifications?after=0", "/v1/deliveries/failed", "/v1/dead-letters"),
            *("/v1/tokens", f"/v1/webhooks/{SUBSCRIPTION}", f"/v1/notifications/{self.ids['notification']}"),
            f"/v1/webhooks/{SUBSCRIBER}",
        ]
        answers = {path: self.tenant.admin.get(path) for path in paths}
        assert {answer.status_code for answer in answers.values()} == {200}
        return {path: answer.json() for path, answer in answers.items()}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service that gives up deliveries at once."""
    settings = {"webhook_attempts": 1, "webhook_base_seconds": 0.01, "webhook_networks": ("127.0.0.0/8",)}
    with running(tmp_path_factory.mktemp("tenants"), **settings) as made:
        yield made


@pytest.fixture(scope="module")
def victim(service: Running) -> Iterator[Victim]:
    tenant = service.tenant(name="acme")
    with receiving() as receiver:
        receiver.always["/"] = after_handshake(answering(500))
        hook = {"kind": "webhook", "url": receiver.url("/")}
        words = {"condition": f"name = '{WORD}'", "label": WORD}
        subscribe(tenant.subscribe, **words, id=SUBSCRIPTION, delivery=hook)
        path = f"/v1/subscriptions/{SUBSCRIPTION}"
        until(lambda: tenant.subscribe.get(path).json()["delivery"]["state"] == "confirmed")
        assert tenant.subscribe.put(f"/v1/webhooks/{SUBSCRIBER}", json={"url": receiver.url("/")}).is_success
        until(lambda: tenant.subscribe.get(f"/v1/webhooks/{SUBSCRIBER}").json()["state"] == "confirmed")
        described = {"attributes": {WORD: "string"}}
        assert tenant.admin.put(f"/v1/event-types/{TYPE}", json=described).is_success
        claim = {"condition": f"name = '{WORD}'", "event_type": "event"}
        assert tenant.publish.put(f"/v1/advertisements/{ADVERTISEMENT}", json=claim).is_success
        published: dict[str, Any] = {"json": {"id": EVENT, "name": WORD}, "params": {"event_type": "event"}}
        assert tenant.publish.post("/v1/events", **published).status_code == 202
        [notification] = service.match(tenant.name, SUBSCRIPTION, EVENT)
        service.spoil(tenant.name, EVENT, json.dumps({"name": WORD}).encode(), reason=WORD)
        until(lambda: len(tenant.subscribe.get("/v1/deliveries/failed").json()["items"]) == 1)
        token = tenant.admin.post("/v1/tokens", json={"role": "admin", "label": WORD}).json()["id"]
        [dead] = tenant.subscribe.get("/v1/dead-letters").json()["items"]
        ids = {"subscription": SUBSCRIPTION, "event": EVENT, "type": TYPE, "advertisement": ADVERTISEMENT}
        ids["subscriber"] = SUBSCRIBER
        yield Victim(tenant, {**ids, "notification": notification, "dead": dead["id"], "token": token})


@pytest.fixture(scope="module")
def attacker(service: Running, victim: Victim) -> Iterator[httpx2.Client]:
    """Somebody with all roles in another tenant, which has matches of its own."""
    tenant = service.tenant(name="bolt")
    for name in ("one", "two"):  # so that none is the default, and no answer names one that was not asked for
        assert tenant.admin.put(f"/v1/event-types/{name}", json={"attributes": {"a": "int"}}).is_success
    subscribe(tenant.subscribe, id="mine")
    service.match(tenant.name, "mine", "my-event")
    client = service.client(service.token("publish", "subscribe", "admin", tenant=tenant.name))
    assert client.get("/v1/notifications?after=0").json()["items"]
    yield client


@dataclass(frozen=True)
class Attempt:
    """How a route is asked for what is another's.

    Attributes:
        kind: Of the thing that `{id}` or `{name}` stands for.
        bodies: What is sent, one after the other; `{...}` stands for the id of a kind.
        params: What is asked for in the query.
        expected: The answers that are right.
    """

    kind: str = ""
    bodies: tuple[Any, ...] = (None,)
    params: dict[str, str] = field(default_factory=dict)
    expected: frozenset[int] = frozenset(HIDDEN)


def own(*bodies: Any, kind: str = "", **params: str) -> Attempt:
    """A route that answers with what is the caller's own."""
    return Attempt(kind, bodies or (None,), params, frozenset(OWN))


def hidden(kind: str, *bodies: Any) -> Attempt:
    """A route that must say that there is no such thing, or that it is not allowed."""
    return Attempt(kind, bodies or (None,))


API = {
    "POST /v1/subscriptions": own({"condition": "a = 1", "id": SUBSCRIPTION}),
    "GET /v1/subscriptions": own(search=SUBSCRIPTION[:4], after=""),
    "POST /v1/subscriptions/import": own(json.dumps({"condition": "a = 2", "id": SUBSCRIPTION}), replace="true"),
    "GET /v1/subscriptions/export": own(),
    "GET /v1/subscriptions/{id}": hidden("subscription"),
    "GET /v1/subscriptions/{id}/history": hidden("subscription"),
    "GET /v1/subscriptions/{id}/open": hidden("subscription"),
    "PATCH /v1/subscriptions/{id}": hidden("subscription", {"condition": "a = 3"}),
    "POST /v1/subscriptions/{id}/renew": hidden("subscription"),
    "POST /v1/subscriptions/{id}/pause": hidden("subscription"),
    "POST /v1/subscriptions/{id}/resume": hidden("subscription"),
    "DELETE /v1/subscriptions/{id}": hidden("subscription"),
    "POST /v1/conditions/lint": hidden("", {"condition": "a = 1", "event_type": TYPE}),
    "POST /v1/conditions/test": hidden("", {"condition": "a = 1", "event_type": TYPE}),
    "POST /v1/conditions/explain": hidden(
        "", {"subscription": SUBSCRIPTION, "event": {}}, {"condition": "a = 1", "event_id": EVENT}
    ),
    "POST /v1/conditions/match": hidden("", {"event_id": EVENT}, {"event": {}, "event_type": TYPE}),
    "POST /v1/match": hidden("", {"events": [{}], "event_type": TYPE}),
    "POST /v1/events": own({"id": EVENT, "a": 1}),
    "GET /v1/events": own(),
    "GET /v1/events/{id}": hidden("event"),
    "GET /v1/event-types": own(),
    "GET /v1/event-types/{name}": hidden("type"),
    "PUT /v1/event-types/{name}": own({"attributes": {"a": "int"}}, kind="type"),
    "DELETE /v1/event-types/{name}": hidden("type"),
    "GET /v1/advertisements": own(),
    "GET /v1/advertisements/{id}": hidden("advertisement"),
    "PUT /v1/advertisements/{id}": own({"condition": "a = 1"}, kind="advertisement"),
    "DELETE /v1/advertisements/{id}": hidden("advertisement"),
    "GET /v1/notifications": own(after="0", subscription=SUBSCRIPTION),
    "GET /v1/notifications/stream": own(after="0"),
    "GET /v1/notifications/{id}": hidden("notification"),
    "GET /v1/deliveries/failed": own(),
    "POST /v1/deliveries/replay": Attempt("", ({}, {"subscription": SUBSCRIPTION}), {}, frozenset(HIDDEN | OWN)),
    "POST /v1/deliveries/{id}/replay": hidden("notification"),
    "GET /v1/dead-letters": own(),
    "POST /v1/dead-letters/{id}/replay": hidden("dead"),
    "GET /v1/webhooks": own(),
    "GET /v1/webhooks/{id}": hidden("subscription"),
    "PUT /v1/webhooks/{id}": own({"url": "http://127.0.0.1:9/"}, kind="subscriber"),
    "DELETE /v1/webhooks/{id}": hidden("subscriber"),
    "POST /v1/webhooks/{id}/resume": hidden("subscription"),
    "GET /v1/tokens": own(),
    "POST /v1/tokens": hidden("", {"role": "admin", "tenant": "acme"}),
    "DELETE /v1/tokens/{id}": hidden("token"),
    "GET /v1/tenants": hidden(""),
    "PUT /v1/tenants/{name}": hidden("tenant", {}),
    "GET /v1/peers": hidden(""),
    "PUT /v1/peers/{name}": hidden("tenant", {"url": "http://127.0.0.1:9"}),
    "DELETE /v1/peers/{name}": hidden("tenant"),
    "GET /v1/routes/{id}": hidden("event"),
    **{route: Attempt(expected=frozenset({401})) for route, role in ROUTES.items() if role == LINK},
    "GET /v1/backup": hidden(""),
    "POST /v1/backup": hidden("", json.dumps({"tenant": {"name": "acme", "rights": {}}})),
}
KINDS = {
    "subscriptions": "subscription",
    "events": "event",
    "event-types": "type",
    "notifications": "notification",
}
"""What the pages of a folder are about."""
LATE = ("POST /v1/subscriptions", "POST /v1/events", "POST /v1/subscriptions/import")
"""Requests that give the attacker something of the same name: these come last."""


def page_attempt(path: str) -> Attempt:
    """How a page is asked: for the id, where it is about one; what it lists are things of the caller's own."""
    kind = KINDS.get(path.split("/")[1], "")
    if "{id" in path:
        return hidden(kind)
    ids = {"id": f"{{{kind}}}", "like": f"{{{kind}}}", "subscription": "{subscription}"} if kind else {}
    is_about_one = "by-id" in path or path.startswith("/subscriptions/edit")
    expected = HIDDEN if is_about_one or path.startswith(("/tenants", "/peers")) else {*OWN, *HIDDEN}
    return Attempt("", (None,), {name: value for name, value in ids.items()}, frozenset(expected))


def attempts(service: Running) -> dict[str, Attempt]:
    """Every route, and how it is asked; routes of the API that the table lacks are missing."""
    found = dict(API)
    for route in all_routes(service):
        path = route.split(" ")[1]
        if not path.startswith("/v1") and ROUTES.get(route) != OPEN:
            found[route] = Attempt(expected=frozenset({308})) if route in MOVED else page_attempt(path)
    early = [route for route in found if route not in LATE and not route.startswith("PUT ")]
    return {route: found[route] for route in (*early, *(route for route in found if route not in early))}


def test_no_route_is_left_out(service: Running) -> None:
    guarded = {route for route in all_routes(service) if ROUTES.get(route) != OPEN}
    assert set(attempts(service)) ^ guarded == set()


@pytest.mark.slow
def test_no_route_gives_away_or_changes_what_is_another_tenants(
    service: Running, victim: Victim, attacker: httpx2.Client
) -> None:
    before = victim.state()
    ids = {**victim.ids, "tenant": "acme"}
    asked = 0
    for route, attempt in attempts(service).items():
        method, template = route.split(" ")
        names = [ids[attempt.kind]] if attempt.kind else [""]
        if attempt.kind:  # its name inside, as in the database
            names.append(quote(f"acme/{names[0]}", safe=""))
        for name in names:
            path = re.sub(r"{\w+}", lambda _, name=name: name, template)  # type: ignore[misc]
            params = {key: value.format(**ids) for key, value in attempt.params.items()}
            for body in attempt.bodies:
                sent: dict[str, Any] = {} if body is None else {"json": body}
                if isinstance(body, str):
                    sent = {"content": body, "headers": TEXT}
                status, text = answer_of(attacker, method, path, params, sent)
                asked += 1
                is_qualified = "%2F" in path
                allowed = attempt.expected | ({404, 422} if is_qualified else set())
                assert status in allowed, (route, path, status, text)
                request = json.dumps([path, params, body])
                leaked = [each for each in (WORD, *victim.ids.values()) if each in text and each not in request]
                assert not leaked, (route, leaked, text)
    assert asked > len(API)
    assert victim.state() == before


def answer_of(
    client: httpx2.Client, method: str, path: str, params: dict[str, str], sent: dict[str, Any]
) -> tuple[int, str]:
    """The status and the text of an answer; of a stream, its first part."""
    with client.stream(method, path, params=params, **sent) as answer:
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            text = ""
            for part in answer.iter_text():
                text += part
                if "data:" in text:
                    break
            return answer.status_code, text
        answer.read()
        return answer.status_code, answer.text


@pytest.mark.parametrize("route", sorted(route for route, role in ROUTES.items() if role == OPEN))
def test_what_is_open_tells_nothing_of_tenants(service: Running, victim: Victim, route: str) -> None:
    method, path = route.split(" ")
    _, text = answer_of(service.client(), method, path, {}, {})
    assert [each for each in (WORD, *victim.ids.values()) if each in text] == []
