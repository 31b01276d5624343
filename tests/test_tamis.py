"""The public names of `tamis`: each is where it says, and nothing else is."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

import tamis
from tests.conftest import ROOT


@pytest.mark.parametrize("name", sorted({*tamis.__all__} - {"__version__"}))
def test_a_public_name_is_that_of_the_module_that_defines_it(name: str) -> None:
    value = getattr(tamis, name)
    assert getattr(import_module(value.__module__), name) is value


def test_the_version_is_a_release_or_on_the_way_to_one() -> None:
    assert re.match(r"\d+\.\d+\.\d+", tamis.__version__)


def test_what_names_the_version_names_this_one() -> None:
    version = re.escape(tamis.__version__)
    for file, line in {
        "CITATION.cff": rf"^version: {version}$",
        "CHANGELOG.md": rf"^## \[{version}\] - \d{{4}}-\d\d-\d\d$",
        "docs/service.md": rf"^User-Agent: tamis/{version}$",
    }.items():
        assert re.search(line, (ROOT / file).read_text("utf-8"), re.MULTILINE), file


def test_other_names_are_no_attributes() -> None:
    with pytest.raises(AttributeError, match="module 'tamis' has no attribute 'Matchers'"):
        tamis.Matchers  # noqa: B018
