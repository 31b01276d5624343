"""The list of subscriptions: filters, orders, pages."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient

from tests.service.page.worlds import World, twin_of


def test_subscriptions_are_searched_and_ordered(page: TestClient) -> None:
    def ids(query: str) -> list[str]:
        return [each["id"] for each in page.get(f"/subscriptions.json?{query}").json()["items"]]

    assert ids("") == ["called", "cheap", "hostile"]
    assert ids("search=LUMEN") == ["cheap"]
    assert ids("label=bargains") == ["cheap"]
    assert ids("order=broadest")[0] == "called"
    assert sorted(ids("order=slowest")) == ["called", "cheap", "hostile"]


def test_long_lists_have_pages(world: World, page: TestClient) -> None:
    for number in range(60):
        world.subscribe("default", f"many-{number:02}", "price = 1", label="many")
        world.publish("default", {"id": f"many-{number:02}", "price": 1})
    world.match([(f"default/many-{number:02}", "default/cheap") for number in range(60)])
    for where, key in (("/subscriptions?label=many", "id"), ("/events", "id"), ("/feed", "seq")):
        seen: list[Any] = []
        here: str | None = where
        while here:
            answer = page.get(twin_of(here)).json()
            seen += [each[key] for each in answer["items"]]
            there = answer["next"]
            assert there is None or f'href="{there.replace("&", "&amp;")}"' in page.get(here).text
            here = there
        assert len(seen) == len(set(seen)) >= 60, where
