"""A real browser at the real service: sign in, subscribe, publish, watch the match arrive, explain it, cancel."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PICTURES = ROOT / "artifacts" / "screenshots"
_START_SECONDS = 600.0
_WAIT_MS = 60_000


@dataclass(frozen=True)
class Running:
    """A service that listens."""

    url: str
    token: str


@pytest.fixture(scope="module")
def service(spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """`tamis serve`, ready to match, ended as an operator would end it."""
    folder = tmp_path_factory.mktemp("service")
    command = [sys.executable, "-m", "tamis", "serve", "--data", str(folder / "data"), "--port", "0"]
    command += ["--set", "master=local[1]", "--set", "memory=1g"]
    log = folder / "log"
    with log.open("wb") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=folder)
    said: list[str] = []
    assert process.stdout is not None
    reader = threading.Thread(target=said.extend, args=(process.stdout,), daemon=True)
    reader.start()
    try:
        url = _wait_for(lambda: _said(said, r"listens at (http://[^ ,]+)"), process, log)
        token_file = Path(_wait_for(lambda: _said(said, r"token is in (.+)"), process, log))
        _wait_for(lambda: _is_ready(url), process, log)
        yield Running(url, token_file.read_text().strip())
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join(10)
        process.stdout.close()


def _said(lines: list[str], pattern: str) -> str:
    found = re.search(pattern, "".join(lines))
    return found.group(1).strip() if found else ""


def _is_ready(url: str) -> str:
    try:
        with urllib.request.urlopen(f"{url}/ready", timeout=5):
            return url
    except (urllib.error.URLError, OSError):
        return ""


def _wait_for(look: object, process: subprocess.Popen[str], log: Path) -> str:
    assert callable(look)
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if found := look():
            return str(found)
        assert process.poll() is None, f"the service ended: {log.read_text()[-3_000:]}"
        threading.Event().wait(0.1)
    msg = f"the service is not ready after {_START_SECONDS} s: {log.read_text()[-3_000:]}"
    raise AssertionError(msg)


def test_from_the_first_sign_in_to_the_last_goodbye(service: Running, browser: object) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    context = browser.new_context(viewport={"width": 1280, "height": 900})  # type: ignore[attr-defined]
    page = context.new_page()
    page.set_default_timeout(_WAIT_MS)
    expect.set_options(timeout=_WAIT_MS)
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda said: troubles.append(said.text) if "Content Security" in said.text else None)

    def picture(name: str) -> None:
        page.screenshot(path=PICTURES / f"{name}.png", full_page=True)

    # Sign in; the page that was asked for comes after it.
    page.goto(f"{service.url}/subscriptions/new")
    expect(page).to_have_url(re.compile(r"/sign-in\?next="))
    page.get_by_label("Token").fill("not a token")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not a token")
    page.get_by_label("Token").fill(service.token)
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{service.url}/subscriptions/new")
    picture("1-signed-in")

    # An error is underlined while typing, in the right place even behind a character of two halves.
    condition = page.get_by_label("Condition")
    condition.press_sequentially("name = '😀' AND price < = 300")
    mark = page.locator("#under mark.error")
    expect(mark.first).to_have_text("=")
    assert page.locator("#under").text_content().split("=")[0] == "name "
    assert page.evaluate("document.querySelector('#under mark').previousSibling.textContent").endswith("price < ")
    expect(page.locator("#findings li.error")).to_have_count(1)
    picture("2-an-error-underlined")

    # Put right, it is no error any more; and it can be subscribed.
    condition.fill("price < 300 AND brand = 'Lumen'")
    expect(page.locator("#under mark")).to_have_count(0)
    expect(page.locator("#count")).to_have_text("There are no events of this type to try it on.")
    page.get_by_label("Event, as JSON").fill('{"price": 250, "brand": "Orion"}')
    expect(page.locator("#why .part.no")).to_have_count(2)
    expect(page.locator("#why .part.yes")).to_have_count(1)
    page.get_by_label("Id").fill("bargains")
    picture("3-tried-on-an-event")
    page.get_by_role("button", name="Subscribe").click()
    expect(page.get_by_role("heading", name="Subscribed: bargains")).to_be_focused()
    ticket = page.get_by_label("Ticket").input_value()
    assert len(ticket) > 30
    picture("4-the-ticket")

    # Watch, publish, and see the match arrive without doing anything.
    page.goto(f"{service.url}/feed")
    expect(page.locator("#live")).to_contain_text("Live")
    _publish(service, [{"id": "lamp-1", "price": 250, "brand": "Lumen"}, {"id": "lamp-2", "price": 999}])
    row = page.locator("#matches tbody tr", has_text="lamp-1")
    expect(row).to_have_count(1)
    picture("5-the-match-arrives")

    # A pause keeps what comes, and lets it go after it.
    page.get_by_role("button", name="Pause").click()
    _publish(service, [{"id": "lamp-3", "price": 1, "brand": "Lumen"}])
    expect(page.locator("#live")).to_have_text("Paused; 1 waiting.")
    expect(page.locator("#matches tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#matches tbody tr")).to_have_count(2)

    # Explain it, and why the other event did not match.
    row.get_by_role("link", name="why").click()
    expect(page.locator(".part.yes")).to_have_count(3)
    picture("6-explained")
    page.goto(f"{service.url}/events/lamp-2?subscription=bargains")
    expect(page.locator(".part.no").first).to_be_visible()
    picture("7-why-not")

    # The condition is counted on what was published.
    page.goto(f"{service.url}/subscriptions/new?like=bargains")
    expect(page.locator("#count")).to_have_text("2 of the last 3 events would match.")

    # The overview knows of the stream's batches by itself.
    page.goto(service.url)
    expect(page.locator("#stream")).to_contain_text("running")
    expect(page.locator("#broadest")).to_contain_text("bargains")
    picture("8-overview")
    page.goto(f"{service.url}/statistics")
    expect(page.locator("#snapshot")).to_contain_text("Segments of version")
    picture("9-statistics")

    # Cancel with the ticket that the browser has kept, by keyboard.
    page.goto(f"{service.url}/subscriptions/bargains")
    expect(page.locator("#held")).to_have_text("This browser has its ticket.")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    cancel = page.get_by_role("button", name="Cancel subscription")
    expect(cancel).to_be_enabled()
    cancel.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    picture("10-cancel")
    page.get_by_role("dialog").get_by_role("button", name="Cancel subscription").press("Enter")
    expect(page).to_have_url(f"{service.url}/subscriptions")
    expect(page.get_by_text(re.compile("No subscription"))).to_be_visible()
    page.goto(f"{service.url}/subscriptions/bargains")
    expect(page.get_by_text("This subscription has ended")).to_be_visible()
    picture("11-ended")

    # An administrator renews and cancels what others have, without their tickets; both are on record.
    _post(service, "/v1/subscriptions", {"id": "theirs", "condition": "price = 1"})
    page.goto(f"{service.url}/subscriptions/theirs")
    expect(page.locator("#held")).to_have_text("As an administrator you need no ticket.")
    page.get_by_role("button", name="Renew").click()
    expect(page.locator("#history")).to_contain_text("renew")
    expect(cancel).to_be_enabled()
    cancel.click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel subscription").click()
    expect(page).to_have_url(f"{service.url}/subscriptions")
    page.goto(f"{service.url}/subscriptions/theirs")
    expect(page.locator("#history")).to_contain_text("remove")

    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(f"{service.url}/sign-in")
    assert troubles == []
    context.close()


def _publish(service: Running, events: list[dict[str, object]]) -> None:
    _post(service, "/v1/events", events)


def _post(service: Running, path: str, body: object) -> None:
    headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{service.url}{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status in (201, 202)
