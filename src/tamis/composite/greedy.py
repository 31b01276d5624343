"""Keys of sequences and counts whose events need no second thought, many at once, in a kernel.

Without conditions on several events, what fits after a later event fits after an earlier one, too: the earliest
event that fits is always the best (`CompiledComposite.is_greedy`). `KeyState` is the naive twin, which also knows
the other forms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.arrays import I64, Bools
from tamis.kernels import kernel

Status = npt.NDArray[np.int8]
GONE, ALIVE, EXPIRED = 0, 1, 2
"""What becomes of a row: it is used up or was never kept; it is kept; its time was over."""


class Groups(NamedTuple):
    """Keys, and what their subscriptions ask for; int64[groups], but for `gap_us`.

    The rows of a group are those from `start` on; from `new` on, those that come; up to `end`.
    """

    start: I64
    new: I64
    end: I64
    within_us: I64
    parts: I64
    """Of a sequence; 0 of a count."""
    wanted: I64
    is_strict: I64
    is_shared: I64
    gap_us: I64
    """int64[groups, parts]: how long after the event of the part before at least."""


class Steps(NamedTuple):
    """What becomes of rows, and the matches that they complete.

    status: int8[rows]; begun: bool[rows]; rows: int64[events of all matches]; ends: int64[matches], where the rows
    of each match end; dropped: how many events found their key full.
    """

    status: Status
    begun: Bools
    rows: I64
    ends: I64
    dropped: int


@kernel
def step_greedily(time_us: I64, parts: I64, begun: Bools, groups: Groups, most: int) -> Steps:
    """Let the new events of each group come one after the other; `begun` is changed."""
    status = np.zeros(len(time_us), np.int8)
    rows = np.empty(max(16, len(time_us)), np.int64)
    ends = np.empty(len(time_us), np.int64)
    size = matches = dropped = 0
    for group in range(len(groups.start)):
        within_us, count, wanted = groups.within_us[group], groups.parts[group], groups.wanted[group]
        low, new = groups.start[group], groups.new[group]
        status[low:new] = ALIVE
        kept = new - low
        ending = np.int64(1) << max(count - 1, 0)
        for event in range(new, groups.end[group]):
            while low < event and (status[low] != ALIVE or time_us[low] + within_us < time_us[event]):
                if status[low] == ALIVE:
                    status[low] = EXPIRED
                    kept -= 1
                low += 1
            is_used = False
            if parts[event] & ending:
                for first in range(low, event):
                    if status[first] != ALIVE or begun[first] or (count and not parts[first] & 1):
                        continue
                    if size + wanted > len(rows):
                        longer = np.empty(2 * (size + wanted), np.int64)
                        longer[:size] = rows[:size]
                        rows = longer
                    rows[size] = first
                    if not _fill(time_us, parts, status, groups, group, event, rows[size : size + wanted]):
                        break
                    begun[first] = True
                    size += wanted
                    ends[matches] = size
                    matches += 1
                    if not groups.is_shared[group]:
                        for place in range(size - wanted, size - 1):
                            status[rows[place]] = GONE
                        kept -= wanted - 1
                        is_used = True
                        break
            # What only later parts have can wait if something came before it.
            waiting = np.int64(1) if not count else (ending - 1) & (1 if kept == 0 else -1)
            if not is_used and parts[event] & waiting:
                if kept >= most:
                    dropped += 1
                else:
                    status[event] = ALIVE
                    kept += 1
    return Steps(status, begun, rows[:size], ends[:matches], dropped)


@kernel
def _fill(time_us: I64, parts: I64, status: Status, groups: Groups, group: int, event: int, chosen: I64) -> bool:
    """Fill a match, whose first event is known, with the earliest that fit and the last; is there one?"""
    count, is_strict = groups.parts[group], groups.is_strict[group]
    before = chosen[0]
    for place in range(1, len(chosen)):
        found = -1
        for row in range(event if place == len(chosen) - 1 else before + 1, event + 1):
            is_last = row == event
            if is_last != (place == len(chosen) - 1) or not (is_last or status[row] == ALIVE):
                continue
            if count:
                elapsed = time_us[row] - time_us[before]
                if elapsed < groups.gap_us[group, place] or (is_strict and elapsed == 0):
                    continue
                if not parts[row] >> place & 1:
                    continue
            found = row
            break
        if found < 0:
            return False
        chosen[place] = before = found
    return True
