"""Event types: the attributes of one kind of event, and their description in JSON.

An event type is an immutable value, always complete and valid: everything wrong with a description is collected
and raised at once, each problem with its path, such as `attributes.price.min`.

```json
{
  "name": "book",
  "time_zone": "Europe/Paris",
  "attributes": {
    "title": "string",
    "format": {"type": "string", "values": ["hard", "soft"], "required": true},
    "price": {"type": "decimal(8,2)", "min": 0, "max": 1000},
    "tags": "array<string>",
    "author": {"type": "struct", "attributes": {"name": "string", "born": "date"}},
    "prices": {"type": "array", "items": "decimal(8,2)"}
  }
}
```

Without `attributes` the type is schemaless. `values`, `min`, `max` and `required` say what to expect of an
event (`tamis.events.validation`); they never change what an event matches.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from tamis.errors import EventTypeError
from tamis.events.conversion import converter, decimal_unscaled, iso_timestamp
from tamis.events.schemas import Problems, arrow_attributes, show_value, spark_attributes
from tamis.values.column import Value
from tamis.values.datetimes import write_date
from tamis.values.types import NESTED, Type, array, is_decimal, is_fractional, is_integral, parse_type, struct
from tamis.values.zones import is_zone

_TYPE_KEYS = ("type", "attributes", "items")
_DOMAIN_KEYS = ("values", "min", "max", "required")
_MAX_NESTING = 50


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute and its domain.

    Attributes:
        name: As events have it, case included.
        type: Of its values.
        values: All values to expect, as `tamis.values.types` holds them; None for any.
        min: Least value to expect; None for any.
        max: Greatest value to expect; None for any.
        required: Is an event without it a mistake?
    """

    name: str
    type: Type
    values: tuple[Value, ...] | None = None
    min: Value = None
    max: Value = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class EventType:
    """The attributes of events.

    Attributes:
        name: For messages.
        time_zone: In which text and wall clocks become timestamps, as Spark's session time zone.
        attributes: In the order written; None for a schemaless type.
    """

    name: str = "event"
    time_zone: str = "UTC"
    attributes: tuple[Attribute, ...] | None = None
    _folded: Mapping[str, list[Attribute]] = field(init=False, repr=False, compare=False, default_factory=dict)
    _types: dict[tuple[str, ...], Type | None] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Check what the types of the fields do not say."""
        if not is_zone(self.time_zone):
            msg = f"event type {self.name}: time_zone: {_zone_message(self.time_zone)}"
            raise EventTypeError(msg)
        folded: dict[str, list[Attribute]] = {}
        names: set[str] = set()
        for attribute in self.attributes or ():
            if attribute.name in names:
                msg = f"event type {self.name}: attribute {attribute.name!r} is there twice"
                raise EventTypeError(msg)
            names.add(attribute.name)
            folded.setdefault(attribute.name.lower(), []).append(attribute)
        object.__setattr__(self, "_folded", folded)

    @property
    def is_schemaless(self) -> bool:
        """Does every event have its own attributes?"""
        return self.attributes is None

    def find(self, name: str) -> list[Attribute]:
        """The attributes that Spark may mean by `name`, case aside: none, one, or several if ambiguous."""
        return list(self._folded.get(name.lower(), ()))

    def type_at(self, path: tuple[str, ...]) -> Type | None:
        """The type of the attribute of exactly these names, from the outermost inwards; None if there is none."""
        known = self._types.get(path)
        if known is None:
            found = [attribute.type for attribute in self.attributes or () if attribute.name == path[0]]
            for step in path[1:]:
                found = [inner for type_ in found for name, inner in type_.fields if name == step]
            known = self._types[path] = found[-1] if found else None
        return known

    @classmethod
    def of(cls, source: Any) -> EventType:
        """The event type that `source` describes.

        Args:
            source: None (schemaless), an event type, the path of a JSON file, its content as a dict, a
                pyarrow schema, or a Spark schema.
        """
        if isinstance(source, EventType):
            return source
        if source is None:
            return SCHEMALESS
        if isinstance(source, (str, os.PathLike)):
            return cls.load(source)
        if isinstance(source, pa.Schema):
            return cls.from_arrow(source)
        if hasattr(source, "jsonValue") or (isinstance(source, Mapping) and "fields" in source):
            return cls.from_spark(source)
        return cls.from_dict(source)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> EventType:
        """Read the JSON file at `path`."""
        problems = Problems()

        def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            keys = [key for key, _ in pairs]
            for key in dict.fromkeys(key for key in keys if keys.count(key) > 1):
                problems.add(key, "is written twice")
            return dict(pairs)

        try:
            content = json.loads(
                Path(path).read_bytes().decode("utf-8-sig"),
                parse_float=Decimal,
                object_pairs_hook=without_duplicates,
            )
        except (OSError, ValueError, ArithmeticError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            msg = f"event type {os.fspath(path)}: {reason}"
            raise EventTypeError(msg) from error
        return cls._from_content(content, os.fspath(path), problems)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> EventType:
        """The event type written as the JSON object of the module's description."""
        return cls._from_content(content, "", Problems())

    @classmethod
    def from_arrow(cls, schema: pa.Schema, *, name: str = "event", time_zone: str = "UTC") -> EventType:
        """The event type of Arrow data, its types mapped as Spark maps them."""
        return cls._from_types(arrow_attributes(schema), name, time_zone)

    @classmethod
    def from_spark(
        cls, schema: Any, *, name: str = "event", time_zone: str = "UTC", partial: bool = False
    ) -> EventType:
        """The event type of Spark data; needs no Spark.

        Args:
            schema: A StructType, its `jsonValue()`, or DDL: `title STRING, price DECIMAL(8,2) NOT NULL`.
            name: Of the event type.
            time_zone: Spark's `spark.sql.session.timeZone`.
            partial: Leave out columns of types that conditions cannot read, such as variants, instead of an error?
        """
        return cls._from_types(spark_attributes(schema, partial=partial), name, time_zone)

    @classmethod
    def _from_types(cls, types: Iterable[tuple[str, Type, bool]], name: str, time_zone: str) -> EventType:
        attributes = tuple(Attribute(label, type_, required=required) for label, type_, required in types)
        return cls(name, time_zone, attributes)

    @classmethod
    def _from_content(cls, content: Any, source: str, problems: Problems) -> EventType:
        if not isinstance(content, Mapping):
            msg = f"event type {source}: expected an object, found {show_value(content)}"
            raise EventTypeError(msg)
        problems.check_keys("", content, ("name", "time_zone", "attributes"))
        name = content.get("name", "event")
        if not isinstance(name, str) or not name:
            problems.add("name", f"expected a name, found {show_value(name)}")
        zone = content.get("time_zone", "UTC")
        if not isinstance(zone, str) or not is_zone(zone):
            problems.add("time_zone", _zone_message(zone))
            zone = "UTC"
        described = content.get("attributes")
        attributes: tuple[Attribute, ...] | None = None
        if isinstance(described, Mapping):
            reader = _AttributeReader(zone, problems)
            found = [reader.attribute(label, inner) for label, inner in described.items()]
            attributes = tuple(attribute for attribute in found if attribute is not None)
        elif described is not None:
            problems.add("attributes", f"expected an object of names and types, found {show_value(described)}")
        problems.raise_any(f"event type {source or name}")
        return cls(name, zone, attributes)

    def to_dict(self) -> dict[str, Any]:
        """The event type as `from_dict` reads it, made of JSON values only."""
        written: dict[str, Any] = {"name": self.name, "time_zone": self.time_zone}
        if self.attributes is not None:
            written["attributes"] = {attribute.name: _write_attribute(attribute) for attribute in self.attributes}
        return written


