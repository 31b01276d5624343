"""Watches the feed for new notifications, and wakes the requests that wait for them.

Another process writes the feed, so it must be polled. One task polls for all: a request that waits costs no query.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from tamis.service.feed import FeedReader

_log = logging.getLogger(__name__)

_POLL_SECONDS = 0.05
_FAILURE_SECONDS = 1.0


class FeedWatcher:
    """The number of the newest notification, and an event that is set when it grows.

    Attributes:
        seq: The number of the newest notification, as of the last poll.
    """

    def __init__(self, feed: FeedReader, on_growth: Callable[[int, int], None]) -> None:
        """Start at the end of the feed.

        Args:
            feed: Where to look.
            on_growth: Called in a thread with the numbers before and now, whenever they differ.
        """
        self.seq = feed.end()
        self._feed = feed
        self._on_news = on_growth
        self._growth = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> None:
        """Poll until `stop` is set."""
        while not stop.is_set():
            wait = _POLL_SECONDS
            try:
                seq = await asyncio.to_thread(self._poll)
            except Exception:
                _log.exception("the feed cannot be looked at; trying again")
                wait = _FAILURE_SECONDS
            else:
                if seq != self.seq:
                    self.seq = seq
                    self._wake_all()
            try:
                await asyncio.wait_for(stop.wait(), wait)
            except TimeoutError:
                continue
        self._wake_all()

    async def after(self, seq: int, seconds: float) -> bool:
        """Wait for a notification after a number, for so many seconds at most; whether there is one."""
        if self.seq <= seq:
            try:
                await asyncio.wait_for(self._growth.wait(), seconds)
            except TimeoutError:
                return False
        return self.seq > seq

    def _poll(self) -> int:
        seq = self._feed.end()
        if seq > self.seq:
            self._on_news(self.seq, seq)
        return seq

    def _wake_all(self) -> None:
        growth, self._growth = self._growth, asyncio.Event()
        growth.set()
