"""Load on a service that is killed: threads that publish, subscribe and cancel, and remember what was answered.

What an event contains follows from its number, so only numbers are remembered. A request that was not answered is
asked again half of the time, as a client does that wants to be sure.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tamis.language.dialects import COMPOSITE, SQL
from tests.spark.composite_accounting import composite_condition, moment_and_user

_BATCH = 50
_REQUEST_SECONDS = 60.0
_DOWN_SECONDS = 0.1
_FILLED = 50
"""More subscriptions than these are made by an import at the beginning; fewer come one by one."""
_CHANGE_SECONDS = 0.5
_HOOKED = 0.2
"""The share of subscriptions with a webhook, where there is a receiver."""


def event(number: int) -> dict[str, Any]:
    """The event of a number."""
    chance = random.Random(number)
    own = {"id": f"e{number}", "a": chance.randrange(100), "b": chance.choice("xyz")}
    return own | moment_and_user(number / 5, number, chance)


@dataclass(slots=True)
class Published:
    """A request with events.

    Attributes:
        first: The number of the first event; the others follow it.
        began: When it was first asked for.
        is_answered: Was it, with success?
    """

    first: int
    began: float
    is_answered: bool = False

    @property
    def numbers(self) -> range:
        """Of its events."""
        return range(self.first, self.first + _BATCH)


@dataclass(slots=True)
class Subscribed:
    """A subscription that was asked for.

    Attributes:
        id: Its id.
        condition: Its condition.
        dialect: Of that.
        answered: When it was accepted; None if nobody said so.
        asked_to_end: Was its end asked for?
        ended: When that was answered; None if nobody said so.
    """

    id: str
    condition: str
    dialect: str = SQL
    answered: float | None = None
    asked_to_end: bool = False
    ended: float | None = None


@dataclass(slots=True)
class Load:
    """The load, and what became of it.

    Attributes:
        address: Of the service, in all its lives.
        token: Of an administrator.
        rate: Events a second that are asked for while the service answers.
        seed: Of conditions and of what is asked again.
        composites: The share of composite subscriptions; then the first one is such, and stays.
        living: About how many subscriptions there are at a time, from the beginning.
        webhook: Where some subscriptions are delivered; empty for none.
        published: All requests with events.
        subscribed: All subscriptions.
        statuses: How often each status was answered.
    """

    address: str
    token: str
    rate: float
    seed: int
    composites: float = 0.0
    living: int = 25
    webhook: str = ""
    published: list[Published] = field(default_factory=list)
    subscribed: list[Subscribed] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    _numbers: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _over: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)
    _failures: list[BaseException] = field(default_factory=list)

    def start(self, publishers: int = 2) -> None:
        """Begin; a composite subscription that stays lets each batch move the watermark on."""
        if self.composites:
            with self._client() as client:
                first = self._subscribe(client, random.Random(self.seed), COMPOSITE)
            assert first.answered is not None, "the first subscription is not answered"
        for number in range(publishers):
            self._begin(self._publish, random.Random(f"{self.seed}/{number}"), publishers * _BATCH / self.rate)
        self._begin(self._change, random.Random(f"{self.seed}/changes"))

    def end(self) -> None:
        """Ask for nothing more, and wait for what was asked for; what failed in a thread is raised here."""
        self._over.set()
        for each in self._threads:
            each.join()
        if self._failures:
            raise self._failures[0]

    def answered_events(self) -> int:
        """How many events were accepted."""
        with self._lock:
            return sum(_BATCH for each in self.published if each.is_answered)

    def _client(self) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx2.Client(base_url=self.address, headers=headers, timeout=_REQUEST_SECONDS)

    def _begin(self, target: Callable[..., None], *args: Any) -> None:
        def run() -> None:
            try:
                with self._client() as client:
                    target(client, *args)
            except BaseException as error:
                self._failures.append(error)

        self._threads.append(threading.Thread(target=run))
        self._threads[-1].start()

    def _publish(self, client: httpx2.Client, chance: random.Random, pause: float) -> None:
        while not self._over.is_set():
            began = time.monotonic()
            with self._lock:
                step = Published(self._numbers, began)
                self._numbers += _BATCH
                self.published.append(step)
            events = [event(number) for number in step.numbers]
            while not step.is_answered:
                step.is_answered = self._ask(client, "POST", "/v1/events", 202, json=events)
                if not step.is_answered and (self._over.is_set() or chance.random() < 0.5):
                    break
            self._over.wait(max(0.0, began + pause - time.monotonic()))

    def _change(self, client: httpx2.Client, chance: random.Random) -> None:
        living = self._fill(client, chance) if self.living > _FILLED else []
        while not self._over.is_set():
            # As many come as go, about: few at first where they are made one by one.
            if len(living) >= self.living or (len(living) > self.living / 5 and chance.random() < 0.4):
                each = living.pop(chance.randrange(len(living)))
                each.asked_to_end = True
                if self._ask(client, "DELETE", f"/v1/subscriptions/{each.id}", 204):
                    each.ended = time.monotonic()
            else:
                is_composite = chance.random() < self.composites
                each = self._subscribe(client, chance, COMPOSITE if is_composite else SQL)
                living += [each] if each.answered is not None else []
            self._over.wait(_CHANGE_SECONDS)

    def _subscribe(self, client: httpx2.Client, chance: random.Random, dialect: str) -> Subscribed:
        each = self._new(chance, dialect)
        wanted: dict[str, Any] = {"id": each.id, "condition": each.condition, "dialect": dialect}
        if self.webhook and chance.random() < _HOOKED:
            wanted["delivery"] = {"kind": "webhook", "url": self.webhook}
        if self._ask(client, "POST", "/v1/subscriptions", 201, json=wanted):
            each.answered = time.monotonic()
        return each

    def _new(self, chance: random.Random, dialect: str) -> Subscribed:
        text = (composite_condition if dialect == COMPOSITE else condition)(chance)
        each = Subscribed(f"s{len(self.subscribed)}", text, dialect)
        self.subscribed.append(each)
        return each

    def _fill(self, client: httpx2.Client, chance: random.Random) -> list[Subscribed]:
        """Make as many subscriptions as there are to be, but for composite ones, in one request."""
        made = [self._new(chance, SQL) for _ in range(self.living - 1)]
        lines = "".join(json.dumps({"id": each.id, "condition": each.condition}) + "\n" for each in made)
        answered = self._ask(client, "POST", "/v1/subscriptions/import", 200, content=lines)
        for each in made:
            each.answered = time.monotonic() if answered else None
        return made if answered else []

    def _ask(self, client: httpx2.Client, method: str, path: str, expected: int, **content: Any) -> bool:
        try:
            answer = client.request(method, path, **content)
        except httpx2.TransportError:
            self._over.wait(_DOWN_SECONDS)
            return False
        with self._lock:
            self.statuses[answer.status_code] += 1
        assert answer.status_code in (expected, 503), f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.status_code == expected


def condition(chance: random.Random) -> str:
    low = chance.randrange(90)
    return chance.choice(
        [
            f"a < {low // 9}",
            f"a BETWEEN {low} AND {low + 4}",
            f"b = 'x' AND a > {low // 2 + 50}",
            f"b <> 'y' AND a IN ({low}, {low + 1}, {low + 7})",
        ]
    )
