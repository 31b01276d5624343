"""The gallery: each example has a folder, a page that keeps to one form, and a picture of what it gives today."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from scripts.gallery import EXAMPLES, PAGES, PICTURES
from tests.operators.recording import operators_as_before

NAMES = sorted(page.stem for page in PAGES.glob("*.md") if page.stem != "index")


@pytest.fixture(autouse=True)
def _installed_as_before() -> Iterator[None]:
    with operators_as_before():
        yield


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_picture_is_what_the_example_gives(name: str) -> None:
    drawn = PICTURES[name]()
    assert drawn == (PAGES / f"{name}.svg").read_text("utf-8"), "python scripts/gallery.py --write"
    ElementTree.fromstring(drawn)
    assert "prefers-color-scheme:dark" in drawn


@pytest.mark.parametrize("name", NAMES)
def test_a_page_asks_a_question_shows_its_picture_and_names_its_limits(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text("utf-8")
    assert re.match(r"# [^\n]+\?\n\n\w", page)
    assert f"]({name}.svg)" in page
    assert f"cd examples/{name}\n" in page
    assert "\n## Limits\n" in page
    assert (EXAMPLES / name).is_dir()
    assert f"]({name}.md)" in (PAGES / "index.md").read_text("utf-8")
