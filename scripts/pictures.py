"""Takes the pictures of the README: the report of a demo, in light and in dark.

`make demo` first; then `.venv/bin/python scripts/pictures.py`. A browser is needed: Chromium of the system.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "images"
WIDTH, SHOWN_WIDTH = 760, 720
"""Of the window, and of the picture in the README: the letters of charts stay legible, 10 pixels at least."""
_HEIGHT = 880
_WITHOUT_TABLES = """() => document.querySelectorAll("section").forEach((each) => {
  if (each.querySelector("h2")?.textContent === "The run") each.remove();
})"""
"""The tables of the run are long: without them the charts are in the picture, too."""


def main(report: Path) -> None:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        for scheme in ("light", "dark"):
            page = browser.new_page(
                viewport={"width": WIDTH, "height": _HEIGHT}, color_scheme=scheme, device_scale_factor=2
            )
            page.goto(report.resolve().as_uri())
            page.evaluate(_WITHOUT_TABLES)
            page.screenshot(path=FOLDER / f"report-{scheme}.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "artifacts" / "demo" / "report.html")
