"""from_json and to_json: JSON in text attributes, by the rules by which events are read.

They stand here and not in `tamis.functions`, because what a JSON value means in a declared type is a matter of
events.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any

from tamis.errors import EventTypeError
from tamis.events.conversion import converter
from tamis.events.json_text import leading_json
from tamis.events.schemas import spark_attributes
from tamis.functions.registry import Argument, ArgumentError, Function, Signature, check_count, register
from tamis.values.casts import caster
from tamis.values.column import Value
from tamis.values.types import BINARY, NESTED, STRING, Type, is_fractional, parse_type, struct


def _schema(text: str) -> Type:
    """The type that a constant names: `a INT, b STRING`, or a struct, an array or a map."""
    try:
        found = parse_type(text)
    except EventTypeError:
        found = struct(*((name, type_) for name, type_, _ in spark_attributes(text)))
    if found.name not in NESTED:
        msg = f"expected a struct, an array or a map, found {found}"
        raise EventTypeError(msg)
    return found


def _resolve_from_json(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    schema = arguments[1]
    if not schema.is_constant or not isinstance(schema.value, str):
        msg = f"expected a constant schema (string), found {schema.type}"
        raise ArgumentError(msg, 1, "write e.g. 'a INT, b STRING'")
    try:
        returns = _schema(schema.value)
    except EventTypeError as error:
        raise ArgumentError(str(error), 1) from error
    return Signature((STRING, STRING), returns, zone)


def _bind_from_json(signature: Signature) -> Callable[[str, str], Value]:
    """What is no JSON gives a struct of NULLs, as in Spark; an array or a map is then NULL."""
    returns = signature.returns
    convert, decode = converter(returns, signature.zone), leading_json(returns)
    nothing = tuple(None for _ in returns.fields) if returns.name == "struct" else None
    wraps = returns.name == "array" and returns.item.name == "struct"

    def from_json(text: str, _: str) -> Value:
        start = text.lstrip(" \t\r\n")
        if not start:
            return None
        try:
            value: Any = decode(start)
        except (ValueError, RecursionError):
            return nothing
        if wraps and isinstance(value, dict):
            value = [value]  # one object is an array of one
        found = None if value is None else convert(value)
        return nothing if found is None else found

    return from_json


def _resolve_to_json(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    given = arguments[0].type
    if given.name not in NESTED:
        msg = f"expected a struct, an array or a map, found {given}"
        raise ArgumentError(msg, 0)
    if "timestamp" in str(given):
        msg = "timestamps are not written as JSON"
        raise ArgumentError(msg, 0, "write them as text: CAST(t AS STRING)")
    return Signature((given,), STRING, zone)


_ESCAPES = {code: f"\\u{code:04X}" for code in range(32)} | {
    ord(sign): f"\\{letter}" for sign, letter in zip('\b\t\n\f\r"\\', 'btnfr"\\', strict=True)
}


def _quote(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def _writer(type_: Type, zone: str) -> Callable[[Value], str]:
    """What writes a value that is not NULL; fields of structs that are NULL are left out."""
    text = caster(type_, STRING, zone) if type_.name not in NESTED else None
    if type_.name == "array":
        item = _writer(type_.item, zone)
        return lambda values: "[" + ",".join("null" if each is None else item(each) for each in values) + "]"
    if type_.name == "map":
        key_text = caster(type_.item.fields[0][1], STRING, zone)
        value = _writer(type_.item.fields[1][1], zone)
        return lambda pairs: (
            "{" + ",".join(f"{_quote(key_text(k))}:{'null' if v is None else value(v)}" for k, v in pairs) + "}"
        )
    if text is None:
        fields = [(_quote(name), _writer(inner, zone)) for name, inner in type_.fields]
        return lambda values: (
            "{"
            + ",".join(
                f"{name}:{write(v)}" for (name, write), v in zip(fields, values, strict=True) if v is not None
            )
            + "}"
        )
    if type_ == BINARY:
        return lambda value: f'"{b64encode(value).decode()}"'
    if is_fractional(type_):
        return lambda value: text(value) if math.isfinite(value) else _quote(text(value))
    if type_ == STRING or type_.name in ("date", "interval", "calendar interval"):
        return lambda value: _quote(text(value))
    return text


def _register() -> None:
    register(Function("from_json", _resolve_from_json, _bind_from_json))
    register(
        Function("to_json", _resolve_to_json, lambda signature: _writer(signature.parameters[0], signature.zone))
    )


_register()
