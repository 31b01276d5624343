"""A running service for each file; tests keep out of each other's way by having a tenant each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from tests.service.api.running import Running, Tenant, running

ONE_DATABASE = {"test_openapi", "test_middleware", "test_connection", "test_operations"}
"""Files about requests and answers as such, whatever is behind them."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests of each route on both databases."""
    if "served" in metafunc.fixturenames and metafunc.module.__name__.rpartition(".")[2] not in ONE_DATABASE:
        metafunc.parametrize("served", ["sqlite", "postgresql"], indirect=True, scope="module")


@pytest.fixture(scope="module")
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, new_schema: Callable[[], str]
) -> Iterator[Running]:
    """A service with the settings that it has by itself, on SQLite or PostgreSQL."""
    databases: dict[str, str] = {}
    if getattr(request, "param", "sqlite") == "postgresql":
        databases = dict.fromkeys(("store", "feed", "inbox"), new_schema())
    with running(tmp_path_factory.mktemp("service"), **databases) as made:
        yield made


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Starts a service with other settings."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(running(tmp_path / "service", **settings))


@pytest.fixture
def tenant(served: Running) -> Tenant:
    """A tenant of the test's own."""
    return served.tenant()


@pytest.fixture
def operator(served: Running) -> httpx2.Client:
    """The administrator of the service."""
    return served.client(served.token("admin"))
