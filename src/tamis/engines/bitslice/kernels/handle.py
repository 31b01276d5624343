"""A handle: an index and the state of a search as one argument of compiled code.

To hand some eighty arrays to compiled code one by one takes longer than to match an event.
"""

from __future__ import annotations

from numba.experimental import structref

from tamis.arrays import I32, I64, U8
from tamis.engines.bitslice.kernels.search import SearchState, count_candidates, search
from tamis.engines.bitslice.layout import IndexArrays
from tamis.engines.encoding import EncodedBatch
from tamis.engines.structs import struct
from tamis.kernels import kernel


# A structref holds its arrays behind one pointer. Compiled code may read it, but Python hands over the pointer
# alone: a tuple would be taken apart, and each of its arrays checked and wrapped, in every call.
@struct
class Handle(structref.StructRefProxy):  # type: ignore[misc]
    """What `new_handle` returns; only compiled code looks into it. One search at a time may use it."""

    index: IndexArrays
    state: SearchState  # written by every search, so two at a time would mix their events


@kernel
def new_handle(index: IndexArrays, state: SearchState) -> Handle:
    return Handle(index, state)


@kernel
def search_with_handle(
    handle: Handle, encoded: tuple[int, I32, I64, U8, I32, I64, I32], fewest: int, room: int
) -> tuple[I32, I32, int]:
    """As `search`, but with plain tuples: numba unpickles the class of a named one by its name in every call."""
    # The six arrays of the batch are new in each call, so a handle of their own would save nothing.
    pairs, count = search(handle.index, EncodedBatch(*encoded), handle.state, fewest, room)
    return pairs.events, pairs.numbers, count  # a plain tuple on the way out, for the same reason as on the way in


@kernel
def count_candidates_with_handle(handle: Handle, encoded: tuple[int, I32, I64, U8, I32, I64, I32]) -> I64:
    """As `count_candidates`, with plain tuples."""
    return count_candidates(handle.index, EncodedBatch(*encoded), handle.state.test_lines)
