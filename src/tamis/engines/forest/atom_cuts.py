"""Kernels that collect the cuts that must be ranked before the atoms of a column can become leaves.

`collect_cuts` reads a whole column of atoms of known shapes and finds the axes that they use, the cuts of strings
and of schemaless numbers, and the patterns that are no ranges. It interprets an atom as
`tamis.language.operands.Operand` does. The other functions write the cuts and patterns into arrays.

A constant has two cuts, just below it and just above it. On every axis, a value that equals the constant has
exactly the one coordinate between the two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import F64, I32, I64, U8
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.engines.forest.ranking import AT, BEHIND, BOTH, INT_BEYOND, NumberCuts, TextCuts
from tamis.engines.forest.tests import Patterns
from tamis.kernels import kernel
from tamis.language.operands import OperandClass
from tamis.language.skeleton import (
    CONSTANT_INTEGER,
    CONSTANT_STRING,
    SHAPE_BARE,
    SHAPE_BETWEEN,
    SHAPE_LIKE,
    SHAPE_NULL,
    AtomShapes,
)
from tamis.syntax.tokens import Kind

OWN, NUMBERS, STRINGS, BOOLEANS = 0, 1, 2, 3
"""How an atom reads its attribute: as it is, or, without a schema, as values of that type."""
READINGS = 4

# The text of a string cut: the whole constant, what precedes its first `%`, or the least text above all texts that
# begin with that.
_WHOLE, _PREFIX, _FOLLOWING = 0, 1, 2

# numba sees kinds and classes as plain integers.
_LT, _LE, _GT, _GE = int(Kind.LT), int(Kind.LE), int(Kind.GT), int(Kind.GE)
_ANY, _STRING = int(OperandClass.ANY), int(OperandClass.STRING)
_PERCENT, _UNDERSCORE = 37, 95
_LIKE_EXACT, _LIKE_PREFIX, _LIKE_ALL, _LIKE_TEST = 0, 1, 2, 3
_LAST_CHARACTER = tuple("\U0010ffff".encode())
_TWO_63 = 2.0**63
_MAGNITUDE = (1 << 63) - 1


class AtomColumn(NamedTuple):
    """The atoms of one column.

    shapes, text, keys, doubles: as `tamis.language.operands.Atoms` has them.
    holds: per atom, 1 for the atom as it stands, 0 for its negation.
    skip: per atom, 1 if its leaf is made elsewhere.
    classes: per name, the class of its attribute.
    """

    shapes: AtomShapes
    text: U8
    keys: I64
    doubles: F64
    holds: U8
    skip: U8
    classes: U8


class CutList(NamedTuple):
    """Cuts of constants.

    targets: the end of a constant that gets the rank of this cut: 2c is the lower end of constant c, 2c + 1 its
        upper end; -1 for a cut that no end needs.
    sides: AT, BEHIND or BOTH.
    axes: name * READINGS + reading.
    """

    constants: I32
    targets: I32
    sides: U8
    parts: U8
    axes: I32


class CollectedCuts(NamedTuple):
    """The result of `collect_cuts`.

    asked: per name and reading, at name * READINGS + reading: 1 if some atom is an interval of it.
    axes: per atom, name * READINGS + reading; -1 if it has no leaf here or is a pattern.
    patterns: the atoms that are patterns.
    """

    asked: U8
    axes: I32
    texts: CutList
    numbers: CutList
    patterns: I32


def collect_cuts(atoms: AtomColumn) -> CollectedCuts:
    """The axes, cuts and patterns of the atoms of a column."""
    shapes = atoms.shapes
    strings = int((shapes.constant_kinds == CONSTANT_STRING).sum())
    has_any = bool((atoms.classes == OperandClass.ANY).any())
    found = CollectedCuts(
        np.zeros(len(atoms.classes) * READINGS, np.uint8),
        np.full(len(shapes.shapes), -1, np.int32),
        _empty_cuts(2 * strings),
        _empty_cuts(2 * (len(shapes.constant_kinds) - strings) if has_any else 0),
        np.empty(int((shapes.shapes == SHAPE_LIKE).sum()), np.int32),
    )
    texts, numbers, patterns = _collect(shapes, atoms.text, atoms.skip, atoms.classes, found)
    return found._replace(
        texts=_first_cuts(found.texts, texts),
        numbers=_first_cuts(found.numbers, numbers),
        patterns=found.patterns[:patterns],
    )


def _empty_cuts(count: int) -> CutList:
    return CutList(
        np.empty(count, np.int32),
        np.empty(count, np.int32),
        np.empty(count, np.uint8),
        np.empty(count, np.uint8),
        np.empty(count, np.int32),
    )


def _first_cuts(cuts: CutList, count: int) -> CutList:
    return CutList(
        cuts.constants[:count], cuts.targets[:count], cuts.sides[:count], cuts.parts[:count], cuts.axes[:count]
    )


@kernel
def _collect(shapes: AtomShapes, text: U8, skip: U8, classes: U8, out: CollectedCuts) -> tuple[int, int, int]:
    """Fill `out`; returns the numbers of string cuts, number cuts and patterns."""
    texts, numbers = out.texts, out.numbers
    text_count = number_count = pattern_count = 0
    for atom in range(len(shapes.shapes)):
        if skip[atom]:
            continue
        shape, name = shapes.shapes[atom], shapes.names[atom]
        first, last = shapes.constants[atom], shapes.constants[atom + 1]
        reading = OWN
        if classes[name] == _ANY and shape != SHAPE_NULL:
            if shape == SHAPE_BARE:
                reading = BOOLEANS
            else:
                reading = STRINGS if shapes.constant_kinds[first] == CONSTANT_STRING else NUMBERS
        like = _LIKE_EXACT
        if shape == SHAPE_LIKE:
            like = _like_kind(text, shapes.starts[first], shapes.ends[first])
            if like == _LIKE_TEST:
                out.patterns[pattern_count] = atom
                pattern_count += 1
                continue
        axis = name * READINGS + reading
        out.axes[atom] = axis
        out.asked[axis] = 1
        is_text = reading == STRINGS or classes[name] == _STRING
        if like == _LIKE_ALL or not (is_text or reading == NUMBERS):
            continue
        # Most constants have one cut. A point has two, which are neighbours; a prefix has two, which are not.
        for constant in range(first, last):
            side = BOTH
            if shape == SHAPE_BETWEEN:
                side = AT if constant == first else BEHIND
            elif shape == _LT or shape == _GE:
                side = AT
            elif shape == _LE or shape == _GT:
                side = BEHIND
            if not is_text:
                for behind in range(2):
                    if side == BOTH or side == (BEHIND if behind else AT):
                        numbers.constants[number_count] = constant
                        numbers.targets[number_count] = -1 if behind and side == BOTH else 2 * constant
                        numbers.sides[number_count] = BEHIND if behind else AT
                        numbers.axes[number_count] = axis
                        number_count += 1
                continue
            # The empty string is the least of all: it has no cut below, and its upper end is the cut behind it.
            is_empty = shapes.starts[constant] == shapes.ends[constant]
            for end in range(2 if shape == SHAPE_LIKE else 1):
                target = 2 * constant + end
                here, part = side, _WHOLE
                if like == _LIKE_PREFIX:
                    here, part = AT, _FOLLOWING if end else _PREFIX
                elif shape == SHAPE_LIKE:
                    here = BEHIND if end else AT
                elif is_empty and side == BOTH:
                    here = BEHIND
                    target += 1
                if is_empty and here == AT:
                    continue
                if part == _FOLLOWING and _is_last(text, shapes.starts[constant]):
                    continue
                texts.constants[text_count] = constant
                texts.targets[text_count] = target
                texts.sides[text_count] = here
                texts.parts[text_count] = part
                texts.axes[text_count] = axis
                text_count += 1
    return text_count, number_count, pattern_count


@kernel
def _like_kind(text: U8, start: int, end: int) -> int:
    """The kind of a LIKE pattern without escapes; a prefix ends at its first `%`."""
    at = start
    while at < end and text[at] != _PERCENT and text[at] != _UNDERSCORE:
        at += 1
    if at == end:
        return _LIKE_EXACT
    for place in range(at, end):
        if text[place] != _PERCENT:
            return _LIKE_TEST
    return _LIKE_ALL if at == start else _LIKE_PREFIX


@kernel
def _is_last(text: U8, start: int) -> bool:
    """Is the prefix the last character of Unicode, repeated, so that no text follows those that begin with it?"""
    place = 0
    while text[start + place] != _PERCENT:
        if text[start + place] != _LAST_CHARACTER[place % 4]:
            return False
        place += 1
    return True


def text_cuts(atoms: AtomColumn, cuts: CutList, axes: I32) -> TextCuts:
    """String cuts with their texts, on the given axes."""
    starts, ends = atoms.shapes.starts[cuts.constants], atoms.shapes.ends[cuts.constants]
    offsets = np.zeros(len(starts) + 1, np.int64)
    # What follows a prefix may be one byte longer than it, but there is at least one `%` less.
    data = np.empty(int((ends - starts).sum()) + 1, np.uint8)
    _write_texts(atoms.text, starts, ends, cuts.parts, offsets, data)
    return TextCuts(axes, cuts.sides, offsets, data)


@kernel
def _write_texts(text: U8, starts: I64, ends: I64, parts: U8, offsets: I64, data: U8) -> None:
    """Fill in the texts of string cuts."""
    at = 0
    for cut in range(len(starts)):
        first = at
        for place in range(starts[cut], ends[cut]):
            if parts[cut] != _WHOLE and text[place] == _PERCENT:
                break
            data[at] = text[place]
            at += 1
        if parts[cut] == _FOLLOWING:
            at = _increment_text(data, first, at)
        offsets[cut + 1] = at


@kernel
def _increment_text(data: U8, start: int, end: int) -> int:
    """Turn UTF-8 into the least text above all texts that begin with it, in place; returns its end.

    The last character is replaced by its successor in Unicode, without surrogates; one that has none is dropped.
    """
    while end > start:
        last = end - 1
        while data[last] & 0xC0 == 0x80:
            last -= 1
        size = end - last
        code = np.int64(data[last]) if size == 1 else np.int64(data[last]) & (0x7F >> size)
        for place in range(last + 1, end):
            code = code << 6 | np.int64(data[place]) & 0x3F
        if code == 0x10FFFF:
            end = last
            continue
        code += 0xE000 - 0xD7FF if code == 0xD7FF else 1
        size = 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
        for place in range(last + size - 1, last, -1):
            data[place] = 0x80 | code & 0x3F
            code >>= 6
        data[last] = code if size == 1 else (0xF00 >> size) & 0xFF | code
        return last + size
    return start


def number_cuts(atoms: AtomColumn, cuts: CutList, axes: I32) -> NumberCuts:
    """Cuts of schemaless numbers with their values, on the given axes."""
    count = len(cuts.constants)
    ints, doubles = np.empty(count, np.int64), np.empty(count, np.int64)
    beyond = np.zeros(count, np.uint8)
    kinds, bits = atoms.shapes.constant_kinds, atoms.doubles.view(np.int64)
    _write_numbers(cuts, kinds, atoms.keys, atoms.doubles, bits, NumberCuts(axes, ints, doubles, beyond))
    return NumberCuts(axes, ints, doubles, beyond)


@kernel
def _write_numbers(cuts: CutList, kinds: U8, keys: I64, doubles: F64, all_bits: I64, out: NumberCuts) -> None:
    """Fill in the least integer and the least double at or above every cut."""
    for cut in range(len(cuts.constants)):
        constant = cuts.constants[cut]
        behind = cuts.sides[cut] == BEHIND
        value, bits = doubles[constant], all_bits[constant]
        key = -(bits & _MAGNITUDE) if bits < 0 else bits
        if kinds[constant] == CONSTANT_INTEGER:
            whole = keys[constant]
            # The nearest double may be on either side of the integer.
            near = np.int64(value)
            out.ints[cut] = whole + 1 if behind else whole
            out.doubles[cut] = key + (0 if near > whole or (near == whole and not behind) else 1)
            continue
        out.doubles[cut] = key + (1 if behind else 0)
        if value >= _TWO_63:
            out.ints[cut], out.beyond[cut] = HIGHEST, INT_BEYOND
        elif value < -_TWO_63:
            out.ints[cut] = LOWEST
        else:
            floor = np.floor(value)
            out.ints[cut] = np.int64(floor) + (1 if behind or floor < value else 0)


def patterns_of(atoms: AtomColumn, patterns: I32, attributes: I32) -> Patterns:
    """The atoms that are patterns; `attributes` are the numbers of the attributes that they read."""
    constants = atoms.shapes.constants[patterns]
    starts, ends = atoms.shapes.starts[constants], atoms.shapes.ends[constants]
    offsets = np.zeros(len(patterns) + 1, np.int64)
    data = np.empty(int((ends - starts).sum()) + 1, np.uint8)
    _write_patterns(atoms.text, starts, ends, offsets, data)
    tests = np.zeros(len(patterns), np.uint8)
    return Patterns(attributes, tests, 1 - atoms.holds[patterns], offsets, data)


@kernel
def _write_patterns(text: U8, starts: I64, ends: I64, offsets: I64, data: U8) -> None:
    """Fill in LIKE patterns, with runs of `%` as one."""
    at = 0
    for pattern in range(len(starts)):
        for place in range(starts[pattern], ends[pattern]):
            again = place > starts[pattern] and text[place - 1] == _PERCENT
            if not (again and text[place] == _PERCENT):
                data[at] = text[place]
                at += 1
        offsets[pattern + 1] = at
