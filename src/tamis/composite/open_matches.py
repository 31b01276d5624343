"""What is open of many composite subscriptions, as columns: events that may still take part, and matches in wait.

A batch of events touches most keys in a way that only adds a row: a first part comes, and nothing that could
follow it. Those keys never leave the columns. Only a key that gets an event which can end something, or that is
full, is made a `KeyState` and goes through its events one by one. Keys do not depend on each other, so it makes no
difference in which order they are looked at; matches are sorted afterwards. Bounds of all keys of a subscription
or group are the exception: they are applied to what a batch leaves.

    code           time  parts  match
    (alarm, ann)   0     01     -1      an event that may take part: `KEPT`
    (alarm, ann)   4     10     -1
    (unpaid, bob)  2     1      7       the event of a match in wait, which event number 7 began
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tamis.arrays import I64, Bools, Mask
from tamis.composite.explain import CompositeExplanation, Ending, explain_state, first_places
from tamis.composite.greedy import ALIVE, EXPIRED, Groups, step_greedily
from tamis.composite.key_state import KeyState
from tamis.composite.parts import CompiledComposite
from tamis.composite.search import KeptEvent, Search
from tamis.composite.syntax import MOST_PARTS

KEPT = -1
"""In the column `match`: the event is in no match yet."""
KEY_BITS = 40
"""A code is the slot of a subscription, then a number of these bits for the key."""
_MOST_ENDED = 10_000
"""Events of matches that were not completed, for explanations."""
LEAST_FOR_KERNEL = 32
"""Fewer keys go through `KeyState`, without a kernel that would have to be compiled or loaded first."""
EventsOf: TypeAlias = Callable[[Iterable[int]], dict[int, Any]]
"""The attributes of events by number."""
_FORMS = {"sequence": 0, "all": 1, "at_least": 2}


@dataclass(frozen=True, slots=True)
class Rows:
    """Events and the subscriptions that they may concern, in columns of equal length.

    Attributes:
        code: Slot of the subscription and number of the key.
        time_us: Of the event.
        number: Its place in the order of arrival.
        parts: The parts that it satisfies, as bits.
        until_us: When its row is over.
        match: `KEPT`, or the number of the first event of the match in wait that it belongs to.
        begun: Has it begun a match?
    """

    code: I64
    time_us: I64
    number: I64
    parts: I64
    until_us: I64
    match: I64
    begun: Bools

    def __len__(self) -> int:
        return len(self.code)

    def take(self, rows: I64 | Mask) -> Rows:
        """Some of the rows."""
        return Rows(*(getattr(self, name)[rows] for name in _COLUMNS))

    @classmethod
    def join(cls, several: Sequence[Rows]) -> Rows:
        """The rows of all."""
        if len(several) == 1:
            return several[0]
        columns: Any = (np.concatenate([getattr(each, name) for each in several]) for name in _COLUMNS)
        return cls(*columns)

    @classmethod
    def arrived(cls, code: I64, time_us: I64, number: I64, parts: I64) -> Rows:
        """Events that were not considered yet."""
        nothing = np.full(len(code), KEPT, np.int64)
        return cls(code, time_us, number, parts, nothing, nothing, np.zeros(len(code), np.bool_))

    @classmethod
    def of(cls, rows: Sequence[tuple[Any, ...]]) -> Rows:
        """Rows from tuples, in the order of the columns."""
        if not rows:
            return EMPTY
        columns = list(zip(*rows, strict=True))
        kinds = [np.int64] * (len(_COLUMNS) - 1) + [np.bool_]
        made: Any = (np.array(each, kind) for each, kind in zip(columns, kinds, strict=True))
        return cls(*made)


_COLUMNS = tuple(each.name for each in fields(Rows))
EMPTY = Rows.arrived(*[np.empty(0, np.int64)] * 4)


class Completed(NamedTuple):
    """A completed match: of which code, when, the numbers of its events, and its place among those of the time."""

    code: int
    time_us: int
    numbers: Sequence[int]
    order: tuple[int, int, int]


class Bounds(NamedTuple):
    """How much is kept, and how long is searched.

    Attributes:
        per_key: Events that a subscription keeps of one key.
        per_subscription: Events that it keeps of all keys.
        per_group: Events that all subscriptions of a group keep.
        tries: Events that are tried to find the matches that one event ends.
    """

    per_key: int = 1000
    per_subscription: int = 1_000_000
    per_group: int = 10_000_000
    tries: int = 100_000


class _Rules(NamedTuple):
    """What is asked of the composites in all slots, as columns."""

    within_us: I64
    form: I64
    wanted: I64
    last: I64
    absent: I64
    serial: I64
    group: I64
    is_strict: I64
    is_shared: I64
    is_greedy: I64
    parts: I64
    is_joint: I64


class OpenMatches:
    """Takes events in batches, each with a watermark, and gives the matches that are complete by then.

    Attributes:
        held: Events that were considered, by code and time.
        early: Events that the watermark has not reached.
        dropped: How many events found a bound reached; an event counts for each subscription.
        abandoned: How many searches took too many tries.
    """

    def __init__(self, bounds: Bounds, get_many: EventsOf) -> None:
        """Nothing is open; `get_many` is asked for the attributes of events that conditions on several look at."""
        self.bounds = bounds
        self._get_many = get_many
        self._fetched: dict[int, Mapping[str, Any]] = {}
        self.held = EMPTY
        self.early = EMPTY
        self.dropped = 0
        self.abandoned = 0
        self._composites: dict[int, tuple[CompiledComposite, int, int]] = {}
        self._free: list[int] = []
        self._serial = 0
        self._groups: dict[str, int] = {}
        self._rules: _Rules | None = None
        self._gaps: I64 = np.zeros((0, MOST_PARTS), np.int64)
        self._ended: deque[tuple[int, Ending]] = deque(maxlen=_MOST_ENDED // 10)
        self._over: deque[Rows] = deque()

    def add(self, composite: CompiledComposite, group: str = "") -> int:
        """The slot of a new composite subscription."""
        slot = self._free.pop() if self._free else len(self._composites)
        number = self._groups.setdefault(group, len(self._groups))
        self._composites[slot] = composite, self._serial, number
        self._serial += 1
        self._rules = None
        return slot

    def remove(self, slot: int) -> None:
        """Forget a subscription and everything that is open for it."""
        del self._composites[slot]
        self._free.append(slot)
        self._rules = None
        self.held, self.early = (rows.take(rows.code >> KEY_BITS != slot) for rows in (self.held, self.early))
        self._ended = deque((each for each in self._ended if each[0] >> KEY_BITS != slot), self._ended.maxlen)
        self._over = deque(rows.take(rows.code >> KEY_BITS != slot) for rows in self._over)

    # --- a batch -----------------------------------------------------------------------------------------

    def apply(self, arrived: Rows, watermark_us: int) -> list[Completed]:
        """Consider what the watermark has reached; the matches that are complete, in order."""
        new = Rows.join([self.early, arrived]) if len(self.early) else arrived
        is_due = new.time_us <= watermark_us
        if is_due.all():
            self.early = EMPTY
        else:
            self.early, new = new.take(~is_due), new.take(is_due)
        complete: list[Completed] = []
        if len(new):
            self._consider(new.take(np.lexsort((new.number, new.time_us, new.code))), complete)
        self._pass_deadlines(watermark_us, complete)
        self._apply_bounds(new)
        complete.sort(key=lambda each: (each.time_us, each.order))
        return complete

    def _consider(self, new: Rows, complete: list[Completed]) -> None:
        """Add rows, by code and time; codes with an event that may end something go through `_step`."""
        rules, held = self.rules, self.held
        starts = np.flatnonzero(np.append(True, new.code[1:] != new.code[:-1]))
        code = new.code[starts]
        slot = code >> KEY_BITS
        sizes = np.diff(np.append(starts, len(new)))
        low, high = np.searchsorted(held.code, code), np.searchsorted(held.code, code, "right")
        was_open, total = high > low, high - low + sizes
        parts = np.bitwise_or.reduceat(new.parts, starts)
        count, is_sequence = rules.wanted[slot], rules.form[slot] == 0
        # A sequence needs its first part; what can end something needs the events of a match, or one in wait.
        is_used = ~is_sequence | was_open | (parts & 1 == 1)
        may_end = np.where(is_sequence, parts & rules.last[slot] != 0, True) & (total >= count) & (count > 1)
        may_end |= (parts & rules.absent[slot] != 0) & (total > 1)
        may_end |= total > self.bounds.per_key
        may_end &= is_used
        each = np.repeat(np.arange(len(starts)), sizes)
        slots = slot[each]
        # Kept are events that later ones can follow. One that makes a match of THEN NOT by itself waits.
        waits = rules.wanted[slots] == 1
        can_wait = ~is_sequence[each] | (new.parts & np.where(waits, 1, rules.last[slots] - 1) != 0)
        is_added = (is_used & ~may_end)[each] & can_wait
        new.until_us[:] = new.time_us + rules.within_us[slots]
        new.match[:] = np.where(waits, new.number, KEPT)
        added = new.take(is_added)
        added.begun[:] = added.match != KEPT
        groups = np.flatnonzero(may_end)
        is_greedy = self.rules.is_greedy[slot[groups]] != 0
        if np.count_nonzero(is_greedy) < LEAST_FOR_KERNEL:
            is_greedy[:] = False
        some = groups[is_greedy]
        left = EMPTY
        if len(some):
            left = self._step_greedily(held, low[some], high[some], new, starts[some], sizes[some], complete)
        remade: list[tuple[Any, ...]] = []
        ends = starts + sizes
        others = groups[~is_greedy]
        joint = others[rules.is_joint[slot[others]] != 0]
        needed = [held.number[_ranges(low[joint], high[joint] - low[joint])]]
        needed.append(new.number[_ranges(starts[joint], sizes[joint])])
        self._fetched = self._get_many(np.concatenate(needed).tolist())
        for at in others.tolist():
            self._step(int(code[at]), held, low[at], high[at], new, starts[at], ends[at], complete, remade)
        if len(groups):
            is_kept = np.ones(len(held), np.bool_)
            is_kept[_ranges(low[groups], high[groups] - low[groups])] = False
            held = held.take(is_kept)
        joined = Rows.join([held, added, left, Rows.of(remade)])
        self.held = joined.take(np.argsort(joined.code, kind="stable"))

    def _step_greedily(
        self, held: Rows, low: I64, high: I64, new: Rows, start: I64, sizes: I64, complete: list[Completed]
    ) -> Rows:
        """As `_step` for many codes at once; gives the rows that they keep."""
        old = high - low
        group = np.repeat(np.arange(len(low)), old), np.repeat(np.arange(len(low)), sizes)
        both = Rows.join([held.take(_ranges(low, old)), new.take(_ranges(start, sizes))])
        both = both.take(np.argsort(np.concatenate(group), kind="stable"))
        ends = np.cumsum(old + sizes)
        begins = ends - old - sizes
        slots, rules = both.code[begins] >> KEY_BITS, self.rules
        asked = (rules.within_us, rules.parts, rules.wanted, rules.is_strict, rules.is_shared, self._gaps)
        groups = Groups(begins, begins + old, ends, *(column[slots] for column in asked))
        steps = step_greedily(both.time_us, both.parts, both.begun, groups, self.bounds.per_key)
        self.dropped += steps.dropped
        numbers, starts = both.number[steps.rows].tolist(), [0, *steps.ends.tolist()]
        last = steps.rows[steps.ends - 1]
        serials = rules.serial[both.code[last] >> KEY_BITS].tolist()
        found = zip(both.code[last].tolist(), both.time_us[last].tolist(), serials, pairwise(starts), strict=True)
        for code, time_us, serial, (first, end) in found:
            complete.append(Completed(code, time_us, numbers[first:end], (0, numbers[end - 1], serial)))
        self._keep_over(both.take(steps.status == EXPIRED))
        return both.take(steps.status == ALIVE)

    def _step(
        self,
        code: int,
        held: Rows,
        low: int,
        high: int,
        new: Rows,
        start: int,
        end: int,
        complete: list[Completed],
        remade: list[tuple[Any, ...]],
    ) -> None:
        """Let the events of one code come one after the other, and make its rows again."""
        composite, serial, _ = self._composites[code >> KEY_BITS]
        within_us, most = composite.source.within_us, self.bounds.per_key
        state = _state_of(held, low, high)
        columns = (new.time_us, new.number, new.parts)
        for values in zip(*(column[start:end].tolist() for column in columns), strict=True):
            event = KeptEvent(*values)
            self._expire(code, state, event.time_us, complete)
            search = Search(composite, self.bounds.tries, self._fetched.__getitem__)
            before = state.size
            self._ended.extend((code, ending) for ending in state.cancel(composite, event, search))
            for chosen in state.end_matches(composite, event, search):
                complete.append(Completed(code, event.time_us, _numbers(chosen), (0, event.number, serial)))
            self.abandoned += search.gave_up
            if most < state.size > before:
                self.dropped += 1
                state.drop(event)
        remade += rows_of_state(code, state, within_us)

    def _expire(self, code: int, state: KeyState, before_us: int, complete: list[Completed]) -> None:
        """Pass the deadlines of one key that come before an event."""
        composite, serial, _ = self._composites[code >> KEY_BITS]
        within_us = composite.source.within_us
        while state.size and (deadline := state.next_deadline(within_us)) < before_us:
            over, endings = state.expire(composite, deadline)
            complete += [Completed(code, deadline, _numbers(each), (1, each[0].number, serial)) for each in over]
            self._ended.extend((code, ending) for ending in endings)

    def _pass_deadlines(self, before_us: int, complete: list[Completed]) -> None:
        """Complete what waited for a deadline before this time, and forget events that are too old."""
        is_over = self.held.until_us < before_us
        if not is_over.any():
            return
        over, self.held = self.held.take(is_over), self.held.take(~is_over)
        waited = np.flatnonzero(over.match != KEPT)
        if len(waited):
            rows = over.take(waited)
            rows = rows.take(np.lexsort((rows.number, rows.time_us, rows.match, rows.code)))
            is_first = (rows.code[1:] != rows.code[:-1]) | (rows.match[1:] != rows.match[:-1])
            starts = np.flatnonzero(np.append(True, is_first)).tolist()
            numbers = rows.number.tolist()
            columns = [rows.code, rows.until_us, rows.match, self.rules.serial[rows.code >> KEY_BITS]]
            begins = zip(*(column[starts].tolist() for column in columns), strict=True)
            ends = [*starts[1:], len(rows)]
            for start, end, (code, deadline, first, serial) in zip(starts, ends, begins, strict=True):
                complete.append(Completed(code, deadline, numbers[start:end], (1, first, serial)))
        self._keep_over(over.take(over.match == KEPT))

    def _keep_over(self, over: Rows) -> None:
        """Remember events whose time is over, for explanations."""
        if len(over):
            self._over.append(over)
            while sum(map(len, self._over)) > _MOST_ENDED and len(self._over) > 1:
                self._over.popleft()

    def _apply_bounds(self, new: Rows) -> None:
        """Drop the newest rows of subscriptions and groups that keep too many; a match in wait as a whole."""
        held, bounds = self.held, self.bounds
        if len(held) <= min(bounds.per_subscription, bounds.per_group) or not len(new):
            return
        slots = held.code >> KEY_BITS
        is_over = np.zeros(len(held), np.bool_)
        newest = np.lexsort((held.number, held.time_us))[::-1]
        for owner, most in ((slots, bounds.per_subscription), (self.rules.group[slots], bounds.per_group)):
            sizes = np.bincount(owner[~is_over])
            for number in np.flatnonzero(sizes > most).tolist():
                rows = newest[(owner[newest] == number) & ~is_over[newest]]
                is_over[rows[: sizes[number] - most]] = True
        if is_over.any():
            self.dropped += len(np.unique(np.stack([held.code[is_over], held.number[is_over]]), axis=1)[0])
            partly = np.unique(np.stack([held.code, held.match])[:, is_over & (held.match != KEPT)], axis=1)
            for code, match in partly.T.tolist():
                is_over |= (held.code == code) & (held.match == match)
            self.held = held.take(~is_over)

    def is_used(self, code: I64, parts: I64, is_due: Bools) -> Bools:
        """Which events can take part: those of a sequence that is not open, and does not begin here, cannot.

        Before an event that is not due another one may come, and begin.
        """
        begins = (self.rules.form[code >> KEY_BITS] != 0) | (parts & 1 == 1)
        used: Bools = begins | ~is_due
        rest = np.flatnonzero(~used)
        for others in (self.held.code, np.sort(self.early.code), np.unique(code[begins])):
            if len(others):
                at = np.minimum(np.searchsorted(others, code[rest]), len(others) - 1)
                used[rest] |= others[at] == code[rest]
        return used

    def keys(self) -> list[I64]:
        """The numbers of all keys that something is kept of, explanations included."""
        ended = np.array([code for code, _ in self._ended], np.int64)
        codes = (ended, *(rows.code for rows in (self.held, self.early, *self._over)))
        return [code & (1 << KEY_BITS) - 1 for code in codes]

    def numbers(self) -> list[I64]:
        """The numbers of events that are kept, explanations included."""
        ended = [event.number for _, ending in self._ended for event in (*ending.events, ending.unwanted) if event]
        return [np.array(ended, np.int64), *(rows.number for rows in (self.held, self.early, *self._over))]

    # --- looking -----------------------------------------------------------------------------------------

    @property
    def rules(self) -> _Rules:
        """What the composites in all slots ask for."""
        if self._rules is None:
            columns = np.zeros((len(_Rules._fields), max(self._composites, default=-1) + 1), np.int64)
            self._gaps = np.zeros((columns.shape[1], MOST_PARTS), np.int64)
            for slot, (composite, serial, group) in self._composites.items():
                source, count = composite.source, len(composite.parts)
                absent = 0 if composite.absent is None else 1 << count
                form = _FORMS[source.form]
                is_greedy = composite.is_greedy and not absent
                flags = source.strict, source.shared, is_greedy, count if source.form == "sequence" else 0
                is_joint = any(part.joint for part in composite.all_parts)
                bits = 1 << count - 1, absent
                columns[:, slot] = source.within_us, form, source.count, *bits, serial, group, *flags, is_joint
                self._gaps[slot, :count] = [part.gap_us for part in composite.parts]
            self._rules = _Rules(*columns)
        return self._rules

    def state_of(self, code: int) -> KeyState:
        """What is open of one subscription and key."""
        low, high = (int(np.searchsorted(self.held.code, code, side)) for side in ("left", "right"))
        return _state_of(self.held, low, high)

    def explain(self, slot: int, code: int | None) -> CompositeExplanation:
        """What is open for a key, and why the last matches were not completed; None for a key that is unknown."""
        composite = self._composites[slot][0]
        state = KeyState() if code is None else self.state_of(code)
        endings = [ending for own, ending in self._ended if own == code]
        over = [event for rows in self._over for event in _events(rows.take(rows.code == code))]
        for place in first_places(composite, over):
            end_us = over[place].time_us + composite.source.within_us
            endings.append(Ending([each for each in (*over[place:], *state.kept) if each.time_us <= end_us]))
        ended = [*(event for each in endings for event in each.events), *state.kept]
        numbers = [event.number for event in (*ended, *(one for each in state.waiting for one in each))]
        events = self._get_many(numbers)
        return explain_state(composite, state.kept, state.waiting, endings, self.bounds.tries, events.__getitem__)


def _ranges(starts: I64, sizes: I64) -> I64:
    """The numbers from each start on, so many."""
    ends = np.cumsum(sizes)
    return np.repeat(starts - ends + sizes, sizes) + np.arange(ends[-1] if len(ends) else 0)


def _events(rows: Rows, start: int = 0, end: int | None = None) -> list[KeptEvent]:
    columns = (rows.time_us, rows.number, rows.parts, rows.begun)
    return [KeptEvent(*each) for each in zip(*(column[start:end].tolist() for column in columns), strict=True)]


def _numbers(events: Sequence[KeptEvent]) -> list[int]:
    return [event.number for event in events]


def _state_of(held: Rows, low: int, high: int) -> KeyState:
    """The state of one key from its rows."""
    state = KeyState()
    waiting: dict[int, list[KeptEvent]] = {}
    for match, event in zip(held.match[low:high].tolist(), _events(held, low, high), strict=True):
        (state.kept if match == KEPT else waiting.setdefault(match, [])).append(event)
    state.waiting = sorted(waiting.values(), key=lambda events: (events[0].time_us, events[0].number))
    return state


def rows_of_state(code: int, state: KeyState, within_us: int) -> Iterator[tuple[Any, ...]]:
    """What a key keeps, as tuples in the order of the columns."""
    groups = [(KEPT, each.time_us, [each]) for each in state.kept]
    groups += [(events[0].number, events[0].time_us, events) for events in state.waiting]
    for match, since_us, events in groups:
        for each in events:
            yield code, each.time_us, each.number, each.parts, since_us + within_us, match, each.begun
