"""`auto`: the engine that snapshots keep, until another one has proved faster on the events that come.

An index begins as that of `bitslice`, which every process maps from a snapshot. When matching has taken a while,
the next events are a sample: each candidate is built and timed on them, and one that is much faster answers from
then on. The same is done again after a multiple of what it took, since events drift; so comparing costs a small
share of the time at most, and nothing where little is matched.

No match waits for any of this: a match adds its events to the sample, and another thread builds, compiles and
times (`comparing_thread`). The answering index is put in place when it is ready.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import thread_time
from typing import Any

import numpy as np

from tamis.arrays import I64, AnyArray
from tamis.engines.base import Engine, Index, Matches, Stats, frame_of
from tamis.engines.bitset import Bitset
from tamis.engines.bitslice import Bitslice, BitsliceIndex
from tamis.engines.bitslice.kernels import handle
from tamis.engines.comparing_thread import ComparingThread, EndingError, check
from tamis.engines.forest import Forest, forest_of
from tamis.engines.forest.selection import select_formulas
from tamis.events.batch import EventBatch
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame
from tamis.kernels import is_compiled
from tamis.numerals import number_text
from tamis.statistics import Statistics

_log = logging.getLogger("tamis")

CANDIDATES: tuple[Engine, ...] = (Bitset(),)
"""What may be faster than the engine that snapshots keep."""
MIN_SPEEDUP = 2.0
"""How many times as fast a candidate must be: every process builds its own index of it and keeps both."""
_MIN_SUBSCRIPTIONS = 1_000
"""Any engine matches fewer subscriptions in microseconds."""
_TOO_FEW = (
    f"fewer than {_MIN_SUBSCRIPTIONS:,} subscriptions take microseconds with any engine: none was compiled "
    "to be timed; `tamis warm` compiles all"
)
_MAX_LEAVES = 2_000_000
"""Leaves above which the index of a candidate would take gigabytes."""
_SAMPLE_FORMULAS = 20_000
"""Formulas on which a candidate must win before it is built for all of them."""
_SAMPLE_EVENTS = 512
"""Events that candidates are timed on, in the batches in which they came."""
_SAMPLE_BATCHES = 64
"""Batches that a sample has at most: where events come one by one, it is smaller."""
_SECONDS_BEFORE_COMPARING = 1.0
"""Processor time of matching after which candidates are compared for the first time."""
_SECONDS_BEFORE_COMPILING = 60.0
"""The same where the kernels of a candidate are not compiled yet."""
_SHARE_OF_COMPARING = 0.05
"""Of the processor time, what comparing may take."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine that answers, and the evidence.

    Attributes:
        engine: Its name.
        reason: One sentence.
        microseconds: What each engine took for an event, empty before there was a comparison.
        events: On how many events they were compared.
    """

    engine: str = Bitslice.name
    reason: str = "too little has been matched to compare engines"
    microseconds: Mapping[str, float] = field(default_factory=dict)
    events: int = 0

    def to_dict(self) -> dict[str, Any]:
        """For `stats()` and JSON."""
        return {
            "engine": self.engine,
            "reason": self.reason,
            "us_per_event": dict(self.microseconds),
            "events": self.events,
        }


class Auto:
    """The engine `auto`: that of `bitslice`, until another has proved faster on the events that came."""

    name = "auto"
    dynamic = False

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> AutoIndex:
        """An index with formula i in slot i."""
        return AutoIndex(Bitslice().build(formulas, statistics), statistics)

    def open(self, formulas: Sequence[Formula], arrays: Mapping[str, AnyArray]) -> AutoIndex:
        """As `MappedEngine`."""
        return AutoIndex(Bitslice().open(formulas, arrays))


class AutoIndex:
    """The index of `bitslice`, and of a faster engine if there is one.

    Attributes:
        mapped: The index of `bitslice`.
        choice: Which one answers now, and why.
    """

    def __init__(self, mapped: BitsliceIndex, statistics: Statistics | None = None) -> None:
        self.mapped = mapped
        self.choice = Choice()
        self._statistics = statistics
        self._answering: Index = mapped
        self._seconds = 0.0  # threads may lose some of it to each other: it only says when to compare
        self._due = _first_comparison(mapped.forest)
        self._sample: list[Frame] = []
        self._collecting = threading.Lock()
        self._comparing = ComparingThread()

    def match(self, events: EventBatch | Frame) -> Matches:
        """All pairs, in no particular order."""
        frame = frame_of(events)
        begun = thread_time()
        found = self._answering.match(frame)
        self._seconds += thread_time() - begun
        if (
            self._seconds >= self._due
            and frame.rows
            and not self._comparing.is_under_way
            and self._collecting.acquire(blocking=False)
        ):
            try:
                self._collect(frame)
            finally:
                self._collecting.release()
        return found

    def settle(self) -> None:
        """Wait until no comparison is under way."""
        self._comparing.wait()

    def estimate(self, events: EventBatch | Frame) -> I64:
        """As `Estimating`."""
        return self.mapped.estimate(events)

    def arrays(self) -> dict[str, AnyArray]:
        """As `StoredIndex`."""
        return self.mapped.arrays()

    def stats(self) -> Stats:
        """Of the index that answers."""
        return self._answering.stats()

    def _collect(self, frame: Frame) -> None:
        """Add a batch to the sample, and compare when it is large enough."""
        places = np.linspace(0, frame.rows - 1, min(frame.rows, _SAMPLE_EVENTS)).astype(np.int64)
        self._sample.append(frame if len(places) == frame.rows else frame.take(places))
        if sum(each.rows for each in self._sample) < _SAMPLE_EVENTS and len(self._sample) < _SAMPLE_BATCHES:
            return
        sample, self._sample = self._sample, []
        if not self._comparing.is_under_way:  # another thread may have begun one since the caller looked
            self._comparing.begin(lambda: self._choose(sample))

    def _choose(self, sample: Sequence[Frame]) -> None:
        """Compare, and let the better index answer from now on; in a thread of its own."""
        begun = thread_time()
        try:
            self._answering, self.choice = self._compare(sample)
        except EndingError:
            raise
        except Exception as error:
            # An engine too many must not stop matching, which does not need it: too little memory, say.
            _log.exception("comparing engines failed; %s answers", Bitslice.name)
            self._answering, self._due = self.mapped, float("inf")
            self.choice = Choice(reason=f"comparing engines failed: {type(error).__name__}: {error}")
            return
        self._seconds, self._due = 0.0, max(_first_comparison(), (thread_time() - begun) / _SHARE_OF_COMPARING)

    def _compare(self, sample: Sequence[Frame]) -> tuple[Index, Choice]:
        indexes: dict[str, Index] = {Bitslice.name: self.mapped}
        for engine in CANDIDATES:
            if self.choice.engine == engine.name:
                indexes[engine.name] = self._answering
            elif self._is_promising(engine, sample):
                check()
                indexes[engine.name] = engine.build(self.mapped.forest, self._statistics)
        choice = choose(indexes, sample)
        return indexes[choice.engine], choice

    def _is_promising(self, engine: Engine, sample: Sequence[Frame]) -> bool:
        """Is it worth building for all formulas? Its time grows with their number at least as ours."""
        forest = self.mapped.forest
        if len(forest) <= _SAMPLE_FORMULAS:
            return True
        some = np.sort(np.random.default_rng(0).choice(len(forest), _SAMPLE_FORMULAS, replace=False))
        part = select_formulas(forest, some)
        ours, theirs = Bitslice().build(part, self._statistics), engine.build(part, self._statistics)
        return microseconds(theirs, sample) * MIN_SPEEDUP < microseconds(ours, sample)


def microseconds(index: Index, sample: Sequence[Frame]) -> float:
    """The processor time that an event of the sample takes: the better of two passes."""
    seconds = []
    for _ in range(2):
        begun = thread_time()
        for frame in sample:
            check()
            index.match(frame)
        seconds.append(thread_time() - begun)
    return 1e6 * min(seconds) / max(1, sum(frame.rows for frame in sample))


def choose(indexes: Mapping[str, Index], sample: Sequence[Frame]) -> Choice:
    """The engine that shall answer, of indexes of the same formulas by the names of their engines."""
    times = {name: microseconds(index, sample) for name, index in indexes.items()}
    best = min(times, key=times.__getitem__)
    chosen = best if times[best] * MIN_SPEEDUP < times[Bitslice.name] else Bitslice.name
    return Choice(chosen, _reason(chosen, times), times, sum(each.rows for each in sample))


def choose_for(formulas: Sequence[Formula], sample: Sequence[Frame]) -> Choice:
    """What `auto` comes to for these formulas and events; for few formulas no engine is compiled."""
    if len(formulas) < _MIN_SUBSCRIPTIONS and not all(map(is_compiled, (handle.__name__, *_candidate_modules()))):
        return Choice(reason=_TOO_FEW)
    forest = forest_of(formulas)
    engines = (Bitslice(), *CANDIDATES) if len(forest.leaves.kinds) <= _MAX_LEAVES else (Bitslice(),)
    return choose({engine.name: engine.build(forest) for engine in engines}, sample)


def _candidate_modules() -> list[str]:
    """Those with the kernels of the candidates."""
    return [type(engine).__module__ for engine in CANDIDATES]


def _first_comparison(forest: Forest | None = None) -> float:
    """Seconds of matching until engines are compared; never, for too few formulas or too many."""
    if forest is not None and (len(forest) < _MIN_SUBSCRIPTIONS or len(forest.leaves.kinds) > _MAX_LEAVES):
        return float("inf")
    is_ready = all(map(is_compiled, _candidate_modules()))
    return _SECONDS_BEFORE_COMPARING if is_ready else _SECONDS_BEFORE_COMPILING


def _reason(chosen: str, times: Mapping[str, float]) -> str:
    others = ", ".join(f"{name} {number_text(time, 3)}" for name, time in times.items() if name != chosen)
    told = f"{chosen} takes {number_text(times[chosen], 3)} us per event"
    if not others:
        return f"{told}; no other engine was faster on a sample of the subscriptions"
    needed = "" if chosen != Bitslice.name else f"; another must be {MIN_SPEEDUP:g} times as fast"
    return f"{told}, {others}{needed}"
