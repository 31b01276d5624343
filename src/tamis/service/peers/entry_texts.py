"""Entries of links as texts: read into formulas, written from formulas, and counted in bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tamis.composite.parts import compile_composite
from tamis.errors import ConditionError
from tamis.events.event_type import EventType
from tamis.formulas.expression import Apply, Path
from tamis.formulas.formula import Formula, at_least, leaf
from tamis.formulas.predicates.within import Within
from tamis.language.bulk import FormulaColumn, compile_many
from tamis.language.dialects import SQL, has_state, parse_dialect
from tamis.limits import DEFAULT_LIMITS
from tamis.service.peers.sources import Source
from tamis.syntax.printing import to_text
from tamis.values.ranges import ALL


def compiled_texts(texts: Sequence[str], event_type: EventType) -> Sequence[Formula] | FormulaColumn:
    """The formulas of conditions, none of which the store would have taken if it were refused."""
    found = compile_many(texts, event_type)
    if isinstance(found, FormulaColumn):
        assert not found.refused
        return found
    return [accepted_formula(each) for each in found]


def accepted_formula(found: Formula | ConditionError) -> Formula:
    assert isinstance(found, Formula), found
    return found


def written_texts(formulas: Sequence[Formula], event_type: EventType) -> list[str | None]:
    """The texts of formulas; None where a text does not mean the same again."""
    texts = [each.describe() for each in formulas]
    read = compile_many(texts, event_type)
    return [text if new == old else None for text, new, old in zip(texts, read, formulas, strict=True)]


def with_plain_presence(formula: Formula) -> Formula:
    """The formula with "an attribute has some value" for "it has one of a type", which has no text."""
    match formula.predicate:
        case Within(Apply("read", (Path() as path,)), ranges, False) if ranges == ALL:
            return leaf(Within(path, ALL))
        case None if formula.operands:
            return at_least(formula.least, map(with_plain_presence, formula.operands))
    return formula


def text_bytes(formulas: Sequence[Formula]) -> float:
    return byte_count(each.describe() for each in formulas)


def byte_count(texts: Iterable[str]) -> int:
    return sum(len(text.encode()) for text in texts)


def entry_texts(source: Source, event_type: EventType) -> tuple[str, ...]:
    """A condition in SQL; of a composite subscription those of its parts, each on one event."""
    if source.dialect == SQL:
        return (source.condition,)
    if has_state(source.dialect):
        composite = compile_composite(source.condition, event_type)
        return tuple(part.local.text for part in composite.all_parts)
    tree, problems = parse_dialect(source.condition, source.dialect, DEFAULT_LIMITS)
    assert not problems, "the store takes no such condition"
    return (to_text(tree),)
