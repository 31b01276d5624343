"""Who may do what: every route of the application is in this table, or the test fails."""

from __future__ import annotations

import re
from typing import Any

import httpx2
import pytest
from starlette.routing import Mount

from tamis.service.accounts import TenantRights
from tamis.service.api.app import make_app
from tests.service.api.running import Running, Tenant, problem

OPEN, LINK = "open", "link"
ROUTES = {
    "POST /v1/subscriptions": "subscribe",
    "GET /v1/subscriptions": "subscribe",
    "POST /v1/subscriptions/import": "subscribe",
    "GET /v1/subscriptions/export": "subscribe",
    "GET /v1/subscriptions/{id}": "subscribe",
    "GET /v1/subscriptions/{id}/history": "subscribe",
    "GET /v1/subscriptions/{id}/open": "subscribe",
    "PATCH /v1/subscriptions/{id}": "subscribe",
    "POST /v1/subscriptions/{id}/renew": "subscribe",
    "POST /v1/subscriptions/{id}/pause": "subscribe",
    "POST /v1/subscriptions/{id}/resume": "subscribe",
    "DELETE /v1/subscriptions/{id}": "subscribe",
    "POST /v1/conditions/lint": "subscribe",
    "POST /v1/conditions/test": "subscribe",
    "POST /v1/conditions/explain": "subscribe",
    "POST /v1/conditions/match": "subscribe",
    "POST /v1/match": "subscribe",
    "POST /v1/events": "publish",
    "GET /v1/events": "subscribe",
    "GET /v1/events/{id}": "subscribe",
    "GET /v1/event-types": "subscribe",
    "GET /v1/event-types/{name}": "subscribe",
    "PUT /v1/event-types/{name}": "admin",
    "DELETE /v1/event-types/{name}": "admin",
    "GET /v1/advertisements": "publish",
    "GET /v1/advertisements/{id}": "publish",
    "PUT /v1/advertisements/{id}": "publish",
    "DELETE /v1/advertisements/{id}": "publish",
    "GET /v1/notifications": "subscribe",
    "GET /v1/notifications/stream": "subscribe",
    "GET /v1/notifications/{id}": "subscribe",
    "GET /v1/deliveries/failed": "subscribe",
    "POST /v1/deliveries/replay": "subscribe",
    "POST /v1/deliveries/{id}/replay": "subscribe",
    "GET /v1/webhooks": "subscribe",
    "GET /v1/webhooks/{id}": "subscribe",
    "PUT /v1/webhooks/{id}": "subscribe",
    "DELETE /v1/webhooks/{id}": "subscribe",
    "POST /v1/webhooks/{id}/resume": "subscribe",
    "GET /v1/dead-letters": "subscribe",
    "POST /v1/dead-letters/{id}/replay": "subscribe",
    "GET /v1/tokens": "admin",
    "POST /v1/tokens": "admin",
    "DELETE /v1/tokens/{id}": "admin",
    "GET /v1/tenants": "operator",
    "PUT /v1/tenants/{name}": "operator",
    "GET /v1/peers": "operator",
    "PUT /v1/peers/{name}": "operator",
    "DELETE /v1/peers/{name}": "operator",
    "GET /v1/routes/{id}": "subscribe",
    **{f"POST /v1/link/{each}": LINK for each in ("hello", "entries", "events", "outcomes", "route")},
    "GET /v1/backup": "operator",
    "POST /v1/backup": "operator",
    "GET /ping": OPEN,
    "GET /ready": OPEN,
    "GET /metrics": OPEN,
    "GET /openapi.json": OPEN,
    "GET /docs": OPEN,
    "GET /sign-in": OPEN,
    "POST /sign-in": OPEN,
    "POST /sign-out": OPEN,
    "GET /static/report.css": OPEN,
    "GET /static": OPEN,
}
"""What each route needs; what is neither here nor under /v1 is a page, which needs `subscribe`."""
PAGES = {"/tokens": "admin", "/tenants": "operator", "/peers": "operator"}
"""Pages that need more."""
MOVED = {f"GET /bad-events{twin}": f"/dead-letters{twin}" for twin in ("", ".json")}
"""Earlier addresses of pages, and where they lead whoever asks."""


def all_routes(served: Running) -> list[str]:
    """Every method and path of the application, those that no description names included."""
    found = []
    for each in _leaves(make_app(served.service).routes):
        methods = ["GET"] if isinstance(each, Mount) else sorted((each.methods or set()) - {"HEAD"})
        path = re.sub(r":\w+}", "}", each.path)
        found += [f"{method} {path}" for method in methods]
    return found


