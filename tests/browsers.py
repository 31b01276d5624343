"""A real browser for tests of pages, and what it finds wrong with one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

_CHROMIUM_ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium that Playwright drives."""
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        if os.environ.get("TAMIS_REQUIRE_SERVERS"):
            pytest.fail("Chromium is not on this machine, and everything must run")
        pytest.skip("Chromium is not on this machine")
    with playwright.sync_playwright() as started:
        made = started.chromium.launch(executable_path=chromium, args=list(_CHROMIUM_ARGUMENTS))
        yield made
        made.close()


def troubles_of(page: Any, name: str) -> list[str]:
    """What axe finds serious on a page, and whether the page is wider than its window."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe
    found = axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    troubles = [
        f"{name}: {each['id']}: {each['nodes'][0]['html'][:200]}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
    if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
        troubles.append(f"{name} is wider than a phone")
    return troubles
