"""Masks as values of compiled code, and the innermost loops, which are written with them.

A mask of W words, one bit for each of 64 * W events, is a value of the type `MaskType(W)`: one vector register
where the processor has one so wide, several where it has not. LLVM decides that; nothing here is for a particular
machine. Left to itself, LLVM does not see that the words of a mask in an array belong together, and the loops
below take two to three times as long. So there is one small function for each instruction, and all loops are plain
Python:

    load(words, array, at)    the mask in array[at:at + words]
    store(mask, array, at)    write it there
    no_events(words)          the empty mask
    mask_and(a, b)            events of both
    mask_or(a, b)             events of either
    mask_xor(a, b)            events of one of the two
    mask_without(a, b)        events of a, but not of b
    has_events(mask)          is any bit set?

`words` must be a constant, because it is a part of the type. There is no check of bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

from tamis.kernels import kernel

BLOCK = 8
"""Masks that are ANDed before the code asks whether events are left.

To ask more often costs more, in branches that are predicted wrongly, than it saves.
"""
_BLOCK = np.uint64(BLOCK)
_NONE, _ONE = np.uint64(0), np.uint64(1)
_BYTES = 16
LANES, NARROW_LANES = 8, 16
"""Values of 64 and of 32 bits that are compared with bounds at a time."""


class MaskType(types.Type):  # type: ignore[misc]
    """The numba type of a mask of so many words."""

    def __init__(self, words: int) -> None:
        self.words = words
        super().__init__(name=f"Mask({words})")


@register_model(MaskType)
class _MaskModel(models.PrimitiveModel):  # type: ignore[misc]
    """How LLVM holds a mask: as a vector of 64-bit integers."""

    def __init__(self, manager: Any, type_: MaskType) -> None:
        super().__init__(manager, type_, ir.VectorType(ir.IntType(64), type_.words))


# Each of the following functions has the form that numba asks for: it gets the types of the arguments and returns
# the signature and a function that writes the instructions. Argument 0 of these is the one after `typing_context`.


def _address(context: Any, builder: Any, signature: Any, arguments: Any, array: int, at: int, type_: Any) -> Any:
    """The address of element `arguments[at]` of the array `arguments[array]`, as a pointer to another type."""
    data = context.make_array(signature.args[array])(context, builder, arguments[array]).data
    return builder.bitcast(builder.gep(data, [arguments[at]]), type_.as_pointer())


@intrinsic(prefer_literal=True)  # type: ignore[misc]
def load(typing_context, words, array, at):  # type: ignore[no-untyped-def]
    """The mask in `array[at:at + words]`."""
    mask = MaskType(words.literal_value)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        vector = context.get_value_type(mask)
        loaded = builder.load(_address(context, builder, signature, arguments, 1, 2, vector))
        loaded.align = 8  # an array of words is aligned to words, not to vectors
        return loaded

    return mask(words, array, types.uint64), generate


@intrinsic
def store(typing_context, mask, array, at):  # type: ignore[no-untyped-def]
    """Write a mask to `array[at:at + words]`."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        address = _address(context, builder, signature, arguments, 1, 2, arguments[0].type)
        builder.store(arguments[0], address).align = 8
        return context.get_dummy_value()

    return types.void(mask, array, types.uint64), generate


@intrinsic(prefer_literal=True)  # type: ignore[misc]
def no_events(typing_context, words):  # type: ignore[no-untyped-def]
    """The empty mask."""
    mask = MaskType(words.literal_value)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return ir.Constant(context.get_value_type(mask), None)  # all zeros

    return mask(words), generate


@intrinsic
def mask_and(typing_context, a, b):  # type: ignore[no-untyped-def]
    """The events of both masks."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.and_(*arguments)

    return a(a, b), generate


@intrinsic
def mask_or(typing_context, a, b):  # type: ignore[no-untyped-def]
    """The events of either mask."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.or_(*arguments)

    return a(a, b), generate


