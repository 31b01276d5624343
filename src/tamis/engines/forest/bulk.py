"""Forests from columns of compiled conditions, without a Python object per condition.

Kernels turn the column's atoms into leaves and its skeletons into nodes. Atoms and conditions that the bulk
compiler left to the parser are formulas already: they become a forest of their own, which is then merged into the
other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tamis.arrays import I32, I64, Integers
from tamis.engines.forest import TEST, Forest, ForestBuilder, Leaves, Nodes, Pieces, empty_leaves
from tamis.engines.forest.atom_cuts import (
    BOOLEANS,
    NUMBERS,
    READINGS,
    STRINGS,
    AtomColumn,
    CollectedCuts,
    collect_cuts,
    number_cuts,
    patterns_of,
    text_cuts,
)
from tamis.engines.forest.atoms import AxisBounds, fill_leaves
from tamis.engines.forest.axes import HIGHEST, Axis, has_keys
from tamis.engines.forest.axis_union import AxisUnion
from tamis.engines.forest.selection import select_formulas
from tamis.engines.forest.skeleton_nodes import HAS_SKELETON, NodeArrays, SkeletonInputs, build_nodes
from tamis.engines.forest.tests import Patterns, Tests, join_patterns
from tamis.errors import ConditionError
from tamis.formulas.expression import Typed
from tamis.formulas.formula import FALSE, Formula
from tamis.language.bulk import Chunk, FormulaColumn
from tamis.language.operands import operand_class
from tamis.language.skeleton import NODE_FALSE, NODE_TRUE, SHAPE_LIKE
from tamis.values.order import key_bounds
from tamis.values.types import BOOLEAN, NUMBER, STRING

_TYPES = {NUMBERS: NUMBER, STRINGS: STRING, BOOLEANS: BOOLEAN}


@dataclass(frozen=True, slots=True)
class _CompiledChunk:
    """A chunk of the column, its cuts collected and not yet ranked.

    others: the atoms that are formulas already, and the slots of these formulas.
    apart: the same for whole conditions.
    axes: per name and reading, the number of the axis.
    patterns: the atoms that are patterns.
    texts, numbers: numbers of the cuts in the union.
    """

    chunk: Chunk
    atoms: AtomColumn
    found: CollectedCuts
    others: tuple[I64, I64]
    apart: tuple[I64, I64]
    axes: I32
    patterns: Patterns
    texts: int
    numbers: int


@dataclass(frozen=True, slots=True)
class _ParsedFormulas:
    """The formulas that the parser made: their leaves on the common axes, nodes and roots."""

    leaves: Leaves
    nodes: Nodes
    roots: I32


class _FormulaSlots:
    """The formulas that the parser made, each object in one slot."""

    def __init__(self) -> None:
        self.builder = ForestBuilder()
        # By identity, because comparing large formulas takes time; `_kept` keeps the ids valid.
        self._slots: dict[int, int] = {}
        self._kept: list[Formula] = []

    def slot(self, formula: Formula) -> int:
        slot = self._slots.get(id(formula))
        if slot is None:
            slot = self._slots[id(formula)] = len(self.builder)
            self._kept.append(formula)
            self.builder.add(formula)
        return slot


def forest_of_column(column: FormulaColumn) -> Forest:
    """The formulas of a column; FALSE in the slots of refused conditions."""
    union = AxisUnion()
    formulas = _FormulaSlots()
    attributes: dict[Typed, int] = {}
    parts = [_read_chunk(chunk, formulas, union, attributes) for chunk in column.chunks]
    alone = formulas.builder.forest()
    source = union.add_forest(alone)
    axes = union.rank()
    tests, numbers = _join_all_tests([part.patterns for part in parts], attributes, alone.tests)
    leaves, pieces = union.translate(source)
    is_test = leaves.kinds == TEST
    leaves.lows[is_test] = numbers[-1][leaves.lows[is_test]]
    beside = _ParsedFormulas(leaves, alone.nodes, alone.roots)
    line = _axis_bounds(axes)
    grown_parts: list[NodeArrays] = []
    all_pieces = [pieces]
    bases = [len(leaves.kinds), len(alone.nodes.least), len(pieces.lows)]
    for part, patterns in zip(parts, numbers, strict=False):
        raw, found = _chunk_leaves(part, patterns, beside, union, line, bases[2])
        others, apart = _parsed_roots(part, beside)
        made = build_nodes(
            part.chunk.skeletons, SkeletonInputs(raw, others, apart, alone.nodes), len(axes), bases[0], bases[1]
        )
        grown_parts.append(made)
        all_pieces.append(found)
        bases[0] += len(made.leaves.kinds)
        bases[1] += len(made.least)
        bases[2] += len(found.lows)
    forest = _assemble(axes, tests, beside, grown_parts, all_pieces)
    return select_formulas(forest, np.arange(len(forest))) if len(alone) else forest


def _read_chunk(
    chunk: Chunk, formulas: _FormulaSlots, union: AxisUnion, attributes: dict[Typed, int]
) -> _CompiledChunk:
    """Collect the cuts and patterns of a chunk, and give its names axes."""
    kinds = chunk.skeletons.kinds
    truths = kinds[kinds <= NODE_FALSE] == NODE_TRUE  # atoms are numbered in the order of their nodes
    is_apart = np.zeros(len(chunk), np.bool_)
    apart = np.fromiter(chunk.apart, np.int64, len(chunk.apart))
    is_apart[apart] = True
    slots = [
        formulas.slot(FALSE if isinstance(formula, ConditionError) else formula)
        for formula in chunk.apart.values()
    ]
    skip = is_apart[chunk.skeletons.atom_texts]
    others = [atom for atom in chunk.others if not skip[atom]]
    other_slots = [formulas.slot(chunk.others[atom].formula(holds=bool(truths[atom]))) for atom in others]
    skip[others] = True
    shapes = chunk.atoms.shapes
    atoms = AtomColumn(
        shapes,
        chunk.atoms.text,
        chunk.atoms.keys,
        chunk.atoms.doubles,
        truths.astype(np.uint8) ^ shapes.negated,
        skip.astype(np.uint8),
        np.array([operand_class(each.attribute.type) if each else 0 for each in chunk.names], np.uint8),
    )
    found = collect_cuts(atoms)
    # The last entry is for atoms that have no axis.
    axes = np.full(len(chunk.names) * READINGS + 1, -1, np.int32)
    for asked in np.flatnonzero(found.asked).tolist():
        name, reading = divmod(asked, READINGS)
        axes[asked] = union.axis(_attribute(chunk, name, reading))
    named = np.full(len(chunk.names), -1, np.int32)
    pattern_names = shapes.names[found.patterns]
    for name in np.unique(pattern_names).tolist():
        named[name] = attributes.setdefault(_attribute(chunk, name, STRINGS), len(attributes))
    return _CompiledChunk(
        chunk,
        atoms,
        found,
        (np.array(others, np.int64), np.array(other_slots, np.int64)),
        (apart, np.array(slots, np.int64)),
        axes,
        patterns_of(atoms, found.patterns, named[pattern_names]),
        union.add_texts(text_cuts(atoms, found.texts, axes[found.texts.axes])),
        union.add_numbers(number_cuts(atoms, found.numbers, axes[found.numbers.axes])),
    )


def _attribute(chunk: Chunk, name: int, reading: int) -> Typed:
    operand = chunk.names[name]
    assert operand is not None, "a bulk atom always has an attribute"
    return operand.reading(_TYPES[reading]) if reading in _TYPES else operand.attribute


def _join_all_tests(
    parts: Sequence[Patterns], attributes: dict[Typed, int], alone: Tests
) -> tuple[Tests, list[I64]]:
    """All tests, and the numbers that those of each part got, last those of formulas made one by one."""
    numbered = np.array([attributes.setdefault(each, len(attributes)) for each in alone.attributes], np.int32)
    more = alone.patterns._replace(attributes=numbered[alone.patterns.attributes])
    patterns, numbers = join_patterns([*parts, more])
    others = len(patterns.tests) + np.arange(len(alone.others))
    numbers[-1] = np.concatenate([numbers[-1], others])
    return Tests(tuple(attributes), patterns, alone.others), numbers


def _axis_bounds(axes: Sequence[Axis]) -> AxisBounds:
    bounds = [key_bounds(axis.attribute.type) if has_keys(axis.attribute.type) else None for axis in axes]
    # Ranks begin at 0 and never reach the highest integer.
    ends = np.array([each or (0, HIGHEST - 1) for each in bounds], np.int64).reshape(-1, 2)
    return AxisBounds(np.array([each is None for each in bounds], np.uint8), ends[:, 0].copy(), ends[:, 1].copy())


def _chunk_leaves(
    part: _CompiledChunk, patterns: I64, beside: _ParsedFormulas, union: AxisUnion, line: AxisBounds, base: int
) -> tuple[Leaves, Pieces]:
    """The leaves of a chunk's atoms, and their pieces, which are numbered from `base`."""
    shapes, found = part.atoms.shapes, part.found
    count, constants = len(shapes.shapes), len(shapes.constant_kinds)
    ends = np.empty(0, np.int64)
    if len(found.texts.targets) or len(found.numbers.targets) or (shapes.shapes == SHAPE_LIKE).any():
        ends = np.zeros(2 * constants, np.int64)
        ends[1::2] = HIGHEST
        # A value at or above cut p has rank p + 1 or more.
        ends[found.texts.targets] = union.text_places(part.texts) + 1
        wanted = found.numbers.targets >= 0
        ends[found.numbers.targets[wanted]] = union.number_places(part.numbers)[wanted] + 1
    tests = np.full(count, -1, np.int32)
    tests[found.patterns] = patterns
    leaves = empty_leaves(count)
    most = constants + 2 * count
    pieces = Pieces(np.empty(most, np.int64), np.empty(most, np.int64))
    used = fill_leaves(part.atoms, part.axes[found.axes], tests, line, ends, leaves, pieces, base)
    atoms, slots = part.others
    roots = beside.roots[slots]
    single = roots < 0
    columns: zip[tuple[Integers, Integers]] = zip(leaves, beside.leaves, strict=True)
    for column, known in columns:
        column[atoms[single]] = known[~roots[single]]
    return leaves, Pieces(pieces.lows[:used].copy(), pieces.highs[:used].copy())


