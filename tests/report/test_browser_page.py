"""The page of a run in a real browser: a screen reader finds its way, and it fits a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tamis.progress import RunFailure
from tamis.report import page
from tests.browsers import browser, troubles_of
from tests.report.test_page import FULL
from tests.reports import random_reports, report

__all__ = ["browser"]

PAGES = {
    "a full run": (random_reports(7, 200), FULL),
    "a bare run": ([report(0)], {}),
    "a failed run": ([report(0)], {"failure": RunFailure("delivery", "disk full", 1)}),
}


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible_and_fits_a_phone(browser: Any, tmp_path: Path, scheme: str) -> None:
    """Axe finds nothing serious with all sections open, and nothing but a table scrolls sideways."""
    troubles = []
    for name, (reports, values) in PAGES.items():
        file = tmp_path / f"{name}.html"
        file.write_text(page(reports, title=name, output="out/notifications", **values), "utf-8")  # type: ignore[arg-type]
        shown = browser.new_page(color_scheme=scheme, viewport={"width": 375, "height": 800})
        shown.goto(file.as_uri())
        shown.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        troubles += troubles_of(shown, name)
        shown.close()
    assert not troubles, "\n".join(troubles)
