"""A running service for each file; tests keep out of each other's way by having a tenant each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from tests.service.api.running import Running, Tenant, running


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service with the settings that it has by itself."""
    with running(tmp_path_factory.mktemp("service")) as made:
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
