"""A running service, a tenant of the test's own in it, and both kinds of clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tamis.client import Client
from tests.client.clients import connected
from tests.client.server import Served, serving
from tests.service.webhooks.receiver import Receiver, receiving

Connect = Callable[..., Client]


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the user's own gets in."""
    for name in ("TAMIS_URL", "TAMIS_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The service of the whole run."""
    settings: dict[str, Any] = {
        "webhook_networks": ("127.0.0.1/32",),
        "webhook_attempts": 1,
        "webhook_base_seconds": 0.01,
    }
    with serving(tmp_path_factory.mktemp("service"), **settings) as served:
        yield served


@pytest.fixture
def served(running: Served) -> Served:
    """The service, with nothing going wrong and nothing asked yet."""
    running.faults.clear()
    running.cuts.clear()
    running.asked.clear()
    return running


@pytest.fixture
def tenant(served: Served) -> str:
    """The test's own: what others do is not to be seen."""
    return served.new_tenant()


@pytest.fixture
def token(served: Served, tenant: str) -> str:
    """It may do everything within the tenant."""
    return served.token(tenant)


@pytest.fixture(params=["sync", "async"])
def connect(request: pytest.FixtureRequest, served: Served, token: str) -> Iterator[Connect]:
    """Makes clients of both kinds; by default of the test's tenant."""
    with ExitStack() as stack:

        def made(url: str = served.url, **settings: Any) -> Client:
            client = connected(request.param, url, **{"token": token, **settings})
            stack.callback(client.close)
            return client

        yield made


@pytest.fixture
def client(connect: Connect) -> Client:
    """A client of each kind."""
    return connect()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Takes webhooks."""
    with receiving() as receiver:
        yield receiver
