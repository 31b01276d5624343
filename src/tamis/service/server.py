"""The server process: it ends by a signal, after the requests in progress."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import ExitStack
from types import FrameType

import uvicorn

from tamis.errors import TamisError
from tamis.service.api.app import make_app
from tamis.service.api.connection import BoundedConnection
from tamis.service.core import Service
from tamis.service.folder_lock import hold_folder
from tamis.service.settings import ServiceSettings

_LONGEST_END_SECONDS = 20


class ListenError(TamisError):
    """The service cannot listen."""


class Server(uvicorn.Server):
    """Tells the service of a signal at once, so that open streams of notifications end, too."""

    def __init__(self, service: Service) -> None:
        """Of the application of a service."""
        config = uvicorn.Config(
            make_app(service),
            http=BoundedConnection.with_seconds(service.settings.request_seconds),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_LONGEST_END_SECONDS,
        )
        super().__init__(config)
        self._service = service
        self._loop: asyncio.AbstractEventLoop | None = None

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve in the loop that runs."""
        self._loop = asyncio.get_running_loop()
        await super().serve(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop; called from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._service.stopping.set)
        super().handle_exit(sig, frame)


def serve(settings: ServiceSettings, on_start: Callable[[Service, str], None]) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        settings: All of them.
        on_start: Called with the service and its address, before the first request is answered.

    Raises:
        FolderInUse: Another service runs on the data folder.
        TamisError: Something cannot be opened, or the address is taken.
    """
    with ExitStack() as stack:
        note_address = stack.enter_context(hold_folder(settings.folder))
        listening = stack.enter_context(_listen(settings))
        service = Service(settings)
        stack.callback(service.close)
        port = listening.getsockname()[1]
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"http://{host}:{port}"
        note_address(address)
        on_start(service, address)
        Server(service).run([listening])


def _listen(settings: ServiceSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(1024)
    except OSError as error:
        listening.close()
        msg = f"cannot listen on {settings.host}, port {settings.port}: {error.strerror or error}"
        raise ListenError(msg) from error
    return listening
