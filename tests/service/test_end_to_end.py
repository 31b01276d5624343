"""The whole service, as people run it: `tamis serve` with real Spark, and real receivers of webhooks.

One process serves all tests of the file, the last of which stops it and starts it again; tests keep out of each
other's way by the names of their subscriptions and of the attribute that their conditions look at.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import standardwebhooks

from tests.service.api.test_notifications import ids_of, sent
from tests.service.webhooks.receiver import Receiver, after_handshake, answering, receiving, stalling

pytestmark = pytest.mark.spark

DEADLINE_SECONDS = 180.0
START_SECONDS = 600.0
"""The stream compiles its kernels first, where that has not happened yet."""
SETTINGS = {
    "webhook_networks": "127.0.0.0/8",
    "webhook_attempts": "3",
    "webhook_base_seconds": "0.05",
    "webhook_timeout_seconds": "3",
    "master": "local[1]",
    "memory": "1g",
    "on_misfit": "dead letter",
}


class Process:
    """A service in a process of its own, on a folder that outlives it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._log = folder / "serve.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.client = httpx2.Client()
        self.before_ready: list[dict[str, Any]] = []

    def start(self) -> None:
        """Start it, and wait until it matches events."""
        self._log.unlink(missing_ok=True)
        self.before_ready.clear()
        options = [f"--set={name}={value}" for name, value in SETTINGS.items()]
        command = [sys.executable, "-m", "tamis", "serve", "--port=0", f"--data={self._folder / 'data'}", *options]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self._folder)
        address = self.until(lambda: re.search(r"http://127\.0\.0\.1:\d+", self.log()), "an address")
        token = (self._folder / "data" / "token").read_text().strip()
        self.client.close()
        headers = {"Authorization": f"Bearer {token}"}
        options_of_client: dict[str, Any] = {"headers": headers, "timeout": DEADLINE_SECONDS, "verify": False}
        self.client = httpx2.Client(base_url=address[0], **options_of_client)
        self.until(self._is_ready, "ready", START_SECONDS)

    def stop(self) -> int:
        """End it as an init system would; gives the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(DEADLINE_SECONDS)

    def kill(self) -> None:
        """End it without a warning; its stream ends when it notices that."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(DEADLINE_SECONDS)

    def close(self) -> None:
        """End it, whatever the tests have left."""
        self.client.close()
        if self._process is not None and self._process.poll() is None:
            try:
                self.stop()
            except subprocess.TimeoutExpired:
                self._process.kill()
                raise

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def until(self, condition: Callable[[], Any], what: str, seconds: float = DEADLINE_SECONDS) -> Any:
        """Wait until something is true; gives it."""
        deadline = time.monotonic() + seconds
        while not (found := condition()):
            assert self._process is not None and self._process.poll() is None, self.log()
            assert time.monotonic() < deadline, f"in vain: {what}\n{self.log()[-5_000:]}"
            time.sleep(0.05)
        return found

    def _is_ready(self) -> bool:
        try:
            answer = self.client.get("/ready")
        except httpx2.TransportError:
            return False
        if answer.status_code != 200:
            assert answer.status_code == 503
            self.before_ready.append(answer.json())
        return answer.status_code == 200

    # --- what people do ----------------------------------------------------------------------------------

    def subscribe(self, id: str, condition: str, url: str | None = None, **fields: Any) -> dict[str, Any]:
        delivery = {"kind": "pull"} if url is None else {"kind": "webhook", "url": url}
        body = {"id": id, "condition": condition, "delivery": delivery, **fields}
        answer = self.client.post("/v1/subscriptions", json=body)
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    def publish(self, *events: dict[str, Any], **params: str) -> None:
        answer = self.client.post("/v1/events", json=[*events], params=params)
        assert answer.status_code == 202, answer.text
        self.until(lambda: self.figure("tamis_waiting_events") == 0, "all events are matched")

    def figure(self, name: str) -> float:
        found = re.search(rf"^{name} (\S+)$", self.client.get("/metrics").text, re.M)
        assert found is not None
        return float(found[1])

    def notified(self, subscription: str, after: int = 0) -> list[str]:
        """The events that a subscription was told of."""
        params: dict[str, Any] = {"subscription": subscription, "after": after}
        items = self.client.get("/v1/notifications", params=params).json()["items"]
        return [each["event_id"] for each in items]

    def delivery(self, subscription: str) -> dict[str, Any]:
        found: dict[str, Any] = self.client.get(f"/v1/subscriptions/{subscription}").json()["delivery"]
        return found


