"""What is open of many composite subscriptions, as columns: events that may still take part, and matches in wait.

A batch goes through a kernel (`key_steps.py`), which knows all forms. Conditions on two events are evaluated
before it, for all codes at once. What is left are codes with conditions on more events, or with too many pairs,
and batches so small that no kernel is needed: there, a `KeyState` is made of each code that gets an event. Keys do
not depend on each other, so it makes no difference in which order they are looked at; matches are sorted
afterwards. Bounds of all keys of a subscription or group are the exception: they are applied to what a batch
leaves.

    code           time  parts
    (alarm, ann)   0     01            events that may take part, by time
    (alarm, ann)   4     10
    (alarm, bob)   2     01 and WAITS  then the matches in wait, by their first events: as many rows for each
    (alarm, bob)   3     10 and WAITS  as a match has events

When a row is over is not written down: `WITHIN` after its time, or after the first row of its match.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tamis.arrays import I32, I64, Mask
from tamis.composite import key_steps
from tamis.composite.explain import CompositeExplanation, Ending, explain_state, first_places
from tamis.composite.joint_conditions import EventsOf, JointConditions
from tamis.composite.key_state import KeyState
from tamis.composite.key_steps import (
    BEGUN,
    DONE,
    MORE_ROWS,
    PARTS,
    WAITS,
    CodeRows,
    KeyBounds,
    Room,
    Rules,
    Table,
    arrange_rows,
    find_codes,
    list_pairs,
    order_of_codes,
    step_keys,
)
from tamis.composite.parts import CompiledComposite
from tamis.composite.search import KeptEvent, Search
from tamis.interpretation import Allowance, unless_few

KEY_BITS = 40
"""A code is the slot of a subscription, then a number of these bits for the key."""
_MOST_ENDED = 10_000
"""Events of matches that were not completed, for explanations."""
LEAST_FOR_KERNEL = 32
"""Fewer rows or codes need no kernel, not even a compiled one; codes go through `KeyState` then."""
_allowance = Allowance(to_load=0, to_compile=200_000)
"""Of rows and codes for which no kernel is compiled."""
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
        parts: The parts that it satisfies, as bits, with `BEGUN` and `WAITS`.
    """

    code: I64
    time_us: I64
    number: I64
    parts: I32

    def __len__(self) -> int:
        return len(self.code)

    @property
    def columns(self) -> tuple[I64, I64, I64, I32]:
        """All, in order."""
        return self.code, self.time_us, self.number, self.parts

    @property
    def is_waiting(self) -> Mask:
        """Which rows belong to matches in wait."""
        waiting: Mask = self.parts & WAITS != 0
        return waiting

    def take(self, rows: I32 | I64 | Mask | slice) -> Rows:
        """Some of the rows; of a slice, without a copy."""
        return Rows(self.code[rows], self.time_us[rows], self.number[rows], self.parts[rows])

    @classmethod
    def join(cls, several: Sequence[Rows]) -> Rows:
        """The rows of all."""
        columns: Any = map(np.concatenate, zip(*(each.columns for each in several), strict=True))
        return several[0] if len(several) == 1 else cls(*columns)

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, int, int]]) -> Rows:
        """Rows from tuples, in the order of the columns."""
        code, time_us, number, parts = np.array(rows, np.int64).reshape(-1, 4).T.copy()
        return cls(code, time_us, number, parts.astype(np.int32))


