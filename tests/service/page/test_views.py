"""Every page against the real application: what it shows, whom it shows it to, and its twin."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from tamis.service.api.app import make_app
from tamis.service.page.addresses import address, twin_path
from tamis.service.page.serving import PAGES
from tests.service.page.worlds import HOSTILE, World

Visit = Callable[[str | None], TestClient]


def addresses_of(world: World) -> list[str]:
    """An address of every page, some with filters."""
    notification = world.service.feed.before("default", None, limit=1)[0].id
    return [
        "/",
        "/subscriptions",
        "/subscriptions?order=broadest",
        "/subscriptions?order=slowest&search=price",
        "/subscriptions/new?like=cheap",
        "/subscriptions/cheap",
        "/subscriptions/called?span=week",
        "/feed",
        "/feed?subscription=called",
        "/events",
        "/events/e1?subscription=hostile",
        address("events", HOSTILE),
        address("events", "half"),
        f"/notifications/{notification}",
        "/bad-events",
        "/failed-deliveries",
        "/statistics",
    ]


def twin_of(where: str) -> str:
    path, mark, query = where.partition("?")
    return twin_path(path) + mark + query


class Elements(HTMLParser):
    """The elements of a page, for what a browser would make of it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_every_page_has_a_twin(world: World) -> None:
    """A page that somebody adds without one is found here."""
    routes = [each for each in make_app(world.service).routes if isinstance(each, Route)]
    # What a browser is shown: neither the API and the figures for machines, nor the way in and out.
    others = re.compile(r"/(v1|static)/.*|/(openapi\.json|redoc|docs.*|ping|ready|metrics|sign-in|sign-out)")
    paths = {each.path for each in routes if not others.fullmatch(each.path)}
    pages = {path for path in paths if not path.endswith(".json")}
    assert {page.path for page in PAGES} <= pages
    assert {twin_path(page) for page in pages} <= paths


def test_every_page_is_tried_here(world: World, page: TestClient) -> None:
    tried = {re.sub(r"\?.*", "", each) for each in addresses_of(world)}
    for each in PAGES:
        pattern = re.sub(r"\\{id(:path)?\\}", ".+", re.escape(each.path))
        assert any(re.fullmatch(pattern, path) for path in tried), each.path


def test_pages_and_twins_answer_the_same_thing(world: World, page: TestClient) -> None:
    for where in addresses_of(world):
        html, json_ = page.get(where), page.get(twin_of(where))
        assert html.status_code == json_.status_code == 200, where
        assert html.headers["content-type"] == "text/html; charset=utf-8"
        assert json_.headers["content-type"] == "application/json"
        assert f'href="{twin_of(where).replace("&", "&amp;")}"' in html.text, where


