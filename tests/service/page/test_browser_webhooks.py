"""A real browser: a paused webhook is seen and resumed, and what failed is replayed, by buttons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.client.server import Served, serving
from tests.service.page.test_browser_pages import Visitor
from tests.service.webhooks.receiver import Receiver, after_handshake, answering, receiving, until

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = pytest.mark.slow

_WAIT_MS = 30_000


@pytest.fixture
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    options: dict[str, Any] = {"webhook_attempts": 1, "webhook_pause_after": 2, "webhook_base_seconds": 0.01}
    with serving(tmp_path_factory.mktemp("service"), webhook_networks=("127.0.0.1/32",), **options) as made:
        yield made


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


def test_a_webhook_is_resumed_and_what_failed_is_replayed(
    served: Served, browser: Any, receiver: Receiver
) -> None:
    expect.set_options(timeout=_WAIT_MS)
    me = Visitor(served, browser, served.new_tenant())
    receiver.always["/hook"] = after_handshake(answering(500))
    me.subscribe("s", "x >= 0", delivery={"kind": "webhook", "url": receiver.url("/hook")})
    feed = me.go("/feed")
    expect(feed.locator("#live")).to_contain_text("Live")
    me.publish(*[{"id": f"e{number}", "x": number} for number in range(5)])
    served.match()
    for _ in range(2):  # by the script, and by the server
        expect(feed.locator("#matches .state.paused")).to_have_count(3)
        expect(feed.locator("#matches .state.failed")).to_have_count(2)
        expect(feed.locator("#matches [title='the receiver answered 500']")).to_have_count(2)
        expect(feed.locator("#matches .state")).to_have_count(5)
        feed.reload()
    page = me.go("/subscriptions/s")
    expect(page.locator("#webhook .state.paused")).to_have_count(1)
    expect(page.locator("#webhook")).to_contain_text("3 notifications are not delivered: the endpoint is paused")
    page.reload()  # the button is not among what follows the service by itself
    expect(page.locator("#recent .state.paused")).to_have_count(3)
    overview = me.go("/")
    expect(overview.locator("#figures")).to_contain_text("Webhooks paused")

    del receiver.always["/hook"]
    page = me.go("/subscriptions/s")
    page.get_by_role("button", name="Resume the webhook").click()
    expect(page.locator("#recent .state.delivered")).to_have_count(3)
    expect(page.locator("#webhook .state.confirmed")).to_have_count(1)

    page = me.go("/failed-deliveries")
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_label("Subscription").fill("other")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("tbody tr")).to_have_count(0)
    page = me.go("/failed-deliveries?subscription=s")
    page.get_by_role("button", name="Replay all of these").click()
    expect(page.locator("#said")).to_have_text("2 are tried again.")
    until(lambda: len(set(receiver.ids("/hook"))) == 5 and not served.service.webhooks.parked_deliveries())
    me.context.close()
    assert me.troubles == []
