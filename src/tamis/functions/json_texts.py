"""JSON in text: get_json_object, json_array_length, json_object_keys.

The text is read by Python's `json`, more strictly than Spark does: names and texts are in double quotes. What is
no JSON is NULL. Of a name that comes twice the first counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from tamis.functions.registry import (
    Argument,
    ArgumentError,
    Function,
    Signature,
    always,
    check_count,
    register,
    takes,
)
from tamis.functions.vectorization import text_vector
from tamis.values.text import write_double
from tamis.values.types import INT, NULL, STRING, array

_STEP = re.compile(r"\.([^.\[\]]+)|\['([^']*)'\]|\[(\d+)\]")
_NOTHING = object()


class _Object(list[tuple[str, Any]]):
    """The members of an object, in their order, names that come twice included."""


def _refuse(word: str) -> Any:
    msg = f"{word} is not JSON"
    raise ValueError(msg)


def _parse(text: str) -> Any:
    """The value of a JSON text; `_NOTHING` if it is none."""
    try:
        return json.loads(text, object_pairs_hook=_Object, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _NOTHING


@lru_cache(maxsize=4096)
def _steps(path: str) -> tuple[str | int, ...] | None:
    """The names and places of a path such as `$.a.b[0]`; None if it is none of that form."""
    if not path.startswith("$"):
        return None
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            return None
        name, quoted, place = found.groups()
        steps.append(int(place) if place is not None else name if name is not None else quoted)
        at = found.end()
    return tuple(steps)


def _get_json_object(text: str, path: str) -> str | None:
    steps = _steps(path)
    value = _parse(text)
    if steps is None or value is _NOTHING:
        return None
    for step in steps:
        if isinstance(step, int):
            is_list = isinstance(value, list) and not isinstance(value, _Object)
            value = value[step] if is_list and step < len(value) else None
        else:
            members = value if isinstance(value, _Object) else []
            value = next((inner for name, inner in members if name == step), None)
        if value is None:
            return None
    return value if isinstance(value, str) else _write(value)


def _write(value: Any) -> str:
    if isinstance(value, _Object):
        return "{" + ",".join(f"{_write(name)}:{_write(inner)}" for name, inner in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_write, value)) + "]"
    if isinstance(value, float):
        return write_double(value)
    return json.dumps(value, ensure_ascii=False)


def _resolve_get(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    path = arguments[1]
    if not path.is_constant or path.type not in (STRING, NULL):
        msg = f"expected a constant path (string), found {path.type}"
        raise ArgumentError(msg, 1)
    if path.value is not None and "*" in path.value:
        msg = "`*` in a path is not supported"
        raise ArgumentError(msg, 1, "write a path of names and places: $.a.b[0]")
    return Signature((STRING, STRING), STRING, zone)


def _array_length(text: str) -> int | None:
    value = _parse(text)
    return len(value) if isinstance(value, list) and not isinstance(value, _Object) else None


def _object_keys(text: str) -> list[str] | None:
    value = _parse(text)
    return [name for name, _ in value] if isinstance(value, _Object) else None


def _define(
    name: str, resolve: Callable[[Sequence[Argument], str], Signature], scalar: Callable[..., Any]
) -> None:
    register(Function(name, resolve, always(scalar), text_vector(scalar)))


_define("get_json_object", _resolve_get, _get_json_object)
_define("json_array_length", takes(STRING, returns=INT), _array_length)
_define("json_object_keys", takes(STRING, returns=array(STRING)), _object_keys)
