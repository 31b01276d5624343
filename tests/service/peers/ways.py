"""A way to a service that may be broken: open connections dropped, or answers to requests that were heard lost."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Way:
    """Passes bytes between those who connect to it and a service.

    Attributes:
        url: Where it is.
        answers_to_lose: How many answers to events are still to be lost, each with its connection.
        lost: How many were.
    """

    def __init__(self, port: int) -> None:
        """Lead to a port of this machine."""
        self._port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.answers_to_lose = 0
        self.lost = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def drop(self) -> int:
        """Break all connections; gives how many there were."""
        broken = [*self._open]
        for each in broken:
            self._end(each)
        return len(broken)

    def close(self) -> None:
        self._listening.close()
        self.drop()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:  # closed
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._port))
            except OSError:  # the service is away
                client.close()
                continue
            self._open |= {client, server}
            threading.Thread(target=self._copy, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._copy, args=(server, client, True), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        try:
            while data := source.recv(65_536):
                if is_answer and self.answers_to_lose and b'"taken"' in data:
                    self.answers_to_lose -= 1
                    self.lost += 1
                    break
                target.sendall(data)
        except OSError:
            pass  # one end is gone, so the other goes, too
        finally:
            self._end(source)
            self._end(target)

    def _end(self, connection: socket.socket) -> None:
        self._open.discard(connection)
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # it is over already


@contextmanager
def way_to(port: int) -> Iterator[Way]:
    """A way that is there as long as this lasts."""
    made = Way(port)
    try:
        yield made
    finally:
        made.close()