@intrinsic
def mask_xor(typing_context, a, b):  # type: ignore[no-untyped-def]
    """The events of one of two masks, but not of the other."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.xor(*arguments)

    return a(a, b), generate


@intrinsic
def mask_without(typing_context, a, b):  # type: ignore[no-untyped-def]
    """The events of the first mask that are not in the second."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.and_(arguments[0], builder.not_(arguments[1]))

    return a(a, b), generate


@intrinsic
def has_events(typing_context, mask):  # type: ignore[no-untyped-def]
    """Is any bit of a mask set?"""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        # One bit a word, whether it is not zero; these bits taken as one integer.
        bits = ir.IntType(mask.words)
        nonzero = builder.icmp_unsigned("!=", arguments[0], ir.Constant(arguments[0].type, None))
        return builder.icmp_unsigned("!=", builder.bitcast(nonzero, bits), ir.Constant(bits, 0))

    return types.boolean(mask), generate


@intrinsic
def lowest_bit(typing_context, word):  # type: ignore[no-untyped-def]
    """The number of the lowest bit of a word that is set, 64 if there is none."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))  # 0: defined for a word without bits, too

    return types.int64(types.uint64), generate


@intrinsic
def count_bits(typing_context, word):  # type: ignore[no-untyped-def]
    """How many bits of a word are set."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@intrinsic
