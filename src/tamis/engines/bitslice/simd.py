"""The innermost loop, as vectors of several words.

This is the one place that speaks LLVM: left to itself the compiler does not see that the words of a mask can be
handled together, and takes two to three times as long. The code is for no particular machine: LLVM lowers the
vectors to whatever registers there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

BLOCK = 8
"""Rows that are taken together before anybody looks whether events are left.

Looking more often costs more, in wrongly predicted jumps, than it saves.
"""

_INT = ir.IntType(64)


def _conjunction_of(words: int) -> Callable[..., Any]:
    """A function that ANDs the masks of one body: `table[high] & ~table[low]` for each of its rows.

    It starts with the mask `full`, may stop when no event is left, writes the mask to `out[at:at + words]` and says
    whether any event is left.
    """
    vector = ir.VectorType(_INT, words)

    @intrinsic
    def conjunction(  # type: ignore[no-untyped-def]  # numba's protocol
        typing_context, table, lows, highs, start, end, full, out, at
    ):
        signature = types.boolean(table, lows, highs, types.uint64, types.uint64, full, out, types.uint64)

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            def data(number):  # type: ignore[no-untyped-def]
                return context.make_array(signature.args[number])(context, builder, arguments[number]).data

            def load(base, offset):  # type: ignore[no-untyped-def]
                loaded = builder.load(builder.bitcast(builder.gep(base, [offset]), vector.as_pointer()))
                loaded.align = 8
                return loaded

            def row(base, place):  # type: ignore[no-untyped-def]
                number = builder.zext(builder.load(builder.gep(base, [place])), _INT)
                return builder.mul(number, ir.Constant(_INT, words))

            def least(a, b):  # type: ignore[no-untyped-def]
                return builder.select(builder.icmp_unsigned("<", a, b), a, b)

            table_data, low_data, high_data = data(0), data(1), data(2)
            one, none = ir.Constant(_INT, 1), ir.Constant(vector, [0] * words)
            start, end = arguments[3], arguments[4]
            before = builder.basic_block
            first = load(data(5), ir.Constant(_INT, 0))
            block = builder.append_basic_block("block")
            rows = builder.append_basic_block("rows")
            look = builder.append_basic_block("look")
            done = builder.append_basic_block("done")
            builder.branch(block)

            builder.position_at_end(block)
            block_start, block_mask = builder.phi(_INT), builder.phi(vector)
            block_start.add_incoming(start, before)
            block_mask.add_incoming(first, before)
            block_end = least(builder.add(block_start, ir.Constant(_INT, BLOCK)), end)
            builder.branch(rows)

            builder.position_at_end(rows)
            place, mask = builder.phi(_INT), builder.phi(vector)
            place.add_incoming(block_start, block)
            mask.add_incoming(block_mask, block)
            high, low = load(table_data, row(high_data, place)), load(table_data, row(low_data, place))
            left = builder.and_(mask, builder.and_(high, builder.not_(low)))
            following = builder.add(place, one)
            place.add_incoming(following, rows)
            mask.add_incoming(left, rows)
            builder.cbranch(builder.icmp_unsigned("<", following, block_end), rows, look)

            builder.position_at_end(look)
            bits = ir.IntType(words)
            some = builder.bitcast(builder.icmp_unsigned("!=", left, none), bits)
            alive = builder.icmp_unsigned("!=", some, ir.Constant(bits, 0))
            more = builder.icmp_unsigned("<", following, end)
            block_start.add_incoming(following, look)
            block_mask.add_incoming(left, look)
            builder.cbranch(builder.and_(alive, more), block, done)

            builder.position_at_end(done)
            target = builder.bitcast(builder.gep(data(6), [arguments[7]]), vector.as_pointer())
            builder.store(left, target).align = 8
            return alive

        return signature, generate

    return conjunction  # type: ignore[no-any-return]


def _survivors_of(words: int) -> Callable[..., int]:
    conjunction = _conjunction_of(words)

    @numba.njit(cache=True, nogil=True, forceinline=True)
    def survivors(firsts, lows, highs, first, last, table, full, entries, masks):  # type: ignore[no-untyped-def]
        count = 0
        start = np.uint64(firsts[first])
        for entry in range(first, last):
            end = np.uint64(firsts[entry + 1])
            if start == end:
                for word in range(words):
                    masks[count * words + word] = full[word]
                entries[count] = entry
                count += 1
            elif conjunction(table, lows, highs, start, end, full, masks, np.uint64(count * words)):
                entries[count] = entry
                count += 1
            start = end
        return count

    return survivors  # type: ignore[no-any-return]


survivors_1 = _survivors_of(1)
survivors_2 = _survivors_of(2)
survivors_4 = _survivors_of(4)
survivors_8 = _survivors_of(8)
"""Of the entries [first, last), those in which some event of `full` is left: their numbers and masks, in a row.

Arguments: the bodies' firsts, lows and highs, first, last, table (a row is as many words as the name says), full,
and what to fill: entries and masks, with room for all. Gives how many survive.
"""
