"""Structs: objects whose fields compiled code can read and replace, for example an array by a longer one.

`@struct` makes one of a class whose annotations are the fields. Only compiled code creates and reads such objects.
"""

from __future__ import annotations

import sys
from typing import Any, TypeVar

from numba import types
from numba.experimental import structref

T = TypeVar("T")


def _without_literals(_: object, fields: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    """The types of fields: int64 rather than the literal 0 that a constructor was called with."""
    return tuple((name, types.unliteral(type_)) for name, type_ in fields)  # type: ignore[no-untyped-call]


def struct(cls: type[T]) -> type[T]:
    """Register a class with annotated fields, a subclass of `structref.StructRefProxy`, with numba."""
    name = f"_{cls.__name__}Type"
    content = {
        "__module__": cls.__module__,
        "__qualname__": name,
        "preprocess_fields": _without_literals,
    }
    made: Any = structref.register(type(name, (types.StructRef,), content))  # type: ignore[no-untyped-call]
    # Cached machine code refers to types by module and name.
    setattr(sys.modules[cls.__module__], name, made)
    structref.define_proxy(cls, made, [*cls.__annotations__])  # type: ignore[no-untyped-call]
    return cls
