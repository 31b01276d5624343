"""Structs: named fields that compiled code may read and replace, such as an array by a longer one.

A class whose annotations are the fields becomes one by `@struct`; only compiled code makes and looks into its
objects.
"""

from __future__ import annotations

import sys
from typing import Any, TypeVar

from numba import types
from numba.experimental import structref

T = TypeVar("T")


def struct(cls: type[T]) -> type[T]:
    """Make a class of annotated fields, derived from `structref.StructRefProxy`, known to compiled code."""
    name = f"_{cls.__name__}Type"
    content = {
        "__module__": cls.__module__,
        "__qualname__": name,
        "preprocess_fields": lambda _, fields: tuple((each, types.unliteral(type_)) for each, type_ in fields),
    }
    made: Any = structref.register(type(name, (types.StructRef,), content))
    # Compiled code that is kept in files names its types by module and name.
    setattr(sys.modules[cls.__module__], name, made)
    structref.define_proxy(cls, made, [*cls.__annotations__])
    return cls
