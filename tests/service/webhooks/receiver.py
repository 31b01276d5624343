"""A real HTTP receiver of webhooks that can fail, stall, redirect and lie.

Every call is kept as it came. How a path answers is a script of behaviours, each used once; then the path is
honest: it answers a handshake with its challenge and everything else with 204.
"""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

DEADLINE_SECONDS = 60.0


@dataclass(frozen=True)
class Call:
    """A call as it came."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.body)
        return message

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def is_handshake(self) -> bool:
        kind: str = self.message["type"]
        return kind == "tamis.handshake"


Behaviour: TypeAlias = Callable[["Handler", Call], None]


class Receiver:
    """The receiver, while it runs."""

    def __init__(self, server: ThreadingHTTPServer, scheme: str) -> None:
        self._server = server
        self._scheme = scheme
        self._lock = threading.Lock()
        self._inside = 0
        self.most_inside = 0
        self.calls: list[Call] = []
        self.scripts: dict[str, deque[Behaviour]] = {}
        self.always: dict[str, Behaviour] = {}
        self.names: list[str | None] = []  # asked for by TLS
        self.flooded_mebibytes = 0
        self.released = threading.Event()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def url(self, path: str, host: str | None = None) -> str:
        return f"{self._scheme}://{host or str(self._server.server_address[0])}:{self.port}{path}"

    def script(self, path: str, *behaviours: Behaviour) -> None:
        self.scripts[path] = deque(behaviours)

    def notified(self, path: str) -> list[Call]:
        """The notifications that came to a path, in their order."""
        with self._lock:
            return [call for call in self.calls if call.path == path and not call.is_handshake]

    def ids(self, path: str) -> list[str]:
        return [call.id for call in self.notified(path)]

    def handle(self, handler: Handler, call: Call) -> None:
        with self._lock:
            self.calls.append(call)
            self._inside += 1
            self.most_inside = max(self.most_inside, self._inside)
            script = self.scripts.get(call.path)
            behaviour = script.popleft() if script else self.always.get(call.path, honest)
        try:
            behaviour(handler, call)
        finally:
            with self._lock:
                self._inside -= 1


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = DEADLINE_SECONDS
    receiver: Receiver

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        if len(body) < length:  # the caller was killed in the middle: nobody takes half a call
            self.close_connection = True
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.receiver.handle(self, Call(self.path, headers, body))

    def reply(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *_: Any) -> None:
        """Say nothing."""


# --- behaviours ----------------------------------------------------------------------------------------------


def honest(handler: Handler, call: Call) -> None:
    if call.is_handshake:
        handler.reply(200, json.dumps({"challenge": call.message["data"]["challenge"]}).encode())
    else:
        handler.reply(204)


def answering(status: int, body: bytes = b"", **headers: str) -> Behaviour:
    """Answer so, whatever comes; an underscore in a header's name is a dash."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, _: handler.reply(status, body, given)


def after_handshake(behaviour: Behaviour) -> Behaviour:
    """Be honest in handshakes only."""
    return lambda handler, call: (honest if call.is_handshake else behaviour)(handler, call)


def plain_challenge(handler: Handler, call: Call) -> None:
    handler.reply(200, call.message["data"]["challenge"].encode() + b"\n")


def stalling(handler: Handler, _: Call) -> None:
    """Say nothing until the test is over."""
    handler.receiver.released.wait(DEADLINE_SECONDS)
    handler.close_connection = True


def dripping(handler: Handler, _: Call) -> None:
    """Send a body byte by byte: no single wait is long, the whole has no end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    handler.close_connection = True
    try:
        while not handler.receiver.released.wait(0.02):
            handler.wfile.write(b"x")
    except OSError:
        return


def closing(handler: Handler, _: Call) -> None:
    """Hang up without an answer."""
    handler.close_connection = True


def too_short(handler: Handler, _: Call) -> None:
    """Promise more than comes."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort")
    handler.close_connection = True


def babbling(handler: Handler, _: Call) -> None:
    """No HTTP at all."""
    handler.wfile.write(b"\x00\xff\x00 hello, who is there?\r\n\r\n")
    handler.close_connection = True


def flooding(handler: Handler, _: Call) -> None:
    """A body of a gigabyte, as far as anybody reads it."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
    handler.close_connection = True
    try:
        for _mebibyte in range(1024):
            handler.wfile.write(b"y" * 1_048_576)
            handler.receiver.flooded_mebibytes += 1
    except OSError:
        return


# --- running -------------------------------------------------------------------------------------------------


@contextmanager
def receiving(address: str = "127.0.0.1", tls: ssl.SSLContext | None = None, port: int = 0) -> Iterator[Receiver]:
    """A receiver at an address of this machine."""

    class handler(Handler):
        pass

    server = _Server((address, port), handler)
    receiver = Receiver(server, "https" if tls else "http")
    handler.receiver = receiver
    if tls is not None:
        tls.sni_callback = lambda _, name, __: receiver.names.append(name)
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Callers that hang up are what is tested."""


def until(condition: Callable[[], object], what: str = "") -> None:
    """Wait until something is true, with a deadline."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"in vain: {what or condition}"
        time.sleep(0.01)
