"""The innermost loops, as vectors of several words.

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
"""Masks that are taken together before anybody looks whether events are left.

Looking more often costs more, in wrongly predicted jumps, than it saves.
"""

_INT = ir.IntType(64)


def _number(value: int) -> ir.Constant:
    return ir.Constant(_INT, value)


class _Vectors:
    """Loads and stores of `words` words at a time."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any, words: int) -> None:
        self.context, self.builder, self.words = context, builder, words
        self.signature, self.arguments = signature, arguments
        self.type = ir.VectorType(_INT, words)
        self.none = ir.Constant(self.type, [0] * words)

    def data(self, argument: int) -> Any:
        """Where the data of an argument that is an array begin."""
        array = self.context.make_array(self.signature.args[argument])
        return array(self.context, self.builder, self.arguments[argument]).data

    def _place(self, data: Any, word: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(data, [word]), self.type.as_pointer())

    def load(self, data: Any, word: Any) -> Any:
        loaded = self.builder.load(self._place(data, word))
        loaded.align = 8
        return loaded

    def store(self, value: Any, data: Any, word: Any) -> None:
        self.builder.store(value, self._place(data, word)).align = 8

    def element(self, data: Any, place: Any) -> Any:
        """An element of an array of unsigned integers."""
        value = self.builder.load(self.builder.gep(data, [place]))
        return value if value.type == _INT else self.builder.zext(value, _INT)

    def any(self, value: Any) -> Any:
        """Is any bit set?"""
        bits = ir.IntType(self.words)
        some = self.builder.bitcast(self.builder.icmp_unsigned("!=", value, self.none), bits)
        return self.builder.icmp_unsigned("!=", some, ir.Constant(bits, 0))


@intrinsic
def apart(typing_context):  # type: ignore[no-untyped-def]
    """Keep the function that says so from being made a part of others.

    In the middle of a large function there are too few registers for its loops, and compiling takes longer.
    """

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def prefetch(typing_context, array, place):  # type: ignore[no-untyped-def]
    """Have the element of an array at hand soon."""
    signature = types.void(array, types.uint64)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        vectors = _Vectors(context, builder, signature, arguments, 1)
        pointer = ir.IntType(8).as_pointer()
        number = ir.IntType(32)
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", [pointer], ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        )
        address = builder.bitcast(builder.gep(vectors.data(0), [arguments[1]]), pointer)
        builder.call(function, [address, number(0), number(2), number(1)])
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def place_of(typing_context, word):  # type: ignore[no-untyped-def]
    """The number of the lowest bit that is set, 64 if there is none."""
    signature = types.int64(types.uint64)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return signature, generate


@intrinsic
def bits_of(typing_context, word):  # type: ignore[no-untyped-def]
    """How many bits are set."""
    signature = types.int64(types.uint64)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.ctpop(arguments[0])

    return signature, generate


