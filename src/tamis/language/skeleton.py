"""Kernels that read the Boolean skeleton of many conditions at once.

`skeletons` splits each condition at its ANDs, ORs, NOTs and parentheses into atoms, as the parser would, and
pushes NOT down to the atoms. `shapes` recognises the atoms that most conditions consist of (attribute, operator,
constants) and reads their constants. A text with anything unusual is left to the parser, such an atom to the
analyser.

    a < 3 AND NOT (b = 'x' OR c)     atoms: 0 `a < 3`, 1 `b = 'x'`, 2 `c`
                                     postfix: TRUE 0, FALSE 1, FALSE 2, AND, AND
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64, U8
from tamis.kernels import kernel
from tamis.syntax.token_column import TokenColumn
from tamis.syntax.tokens import Kind

# Kernels know kinds of tokens as plain integers.
_END, _NAME, _STRING, _RAW_STRING = int(Kind.END), int(Kind.NAME), int(Kind.STRING), int(Kind.RAW_STRING)
_INTEGER, _DECIMAL, _EXPONENT = int(Kind.INTEGER), int(Kind.DECIMAL), int(Kind.EXPONENT)
_SUFFIXED, _FALSE = int(Kind.SUFFIXED), int(Kind.FALSE)
_OPEN, _CLOSE = int(Kind.LEFT_PAREN), int(Kind.RIGHT_PAREN)
_OPEN_BRACKET, _CLOSE_BRACKET = int(Kind.LEFT_BRACKET), int(Kind.RIGHT_BRACKET)
_COMMA, _DOT, _MINUS, _BANG = int(Kind.COMMA), int(Kind.DOT), int(Kind.MINUS), int(Kind.BANG)
_EQ, _LT, _GT, _GE = int(Kind.EQ), int(Kind.LT), int(Kind.GT), int(Kind.GE)
_VARIABLE, _BAD_NAME = int(Kind.VARIABLE), int(Kind.BAD_NAME)
_AND, _OR, _XOR, _NOT = int(Kind.AND), int(Kind.OR), int(Kind.XOR), int(Kind.NOT)
_BETWEEN, _IN, _LIKE, _IS, _NULL = (
    int(Kind.BETWEEN),
    int(Kind.IN),
    int(Kind.LIKE),
    int(Kind.IS),
    int(Kind.NULL),
)
_CASE, _END_CASE = int(Kind.CASE), int(Kind.END_CASE)
_BACKSLASH, _POINT, _PLUS_SIGN, _MINUS_SIGN, _ZERO, _NINE = 92, 46, 43, 45, 48, 57

# The kind of a node of a skeleton: an atom that must be true, one that must be false, AND or OR of the two before.
NODE_TRUE, NODE_FALSE, NODE_AND, NODE_OR = 0, 1, 2, 3

# The shape of an atom. Comparisons are the token kinds EQ ... GE.
SHAPE_OTHER, SHAPE_BARE, SHAPE_BETWEEN, SHAPE_IN, SHAPE_LIKE, SHAPE_NULL = 0, 1, 2, 3, 4, 5

# The kind of a constant.
CONSTANT_INTEGER, CONSTANT_DECIMAL, CONSTANT_DOUBLE, CONSTANT_STRING = 0, 1, 2, 3


class Skeletons(NamedTuple):
    """The nodes of text i, in postfix order, are `[firsts[i], firsts[i + 1])`; none if the parser must read it."""

    firsts: I64
    kinds: U8
    atoms: I32  # of an atom node: its number
    atom_texts: I32  # per atom: the number of its text
    atom_starts: I64  # per atom: its first token
    atom_ends: I64  # per atom: one past its last token


class AtomShapes(NamedTuple):
    """The shape of each atom, and its constants: those of atom a are `[constants[a], constants[a + 1])`."""

    shapes: U8
    negated: U8
    names: I32  # number of the attribute's name, -1 for other shapes
    constants: I64
    constant_kinds: U8
    mantissas: I64  # integer: the value; decimal: without its point
    scales: I32  # digits behind the point; of a string: 0
    starts: I64  # of a string: its first byte in the column
    ends: I64
    name_starts: I64  # per distinct name: its first byte in the column
    name_ends: I64


@kernel
def _matching(kinds: U8, first: int, last: int, partner: I32, stack: I64) -> bool:
    """Find the partner of every parenthesis and bracket; False if they do not pair up.

    Also False for tokens that are left to the parser: variables, bad names, XOR and CASE.
    """
    depth = 0
    for at in range(first, last):
        kind = kinds[at]
        if kind in (_OPEN, _OPEN_BRACKET):
            stack[depth] = at
            depth += 1
        elif kind in (_CLOSE, _CLOSE_BRACKET):
            if depth == 0:
                return False
            depth -= 1
            opening = stack[depth]
            if (kinds[opening] == _OPEN) != (kind == _CLOSE):
                return False
            partner[opening - first] = at - first
        elif _VARIABLE <= kind <= _BAD_NAME or kind == _XOR or _CASE <= kind <= _END_CASE:
            return False
    return depth == 0


@kernel
def _ends_operand(kind: int) -> bool:
    """Can a token of that kind be the last one of a value? Keywords that are names are left to the parser."""
    return _NAME <= kind <= _SUFFIXED or kind in (_CLOSE, _CLOSE_BRACKET) or _NULL <= kind <= _FALSE


@kernel
def _skeletons(
    kinds: U8,
    firsts: I64,
    depth_limit: int,
    out: Skeletons,
    partner: I32,
    stack: I64,
    negations: U8,
) -> tuple[int, int]:
    """Fill `out`; gives the number of nodes and of atoms."""
    nodes = 0
    atoms = 0
    for text in range(len(firsts) - 1):
        first = firsts[text]
        last = firsts[text + 1] - 1  # the END token
        out.firsts[text] = nodes
        if first == last or not _matching(kinds, first, last, partner, stack):
            continue
        first_node, first_atom = nodes, atoms
        understood = True
        # The stack holds open connectives and parentheses; `negations[d]` says whether depth d is negated.
        height = 0
        depth = 0
        negations[0] = 0
        at = first
        while understood:
            # An operand: signs of negation, then a parenthesis or an atom.
            negated = negations[depth]
            signs = 0
            while kinds[at] in (_NOT, _BANG):
                negated ^= 1
                signs += 1
                at += 1
            if depth + signs >= depth_limit:
                understood = False
                break
            if kinds[at] == _OPEN:
                following = kinds[first + partner[at - first] + 1]
                if following in (_AND, _OR, _CLOSE, _END):
                    stack[height] = _OPEN
                    height += 1
                    depth += 1
                    negations[depth] = negated
                    at += 1
                    continue
            start = at
            between = False
            while True:
                kind = kinds[at]
                if kind in (_OPEN, _OPEN_BRACKET):
                    at = first + partner[at - first]
                elif kind == _BETWEEN:
                    before = at - 1 if kinds[at - 1] != _NOT else at - 2
                    if before < start or not _ends_operand(kinds[before]):  # it may be the name of an attribute
                        understood = False
                        break
                    between = True
                elif kind == _AND and between:
                    between = False
                elif kind in (_AND, _OR, _CLOSE, _END, _COMMA):
                    break
                at += 1
            if not understood or at == start or between or kinds[at] == _COMMA:
                understood = False
                break
            out.kinds[nodes] = NODE_FALSE if negated else NODE_TRUE
            out.atoms[nodes] = atoms
            nodes += 1
            out.atom_texts[atoms] = text
            out.atom_starts[atoms] = start
            out.atom_ends[atoms] = at
            atoms += 1
            # What follows an operand: closing parentheses, then a connective or the end.
            while True:
                kind = kinds[at]
                # OR closes every open connective of this depth; AND closes only ANDs, which bind as tightly.
                while height > 0 and stack[height - 1] != _OPEN and (kind != _AND or stack[height - 1] == _AND):
                    height -= 1
                    is_and = (stack[height] == _AND) != (negations[depth] == 1)
                    out.kinds[nodes] = NODE_AND if is_and else NODE_OR
                    out.atoms[nodes] = -1
                    nodes += 1
                if kind != _CLOSE or height == 0:
                    break
                height -= 1
                depth -= 1
                at += 1
            if kind == _END:
                break
            if kind == _CLOSE:
                understood = False
                break
            stack[height] = kind
            height += 1
            at += 1
        if not understood:
            nodes, atoms = first_node, first_atom
    out.firsts[len(firsts) - 1] = nodes
    return nodes, atoms


def skeletons(tokens: TokenColumn, depth_limit: int) -> Skeletons:
    """The skeleton of every text."""
    most = len(tokens.kinds)
    texts = len(tokens.firsts) - 1
    longest = int(np.max(np.diff(tokens.firsts), initial=1))
    out = Skeletons(
        np.zeros(texts + 1, np.int64),
        np.empty(most, np.uint8),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
    )
    partner, stack = np.zeros(longest, np.int32), np.zeros(longest, np.int64)
    negations = np.zeros(longest + 1, np.uint8)
    nodes, atoms = _skeletons(tokens.kinds, tokens.firsts, depth_limit, out, partner, stack, negations)
    return Skeletons(
        out.firsts,
        out.kinds[:nodes],
        out.atoms[:nodes],
        out.atom_texts[:atoms],
        out.atom_starts[:atoms],
        out.atom_ends[:atoms],
    )


@kernel
def _constant(tokens: TokenColumn, text: int, at: int, end: int, slot: int, out: AtomShapes) -> int:
    """Read the constant at a token into `slot`; gives the token behind it, or -1 if it is not a plain one."""
    negative = tokens.kinds[at] == _MINUS
    if negative:
        at += 1
    if at >= end:
        return -1
    kind = tokens.kinds[at]
    base = tokens.offsets[text]
    i = base + tokens.starts[at]
    stop = base + tokens.ends[at]
    if kind == _STRING:
        if negative or (at + 1 < end and tokens.kinds[at + 1] in (_STRING, _RAW_STRING)):
            return -1
        quote = tokens.text[i]
        for place in range(i + 1, stop - 1):
            if tokens.text[place] == _BACKSLASH or tokens.text[place] == quote:
                return -1
        out.constant_kinds[slot] = CONSTANT_STRING
        out.scales[slot] = 0
        out.mantissas[slot] = 0
        out.starts[slot] = i + 1
        out.ends[slot] = stop - 1
        return at + 1
    if kind not in (_INTEGER, _DECIMAL, _EXPONENT):
        return -1
    mantissa = np.int64(0)
    digits = 0
    scale = 0
    point = False
    while i < stop:
        c = tokens.text[i]
        if c == _POINT:
            point = True
        elif _ZERO <= c <= _NINE:
            mantissa = mantissa * 10 + (c - _ZERO)
            digits += 1
            scale += point
        else:
            break
        i += 1
    if digits > 18:
        return -1
    if kind == _EXPONENT:
        i += 1
        sign = 1
        if tokens.text[i] == _MINUS_SIGN or tokens.text[i] == _PLUS_SIGN:
            sign = -1 if tokens.text[i] == _MINUS_SIGN else 1
            i += 1
        exponent = 0
        while i < stop:
            exponent = min(exponent * 10 + (tokens.text[i] - _ZERO), 100000)
            i += 1
        scale -= sign * exponent
    out.constant_kinds[slot] = kind - _INTEGER
    out.mantissas[slot] = -mantissa if negative else mantissa
    out.scales[slot] = scale
    out.starts[slot] = 0
    out.ends[slot] = 0
    return at + 1


@kernel
def _name(
    tokens: TokenColumn, text: int, at: int, end: int, table: I64, out: AtomShapes, names: int
) -> tuple[int, int]:
    """Number of the name at a token (a new one if it equals `names`), and the token behind it; -1 if none."""
    if tokens.kinds[at] != _NAME:
        return -1, at
    stop = at + 1
    while stop + 1 < end and tokens.kinds[stop] == _DOT and tokens.kinds[stop + 1] == _NAME:
        stop += 2
    base = tokens.offsets[text]
    start_byte = base + tokens.starts[at]
    end_byte = base + tokens.ends[stop - 1]
    length = 0
    for place in range(at, stop):
        length += tokens.ends[place] - tokens.starts[place]
    if length != end_byte - start_byte:
        return -1, at
    hash_ = np.uint64(14695981039346656037)
    for place in range(start_byte, end_byte):
        hash_ = (hash_ ^ np.uint64(tokens.text[place])) * np.uint64(1099511628211)
    size = np.uint64(len(table))
    slot = hash_ % size
    while table[slot] >= 0:
        other = table[slot]
        if out.name_ends[other] - out.name_starts[other] == length:
            equal = True
            for place in range(length):
                if tokens.text[out.name_starts[other] + place] != tokens.text[start_byte + place]:
                    equal = False
                    break
            if equal:
                return other, stop
        slot = (slot + np.uint64(1)) % size
    table[slot] = names
    out.name_starts[names] = start_byte
    out.name_ends[names] = end_byte
    return names, stop


@kernel
def _shapes(tokens: TokenColumn, skeletons: Skeletons, table: I64, out: AtomShapes) -> tuple[int, int]:
    """Fill `out`; gives the number of constants and of distinct names."""
    slot = 0
    names = 0
    for atom in range(len(skeletons.atom_texts)):
        text = skeletons.atom_texts[atom]
        at = skeletons.atom_starts[atom]
        end = skeletons.atom_ends[atom]
        out.constants[atom] = slot
        shape = SHAPE_OTHER
        negated = 0
        first_slot = slot
        name, behind = _name(tokens, text, at, end, table, out, names)
        if name >= 0:
            if name == names:
                names += 1
            at = behind
            kind = tokens.kinds[at] if at < end else _END
            if at == end:
                shape = SHAPE_BARE
            elif _EQ <= kind <= _GE:
                if at + 1 < end and _constant(tokens, text, at + 1, end, slot, out) == end:
                    shape = kind
                    slot += 1
            elif kind == _IS:
                if at + 2 == end and tokens.kinds[at + 1] == _NULL:
                    shape = SHAPE_NULL
                elif at + 3 == end and tokens.kinds[at + 1] == _NOT and tokens.kinds[at + 2] == _NULL:
                    shape = SHAPE_NULL
                    negated = 1
            else:
                if kind == _NOT and at + 1 < end:
                    negated = 1
                    at += 1
                    kind = tokens.kinds[at]
                if kind == _LIKE and at + 2 == end and tokens.kinds[at + 1] == _STRING:
                    if _constant(tokens, text, at + 1, end, slot, out) == end:
                        shape = SHAPE_LIKE
                        slot += 1
                elif kind == _BETWEEN and at + 1 < end:
                    middle = _constant(tokens, text, at + 1, end, slot, out)
                    if 0 < middle < end - 1 and tokens.kinds[middle] == _AND:
                        if _constant(tokens, text, middle + 1, end, slot + 1, out) == end:
                            shape = SHAPE_BETWEEN
                            slot += 2
                elif kind == _IN and at + 2 < end and tokens.kinds[at + 1] == _OPEN:
                    at += 2
                    while True:
                        at = _constant(tokens, text, at, end, slot, out)
                        if at < 0 or at >= end:
                            break
                        slot += 1
                        if tokens.kinds[at] == _CLOSE and at + 1 == end:
                            shape = SHAPE_IN
                            break
                        if tokens.kinds[at] != _COMMA or at + 1 == end:
                            break
                        at += 1
        else:
            behind = _constant(tokens, text, at, end, slot, out)
            if 0 < behind < end - 1 and _EQ <= tokens.kinds[behind] <= _GE:
                name, last = _name(tokens, text, behind + 1, end, table, out, names)
                if name >= 0 and last == end:
                    if name == names:
                        names += 1
                    kind = tokens.kinds[behind]
                    # LT LE GT GE are neighbours: seen from the right, LT is GT and LE is GE.
                    shape = kind if kind < _LT else kind + 2 if kind < _GT else kind - 2
                    slot += 1
        if shape == SHAPE_OTHER:
            slot = first_slot
            name = -1
        out.shapes[atom] = shape
        out.negated[atom] = negated
        out.names[atom] = name
    out.constants[len(skeletons.atom_texts)] = slot
    return slot, names


def shapes(tokens: TokenColumn, found: Skeletons) -> AtomShapes:
    """The shape of every atom."""
    atoms, most = len(found.atom_texts), len(tokens.kinds)
    out = AtomShapes(
        np.empty(atoms, np.uint8),
        np.empty(atoms, np.uint8),
        np.empty(atoms, np.int32),
        np.empty(atoms + 1, np.int64),
        np.empty(most, np.uint8),
        np.empty(most, np.int64),
        np.empty(most, np.int32),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(atoms + 1, np.int64),
        np.empty(atoms + 1, np.int64),
    )
    table = np.full(2 * atoms + 1, -1, np.int64)
    constants, names = _shapes(tokens, found, table, out)
    return AtomShapes(
        out.shapes,
        out.negated,
        out.names,
        out.constants,
        out.constant_kinds[:constants],
        out.mantissas[:constants],
        out.scales[:constants],
        out.starts[:constants],
        out.ends[:constants],
        out.name_starts[:names],
        out.name_ends[:names],
    )
