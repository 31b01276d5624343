"""A receiver of webhooks for hours: it remembers nothing, agrees to every handshake and fails now and then."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_FAILING = 0.05
"""The share of calls that it does not take, which are repeated."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["webhook-id"].startswith("handshake-"):
            self._answer(200, json.dumps({"challenge": json.loads(body)["data"]["challenge"]}).encode())
        else:
            self._answer(503 if random.random() < _FAILING else 204)

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def receiving() -> Iterator[str]:
    """The URL of a receiver that runs as long as this lasts."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/hook"
        finally:
            server.shutdown()
            thread.join()
