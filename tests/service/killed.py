"""A real service in processes of its own that can be killed, and a client that remembers what it was answered.

The service, its stream, Java and Python workers of Spark are processes of two sessions; all of
them are found under /proc.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from tests.service.living import PATIENCE_SECONDS, until

_LISTENS = re.compile(r"listens at (http://\S+),")
_BATCH = 10
_PAUSE_SECONDS = 0.1
_MANY_REQUESTS = 40
_LONG_PAUSE_SECONDS = 2.0
"""After so many requests of a life: the load goes on, but a slow machine is not buried in it."""


class Service:
    """One life of a service."""

    def __init__(self, data: Path, log: Path) -> None:
        """Start it, and wait until it listens."""
        command = [sys.executable, "-m", "tamis", "serve", "--data", str(data), "--port", "0"]
        options = [word for each in ("master=local[2]", "memory=1g") for word in ("--set", each)]
        self._log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [*command, *options], stdout=output, stderr=output, start_new_session=True
            )
        self._sessions = {self.process.pid}
        until(self._listens, log.read_text)
        self.address = self._listens()
        self.token = (data / "token").read_text().strip()

    def kill(self, which: str) -> None:
        """Kill everything, the service alone (its stream has to notice), or the stream alone."""
        self._look()
        if which == "everything":
            self.end()
        elif which == "service":
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait(PATIENCE_SECONDS)
        else:
            for pid in _of_sessions(self._sessions - {self.process.pid}):
                _kill(pid)

    def end(self) -> None:
        """Kill whatever is left."""
        self._look()

        def is_over() -> bool:
            living = _of_sessions(self._sessions)
            for pid in living:
                _kill(pid)
            self.process.poll()
            return not living

        until(is_over)

    def said(self) -> str:
        """What it wrote."""
        return self._log.read_text(errors="replace")

    def _listens(self) -> str:
        found = _LISTENS.search(self._log.read_text(errors="replace"))
        assert found is not None or self.process.poll() is None, self.said()
        return found[1] if found is not None else ""

    def _look(self) -> None:
        """Learn which sessions its processes are in."""
        known = _processes()
        family = {self.process.pid}
        while more := {pid for pid, (parent, _) in known.items() if parent in family} - family:
            family |= more
        self._sessions |= {known[pid][1] for pid in family if pid in known}


def _processes() -> dict[int, tuple[int, int]]:
    """Parent and session of each process that is not over."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, _, session = path.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state not in "ZX":
            found[int(path.parent.name)] = int(parent), int(session)
    return found


def _of_sessions(sessions: Iterable[int]) -> list[int]:
    wanted = set(sessions)
    return [pid for pid, (_, session) in _processes().items() if session in wanted]


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@dataclass(slots=True)
class Step:
    """Something that a client asked for: the events of a request, or one subscription.

    Attributes:
        events: By id.
        subscription: Its id and condition.
        ticket: Of the subscription, if it was answered.
        is_answered: Was it, with success?
    """

    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    subscription: tuple[str, str] | None = None
    ticket: str | None = None
    is_answered: bool = False


class Loader:
    """Publishes, and subscribes now and then, one request after the other, until told to stop."""

    def __init__(self, seed: int) -> None:
        self.steps: list[Step] = []
        self._chance = random.Random(seed)
        self._numbers = 0

    def run(self, service: Service, is_over: Callable[[], bool], *, batches: int | None = None) -> None:
        """Ask until it is over, nobody answers any more, or so many requests were answered."""
        headers = {"Authorization": f"Bearer {service.token}"}
        with httpx2.Client(base_url=service.address, headers=headers, timeout=PATIENCE_SECONDS) as client:
            done = 0
            while not is_over() and (batches is None or done < batches):
                step = self._next()
                self.steps.append(step)
                try:
                    self._ask(client, step)
                except httpx2.TransportError:
                    return
                done += 1
                time.sleep(_PAUSE_SECONDS if done < _MANY_REQUESTS else _LONG_PAUSE_SECONDS)

    def meanwhile(self, service: Service) -> Callable[[], None]:
        """Ask in a thread; gives what ends it."""
        over = threading.Event()
        thread = threading.Thread(target=self.run, args=(service, over.is_set))
        thread.start()

        def end() -> None:
            over.set()
            thread.join()

        return end

    def _next(self) -> Step:
        chance = self._chance
        self._numbers += 1
        if self._numbers == 1 or chance.random() < 0.04:
            low = chance.randrange(90)
            conditions = [f"a < {low // 9}", f"a BETWEEN {low} AND {low + 9}", f"b = 'x' AND a = {low}", "c = 1"]
            return Step(subscription=(f"s{self._numbers}", chance.choice(conditions)))
        ids = [f"e{self._numbers}-{number}" for number in range(_BATCH)]
        return Step({id: {"id": id, "a": chance.randrange(100), "b": chance.choice("xyz")} for id in ids})

    def _ask(self, client: httpx2.Client, step: Step) -> None:
        if step.subscription is not None:
            id, condition = step.subscription
            answer = client.post("/v1/subscriptions", json={"id": id, "condition": condition})
            if answer.status_code == 201:
                step.ticket = answer.json()["ticket"]
        else:
            answer = client.post("/v1/events", json=[*step.events.values()])
        assert answer.status_code in (201, 202), answer.text
        step.is_answered = True
