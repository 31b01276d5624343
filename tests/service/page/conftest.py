"""What the tests of the page share: the real application, filled, and browsers signed in or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tamis.service.api.app import make_app
from tamis.service.api.auth import COOKIE
from tamis.service.page.page_request import PageRequest, TimedCache
from tests.browsers import browser
from tests.service.page.worlds import ORIGIN, World, fill, make_world

__all__ = ["browser"]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = make_world(tmp_path / "data")
    fill(made)
    yield made
    made.service.close()


@pytest.fixture(scope="package")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A filled service for tests that only look."""
    made = make_world(tmp_path_factory.mktemp("shared"))
    fill(made)
    yield made
    made.service.close()


@pytest.fixture
def ask(shared: World) -> Callable[..., PageRequest]:
    """Makes the request for a page of the shared service, by its administrator."""
    caller = shared.service.accounts.caller(shared.token)
    assert caller is not None

    def make(id: str = "", **query: str) -> PageRequest:
        return PageRequest(shared.service, caller, query, TimedCache(), id)

    return make


@pytest.fixture
def visit(world: World) -> Callable[[str | None], TestClient]:
    """Makes a browser that has a token, or none."""
    app = make_app(world.service)

    def make(token: str | None) -> TestClient:
        client = TestClient(app, base_url=ORIGIN, follow_redirects=False)
        if token is not None:
            client.cookies.set(COOKIE, token)
        return client

    return make


@pytest.fixture
def page(world: World, visit: Callable[[str | None], TestClient]) -> TestClient:
    """A browser of the tenant `default`."""
    return visit(world.token)
