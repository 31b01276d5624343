"""The gallery: each example has a folder, a page that keeps to one form, and a picture of what it gives today."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from xml.etree import ElementTree

import onnx
import pytest

from scripts.gallery import EXAMPLES, PAGES, PICTURES
from scripts.plots import LETTER_HEIGHT, WIDTH
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
    assert drawn == (PAGES / f"{name}.svg").read_text("utf-8"), "python -m scripts.gallery --write"
    ElementTree.fromstring(drawn)
    assert "prefers-color-scheme:dark" in drawn
    assert f'viewBox="0 0 {WIDTH} ' in drawn
    assert min(map(int, re.findall(r"(\d+)px", drawn))) >= LETTER_HEIGHT, "letters are large enough on a phone"


@pytest.mark.parametrize("name", NAMES)
def test_a_page_asks_a_question_shows_its_picture_and_names_its_limits(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text("utf-8")
    assert re.match(r"# [^\n]+\?\n\n\w", page)
    assert f"]({name}.svg)" in page
    assert f"cd examples/{name}\n" in page
    assert "\n## Limits\n" in page
    assert (EXAMPLES / name).is_dir()
    assert f"]({name}.md)" in (PAGES / "index.md").read_text("utf-8")


def test_every_picture_has_its_page() -> None:
    assert set(NAMES) == set(PICTURES)


@pytest.mark.slow
def test_the_model_of_the_fraud_rules_is_what_its_script_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES / "fraud")
    made = runpy.run_path(str(EXAMPLES / "fraud" / "train.py"))["train"]()
    shipped = onnx.load(EXAMPLES / "fraud" / "risk.onnx")
    onnx.checker.check_model(shipped)
    # Weights depend on the order in which a processor sums up, the layers do not.
    assert list(made.graph.node) == list(shipped.graph.node)
    assert [each.dims for each in made.graph.initializer] == [each.dims for each in shipped.graph.initializer]
