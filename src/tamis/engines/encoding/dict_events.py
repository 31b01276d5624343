"""Coordinates of events that are dicts, value by value.

Columns pay for many events; for one or a few it is faster to read each value where it is. The coordinates equal
those that the attribute's column (`EventBatch.column`) would give. Time depends on the values that an event has,
never on the axes that it lacks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tamis.engines.encoding.dict_values import (
    Evaluate,
    KnownPaths,
    UndeclaredAttributeError,
    evaluator,
    is_declared,
)
from tamis.engines.forest.axes import Axis, NumberScale, TextScale
from tamis.events.conversion import INT64_MAX, INT64_MIN, clean, converter, plain
from tamis.events.event_type import EventType
from tamis.formulas.expression import Apply, Path, Typed
from tamis.functions.schemaless import reader
from tamis.values.order import order_key
from tamis.values.types import BOOLEAN, DOUBLE, INTEGER_BITS, NUMBER, STRING, Type, integer_bounds

Read: TypeAlias = Callable[[Any], int | None]
"""From a value of an event, not None, to its coordinate; None if it means NULL."""
Reads: TypeAlias = tuple[tuple[int, Read], ...]
"""Numbers of axes, and how to read a value for each."""

_KINDS = (bool, int, float, str)
_READ_KINDS: dict[Type, tuple[type, ...]] = {NUMBER: (int, float), STRING: (str,), BOOLEAN: (bool,)}
_CACHED_TEXTS = 10_000
_CACHED_LENGTH = 40


@dataclass(slots=True)
class _AttributePlan:
    """How to read the values of one name or field.

    Attributes:
        kinds: How to read a value of exactly that class.
        others: How to read a value of any other class.
        inner: The fields of a value that is an object.
    """

    kinds: dict[type, Reads] = field(default_factory=dict)
    others: Reads = ()
    inner: dict[str, _AttributePlan] = field(default_factory=dict)


def plain_path(attribute: Typed) -> Path | None:
    """The path of an attribute that is one, or the reading of one."""
    if isinstance(attribute, Apply) and attribute.function == "read":
        (attribute,) = attribute.arguments
    return attribute if isinstance(attribute, Path) else None


class DictReader:
    """Reads events of one type.

    Integers that a single axis reads are the most frequent case and take the short way of `_ints`.

    Args:
        axes: By number.
        by_name: The axes to read, by the first step of their `plain_path`.
        event_type: Of the events.
    """

    def __init__(self, axes: Sequence[Axis], by_name: Mapping[str, Sequence[int]], event_type: EventType) -> None:
        self.event_type = event_type
        self._axes = axes
        self._by_name = by_name
        self._plans: dict[str, _AttributePlan] = {}
        self._ints: dict[str, tuple[int, int, int]] = {}
        self._computed: dict[int, tuple[Evaluate, Callable[[Any], int]]] = {}
        self._texts: dict[tuple[int, str], int] = {}

    def read(self, event: Mapping[str, Any], axes: list[int], coordinates: list[int]) -> None:
        """Append the axes that an event has a value on, and its coordinates there.

        Raises:
            OddAttributeError: The event has an attribute that this reader cannot read.
        """
        plans, ints = self._plans, self._ints
        for name, value in event.items():
            if type(value) is int and (known := ints.get(name)) is not None:
                axis, least, greatest = known
                if least <= value <= greatest:
                    axes.append(axis)
                    coordinates.append(value)
                continue
            plan = plans.get(name)
            if plan is None:
                if name not in self._by_name:
                    continue
                plan = self._plan(name)
            for axis, read in plan.kinds.get(type(value), plan.others):
                coordinate = read(value)
                if coordinate is not None:
                    axes.append(axis)
                    coordinates.append(coordinate)
            if plan.inner:
                _read_fields(plan.inner, value, axes, coordinates)

    def compute(
        self, numbers: Iterable[int], event: Mapping[str, Any], axes: list[int], coordinates: list[int]
    ) -> None:
        """As `read`, for computed axes, by their numbers."""
        known: KnownPaths = {}
        for number in numbers:
            evaluate, coordinate = self._computed.get(number) or self._compile(number)
            value = evaluate(event, known)
            if value is not None:
                axes.append(number)
                coordinates.append(coordinate(value))

    def _compile(self, number: int) -> tuple[Evaluate, Callable[[Any], int]]:
        axis = self._axes[number]
        compiled = evaluator(axis.attribute, self.event_type), self._coordinate(axis, number, axis.attribute.type)
        self._computed[number] = compiled
        return compiled

    def _plan(self, name: str) -> _AttributePlan:
        """How to read the values of a name, made when the first event has it."""
        plan = _AttributePlan()
        for number in self._by_name[name]:
            path = plain_path(self._axes[number].attribute)
            if path is None or not is_declared(path, self.event_type):
                raise UndeclaredAttributeError(name)
            here = plan
            for step in path.steps[1:]:
                here = here.inner.setdefault(step, _AttributePlan())
            self._add(here, number)
        self._plans[name] = plan
        if len(self._by_name[name]) == 1 and not plan.inner and not self.event_type.is_schemaless:
            number = self._by_name[name][0]
            type_ = self._axes[number].attribute.type
            if type_ in INTEGER_BITS:
                self._ints[name] = number, *integer_bounds(type_)
        return plan

    def _add(self, plan: _AttributePlan, number: int) -> None:
        """Add an axis to the plan of a name or field."""
        axis = self._axes[number]
        if self.event_type.is_schemaless:
            quick, other = self._schemaless_reads(axis, number)
        else:
            quick, other = self._typed_reads(axis, number)
        for kind in _KINDS:
            read = quick.get(kind, other)
            plan.kinds.setdefault(kind, ())
            if read is not None:
                plan.kinds[kind] += ((number, read),)
        plan.kinds[type(None)] = ()
        plan.others += ((number, other),)

    def _typed_reads(self, axis: Axis, number: int) -> tuple[dict[type, Read | None], Read]:
        """Readers for values of certain classes, and the reader for all others."""
        type_ = axis.attribute.type
        coordinate = self._coordinate(axis, number, type_)
        convert = converter(type_, self.event_type.time_zone)

        def other(value: Any) -> int | None:
            converted = convert(value)
            return None if converted is None else coordinate(converted)

        quick: dict[type, Read | None] = {}
        if type_ in INTEGER_BITS:
            least, greatest = integer_bounds(type_)
            quick[int] = lambda value: value if least <= value <= greatest else None
        elif type_ == DOUBLE:
            quick[float] = coordinate
        elif type_ == BOOLEAN:
            quick[bool] = int
        elif type_ == STRING:
            quick[str] = lambda value: coordinate(value if value.isascii() else clean(value))
        return quick, other

    def _schemaless_reads(self, axis: Axis, number: int) -> tuple[dict[type, Read | None], Read]:
        """As `_typed_reads`; None for classes whose values are NULL on the axis."""
        attribute = axis.attribute
        type_ = attribute.type
        zone = attribute.signature.zone if isinstance(attribute, Apply) else self.event_type.time_zone
        coordinate = self._coordinate(axis, number, type_)
        read = reader(type_, zone)

        def other(value: Any) -> int | None:
            meant = plain(value)
            found = None if meant is None else read(meant)
            return None if found is None else coordinate(found)

        quick: dict[type, Read | None] = {}
        if type_ in _READ_KINDS:
            quick = {kind: other if kind in _READ_KINDS[type_] else None for kind in _KINDS}
        if type_ == NUMBER:
            quick[int] = lambda value: coordinate(value) if INT64_MIN <= value <= INT64_MAX else other(value)
            quick[float] = coordinate
        elif type_ == STRING:
            quick[str] = lambda value: coordinate(value if value.isascii() else clean(value))
        return quick, other

    def _coordinate(self, axis: Axis, number: int, type_: Type) -> Callable[[Any], int]:
        """A function from values of the type to coordinates."""
        scale = axis.scale
        if isinstance(scale, NumberScale):
            ints, doubles, key = scale.ints.data, scale.doubles.data, order_key(DOUBLE)

            def rank(value: float) -> int:
                return bisect_right(ints, value) if isinstance(value, int) else bisect_right(doubles, key(value))

            return rank
        if isinstance(scale, TextScale) and type_ == STRING:
            return self._text_rank(scale, number)
        if type_ == DOUBLE:
            return order_key(DOUBLE)
        return lambda value: scale.coordinate(type_, value)

    def _text_rank(self, scale: TextScale, number: int) -> Callable[[str], int]:
        """Ranks, cached for short texts: a binary search over texts is slow, and values recur."""
        known = self._texts

        def rank(text: str) -> int:
            found = known.get((number, text))
            if found is None:
                found = scale.coordinate(STRING, text)
                if len(text) <= _CACHED_LENGTH:
                    if len(known) >= _CACHED_TEXTS:
                        known.clear()
                    known[number, text] = found
            return found

        return rank


def _read_fields(plans: dict[str, _AttributePlan], value: Any, axes: list[int], coordinates: list[int]) -> None:
    """As `DictReader.read`, of the fields of an object."""
    if not isinstance(value, Mapping):
        return
    # A dict lists all it has; other mappings may not, so they are asked for each field.
    fields = value.items() if type(value) is dict else [(name, value.get(name)) for name in plans]
    for name, inner in fields:
        plan = plans.get(name)
        if plan is None:
            continue
        for axis, read in plan.kinds.get(type(inner), plan.others):
            coordinate = read(inner)
            if coordinate is not None:
                axes.append(axis)
                coordinates.append(coordinate)
        if plan.inner:
            _read_fields(plan.inner, inner, axes, coordinates)
