"""Both clients with one face, so that a test is written once."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, cast

from tamis.client import AsyncClient, Client, Retries

QUICK = Retries(attempts=4, base_seconds=0.001, most_seconds=0.01)
"""Waits that a test need not wait for."""


class AwaitedFeed:
    """An iterator of an `AsyncClient`, asked like one of a `Client`."""

    def __init__(self, runner: asyncio.Runner, items: AsyncIterator[Any]) -> None:
        self._runner = runner
        self._items: Any = items

    @property
    def cursor(self) -> int | None:
        cursor: int | None = self._items.cursor
        return cursor

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return self._runner.run(self._next())
        except StopAsyncIteration:
            raise StopIteration from None

    async def _next(self) -> Any:
        return await anext(self._items)

    def close(self) -> None:
        self._runner.run(self._items.aclose())

    def __enter__(self) -> AwaitedFeed:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AwaitedClient:
    """An `AsyncClient`, asked like a `Client`: the loop runs until there is an answer."""

    def __init__(self, url: str | None = None, **settings: Any) -> None:
        self._client = AsyncClient(url, **settings)
        self._runner = asyncio.Runner()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        return self._awaited(found) if callable(found) else found

    def close(self) -> None:
        self._runner.run(self._client.aclose())
        self._runner.close()

    def __enter__(self) -> AwaitedClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _awaited(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            answer = method(*args, **named)
            if inspect.iscoroutine(answer):
                return self._runner.run(answer)
            return AwaitedFeed(self._runner, answer)

        return call


def connected(kind: str, url: str, **settings: Any) -> Client:
    """A client of a kind: "sync" or "async"."""
    settings = {"retries": QUICK, **settings}
    return Client(url, **settings) if kind == "sync" else cast(Client, AwaitedClient(url, **settings))