def _survivors_of(words: int) -> Callable[..., int]:
    """The function `survivors_W` for masks of so many words."""

    @intrinsic
    def survivors(  # type: ignore[no-untyped-def]  # numba's protocol
        typing_context, firsts, spans, first, last, table, full, entries, masks
    ):
        signature = types.int64(firsts, spans, types.int64, types.int64, table, full, entries, masks)

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            vectors = _Vectors(context, builder, signature, arguments, words)
            firsts, spans, table, entries, masks = (vectors.data(place) for place in (0, 1, 4, 6, 7))
            first, last = arguments[2], arguments[3]
            full = vectors.load(vectors.data(5), _number(0))
            names = ("entry", "long", "more", "short", "loop", "survives", "next", "done")
            blocks = {name: builder.append_basic_block(name) for name in names}

            def conjunction(mask, place, count):  # type: ignore[no-untyped-def]
                for offset in range(count):
                    span = vectors.element(spans, builder.add(place, _number(offset)))
                    mask = builder.and_(mask, vectors.load(table, builder.mul(span, _number(words))))
                return mask

            def less(a, b):  # type: ignore[no-untyped-def]
                return builder.icmp_unsigned("<", a, b)

            before = builder.basic_block
            very_first = vectors.element(firsts, first)
            builder.cbranch(less(first, last), blocks["entry"], blocks["done"])

            builder.position_at_end(blocks["entry"])
            entry, start, count = (builder.phi(_INT) for _ in range(3))
            following = builder.add(entry, _number(1))
            end = vectors.element(firsts, following)
            is_short = less(builder.sub(end, start), _number(BLOCK))
            builder.cbranch(is_short, blocks["short"], blocks["long"])

            builder.position_at_end(blocks["long"])
            long_mask = conjunction(full, start, BLOCK)
            long_end = builder.add(start, _number(BLOCK))
            look = builder.append_basic_block("look")
            builder.cbranch(vectors.any(long_mask), look, blocks["next"])
            builder.position_at_end(look)
            builder.cbranch(less(long_end, end), blocks["more"], blocks["survives"])

            # The last block overlaps the one before, which does no harm to an AND.
            builder.position_at_end(blocks["more"])
            place, mask = builder.phi(_INT), builder.phi(vectors.type)
            last_block = builder.sub(end, _number(BLOCK))
            block = builder.select(less(place, last_block), place, last_block)
            more_mask = conjunction(mask, block, BLOCK)
            more_end = builder.add(place, _number(BLOCK))
            look_again = builder.append_basic_block("look_again")
            builder.cbranch(vectors.any(more_mask), look_again, blocks["next"])
            builder.position_at_end(look_again)
            builder.cbranch(less(more_end, end), blocks["more"], blocks["survives"])
            for value, source in ((long_end, look), (more_end, look_again)):
                place.add_incoming(value, source)
            for value, source in ((long_mask, look), (more_mask, look_again)):
                mask.add_incoming(value, source)

            builder.position_at_end(blocks["short"])
            builder.cbranch(less(start, end), blocks["loop"], blocks["survives"])
            builder.position_at_end(blocks["loop"])
            place, mask = builder.phi(_INT), builder.phi(vectors.type)
            short_mask = conjunction(mask, place, 1)
            short_end = builder.add(place, _number(1))
            look_last = builder.append_basic_block("look_last")
            builder.cbranch(less(short_end, end), blocks["loop"], look_last)
            builder.position_at_end(look_last)
            builder.cbranch(vectors.any(short_mask), blocks["survives"], blocks["next"])
            for value, source in ((start, blocks["short"]), (short_end, blocks["loop"])):
                place.add_incoming(value, source)
            for value, source in ((full, blocks["short"]), (short_mask, blocks["loop"])):
                mask.add_incoming(value, source)

            builder.position_at_end(blocks["survives"])
            mask = builder.phi(vectors.type)
            for value, source in (
                (long_mask, look),
                (more_mask, look_again),
                (full, blocks["short"]),
                (short_mask, look_last),
            ):
                mask.add_incoming(value, source)
            vectors.store(mask, masks, builder.mul(count, _number(words)))
            number = builder.trunc(entry, ir.IntType(32))
            builder.store(number, builder.gep(entries, [count]))
            counted = builder.add(count, _number(1))
            builder.branch(blocks["next"])

            builder.position_at_end(blocks["next"])
            left = builder.phi(_INT)
            for source in (blocks["long"], blocks["more"], look_last):
                left.add_incoming(count, source)
            left.add_incoming(counted, blocks["survives"])
            builder.cbranch(less(following, last), blocks["entry"], blocks["done"])
            for phi, initial, value in (
                (entry, first, following),
                (start, very_first, end),
                (count, _number(0), left),
            ):
                phi.add_incoming(initial, before)
                phi.add_incoming(value, blocks["next"])

            builder.position_at_end(blocks["done"])
            total = builder.phi(_INT)
            total.add_incoming(_number(0), before)
            total.add_incoming(left, blocks["next"])
            return total

        return signature, generate

    @numba.njit(cache=True, nogil=True)
    def found(firsts, spans, first, last, table, full, entries, masks):  # type: ignore[no-untyped-def]
        apart()
        return survivors(firsts, spans, first, last, table, full, entries, masks)

    return found  # type: ignore[no-any-return]


def _accumulate_of(words: int) -> Callable[..., Any]:
    """A function that ORs to each of some rows of a table, at least one, all rows before it."""

    @intrinsic
    def accumulate(typing_context, table, first, last):  # type: ignore[no-untyped-def]
        signature = types.void(table, types.uint64, types.uint64)

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            vectors = _Vectors(context, builder, signature, arguments, words)
            table = vectors.data(0)
            before = builder.basic_block
            loop, done = builder.append_basic_block("loop"), builder.append_basic_block("done")
            builder.branch(loop)
            builder.position_at_end(loop)
            row, mask = builder.phi(_INT), builder.phi(vectors.type)
            row.add_incoming(arguments[1], before)
            mask.add_incoming(vectors.none, before)
            word = builder.mul(row, _number(words))
            joined = builder.or_(mask, vectors.load(table, word))
            vectors.store(joined, table, word)
            following = builder.add(row, _number(1))
            row.add_incoming(following, loop)
            mask.add_incoming(joined, loop)
            builder.cbranch(builder.icmp_unsigned("<", following, arguments[2]), loop, done)
            builder.position_at_end(done)
            return context.get_dummy_value()

        return signature, generate

    return accumulate  # type: ignore[no-any-return]


