"""Misfits: events with a value of another kind than declared, or without one that is required.

One rule holds wherever events come in: a value that does not fit is NULL to conditions, and the event is counted.
Who wants it otherwise says so, by `OnMisfit`. A value outside of its declared domain (`values`, `min`, `max`) is
no misfit: conditions are about the values that events have, and `validate` reports it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa

from tamis.arrays import Mask
from tamis.errors import MisfitError
from tamis.events.arrow import python_values
from tamis.events.batch import EventBatch
from tamis.events.event_type import Attribute
from tamis.events.schemas import show_value
from tamis.events.sources import Path
from tamis.values.types import Type

OnMisfit: TypeAlias = Literal["null", "dead letter", "refuse"]
"""What becomes of a misfit: it is matched, with NULL for what does not fit, and counted; it is set aside; or it is
an error, which ends what is being done."""
ON_MISFIT: tuple[OnMisfit, ...] = get_args(OnMisfit)


def check_on_misfit(given: str) -> OnMisfit:
    """The setting that a text names.

    Raises:
        ValueError: There is none of that name.
    """
    for known in ON_MISFIT:
        if given == known:
            return known
    msg = f"on_misfit: expected {', '.join(map(repr, ON_MISFIT[:-1]))} or {ON_MISFIT[-1]!r}, found {given!r}"
    raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class Misfit:
    """A value that does not fit the type of its event.

    Attributes:
        row: Of the batch, counted from 0.
        attribute: The name, or the path within a struct: `author.born`.
        expected: The declared type.
        found: The value as a short text; None if there is none, and one is required.
    """

    row: int
    attribute: str
    expected: str
    found: str | None

    @property
    def message(self) -> str:
        """What is wrong, without the attribute."""
        return "is required" if self.found is None else f"expected {self.expected}, found {self.found}"

    def error(self, event: str) -> MisfitError:
        """The error of an event of that name."""
        return MisfitError(event, self.attribute, self.expected, self.found)


def misfit_rows(batch: EventBatch) -> Mask:
    """Which events are misfits; none if they are schemaless.

    Quick: it compares whole columns. `find_misfits` tells what is wrong with the few rows that it finds.
    """
    found = np.zeros(batch.rows, np.bool_)
    for attribute in batch.event_type.attributes or ():
        for _, _, rows in _wrong_rows(batch, attribute):
            found |= rows
    return found


def find_misfits(batch: EventBatch) -> list[Misfit]:
    """All values of a batch that do not fit, by row."""
    attributes = batch.event_type.attributes or ()
    found = [each for attribute in attributes for each in misfits_of(batch, attribute)]
    return sorted(found, key=lambda each: each.row)


def misfits_of(batch: EventBatch, attribute: Attribute) -> Iterator[Misfit]:
    """The misfits that are so because of one attribute; those without it first."""
    for path, type_, rows in _wrong_rows(batch, attribute):
        if rows.any():
            name, values = ".".join(path), _values(batch, path)
            for row in np.flatnonzero(rows).tolist():
                value = values[row]
                yield Misfit(row, name, str(type_), None if value is None else _short_text(value))


def _short_text(value: Any) -> str:
    """A value as a short text; the bytes are those of a cell of CSV."""
    return show_value(value.decode("utf-8", "replace") if isinstance(value, bytes) else value)


def refuse_misfits(batch: EventBatch, names: Any, rows: Mask) -> None:
    """Raise the error of the first misfit among these rows; `names` has the name of each event.

    Raises:
        MisfitError: There is one.
    """
    if rows.any():
        first = next(each for each in find_misfits(batch) if rows[each.row])
        name = names[first.row]
        raise first.error(str(name.as_py() if isinstance(name, pa.Scalar) else name))


def reasons_of(batch: EventBatch, rows: Mask, most: int = 3) -> Iterator[tuple[int, str]]:
    """Each of these rows with what is wrong with it, in one sentence of so many parts at most."""
    if not rows.any():
        return
    reasons: dict[int, list[str]] = {}
    for each in find_misfits(batch):
        reasons.setdefault(each.row, []).append(f"{each.attribute} {each.message}")
    for row in np.flatnonzero(rows).tolist():
        yield row, "; ".join(reasons[row][:most])


def _wrong_rows(batch: EventBatch, attribute: Attribute) -> Iterator[tuple[Path, Type, Mask]]:
    """The attribute and the fields within it, each with the rows in which it does not fit."""
    path = (attribute.name,)
    if attribute.required:
        yield path, attribute.type, ~batch.source.present(path)
    yield from _wrong_kinds(batch, path, attribute.type)


def _wrong_kinds(batch: EventBatch, path: Path, type_: Type) -> Iterator[tuple[Path, Type, Mask]]:
    yield path, type_, batch.source.present(path) & ~batch.column(path).valid
    for name, inner in type_.fields:
        yield from _wrong_kinds(batch, (*path, name), inner)


def _values(batch: EventBatch, path: Path) -> list[Any]:
    values = batch.raw(path)
    return python_values(values) if isinstance(values, pa.Array) else list(values)
