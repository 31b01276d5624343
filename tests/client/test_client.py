"""What the package gives: both clients, their errors, and the records of answers."""

from __future__ import annotations

import importlib

import pytest

import tamis.client
from tamis.client import models


def test_everything_that_is_named_is_there_and_every_record_is_named() -> None:
    assert all(hasattr(tamis.client, name) for name in tamis.client.__all__)
    assert {*models.__all__} <= {*tamis.client.__all__}


def test_without_its_http_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install '\.\[client\]'"):
        importlib.reload(tamis.client)
    monkeypatch.undo()
    importlib.reload(tamis.client)