@pytest.fixture(scope="module")
def served(spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    process = Process(tmp_path_factory.mktemp("served"))
    try:
        process.start()
        yield process
    finally:
        process.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


def test_it_is_ready_once_an_event_of_its_own_has_passed_through_unseen(served: Process) -> None:
    states = {each["state"] for each in served.before_ready}
    assert states == {"warming up"}
    waited = list(dict.fromkeys(each["waits_for"] for each in served.before_ready))
    assert waited[-1] == "an event of the stream's own to pass through"
    ready = served.client.get("/ready").json()
    assert (ready["ready"], ready["state"]) == (True, "running")
    assert ready["since"] > served.before_ready[0]["since"]
    assert [line.split(" ")[0] for line in served.log().splitlines() if re.match("warming up|ready", line)] == [
        "warming",
        "ready",
    ]
    assert served.figure("tamis_ready") == 1
    for name in ("waiting_events", "published_total", "subscriptions", "feed_seq"):
        assert served.figure(f"tamis_{name}") == 0, name
    assert served.client.get("/v1/subscriptions").json()["items"] == []
    assert served.client.get("/v1/notifications", params={"after": 0}).json()["items"] == []
    assert served.client.get("/v1/dead-letters").json()["items"] == []
    found = served.client.get("/statistics.json").json()["service"]
    counts = (found["inbox"]["end"], found["feed"]["end"], found["batches"]["events"], found["subscriptions"])
    assert counts == (0, 0, 0, 0)
    assert "warm-up" not in json.dumps([found, served.client.get("/v1/event-types").json()])


def test_a_match_is_told_by_poll_by_stream_and_by_a_signed_call(served: Process, receiver: Receiver) -> None:
    secret = served.subscribe("all", "price < 300 AND told = 1", receiver.url("/all"))["secret"]
    served.until(lambda: served.delivery("all")["state"] == "confirmed", "hands are shaken")
    params: dict[str, Any] = {"subscription": "all", "after": 0}
    with served.client.stream("GET", "/v1/notifications/stream", params=params) as answer:
        served.client.post("/v1/events", json=[{"id": "t1", "price": 1.50, "told": 1}, {"id": "t2", "price": 300}])
        [streamed] = ids_of(sent(answer.iter_lines(), 1))
    polled = served.client.get("/v1/notifications", params={**params, "wait": 60}).json()["items"]
    served.until(lambda: receiver.notified("/all"), "a call")
    [call] = receiver.notified("/all")
    assert [each["id"] for each in polled] == [streamed] == [call.id]
    assert standardwebhooks.Webhook(secret).verify(call.body, call.headers)
    assert call.message["data"]["event"] == {"id": "t1", "price": 1.5, "told": 1}
    attempts = served.until(
        lambda: served.client.get(f"/v1/notifications/{streamed}").json()["attempts"], "it is on record"
    )
    assert [(each["attempt"], each["status"], each["outcome"]) for each in attempts] == [(1, 204, "delivered")]


def test_receivers_that_fail_stall_lead_astray_and_lie(served: Process, receiver: Receiver) -> None:
    receiver.always["/stalls"] = after_handshake(stalling)
    receiver.always["/astray"] = after_handshake(answering(307, Location=receiver.url("/inside", "[::1]")))
    receiver.always["/lies"] = answering(200, b"yes, of course")
    names = ("recovers", "stalls", "astray", "lies")
    for name in names:
        served.subscribe(name, "rough = 1", receiver.url(f"/{name}"))
    expected = {name: "refused" if name == "lies" else "confirmed" for name in names}
    served.until(lambda: {name: served.delivery(name)["state"] for name in names} == expected, "hands are shaken")
    receiver.script("/recovers", answering(500), answering(503))
    served.publish({"id": "r1", "rough": 1})
    served.until(lambda: len(receiver.ids("/recovers")) == 3, "it recovers")
    assert len({*receiver.ids("/recovers")}) == 1

    def parked() -> dict[str, str]:
        items = served.client.get("/v1/deliveries/failed").json()["items"]
        return {each["subscription_id"]: each["notification_id"] for each in items}

    served.until(lambda: "stalls" in parked(), "it stalls too long")
    served.until(lambda: "astray" in parked() or served.delivery("astray")["state"] == "refused", "it is caught")
    assert {*parked()} <= {"stalls", "astray"}
    assert receiver.notified("/inside") == []
    assert receiver.notified("/lies") == []
    del receiver.always["/stalls"]
    before = len(receiver.ids("/stalls"))
    assert served.client.post(f"/v1/deliveries/{parked()['stalls']}/replay").status_code == 202
    served.until(lambda: len(receiver.ids("/stalls")) > before and "stalls" not in parked(), "it is replayed")
    for name in names:  # exactly once in the feed, whatever became of the calls
        assert served.notified(name) == ["r1"]


def test_what_has_expired_or_is_paused_is_told_nothing(served: Process) -> None:
    served.subscribe("stays", "lasting = 1")
    served.subscribe("expires", "lasting = 1", valid_for=2)
    headers = {"Tamis-Ticket": served.subscribe("pauses", "lasting = 1")["ticket"]}
    served.publish({"id": "l1", "lasting": 1})
    served.until(lambda: served.notified("stays") == ["l1"], "the first")
    served.client.post("/v1/subscriptions/pauses/pause", headers=headers)
    served.until(lambda: served.client.get("/v1/subscriptions/expires").status_code == 404, "it has expired")
    served.publish({"id": "l2", "lasting": 1})
    assert served.notified("stays") == ["l1", "l2"]
    assert served.notified("expires") in (["l1"], [])
    assert served.notified("pauses") == ["l1"]
    served.client.post("/v1/subscriptions/pauses/resume", headers=headers)
    served.publish({"id": "l3", "lasting": 1})
    assert served.notified("pauses") == ["l1", "l3"]


def test_a_bad_event_is_matched_after_its_type_was_changed(served: Process) -> None:
    path = "/v1/event-types/order"
    # The only type would be that of all events without one, and other tests have such.
    assert served.client.put("/v1/event-types/other", json={"attributes": {}}).status_code == 200
    assert served.client.put(path, json={"attributes": {"price": "int"}}).status_code == 200
    served.subscribe("orders", "price IS NOT NULL", event_type="order")
    served.publish({"id": "o1", "price": 1}, type="order")
    assert served.notified("orders") == ["o1"]
    served.publish({"id": "o2", "price": {"amount": 2}}, type="order")
    bad = served.until(lambda: served.client.get("/v1/dead-letters").json()["items"], "a bad event")
    assert [(each["event_id"], json.loads(each["original"])["id"]) for each in bad] == [("o2", "o2")]
    changed = {"attributes": {"price": {"type": "struct", "attributes": {"amount": "int"}}}}
    answer = served.client.put(path, json=changed)
    assert answer.status_code == 200, answer.text
    assert served.client.post(f"/v1/dead-letters/{bad[0]['id']}/replay").status_code == 202
    served.until(lambda: served.notified("orders") == ["o1", "o2"], "it is matched")
    assert served.client.get("/v1/dead-letters").json()["items"] == []


def test_it_stops_when_told_and_goes_on_where_it_was(served: Process) -> None:
    ticket = served.subscribe("endures", "again = 1")["ticket"]
    served.publish({"id": "a1", "again": 1})
    served.until(lambda: served.notified("endures") == ["a1"], "before")
    answer = served.client.post("/v1/events", json=[{"id": f"b{n}", "again": 1} for n in range(100)])
    assert answer.json()["accepted"] == 100
    assert served.stop() == 0
    served.start()
    answer = served.client.post("/v1/events", json=[{"id": "b0", "again": 1}, {"id": "c", "again": 1}])
    assert answer.json()["repeated"] == 1
    served.until(lambda: len(served.notified("endures")) == 102, "everything")
    assert sorted(served.notified("endures")) == sorted(["a1", "c", *(f"b{n}" for n in range(100))])
    headers = {"Tamis-Ticket": ticket}
    assert served.client.delete("/v1/subscriptions/endures", headers=headers).status_code == 204