def _without_of(words: int) -> Callable[..., Any]:
    """A function that makes one mask of a table: `source[high] & ~source[low]`."""

    @intrinsic
    def without(typing_context, source, low, high, target, row):  # type: ignore[no-untyped-def]
        signature = types.void(source, types.uint64, types.uint64, target, types.uint64)

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            vectors = _Vectors(context, builder, signature, arguments, words)
            source, target = vectors.data(0), vectors.data(3)
            low, high, row = (builder.mul(arguments[place], _number(words)) for place in (1, 2, 4))
            mask = builder.and_(vectors.load(source, high), builder.not_(vectors.load(source, low)))
            vectors.store(mask, target, row)
            return context.get_dummy_value()

        return signature, generate

    return without  # type: ignore[no-any-return]


def _finish_of(words: int) -> Callable[..., None]:
    accumulate, without = _accumulate_of(words), _without_of(words)

    @numba.njit(cache=True, nogil=True)
    def finish(axes, bases, spans, lows, highs, rows, table):  # type: ignore[no-untyped-def]
        for axis in axes:
            accumulate(rows, np.uint64(bases[axis]), np.uint64(bases[axis + 1]))
        for span in spans:
            without(rows, np.uint64(lows[span]), np.uint64(highs[span]), table, np.uint64(span))

    return finish  # type: ignore[no-any-return]


@intrinsic
def lines_meet(typing_context, bits, starts, count, word, out):  # type: ignore[no-untyped-def]
    """AND eight words of several lines, at least one, into `out`; gives whether any bit is left.

    Line i begins at `bits[starts[i]]`; `word` is where in the lines the words are.
    """
    signature = types.boolean(bits, starts, types.uint64, types.uint64, out)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        vectors = _Vectors(context, builder, signature, arguments, 8)
        bits, starts, out = (vectors.data(argument) for argument in (0, 1, 4))
        count, word = arguments[2], arguments[3]
        first = vectors.load(bits, builder.add(vectors.element(starts, _number(0)), word))
        before = builder.basic_block
        loop, body, done = (builder.append_basic_block(name) for name in ("loop", "body", "done"))
        builder.branch(loop)
        builder.position_at_end(loop)
        line, mask = builder.phi(_INT), builder.phi(vectors.type)
        line.add_incoming(_number(1), before)
        mask.add_incoming(first, before)
        builder.cbranch(builder.icmp_unsigned("<", line, count), body, done)
        builder.position_at_end(body)
        both = builder.and_(mask, vectors.load(bits, builder.add(vectors.element(starts, line), word)))
        line.add_incoming(builder.add(line, _number(1)), body)
        mask.add_incoming(both, body)
        builder.branch(loop)
        builder.position_at_end(done)
        vectors.store(mask, out, _number(0))
        return vectors.any(mask)

    return signature, generate


@intrinsic
def block_meets(typing_context, lanes, place, first, second):  # type: ignore[no-untyped-def]
    """Of the 16 entries of a block, which begins at a place, those whose cells these are: a bit each."""
    signature = types.uint16(lanes, types.uint64, types.uint8, types.uint8)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        array = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        type_ = ir.VectorType(ir.IntType(8), 16)

        def column(number):  # type: ignore[no-untyped-def]
            start = builder.gep(array, [builder.add(arguments[1], _number(16 * number))])
            loaded = builder.load(builder.bitcast(start, type_.as_pointer()))
            loaded.align = 1
            return loaded

        def everywhere(value):  # type: ignore[no-untyped-def]
            undefined = ir.Constant(type_, ir.Undefined)
            single = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), 16), [0] * 16)
            return builder.shuffle_vector(single, undefined, zeros)

        first, second = everywhere(arguments[2]), everywhere(arguments[3])
        meets = builder.icmp_unsigned(">", first, column(0))
        for sign, cell, number in (("<=", first, 1), (">", second, 2), ("<=", second, 3)):
            meets = builder.and_(meets, builder.icmp_unsigned(sign, cell, column(number)))
        return builder.bitcast(meets, ir.IntType(16))

    return signature, generate


survivors_1, survivors_4, survivors_8 = _survivors_of(1), _survivors_of(4), _survivors_of(8)
"""Of the entries [first, last), those in which some event of `full` is left: their numbers and masks, in a row.

Arguments: the bodies' firsts and spans, first, last, table (a mask has as many words as the name says), full, and
what to fill: entries and masks, with room for all. Gives how many survive.
"""

finish_1, finish_4, finish_8 = _finish_of(1), _finish_of(4), _finish_of(8)
"""From the cells that events are in to the masks of spans.

Arguments: the axes, all axes' bases; the spans, all spans' lows and highs; rows, which hold the events of each
cell and get those of all cells before it too; and the table of spans to fill.
"""
