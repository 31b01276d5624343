"""What was measured is named by its commit, or by the version of the package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tamis._version import __version__
from tamis.lab.measuring import revision as module
from tamis.lab.measuring.revision import revision


def test_a_checkout_has_a_commit() -> None:
    assert revision() == __version__ or re.fullmatch(r"[0-9a-f]{7,40}\+?", revision())


def test_an_installed_package_has_a_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "_ROOT", tmp_path)
    assert revision() == __version__
