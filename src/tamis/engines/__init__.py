"""The engines by name, each imported when it is first asked for.

An engine is named by text, `"bitslice"` or `"buckets:capacity=100"`, or is an object with `name` and `build`.
Those of the product stand here. The laboratory keeps its own table, which is read only to list names or when a
name is not one of ours.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from tamis.engines.base import Engine
from tamis.errors import EngineError

EngineLike: TypeAlias = "str | Engine"
"""An engine, or its name with settings: `"buckets:capacity=100,order=frequent"`."""

AUTO = "auto"
"""The engine that is right unless somebody knows better."""
MAPPED_ENGINE = "bitslice"
"""The engine whose index snapshots keep."""

_PRODUCT = {
    "auto": "tamis.engines.auto:Auto",
    "bitslice": "tamis.engines.bitslice:Bitslice",
    "bitset": "tamis.engines.bitset:Bitset",
    "scan": "tamis.engines.scan:Scan",
}
LABORATORY = "tamis.lab"
"""Imported only to list what it has, or when somebody asks for that by name."""


class _Engines(Mapping[str, Engine]):
    """Engines with their default settings, by name."""

    def __getitem__(self, name: str) -> Engine:
        if name not in _homes():
            raise KeyError(name)
        return _default(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_homes())

    def __len__(self) -> int:
        return len(_homes())


ENGINES: Mapping[str, Engine] = _Engines()
"""Every engine by its name, those of the laboratory included."""


def engine_of(engine: EngineLike) -> Engine:
    """The engine that a text names, with its settings; an engine object is returned as it is.

    >>> engine_of("bitslice").name
    'bitslice'

    Raises:
        EngineError: There is no such engine, or it has no such setting.
    """
    if not isinstance(engine, str):
        return engine
    name, colon, settings = engine.partition(":")
    if not colon:
        return _default(name.strip())
    made: Engine = _class_of(name.strip())(**_settings(name.strip(), settings))
    return made


@cache
def _default(name: str) -> Engine:
    made: Engine = _class_of(name)()
    return made


def _homes() -> dict[str, str]:
    laboratory: dict[str, str] = import_module(LABORATORY).ENGINES
    return _PRODUCT | laboratory


def _class_of(name: str) -> Any:
    home = _PRODUCT.get(name) or _homes().get(name)
    if home is None:
        msg = f"there is no engine {name!r}; known are {', '.join(sorted(_homes()))}"
        raise EngineError(msg)
    module, _, attribute = home.partition(":")
    return getattr(import_module(module), attribute)


def _settings(name: str, text: str) -> dict[str, Any]:
    """The keyword arguments that `key=value,key=value` stands for, by the types of the engine's constructor."""
    cls = _class_of(name)
    hints = get_type_hints(cls.__init__)
    known = [key for key in inspect.signature(cls).parameters if {*_kinds(hints.get(key, str))} - {NoneType}]
    found: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key not in known:
            has = f"its settings are {', '.join(known)}" if known else "it has no settings"
            msg = f"engine {name!r} cannot take {part.strip()!r}: {has}, written as {name}:key=value"
            raise EngineError(msg)
        found[key] = _value(name, key, value, _kinds(hints.get(key, str)))
    return found


def _kinds(hint: Any) -> tuple[Any, ...]:
    """The scalar types, and texts, that a setting may be; none for a setting that a text cannot give."""
    if get_origin(hint) in (Union, UnionType):
        return tuple(kind for part in get_args(hint) for kind in _kinds(part))
    if get_origin(hint) is Literal:
        return get_args(hint)
    return (hint,) if hint in (bool, int, float, str, NoneType) else ()


def _value(name: str, key: str, text: str, kinds: tuple[Any, ...]) -> Any:
    words = {"true": (bool, True), "false": (bool, False), "none": (NoneType, None)}
    if text.lower() in words and words[text.lower()][0] in kinds:
        return words[text.lower()][1]
    if text in kinds or str in kinds:
        return text
    for number in (int, float):
        if number in kinds:
            try:
                return number(text)
            except ValueError:
                continue
    expected = " or ".join(kind if isinstance(kind, str) else kind.__name__ for kind in kinds)
    msg = f"setting {key!r} of engine {name!r} is {text!r}; expected {expected}"
    raise EngineError(msg)
