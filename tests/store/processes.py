"""What tests of the store run in processes of their own, started by a forked server."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from multiprocessing.queues import SimpleQueue
from typing import Any

from tamis.errors import SubscriptionError
from tamis.store import Publisher, Store

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([__name__])


def start(target: Callable[..., None], *arguments: Any) -> BaseProcess:
    process = _context.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def queue() -> SimpleQueue[Any]:
    return _context.SimpleQueue()


def finish(processes: list[BaseProcess]) -> None:
    """Wait for processes that should end well."""
    for process in processes:
        process.join(120)
        assert process.exitcode == 0


def add_in_company(url: str, name: str, times: int) -> None:
    """Add, replace and remove, and fight for one id; opens the store as the first one or not."""
    with Store.open(url) as store:
        for number in range(times):
            store.add(f"{name}-{number}", f"x = {number}")
            store.add_many([{"id": f"{name}-{number}-{n}", "condition": "x = 1"} for n in range(3)])
            store.replace(f"{name}-{number}", f"x = {number} OR y = 1")
            store.remove(f"{name}-{number}-0")
            try:
                store.add("shared", "x = 1")
            except SubscriptionError:
                store.remove_many(["shared"])


def import_for_ever(url: str, ready: SimpleQueue[Any], rows: int) -> None:
    """Import change sets of so many rows until killed."""
    with Store.open(url) as store:
        while True:
            number = store.version()
            store.add_many([{"id": f"{number}-{n}", "condition": f"x = {n}"} for n in range(rows)])
            ready.put(True)


def sync_for_ever(url: str, snapshot: str, ready: SimpleQueue[Any]) -> None:
    """Change the store and publish it until killed."""
    with Store.open(url) as store:
        publisher = Publisher(store, snapshot)
        while True:
            number = store.version()
            store.add_many([{"id": f"{number}-{n}", "condition": f"x = {n}"} for n in range(20)])
            store.remove(f"{number}-0")
            publisher.sync()
            ready.put(True)
