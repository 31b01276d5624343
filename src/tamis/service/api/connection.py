"""A connection of a client: the head of a request is of bounded length, and a request arrives in bounded time.

uvicorn waits for the rest of a request for ever, and takes a head of any length. Here a head is at most 64 KiB
long, and a request has so many seconds to arrive, with one more for every 16 KiB of it. Time in which the service
itself does not read does not count.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tamis.service.api.problems import problem

HEAD_BYTES = 1 << 16
_BYTES_PER_SECOND = 1 << 14


class BoundedConnection(HttpToolsProtocol):
    """Reads requests as uvicorn does, and refuses heads that are too long and requests that are too slow."""

    seconds = 30.0
    """How long a request may take to arrive; `with_seconds` makes a class with another time."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head = 0
        self._is_reading_head = True
        self._received = 0
        self._is_refused = False
        self._deadline: asyncio.TimerHandle | None = None

    @classmethod
    def with_seconds(cls, seconds: float) -> type[BoundedConnection]:
        """The class of connections whose requests have so long to arrive."""
        return type(cls.__name__, (cls,), {"seconds": seconds})

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client that says nothing at all is slow, too."""
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing any more."""
        self._stop_expecting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what has come, and refuse a head that is too long whether or not it has come to its end."""
        if self._is_refused:
            return
        if self._deadline is None:
            self._expect()
        self._received += len(data)
        super().data_received(data)
        if self._is_reading_head:
            self._head += len(data)
        if self._head > HEAD_BYTES:
            self._refuse(431, f"the head of the request is longer than {HEAD_BYTES:,} bytes")

    def on_message_begin(self) -> None:
        """A request begins."""
        self._head = 0
        self._is_reading_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head has come; its parts are counted, as the rest of the request may have come with it."""
        self._is_reading_head = False
        self._head = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if self._head <= HEAD_BYTES:
            super().on_headers_complete()
        else:
            self._is_refused = True

    def on_body(self, body: bytes) -> None:
        """Take a part of the body, unless the request is refused."""
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """The request has come in full."""
        self._stop_expecting()
        if not self._is_refused:
            super().on_message_complete()

    def _expect(self) -> None:
        """Begin to wait for a request."""
        self._received = 0
        self._deadline = self.loop.call_later(self.seconds, self._look, self.loop.time())

    def _stop_expecting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _look(self, began: float) -> None:
        """The time is over, unless so much has come that there is more of it."""
        left = began + self.seconds + self._received / _BYTES_PER_SECOND - self.loop.time()
        if self.flow.read_paused:  # it is the service that does not read
            left = max(left, 1.0)
        if left > 0:
            self._deadline = self.loop.call_later(left, self._look, began)
        else:
            self._refuse(408, f"the request did not arrive within {self.seconds:g} seconds")

    def _refuse(self, status: int, why: str) -> None:
        """Answer, if nothing was answered yet, and close the connection."""
        self._is_refused = True
        self._stop_expecting()
        if self.transport.is_closing():
            return
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request, whatever its type says
        if cycle is None or cycle.response_complete or not cycle.response_started:
            answer = problem(status, "invalid", why, headers={"Connection": "close"})
            head = b"".join(b"%s: %s\r\n" % each for each in answer.raw_headers)
            self.transport.write(b"HTTP/1.1 %d \r\n%s\r\n%s" % (status, head, bytes(answer.body)))
        self.transport.close()
