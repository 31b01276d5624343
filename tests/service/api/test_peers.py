"""The routes of links: for the operator, and for neighbours with the token of a link and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.service.api.running import Running, problem

URL = "http://127.0.0.1:9"


@pytest.fixture
def north(serving: Callable[..., Running]) -> Running:
    return serving(site="north")


def test_the_operator_makes_and_removes_links(north: Running) -> None:
    operator = north.client(north.token("admin"))
    made = operator.put("/v1/peers/south", json={"url": URL})
    assert made.status_code == 200
    assert (made.json()["url"], made.json()["state"], made.json()["token"][:5]) == (URL, "new", "link_")
    answer = operator.get("/v1/peers").json()
    assert (answer["site"], [each["name"] for each in answer["items"]]) == ("north", ["south"])
    assert made.json()["token"] not in operator.get("/v1/peers").text
    assert "south" in operator.get("/peers").text
    problem(operator.put("/v1/peers/north", json={"url": URL}), 422, "invalid")
    problem(operator.put("/v1/peers/west", json={"url": "nowhere"}), 422, "invalid")
    assert operator.delete("/v1/peers/south").status_code == 204
    problem(operator.delete("/v1/peers/south"), 404, "not-found")
    for role in ("publish", "subscribe"):
        problem(north.client(north.token(role)).get("/v1/peers"), 403, "forbidden")
    problem(north.tenant().admin.get("/v1/peers"), 403, "forbidden")


def test_a_service_without_a_name_links_with_nobody(serving: Callable[..., Running]) -> None:
    alone = serving()
    operator = alone.client(alone.token("admin"))
    problem(operator.put("/v1/peers/south", json={"url": URL}), 422, "invalid")
    assert operator.get("/v1/peers").json() == {"site": "", "items": []}
    assert "This service is not linked to others" in operator.get("/peers").text
    problem(
        alone.client("anything", **{"Tamis-Site": "south"}).post("/v1/link/hello", json={}), 401, "unauthorized"
    )


def test_links_of_the_settings_are_removed_there(serving: Callable[..., Running]) -> None:
    running = serving(site="north", peers=(f"south {URL} 0123456789abcdef",))
    operator = running.client(running.token("admin"))
    assert [each["origin"] for each in operator.get("/v1/peers").json()["items"]] == ["settings"]
    problem(operator.delete("/v1/peers/south"), 422, "invalid")


HELLO: dict[str, Any] = {"site": "south", "protocol": 1, "tamis": "0", "reach": [], "types": {}}


def test_a_token_of_a_link_opens_the_link_and_nothing_else(north: Running) -> None:
    operator = north.client(north.token("admin"))
    token = operator.put("/v1/peers/south", json={"url": URL}).json()["token"]
    south = north.client(token, **{"Tamis-Site": "south"})
    problem(south.post("/v1/link/events", content=b""), 409, "conflict", "link_problem")  # hands first
    answer = south.post("/v1/link/hello", json=HELLO)
    assert answer.status_code == 200, answer.text
    assert answer.json()["site"] == "north"
    assert south.post("/v1/link/events", content=b"").json() == {"taken": 0, "repeated": 0, "refused": 0}
    for path in ("/v1/subscriptions", "/v1/events", "/v1/peers", "/v1/tokens", "/v1/notifications"):
        problem(south.get(path), 401, "unauthorized")
    problem(south.post("/v1/events", json={"x": 1}), 401, "unauthorized")
    for others in (
        north.client(token),
        north.client(token, **{"Tamis-Site": "west"}),
        north.client(north.token("admin"), **{"Tamis-Site": "south"}),
        north.client(None, **{"Tamis-Site": "south"}),
    ):
        for path in ("hello", "entries", "events", "outcomes", "route"):
            problem(others.post(f"/v1/link/{path}", json=HELLO), 401, "unauthorized")


@pytest.mark.parametrize(
    ("said", "kind"),
    [({"protocol": 2}, "protocol"), ({"site": "west"}, "name"), ({"reach": ["north"]}, "cycle")],
)
def test_a_handshake_is_refused_by_kind(north: Running, said: dict[str, Any], kind: str) -> None:
    operator = north.client(north.token("admin"))
    token = operator.put("/v1/peers/south", json={"url": URL}).json()["token"]
    south = north.client(token, **{"Tamis-Site": "south"})
    answer = south.post("/v1/link/hello", json={**HELLO, **said})
    status, word = (422, "invalid") if kind == "name" else (409, "conflict")
    found = problem(answer, status, word, *(() if kind == "name" else ("link_problem",)))
    assert kind == "name" or found["link_problem"] == kind


def test_events_without_a_tenant_or_a_type_here_are_not_taken(north: Running) -> None:
    operator = north.client(north.token("admin"))
    token = operator.put("/v1/peers/south", json={"url": URL}).json()["token"]
    south = north.client(token, **{"Tamis-Site": "south"})
    south.post("/v1/link/hello", json=HELLO)
    about = '{"id": "%s", "type": "%s", "path": ["south"]}\n{"x": 1}'
    lines = [
        about % each
        for each in (("default/1", "default/event"), ("else/1", "else/event"), ("a/2", "default/event"))
    ]
    for expected in ({"taken": 1, "repeated": 0, "refused": 2}, {"taken": 0, "repeated": 1, "refused": 2}):
        assert south.post("/v1/link/events", content="\n".join(lines).encode()).json() == expected


def test_a_route_tells_where_an_event_went(north: Running) -> None:
    tenant = north.tenant()
    tenant.publish.post("/v1/events", json={"id": "e/1", "x": 1})
    north.match(tenant.name, "s", "e/1")
    north.service.inbox.finish_upto(1)
    found = tenant.subscribe.get("/v1/routes/e%2F1").json()
    assert found.pop("accepted")
    assert found == {
        "site": "north",
        "event": "e/1",
        "path": [],
        "is_matched": True,
        "found": ["s"],
        "forwards": [],
    }
    problem(tenant.subscribe.get("/v1/routes/nothing"), 404, "not-found")
    problem(north.tenant().subscribe.get("/v1/routes/e%2F1"), 404, "not-found")
