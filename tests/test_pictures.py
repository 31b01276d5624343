"""The picture of the README can be read: letters of its charts are at least 10 pixels high there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scripts.pictures import ROOT, SHOWN_WIDTH, WIDTH
from tamis.report import page
from tests.browsers import browser
from tests.reports import random_reports

__all__ = ["browser"]

_HEIGHTS = """all => all.map((each) => parseFloat(getComputedStyle(each).fontSize) * each.getScreenCTM().a)"""


@pytest.mark.slow
def test_letters_of_charts_are_10_pixels_high_in_the_readme(browser: Any, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    report.write_text(page(random_reports(1, 20), title="tamis demo", output="out"), "utf-8")
    window = browser.new_page(viewport={"width": WIDTH, "height": 900})
    window.goto(report.as_uri())
    heights = window.eval_on_selector_all(".chart text", _HEIGHTS)
    window.close()
    assert len(heights) > 20
    assert min(heights) * SHOWN_WIDTH / WIDTH >= 10


def test_the_readme_shows_it_in_that_width() -> None:
    assert f'src="docs/images/report-light.png" width="{SHOWN_WIDTH}"' in (ROOT / "README.md").read_text("utf-8")
