"""Kernels that are loaded before they are called. Nothing here ever compiles.

A kernel is read from its file when it is first called with its types. A process that is about to be forked reads
all of them at once instead, so that its children have them already.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from tamis.kernels import folders, is_kernel

_ROOT = Path(__file__).parents[1]
_HAS_KERNELS = re.compile(rb"^from tamis\.kernels import .*\bkernel\b", re.MULTILINE)
_read_at: dict[Path, int] = {}
"""The time of the last change of each folder that `load_kernels` has seen."""


def load_kernels() -> None:
    """Load every kernel of the product that has a file for this processor; at once if no file has come since.

    A kernel that only kernels call is in the code of those that call it, and is left out.
    """
    changed = {place: place.stat().st_mtime_ns for place in folders() if place.is_dir()}
    if changed == _read_at:
        return
    _read_at.clear()
    _read_at.update(changed)
    called = _names_called_from_python()
    for kernel in product_kernels():
        if kernel.py_func.__name__ in called:
            _load(kernel)


@cache
def product_kernels() -> tuple[Any, ...]:
    """Every kernel of the product; their modules are imported. The laboratory runs in no worker."""
    found: dict[int, Any] = {}
    for file in sorted(_ROOT.rglob("*.py")):
        parts = file.relative_to(_ROOT).with_suffix("").parts
        if parts[0] != "lab" and _HAS_KERNELS.search(file.read_bytes()) is not None:
            module = import_module(".".join(("tamis", *parts)).removesuffix(".__init__"))
            found.update({id(each): each for each in vars(module).values() if is_kernel(each)})
    return tuple(found.values())


def _load(kernel: Any) -> None:
    """Add what files have of a kernel, as numba does when the kernel is called."""
    for code in kernel._cache.load_new(kernel.targetctx):
        if tuple(code.signature.args) not in kernel.overloads:
            kernel.targetctx.insert_user_function(code.entry_point, code.fndesc, [code.library])
            kernel.add_overload(code)


@cache
def _names_called_from_python() -> frozenset[str]:
    """The names that functions of the product mention; a kernel that is missed is loaded when it is called."""
    found: set[str] = set()

    def mention(code: CodeType) -> None:
        found.update(code.co_names)
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                mention(inner)

    def look_into(members: Mapping[str, object], module: str) -> None:
        for member in members.values():
            if isinstance(member, FunctionType):
                mention(inspect.unwrap(member).__code__)
            elif isinstance(member, (classmethod, staticmethod)):
                mention(member.__func__.__code__)
            elif isinstance(member, property) and isinstance(member.fget, FunctionType):
                mention(member.fget.__code__)
            elif isinstance(member, type) and member.__module__ == module:
                look_into(vars(member), module)

    product_kernels()  # which imports what calls them, or is imported with it
    for name, module in list(sys.modules.items()):
        if name.startswith("tamis."):
            look_into(vars(module), name)
    return frozenset(found)
