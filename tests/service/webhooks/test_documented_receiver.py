"""The receiver and the calls that the guide shows: they are run with, and compared with, a real service."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tamis.service.webhooks import signed_headers
from tests.conftest import ROOT
from tests.service.api.running import Running, running
from tests.service.api.test_subscriptions import subscribe
from tests.service.living import arrival
from tests.service.webhooks.receiver import Call, receiving, until

BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "docs" / "service.md").read_text("utf-8"), re.M | re.S)
RECEIVERS = [text for language, text in BLOCKS if language == "python" and "class Receiver" in text]
CALLS = [text for language, text in BLOCKS if language == "http"]


@pytest.fixture
def calling(tmp_path: Path, database_url: str) -> Iterator[Running]:
    """A service on either database that may call this machine."""
    options: dict[str, Any] = {"webhook_base_seconds": 0.01, "webhook_networks": ("127.0.0.1/32",)}
    with running(tmp_path / "data", feed=database_url, **options) as made:
        yield made


@contextmanager
def documented_receiver(folder: Path) -> Iterator[str]:
    """The receiver of the guide, as it stands there, in a process of its own; gives its address."""
    [text] = RECEIVERS
    (folder / "receiver.py").write_text(text)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (folder / "printed").open("w") as printed:
        command = [sys.executable, "receiver.py", str(port)]
        process = subprocess.Popen(command, cwd=folder, stdout=printed, stderr=subprocess.DEVNULL)
    try:
        until(lambda: process.poll() is None and _is_open(port), "it listens")
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait()


def _is_open(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True


def _status(url: str, headers: dict[str, str], body: bytes) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.slow
def test_the_receiver_agrees_and_takes_what_is_signed(tmp_path: Path, calling: Running) -> None:
    tenant = calling.tenant()
    with documented_receiver(tmp_path) as url:
        made = subscribe(tenant.subscribe, id="cheap", delivery={"kind": "webhook", "url": url})
        until(lambda: tenant.subscribe.get("/v1/webhooks/cheap").json()["state"] == "confirmed")
        (tmp_path / "secret").write_text(made["secret"] + "\n")
        calling.service.inbox.append([arrival(tenant.name, "e-7", {"id": "e-7", "price": 199})])
        [id] = calling.match(tenant.name, "cheap", "e-7")
        until(lambda: tenant.subscribe.get(f"/v1/notifications/{id}").json()["delivery"]["state"] == "delivered")
        attempts = tenant.subscribe.get(f"/v1/notifications/{id}").json()["attempts"]
        assert [each["status"] for each in attempts] == [200]
        assert (tmp_path / "printed").read_text() == "{'id': 'e-7', 'price': 199}\n"
        body = b'{"type":"tamis.notification","data":{"event":{"forged":true}}}'
        good = signed_headers(made["secret"], "n1", 1_700_000_000, body)
        assert _status(url, good | {"webhook-signature": "v1,Zm9yZ2Vk"}, body) == 401
        assert _status(url, good, body + b" ") == 401
        assert _status(url, good, body) == 200


@pytest.mark.slow
def test_the_calls_are_as_the_guide_shows_them(calling: Running) -> None:
    tenant = calling.tenant()
    with receiving() as receiver:
        subscribe(tenant.subscribe, id="cheap", delivery={"kind": "webhook", "url": receiver.url("/hook")})
        until(lambda: tenant.subscribe.get("/v1/webhooks/cheap").json()["state"] == "confirmed")
        calling.match(tenant.name, "cheap", "e-7", attributes='{"price":199}')
        until(lambda: receiver.notified("/hook"))
    assert len(CALLS) == len(receiver.calls) == 2
    for shown, call in zip(CALLS, receiver.calls, strict=True):
        head, _, body = shown.partition("\n\n")
        line, *headers = head.splitlines()
        assert line == f"POST {call.path} HTTP/1.1"
        documented = {name.lower(): value for name, value in (header.split(": ", 1) for header in headers)}
        _compare_headers(documented, call)
        assert _shape(json.loads(body)) == _shape(call.message)
        assert list(json.loads(body)["data"]) == list(call.message["data"]), "in the same order"


def _compare_headers(documented: dict[str, str], call: Call) -> None:
    assert documented.keys() <= call.headers.keys()
    assert {name for name in call.headers if name.startswith("webhook-")} <= documented.keys()
    for name in ("content-type", "accept"):
        assert documented.get(name, call.headers[name]) == call.headers[name]
    for name, pattern in {
        "webhook-id": r"handshake-[0-9a-f]{16}" if call.is_handshake else r"[0-9a-f]{32}",
        "webhook-timestamp": r"\d{10}",
        "webhook-signature": r"v1,[A-Za-z0-9+/]{43}=",
    }.items():
        for headers in (documented, call.headers):
            assert re.fullmatch(pattern, headers[name]), (name, headers[name])


def _shape(value: Any) -> Any:
    """The names and kinds of JSON, without the values; an event is whatever was published."""
    if isinstance(value, dict):
        return {name: None if name == "event" else _shape(each) for name, each in value.items()}
    return type(value).__name__
