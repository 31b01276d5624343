"""Many conditions at once: a column of texts to a column of formulas.

Most conditions differ in names and constants only. Kernels split the texts into atoms and read the constants of
the common ones; names are resolved once each; whatever the kernels do not know goes, atom by atom and once per
distinct text, through the ordinary parser and analyser. The outcome is the same as `compile_condition` gives for
each text, and a text with any problem is compiled by it, so that errors are the same too.

The result stays in columns: a formula becomes an object when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.errors import ConditionError, Problem
from tamis.language.analysis import Schema, Schemaless, analyse, resolve_name
from tamis.language.condition import compile_condition
from tamis.language.expression import Typed
from tamis.language.formula import Formula, conjunction, disjunction
from tamis.language.operands import Atoms, Operand, atoms_of, settled
from tamis.language.parser import parse_leniently
from tamis.language.skeleton import NODE_FALSE, NODE_OR, NODE_TRUE, Skeletons, shapes, skeletons
from tamis.language.tokens import TokenColumn, tokenise_column
from tamis.language.truth import Truth
from tamis.limits import DEFAULT_LIMITS, Limits

_CHUNK_BYTES = 1 << 23


def compile_conditions(
    texts: Sequence[str] | pa.Array | pa.ChunkedArray,
    event_type: Schema | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> FormulaColumn:
    """Compile a column of conditions; what is refused comes back as its ConditionError.

    >>> [str(each) for each in compile_conditions(["a < 3", "a < 5 OR b = 'x'"])]
    ['Formula(a < 3)', "Formula(a < 5 OR b = 'x')"]
    """
    schema = event_type if event_type is not None else Schemaless()
    return FormulaColumn([_chunk(part, originals, schema, limits) for part, originals in _parts(texts)])


class FormulaColumn(Sequence[Formula | ConditionError]):
    """Formulas, or the errors of refused conditions, in the order of the texts."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = tuple(chunks)
        self._ends = np.cumsum([len(chunk) for chunk in chunks]).tolist()

    def __len__(self) -> int:
        """Number of conditions."""
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
        """All of them, in order."""
        for chunk in self.chunks:
            yield from (chunk[place] for place in range(len(chunk)))

    @property
    def refused(self) -> list[int]:
        """Which conditions were refused."""
        found: list[int] = []
        start = 0
        for chunk in self.chunks:
            found.extend(start + place for place in chunk.refused())
            start += len(chunk)
        return found


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some texts: those in `apart` were compiled one by one, the others are skeletons over operands.

    `names[n]` answers for the shapes that read name n; `others[a]` is the Boolean expression of an atom of no
    known shape.
    """

    skeletons: Skeletons
    atoms: Atoms
    names: Sequence[Operand | None]
    others: dict[int, Atom]
    apart: dict[int, Formula | ConditionError]

    def __len__(self) -> int:
        """Number of texts."""
        return len(self.skeletons.firsts) - 1

    def refused(self) -> list[int]:
        """Which texts were refused."""
        return sorted(text for text, found in self.apart.items() if isinstance(found, ConditionError))

    def __getitem__(self, text: int) -> Formula | ConditionError:
        """The formula of one text, or its error."""
        found = self.apart.get(text)
        if found is not None:
            return found
        kinds, numbers = self.skeletons.kinds, self.skeletons.atoms
        # A run of one joint is collected and joined once; the last entry says which joint waits.
        stack: list[tuple[int, list[Formula]]] = []
        for node in range(self.skeletons.firsts[text], self.skeletons.firsts[text + 1]):
            kind = kinds.item(node)
            if kind <= NODE_FALSE:
                stack.append((kind, [self.leaf(numbers.item(node), holds=kind == NODE_TRUE)]))
            else:
                right, left = stack.pop(), stack.pop()
                stack.append((kind, [*_operands(left, kind), *_operands(right, kind)]))
        return _joined(stack[0])

    def leaf(self, atom: int, *, holds: bool) -> Formula:
        """The formula that an atom is true, or that it is false."""
        other = self.others.get(atom)
        if other is not None:
            return other.formula(holds=holds)
        operand = self.names[self.atoms.shapes.names.item(atom)]
        assert operand is not None, "an atom without an attribute is never settled"
        return operand.formula(self.atoms, atom, holds=holds)


def _operands(entry: tuple[int, list[Formula]], kind: int) -> list[Formula]:
    return entry[1] if entry[0] == kind else [_joined(entry)]


def _joined(entry: tuple[int, list[Formula]]) -> Formula:
    kind, operands = entry
    return operands[0] if kind <= NODE_FALSE else (disjunction if kind == NODE_OR else conjunction)(operands)


class Atom:
    """A Boolean expression; equal texts share one."""

    __slots__ = ("expression", "truth")

    def __init__(self, expression: Typed) -> None:
        self.expression = expression
        self.truth = Truth()

    def formula(self, *, holds: bool) -> Formula:
        """The formula that it is true, or that it is false."""
        return self.truth.formula(self.expression, "T" if holds else "F")


def _chunk(texts: pa.LargeStringArray, originals: Sequence[Any], schema: Schema, limits: Limits) -> Chunk:
    """Compile some texts; `originals` holds them as they were given, also those that have no UTF-8."""
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = texts.buffers()[2]
    text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    tokens = tokenise_column(text, offsets)
    found = skeletons(tokens, limits.depth)
    asked = shapes(tokens, found)
    names = [
        _operand(text[start:end].tobytes().decode(), schema)
        for start, end in zip(asked.name_starts, asked.name_ends, strict=True)
    ]
    fine = settled(asked, names, most_constants=limits.operands, longest_pattern=limits.pattern_characters)
    # A text this short cannot have too many characters, nodes or operands, whatever it says.
    long = np.diff(offsets) > min(limits.text_characters, limits.nodes, limits.operands)
    others, unclear = _others(tokens, found, np.flatnonzero(~fine & ~long[found.atom_texts]), schema, limits)
    apart = {int(found.atom_texts[atom]) for atom in unclear}
    apart.update(np.flatnonzero(found.firsts[1:] == found.firsts[:-1]).tolist())
    apart.update(np.flatnonzero(long | texts.is_null().to_numpy(zero_copy_only=False)).tolist())
    alone = {row: compiled_alone(_plain(originals[row]), schema, limits) for row in sorted(apart)}
    return Chunk(found, atoms_of(asked, text, names), names, others, alone)


def _operand(name: str, schema: Schema) -> Operand | None:
    """The attribute of that name, None if there is a problem with it."""
    attribute = resolve_name(tuple(name.split(".")), schema)
    return None if attribute is None else Operand(attribute, schema.time_zone)


def _others(
    tokens: TokenColumn, found: Skeletons, atoms: npt.NDArray[np.int64], schema: Schema, limits: Limits
) -> tuple[dict[int, Atom], list[int]]:
    """Atoms of no known shape, each distinct text analysed once; and those that are no conditions alone."""
    known: dict[bytes, Atom | None] = {}
    others: dict[int, Atom] = {}
    unclear: list[int] = []
    for atom in atoms.tolist():
        base = tokens.offsets[found.atom_texts[atom]]
        start = base + tokens.starts[found.atom_starts[atom]]
        end = base + tokens.ends[found.atom_ends[atom] - 1]
        source = tokens.text[start:end].tobytes()
        if source not in known:
            known[source] = _atom(source.decode(), schema, limits)
        settled_atom = known[source]
        if settled_atom is None:
            unclear.append(atom)
        else:
            others[atom] = settled_atom
    return others, unclear


def _atom(source: str, schema: Schema, limits: Limits) -> Atom | None:
    """An atom of no known shape, with its formulas; None if the text around it must be looked at as a whole."""
    try:
        tree, problems = parse_leniently(source, limits)
        expression, more = analyse(tree, schema, limits)
        if problems or more or expression is None:
            return None
        atom = Atom(expression)
        atom.formula(holds=True)
        atom.formula(holds=False)
    except RecursionError:
        return None
    return atom


def compiled_alone(text: str | None, schema: Schema, limits: Limits) -> Formula | ConditionError:
    """The formula of one condition, or why it is refused."""
    if text is None:
        return ConditionError("", [Problem("there is no condition", 0, 1)])
    try:
        return compile_condition(text, schema, limits).formula
    except ConditionError as error:
        return error


def _plain(text: Any) -> str | None:
    plain: str | None = text.as_py() if isinstance(text, pa.Scalar) else text
    return plain


def _parts(texts: Any) -> Iterator[tuple[pa.LargeStringArray, Sequence[Any]]]:
    """The texts in pieces of some megabytes, encoded and as they were given."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    whole = texts.cast(pa.large_string()) if isinstance(texts, pa.Array) else _encoded(texts)
    offsets = np.frombuffer(whole.buffers()[1], np.int64)[whole.offset : whole.offset + len(whole) + 1]
    start = 0
    while start < len(whole):
        stop = int(np.searchsorted(offsets, offsets[start] + _CHUNK_BYTES, side="right")) - 1
        stop = min(max(stop, start + 1), len(whole))
        yield whole.slice(start, stop - start), texts[start:stop]
        start = stop


def _encoded(texts: Sequence[str | None]) -> pa.LargeStringArray:
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError:
        return pa.array([text if _is_encodable(text) else None for text in texts], pa.large_string())


def _is_encodable(text: str | None) -> bool:
    return text is None or not any("\ud800" <= character <= "\udfff" for character in text)
