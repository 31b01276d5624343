"""Every test of the store runs on both databases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tamis.store import Store


@pytest.fixture
def url(database_url: str) -> str:
    return database_url


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.open(url) as store:
        yield store
