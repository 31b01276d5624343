"""The real service under attack: enormous and deep requests are answered, others too, and memory is bounded."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from tamis.service.settings import ServiceSettings
from tests.campaigns.service import Life, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks at memory under /proc"),
]
MOST_MEMORY_BYTES = 1 << 30
"""Of the process of the service, whatever it is sent; it has some 250 MB by itself, a request 64 MB."""
DEEP = b"[" * 100_000 + b"]" * 100_000


class Attacked:
    """A service in a process of its own, without a stream."""

    def __init__(self, folder: Path) -> None:
        settings = ServiceSettings(data=str(folder / "data"), port=0, stream=False)
        settings.folder.mkdir()
        self.life = Life(settings, folder / "log")
        until(self.life.listens, self.life.said)
        found = re.search(r"listens at (http://\S+),", self.life.log.read_text())
        assert found is not None
        token = (settings.folder / "token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}"}
        self.client = httpx2.Client(base_url=found[1], headers=headers, timeout=300)
        self.other = httpx2.Client(base_url=found[1], headers=headers, timeout=300)

    def send(self, method: str, path: str, body: bytes, media_type: str = "application/json") -> httpx2.Response:
        """Send a request, and ask for something else all the time until it is answered."""
        answers: list[httpx2.Response] = []

        def ask() -> None:
            answers.append(self.client.request(method, path, content=body, headers={"Content-Type": media_type}))

        asking = threading.Thread(target=ask)
        asking.start()
        while asking.is_alive():
            assert self.other.get("/v1/subscriptions", params={"limit": 1}).status_code == 200
        asking.join()
        assert answers, self.life.said()
        return answers[0]

    def most_memory(self) -> int:
        """The most memory that the process ever had, in bytes."""
        status = Path(f"/proc/{self.life.process.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) * 1024


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    made = Attacked(tmp_path_factory.mktemp("attacked"))
    yield made
    made.client.close()
    made.other.close()
    made.life.end()


def subscription(condition: Callable[[], str]) -> Callable[[], bytes]:
    return lambda: json.dumps({"condition": condition()}).encode()


def many() -> bytes:
    return json.dumps({f"a{number}": number for number in range(1_000_000)}).encode()


# The bodies are made when they are sent: together they take half a gigabyte, in every process that collects tests.
ATTACKS: dict[str, tuple[int, str, str, Callable[[], bytes]]] = {
    "a deep event": (422, "POST", "/v1/events", lambda: b'{"a":' + DEEP + b"}"),
    "a deep array of events": (422, "POST", "/v1/events", lambda: DEEP),
    "deep objects": (422, "POST", "/v1/events", lambda: b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "a million attributes": (422, "POST", "/v1/events", many),
    "a million attributes in an array": (422, "POST", "/v1/events", lambda: b"[" + many() + b"]"),
    "twenty million events": (422, "POST", "/v1/events", lambda: b"[" + b"{}," * 20_000_000 + b"{}]"),
    "sixty million blanks": (422, "POST", "/v1/events", lambda: b" " * 60_000_000),
    "a long body": (413, "POST", "/v1/events", lambda: b" " * (65 << 20)),
    "a deep subscription": (400, "POST", "/v1/subscriptions", lambda: b'{"condition":' + DEEP + b"}"),
    "a deep event type": (400, "PUT", "/v1/event-types/x", lambda: b'{"attributes":' + DEEP + b"}"),
    "a long list": (
        422,
        "POST",
        "/v1/subscriptions",
        subscription(lambda: f"a IN ({','.join(map(str, range(10**6)))})"),
    ),
    "a long conjunction": (
        422,
        "POST",
        "/v1/subscriptions",
        subscription(lambda: " AND ".join(["a = 1"] * 100_000)),
    ),
    "many parentheses": (
        422,
        "POST",
        "/v1/subscriptions",
        subscription(lambda: "(" * 10_000 + "a" + ")" * 10_000),
    ),
    "as long a list as may be": (
        201,
        "POST",
        "/v1/subscriptions",
        subscription(lambda: f"a IN ({','.join(['1'] * 9_999)})"),
    ),
    "a pattern of hundreds of %": (
        201,
        "POST",
        "/v1/subscriptions",
        subscription(lambda: "a LIKE '" + "%a" * 400 + "'"),
    ),
    "a regular expression that backtracks": (
        201,
        "POST",
        "/v1/subscriptions",
        subscription(lambda: "a RLIKE '(a+)+$'"),
    ),
    "an import of many": (413, "POST", "/v1/subscriptions/import", lambda: b"{}\n" * 25_000_000),
    "an import of deep lines": (200, "POST", "/v1/subscriptions/import", lambda: (DEEP + b"\n") * 20),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_answered_and_so_are_others(attacked: Attacked, attack: str) -> None:
    status, method, path, body = ATTACKS[attack]
    answer = attacked.send(method, path, body())
    assert answer.status_code == status, answer.text[:1_000]
    assert len(answer.content) < 100_000
    if status >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
    assert attacked.most_memory() < MOST_MEMORY_BYTES


def test_lines_of_json_are_bounded_too(attacked: Attacked) -> None:
    answer = attacked.send("POST", "/v1/events", b"{}\n" * 20_000_000, "application/x-ndjson")
    assert answer.status_code == 422
    assert attacked.most_memory() < MOST_MEMORY_BYTES


@pytest.mark.parametrize("path", ["/v1/conditions/lint", "/v1/conditions/explain", "/v1/conditions/test"])
def test_conditions_are_only_looked_at_within_limits(attacked: Attacked, path: str) -> None:
    for condition in (f"a IN ({','.join(map(str, range(10**6)))})", "(" * 10_000 + "a" + ")" * 10_000):
        event = {"a": "a" * 100_000}
        answer = attacked.send("POST", path, json.dumps({"condition": condition, "event": event}).encode())
        assert answer.status_code in (200, 422), answer.text[:1_000]
        assert len(answer.content) < 3_000_000
