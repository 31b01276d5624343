"""Event types as pages: what is declared, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from tamis.events.event_type import EventType
from tamis.service.page.links import address
from tests.service.page.worlds import HOSTILE, World, twin_of


def declare(world: World, name: str, **described: Any) -> None:
    world.service.subscriptions.declare("default", EventType.from_dict({"name": name, **described}), dry_run=False)


def test_types_are_listed_with_their_subscriptions(world: World, page: TestClient) -> None:
    declare(world, "camera", attributes={"price": "int", "brand": "string"}, time_zone="Europe/Paris")
    world.subscribe("default", "one", "price < 3", event_type="camera")
    world.subscribe("default", "two", "brand = 'x'", event_type="camera")
    declare(world, "camera", attributes={"price": "int"})
    found = {each["name"]: each for each in page.get("/event-types.json").json()["items"]}
    assert found["event"]["attributes"] is None and found["event"]["subscriptions"] == 3
    assert found["camera"] == {
        "name": "camera", "time_zone": "UTC", "attributes": 1, "subscriptions": 2, "refused": 1,
        "can_drop": False,
    }  # fmt: skip
    assert "1 of them refused" in page.get("/event-types/camera").text


def test_a_type_shows_its_attributes_and_domains(world: World, page: TestClient) -> None:
    colour = {"type": "string", "values": ["red", HOSTILE], "required": True}
    inner = {"type": "struct", "attributes": {"name": "string"}}
    declare(world, "car", attributes={"colour": colour, "doors": {"type": "int", "min": 2, "max": 5}, "by": inner})
    found = page.get("/event-types/car.json").json()
    assert [each["name"] for each in found["attributes"]] == ["colour", "doors", "by"]
    assert found["attributes"][0]["values"] == ["red", HOSTILE]
    assert found["attributes"][1] | {"min": 2, "max": 5, "required": False} == found["attributes"][1]
    assert EventType.from_dict({"name": "car", **found["described"]}).to_dict()["name"] == "car"
    text = page.get("/event-types/car").text
    assert "<td>yes</td>" in text and HOSTILE not in text


@pytest.mark.parametrize("name", ["new", "by-id", "a.json", "é <b>", HOSTILE.replace("/", "")])
def test_whatever_its_name_a_type_has_a_page(world: World, page: TestClient, name: str) -> None:
    declare(world, name, attributes={"x": "int"})
    where = address("event-types", name)
    assert page.get(where).status_code == 200
    assert page.get(twin_of(where)).json()["event_type"]["name"] == name


def test_one_that_is_not_declared_is_not_there(page: TestClient) -> None:
    assert page.get("/event-types/nothing").status_code == page.get("/event-types/nothing.json").status_code == 404


def test_only_administrators_can_declare_and_drop(world: World, visit: Any) -> None:
    _, subscriber = world.service.accounts.new_token("default", ["subscribe"])
    declare(world, "camera", attributes={"price": "int"})
    for where, count in (("/event-types", 1), ("/event-types/camera", 1), ("/event-types/event", 0)):
        assert visit(world.token).get(where).text.count('data-drop="camera"') == count
        assert "data-drop" not in visit(subscriber).get(where).text
    for where in ("/event-types", "/event-types/event"):
        assert 'id="declare"' in visit(world.token).get(where).text
        assert 'id="declare"' not in visit(subscriber).get(where).text


def test_advertisements_are_shown_with_their_types(world: World, page: TestClient) -> None:
    declare(world, "camera", attributes={"price": "int"})
    world.service.accounts.advertise("default", "default/shop", f"brand = '{HOSTILE}'", "default/camera", "t1")
    [found] = page.get("/event-types/camera.json").json()["advertisements"]
    assert (found["id"], found["event_type"], found["token"]) == ("shop", "camera", "t1")
    for path in ("/event-types", "/event-types/camera"):
        text = page.get(path).text
        assert "shop" in text and HOSTILE not in text
    assert page.get("/event-types.json").json()["conformity"] == "off"
    assert "is not checked" in page.get("/event-types").text