SCHEMALESS = EventType()
"""The event type of events with attributes of their own."""


@dataclass(frozen=True, slots=True)
class _AttributeReader:
    """Reads attributes and collects problems; what has a problem is None."""

    zone: str
    problems: Problems

    def attribute(self, name: Any, described: Any) -> Attribute | None:
        path = f"attributes.{name}"
        if not isinstance(name, str) or not name:
            self.problems.add(path, "expected a name")
            return None
        type_ = self.type(described, path, (*_TYPE_KEYS, *_DOMAIN_KEYS))
        if type_ is None:
            return None
        if isinstance(described, str):
            return Attribute(name, type_)
        required = described.get("required", False)
        if not isinstance(required, bool):
            self.problems.add(f"{path}.required", f"expected true or false, found {show_value(required)}")
        if any(described.get(key) is not None for key in ("values", "min", "max")):
            return self.domain(name, type_, described, path, required is True)
        return Attribute(name, type_, required=required is True)

    def type(self, described: Any, path: str, keys: tuple[str, ...] = _TYPE_KEYS, depth: int = 0) -> Type | None:
        if isinstance(described, str):
            try:
                found = parse_type(described)
                if "interval" in str(found):
                    self.problems.add(path, "attributes cannot be intervals")
                    return None
                return found
            except EventTypeError as error:
                self.problems.add(path, str(error))
                return None
        if not isinstance(described, Mapping) or "type" not in described or depth > _MAX_NESTING:
            self.problems.add(
                path, f"expected a type, as 'string' or {{'type': 'string'}}; found {show_value(described)}"
            )
            return None
        self.problems.check_keys(path, described, keys)
        kind = described["type"]
        if kind == "array" and "items" in described:
            element = self.type(described["items"], f"{path}.items", depth=depth + 1)
            return element and array(element)
        if kind == "struct" and isinstance(described.get("attributes"), Mapping):
            return self.struct(described["attributes"], path, depth)
        for key, owner in (("items", "array"), ("attributes", "struct")):
            if key in described:
                self.problems.add(f"{path}.{key}", f"only a type {owner!r} has {key}")
        return self.type(kind, f"{path}.type", depth=depth + 1)

    def struct(self, described: Mapping[Any, Any], path: str, depth: int) -> Type | None:
        if not described or not all(isinstance(name, str) and name for name in described):
            self.problems.add(f"{path}.attributes", "expected an object of names and types")
            return None
        fields = [
            (name, self.type(inner, f"{path}.attributes.{name}", depth=depth + 1))
            for name, inner in described.items()
        ]
        known = [(name, type_) for name, type_ in fields if type_ is not None]
        return struct(*known) if len(known) == len(fields) else None

    def domain(self, name: str, type_: Type, described: Mapping[str, Any], path: str, required: bool) -> Attribute:
        least = self.operand(described.get("min"), type_, f"{path}.min", bound=True)
        greatest = self.operand(described.get("max"), type_, f"{path}.max", bound=True)
        if least is not None and greatest is not None and least > greatest:
            self.problems.add(f"{path}.min", "is greater than max")
        listed = described.get("values")
        values = None
        if isinstance(listed, list) and listed:
            converted = [
                self.operand(value, type_, f"{path}.values[{at}]", bound=False) for at, value in enumerate(listed)
            ]
            values = tuple(dict.fromkeys(converted))
            if None in listed:
                self.problems.add(f"{path}.values", "may not hold null; an attribute is optional unless required")
        elif listed is not None:
            self.problems.add(f"{path}.values", f"expected a list of values, found {show_value(listed)}")
        return Attribute(name, type_, values, least, greatest, required)

    def operand(self, operand: Any, type_: Type, path: str, *, bound: bool) -> Value:
        if operand is None:
            return None
        if type_.name in (*NESTED, "binary") or (bound and type_.name == "boolean"):
            self.problems.add(path, f"has no meaning for {type_}")
            return None
        value = converter(type_, self.zone)(operand) if _is_operand(operand, type_) else None
        if value is None or (isinstance(value, float) and math.isnan(value)):
            self.problems.add(path, f"expected a value of type {type_}, found {show_value(operand)}")
            return None
        return value


