"""News: whoever waits is told of what comes, and of the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tamis.service.feed_watcher import FeedWatcher


class Counted:
    """A feed that is a number."""

    def __init__(self) -> None:
        self.number = 0
        self.error: Exception | None = None

    def end(self) -> int:
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return self.number


def running(test: Callable[[Counted, FeedWatcher, asyncio.Event], Awaitable[None]]) -> list[tuple[int, int]]:
    """Run a test beside news; gives what was told of."""
    told: list[tuple[int, int]] = []

    async def run() -> None:
        feed, stop = Counted(), asyncio.Event()
        news = FeedWatcher(feed, lambda before, now: told.append((before, now)))  # type: ignore[arg-type]
        task = asyncio.create_task(news.run(stop))
        async with asyncio.timeout(60):
            await test(feed, news, stop)
            stop.set()
            await task

    asyncio.run(run())
    return told


def test_all_who_wait_are_told_of_what_comes() -> None:
    async def test(feed: Counted, news: FeedWatcher, _: asyncio.Event) -> None:
        waiting = [asyncio.create_task(news.after(0, 60)) for _ in range(3)]
        await asyncio.sleep(0)
        feed.number = 4
        assert await asyncio.gather(*waiting) == [True, True, True]
        assert news.seq == 4

    assert running(test) == [(0, 4)]


def test_what_is_there_already_is_not_waited_for() -> None:
    async def test(feed: Counted, news: FeedWatcher, _: asyncio.Event) -> None:
        feed.number = 2
        assert await news.after(0, 60)
        assert await news.after(1, 0)

    assert running(test) == [(0, 2)]


def test_who_waits_for_nothing_goes_home_after_a_while() -> None:
    async def test(_: Counted, news: FeedWatcher, __: asyncio.Event) -> None:
        assert not await news.after(0, 0.01)

    assert running(test) == []


def test_who_waits_goes_home_when_the_service_ends() -> None:
    async def test(_: Counted, news: FeedWatcher, stop: asyncio.Event) -> None:
        waiting = asyncio.create_task(news.after(0, 60))
        await asyncio.sleep(0)
        stop.set()
        assert not await waiting

    assert running(test) == []


@pytest.mark.slow
def test_a_feed_that_cannot_be_read_for_a_moment_is_asked_again() -> None:
    async def test(feed: Counted, news: FeedWatcher, _: asyncio.Event) -> None:
        feed.error = OSError("gone for a moment")
        feed.number = 1
        assert await news.after(0, 60)

    assert running(test) == [(0, 1)]
