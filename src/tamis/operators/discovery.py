"""Discovery of operators: in modules by name, in the library with settings, in installed packages.

A process loads each source once; loading it again registers the same operators again and runs no code. Names and
settings are sent to other processes as plain data, functions never.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from tamis.operators.registry import OPERATORS, Operator, OperatorError, install

GROUP = "tamis.operators"
"""The group of entry points under which packages offer operators."""

_LOADED: dict[object, list[Operator]] = {}
_LOCK = threading.RLock()  # a module that is imported may load others


def _absolute_path(value: Any) -> str:
    """The form of a path in JSON that is valid in every working directory."""
    if isinstance(value, os.PathLike):
        return str(Path(value).absolute())
    msg = f"found {value!r}"
    raise TypeError(msg)


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """Where operators come from, as plain data: the same on the driver and on every worker.

    Attributes:
        modules: By name, `package.module`, or `package.module:function` for a function that returns operators.
        library: The settings of subjects of `tamis.operators.library`, by name; values as JSON has them.
        paths: Folders in which modules are found, beside those that Python knows.

    >>> OperatorSettings(("alarms",), {"networks": {}}).to_dict()
    {'modules': ['alarms'], 'library': {'networks': {}}, 'paths': []}
    """

    modules: tuple[str, ...] = ()
    library: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    paths: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        try:
            plain = json.loads(json.dumps(self.library, default=_absolute_path))
        except (TypeError, ValueError) as error:
            msg = f"settings of operators: expected values as JSON has them: {error}"
            raise OperatorError(msg) from error
        object.__setattr__(self, "library", plain)

    @classmethod
    def of(cls, given: OperatorSettings | Sequence[str] | None) -> OperatorSettings:
        """The given settings, or settings with these names of modules."""
        if isinstance(given, OperatorSettings):
            return given
        return cls((given,) if isinstance(given, str) else tuple(given or ()))

    def load(self) -> None:
        """Register the operators in this process, with those of installed packages.

        Raises:
            OperatorError: One of them cannot be loaded; the message names it and says why.
        """
        for path in self.paths:
            if path not in sys.path:
                sys.path.append(path)
        load_operators(self.modules, self.library)

    def to_dict(self) -> dict[str, Any]:
        library = {name: dict(settings) for name, settings in self.library.items()}
        return {"modules": list(self.modules), "library": library, "paths": list(self.paths)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> OperatorSettings:
        return cls(tuple(content["modules"]), content["library"], tuple(content["paths"]))


INSTALLED = OperatorSettings()
"""Only the operators of installed packages."""


def load_operators(
    modules: Sequence[str] = (),
    library: Mapping[str, Mapping[str, Any]] | None = None,
    entry_points: bool = True,
) -> None:
    """Register operators in this process.

    Args:
        modules: By name, `package.module`, whose decorators install operators, or `package.module:function`, a
            function that returns operators.
        library: The settings of subjects of `tamis.operators.library`, by name.
        entry_points: Load those of installed packages, too: each entry point of the group `tamis.operators` is a
            module, or a function that returns operators.

    Raises:
        OperatorError: One of them cannot be loaded; the message names it and says why.
    """
    if entry_points:
        _load_once(("entry points", tuple(sys.path)), _package_operators)
    for name in modules:
        _load_once(("module", name), lambda name=name: _module_operators(name))  # type: ignore[misc]
    for name, settings in (library or {}).items():
        key = ("library", name, json.dumps(settings, sort_keys=True, default=_absolute_path))
        _load_once(key, lambda name=name, settings=settings: _library_operators(name, settings), replace=True)  # type: ignore[misc]


def check_installed(names: Iterable[str]) -> None:
    """Check that these operators are registered in this process.

    Raises:
        OperatorError: Some are not; the message names them.
    """
    missing = sorted(set(names) - OPERATORS.keys())
    if missing:
        known = ", ".join(sorted(OPERATORS)) or "none"
        msg = (
            f"subscriptions call operators that are not known in this process: {', '.join(missing)}; known are "
            f"{known}. Name the modules that have them, and see that every worker can import these"
        )
        raise OperatorError(msg)


def _load_once(key: object, make: Callable[[], Iterable[Operator]], *, replace: bool = False) -> None:
    """Load a source, or register its operators again; with `replace`, also over others of the same names."""
    with _LOCK:
        known = _LOADED.get(key)
        if known is None:
            before = dict(OPERATORS)
            install(*make())
            _LOADED[key] = [each for name, each in OPERATORS.items() if before.get(name) is not each]
        else:
            install(*(each for each in known if replace or each.name not in OPERATORS))


def _module_operators(given: str) -> list[Operator]:
    name, _, function = given.partition(":")
    with _loading(f"module {given}"):
        module = import_module(name)
        return _operators_from(getattr(module, function)) if function else []


def _library_operators(name: str, settings: Mapping[str, Any]) -> list[Operator]:
    from tamis.operators.library import load

    with _loading(f"library {name}"):
        return load(name, **settings)


def _package_operators() -> list[Operator]:
    operators: list[Operator] = []
    for point in metadata.entry_points(group=GROUP):
        package = "a package" if point.dist is None else f"package {point.dist.name}"
        with _loading(f"{package}, entry point {point.name} ({point.value})"):
            found = point.load()
            operators += [] if isinstance(found, ModuleType) else _operators_from(found)
    return operators


def _operators_from(function: Any) -> list[Operator]:
    """The operators that a function returns."""
    if not callable(function):
        msg = f"expected a function that returns operators, found {function!r}"
        raise OperatorError(msg)
    found = function()
    listed = [found] if isinstance(found, Operator) else list(found or ())
    if not listed or not all(isinstance(each, Operator) for each in listed):
        name = getattr(function, "__qualname__", repr(function))
        msg = f"expected operators from {name}{inspect.signature(function)}, found {found!r}"
        raise OperatorError(msg)
    return listed


@contextmanager
def _loading(what: str) -> Iterator[None]:
    """Name the source in every error: the code that runs here is not ours and may raise anything."""
    try:
        yield
    except Exception as error:
        reason = str(error) if isinstance(error, OperatorError) else f"{type(error).__name__}: {error}"
        msg = f"operators of {what} cannot be loaded: {reason}"
        raise OperatorError(msg) from error