def prefetch(typing_context, array, at):  # type: ignore[no-untyped-def]
    """Ask for the cache line of an element of an array, and go on without waiting for it."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", [pointer], ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        )
        address = _address(context, builder, signature, arguments, 0, 1, ir.IntType(8))
        # To be read (0), to stay in the caches for a while (2 of 3), and data, not code (1).
        builder.call(function, [address, number(0), number(2), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.uint64), generate


@intrinsic
def no_inline(typing_context):  # type: ignore[no-untyped-def]
    """Keep the function that calls this from being inlined.

    In the middle of a large function there are too few registers for its loops, and compiling takes longer.
    """

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), generate


def _byte_comparison(sign: str) -> Callable[..., Any]:
    """A function of (array, at, value): bit i of 16 is 1 if `array[at + i]` compares so with value."""

    @intrinsic
    def compare(typing_context, array, at, value):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            vector = ir.VectorType(ir.IntType(8), _BYTES)
            loaded = builder.load(_address(context, builder, signature, arguments, 0, 1, vector))
            loaded.align = 1
            # Sixteen times the value: put it into element 0, then take element 0 for every element.
            undefined, first = ir.Constant(vector, ir.Undefined), ir.Constant(ir.IntType(32), 0)
            single = builder.insert_element(undefined, arguments[2], first)
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), _BYTES), None)
            values = builder.shuffle_vector(single, undefined, zeros)
            return builder.bitcast(builder.icmp_unsigned(sign, loaded, values), ir.IntType(_BYTES))

        return types.uint16(array, types.uint64, types.uint8), generate

    return compare  # type: ignore[no-any-return]


bytes_below, bytes_not_below = _byte_comparison("<"), _byte_comparison(">=")
"""Which of 16 bytes are below a value, and which are not: bit i is that of `array[at + i]`."""


def _lane_comparison(element_bits: int, count: int) -> Callable[..., Any]:
    """A function of (values, at, lows, highs, place): are so many values from `at` on between these bounds?

    They are compared with the lows and highs from `place` on, both inside.
    """

    @intrinsic
    def are_between(typing_context, values, at, lows, highs, place):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            vector, bits = ir.VectorType(ir.IntType(element_bits), count), ir.IntType(count)
            loaded = []
            for array, index in ((0, 1), (2, 4), (3, 4)):
                lanes = builder.load(_address(context, builder, signature, arguments, array, index, vector))
                lanes.align = element_bits // 8
                loaded.append(lanes)
            outside = builder.or_(
                builder.icmp_signed("<", loaded[0], loaded[1]), builder.icmp_signed(">", loaded[0], loaded[2])
            )
            return builder.icmp_unsigned("==", builder.bitcast(outside, bits), ir.Constant(bits, 0))

        return types.boolean(values, types.uint64, lows, highs, types.uint64), generate

    return are_between  # type: ignore[no-any-return]


is_between, is_between_narrow = _lane_comparison(64, LANES), _lane_comparison(32, NARROW_LANES)
"""Are LANES values of 64 bits, or NARROW_LANES of 32 bits, between their bounds?"""


def _survivors_of(words: int) -> Callable[..., tuple[int, int, int]]:
    """The function `survivors_W` for masks of so many words."""
    stride = np.uint64(words)

    # This is the innermost loop of a search: every entry of every group that many events visit passes here. A
    # range of an entry costs one load of its number and one AND with a mask from the table, which stays in the
    # first cache.
    @kernel
    def survivors(firsts, ranges, run_entries, run_ranges, at, rows, table, out, masks):  # type: ignore[no-untyped-def]
        no_inline()
        run_lows, run_highs = run_ranges
        count, room = _NONE, np.uint64(len(out))
        run, entry, last_run = np.uint64(at[0]), np.uint64(at[1]), np.uint64(at[2])
        while run < last_run and count < room:
            run_end = np.uint64(run_entries[run + _ONE])
            everyone = mask_without(
                load(words, rows, np.uint64(run_highs[run]) * stride),
                load(words, rows, np.uint64(run_lows[run]) * stride),
            )
            stop = min(run_end, entry + room - count)
            if not has_events(everyone):
                entry = stop = run_end
            place = np.uint64(firsts[entry])
            # `while`, not `range`: setting up a range costs as much as one step of these short loops.
            while entry < stop:
                end = np.uint64(firsts[entry + _ONE])
                mask = everyone
                if end - place < _BLOCK:
                    while place < end:
                        mask = mask_and(mask, load(words, table, np.uint64(ranges[place]) * stride))
                        place += _ONE
                else:
                    # The first block nearly always empties the mask; its loop is unrolled.
                    for offset in range(_BLOCK):
                        mask = mask_and(mask, load(words, table, np.uint64(ranges[place + offset]) * stride))
                    place += _BLOCK
                    while place < end and has_events(mask):
                        # The last block overlaps the one before, which does no harm to an AND.
                        last = min(place, end - _BLOCK)
                        for offset in range(_BLOCK):
                            mask = mask_and(mask, load(words, table, np.uint64(ranges[last + offset]) * stride))
                        place += _BLOCK
                if has_events(mask):
                    store(mask, masks, count * stride)
                    out[count] = entry
                    count += _ONE
                place = end
                entry += _ONE
            if entry == run_end:
                run += _ONE
        return np.int64(count), np.int64(run), np.int64(entry)

    return survivors  # type: ignore[no-any-return]


def _finish_of(words: int) -> Callable[..., None]:
    """The function `finish_W` for masks of so many words."""
    stride = np.uint64(words)

    @kernel
    def finish(axes, bases, named, lows, highs, rows, table):  # type: ignore[no-untyped-def]
        for axis in axes:
            mask: Any = no_events(words)
            for row in range(np.uint64(bases[axis]), np.uint64(bases[axis + 1])):
                mask = mask_or(mask, load(words, rows, row * stride))
                store(mask, rows, row * stride)
        for cell_range in named:
            low, high = np.uint64(lows[cell_range]), np.uint64(highs[cell_range])
            mask = mask_without(load(words, rows, high * stride), load(words, rows, low * stride))
            store(mask, table, np.uint64(cell_range) * stride)

    return finish  # type: ignore[no-any-return]


survivors_1, survivors_4, survivors_8 = _survivors_of(1), _survivors_of(4), _survivors_of(8)
"""Of the entries of some runs, those for which some event of the run's cell range is left.

The arguments are `firsts` and `ranges` of the entries; the entries, and (lows, highs), of runs; the run and entry
to begin with, and the run to end before; the masks of rows and of cell ranges; room for the entries that survive,
and for their masks, one after the other. Returns how many survive, and the run and entry to go on with when there
is room again.
"""

finish_1, finish_4, finish_8 = _finish_of(1), _finish_of(4), _finish_of(8)
"""From the events in each row to the masks of cell ranges, as `masks` draws it.

The arguments are the axes to finish, the bases of all axes; the ranges to finish, lows and highs of all ranges;
`rows`, which holds the events of each row and gets those of all rows of the axis before it, too; table, to fill.
"""
