"""The events of a batch come to the keys of all composite subscriptions, in one pass of a kernel.

What is held and what comes are both sorted by code, so the pass walks along the two, and writes what is held
afterwards in the same order. A code that gets no event costs a copy of its rows. The other codes do what
`KeyState` does, which is the naive twin: the same matches in the same order, the same rows, the same counts.

Rows are numbered through: those that are held, then those that come. Of a code, the rows that are kept stand
first, by time; then the matches in wait, by their first events, each of as many rows as a match has.

Conditions on two events are not known here. `list_pairs` tells which pairs of events they must be asked about,
and the pass reads the verdicts: of each code, a square of all its rows for each such condition.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tamis.arrays import I32, I64, Bools
from tamis.composite.syntax import MOST_PARTS
from tamis.kernels import kernel

BEGUN, WAITS = 1 << 29, 1 << 30
"""Bits beside those of parts: the event has begun a match; the row belongs to a match in wait."""
PARTS = BEGUN - 1
"""The bits of parts."""
SEQUENCE, ALL, AT_LEAST = 0, 1, 2
DONE, MORE_ROWS, MORE_ROOM = 0, 1, 2
_PLACES = MOST_PARTS + 1
_DIGIT = 11
_DIGITS = (1 << _DIGIT) - 1


class Rules(NamedTuple):
    """What the composites in all slots ask for; int64[slots], the last three int64[parts], from `first_part` on.

    Of the parts of a composite, what must not come is the last one.
    """

    within_us: I64
    form: I64
    wanted: I64
    parts: I64
    absent: I64
    """The bit of what must not come; 0 if there is nothing."""
    is_strict: I64
    is_shared: I64
    is_greedy: I64
    is_joint: I64
    """Has it any condition on several events?"""
    serial: I64
    group: I64
    joints: I64
    """How many parts have a condition on two events."""
    first_part: I64
    gap_us: I64
    joint: I64
    """Which of these conditions a part has, counted from 0; -1 for none."""
    refers: I64
    """The part to which that condition refers."""


class Table(NamedTuple):
    """All rows, [rows]; the bit `BEGUN` of `parts` is changed."""

    code: I64
    time_us: I64
    number: I64
    parts: I32

    @classmethod
    def of(cls, rows: int) -> Table:
        """So many rows, of anything."""
        columns: list[Any] = [np.empty(rows, kind) for kind in (np.int64, np.int64, np.int64, np.int32)]
        return cls(*columns)


class CodeRows(NamedTuple):
    """The codes that get events, in order; int64[groups]. `held` rows are there, the others come.

    low, high: The rows that are held; start, end: those that come. verdicts: Where the verdicts of a code begin.
    """

    low: I64
    high: I64
    start: I64
    end: I64
    verdicts: I64


class KeyBounds(NamedTuple):
    """Bounds of one key, and the watermark."""

    per_key: int
    tries: int
    watermark_us: int


class AskedPairs(NamedTuple):
    """Pairs of events that a condition is asked about; int64[pairs], `sizes` int64[groups].

    place: Of the verdict; slot and part: Whose condition; earlier and later: The rows.
    """

    place: I64
    slot: I64
    part: I64
    earlier: I64
    later: I64
    sizes: I64


class Room(NamedTuple):
    """Where the pass writes, beside what is held: arrays that grew inside of its loops would make it slower.

    Attributes:
        found: The rows of completed matches, one match after the other.
        ends: Where the rows of each match end.
        over: Rows that were kept, and whose time is over.
        cancelled: Rows of matches in wait, each match followed by the event that must not have come.
        is_timed: Did a deadline complete a match?
        waits: Of the code at hand, the rows of matches in wait.
        done_us: When it was complete.
        sizes: How much of what is held, `found`, `ends`, `over`, `cancelled` is used; dropped events, given up
            searches.
    """

    found: I32
    ends: I32
    over: I32
    cancelled: I32
    is_timed: I32
    waits: I64
    done_us: I64
    sizes: I64

    @classmethod
    def of(cls, size: int) -> Room:
        """So much room."""
        arrays: list[Any] = [*np.empty((5, size), np.int32), *np.empty((2, size), np.int64), np.zeros(7, np.int64)]
        return cls(*arrays)


@kernel
def order_of_codes(code: I64, key_bits: int) -> I64:
    """The order of codes, equal ones as they are: by 11 bits at a time, from the lowest, if they are used."""
    slots = keys = np.int64(0)
    for each in code:
        keys |= each & ((1 << key_bits) - 1)
        slots |= each >> key_bits
    order, other = np.arange(len(code)), np.empty(len(code), np.int64)
    counts = np.empty((1 << _DIGIT) + 1, np.int64)
    for bits, base in ((keys, 0), (slots, key_bits)):
        shift = base
        while bits >> (shift - base):
            counts[:] = 0
            for each in code:
                counts[(each >> shift & _DIGITS) + 1] += 1
            for digit in range(_DIGITS):
                counts[digit + 1] += counts[digit]
            for at in order:
                digit = code[at] >> shift & _DIGITS
                other[counts[digit]] = at
                counts[digit] += 1
            order, other = other, order
            shift += _DIGIT
    return order


@kernel
def arrange_rows(order: I64, code: I64, time_us: I64, number: I64, parts: I32) -> tuple[Table, I64]:
    """Rows in an order by code, time and number, each event once for a code; and where each code begins."""
    rows = len(order)
    made = Table(np.empty_like(code), np.empty_like(time_us), np.empty_like(number), np.empty_like(parts))
    starts = np.empty(rows, np.int64)
    size = codes = 0
    for at in order:
        if size and made.code[size - 1] == code[at]:
            if made.number[size - 1] == number[at]:
                made.parts[size - 1] |= parts[at]
                continue
        else:
            starts[codes] = size
            codes += 1
        made.code[size], made.time_us[size] = code[at], time_us[at]
        made.number[size], made.parts[size] = number[at], parts[at]
        size += 1
    arranged = Table(made.code[:size], made.time_us[:size], made.number[:size], made.parts[:size])
    return arranged, starts[:codes].copy()


@kernel
def find_codes(held: I64, codes: I64) -> tuple[I64, I64]:
    """Where the rows of each code begin and end among those that are held; both are sorted."""
    low, high = np.empty(len(codes), np.int64), np.empty(len(codes), np.int64)
    row = 0
    for group in range(len(codes)):
        while row < len(held) and held[row] < codes[group]:
            row += 1
        low[group] = row
        while row < len(held) and held[row] == codes[group]:
            row += 1
        high[group] = row
    return low, high


@kernel
def list_pairs(table: Table, groups: CodeRows, rules: Rules, key_bits: int) -> AskedPairs:
    """The pairs that conditions on two events are asked about, where an event comes that may end a match."""
    size = 0
    out = np.empty((5, 64), np.int64)
    sizes = np.zeros(len(groups.low), np.int64)
    begin = 0
    for group in range(len(groups.low)):
        low, held = groups.low[group], groups.high[group] - groups.low[group]
        start, count = groups.start[group], held + groups.end[group] - groups.start[group]
        slot = table.code[start] >> key_bits
        if not rules.joints[slot]:
            continue
        ending = np.int64(1) << (rules.parts[slot] - 1) | rules.absent[slot]
        is_asked = False
        for row in range(start, groups.end[group]):
            is_asked |= table.parts[row] & ending != 0
        if not is_asked or count < 2:
            continue
        sizes[group] = rules.joints[slot] * count * count
        for part in range(rules.parts[slot] + (rules.absent[slot] != 0)):
            joint = rules.joint[rules.first_part[slot] + part]
            if joint < 0:
                continue
            refers = rules.refers[rules.first_part[slot] + part]
            for later in range(1, count):
                later_row = low + later if later < held else start + later - held
                if not table.parts[later_row] >> part & 1:
                    continue
                for earlier in range(later):
                    earlier_row = low + earlier if earlier < held else start + earlier - held
                    if not table.parts[earlier_row] >> refers & 1:
                        continue
                    if size == out.shape[1]:
                        longer = np.empty((5, 2 * size), np.int64)
                        longer[:, :size] = out
                        out = longer
                    out[0, size] = begin + (joint * count + earlier) * count + later
                    out[1, size], out[2, size] = slot, part
                    out[3, size], out[4, size] = earlier_row, later_row
                    size += 1
        begin += sizes[group]
    out = out[:, :size].copy()
    return AskedPairs(out[0], out[1], out[2], out[3], out[4], sizes)


class _Work(NamedTuple):
    """What searches read, and arrays that they write to.

    kept: The rows that the code keeps; chosen: those of the match; cursor: by part, where the search goes on;
    owners: int64[3, parts], for `_are_assignable`; tries: how many are left for the event.
    """

    table: Table
    rules: Rules
    groups: CodeRows
    verdicts: Bools
    kept: I64
    chosen: I64
    cursor: I64
    owners: I64
    tries: I64


@kernel
def _is_after(table: Table, rules: Rules, slot: int, part: int, before: int, event: int) -> bool:
    """Is an event, which is later in the order, late enough for its part?"""
    elapsed = table.time_us[event] - table.time_us[before]
    gap_us = rules.gap_us[rules.first_part[slot] + part]
    return bool(elapsed >= gap_us and (elapsed > 0 or rules.is_strict[slot] == 0))


@kernel
def _fits(work: _Work, group: int, slot: int, part: int, chosen: I64, event: int) -> bool:
    """Does an event satisfy the condition of its part on it and an earlier one?"""
    rules = work.rules
    joint = rules.joint[rules.first_part[slot] + part]
    if joint < 0:
        return True
    groups = work.groups
    low, start = groups.low[group], groups.start[group]
    held = groups.high[group] - low
    count = held + groups.end[group] - start
    earlier = chosen[rules.refers[rules.first_part[slot] + part]]
    earlier = held + earlier - start if earlier >= start else earlier - low
    later = held + event - start if event >= start else event - low
    return bool(work.verdicts[groups.verdicts[group] + (joint * count + earlier) * count + later])


@kernel
def _are_assignable(work: _Work, count: int, parts: int) -> bool:
    """Can each of the first `count` chosen rows have a part of its own? Augmenting paths, breadth first."""
    owner, queue, by = work.owners[0], work.owners[1], work.owners[2]
    owner[:parts] = -1
    for event in range(count):
        by[:parts] = -1  # the row that wants a part, by part
        head = tail = 0
        wanting, free = event, -1
        while free < 0:
            bits = work.table.parts[work.chosen[wanting]]
            for part in range(parts):
                if bits >> part & 1 and by[part] < 0:
                    by[part] = wanting
                    if owner[part] < 0:
                        free = part
                        break
                    queue[tail] = owner[part]
                    tail += 1
            if free >= 0:
                break
            if head == tail:
                return False
            wanting = queue[head]
            head += 1
        while free >= 0:  # hand parts on, back to the new event
            taker, before = by[free], -1
            for part in range(parts):
                if owner[part] == taker:
                    before = part
            owner[free] = taker
            if before >= 0:
                owner[before] = -1
            free = before
    return True


@kernel
def _fill_any_order(work: _Work, slot: int, size: int, first: int, event: int) -> bool:
    """As `_fill_sequence`, for ALL and AT_LEAST."""
    kept, chosen, tries = work.kept, work.chosen, work.tries
    wanted, parts, is_all = work.rules.wanted[slot], work.rules.parts[slot], work.rules.form[slot] == ALL
    count = 1
    chosen[0] = kept[first]
    for at in range(first + 1, size):
        if count + 1 == wanted:
            break
        if is_all:
            tries[0] -= 1
            if tries[0] < 0:
                return False
            chosen[count], chosen[count + 1] = event, kept[at]
            if not _are_assignable(work, count + 2, parts):
                continue
        chosen[count] = kept[at]
        count += 1
    chosen[count] = event
    return count + 1 == wanted and (not is_all or _are_assignable(work, wanted, parts))


@kernel
def _fill_sequence(work: _Work, group: int, slot: int, size: int, first: int, event: int) -> bool:
    """Fill `chosen` from the `first` of the kept rows to the event, with the earliest that fit; are there some?"""
    table, rules, kept, chosen, cursor, tries = (
        work.table,
        work.rules,
        work.kept,
        work.chosen,
        work.cursor,
        work.tries,
    )
    last = rules.parts[slot] - 1
    is_greedy = rules.is_greedy[slot] != 0
    chosen[0] = kept[first]
    place, is_entered = 1, True
    cursor[1] = first + 1
    while place > 0:
        start, end = cursor[place], size
        if place == last:  # the last event alone, as one more that is kept
            start, end = size, size + 1
            kept[size] = event
        if is_entered and not is_greedy:  # the twin counts all that fit before it takes one
            for at in range(start, end):
                row = kept[at]
                if table.parts[row] >> place & 1 and _is_after(table, rules, slot, place, chosen[place - 1], row):
                    tries[0] -= 1
        if tries[0] < 0:
            return False
        is_entered = False
        for at in range(start, end):
            row = kept[at]
            if (
                table.parts[row] >> place & 1
                and _is_after(table, rules, slot, place, chosen[place - 1], row)
                and _fits(work, group, slot, place, chosen, row)
            ):
                chosen[place] = row
                if place == last:
                    return True
                cursor[place] = cursor[place + 1] = at + 1
                is_entered = True
                break
        if is_entered:
            place += 1
        elif is_greedy:
            return False
        else:
            place -= 1
    return False


@kernel(forceinline=True)
def _hold(table: Table, after: Table, out: int, row: int, waits: int) -> None:
    """Write a row to what is held."""
    after.code[out], after.time_us[out], after.number[out] = table.code[row], table.time_us[row], table.number[row]
    after.parts[out] = table.parts[row] & (PARTS | BEGUN) | waits


@kernel
def step_keys(
    table: Table,
    held: int,
    groups: CodeRows,
    rules: Rules,
    verdicts: Bools,
    limits: KeyBounds,
    after: Table,
    room: Room,
    key_bits: int,
) -> int:
    """Let the events come; the first `held` rows are held, and those of `after` then.

    Returns `DONE`, or what there was too little of: `MORE_ROWS` in `after`, or `MORE_ROOM`.
    """
    code, time_us, number, parts = table
    lows, highs, starts, stops = groups.low, groups.high, groups.start, groups.end
    withins_us, forms, wanteds, parts_of = rules.within_us, rules.form, rules.wanted, rules.parts
    absents, are_shared, are_greedy = rules.absent, rules.is_shared, rules.is_greedy
    found, ends, over, cancelled, is_timed, waits, done_us, sizes = room
    per_key, watermark_us, most = limits.per_key, limits.watermark_us, len(found)
    most_rows = len(after.code)
    kept = np.empty(len(time_us) + 1, np.int64)
    chosen = np.empty(_PLACES + int(wanteds.max()), np.int64)
    cursor, owners = np.empty(_PLACES, np.int64), np.empty((3, _PLACES), np.int64)
    tries = np.empty(1, np.int64)
    work = _Work(table, rules, groups, verdicts, kept, chosen, cursor, owners, tries)
    out = found_size = matches = over_size = cancelled_size = dropped = abandoned = row = 0
    for group in range(len(lows) + 1):
        # Codes without events: what is over goes, the rest stays.
        until = lows[group] if group < len(lows) else held
        if out + until - row >= most_rows:
            return MORE_ROWS
        while row < until:
            slot = code[row] >> key_bits
            is_over = time_us[row] + withins_us[slot] < watermark_us
            if is_over and max(over_size, found_size + wanteds[slot]) >= most:
                return MORE_ROOM
            if not parts[row] & WAITS:
                if is_over:
                    over[over_size] = row
                    over_size += 1
                else:
                    _hold(table, after, out, row, 0)
                    out += 1
                row += 1
                continue
            end = row + wanteds[slot]
            if is_over:
                ends[matches], is_timed[matches] = found_size + end - row, 1
                done_us[matches] = time_us[row] + withins_us[slot]
                matches += 1
            while row < end:
                if is_over:
                    found[found_size] = row
                    found_size += 1
                else:
                    _hold(table, after, out, row, WAITS)
                    out += 1
                row += 1
        if group == len(lows):
            break
        first_new, end_new = starts[group], stops[group]
        slot = code[first_new] >> key_bits
        within_us, form, wanted = withins_us[slot], forms[slot], wanteds[slot]
        # Most codes hold nothing and get one event, which waits for others or is of no use.
        if row == highs[group] and end_new - first_new == 1 and wanted > 1:
            if form != SEQUENCE or parts[first_new] & 1:
                due_us = time_us[first_new] + within_us
                if due_us >= watermark_us:
                    _hold(table, after, out, first_new, 0)
                    out += 1
                elif over_size == most:
                    return MORE_ROOM
                else:
                    over[over_size] = first_new
                    over_size += 1
            continue
        is_shared, absent, count = are_shared[slot] != 0, absents[slot], parts_of[slot]
        every = (np.int64(1) << count) - 1
        ending = np.int64(1) << (count - 1) if form == SEQUENCE else every
        if highs[group] - row > most:
            return MORE_ROOM
        size = waiting = 0
        while row < highs[group]:
            if not parts[row] & WAITS:
                kept[size] = row
                size += 1
                row += 1
            else:
                for place in range(waiting * wanted, (waiting + 1) * wanted):
                    waits[place] = row
                    row += 1
                waiting += 1
        for event in range(first_new, end_new + 1):
            # After the last event, the watermark passes the deadlines before it.
            now_us = time_us[event] if event < end_new else watermark_us
            if over_size + size > most or found_size + waiting * wanted > most:
                return MORE_ROOM
            gone = 0
            while gone < size and time_us[kept[gone]] + within_us < now_us:
                over[over_size + gone] = kept[gone]
                gone += 1
            if gone:
                over_size += gone
                size -= gone
                for at in range(size):
                    kept[at] = kept[at + gone]
            gone = 0
            while gone < waiting and time_us[waits[gone * wanted]] + within_us < now_us:
                for place in range(wanted):
                    found[found_size + place] = waits[gone * wanted + place]
                found_size += wanted
                ends[matches], is_timed[matches] = found_size, 1
                done_us[matches] = time_us[waits[gone * wanted]] + within_us
                matches += 1
                gone += 1
            if gone:
                waiting -= gone
                for at in range(waiting * wanted):
                    waits[at] = waits[at + gone * wanted]
            if event == end_new:
                break
            bits = parts[event]
            before = size + waiting * wanted
            tries[0] = limits.tries
            at = 0 if bits & absent else waiting
            while at < waiting:
                own = waits[at * wanted : (at + 1) * wanted]
                if _is_after(table, rules, slot, count, own[wanted - 1], event) and _fits(
                    work, group, slot, count, own, event
                ):
                    if cancelled_size + wanted >= most:
                        return MORE_ROOM
                    for place in range(wanted):
                        cancelled[cancelled_size + place] = own[place]
                    cancelled[cancelled_size + wanted] = event
                    cancelled_size += wanted + 1
                    waiting -= 1
                    for place in range(at * wanted, waiting * wanted):
                        waits[place] = waits[place + wanted]
                    if not is_shared:
                        break
                else:
                    at += 1
            is_used = False
            firsts = 0
            if bits & ending:
                covered = bits
                for at in range(size):
                    covered |= parts[kept[at]]
                # An event that makes a match of THEN NOT by itself needs no others.
                firsts = 1 if wanted == 1 else size if covered & every == every and size + 1 >= wanted else 0
            for first in range(firsts):
                if wanted == 1:
                    chosen[0] = event
                elif parts[kept[first]] & BEGUN or (form == SEQUENCE and not parts[kept[first]] & 1):
                    continue
                elif not (
                    _fill_sequence(work, group, slot, size, first, event)
                    if form == SEQUENCE
                    else _fill_any_order(work, slot, size, first, event)
                ):
                    if are_greedy[slot]:
                        break  # what fits after a later first event would fit after this one
                    continue
                parts[chosen[0]] |= BEGUN
                if found_size + wanted > most or (waiting + 1) * wanted > most:
                    return MORE_ROOM
                if absent:  # in the order of first events
                    at = waiting
                    while at > 0:
                        other = waits[(at - 1) * wanted]
                        if (time_us[other], number[other]) < (time_us[chosen[0]], number[chosen[0]]):
                            break
                        for place in range(wanted):
                            waits[at * wanted + place] = waits[(at - 1) * wanted + place]
                        at -= 1
                    for place in range(wanted):
                        waits[at * wanted + place] = chosen[place]
                    waiting += 1
                else:
                    for place in range(wanted):
                        found[found_size + place] = chosen[place]
                    found_size += wanted
                    ends[matches], done_us[matches], is_timed[matches] = found_size, now_us, 0
                    matches += 1
                if not is_shared:
                    is_used = True
                    left = place = 0
                    for at in range(size):
                        if place < wanted and kept[at] == chosen[place]:
                            place += 1
                        else:
                            kept[left] = kept[at]
                            left += 1
                    size = left
                    break
            abandoned += tries[0] < 0
            # What only later parts have can wait if something came before it.
            useful = every if form != SEQUENCE else (ending - 1) & (1 if size == 0 else -1)
            if not is_used and bits & useful:
                kept[size] = event
                size += 1
            if per_key < size + waiting * wanted > before:
                dropped += 1
                if size and kept[size - 1] == event:
                    size -= 1
                left = 0
                for at in range(waiting):
                    if waits[(at + 1) * wanted - 1] != event:
                        for place in range(wanted):
                            waits[left * wanted + place] = waits[at * wanted + place]
                        left += 1
                waiting = left
        if out + size + waiting * wanted >= most_rows:
            return MORE_ROWS
        for at in range(size):
            _hold(table, after, out, kept[at], 0)
            out += 1
        for at in range(waiting * wanted):
            _hold(table, after, out, waits[at], WAITS)
            out += 1
    sizes[0], sizes[1], sizes[2], sizes[3], sizes[4] = out, found_size, matches, over_size, cancelled_size
    sizes[5], sizes[6] = dropped, abandoned
    return DONE
