"""The bulk compiler: a column of condition texts to a column of formulas.

Most conditions differ in names and constants only. Kernels split the texts into atoms and read the constants of
the common ones; names are resolved once each; what the kernels do not know goes, atom by atom and once for each
distinct text, through the ordinary parser and analyser. The results are those of `compile_condition` for each
text; a text with any problem is compiled by it, so that errors are the same, too. So is a text of another dialect
than SQL, once for each distinct text.

The result stays in columns: a formula becomes an object when it is first read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, TypeAlias, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import I64
from tamis.errors import ConditionError, DialectError, Problem
from tamis.formulas.expression import Typed
from tamis.formulas.formula import Formula, conjunction, disjunction
from tamis.kernels import is_compiled
from tamis.language import skeleton
from tamis.language.analysis import Schema, Schemaless, analyse, resolve_name
from tamis.language.condition import compile_record
from tamis.language.dialects import SQL, dialect_of
from tamis.language.operands import AttributeOperand, ConditionAtoms, atoms_of, compilable_atoms
from tamis.language.skeleton import NODE_FALSE, NODE_OR, NODE_TRUE, Skeletons, shapes, skeletons
from tamis.language.truth import Truth
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.syntax.parser import parse_leniently
from tamis.syntax.token_column import TokenColumn, tokenise_column

_CHUNK_BYTES = 1 << 23
DialectNames: TypeAlias = str | Sequence[str | None]
"""One dialect of many conditions, or that of each; None is SQL."""
_LEAST_FOR_BULK = 100
"""Fewer conditions are compiled one by one: loading the kernels would take longer."""
_LEAST_FOR_COMPILING = 10_000
"""Fewer conditions are compiled one by one where numba would have to compile the kernels first."""


def compile_conditions(
    texts: Sequence[str] | pa.Array | pa.ChunkedArray,
    event_type: Schema | None = None,
    limits: Limits = DEFAULT_LIMITS,
    dialect: DialectNames = SQL,
) -> FormulaColumn:
    """Compile a column of conditions; what is refused comes back as its ConditionError.

    Examples:
        >>> [str(each) for each in compile_conditions(["a < 3", "a < 5 OR b = 'x'"])]
        ['Formula(a < 3)', "Formula(a < 5 OR b = 'x')"]

    Args:
        texts: The conditions.
        event_type: Of all of them.
        limits: What each may ask for.
        dialect: Of all of them, or one for each; None is SQL. A condition whose dialect is unknown is refused.

    Raises:
        DialectError: There is no dialect of the name that was given for all.
    """
    compiler = _OneByOne(event_type if event_type is not None else Schemaless(), limits)
    names = _dialects(dialect, len(texts))
    return FormulaColumn([_chunk(part, given, own, compiler) for part, given, own in _parts(texts, names)])


def compile_many(
    texts: Sequence[str | None] | pa.Array,
    event_type: Schema | None = None,
    limits: Limits = DEFAULT_LIMITS,
    dialect: DialectNames = SQL,
) -> Sequence[Formula | ConditionError]:
    """Compile conditions the quicker way: in bulk if they are many, else one by one. The results are the same."""
    if len(texts) >= _LEAST_FOR_COMPILING or (len(texts) >= _LEAST_FOR_BULK and is_compiled(skeleton.__name__)):
        return compile_conditions(texts, event_type, limits, dialect)
    compiler = _OneByOne(event_type if event_type is not None else Schemaless(), limits)
    names = _dialects(dialect, len(texts))
    return [compiler.compile(_plain(text), name) for text, name in zip(texts, names or repeat(SQL), strict=False)]


def refusals(compiled: Sequence[Formula | ConditionError]) -> dict[int, ConditionError]:
    """By place, why conditions were refused."""
    places = compiled.refused if isinstance(compiled, FormulaColumn) else range(len(compiled))
    errors = ((place, compiled[place]) for place in places)
    return {place: error for place, error in errors if isinstance(error, ConditionError)}


class FormulaColumn(Sequence[Formula | ConditionError]):
    """Formulas, or the errors of refused conditions, in the order of the texts."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = tuple(chunks)
        self._ends = np.cumsum([len(chunk) for chunk in chunks]).tolist()

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, at: int) -> Formula | ConditionError: ...
    @overload
    def __getitem__(self, at: slice) -> list[Formula | ConditionError]: ...
    def __getitem__(self, at: int | slice) -> Formula | ConditionError | list[Formula | ConditionError]:
        """The formula of one condition, or its error."""
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        place = at + len(self) if at < 0 else at
        if not 0 <= place < len(self):
            raise IndexError(at)
        chunk = int(np.searchsorted(self._ends, place, side="right"))
        return self.chunks[chunk][place - (self._ends[chunk - 1] if chunk else 0)]

    def __iter__(self) -> Iterator[Formula | ConditionError]:
        for chunk in self.chunks:
            yield from (chunk[place] for place in range(len(chunk)))

    @property
    def refused(self) -> list[int]:
        """Which conditions were refused."""
        found: list[int] = []
        start = 0
        for chunk in self.chunks:
            found.extend(start + place for place in chunk.refused_places())
            start += len(chunk)
        return found


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some compiled texts: those in `apart` one by one, the others as skeletons over operands.

    `names[n]` makes the formulas of atoms that read name n; `others[a]` is the Boolean expression of an atom of no
    known shape.
    """

    skeletons: Skeletons
    atoms: ConditionAtoms
    names: Sequence[AttributeOperand | None]
    others: dict[int, BooleanAtom]
    apart: dict[int, Formula | ConditionError]

    def __len__(self) -> int:
        return len(self.skeletons.firsts) - 1

    def refused_places(self) -> list[int]:
        """Which texts were refused."""
        return sorted(text for text, found in self.apart.items() if isinstance(found, ConditionError))

    def __getitem__(self, text: int) -> Formula | ConditionError:
        """The formula of one text, or its error."""
        found = self.apart.get(text)
        if found is not None:
            return found
        kinds, numbers = self.skeletons.kinds, self.skeletons.atoms
        # Operands of a run of one connective are collected and joined once: `a AND b AND c` is one conjunction.
        stack: list[tuple[int, list[Formula]]] = []
        for node in range(self.skeletons.firsts[text], self.skeletons.firsts[text + 1]):
            kind = kinds.item(node)
            if kind <= NODE_FALSE:
                stack.append((kind, [self.leaf(numbers.item(node), holds=kind == NODE_TRUE)]))
            else:
                right, left = stack.pop(), stack.pop()
                stack.append((kind, [*_operands(left, kind), *_operands(right, kind)]))
        return _join(stack[0])

    def leaf(self, atom: int, *, holds: bool) -> Formula:
        """The formula that an atom is true, or that it is false."""
        other = self.others.get(atom)
        if other is not None:
            return other.formula(holds=holds)
        operand = self.names[self.atoms.shapes.names.item(atom)]
        assert operand is not None, "an atom without an attribute has no compiled form"
        return operand.formula(self.atoms, atom, holds=holds)


def _operands(entry: tuple[int, list[Formula]], kind: int) -> list[Formula]:
    return entry[1] if entry[0] == kind else [_join(entry)]


def _join(entry: tuple[int, list[Formula]]) -> Formula:
    kind, operands = entry
    return operands[0] if kind <= NODE_FALSE else (disjunction if kind == NODE_OR else conjunction)(operands)


class BooleanAtom:
    """A Boolean expression; equal texts share one."""

    __slots__ = ("expression", "truth")

    def __init__(self, expression: Typed) -> None:
        self.expression = expression
        self.truth = Truth()

    def formula(self, *, holds: bool) -> Formula:
        """The formula that it is true, or that it is false."""
        return self.truth.formula(self.expression, "T" if holds else "F")


def _chunk(
    texts: pa.LargeStringArray, originals: Sequence[Any], dialects: Sequence[str] | None, compiler: _OneByOne
) -> Chunk:
    """Compile some texts; `originals` holds them as they were given, also those that have no UTF-8.

    Where `dialects` says another one than SQL, `texts` is null.
    """
    schema, limits = compiler.schema, compiler.limits
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = texts.buffers()[2]
    text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    tokens = tokenise_column(text, offsets)
    found = skeletons(tokens, limits.depth)
    atom_shapes = shapes(tokens, found)
    names = [
        _operand(text[start:end].tobytes().decode(), schema)
        for start, end in zip(atom_shapes.name_starts, atom_shapes.name_ends, strict=True)
    ]
    compilable = compilable_atoms(
        atom_shapes, names, most_constants=limits.operands, longest_pattern=limits.pattern_characters
    )
    # A text with fewer bytes than every limit cannot have too many characters, nodes or operands.
    long = np.diff(offsets) > min(limits.text_characters, limits.nodes, limits.operands)
    others, unclear = _others(tokens, found, np.flatnonzero(~compilable & ~long[found.atom_texts]), schema, limits)
    apart = {int(found.atom_texts[atom]) for atom in unclear}
    apart.update(np.flatnonzero(found.firsts[1:] == found.firsts[:-1]).tolist())
    apart.update(np.flatnonzero(long | texts.is_null().to_numpy(zero_copy_only=False)).tolist())
    alone = {
        row: compiler.compile(_plain(originals[row]), SQL if dialects is None else dialects[row])
        for row in sorted(apart)
    }
    return Chunk(found, atoms_of(atom_shapes, text, names), names, others, alone)


def _operand(name: str, schema: Schema) -> AttributeOperand | None:
    """The attribute of that name, None if there is a problem with it."""
    attribute = resolve_name(tuple(name.split(".")), schema)
    return None if attribute is None else AttributeOperand(attribute, schema.time_zone)


def _others(
    tokens: TokenColumn, found: Skeletons, atoms: I64, schema: Schema, limits: Limits
) -> tuple[dict[int, BooleanAtom], list[int]]:
    """Atoms of no known shape, each distinct text analysed once; and those that cannot be compiled alone."""
    known: dict[bytes, BooleanAtom | None] = {}
    others: dict[int, BooleanAtom] = {}
    unclear: list[int] = []
    for atom in atoms.tolist():
        base = tokens.offsets[found.atom_texts[atom]]
        start = base + tokens.starts[found.atom_starts[atom]]
        end = base + tokens.ends[found.atom_ends[atom] - 1]
        source = tokens.text[start:end].tobytes()
        if source not in known:
            known[source] = _atom(source.decode(), schema, limits)
        compiled = known[source]
        if compiled is None:
            unclear.append(atom)
        else:
            others[atom] = compiled
    return others, unclear


def _atom(source: str, schema: Schema, limits: Limits) -> BooleanAtom | None:
    """An atom of no known shape, with its formulas; None if its whole condition must be compiled."""
    try:
        tree, problems = parse_leniently(source, limits)
        expression, more = analyse(tree, schema, limits)
        if problems or more or expression is None:
            return None
        atom = BooleanAtom(expression)
        atom.formula(holds=True)
        atom.formula(holds=False)
    except RecursionError:
        return None
    return atom


class _OneByOne:
    """Compiles conditions one by one; of another dialect than SQL, each distinct text once."""

    def __init__(self, schema: Schema, limits: Limits) -> None:
        self.schema = schema
        self.limits = limits
        self._known: dict[tuple[str, str], Formula | ConditionError] = {}

    def compile(self, text: str | None, dialect: str) -> Formula | ConditionError:
        """The formula of one condition, or why it is refused."""
        if text is None:
            return ConditionError("", [Problem("there is no condition", 0, 1)])
        if dialect == SQL:
            return self._compile(text, dialect)
        key = dialect, text
        if key not in self._known:
            self._known[key] = self._compile(text, dialect)
        return self._known[key]

    def _compile(self, text: str, dialect: str) -> Formula | ConditionError:
        try:
            return compile_record(text, self.schema, self.limits, dialect).formula
        except ConditionError as error:
            return error
        except DialectError as error:
            return ConditionError(text, [Problem(str(error), 0, len(text))])


def _dialects(given: DialectNames, count: int) -> list[str] | None:
    """The dialect of each of `count` texts; None if all are SQL."""
    if isinstance(given, str):
        dialect_of(given)
        return None if given == SQL else [given] * count
    names = [name or SQL for name in given]
    if len(names) != count:
        msg = f"expected a dialect for each of {count} conditions, found {len(names)}"
        raise ValueError(msg)
    return names if any(name != SQL for name in names) else None


def _plain(text: Any) -> str | None:
    plain: str | None = text.as_py() if isinstance(text, pa.Scalar) else text
    return plain


def _parts(
    texts: Any, dialects: list[str] | None
) -> Iterator[tuple[pa.LargeStringArray, Sequence[Any], list[str] | None]]:
    """The texts in pieces of some megabytes: those of SQL encoded, all as they were given, and their dialects."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    whole = texts.cast(pa.large_string()) if isinstance(texts, pa.Array) else _encode(texts)
    if dialects is not None:
        whole = pc.if_else(pa.array([name == SQL for name in dialects], pa.bool_()), whole, None)
    offsets = np.frombuffer(whole.buffers()[1], np.int64)[whole.offset : whole.offset + len(whole) + 1]
    start = 0
    while start < len(whole):
        stop = int(np.searchsorted(offsets, offsets[start] + _CHUNK_BYTES, side="right")) - 1
        stop = min(max(stop, start + 1), len(whole))
        yield whole.slice(start, stop - start), texts[start:stop], dialects and dialects[start:stop]
        start = stop


def _encode(texts: Sequence[str | None]) -> pa.LargeStringArray:
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError:
        return pa.array([text if _is_encodable(text) else None for text in texts], pa.large_string())


def _is_encodable(text: str | None) -> bool:
    return text is None or not any("\ud800" <= character <= "\udfff" for character in text)