def test_a_twin_is_what_its_page_was_made_of(
    world: World, page: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The template is given the very mapping that the twin answers."""
    from tamis.service.page import serving, showing

    given: dict[str, Any] = {}
    render = serving.render

    def noting(request: Any, template: str, status: int = 200, **values: Any) -> Any:
        own = {name: each for name, each in values.items() if name not in ("page", "title", "twin", "caller")}
        given.update(json.loads(showing.to_json(own)))
        return render(request, template, status, **values)

    monkeypatch.setattr(serving, "render", noting)
    moving = {"backlog_seconds", "activity", "rates", "stream", "service", "cost_seconds"}
    for where in addresses_of(world):
        given.clear()
        page.get(where)
        twin = page.get(twin_of(where)).json()
        assert given.keys() == twin.keys(), where
        for name in given.keys() - moving:
            assert given[name] == twin[name], (where, name)


def test_nothing_that_somebody_wrote_becomes_markup(world: World, page: TestClient) -> None:
    where = [*addresses_of(world), "/subscriptions/hostile", "/subscriptions/new?like=hostile"]
    where += [f"/subscriptions?search={quote(HOSTILE)}", f"/feed?subscription={quote(HOSTILE)}"]
    where += [f"/subscriptions/{quote('<img src=x onerror=alert(1)>')}", f"/sign-in?next=/{quote(HOSTILE)}"]
    for each in where:
        text = page.get(each).text
        for tag, attributes in Elements(text).found:
            assert not any(name.startswith("on") for name in attributes), (each, tag)
            assert "style" not in attributes, (each, tag)
            assert tag != "img", each
            if tag == "script":
                assert str(attributes.get("src")).startswith("/static/"), each
            for name in ("src", "href", "action"):
                assert str(attributes.get(name, "/")).startswith(("/", "#", "?")), (each, tag, attributes)


def test_hostile_names_are_shown_as_they_are(page: TestClient) -> None:
    shown = "&lt;script&gt;alert(1)&lt;/script&gt;"
    for where in ("/subscriptions", "/subscriptions/hostile", "/events", "/feed", "/bad-events"):
        assert shown in page.get(where).text, where


def test_half_a_character_breaks_no_page(page: TestClient) -> None:
    assert "\\ud800 half" in page.get("/events/half").text
    assert page.get("/events/half.json").json()["event"]["event"]["brand"] == "\ud800 half"


def test_an_event_shows_its_matches_and_why(page: TestClient) -> None:
    text = page.get("/events/e1").text
    assert "all 2 operands of its AND hold" in text
    assert '<span class="part yes">' in text
    found = page.get("/events/e1.json").json()
    assert {each["subscription_id"] for each in found["matches"]} == {"cheap", "called"}
    assert all(each["explanation"]["matched"] for each in found["matches"])


def test_an_event_tells_why_not(page: TestClient) -> None:
    tried = page.get("/events/e1.json?subscription=hostile").json()["tried"]
    assert tried["explanation"]["matched"] is False
    assert '<span class="part no">' in page.get("/events/e1?subscription=hostile").text
    assert "there is no subscription" in page.get("/events/e1.json?subscription=nobody").json()["tried"]["problem"]


@pytest.mark.parametrize("id", ["shop/7?x#y.json", "new", "by-id", "..", "a.json", "é ü"])
def test_whatever_its_id_an_event_has_a_page(world: World, page: TestClient, id: str) -> None:
    world.publish("default", {"id": id, "price": 1})
    where = address("events", id)
    assert page.get(where).status_code == 200
    assert page.get(twin_of(where)).json()["event"]["id"] == id


def test_a_subscription_may_be_called_new(world: World, page: TestClient) -> None:
    world.subscribe("default", "new", "price = 1")
    assert address("subscriptions", "new") in page.get("/subscriptions").text
    assert page.get("/subscriptions/by-id.json?id=new").json()["subscription"]["condition"] == "price = 1"


def test_a_subscription_shows_what_was_done_to_it(world: World, page: TestClient) -> None:
    world.service.subscriptions.pause("default", "cheap", paused=True)
    found = page.get("/subscriptions/cheap.json").json()
    assert found["subscription"]["state"] == "paused"
    assert [each["kind"] for each in found["history"]] == ["pause", "add"]
    assert 'data-do="resume"' in page.get("/subscriptions/cheap").text


def test_a_subscription_that_has_ended_keeps_its_history(world: World, page: TestClient) -> None:
    world.service.subscriptions.unsubscribe("default", "cheap")
    found = page.get("/subscriptions/cheap.json").json()
    assert found["subscription"] is None
    assert found["history"][0]["kind"] == "remove"
    assert "has ended" in page.get("/subscriptions/cheap").text


def test_a_webhook_is_shown_without_its_secret(world: World, page: TestClient) -> None:
    hook = world.service.webhooks.get("default/called")
    assert hook is not None
    answer = page.get("/subscriptions/called.json")
    assert answer.json()["webhook"]["state"] == "confirmed"
    assert [each["outcome"] for each in answer.json()["attempts"]] == ["failed", "delivered"]
    assert hook.secret not in answer.text + page.get("/subscriptions/called").text


def test_a_notification_can_be_followed(world: World, page: TestClient) -> None:
    parked = page.get("/failed-deliveries.json").json()["items"][0]
    found = page.get(f"/notifications/{parked['notification_id']}.json").json()
    assert found["notification"]["subscription_id"] == "called"
    assert found["subscription"]["condition"] == "price < 1000 OR brand IS NULL"
    assert found["attempts"][0]["status"] == 503
    assert found["explanation"]["matched"] is True
    assert found["batch"]["batch"] == 0


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


def test_matches_over_time_add_up(page: TestClient) -> None:
    spans = page.get("/subscriptions/called.json?span=hour").json()["activity"]["spans"]
    assert sum(each["matches"] for each in spans) == 3
    assert sum(each["events"] for each in page.get("/statistics.json").json()["activity"]["spans"]) == 4


def test_a_name_that_no_database_takes_is_refused(page: TestClient) -> None:
    for where in ("/events/a%00b", "/subscriptions/a%00b", "/notifications/a%00b"):
        assert page.get(where).status_code in (404, 422), where
        assert page.get(twin_of(where)).status_code in (404, 422), where
    assert page.get("/events/by-id").status_code == 404


def test_pages_are_not_part_of_the_api(world: World) -> None:
    described = make_app(world.service).openapi()["paths"]
    assert not {page.path for page in PAGES} & described.keys()
    assert all(path.startswith("/v1/") or path in ("/ping", "/ready", "/metrics") for path in described)


def test_without_a_snapshot_statistics_say_so(page: TestClient) -> None:
    assert page.get("/statistics.json").json()["service"]["snapshot"] is None
    assert "There is none yet" in page.get("/statistics").text


def test_a_snapshot_is_shown(world: World, page: TestClient) -> None:
    from tamis.events.event_type import EventType
    from tamis.matchers import Matchers

    folder = world.service.settings.folder / "stream" / "snapshot"
    matchers = Matchers([EventType("default/event")])
    matchers["default/event"].add("a", "price < 3")
    matchers.publish(str(folder))
    found = page.get("/statistics.json").json()["service"]["snapshot"]
    assert [each["version"] for each in found["versions"]] == [1]
    assert found["segments"][0]["slots"] == 1
    assert "Segments of version 1" in page.get("/statistics").text


def test_a_damaged_snapshot_is_named_and_breaks_nothing(world: World, page: TestClient) -> None:
    folder = world.service.settings.folder / "stream" / "snapshot"
    folder.mkdir(parents=True)
    (folder / "versions").write_text("not a folder")
    assert page.get("/statistics").status_code == 200


class TestOtherTenants:
    def test_they_see_their_own(self, world: World, visit: Visit) -> None:
        other = visit(world.other)
        assert [each["id"] for each in other.get("/subscriptions.json").json()["items"]] == ["secret-plan"]
        assert [each["id"] for each in other.get("/events.json").json()["items"]] == ["acme-event"]
        assert [each["event_id"] for each in other.get("/feed.json").json()["items"]] == ["acme-event"]
        assert [each["event_id"] for each in other.get("/bad-events.json").json()["items"]] == ["worse"]
        assert other.get("/failed-deliveries.json").json()["items"] == []
        assert [each["id"] for each in other.get("/index.json").json()["broadest"]["items"]] == ["secret-plan"]

    def test_they_see_nothing_else(self, world: World, visit: Visit) -> None:
        other = visit(world.other)
        notification = world.service.feed.before("default", None, limit=1)[0].id
        for where in ("/events/e1", "/subscriptions/cheap", f"/notifications/{notification}"):
            assert other.get(where).status_code == other.get(twin_of(where)).status_code == 404, where
        assert other.get("/feed.json?subscription=cheap").json()["items"] == []
        # Names of the other tenant do not lead out of one's own.
        for where in (
            "/events/default%2Fe1",
            "/events/..%2Fdefault%2Fe1",
            "/subscriptions/by-id?id=default/cheap",
        ):
            assert other.get(where).status_code == 404, where

    def test_the_whole_service_is_for_who_looks_after_it(self, world: World, visit: Visit) -> None:
        other = visit(world.other)
        assert other.get("/index.json").json()["batches"] is None
        assert other.get("/statistics.json").json()["service"] is None
        assert "Whole service" not in other.get("/statistics").text

    def test_nothing_of_one_is_on_a_page_of_the_other(self, world: World, visit: Visit) -> None:
        pages = ("/", "/subscriptions", "/feed", "/events", "/bad-events", "/statistics", "/subscriptions/new")
        for where in pages:
            theirs, ours = visit(world.other).get(where).text, visit(world.token).get(where).text
            assert "secret-plan" not in ours and "acme-event" not in ours, where
            assert "cheap" not in theirs and "hostile" not in theirs and "e1" not in theirs.split(), where


def test_the_overview_tells_what_quotas_left_out(world: World, page: TestClient) -> None:
    assert page.get("/index.json").json()["left_out"] == 0
    last = world.service.reports.last[-1]
    world.service.reports.last.append(replace(last, overflow_by_group=(("acme", 5), ("default", 1_234))))
    assert page.get("/index.json").json()["left_out"] == 1_234
    assert "1,234" in page.get("/").text
