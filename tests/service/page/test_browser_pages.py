"""A real browser at the pages: each does what it is for, by keyboard too, and whatever people write in it.

The service is real, and so is matching; only Spark is left out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urljoin, urlsplit

import pytest

import tamis.service.page as page_package
from tamis.client import Client, ClientError
from tamis.events.event_type import EventType
from tamis.service.accounts import DEFAULT_TENANT
from tamis.service.api.auth import COOKIE
from tamis.service.page.links import address, with_query
from tamis.service.page.routes import PAGES
from tamis.service.supervisor import Supervisor
from tests.browsers import troubles_of
from tests.client.server import Served, serving
from tests.service.page.worlds import World

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = pytest.mark.slow

_WAIT_MS = 30_000
TRACE = "x-evil"
HOSTILE = (
    "</textarea></title><x-evil><script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)><x-evil a='",
    "javascript:alert(1)//x-evil{{ 7*7 }}${7*7}<!--",
    "x-evil \u202egnirts\u2066 \u200b\u2028\ufeff \x01\x1b[31m\x7f \\u0000 %00 \\",
    "x-evil \U0001f469\u200d\U0001f680 Z\u0351\u0352\u0353\u0310\u0311 \ufdfd é \n\t &amp;lt;b&gt; &#60;",
    "<x-evil>" + "W" * 180,
)
INJECTED = (
    "x-evil, img, iframe, object, embed, base, style, script:not([src^='/static/']), [onerror], [onload], "
    "[onclick], a[href^='javascript:' i]"
)


def press(button: Any) -> None:
    """Press a button by keyboard, once its script listens."""
    expect(button).to_be_enabled()
    button.press("Enter")


class Visitor:
    """A browser that is signed in for a tenant, and everything that it complained about.

    Attributes:
        served: The service.
        tenant: Whose pages are shown.
        page: Of Playwright.
        troubles: Errors of scripts, messages of the console, dialogs, and requests for other hosts.
        refusals: Statuses that the service is to answer with; the console mentions each.
    """

    def __init__(self, served: Served, browser: Any, tenant: str, *roles: str) -> None:
        self.served = served
        self.tenant = tenant
        self.troubles: list[str] = []
        self.refusals: set[int] = set()
        self.context = browser.new_context(viewport={"width": 1280, "height": 900})
        token = served.token(tenant, *roles)
        self.context.add_cookies([{"name": COOKIE, "value": token, "url": served.url, "sameSite": "Strict"}])
        self.context.set_default_timeout(_WAIT_MS)
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.troubles.append(f"script: {error}"))
        self.page.on("dialog", self._dismiss)
        self.page.on("console", self._note)
        self.page.on(
            "request", lambda asked: None if asked.url.startswith(served.url) else self.troubles.append(asked.url)
        )

    def _note(self, said: Any) -> None:
        is_refusal = re.search(r"responded with a status of (\d+)", said.text)
        if said.type in ("error", "warning") and not (is_refusal and int(is_refusal[1]) in self.refusals):
            self.troubles.append(f"console: {said.text}")

    def _dismiss(self, dialog: Any) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def go(self, path: str) -> Any:
        self.page.goto(self.served.url + path)
        return self.page

    def subscribe(self, id: str, condition: str, **more: Any) -> str:
        return self.served.service.subscriptions.subscribe(
            self.tenant, {"id": id, "condition": condition, **more}
        ).ticket

    def publish(self, *events: dict[str, Any], type: str = "") -> None:
        query = f"?event_type={type}" if type else ""
        answer = self.context.request.post(
            f"{self.served.url}/v1/events{query}", data=list(events), headers={"Origin": self.served.url}
        )
        assert answer.status == 202, answer.text()

    def declare(self, **described: Any) -> None:
        self.served.service.subscriptions.declare(self.tenant, EventType.from_dict(described), dry_run=False)
        self.served.service.forget_types()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("service"), webhook_networks=("127.0.0.1/32",)) as served:
        yield served


@pytest.fixture
def visitor(served: Served, browser: Any) -> Iterator[Callable[..., Visitor]]:
    """Makes visitors of new tenants; none of their pages may have complained."""
    made: list[Visitor] = []
    expect.set_options(timeout=_WAIT_MS)

    def visit(*roles: str, tenant: str = "") -> Visitor:
        made.append(Visitor(served, browser, tenant or served.new_tenant(), *roles))
        return made[-1]

    yield visit
    for each in made:
        each.context.close()
        assert each.troubles == []


def test_a_page_stops_saying_that_the_stream_warms_up(
    served: Served, visitor: Callable[..., Visitor], monkeypatch: pytest.MonkeyPatch
) -> None:
    me = visitor()
    me.refusals.add(503)
    supervisor = Supervisor(served.service.settings, missing=lambda: None)
    supervisor.waits_for = "Spark to start"
    monkeypatch.setattr(served.service, "supervisor", supervisor)
    head, editor = me.context.new_page(), me.go("/subscriptions/new")
    head.goto(f"{served.url}/")
    expect(head.locator("#stream")).to_contain_text("waits for Spark to start")
    for each in (head, editor):
        expect(each.locator("#warming")).to_have_text("warming up")
    supervisor.state, supervisor.waits_for = "running", None
    for each in (head, editor):
        expect(each.locator("#warming")).to_have_count(0)
    expect(head.locator("#stream")).to_contain_text("running")


def test_the_editor_explains_with_an_event_of_the_chosen_type(visitor: Callable[..., Visitor]) -> None:
    me = visitor()
    me.declare(name="camera", attributes={"price": "int", "brand": "string"})
    me.declare(name="lens", attributes={"focus": "int"})
    me.publish({"id": "c1", "price": 250, "brand": "Lumen"}, type="camera")
    me.publish({"id": "plain", "price": 1})
    page = me.go("/subscriptions/new?event_type=camera&condition=price+%3C+300")
    expect(page.get_by_label("Explain it for")).to_have_value("c1")
    expect(page.locator("#count")).to_have_text("1 of the last 1 events would match.")
    expect(page.locator("#why .part.yes")).to_have_count(1)
    page.get_by_label("Event type").select_option("event")
    expect(page.get_by_label("Explain it for")).to_have_value("plain")
    expect(page.locator("#why")).to_contain_text("price = 1")
    page.get_by_label("Event type").select_option("lens")
    expect(page.get_by_label("Explain it for")).to_have_value("")
    expect(page.locator("#findings li.error")).to_have_count(1)
    expect(page.locator("#why")).to_have_text("The condition has an error.")


def test_only_a_valid_condition_would_match(visitor: Callable[..., Visitor]) -> None:
    me = visitor()
    me.publish({"id": "e1", "price": 250})
    page = me.go("/subscriptions/new")
    condition, count = page.get_by_label("Condition"), page.locator("#count")
    condition.fill("price < 300")
    expect(count).to_have_text("1 of the last 1 events would match.")
    expect(page.locator("#why .part.yes")).to_have_count(1)
    condition.press_sequentially(" AND")
    expect(page.locator("#findings li.error")).to_have_count(1)
    expect(count).to_be_empty()
    expect(page.locator("#why .part")).to_have_count(0)
    condition.fill("")
    expect(page.locator("#findings li")).to_have_count(0)
    expect(page.locator("#why")).to_contain_text("Write a condition")


def test_a_condition_is_written_in_another_language(visitor: Callable[..., Visitor]) -> None:
    me = visitor()
    me.publish({"id": "e1", "price": 250})
    page = me.go("/subscriptions/new")
    page.get_by_label("Condition").fill('{"price": [250]}')
    expect(page.locator("#findings li.error")).not_to_have_count(0)
    page.get_by_label("Language").select_option("eventbridge")
    expect(page.locator("#count")).to_have_text("1 of the last 1 events would match.")
    expect(page.locator("#findings li")).to_have_count(0)
    page.get_by_label("Id", exact=False).first.fill("rule")
    press(page.get_by_role("button", name="Subscribe"))
    expect(page.get_by_role("heading", name="Subscribed: rule")).to_be_visible()
    assert me.served.service.subscriptions.get(me.tenant, "rule").dialect == "eventbridge"
    me.go("/subscriptions/rule")
    expect(page.get_by_text("The condition is written in eventbridge")).to_be_visible()
    me.go("/subscriptions/edit?id=rule")
    expect(page.get_by_label("Language")).to_have_value("eventbridge")


def test_a_subscription_is_edited_with_its_ticket(visitor: Callable[..., Visitor]) -> None:
    me = visitor("subscribe")
    ticket = me.subscribe("cheap", "price < 300", label="bargains", priority=2)
    me.refusals = {403, 422}
    page = me.go("/subscriptions/cheap")
    page.get_by_role("link", name="Edit").click()
    expect(page.get_by_role("heading", name="Edit cheap")).to_be_visible()
    expect(page.get_by_label("Priority")).to_have_value("2")
    page.get_by_label("Condition").fill("price < 200")
    page.get_by_label("Label").fill("")
    page.get_by_label("Ticket").fill("another")
    press(page.get_by_role("button", name="Save"))
    expect(page.get_by_role("alert")).to_contain_text("Not saved: the ticket")
    page.get_by_label("Ticket").fill(ticket)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/subscriptions/cheap$"))
    expect(page.locator("#state")).to_contain_text("revision 2")
    stored = me.served.service.subscriptions.get(me.tenant, "cheap")
    assert (stored.condition, stored.label, stored.priority, stored.revision) == ("price < 200", None, 2, 2)
    # The browser has kept the ticket.
    me.go("/subscriptions/edit?id=cheap")
    expect(page.get_by_label("Ticket")).to_be_hidden()
    page.get_by_label("Condition").fill("price < 100 AND")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("Not saved:")


def test_an_event_is_published_and_shows_what_it_matched(visitor: Callable[..., Visitor]) -> None:
    me = visitor()
    me.refusals = {422}
    me.declare(name="camera", attributes={"price": "int"})
    me.subscribe("cheap", "price < 300", event_type="camera")
    page = me.go("/events")
    page.get_by_role("link", name="Publish an event").press("Enter")
    page.get_by_label("Event type").select_option("camera")
    content, results = page.get_by_label("Event, as JSON"), page.locator("#results")
    publish = page.get_by_role("button", name="Publish")
    content.fill('{"id": "c1", "price": 12345678901234567890}')
    press(publish)
    expect(results).to_contain_text("Published 1 event.")
    expect(results).to_contain_text("Waiting for the stream")
    me.served.match()
    expect(results).to_contain_text("It could not be matched")
    [found] = me.served.service.inbox.recent(me.tenant, limit=1)
    assert b"12345678901234567890" in found.value, "as it was written"
    content.fill('[{"id": "c2", "price": 1}, {"id": "c3", "price": 900}, {"id": "c1", "price": 1}]')
    publish.click()
    expect(results).to_contain_text("Published 3 events; 1 of them came before under the same id.")
    me.served.match()
    matched = page.locator("article", has_text="c2")
    expect(matched).to_contain_text("It matched 1 subscription:")
    expect(matched).to_contain_text("price < 300")
    expect(page.locator("article", has_text="c3")).to_contain_text("No subscription matched it.")
    content.fill('{"price": ')
    publish.click()
    expect(page.get_by_role("alert")).to_contain_text("Not published: nothing was published")
    matched.get_by_role("link", name="cheap").click()
    expect(page.get_by_role("heading", name="cheap")).to_be_visible()


def test_an_event_type_is_checked_and_declared(visitor: Callable[..., Visitor]) -> None:
    me = visitor("admin")
    me.refusals = {422}
    page = me.go("/event-types")
    page.get_by_label("Name").fill("camera")
    content, said = page.get_by_label("Description, as JSON"), page.get_by_role("alert")
    content.fill('{"attributes": {"price": "nothing"}}')
    page.get_by_role("button", name="Check").click()
    expect(said).to_contain_text("Not valid:")
    content.fill('{"attributes": {"price": "int", "brand": "string"}}')
    page.get_by_role("button", name="Check").click()
    expect(said).to_have_text("It is valid, and refuses no subscription.")
    assert "camera" not in me.served.service.subscriptions.event_types(me.tenant)
    press(page.get_by_role("button", name="Declare"))
    expect(page).to_have_url(re.compile("/event-types/camera$"))
    me.subscribe("cheap", "price < 3 AND brand = 'x'", event_type="camera")
    content.fill('{"attributes": {"price": "int"}}')
    page.get_by_role("button", name="Check").click()
    expect(said).to_have_text("It would refuse 1 subscription:")
    expect(page.locator("#refused")).to_contain_text("cheap: ")
    page = me.go("/event-types")
    expect(page.get_by_role("button", name="Drop")).to_have_count(0)
    me.served.service.subscriptions.unsubscribe(me.tenant, "cheap")
    page.reload()
    page.get_by_role("button", name="Drop camera").click()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Drop camera").click()
    press(page.get_by_role("button", name="Drop event type"))
    expect(page.get_by_role("link", name="camera", exact=True)).to_have_count(0)
    assert "camera" not in me.served.service.subscriptions.event_types(me.tenant)


def test_a_token_is_made_and_revoked(visitor: Callable[..., Visitor]) -> None:
    me = visitor("admin")
    accounts = me.served.service.accounts
    page = me.go("/tokens")
    page.get_by_label("publish").check()
    page.get_by_label("subscribe").uncheck()
    page.get_by_label("Label").fill("the shop")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="The new token")).to_be_focused()
    text = page.get_by_role("textbox", name="Token").input_value()
    made = accounts.caller(text)
    assert made is not None and (made.tenant, *made.roles) == (me.tenant, "publish")
    page.get_by_role("link", name="Done").click()
    row = page.locator("tr", has_text="the shop")
    press(row.get_by_role("button", name="Revoke"))
    expect(page.get_by_role("dialog").get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Enter")
    expect(row).to_have_count(1)
    row.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke token").click()
    expect(page.get_by_role("alert")).to_have_text("The token is revoked.")
    expect(row).to_have_count(0)
    assert accounts.caller(text) is None


def test_a_tenant_is_made_and_changed(visitor: Callable[..., Visitor]) -> None:
    me = visitor("admin", tenant="default")
    accounts = me.served.service.accounts
    page = me.go("/tenants")
    page.get_by_label("Name").fill("made-here")
    page.get_by_label("Events per second").fill("2.5")
    page.get_by_label("Operators").fill("none")
    press(page.get_by_role("button", name="Create tenant"))
    row = page.locator("tr", has_text="made-here")
    expect(row).to_have_count(1)
    rights = accounts.rights("made-here")
    assert rights is not None
    assert (rights.subscriptions, rights.events_per_second, rights.operators) == (1_000_000, 2.5, ())
    row.get_by_role("link", name="Change").click()
    save = page.get_by_role("button", name="Save")
    expect(save).to_be_enabled()  # the page has changed: the one before has the same fields
    expect(page.get_by_label("Operators")).to_have_value("none")
    page.get_by_label("Subscriptions").fill("")
    save.click()
    expect(page.get_by_role("heading", name="New tenant")).to_be_visible()
    changed = accounts.rights("made-here")
    assert changed is not None and (changed.subscriptions, changed.operators) == (None, ())


def test_matches_come_with_label_and_condition(visitor: Callable[..., Visitor]) -> None:
    me = visitor()
    me.subscribe("cheap", "price < 300", label="bargains")
    page = me.go("/feed")
    expect(page.locator("#live")).to_contain_text("Live")
    me.publish({"id": "e1", "price": 1, "kept": {"brand": ["<b>", 2]}})
    me.served.match()
    row = page.locator("#matches tbody tr")
    expect(row).to_have_count(1)
    arrived = row.inner_html()
    assert "bargains" in arrived and "price &lt; 300" in arrived
    assert '{"kept":{"brand":["&lt;b&gt;",2]}}' in arrived
    page.reload()
    expect(row).to_have_count(1)
    assert "".join(row.inner_html().split()) == "".join(arrived.split()), "the server renders what the script does"


@pytest.fixture(scope="module")
def tenant(served: Served) -> str:
    """A tenant with hostile text wherever it may write some."""
    tenant = served.new_tenant()
    with Client(served.url, token=served.token(tenant)) as client:
        for number, text in enumerate(HOSTILE):
            name = text.replace("/", "")
            # The text itself, and with every character escaped that a literal gives a meaning.
            literal = text.replace("\\", "\\\\").replace("'", "\\'")
            attributes = {"n": "int", name: {"type": "string", "values": [text]}}
            client.declare({"name": name, "attributes": attributes})
            client.subscribe(f"name = '{literal}'", id=name, label=text, event_type="event")
            client.subscribe(f"`{name.replace('`', '``')}` = '{literal}'", id=f"typed {number}", event_type=name)
            hook = f"http://127.0.0.1:9/{quote(text)}"
            client.subscribe(f"n = {number}", id=f"hook {number}", webhook=hook, event_type="event")
            client.publish({"id": text, "name": text, text: [text], "n": number}, type="event")
            client.publish({"id": f"good {text}", name: text}, type=name)
            client.publish({"id": f"bad {text}", "n": text}, type=name)
            client.create_token("publish", label=text)
            client.advertise(name, f"name = '{literal}'", event_type="event")
    served.match()
    world = World(served.service, "", "", "")
    for number in range(len(HOSTILE)):
        hook = f"{tenant}/hook {number}"
        for found in served.service.feed.before(tenant, None, limit=1, subscription=hook):
            world.park(hook, found.id, found.seq)
    return tenant


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_accessible_and_fit_a_phone(visitor: Callable[..., Visitor], scheme: str) -> None:
    """With data and without: axe finds nothing serious, and nothing but a table scrolls sideways."""
    empty, me = visitor("admin"), visitor("admin")
    me.declare(name="camera", attributes={"price": "int", "brand": "string"})
    me.subscribe("cheap", "price < 300", label="bargains")
    me.subscribe("a-long-name-without-any-space-for-a-subscription", "price < 300 AND price > -1", label="long")
    me.publish({"id": "e1", "price": 1}, {"id": "e2", "price": 900})
    me.publish({"id": "c1", "price": "a lot"}, type="camera")
    with Client(me.served.url, token=me.served.token(me.tenant)) as client:
        client.advertise("few", "price < 1000")
    me.served.match()
    me.subscribe("pair", "price = 1 THEN price = 2 WITHIN INTERVAL '1' HOUR", dialect="composite")
    ids = {"/subscriptions/{id}": "cheap", "/events/{id:path}": "e1", "/event-types/{id}": "camera"}
    found, *_ = me.served.service.feed.before(me.tenant, None, limit=1)
    ids["/notifications/{id}"] = found.id
    places = [each.path for each in PAGES if "{" not in each.path and each.audience != "operator"]
    places += [re.sub(r"\{.*\}", id, path) for path, id in ids.items()] + ["/subscriptions/pair"]
    troubles = []
    for who, paths in ((empty, [place for place in places if place.count("/") == 1]), (me, places)):
        who.page.emulate_media(color_scheme=scheme)
        who.page.set_viewport_size({"width": 390, "height": 844})
        for path in paths:
            page = who.go(path if path != "/subscriptions/edit" else "/subscriptions/edit?id=cheap")
            troubles += troubles_of(page, path)
    assert not troubles, "\n".join(troubles)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_of_the_operator_are_accessible_and_fit_a_phone(browser: Any, tmp_path: Path, scheme: str) -> None:
    """Of a site that is linked to another, and with several tenants."""
    with serving(tmp_path, site="here") as served:
        served.new_tenant()
        me = Visitor(served, browser, DEFAULT_TENANT, "admin")
        link = {"url": "http://127.0.0.1:9", "token": None}
        origin = {"Origin": served.url}
        assert me.context.request.put(f"{served.url}/v1/peers/north", data=link, headers=origin).ok
        me.page.emulate_media(color_scheme=scheme)
        me.page.set_viewport_size({"width": 390, "height": 844})
        troubles = []
        for path in (each.path for each in PAGES if each.audience == "operator"):
            page = me.go(path)
            expect(page.locator("tbody tr")).not_to_have_count(0)
            troubles += troubles_of(page, path)
        me.context.close()
    assert not troubles, "\n".join(troubles)


def test_what_scrolls_sideways_can_be_scrolled_by_keyboard() -> None:
    templates = Path(page_package.__file__).parent / "templates"
    scrolled = [
        (each.name, found)
        for each in templates.glob("*.html")
        for found in re.findall(r'<div class="scroll"[^>]*>', each.read_text("utf-8"))
    ]
    assert len(scrolled) > 10
    assert not [(name, found) for name, found in scrolled if 'tabindex="0" role="group"' not in found]


def test_a_page_without_data_says_what_to_do(visitor: Callable[..., Visitor]) -> None:
    me = visitor("admin")
    for path in ("/", "/subscriptions", "/feed", "/events", "/event-types", "/dead-letters", "/failed-deliveries"):
        empty = me.go(path).locator(".empty:visible")
        expect(empty).not_to_have_count(0)
        for each in empty.all():
            assert each.locator("a, code").count(), f"{path}: {each.inner_text()}"


def test_times_are_in_the_zone_of_the_reader(served: Served, browser: Any) -> None:
    tenant = served.new_tenant()
    context = browser.new_context(timezone_id="Asia/Tokyo")  # nine hours ahead, all year
    context.add_cookies([{"name": COOKIE, "value": served.token(tenant), "url": served.url, "sameSite": "Strict"}])
    page = context.new_page()

    def check() -> None:
        shown = page.locator("time").first
        expect(shown).to_have_attribute("title", re.compile("UTC$"))
        at = datetime.fromisoformat(shown.get_attribute("datetime")) + timedelta(hours=9)
        expect(shown).to_have_text(f"{at:%Y-%m-%d %H:%M:%S}")

    with Client(served.url, token=served.token(tenant)) as client:
        client.subscribe("price < 300", id="cheap")
        page.goto(f"{served.url}/feed")
        expect(page.locator("#live")).to_contain_text("Live")
        client.publish({"id": "e1", "price": 1})
    served.match()
    check()  # a row that came by the stream
    page.goto(f"{served.url}/events/e1")
    check()
    expect(page.locator("#zone")).to_have_text("Times are in Asia/Tokyo")
    page.goto(f"{served.url}/")
    label = page.locator("#activity text[data-at]").first
    at = datetime.fromisoformat(label.get_attribute("data-at")) + timedelta(hours=9)
    expect(label).to_have_text(f"{at:%H:%M:%S}")
    context.close()


class TestHostileText:
    """Whatever people write is text: on every page, in every field, of every script."""

    def test_the_api_answers_what_it_was_given(self, served: Served, tenant: str) -> None:
        with Client(served.url, token=served.token(tenant)) as client:
            labels = {each.label for each in client.subscriptions()}
            assert labels >= {*HOSTILE}
            assert {each.id for each in client.events()} >= {*HOSTILE}
            assert {each.label for each in client.tokens()} >= {*HOSTILE}
            for text in HOSTILE:
                assert client.get(text.replace("/", "")).label == text
                assert client.event(text).event["name"] == text
            dead = [each.original for each in client.dead_letters()]
            assert all(any(json.loads(each)["n"] == text for each in dead) for text in HOSTILE)
            with pytest.raises(ClientError) as refused:
                client.subscribe("x = 1", id="a\0b")
            assert refused.value.status == 422

    def test_every_page_shows_it_as_text(
        self, visitor: Callable[..., Visitor], served: Served, tenant: str
    ) -> None:
        """All pages that can be reached, by every link, and addresses that nobody made."""
        me = visitor("admin", tenant=tenant)
        me.refusals = {404}
        known = ["/", "/docs", "/nowhere/", "/subscriptions?order=slowest"]
        known += [
            f"{folder}{quote(text, safe='')}"
            for text in HOSTILE
            for folder in ("/x/", "/subscriptions/zz", "/events/zz")
        ]
        known += [with_query("/feed", subscription=text) for text in HOSTILE]
        known += [with_query("/subscriptions", search=text) for text in HOSTILE]
        known += [with_query("/subscriptions/new", condition=text, label=text, event=text) for text in HOSTILE]
        shown, similar = 0, Counter[tuple[str, ...]]()
        for place in known:  # which grows
            page = me.go(place)
            assert page.locator(INJECTED).count() == 0, place
            shown += TRACE in page.locator("main").inner_text()
            assert "49" not in page.locator("h1").inner_text(), "a template was evaluated"
            for link in page.eval_on_selector_all(
                "a[href]", "all => all.map((each) => each.getAttribute('href'))"
            ):
                path = urljoin(place, link).partition("#")[0]
                at = urlsplit(path)
                assert at.scheme == at.netloc == "", (place, link)
                # Pages that differ in what they are asked only are the same page, once for each text.
                alike = at.path, *(name for name, _ in parse_qsl(at.query))
                if path not in known and ".json" not in at.path and similar[alike] < len(HOSTILE):
                    similar[alike] += 1
                    known.append(path)
        assert shown > 100
        folders = {"/".join(urlsplit(each).path.split("/")[:2]) for each in known}
        assert folders >= {each.path.partition("/{")[0] for each in PAGES if each.path.count("/") == 1} - {
            "/tenants",
            "/peers",
        }

    def test_scripts_show_it_as_text(self, visitor: Callable[..., Visitor], served: Served, tenant: str) -> None:
        me = visitor("admin", tenant=tenant)
        me.refusals = {422}
        for number, text in enumerate(HOSTILE):
            page = me.go(f"/subscriptions/new?{urlencode({'like': text.replace('/', ''), 'event': text})}")
            expect(page.locator("#why .part.yes")).to_have_count(1)
            assert TRACE in page.locator("#why").inner_text()
            page.get_by_label("Condition").fill(text)
            expect(page.locator("#findings li.error")).not_to_have_count(0)
            assert page.locator(INJECTED).count() == 0

            page = me.go("/feed")
            expect(page.locator("#live")).to_contain_text("Live")
            me.publish({"id": f"again {number} {text}", "name": text})
            me.served.match()
            row = page.locator("#matches tbody tr.new", has_text=f"again {number}")
            expect(row.first).to_be_visible()
            arrived = row.first.inner_text()
            assert TRACE in arrived and not re.search("[\u202e\u2066\u200b\x1b]", arrived)
            assert page.locator(INJECTED).count() == 0
            page.reload()
            expect(page.locator("#live")).to_contain_text("Live")
            same = page.locator("#matches tbody tr", has_text=f"again {number}").first
            assert same.inner_text() == arrived, "the server spells it as the script does"

            page = me.go("/events/new")
            page.get_by_label("Event, as JSON").fill(json.dumps({"id": f"mine {number} {text}", "name": text}))
            page.get_by_role("button", name="Publish").click()
            expect(page.locator("#results")).to_contain_text("Waiting for the stream")
            me.served.match()
            expect(page.locator("#results")).to_contain_text("It matched")
            page.get_by_label("Event, as JSON").fill(text)
            page.get_by_role("button", name="Publish").click()
            expect(page.get_by_role("alert")).to_contain_text("Not published")
            assert page.locator(INJECTED).count() == 0

            page = me.go(address("event-types", text.replace("/", "")))
            page.get_by_label("Description, as JSON").fill('{"attributes": {"n": "int"}}')
            page.get_by_role("button", name="Check").click()
            expect(page.locator("#refused")).to_contain_text(f"typed {number}")
            assert page.locator(INJECTED).count() == 0