def _leaves(routes: Any) -> list[Any]:
    found = []
    for each in routes:
        if hasattr(each, "effective_candidates"):  # a router that was included
            found += _leaves(each.effective_candidates())
        else:
            found.append(each)
    return found


def ask(client: httpx2.Client, route: str) -> httpx2.Response:
    """Ask for something that is not there, with a body that is none: who may not is told so before."""
    method, path = route.split(" ")
    url = re.sub(r"{\w+}", "nothing", path)
    with client.stream(method, url) as answer:
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            answer.read()
        return answer


def test_every_route_has_its_role_in_the_table(served: Running) -> None:
    known = {route for route in all_routes(served) if route in ROUTES or route.split(" ")[1].startswith("/v1")}
    assert known == ROUTES.keys()


@pytest.mark.parametrize("route", sorted(route for route, role in ROUTES.items() if role not in (OPEN, LINK)))
def test_a_route_is_for_its_role_only(served: Running, everybody: dict[str, httpx2.Client], route: str) -> None:
    role = ROUTES[route]
    allowed = {role, "operator", *(() if role == "operator" else ("admin",))}
    problem(ask(everybody["nobody"], route), 401, "unauthorized")
    for name in ("publish", "subscribe", "admin", "operator"):
        answer = ask(everybody[name], route)
        if name in allowed:
            assert answer.status_code not in (401, 403), (name, answer.text)
        else:
            problem(answer, 403, "forbidden")


@pytest.mark.parametrize("route", sorted(route for route, role in ROUTES.items() if role == LINK))
def test_a_route_of_links_is_for_no_token_of_the_service(everybody: dict[str, httpx2.Client], route: str) -> None:
    for client in everybody.values():
        problem(ask(client, route), 401, "unauthorized")


def test_a_page_is_for_those_who_may_subscribe(served: Running, everybody: dict[str, httpx2.Client]) -> None:
    pages = [route for route in all_routes(served) if route not in ROUTES and route not in MOVED]
    assert pages
    for route in pages:
        nobody = ask(everybody["nobody"], route)
        if nobody.status_code == 303:
            assert nobody.headers["location"].startswith("/sign-in")
        else:
            problem(nobody, 401, "unauthorized")
        role = PAGES.get(route.split(" ")[1].removesuffix(".json"), "subscribe")
        roles = ("publish", "subscribe", "admin", "operator")
        for number, name in enumerate(roles):
            status = ask(everybody[name], route).status_code
            assert (status == 403) == (number < roles.index(role)), (route, name, status)
            assert status not in (401, 500), (route, name, status)


def test_an_earlier_address_only_leads_to_its_page(served: Running, everybody: dict[str, httpx2.Client]) -> None:
    routes = all_routes(served)
    for route, now in MOVED.items():
        assert {route, f"GET {now}"} <= {*routes}
        for name, client in everybody.items():
            answer = ask(client, route)
            assert (answer.status_code, answer.headers["location"], answer.text) == (308, now, ""), (route, name)


@pytest.fixture(scope="module")
def everybody(served: Running) -> dict[str, httpx2.Client]:
    """A client of each kind; all but the operator are of another tenant."""
    tenant = served.tenant(name="somebody")
    return {
        "nobody": served.client(),
        "publish": tenant.publish,
        "subscribe": tenant.subscribe,
        "admin": tenant.admin,
        "operator": served.client(served.token("admin")),
    }


# --- tokens --------------------------------------------------------------------------------------------------


def test_a_token_works_until_it_is_taken_away(served: Running, tenant: Tenant) -> None:
    made = tenant.admin.post("/v1/tokens", json={"roles": ["publish", "subscribe"], "label": "ann"}).json()
    client = served.client(made["token"])
    assert client.get("/v1/subscriptions").status_code == 200
    listed = {each["id"]: each for each in tenant.admin.get("/v1/tokens").json()["items"]}
    assert (listed[made["id"]]["label"], listed[made["id"]]["token"]) == ("ann", None)
    assert made["token"] not in tenant.admin.get("/v1/tokens").text
    problem(served.tenant().admin.delete(f"/v1/tokens/{made['id']}"), 404, "not-found")
    assert client.get("/v1/subscriptions").status_code == 200
    assert tenant.admin.delete(f"/v1/tokens/{made['id']}").status_code == 204
    problem(client.get("/v1/subscriptions"), 401, "unauthorized")
    problem(tenant.admin.delete(f"/v1/tokens/{made['id']}"), 404, "not-found")


