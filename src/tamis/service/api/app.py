"""The application: all routes, the middleware in front of them, and the service behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from tamis._version import __version__
from tamis.service import page
from tamis.service.api import (
    accounts,
    backup,
    conditions,
    deliveries,
    events,
    notifications,
    openapi,
    operations,
    peers,
    problems,
    subscriptions,
    webhooks,
)
from tamis.service.api.auth import Gatekeeper
from tamis.service.api.middleware import GuardMiddleware
from tamis.service.core import Service

_ABOUT = """Standing conditions, written as SQL WHERE clauses, matched exactly against a stream of events.

Subscribe to a condition, publish events, and be notified of every event that satisfies it: by long poll, by
server-sent events or by webhook. Every error is a problem of RFC 9457."""


def make_app(service: Service) -> FastAPI:
    """The application of a service; the background tasks of the service run as long as it does."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        running = asyncio.create_task(service.run())
        try:
            yield
        finally:
            service.stopping.set()
            await running

    app = FastAPI(
        title="tamis", version=__version__, description=_ABOUT, lifespan=lifespan, docs_url=None, redoc_url=None
    )
    app.state.service = service
    app.state.gatekeeper = Gatekeeper(service)
    problems.install(app)
    parts = (
        subscriptions,
        conditions,
        events,
        notifications,
        deliveries,
        webhooks,
        accounts,
        backup,
        peers,
        operations,
    )
    for part in parts:
        app.include_router(part.router)
    app.include_router(conditions.matching)
    app.include_router(peers.linked)
    page.install(app)
    openapi.install(app)
    app.add_middleware(GuardMiddleware, service=service)
    return app
