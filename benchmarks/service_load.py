"""The two ends of `service`: a process that publishes on a schedule, and one that takes what comes of it.

The schedule is open: a request is due at its time, however long earlier ones take, and is sent when a connection
is free. Times are those of the monotonic clock, which all processes of a machine share. A reader does nothing with
a block of bytes but note when it came; what is in it is looked at when all is over.
"""

from __future__ import annotations

import http.client
import json
import select
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np

from tamis.arrays import F64, I64

Times = F64
Numbers = I64

_BLOCK_BYTES = 1 << 18
_LOOK_SECONDS = 0.2
_QUIET_SECONDS = 1.0
"""After the last notification that was expected, for one that was not."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where the service is, and what lets one in."""

    host: str
    port: int
    token: str

    def headers(self) -> dict[str, str]:
        """Of every request."""
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/x-ndjson"}


@dataclass(frozen=True, slots=True)
class Sent:
    """Requests: when each was due, sent and answered, in seconds, how many of its events were taken; CPU used."""

    due: Times
    sent: Times
    answered: Times
    accepted: Numbers
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Received:
    """Notifications as they came: the numbers of event and subscription, and when, in seconds; CPU used."""

    events: Numbers
    subscriptions: Numbers
    at: Times
    cpu_seconds: float


def publish(
    told: Connection, target: Target, path: str, bodies: Sequence[bytes], seconds: float, connections: int
) -> None:
    """In a process: once told to begin, send a request every so many seconds; gives a `Sent`, or what failed."""
    table = np.zeros((len(bodies), 4))
    order = iter(range(len(bodies)))
    turn = threading.Lock()
    wrong: list[str] = []
    told.send("ready")
    told.recv()
    start, used = time.monotonic() + 0.1, time.process_time()

    def work() -> None:
        connection = http.client.HTTPConnection(target.host, target.port, timeout=60)
        headers = target.headers()
        while not wrong:
            with turn:
                place = next(order, None)
            if place is None:
                break
            due = start + place * seconds
            time.sleep(max(0.0, due - time.monotonic()))
            sent = time.monotonic()
            try:
                connection.request("POST", path, bodies[place], headers)
                response = connection.getresponse()
                answer = response.read()
            except OSError as error:
                wrong.append(f"request {place}: {error!r}")
                break
            answered = time.monotonic()
            if response.status != 202:
                wrong.append(f"request {place}: {response.status} {answer[:500]!r}")
                break
            table[place] = due, sent, answered, json.loads(answer)["accepted"]
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    due, sent, answered, accepted = table.T
    used = time.process_time() - used
    told.send(wrong[0] if wrong else Sent(due, sent, answered, accepted.astype(np.int64), used))


def read(told: Connection, target: Target, expected: int, most_seconds: float) -> None:
    """In a process: take all notifications from now on as server-sent events; gives a `Received`.

    It ends when so many have come and then no other for a while, or when the time is over.
    """
    deadline, used = time.monotonic() + most_seconds, time.process_time()
    with socket.create_connection((target.host, target.port)) as connection:
        lines = [
            "GET /v1/notifications/stream?after=0 HTTP/1.1",
            f"Host: {target.host}:{target.port}",
            *(f"{name}: {value}" for name, value in target.headers().items()),
        ]
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        raw = bytearray()
        ends: list[int] = []
        times: list[float] = []
        count, counted = 0, 0
        is_told = False
        while (now := time.monotonic()) < deadline:
            if not select.select([connection], [], [], _LOOK_SECONDS)[0]:
                if count >= expected and now - times[-1] > _QUIET_SECONDS:
                    break
                continue
            block = connection.recv(_BLOCK_BYTES)
            if not block:
                break
            raw += block
            ends.append(len(raw))
            times.append(time.monotonic())
            last = raw.rfind(b"\n") + 1
            count += raw.count(b"\ndata: ", counted, last)
            counted = max(counted, last - 1)
            if not is_told and b"\r\n\r\n" in raw:
                is_told = True
                told.send("ready")
    used = time.process_time() - used
    told.send(received(bytes(raw), np.array(ends, np.int64), np.array(times), used))


def received(raw: bytes, ends: Numbers, times: Times, cpu_seconds: float) -> Received:
    """The notifications of a chunked answer.

    Args:
        raw: All bytes, from the status line on.
        ends: Where each block that came ends.
        times: When it came.
        cpu_seconds: What that took.
    """
    if not raw.startswith(b"HTTP/1.1 200"):
        msg = f"the service does not send notifications: {raw[:500]!r}"
        raise SystemExit(msg)
    at = raw.find(b"\r\n\r\n") + 4
    parts: list[bytes] = []
    chunk_ends: list[int] = []
    while (line := raw.find(b"\r\n", at)) >= 0:
        end = line + 2 + int(raw[at:line], 16)
        if end + 2 > len(raw) or end == line + 2:
            break
        parts.append(raw[line + 2 : end])
        chunk_ends.append(end)
        at = end + 2
    text = b"".join(parts)
    text_ends = np.cumsum([len(part) for part in parts])
    came = times[np.searchsorted(ends, np.array(chunk_ends, np.int64))]  # when the end of each chunk was there
    events: list[int] = []
    subscriptions: list[int] = []
    places: list[int] = []
    at = 0
    for event in text.split(b"\n\n"):
        at += len(event) + 2
        data = b"".join(line[6:] for line in event.split(b"\n") if line.startswith(b"data: "))
        if data and at <= len(text):
            notification: Mapping[str, str] = json.loads(data)
            events.append(int(notification["event_id"][1:]))
            subscriptions.append(int(notification["subscription_id"][1:]))
            places.append(at)
    when = came[np.searchsorted(text_ends, np.array(places, np.int64))] if places else np.zeros(0)
    return Received(np.array(events, np.int64), np.array(subscriptions, np.int64), when, cpu_seconds)
