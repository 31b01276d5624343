"""What the events of this site are like: a decayed sample of each type, from which entries of links are pruned."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from tamis.arrays import I64
from tamis.events.event_type import EventType
from tamis.events.json_values import read_json_values, rows_of
from tamis.formulas.predicates.base import Frame
from tamis.routing.decayed_events import REACH, DecayedEvents
from tamis.service.inbox import Inbox
from tamis.service.names import tenant_of

_SECONDS = 60.0
"""After which a sample takes in what was accepted meanwhile."""


class EventSamples:
    """Decayed samples of the events in an inbox; of these, only those that get into a sample are read."""

    def __init__(self, inbox: Inbox, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing was read yet."""
        self._inbox = inbox
        self._clock = clock
        self._samples: dict[str, _Sample] = {}
        self._lock = threading.Lock()

    def of(self, event_type: EventType) -> Sequence[Frame]:
        """Events of a type; the same object until others are in the sample."""
        with self._lock:
            known = self._samples.get(event_type.name)
            if known is None or known.event_type != event_type:
                known = self._samples[event_type.name] = _Sample(event_type)
            now = self._clock()
            if now >= known.due:
                known.due = now + _SECONDS
                known.read(self._inbox)
            return known.frames


class _Sample:
    """The events of one type."""

    def __init__(self, event_type: EventType) -> None:
        self.event_type = event_type
        self.frames: Sequence[Frame] = ()
        self.due = 0.0
        self._events = DecayedEvents()
        self._last = 0

    def read(self, inbox: Inbox) -> None:
        """Take in what was accepted since the last time."""
        name = self.event_type.name
        new = inbox.numbers(tenant_of(name), name, after=self._last, limit=REACH)
        if not new:
            return
        self._last = new[-1]
        chosen = inbox.numbered(self._events.choose(np.array(new, np.int64)).tolist())
        if not chosen:
            return
        numbers: I64 = np.array([each.number for each in chosen], np.int64)
        read = read_json_values(pa.array([each.value for each in chosen], pa.binary()), self.event_type)
        for batch in read.batches:
            self._events.offer(batch, numbers[rows_of(batch)])
        self.frames = tuple(self._events.frames)
