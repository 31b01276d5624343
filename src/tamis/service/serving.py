"""The process of the service: one server, ended by a signal after what is under way is done."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

from tamis.errors import TamisError
from tamis.service.api.app import make_app
from tamis.service.core import Service
from tamis.service.settings import Settings

_LONGEST_END_SECONDS = 20


class ServingError(TamisError):
    """The service cannot listen."""


class Server(uvicorn.Server):
    """Tells the service of the signal at once: streams of notifications end, so that nothing waits for them."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service
        self._loop: asyncio.AbstractEventLoop | None = None

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve in the loop that runs."""
        self._loop = asyncio.get_running_loop()
        await super().serve(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal came; may be called from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._service.stopping.set)
        super().handle_exit(sig, frame)


def serve(settings: Settings, on_start: Callable[[Service, str], None]) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        settings: All of them.
        on_start: Called with the service and its address, before the first request is answered.

    Raises:
        TamisError: Something cannot be opened, or the address is taken.
    """
    listening = _listen(settings)
    service = Service(settings)
    try:
        port = listening.getsockname()[1]
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        on_start(service, f"http://{host}:{port}")
        config = uvicorn.Config(
            make_app(service),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_LONGEST_END_SECONDS,
            h11_max_incomplete_event_size=1 << 16,
        )
        Server(config, service).run([listening])
    finally:
        service.close()
        listening.close()


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(1024)
    except OSError as error:
        listening.close()
        msg = f"cannot listen on {settings.host}, port {settings.port}: {error.strerror or error}"
        raise ServingError(msg) from error
    return listening
