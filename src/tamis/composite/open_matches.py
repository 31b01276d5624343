"""What is open of many composite subscriptions, as columns: events that may still take part, and matches in wait.

A batch goes through a kernel (`key_steps.py`), which knows all forms. Conditions on two events are evaluated
before it, for all codes at once. What is left are codes with conditions on more events, or with too many pairs,
and batches so small that no kernel is needed: there, a `KeyState` is made of each code that gets an event. Keys do
not depend on each other, so it makes no difference in which order they are looked at; matches are sorted
afterwards. Bounds of all keys of a subscription or group are the exception: they are applied to what a batch
leaves.

    code           time  parts  match
    (alarm, ann)   0     01     -1      an event that may take part: `KEPT`
    (alarm, ann)   4     10     -1
    (unpaid, bob)  2     1      7       the event of a match in wait, which event number 7 began
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tamis.arrays import I64, Bools, Mask
from tamis.composite.explain import CompositeExplanation, Ending, explain_state, first_places
from tamis.composite.joint_conditions import EventsOf, JointConditions
from tamis.composite.key_state import KeyState
from tamis.composite.key_steps import (
    KEPT,
    Groups,
    Limits,
    Room,
    Rules,
    Table,
    find_codes,
    list_pairs,
    order_of_codes,
    step_keys,
)
from tamis.composite.parts import CompiledComposite
from tamis.composite.search import KeptEvent, Search
from tamis.composite.syntax import MOST_PARTS

KEY_BITS = 40
"""A code is the slot of a subscription, then a number of these bits for the key."""
_MOST_ENDED = 10_000
"""Events of matches that were not completed, for explanations."""
LEAST_FOR_KERNEL = 32
"""Fewer codes go through `KeyState`, without a kernel that would have to be compiled or loaded first."""
_MOST_VERDICTS = 10_000
"""Pairs of events of one code that its conditions on two events are asked about; more are asked for as needed."""
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
    def arrived(cls, code: I64, time_us: I64, number: I64, parts: I64, begun: Bools | None = None) -> Rows:
        """Events that are in no match."""
        nothing = np.full(len(code), KEPT, np.int64)
        begun = np.zeros(len(code), np.bool_) if begun is None else begun
        return cls(code, time_us, number, parts, nothing, nothing, begun)

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
_NOTHING = np.empty(0, np.int64)
EMPTY = Rows.arrived(_NOTHING, _NOTHING, _NOTHING, _NOTHING)


_Done: TypeAlias = tuple[int, int, int, Sequence[int]]
"""A completed match, as `Completions.of` takes it."""


class Completed(NamedTuple):
    """A completed match: of which code, when, and the numbers of its events."""

    code: int
    time_us: int
    numbers: Sequence[int]


@dataclass(frozen=True, slots=True)
class Completions:
    """Completed matches, as columns.

    Attributes:
        code: Of each match.
        time_us: When it was complete.
        is_timed: Did a deadline complete it, after the events of that time?
        ends: Where the events of each match end in `numbers`.
        numbers: Of events.
    """

    code: I64
    time_us: I64
    is_timed: I64
    ends: I64
    numbers: I64

    def __len__(self) -> int:
        return len(self.code)

    def __iter__(self) -> Iterator[Completed]:
        """One match after the other."""
        numbers, columns = self.numbers.tolist(), (self.code.tolist(), self.time_us.tolist())
        for code, time_us, (start, end) in zip(*columns, pairwise([0, *self.ends.tolist()]), strict=True):
            yield Completed(code, time_us, numbers[start:end])

    @classmethod
    def of(cls, several: Sequence[_Done]) -> Completions:
        """Matches as tuples of code, time, whether it is timed, and numbers."""
        code, time_us, is_timed = (np.array([each[at] for each in several], np.int64) for at in range(3))
        ends = np.cumsum([len(each[3]) for each in several], dtype=np.int64)
        numbers = np.array([number for each in several for number in each[3]], np.int64)
        return cls(code, time_us, is_timed, ends, numbers)

    def join(self, other: Completions) -> Completions:
        """The matches of both."""
        ends = np.append(self.ends, other.ends + len(self.numbers))
        names = ("code", "time_us", "is_timed", "numbers")
        code, time_us, is_timed, numbers = (np.append(getattr(self, name), getattr(other, name)) for name in names)
        return Completions(code, time_us, is_timed, ends, numbers)

    def sort(self, serial: I64) -> Completions:
        """By time; what events completed, by event and age of the subscription, before what deadlines did."""
        if not len(self):
            return self
        starts = np.append(0, self.ends[:-1])
        decisive = self.numbers[np.where(self.is_timed, starts, self.ends - 1)]
        order = np.lexsort((serial[self.code >> KEY_BITS], decisive, self.is_timed, self.time_us))
        sizes = (self.ends - starts)[order]
        numbers = self.numbers[_ranges(starts[order], sizes)]
        return Completions(self.code[order], self.time_us[order], self.is_timed[order], np.cumsum(sizes), numbers)


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


class _Recent:
    """The last rows of matches that were not completed, for explanations."""

    def __init__(self) -> None:
        self.rows: deque[Rows] = deque()
        self._size = 0

    def add(self, rows: Rows) -> None:
        if len(rows):
            self.rows.append(rows)
            self._size += len(rows)
            while self._size - len(self.rows[0]) >= _MOST_ENDED:
                self._size -= len(self.rows.popleft())

    def remove(self, slot: int) -> None:
        """Forget those of a subscription."""
        rest = [rows.take(rows.code >> KEY_BITS != slot) for rows in self.rows]
        self.rows, self._size = deque(), 0
        for rows in rest:
            self.add(rows)


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
        self.held = EMPTY
        self.early = EMPTY
        self.dropped = 0
        self.abandoned = 0
        self._composites: dict[int, tuple[CompiledComposite, int, int]] = {}
        self._free: list[int] = []
        self._serial = 0
        self._groups: dict[str, int] = {}
        self._rules: Rules | None = None
        self._joints = JointConditions.of({}, 0, 0)
        self._room = Room.of(0)
        self._over, self._cancelled = _Recent(), _Recent()

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
        self._over.remove(slot)
        self._cancelled.remove(slot)

    # --- a batch -----------------------------------------------------------------------------------------

    def apply(self, arrived: Rows, watermark_us: int) -> Completions:
        """Consider what the watermark has reached; the matches that are complete, in order.

        An event may come several times for a code, each with some of its parts.
        """
        new = Rows.join([self.early, arrived]) if len(self.early) else arrived
        is_due = new.time_us <= watermark_us
        if is_due.all():
            self.early = EMPTY
        else:
            self.early, new = new.take(~is_due), new.take(is_due)
        new = _in_order(new)
        starts = _starts(new.code)
        if len(starts) < LEAST_FOR_KERNEL:
            done = Completions.of([*self._step_each(new, starts), *self._pass_deadlines(watermark_us)])
        else:
            done = self._step_together(new, starts, watermark_us)
        self._apply_bounds(new)
        return done.sort(self.rules.serial)

    def _step_together(self, new: Rows, starts: I64, watermark_us: int) -> Completions:
        """Let events come to their codes in the kernel; first to those that it cannot decide, one by one."""
        rules, joints = self.rules, self._joints
        first = Completions.of([])
        low, high = find_codes(self.held.code, new.code[starts])
        if joints.conditions or joints.is_slow.any():
            slot = new.code[starts] >> KEY_BITS
            sizes = np.diff(starts, append=len(new)) + high - low
            is_slow = joints.is_slow[slot] | (rules.joints[slot] * sizes * sizes > _MOST_VERDICTS)
            if is_slow.any():
                is_slow = np.repeat(is_slow, np.diff(starts, append=len(new)))
                slow, new = new.take(is_slow), new.take(~is_slow)
                first = Completions.of([*self._step_each(slow, _starts(slow.code))])
                starts = _starts(new.code)
                low, high = find_codes(self.held.code, new.code[starts])
        held = self.held
        names = ("code", "time_us", "number", "parts", "begun")
        table = Table(*(np.concatenate([getattr(held, name), getattr(new, name)]) for name in names))
        starts = starts + len(held)
        groups = Groups(low, high, starts, np.append(starts[1:], len(table.code)), np.zeros_like(starts))
        verdicts = np.zeros(0, np.bool_)
        if joints.conditions:
            pairs = list_pairs(table, groups, rules, KEY_BITS)
            groups = groups._replace(verdicts=np.cumsum(pairs.sizes) - pairs.sizes)
            verdicts = np.zeros(int(pairs.sizes.sum()), np.bool_)
            verdicts[pairs.place[joints.hold(pairs, table.number, self._get_many)]] = True
        limits = Limits(self.bounds.per_key, self.bounds.tries, watermark_us)
        begun = table.begun.copy()
        if len(self._room.code) < len(table.code) + 64:
            self._room = Room.of(len(table.code) * 5 // 4 + 64)
        while not step_keys(
            table, held.match, held.until_us, groups, rules, verdicts, limits, self._room, KEY_BITS
        ):
            self._room = Room.of(4 * len(self._room.code))
            table = table._replace(begun=begun.copy())
        room = self._room
        out, found, matches, over, cancelled, dropped, abandoned = room.sizes.tolist()
        self.dropped += dropped
        self.abandoned += abandoned
        held_now: list[Any] = [*(column[:out].copy() for column in room[:6]), room.begun[:out] != 0]
        self.held = Rows(*held_now)
        for rows, ended in ((room.over[:over], self._over), (room.cancelled[:cancelled], self._cancelled)):
            columns: Any = (column[rows] for column in table)
            ended.add(Rows.arrived(*columns))
        ends, done_us, is_timed = (each[:matches].copy() for each in (room.ends, room.done_us, room.is_timed))
        code = table.code[room.found[ends - 1]]
        done = Completions(code, done_us, is_timed, ends, table.number[room.found[:found]])
        return first.join(done) if len(first) else done

    def _step_each(self, new: Rows, starts: I64) -> Iterator[_Done]:
        """Let events come to their codes, one code after the other; rows are by code and time."""
        held, code = self.held, new.code[starts]
        slots = code >> KEY_BITS
        low, high = (np.searchsorted(held.code, code, side) for side in ("left", "right"))
        ends = np.append(starts[1:], len(new))
        is_joint = self.rules.is_joint[slots] != 0
        needed = [held.number[_ranges(low[is_joint], (high - low)[is_joint])]]
        needed.append(new.number[_ranges(starts[is_joint], (ends - starts)[is_joint])])
        fetched = self._get_many(np.concatenate(needed).tolist(), None)
        pieces, before = [], 0
        for at in range(len(code)):
            state = _state_of(held, low[at], high[at])
            own = new.take(np.arange(starts[at], ends[at]))
            yield from self._step(int(code[at]), state, _events(own), fetched)
            within_us = int(self.rules.within_us[slots[at]])
            pieces += [
                held.take(np.arange(before, low[at])),
                Rows.of([*rows_of_state(int(code[at]), state, within_us)]),
            ]
            before = high[at]
        self.held = Rows.join([*pieces, held.take(np.arange(before, len(held)))])

    def _step(
        self, code: int, state: KeyState, events: Iterable[KeptEvent], fetched: Mapping[int, Any]
    ) -> Iterator[_Done]:
        """Let the events of one code come one after the other."""
        composite = self._composites[code >> KEY_BITS][0]
        most = self.bounds.per_key
        for event in events:
            yield from self._expire(code, state, event.time_us)
            search = Search(composite, self.bounds.tries, fetched.__getitem__)
            before = state.size
            for ending in state.cancel(composite, event, search):
                self._cancelled.add(_rows_of_events(code, [*ending.events, event]))
            for chosen in state.end_matches(composite, event, search):
                yield code, event.time_us, 0, _numbers(chosen)
            self.abandoned += search.gave_up
            if most < state.size > before:
                self.dropped += 1
                state.drop(event)

    def _expire(self, code: int, state: KeyState, before_us: int) -> Iterator[_Done]:
        """Pass the deadlines of one key that come before an event."""
        within_us = self._composites[code >> KEY_BITS][0].source.within_us
        while state.size and (deadline := state.next_deadline(within_us)) < before_us:
            complete, over = state.expire(within_us, deadline)
            for each in complete:
                yield code, deadline, 1, _numbers(each)
            self._over.add(_rows_of_events(code, over))

    def _pass_deadlines(self, before_us: int) -> Iterator[_Done]:
        """Complete what waited for a deadline before this time, and forget events that are too old."""
        is_over = self.held.until_us < before_us
        if not is_over.any():
            return
        over, self.held = self.held.take(is_over), self.held.take(~is_over)
        self._over.add(over.take(over.match == KEPT))
        rows = over.take(over.match != KEPT)
        starts = np.flatnonzero((np.diff(rows.code, prepend=-1) != 0) | (np.diff(rows.match, prepend=-1) != 0))
        numbers, code, until_us = rows.number.tolist(), rows.code.tolist(), rows.until_us.tolist()
        for start, end in pairwise([*starts.tolist(), len(rows)]):
            yield code[start], until_us[start], 1, numbers[start:end]

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

    def keys(self) -> list[I64]:
        """The numbers of all keys that something is kept of, explanations included."""
        return [rows.code & (1 << KEY_BITS) - 1 for rows in self._all_rows()]

    def numbers(self) -> list[I64]:
        """The numbers of events that are kept, explanations included."""
        return [rows.number for rows in self._all_rows()]

    def _all_rows(self) -> tuple[Rows, ...]:
        return (self.held, self.early, *self._over.rows, *self._cancelled.rows)

    # --- looking -----------------------------------------------------------------------------------------

    @property
    def rules(self) -> Rules:
        """What the composites in all slots ask for."""
        if self._rules is None:
            composites = {slot: composite for slot, (composite, _, _) in self._composites.items()}
            slots, places = max(composites, default=-1) + 1, MOST_PARTS + 1
            self._joints = JointConditions.of(composites, slots, places)
            ids = self._joints.ids
            # Conditions of a composite are counted from 0, in the order of its parts.
            joint = np.where(ids >= 0, np.cumsum(ids >= 0, axis=1) - 1, -1)
            columns, gap_us = np.zeros((12, slots), np.int64), np.zeros((slots, places), np.int64)
            for slot, (composite, serial, group) in self._composites.items():
                source, count = composite.source, len(composite.parts)
                absent = 0 if composite.absent is None else 1 << count
                flags = (
                    source.strict,
                    source.shared,
                    composite.is_greedy,
                    any(p.joint for p in composite.all_parts),
                )
                form = _FORMS[source.form]
                columns[:11, slot] = source.within_us, form, source.count, count, absent, *flags, serial, group
                gap_us[slot, : len(composite.all_parts)] = [part.gap_us for part in composite.all_parts]
            columns[11] = np.count_nonzero(ids >= 0, axis=1)
            asked: list[Any] = [*columns, gap_us, joint, self._joints.refers]
            self._rules = Rules(*asked)
        return self._rules

    def state_of(self, code: int) -> KeyState:
        """What is open of one subscription and key."""
        low, high = (int(np.searchsorted(self.held.code, code, side)) for side in ("left", "right"))
        return _state_of(self.held, low, high)

    def explain(self, slot: int, code: int | None) -> CompositeExplanation:
        """What is open for a key, and why the last matches were not completed; None for a key that is unknown."""
        composite = self._composites[slot][0]
        state = KeyState() if code is None else self.state_of(code)
        endings = []
        cancelled = [event for rows in self._cancelled.rows for event in _events(rows.take(rows.code == code))]
        for start in range(0, len(cancelled), composite.source.count + 1):
            *events, unwanted = cancelled[start : start + composite.source.count + 1]
            endings.append(Ending(events, unwanted))
        over = [event for rows in self._over.rows for event in _events(rows.take(rows.code == code))]
        for place in first_places(composite, over):
            end_us = over[place].time_us + composite.source.within_us
            endings.append(Ending([each for each in (*over[place:], *state.kept) if each.time_us <= end_us]))
        ended = [*(event for each in endings for event in each.events), *state.kept]
        fetched = self._get_many(
            [one.number for one in (*ended, *(one for each in state.waiting for one in each))], None
        )
        return explain_state(composite, state.kept, state.waiting, endings, self.bounds.tries, fetched.__getitem__)


def _in_order(rows: Rows) -> Rows:
    """Rows by code, time and number, each event once for a code, with all its parts."""
    if not len(rows):
        return rows
    code, time_us, number, parts = rows.code, rows.time_us, rows.number, rows.parts
    if (number[1:] < number[:-1]).any() or (time_us[1:] < time_us[:-1]).any():
        order = np.lexsort((number, time_us))
        code, time_us, number, parts = (column[order] for column in (code, time_us, number, parts))
    order = np.argsort(code, kind="stable") if len(code) < LEAST_FOR_KERNEL else order_of_codes(code, KEY_BITS)
    code, number, parts = code[order], number[order], parts[order]
    starts = np.append(0, 1 + np.flatnonzero((code[1:] != code[:-1]) | (number[1:] != number[:-1])))
    if len(starts) < len(code):
        code, number, parts = code[starts], number[starts], np.bitwise_or.reduceat(parts, starts)
        order = order[starts]
    return Rows.arrived(code, time_us[order], number, parts)


def _starts(code: I64) -> I64:
    """Where each code begins; they are sorted."""
    return np.flatnonzero(np.diff(code, prepend=-1))


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


def _rows_of_events(code: int, events: Sequence[KeptEvent]) -> Rows:
    return Rows.of([(code, each.time_us, each.number, each.parts, KEPT, KEPT, each.begun) for each in events])


def rows_of_state(code: int, state: KeyState, within_us: int) -> Iterator[tuple[Any, ...]]:
    """What a key keeps, as tuples in the order of the columns."""
    groups = [(KEPT, each.time_us, [each]) for each in state.kept]
    groups += [(events[0].number, events[0].time_us, events) for events in state.waiting]
    for match, since_us, events in groups:
        for each in events:
            yield code, each.time_us, each.number, each.parts, since_us + within_us, match, each.begun