def _is_operand(operand: Any, type_: Type) -> bool:
    """Is it of a kind that a description may use for this type? Events may use more kinds."""
    if is_decimal(type_) and isinstance(operand, (int, float, Decimal)) and not isinstance(operand, bool):
        number = Decimal(repr(operand)) if isinstance(operand, float) else Decimal(operand)
        unscaled = decimal_unscaled(number, type_.precision, type_.scale)
        return unscaled is not None and Decimal((0, (1,), -type_.scale)) * unscaled == number
    if is_decimal(type_) or is_fractional(type_):
        return isinstance(operand, (int, float, Decimal, str))
    return is_integral(type_) or type_.name == "boolean" or isinstance(operand, str)


def _write_attribute(attribute: Attribute) -> str | dict[str, Any]:
    written: dict[str, Any] = {"type": str(attribute.type)}
    if attribute.values is not None:
        written["values"] = [_json_operand(value, attribute.type) for value in attribute.values]
    for key, value in (("min", attribute.min), ("max", attribute.max)):
        if value is not None:
            written[key] = _json_operand(value, attribute.type)
    if attribute.required:
        written["required"] = True
    return written if len(written) > 1 else str(attribute.type)


def _json_operand(value: Value, type_: Type) -> Any:
    if type_.name == "date":
        return write_date(value)
    if type_.name in ("timestamp", "timestamp_ntz"):
        return iso_timestamp(value, zoned=type_.name == "timestamp")
    if is_decimal(type_):
        return value if type_.scale == 0 else str(Decimal((value < 0, _digits(value), -type_.scale)))
    if isinstance(value, float) and not math.isfinite(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _digits(value: int) -> tuple[int, ...]:
    return tuple(int(digit) for digit in str(abs(value)))


def _zone_message(zone: object) -> str:
    return f"expected a time zone, as 'Europe/Paris' or '+01:00'; found {show_value(zone)}"