EMPTY = Rows.of([])


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
        self._joints = JointConditions.of({}, 0)
        # What is held is in the first table, if the last batch left it there; the other is for the next batch.
        self._tables, self._room = (Table.of(0), Table.of(0)), Room.of(0)
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
        new, starts = _in_order(new)
        if are_few(len(starts)):
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
            is_slow = joints.is_slow[slot]
            own = np.flatnonzero(rules.joints[slot] != 0)
            sizes = np.append(starts[1:], len(new))[own] - starts[own] + high[own] - low[own]
            is_slow[own] |= rules.joints[slot[own]] * sizes * sizes > _MOST_VERDICTS
            if is_slow.any():
                is_slow = np.repeat(is_slow, np.diff(starts, append=len(new)))
                slow, new = new.take(is_slow), new.take(~is_slow)
                first = Completions.of([*self._step_each(slow, _starts(slow.code))])
                starts = _starts(new.code)
                low, high = find_codes(self.held.code, new.code[starts])
        held, table = self.held, self._join_held(new)
        starts = starts + len(held)
        groups = CodeRows(low, high, starts, np.append(starts[1:], len(table.code)), np.zeros_like(starts))
        verdicts = np.zeros(0, np.bool_)
        if joints.conditions:
            pairs = list_pairs(table, groups, rules, KEY_BITS)
            groups = groups._replace(verdicts=np.cumsum(pairs.sizes) - pairs.sizes)
            verdicts = np.zeros(int(pairs.sizes.sum()), np.bool_)
            verdicts[pairs.place[joints.hold(pairs, table.number, self._get_many)]] = True
        limits = KeyBounds(self.bounds.per_key, self.bounds.tries, watermark_us)
        parts, after = table.parts.copy(), self._tables[1]
        given = table, len(held), groups, rules, verdicts, limits
        while (outcome := step_keys(*given, after, self._room, KEY_BITS)) != DONE:
            if outcome == MORE_ROWS:
                after = Table.of(2 * len(after.code))
            else:
                self._room = Room.of(2 * len(self._room.found))
            table.parts[:] = parts
        room = self._room
        out, found, matches, over, cancelled, dropped, abandoned = room.sizes.tolist()
        self.dropped += dropped
        self.abandoned += abandoned
        self.held, self._tables = Rows(*after).take(slice(out)), (after, self._tables[0])
        for rows, ended in ((room.over[:over], self._over), (room.cancelled[:cancelled], self._cancelled)):
            ended.add(Rows(*table).take(rows))
        ends, is_timed = (each[:matches].astype(np.int64) for each in (room.ends, room.is_timed))
        done_us = room.done_us[:matches].copy()
        code = table.code[room.found[ends - 1]]
        done = Completions(code, done_us, is_timed, ends, table.number[room.found[:found]])
        return first.join(done) if len(first) else done

    def _join_held(self, new: Rows) -> Table:
        """What is held, then new rows, in the first of two tables, where the last batch left what is held."""
        held, rows = self.held, len(self.held) + len(new)
        first, other = (
            each if rows + 64 <= len(each.code) <= 4 * rows + 1_000 else Table.of((rows + 64) * 9 // 8)
            for each in self._tables
        )
        self._tables = first, other
        if len(self._room.found) < rows // 8 + 64:
            self._room = Room.of(rows // 4 + 64)
        whole: Any = [column[:rows] for column in first]
        is_there = held.code.base is whole[0].base
        for column, before, more in zip(whole, held.columns, new.columns, strict=True):
            if not is_there:
                column[: len(held)] = before
            column[len(held) :] = more
        return Table(*whole)

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
            state = self._state(int(code[at]), low[at], high[at])
            own = new.take(np.arange(starts[at], ends[at]))
            yield from self._step(int(code[at]), state, _events(own), fetched)
            pieces += [
                held.take(np.arange(before, low[at])),
                rows_of_state(int(code[at]), state),
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
        if not len(self.held):
            return
        firsts = self.first_rows()
        until_us = self.held.time_us[firsts] + self.rules.within_us[self.held.code >> KEY_BITS]
        is_over = until_us < before_us
        if not is_over.any():
            return
        over, until_us, firsts = self.held.take(is_over), until_us[is_over], firsts[is_over]
        self.held = self.held.take(~is_over)
        waits = over.is_waiting
        self._over.add(over.take(~waits))
        starts = np.flatnonzero(np.diff(firsts[waits], prepend=-1))
        numbers, code = over.number[waits].tolist(), over.code[waits][starts].tolist()
        ends = [*starts.tolist(), len(numbers)]
        for own, done_us, (start, end) in zip(code, until_us[waits][starts].tolist(), pairwise(ends), strict=True):
            yield own, done_us, 1, numbers[start:end]

    def first_rows(self) -> I64:
        """Of each row that is held, the first row of its match in wait; itself, if it is in none."""
        first = np.arange(len(self.held))
        waiting = np.flatnonzero(self.held.is_waiting)
        if len(waiting):
            code = self.held.code[waiting]
            starts = _starts(code)
            place = waiting - np.repeat(waiting[starts], np.diff(starts, append=len(code)))
            first[waiting] -= place % self.rules.wanted[code >> KEY_BITS]
        return first

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
            firsts = self.first_rows()
            self.held = held.take(~(is_over | np.isin(firsts, firsts[is_over & held.is_waiting])))

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
            slots = max(composites, default=-1) + 1
            self._joints = joints = JointConditions.of(composites, slots)
            columns, gap_us = np.zeros((13, slots), np.int64), np.zeros(len(joints.ids), np.int64)
            joint = np.full(len(joints.ids), -1, np.int64)
            for slot, (composite, serial, group) in self._composites.items():
                source, count = composite.source, len(composite.parts)
                absent = 0 if composite.absent is None else 1 << count
                flags = (
                    source.strict,
                    source.shared,
                    composite.is_greedy,
                    any(p.joint for p in composite.all_parts),
                )
                form, first = _FORMS[source.form], joints.first_part[slot]
                columns[:11, slot] = source.within_us, form, source.count, count, absent, *flags, serial, group
                own = slice(first, first + len(composite.all_parts))
                gap_us[own] = [part.gap_us for part in composite.all_parts]
                # Conditions of a composite are counted from 0, in the order of its parts.
                has_joint = joints.ids[own] >= 0
                joint[own][has_joint] = np.arange(np.count_nonzero(has_joint))
                columns[11:, slot] = np.count_nonzero(has_joint), first
            asked: list[Any] = [*columns, gap_us, joint, joints.refers]
            self._rules = Rules(*asked)
        return self._rules

    def state_of(self, code: int) -> KeyState:
        """What is open of one subscription and key."""
        low, high = (int(np.searchsorted(self.held.code, code, side)) for side in ("left", "right"))
        return self._state(code, low, high)

    def _state(self, code: int, low: int, high: int) -> KeyState:
        """The state of one key from its rows."""
        wanted = self._composites[code >> KEY_BITS][0].source.count
        kept = low + int(np.count_nonzero(~self.held.is_waiting[low:high]))
        waiting = [_events(self.held, start, start + wanted) for start in range(kept, high, wanted)]
        return KeyState(_events(self.held, low, kept), waiting)

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


def are_few(rows: int) -> bool:
    """Do so many rows, or codes, take less time without kernels, compiling included?"""
    return rows < LEAST_FOR_KERNEL or _allowance.covers(key_steps.__name__, rows)


def _in_order(rows: Rows) -> tuple[Rows, I64]:
    """Rows by code, time and number, each event once for a code with all its parts; and where each code begins."""
    if (rows.number[1:] < rows.number[:-1]).any() or (rows.time_us[1:] < rows.time_us[:-1]).any():
        rows = rows.take(np.lexsort((rows.number, rows.time_us)))
    is_few = are_few(len(rows))
    order = np.argsort(rows.code, kind="stable") if is_few else order_of_codes(rows.code, KEY_BITS)
    table, starts = unless_few(arrange_rows, is_few)(order, *rows.columns)
    return Rows(*table), starts


def _starts(code: I64) -> I64:
    """Where each code begins; they are sorted."""
    return np.flatnonzero(np.diff(code, prepend=-1))


def _ranges(starts: I64, sizes: I64) -> I64:
    """The numbers from each start on, so many."""
    ends = np.cumsum(sizes)
    return np.repeat(starts - ends + sizes, sizes) + np.arange(ends[-1] if len(ends) else 0)


def _events(rows: Rows, start: int = 0, end: int | None = None) -> list[KeptEvent]:
    columns = (rows.time_us, rows.number, rows.parts)
    return [
        KeptEvent(time_us, number, parts & PARTS, parts & BEGUN != 0)
        for time_us, number, parts in zip(*(column[start:end].tolist() for column in columns), strict=True)
    ]


def _numbers(events: Sequence[KeptEvent]) -> list[int]:
    return [event.number for event in events]


def _rows_of_events(code: int, events: Iterable[KeptEvent], waits: int = 0) -> Rows:
    return Rows.of([(code, each.time_us, each.number, each.parts | BEGUN * each.begun | waits) for each in events])


def rows_of_state(code: int, state: KeyState) -> Rows:
    """What a key keeps."""
    waiting = [event for events in state.waiting for event in events]
    return Rows.join([_rows_of_events(code, state.kept), _rows_of_events(code, waiting, WAITS)])
