"""Connections: a head that is too long and a request that is too slow are refused, whatever else goes on."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from tamis.service.api.connection import HEAD_BYTES
from tests.service.api.running import DEADLINE_SECONDS, Running

SECONDS = 0.3
"""In which a request has to arrive here."""


class Raw:
    """A connection that says what it is told to, byte by byte if need be."""

    def __init__(self, served: Running) -> None:
        place = urlsplit(served.url)
        self._socket = socket.create_connection((place.hostname, place.port or 80), DEADLINE_SECONDS)
        self.head = f"Host: {place.netloc}\r\nAuthorization: Bearer {served.token('publish', 'subscribe')}\r\n"

    def send(self, text: str) -> Raw:
        """Send as much as the service takes."""
        try:
            self._socket.sendall(text.encode())
        except (BrokenPipeError, ConnectionResetError):
            return self
        return self

    def answer(self) -> tuple[int, str]:
        """The status and the detail of the only answer, after which the service closes the connection."""
        said = b""
        try:
            while some := self._socket.recv(65_536):
                said += some
        except ConnectionResetError:
            assert said, "the connection was closed without an answer"
        finally:
            self._socket.close()
        head, _, body = said.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(body)["detail"]


@pytest.fixture
def slow(serving: Callable[..., Running]) -> Running:
    return serving(request_seconds=SECONDS)


@pytest.mark.parametrize(
    "start",
    [
        "",
        "POST /v1/ev",
        "POST /v1/events HTTP/1.1\r\nHost: ",
        "POST /v1/events HTTP/1.1\r\n{head}Content-Length: 100\r\n\r\n",
        "POST /v1/events HTTP/1.1\r\n{head}Content-Length: 100\r\n\r\n[{{",
        "POST /v1/events HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\n2\r\n[{{\r\n",
    ],
)
def test_a_request_that_stays_unfinished_is_refused(slow: Running, start: str) -> None:
    raw = Raw(slow)
    assert raw.send(start.format(head=raw.head)).answer() == (
        408,
        f"the request did not arrive within {SECONDS} seconds",
    )


@pytest.mark.parametrize("path", ["/v1/events", "/v1/subscriptions", "/v1/subscriptions/import"])
@pytest.mark.parametrize("ends", ["by the service", "by the client"])
def test_a_body_that_breaks_off_is_no_failure_of_the_service(
    slow: Running, path: str, ends: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "tamis.access")
    raw = Raw(slow)
    raw.send(f"POST {path} HTTP/1.1\r\n{raw.head}Content-Length: 100\r\n\r\n[{{")
    if ends == "by the service":
        assert raw.answer()[0] == 408
    else:
        raw._socket.close()
    deadline = time.monotonic() + DEADLINE_SECONDS
    while f"POST {path} 400" not in caplog.messages:  # which is what is noted of a request that broke off
        assert time.monotonic() < deadline, caplog.messages
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


def test_a_request_that_comes_by_drips_is_refused(slow: Running) -> None:
    raw = Raw(slow)
    raw.send(f"POST /v1/events HTTP/1.1\r\n{raw.head}Content-Length: 100000\r\n\r\n")
    raw._socket.settimeout(SECONDS / 20)
    said = b""
    for _ in range(100_000):
        raw.send("x")
        try:
            said = raw._socket.recv(65_536)
            break
        except TimeoutError:
            continue
    assert said.startswith(b"HTTP/1.1 408 ")
    raw._socket.close()


def test_others_are_answered_while_many_are_slow(served: Running) -> None:
    held = [Raw(served).send("POST /v1/events HTTP/1.1\r\nHost: ") for _ in range(200)]
    assert served.client(served.token("subscribe")).get("/v1/subscriptions").status_code == 200
    for each in held:
        each._socket.close()


def test_a_connection_lives_on_between_requests_that_arrive_in_time(slow: Running) -> None:
    client = slow.client(slow.token("publish"))
    for number in range(5):
        assert client.post("/v1/events", json={"id": str(number)}).status_code == 202


def test_an_answer_may_take_longer_than_a_request(slow: Running) -> None:
    client = slow.client(slow.token("subscribe"))
    answer = client.get("/v1/notifications", params={"wait": 3 * SECONDS})
    assert answer.status_code == 200
    assert answer.elapsed.total_seconds() > SECONDS


@pytest.mark.parametrize(
    "long",
    [
        lambda more: f"GET /v1/events HTTP/1.1\r\n{{head}}X: {'y' * more}\r\n\r\n",
        lambda more: f"GET /v1/events HTTP/1.1\r\n{{head}}X: {'y' * more}",
        lambda more: f"GET /v1/events?x={'y' * more} HTTP/1.1\r\n{{head}}\r\n",
        lambda more: f"GET /v1/events?x={'y' * more}",
        lambda more: "GET /v1/events HTTP/1.1\r\n{head}" + "X: y\r\n" * (more // 6) + "\r\n",
        lambda more: f"GET /v1/events HTTP/1.1\r\n{{head}}X{'y' * more}",
    ],
    ids=["a header", "an unfinished header", "an address", "an unfinished address", "many headers", "a name"],
)
@pytest.mark.parametrize("times", [2, 500])
def test_a_head_that_is_too_long_is_refused(served: Running, long: Callable[[int], str], times: int) -> None:
    raw = Raw(served)
    status, detail = raw.send(long(times * HEAD_BYTES).replace("{head}", raw.head)).answer()
    assert (status, detail) == (431, "the head of the request is longer than 65,536 bytes")


def test_a_body_that_is_long_does_not_count_as_head(served: Running) -> None:
    answer = served.client(served.token("publish")).post("/v1/events", json={"id": "long", "x": "y" * 900_000})
    assert answer.status_code == 202
