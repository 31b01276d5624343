"""Tells those who wait that something new is in the feed.

The feed is written by another process, so one task looks for all: whoever waits here asks the database nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from tamis.service.feed import Feed

_log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.05
_TROUBLE_SECONDS = 1.0


class News:
    """The number of the newest notification, and a bell that rings when it grows.

    Attributes:
        seq: Of the newest notification that is known of.
    """

    def __init__(self, feed: Feed, on_news: Callable[[int, int], None]) -> None:
        """Nothing is looked at yet.

        Args:
            feed: Where to look.
            on_news: Called in a thread with the numbers before and now, whenever they differ.
        """
        self.seq = feed.end()
        self._feed = feed
        self._on_news = on_news
        self._bell = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> None:
        """Look until told to stop."""
        while not stop.is_set():
            wait = _LOOK_SECONDS
            try:
                seq = await asyncio.to_thread(self._look)
            except Exception:
                _log.exception("the feed cannot be looked at; trying again")
                wait = _TROUBLE_SECONDS
            else:
                if seq != self.seq:
                    self.seq = seq
                    self._ring()
            try:
                await asyncio.wait_for(stop.wait(), wait)
            except TimeoutError:
                continue
        self._ring()

    async def after(self, seq: int, seconds: float) -> bool:
        """Wait until there may be something after a number, for so long at most; is there?"""
        if self.seq <= seq:
            try:
                await asyncio.wait_for(self._bell.wait(), seconds)
            except TimeoutError:
                return False
        return self.seq > seq

    def _look(self) -> int:
        seq = self._feed.end()
        if seq > self.seq:
            self._on_news(self.seq, seq)
        return seq

    def _ring(self) -> None:
        bell, self._bell = self._bell, asyncio.Event()
        bell.set()
