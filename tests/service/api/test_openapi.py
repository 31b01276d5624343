"""The OpenAPI description: complete, and true of every answer that schemathesis can provoke."""

from __future__ import annotations

import json
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from tamis.service.ingestion import JSON_LINES
from tests.service.api.running import Running, Tenant
from tests.service.api.test_auth import LINK, ROUTES

EXAMPLES = 5
STREAM = "/v1/notifications/stream"  # it has no end

described = schemathesis.pytest.from_fixture("description")


@pytest.fixture(scope="module")
def token(served: Running) -> str:
    return served.token("admin")


@pytest.fixture(scope="module")
def description(served: Running, token: str) -> Any:
    # Each request shows the token, whatever is made up for it; that it must is the matter of test_roles.
    config = schemathesis.Config.from_dict({"generation": {"with-security-parameters": False}})
    return schemathesis.openapi.from_url(f"{served.url}/openapi.json", config=config)


@schemathesis.serializer(*JSON_LINES)
def json_lines(_: Any, value: Any) -> bytes:
    """Whatever is made up for JSON lines, as it is."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


@pytest.mark.slow
@described.exclude(path=STREAM).parametrize()
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[*HealthCheck])
def test_no_request_is_answered_otherwise_than_described(case: schemathesis.Case[Any], token: str) -> None:
    if "wait" in (case.query or {}):
        case.query["wait"] = 0  # nothing will come
    # Conditions and events are texts with a grammar of their own: what fits the description may still be refused.
    left_out: list[Any] = [positive_data_acceptance]
    if case.media_type in JSON_LINES:  # there, whatever is made up becomes a text
        left_out.append(negative_data_rejection)
    case.call_and_validate(headers={"Authorization": f"Bearer {token}"}, excluded_checks=left_out)


def content(served: Running) -> dict[str, Any]:
    answer = served.client().get("/openapi.json")
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def operations(described: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        f"{method.upper()} {path}": operation
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    }


def test_every_route_is_described_with_its_security_and_its_problems(served: Running) -> None:
    found = operations(content(served))
    described = {route for route, role in ROUTES.items() if " /v1" in route and role != LINK}
    assert found.keys() == described | {"GET /ping", "GET /ready", "GET /metrics"}
    for route, operation in found.items():
        assert operation["summary"] and operation["description"], route
        assert "application/problem+json" in operation["responses"]["default"]["content"], route
        assert bool(operation.get("security")) == (route in described), route


def test_every_reference_leads_somewhere(served: Running) -> None:
    described = content(served)
    text = json.dumps(described)
    names = {part.split('"')[0] for part in text.split('"$ref": "#/components/schemas/')[1:]}
    assert "ProblemAnswer" in names
    assert names <= described["components"]["schemas"].keys()
    assert [each["scheme"] for each in described["components"]["securitySchemes"].values()] == ["bearer"]


def test_the_examples_are_good(served: Running, tenant: Tenant) -> None:
    described, client = content(served), tenant.admin
    examples = described["components"]["schemas"]["NewSubscription"]["examples"]
    assert examples
    for example in examples:
        assert client.post("/v1/subscriptions", json=example).status_code == 201
    bodies = operations(described)["POST /v1/events"]["requestBody"]["content"]
    for media_type, body in bodies.items():
        example = body["example"]
        text = example if isinstance(example, str) else json.dumps(example)
        answer = client.post("/v1/events", content=text, headers={"Content-Type": media_type})
        assert answer.status_code == 202, answer.text
