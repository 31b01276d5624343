"""The reference of the API: all of its description, readable without a token, a script or another host."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from tamis.service.api.app import make_app
from tamis.service.page import api_reference
from tests.service.page.worlds import World

Visit = Callable[[str | None], TestClient]


@pytest.fixture
def described(world: World) -> dict[str, Any]:
    return make_app(world.service).openapi()


def test_every_operation_parameter_and_model_is_there(described: dict[str, Any]) -> None:
    data = api_reference.data(described, "http://h")
    operations = {(each["method"], each["path"]): each for group in data["groups"] for each in group["operations"]}
    wanted = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}
    assert operations.keys() == wanted
    assert {each["name"] for each in data["models"]} == described["components"]["schemas"].keys()
    ids = [each["id"] for each in operations.values()]
    assert len(ids) == len({*ids})
    poll = {each["name"]: each for each in operations["GET", "/v1/notifications"]["parameters"]}
    assert (
        poll["limit"] | {"in": "query", "type": "integer", "default": "1000", "required": False} == poll["limit"]
    )
    assert poll["limit"]["bounds"] == "at least 1, at most 10,000"
    subscribe = operations["POST", "/v1/subscriptions"]
    assert subscribe["body"][0]["model"] == "NewSubscription" and subscribe["body"][0]["examples"]
    assert "SubscribedAnswer" in [
        content["model"] for each in subscribe["answers"] for content in each["contents"]
    ]


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({}, "anything"),
        ({"const": "a"}, '"a"'),
        ({"enum": ["a", 1]}, '"a" or 1'),
        ({"type": "string", "format": "date-time"}, "string, date-time"),
        ({"type": "array", "items": {"type": "array"}}, "list of list of anything"),
        ({"anyOf": [{"type": "string"}, {"type": "string"}, {"type": "null"}]}, "string, or null"),
    ],
)
def test_types_are_said_in_words(schema: dict[str, Any], text: str) -> None:
    assert api_reference.type_text(schema) == text


def test_examples_are_commands_that_a_shell_reads(described: dict[str, Any]) -> None:
    data = api_reference.data(described, "http://h")
    examples = [each["example"] for group in data["groups"] for each in group["operations"]]
    for each in examples:
        subprocess.run(["sh", "-n", "-c", each], check=True)
    assert any("Nikon" in each for each in examples)


def test_everybody_may_read_it_and_links_lead_somewhere(world: World, visit: Visit) -> None:
    for token in (None, world.token, world.publisher):
        answer = visit(token).get("/docs")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert ('<nav aria-label="Pages">' in answer.text) is (token == world.token)
        assert "<script" not in answer.text and "`" not in answer.text
        targets = {*re.findall(r'id="([^"]+)"', answer.text)}
        links = {*re.findall(r'href="#([^"]+)"', answer.text)}
        assert links <= targets and len(links) > 60
    assert 'href="/docs"' in visit(world.token).get("/").text
