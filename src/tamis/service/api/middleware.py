"""Middleware around every request: checks of its Host and size, security headers, the access log and metrics."""

from __future__ import annotations

import logging
import time

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tamis.service.api.auth import is_our_host
from tamis.service.api.problems import problem
from tamis.service.core import Service

_access = logging.getLogger("tamis.access")

_HEADERS = {b"x-content-type-options": b"nosniff", b"cache-control": b"no-store"}
"""Of every answer that does not set them itself: answers may contain tickets and tokens."""


class GuardMiddleware:
    """Refuses requests for other hosts and bodies that are too long, and records every answer."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        is_noted = False

        async def noting(message: Message) -> None:
            nonlocal is_noted
            if message["type"] == "http.response.start":
                is_noted = True
                self._note(scope, message["status"], time.perf_counter() - began)
                said = {name.lower() for name, _ in message["headers"]}
                more = [each for each in _HEADERS.items() if each[0] not in said]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        try:
            await self._handle(scope, receive, noting)
        except Exception:
            if not is_noted:  # the server around this middleware answers 500
                self._note(scope, 500, time.perf_counter() - began)
            raise

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name: value for name, value in scope["headers"] if name in (b"host", b"content-length")}
        settings = self._service.settings
        host = headers.get(b"host", b"").decode("latin-1")
        length = headers.get(b"content-length", b"0")
        too_long = f"the body is longer than {settings.request_bytes:,} bytes"
        refusal = None
        if not is_our_host(settings, host):
            detail = f"this service is not called {host!r}; see the setting hosts"
            refusal = problem(421, "invalid", detail)
        elif not length.isdigit() or int(length) > settings.request_bytes:
            refusal = problem(413, "invalid", too_long)
        elif "\0" in scope["path"] or b"%00" in scope["query_string"]:
            refusal = problem(422, "invalid", "no name has the character U+0000")
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        taken = 0

        async def counting() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > settings.request_bytes:
                raise HTTPException(413, too_long)
            return message

        await self._app(scope, counting, send)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "unknown")
        self._service.metrics.count_request(scope["method"], route, status, seconds)
        fields = {"method": scope["method"], "path": scope["path"], "status": status, "seconds": round(seconds, 6)}
        _access.info("%s %s %d", scope["method"], scope["path"], status, extra={"fields": fields})
