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

_OVERLAPS = """() => [...document.querySelectorAll(".chart svg")].flatMap((chart) => {
  const texts = [...chart.querySelectorAll("text")];
  const boxes = texts.map((text) => [text.textContent, text.getBoundingClientRect()]);
  return boxes.flatMap(([one, a], place) => boxes.slice(place + 1).filter(([, b]) =>
    a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 4 && b.top < a.bottom - 4,
  ).map(([other]) => `${one} and ${other}`));
})"""
"""Pairs of labels that cover each other; a few pixels of a line's height are empty."""


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
    """What axe finds serious on a page, whether it is wider than its window, and labels of charts that overlap."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe
    found = axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    troubles = [
        f"{name}: {each['id']}: {each['nodes'][0]['html'][:200]}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
    if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
        troubles.append(f"{name} is wider than a phone")
    troubles += [f"{name}: labels of a chart overlap: {pair}" for pair in page.evaluate(_OVERLAPS)]
    return troubles
