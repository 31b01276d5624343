"""Webhooks from the command line: listed, resumed when they are paused, and what failed replayed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tamis.client import Client
from tamis.client.retries import Retries
from tests.cli.conftest import Run
from tests.client.server import Served, serving
from tests.service.webhooks.receiver import Receiver, after_handshake, answering, receiving, until


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    options: dict[str, Any] = {"webhook_attempts": 1, "webhook_pause_after": 2, "webhook_base_seconds": 0.01}
    folder = tmp_path_factory.mktemp("service")
    with serving(folder, webhook_networks=("127.0.0.1/32",), **options) as served:
        yield served


@pytest.fixture
def client(running: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A client of a tenant of the test's own, which commands find by the environment."""
    monkeypatch.setenv("TAMIS_URL", running.url)
    monkeypatch.setenv("TAMIS_TOKEN", running.token(running.new_tenant()))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(Retries, "seconds", lambda *_: 0.0)
    with Client() as made:
        yield made


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


def test_a_webhook_that_is_paused_is_listed_resumed_and_replayed(
    run: Run, running: Served, client: Client, receiver: Receiver
) -> None:
    receiver.always["/a"] = after_handshake(answering(500))
    client.subscribe("x >= 0", id="all", webhook=receiver.url("/a"))
    until(lambda: client.webhook("all").state == "confirmed")
    client.publish([{"id": f"e{number}", "x": number} for number in range(5)])
    running.match()
    until(lambda: client.webhook("all").state == "paused")
    [told] = run("client", "webhooks", "--json").json
    assert told | {"subscription_id": "all", "state": "paused", "waiting": 3, "failed": 2, "failures": 2} == told
    shown = run("client", "webhooks", "--state", "paused")
    assert shown.code == 0
    assert shown.out.startswith("all  paused since ")
    assert shown.out.endswith("3 waiting, 2 failed: the receiver answered 500\n")
    lines = run("client", "tail", "--after", "0", "--count", "5").out.splitlines()
    assert [line.partition("[")[2] for line in lines] == ["failed]  x >= 0"] * 2 + ["paused]  x >= 0"] * 3
    first, *_, last = run("client", "tail", "--after", "0", "--count", "5", "--json").json
    assert first["delivery"] == {"state": "failed", "reason": "the receiver answered 500"}
    assert last["delivery"]["reason"].startswith("not delivered: the endpoint is paused")
    assert run("client", "webhooks", "--state", "refused").out == ""
    assert run("client", "webhooks", "--state", "sleeping").code == 1

    receiver.always["/a"] = answering(500)
    refused = run("client", "resume-webhook", "all", "--json")
    assert (refused.code, refused.json[0]["state"]) == (1, "refused")
    del receiver.always["/a"]
    resumed = run("client", "resume-webhook", "all")
    assert (resumed.code, resumed.out.startswith("all  confirmed since ")) == (0, True)
    until(lambda: client.webhook("all").waiting == 0)
    assert run("client", "resume-webhook", "all").code == 1, "it is not paused"
    assert run("client", "resume-webhook", "nothing").code == 1

    first, second = client.failed_deliveries(subscription="all")
    assert run("client", "replay", "--until", "1h", "--json").json == [{"replayed": 0, "left": 0}]
    assert run("client", "replay", first.notification_id).code == 0
    until(lambda: [*client.failed_deliveries()] == [second])
    again = run("client", "replay", "--subscription", "all", "--since", "1h")
    assert (again.code, again.out) == (0, "1 failed deliveries are tried again\n")
    until(lambda: [*client.failed_deliveries()] == [])
    assert client.notification(second.notification_id).delivery is not None
    assert run("client", "replay", "nothing").code == 1
    assert run("client", "replay", "x", "--since", "1h").code == 2
    assert run("client", "replay", "--since", "yesterday").code == 2


def test_a_subscription_with_a_webhook_is_a_json_record(run: Run, client: Client, receiver: Receiver) -> None:
    told = run("client", "subscribe", "x = 1", "--id", "a", "--webhook", receiver.url("/b"), "--json").json[0]
    assert isinstance(told["delivery"]["since"], str)
