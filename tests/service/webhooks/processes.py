"""A deliverer in a process of its own, to be killed; a forked server starts it within milliseconds."""

from __future__ import annotations

import asyncio
import multiprocessing
from multiprocessing.process import BaseProcess

from tamis.service.webhooks.deliverer import Deliverer
from tests.service.webhooks.feeds import QUICK, event_of, open_database, webhooks_of

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([__name__])


def deliver_for_ever(database: str) -> None:
    """Deliver until killed."""
    webhooks = webhooks_of(open_database(database))
    asyncio.run(Deliverer(webhooks, event_of, QUICK).run(asyncio.Event()))


def start(database: str) -> BaseProcess:
    process = _context.Process(target=deliver_for_ever, args=(database,), daemon=True)
    process.start()
    return process