def test_only_a_salted_hash_of_a_token_is_kept(served: Running, tenant: Tenant) -> None:
    secret = tenant.admin.post("/v1/tokens", json={"role": "admin"}).json()["token"].split("_", 2)[2]
    for file in served.service.settings.folder.rglob("*.db*"):
        assert secret.encode() not in file.read_bytes()


@pytest.mark.parametrize("token", ["x", "tamis_", "tamis__", "tamis_x_y", "tamis_" + "x" * 5_000 + "_y", "é"])
def test_what_is_no_token_opens_nothing(served: Running, token: str) -> None:
    answer = served.client().get("/v1/subscriptions", headers={b"Authorization": f"Bearer {token}".encode()})
    problem(answer, 401, "unauthorized")
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("body", [{}, {"roles": []}, {"role": "king"}, {"role": "admin", "label": "a\0b"}])
def test_a_token_has_roles_that_there_are(tenant: Tenant, body: dict[str, Any]) -> None:
    problem(tenant.admin.post("/v1/tokens", json=body), 422, "invalid")


def test_a_tenant_makes_tokens_for_itself_only(operator: httpx2.Client, tenant: Tenant, served: Running) -> None:
    body = {"role": "subscribe", "tenant": "default"}
    problem(tenant.admin.post("/v1/tokens", json=body), 403, "forbidden")
    made = operator.post("/v1/tokens", json={"role": "subscribe", "tenant": tenant.name}).json()
    assert made["tenant"] == tenant.name
    assert served.client(made["token"]).get("/v1/subscriptions").status_code == 200
    problem(operator.post("/v1/tokens", json={"role": "subscribe", "tenant": "unheard"}), 422, "invalid")


# --- tenants -------------------------------------------------------------------------------------------------


def test_an_operator_makes_tenants_and_says_what_they_may_use(operator: httpx2.Client) -> None:
    answer = operator.put("/v1/tenants/acme", json={"subscriptions": 5, "operators": ["near"]})
    assert answer.status_code == 200, answer.text
    rights = answer.json()["rights"]
    assert (rights["subscriptions"], rights["operators"], rights["requests_per_second"]) == (5, ["near"], None)
    tenants = {each["name"]: each["rights"] for each in operator.get("/v1/tenants").json()["items"]}
    assert tenants["acme"] == rights
    assert operator.put("/v1/tenants/acme", json={}).json()["rights"]["subscriptions"] == 1_000_000


@pytest.mark.parametrize("name", ["A", "-a", "a_b", "x" * 64, "a b"])
def test_a_tenant_has_a_plain_name(operator: httpx2.Client, name: str) -> None:
    problem(operator.put(f"/v1/tenants/{name}", json={}), 422, "invalid")


@pytest.mark.parametrize(
    "body", ['{"subscriptions": 0}', '{"events_per_second": Infinity}', '{"colour": 1}', "[]"]
)
def test_rights_are_what_they_should_be(operator: httpx2.Client, body: str) -> None:
    headers = {"Content-Type": "application/json"}
    problem(operator.put("/v1/tenants/acme", content=body, headers=headers), 422, "invalid")


# --- how often -----------------------------------------------------------------------------------------------


def exhaust(tenant: Tenant) -> None:
    """Ask until it is too often."""
    answers = (tenant.admin.get("/v1/subscriptions").status_code for _ in range(3))
    assert [*answers][:2] in ([200, 200], [200, 429])


def test_a_tenant_asks_no_more_often_than_it_may(served: Running) -> None:
    tenant = served.tenant(TenantRights(requests_per_second=0.01))
    exhaust(tenant)
    for client in (tenant.admin, tenant.subscribe):
        answer = client.get("/v1/subscriptions")
        problem(answer, 429, "rate")
        assert int(answer.headers["retry-after"]) >= 1
    assert served.tenant().subscribe.get("/v1/subscriptions").status_code == 200


def test_tokens_that_come_and_go_do_not_make_it_faster(served: Running) -> None:
    tenant = served.tenant(TenantRights(requests_per_second=0.01))
    other = served.tenant()
    exhaust(tenant)
    made = other.admin.post("/v1/tokens", json={"role": "admin"}).json()
    other.admin.delete(f"/v1/tokens/{made['id']}")
    problem(tenant.admin.get("/v1/subscriptions"), 429, "rate")


def test_whoever_may_hardly_ever_publish_is_told_when_to_ask_again(served: Running) -> None:
    tenant = served.tenant(TenantRights(events_per_second=5e-324))
    assert tenant.publish.post("/v1/events", json=[{}, {}]).status_code == 202
    answer = tenant.publish.post("/v1/events", json={})
    problem(answer, 429, "rate")
    assert int(answer.headers["retry-after"]) == 3_600