def _parsed_roots(part: _CompiledChunk, beside: _ParsedFormulas) -> tuple[I32, I64]:
    """Per atom its node and per condition its root, where the parser made them; -1 and HAS_SKELETON elsewhere."""
    others = np.full(len(part.atoms.skip), -1, np.int32)
    atoms, slots = part.others
    others[atoms] = np.maximum(beside.roots[slots], -1)
    apart = np.full(len(part.chunk), HAS_SKELETON, np.int64)
    texts, slots = part.apart
    apart[texts] = beside.roots[slots]
    return others, apart


def _assemble(
    axes: tuple[Axis, ...],
    tests: Tests,
    beside: _ParsedFormulas,
    parts: Sequence[NodeArrays],
    pieces: Sequence[Pieces],
) -> Forest:
    """One forest of all chunks; the nodes and leaves of the parser's formulas come first."""
    leaves = [beside.leaves, *(part.leaves for part in parts)]
    children = [beside.nodes.children, *(part.children for part in parts)]
    firsts = [beside.nodes.firsts]
    base = len(beside.nodes.children)
    for part in parts:
        firsts.append(part.ends + base)
        base += len(part.children)
    return Forest(
        axes,
        tests,
        Leaves(*(np.concatenate(columns) for columns in zip(*leaves, strict=True))),
        Pieces(*(np.concatenate(columns) for columns in zip(*pieces, strict=True))),
        Nodes(
            np.concatenate([beside.nodes.least, *(part.least for part in parts)]),
            np.concatenate(firsts),
            np.concatenate(children),
        ),
        np.concatenate([np.empty(0, np.int32), *(part.roots for part in parts)]),
    )
