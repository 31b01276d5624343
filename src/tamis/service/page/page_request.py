"""A request for a page: its caller, its filters, and a cache of answers."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from tamis.service.accounts import Caller
from tamis.service.core import Service

T = TypeVar("T")
PageData: TypeAlias = dict[str, Any]
"""What a page shows and its twin answers: JSON, times, and explanations."""

_MOST_NUMBER = 2**62
_KEPT = 1_000


class TimedCache:
    """Answers with an age, so that many open pages cost the databases no more than one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()

    def get(self, key: Hashable, seconds: float, make: Callable[[], T]) -> T:
        """The answer of that key, made again if it is older."""
        with self._lock:
            known = self._known.get(key)
        if known is not None and time.monotonic() - known[0] < seconds:
            answer: T = known[1]
            return answer
        made = make()
        with self._lock:
            self._known[key] = time.monotonic(), made
            self._known.move_to_end(key)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return made


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request for a page.

    Attributes:
        service: The service.
        caller: The caller.
        query: The query of the address.
        cache: Answers that pages share.
        id: What the page is about, if it is about one thing.
    """

    service: Service
    caller: Caller
    query: Mapping[str, str]
    cache: TimedCache
    id: str = ""

    @property
    def tenant(self) -> str:
        """Whose things are shown."""
        return self.caller.tenant

    @property
    def is_operator(self) -> bool:
        """Whether the caller operates the whole service."""
        return self.caller.is_operator

    def text(self, name: str) -> str:
        """A filter; nothing if it is not given."""
        return self.query.get(name, "").strip()

    def number(self, name: str) -> int | None:
        """A whole number from 0 on; None if it is not given or none."""
        given = self.query.get(name, "")
        if not (given.isascii() and given.isdigit() and len(given) < 20):
            return None
        return min(int(given), _MOST_NUMBER)

    def cached(self, what: str, seconds: float, make: Callable[[], T], *more: Hashable) -> T:
        """An answer for the tenant that may be so many seconds old."""
        return self.cache.get((what, self.tenant, *more), seconds, make)
