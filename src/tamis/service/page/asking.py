"""What a page is asked: by whom, about what, with which filters."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from tamis.service.accounts import DEFAULT_TENANT, Caller
from tamis.service.core import Service

T = TypeVar("T")
Data: TypeAlias = dict[str, Any]
"""What a page shows and its twin answers: JSON, times, and explanations."""

_MOST_NUMBER = 2**62
_KEPT = 1_000


class Memory:
    """Answers that are good for a while, so that many open pages ask the databases no more than one."""

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
class Asking:
    """One question.

    Attributes:
        service: Who answers.
        caller: Who asks.
        query: The query of the address.
        memory: Of the page.
        id: What the page is about, if it is about one thing.
    """

    service: Service
    caller: Caller
    query: Mapping[str, str]
    memory: Memory
    id: str = ""

    @property
    def tenant(self) -> str:
        """Whose things are shown."""
        return self.caller.tenant

    @property
    def is_operator(self) -> bool:
        """Looks whoever asks after the whole service?"""
        return self.caller.tenant == DEFAULT_TENANT and self.caller.may("admin")

    def text(self, name: str) -> str:
        """A filter; nothing if it is not given."""
        return self.query.get(name, "").strip()

    def number(self, name: str) -> int | None:
        """A whole number from 0 on; None if it is not given or none."""
        given = self.query.get(name, "")
        if not (given.isascii() and given.isdigit() and len(given) < 20):
            return None
        return min(int(given), _MOST_NUMBER)

    def remembered(self, what: str, seconds: float, make: Callable[[], T], *more: Hashable) -> T:
        """An answer for the tenant that may be so many seconds old."""
        return self.memory.get((what, self.tenant, *more), seconds, make)
