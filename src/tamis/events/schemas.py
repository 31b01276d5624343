"""Arrow and Spark schemas as attributes; types are mapped as Spark maps them.

A type that has no exact counterpart is refused by the name of its column, never approximated; all of a
schema's problems are raised at once. PySpark is never imported.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tamis.errors import EventTypeError
from tamis.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MAX_PRECISION,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Type,
    array,
    decimal,
    map_of,
    parse_type,
    struct,
)

_SHOWN_CHARACTERS = 80
_ARROW = {
    pa.bool_(): BOOLEAN,
    pa.int8(): TINYINT,
    pa.int16(): SMALLINT,
    pa.int32(): INT,
    pa.int64(): BIGINT,
    pa.uint8(): SMALLINT,
    pa.uint16(): INT,
    pa.uint32(): BIGINT,
    pa.uint64(): decimal(20, 0),
    pa.float32(): FLOAT,
    pa.float64(): DOUBLE,
    pa.string(): STRING,
    pa.large_string(): STRING,
    pa.string_view(): STRING,
    pa.binary(): BINARY,
    pa.large_binary(): BINARY,
    pa.binary_view(): BINARY,
    pa.date32(): DATE,
    pa.date64(): DATE,
}


@dataclass(slots=True)
class Problems:
    """The problems of a description, each with its path, in the order found."""

    found: list[str] = field(default_factory=list)

    def add(self, path: str, message: str) -> None:
        self.found.append(f"{path}: {message}")

    def check_keys(self, path: str, content: Mapping[Any, Any], known: Iterable[str]) -> None:
        """Add a problem for every key that is not known."""
        names = list(known)
        for key in content:
            if key not in names:
                hint = suggestion(str(key), names) or f"; expected one of {', '.join(names)}"
                self.add(f"{path}.{key}" if path else str(key), f"is unknown{hint}")

    def raise_any(self, subject: str) -> None:
        """Raise an EventTypeError that holds all problems, if there are any."""
        if len(self.found) == 1:
            msg = f"{subject}: {self.found[0]}"
            raise EventTypeError(msg)
        if self.found:
            msg = f"{subject}: {len(self.found)} problems\n  " + "\n  ".join(self.found)
            raise EventTypeError(msg)


def show_value(value: object) -> str:
    """A value for a message: abbreviated, and never raising."""
    try:
        text = str(value) if isinstance(value, Decimal) else repr(value)
    except (ValueError, RecursionError):  # an integer of more digits than Python writes, or a deep list
        return f"a value of {type(value).__name__}"
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'price'?`, or nothing."""
    names = list(known)
    close = [other for other in names if other.lower() == name.lower()]
    close = close or difflib.get_close_matches(name, names, 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def arrow_attributes(schema: pa.Schema) -> list[tuple[str, Type, bool]]:
    """Name, type and whether it is required, of each column of an Arrow schema."""
    problems = Problems()
    attributes = [
        (column.name, _arrow_type(column.type, column.name, problems), not column.nullable) for column in schema
    ]
    problems.raise_any("Arrow schema")
    return [(name, type_, required) for name, type_, required in attributes if type_ is not None]


def _arrow_type(found: pa.DataType, path: str, problems: Problems) -> Type | None:
    if isinstance(found, pa.BaseExtensionType):
        return _arrow_type(found.storage_type, path, problems)
    if pa.types.is_dictionary(found) or pa.types.is_run_end_encoded(found):
        return _arrow_type(found.value_type, path, problems)
    if found in _ARROW:
        return _ARROW[found]
    if pa.types.is_fixed_size_binary(found):
        return BINARY
    if pa.types.is_timestamp(found):
        return TIMESTAMP_NTZ if found.tz is None else TIMESTAMP
    if pa.types.is_decimal(found) and found.precision <= MAX_PRECISION and 0 <= found.scale <= found.precision:
        return decimal(found.precision, found.scale)
    if hasattr(found, "value_type") and not pa.types.is_map(found):
        element = _arrow_type(found.value_type, f"{path}[]", problems)
        return element and array(element)
    if pa.types.is_map(found):
        key = _arrow_type(found.key_type, f"{path}.key", problems)
        value = _arrow_type(found.item_type, f"{path}.value", problems)
        return map_of(key, value) if key is not None and value is not None else None
    if pa.types.is_struct(found) and found.num_fields:
        inner = [found.field(place) for place in range(found.num_fields)]
        fields = [(part.name, _arrow_type(part.type, f"{path}.{part.name}", problems)) for part in inner]
        known = [(name, type_) for name, type_ in fields if type_ is not None]
        return struct(*known) if len(known) == len(fields) else None
    problems.add(path, f"Arrow type {found} has no counterpart here")
    return None


def spark_attributes(schema: Any, *, partial: bool = False) -> list[tuple[str, Type, bool]]:
    """Name, type and whether it is required, of each column of a StructType, its JSON, or DDL.

    Args:
        schema: Of any of these forms.
        partial: Leave out columns whose types have no counterpart?
    """
    problems = Problems()
    if isinstance(schema, str):
        attributes = _ddl_attributes(schema, problems)
    else:
        content = schema.jsonValue() if hasattr(schema, "jsonValue") else schema
        if not isinstance(content, Mapping) or content.get("type") != "struct" or "fields" not in content:
            msg = f"Spark schema: expected a StructType, its jsonValue(), or DDL; found {type(schema).__name__}"
            raise EventTypeError(msg)
        attributes = [
            (part["name"], _spark_field(part, part["name"], problems), not part.get("nullable", True))
            for part in content["fields"]
        ]
    if not partial:
        problems.raise_any("Spark schema")
    return [(name, type_, required) for name, type_, required in attributes if type_ is not None]


def _spark_field(part: Mapping[str, Any], path: str, problems: Problems) -> Type | None:
    if "__COLLATIONS" in (part.get("metadata") or {}):  # comparisons would not be those of the bytes
        problems.add(path, "collations other than UTF8_BINARY are not supported")
        return None
    return _spark_type(part["type"], path, problems)


def _spark_type(found: Any, path: str, problems: Problems) -> Type | None:
    if isinstance(found, str):
        try:
            type_ = STRING if re.fullmatch(r"(?:var)?char\(\d+\)", found) else parse_type(found)
        except EventTypeError:
            type_ = None
        if type_ is None or "interval" in str(type_):  # intervals are values of conditions only
            problems.add(path, f"Spark type {found} has no counterpart here")
            return None
        return type_
    if isinstance(found, Mapping) and found.get("type") == "array":
        element = _spark_type(found["elementType"], f"{path}[]", problems)
        return element and array(element)
    if isinstance(found, Mapping) and found.get("type") == "map":
        key = _spark_type(found["keyType"], f"{path}.key", problems)
        value = _spark_type(found["valueType"], f"{path}.value", problems)
        return map_of(key, value) if key is not None and value is not None else None
    if isinstance(found, Mapping) and found.get("type") == "struct" and found["fields"]:
        inner = found["fields"]
        fields = [(part["name"], _spark_field(part, f"{path}.{part['name']}", problems)) for part in inner]
        known = [(name, type_) for name, type_ in fields if type_ is not None]
        return struct(*known) if len(known) == len(fields) else None
    kind = found.get("type") if isinstance(found, Mapping) else found
    problems.add(path, f"Spark type {kind} has no counterpart here")
    return None


_DDL_COLUMN = re.compile(
    r"\s*(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<name>\w+))\s*:?\s*(?P<type>.*?)"
    r"(?P<required>\s+not\s+null)?(?:\s+comment\s+(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"))?\s*",
    re.IGNORECASE | re.DOTALL,
)
_DDL_PIECE = re.compile(r"`(?:[^`]|``)*`|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|.", re.DOTALL)


def _ddl_attributes(text: str, problems: Problems) -> list[tuple[str, Type | None, bool]]:
    attributes: list[tuple[str, Type | None, bool]] = []
    for part in _ddl_columns(text):
        found = _DDL_COLUMN.fullmatch(part)
        if found is None:
            problems.add(part.strip() or "DDL", "expected a name and a type")
            continue
        name = found["name"] or found["quoted"].replace("``", "`")
        attributes.append((name, _spark_type(found["type"].strip(), name, problems), bool(found["required"])))
    return attributes


def _ddl_columns(text: str) -> list[str]:
    """The columns of a DDL schema: split at the commas outside of brackets and quotes."""
    columns, depth = [""], 0
    for piece in _DDL_PIECE.findall(text):
        depth += (piece in "<(") - (piece in ">)")
        if piece == "," and depth == 0:
            columns.append("")
        else:
            columns[-1] += piece
    return columns
