"""A handle: an index and what a search of it writes, as one argument of compiled code.

To hand over some eighty arrays one by one takes longer than to match an event.
"""

from __future__ import annotations

import numba
from numba.experimental import structref

from tamis.engines.bitslice.layout import Bytes, Index, Ints, Shorts
from tamis.engines.bitslice.search import State, candidates, search
from tamis.engines.encoding import Encoded
from tamis.engines.structs import struct


@struct
class Handle(structref.StructRefProxy):  # type: ignore[misc]
    """What `handle_of` gives; only compiled code looks into it."""

    index: Index
    state: State


@numba.njit(cache=True, nogil=True)
def handle_of(index: Index, state: State) -> Handle:
    """A handle, for one search at a time."""
    return Handle(index, state)


@numba.njit(cache=True, nogil=True)
def search_with(
    handle: Handle, encoded: tuple[int, Shorts, Ints, Bytes, Shorts, Ints, Shorts], fewest: int, room: int
) -> tuple[Shorts, Shorts, int]:
    """As `search`, but what goes in and out are plain tuples: named ones are unpickled by name for every call."""
    pairs, count = search(handle.index, Encoded(*encoded), handle.state, fewest, room)
    return pairs.events, pairs.numbers, count


@numba.njit(cache=True, nogil=True)
def candidates_with(handle: Handle, encoded: tuple[int, Shorts, Ints, Bytes, Shorts, Ints, Shorts]) -> Ints:
    """As `candidates`, of plain tuples."""
    return candidates(handle.index, Encoded(*encoded), handle.state.test_lines)
