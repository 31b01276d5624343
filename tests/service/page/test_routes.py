"""Every page against the real application: what it shows, whom it shows it to, and its twin."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from tamis.service.accounts import TenantRights
from tamis.service.api.app import make_app
from tamis.service.page.links import address, twin_path
from tamis.service.page.routes import HEADERS, PAGES
from tests.service.page.worlds import HOSTILE, World, twin_of

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
        "/subscriptions/edit?id=called",
        "/subscriptions/cheap",
        "/subscriptions/called?span=week",
        "/feed",
        "/feed?subscription=called",
        "/events",
        "/events/new?like=e1",
        "/events/e1?subscription=hostile",
        address("events", HOSTILE),
        address("events", "half"),
        f"/notifications/{notification}",
        "/dead-letters",
        "/failed-deliveries",
        "/statistics",
        "/event-types",
        "/event-types/event",
        "/tokens",
        "/tenants?name=acme",
        "/peers",
    ]


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
        pattern = re.sub(r"\\{id(:any)?\\}", ".+", re.escape(each.path))
        assert any(re.fullmatch(pattern, path) for path in tried), each.path


def test_pages_and_twins_answer_the_same_thing(world: World, page: TestClient) -> None:
    for where in addresses_of(world):
        html, json_ = page.get(where), page.get(twin_of(where))
        assert html.status_code == json_.status_code == 200, where
        assert html.headers["content-type"] == "text/html; charset=utf-8"
        assert json_.headers["content-type"] == "application/json"
        assert f'href="{twin_of(where).replace("&", "&amp;")}"' in html.text, where


def test_an_earlier_address_leads_to_the_page(page: TestClient) -> None:
    for earlier, now in (
        ("/bad-events", "/dead-letters"),
        ("/bad-events.json?before=7&path=x", "/dead-letters.json?before=7&path=x"),
    ):
        found = page.get(earlier)
        assert (found.status_code, found.headers["location"]) == (308, now)


def test_a_twin_is_what_its_page_was_made_of(
    world: World, page: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The template is given the very mapping that the twin answers."""
    from tamis.service.page import routes, template_filters

    given: dict[str, Any] = {}
    render = routes.render

    def noting(request: Any, template: str, status: int = 200, **values: Any) -> Any:
        frame = ("page", "title", "twin", "caller", "is_warming")
        own = {name: each for name, each in values.items() if name not in frame}
        given.update(json.loads(template_filters.to_json(own)))
        return render(request, template, status, **values)

    monkeypatch.setattr(routes, "render", noting)
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
    for where in ("/subscriptions", "/subscriptions/hostile", "/events", "/feed", "/dead-letters"):
        assert shown in page.get(where).text, where


def test_half_a_character_breaks_no_page(page: TestClient) -> None:
    assert "\\ud800 half" in page.get("/events/half").text
    assert page.get("/events/half.json").json()["event"]["event"]["brand"] == "\ud800 half"


def test_a_name_that_no_database_takes_is_refused(page: TestClient) -> None:
    for where in ("/events/a%00b", "/subscriptions/a%00b", "/notifications/a%00b"):
        assert page.get(where).status_code in (404, 422), where
        assert page.get(twin_of(where)).status_code in (404, 422), where
    assert page.get("/events/by-id").status_code == 404


def test_pages_are_not_part_of_the_api(world: World) -> None:
    described = make_app(world.service).openapi()["paths"]
    assert not {page.path for page in PAGES} & described.keys()
    assert all(path.startswith("/v1/") or path in ("/ping", "/ready", "/metrics") for path in described)


def test_buttons_that_a_script_works_wait_for_it(world: World, page: TestClient) -> None:
    """Before its script listens, a button takes a click and does nothing, or sends its form somewhere else."""
    found = 0
    for where in addresses_of(world):
        form: dict[str, str | None] = {}
        for tag, attributes in Elements(page.get(where).text).found:
            if tag == "form":
                form = attributes
            is_plain = form.get("method") == "dialog" or "action" in form
            if tag == "button" and (attributes.get("type") == "button" or not is_plain):
                assert "disabled" in attributes, (where, attributes)
                found += 1
    assert found > 10


class TestUnknownAddresses:
    UNKNOWN = ("/nowhere", "/subscriptions/a/b", "/static/nothing.js", "/v1/nothing")

    def test_they_are_pages_for_a_browser(self, page: TestClient) -> None:
        for where in self.UNKNOWN:
            answer = page.get(where, headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
            assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8"), where
            assert answer.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]
            assert '<nav aria-label="Pages">' in answer.text and "Not found" in answer.text, where

    def test_they_are_problems_for_a_program(self, page: TestClient) -> None:
        for where in self.UNKNOWN:
            for accept in ("*/*", "application/json", "application/json, text/html;q=0"):
                answer = page.get(where, headers={"Accept": accept})
                assert answer.status_code == 404
                assert answer.headers["content-type"] == "application/problem+json", (where, accept)
                assert answer.json()["type"].endswith("/not-found")

    def test_a_stranger_sees_the_way_in_and_no_pages(self, visit: Visit) -> None:
        text = visit(None).get("/nowhere", headers={"Accept": "text/html"}).text
        assert 'href="/sign-in"' in text and "<nav" not in text

    def test_the_address_is_not_repeated_as_markup(self, page: TestClient) -> None:
        text = page.get("/<img src=x>", headers={"Accept": "text/html"}).text
        assert "<img" not in text


class TestOtherTenants:
    def test_they_see_their_own(self, world: World, visit: Visit) -> None:
        other = visit(world.other)
        assert [each["id"] for each in other.get("/subscriptions.json").json()["items"]] == ["secret-plan"]
        assert [each["id"] for each in other.get("/events.json").json()["items"]] == ["acme-event"]
        assert [each["event_id"] for each in other.get("/feed.json").json()["items"]] == ["acme-event"]
        assert [each["event_id"] for each in other.get("/dead-letters.json").json()["items"]] == ["worse"]
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

    def test_pages_for_administrators_are_for_them(self, world: World, visit: Visit) -> None:
        world.service.accounts.set_rights("third", TenantRights())
        _, admin = world.service.accounts.new_token("third", ["admin"])
        _, subscriber = world.service.accounts.new_token("default", ["subscribe"])
        may = {(world.token, "/tokens"), (world.token, "/tenants"), (admin, "/tokens")}
        for token in (world.token, admin, subscriber, world.other):
            for where in ("/tokens", "/tenants"):
                wanted = 200 if (token, where) in may else 403
                found = visit(token).get(where)
                assert (found.status_code, visit(token).get(twin_of(where)).status_code) == (wanted, wanted)
                assert (f'href="{where}"' in visit(token).get("/").text) is (wanted == 200)
        assert [each["label"] for each in visit(admin).get("/tokens.json").json()["items"]] == [""]
        assert visit(admin).get("/tokens.json").json()["tenants"] == ["third"]

    def test_nothing_of_one_is_on_a_page_of_the_other(self, world: World, visit: Visit) -> None:
        pages = ("/", "/subscriptions", "/feed", "/events", "/dead-letters", "/statistics", "/subscriptions/new")
        for where in (*pages, "/events/new", "/event-types"):
            theirs, ours = visit(world.other).get(where).text, visit(world.token).get(where).text
            assert "secret-plan" not in ours and "acme-event" not in ours, where
            assert "cheap" not in theirs and "hostile" not in theirs and "e1" not in theirs.split(), where
