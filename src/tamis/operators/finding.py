"""Finding operators: in modules by name, in the library with settings, in packages that are installed.

Whatever is loaded is loaded once a process; to load it again makes the same operators known again, and runs
nothing. What is shipped to other processes is the names and settings, as plain data, never a function.
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
from typing import TYPE_CHECKING, Any

from tamis.operators.registry import OPERATORS, Operator, OperatorError, install

if TYPE_CHECKING:
    from tamis.engines.forest import Forest

GROUP = "tamis.operators"
"""The entry points of packages that bring operators."""

_LOADED: dict[object, list[Operator]] = {}
_LOCK = threading.RLock()  # a module that is imported may load others


def _place(value: Any) -> str:
    """A path for JSON, as a process with another working folder reaches it."""
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
            plain = json.loads(json.dumps(self.library, default=_place))
        except (TypeError, ValueError) as error:
            msg = f"settings of operators: expected values as JSON has them: {error}"
            raise OperatorError(msg) from error
        object.__setattr__(self, "library", plain)

    @classmethod
    def of(cls, given: OperatorSettings | Sequence[str] | None) -> OperatorSettings:
        """Settings as they are, or of the names of modules."""
        if isinstance(given, OperatorSettings):
            return given
        return cls((given,) if isinstance(given, str) else tuple(given or ()))

    def load(self) -> None:
        """Make the operators known in this process, with those of installed packages.

        Raises:
            OperatorError: One of them cannot be loaded; the message names it and says why.
        """
        for path in self.paths:
            if path not in sys.path:
                sys.path.append(path)
        load_operators(self.modules, self.library)

    def to_dict(self) -> dict[str, Any]:
        """As data for JSON."""
        library = {name: dict(settings) for name, settings in self.library.items()}
        return {"modules": list(self.modules), "library": library, "paths": list(self.paths)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> OperatorSettings:
        """What `to_dict` gave."""
        return cls(tuple(content["modules"]), content["library"], tuple(content["paths"]))


INSTALLED = OperatorSettings()
"""Nothing but what installed packages bring."""


def load_operators(
    modules: Sequence[str] = (),
    library: Mapping[str, Mapping[str, Any]] | None = None,
    entry_points: bool = True,
) -> None:
    """Make operators known in this process.

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
        _once(("entry points", tuple(sys.path)), _of_packages)
    for name in modules:
        _once(("module", name), lambda name=name: _of_module(name))  # type: ignore[misc]
    for name, settings in (library or {}).items():
        key = ("library", name, json.dumps(settings, sort_keys=True, default=_place))
        _once(key, lambda name=name, settings=settings: _of_library(name, settings), anew=True)  # type: ignore[misc]


def operators_called(forest: Forest) -> set[str]:
    """The names of the operators that formulas call."""
    from tamis.language.expression import calls_in
    from tamis.operators.calling import calls_of  # engines come with it, and loading needs none

    found = [call for axis in forest.axes for call in calls_in(axis.attribute)]
    found += [call for number in range(len(forest.tests)) for call in calls_of(forest.tests[number])]
    return {call.operator for call in found}


def check_known(names: Iterable[str]) -> None:
    """Are these operators known in this process?

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


def _once(key: object, make: Callable[[], Iterable[Operator]], *, anew: bool = False) -> None:
    """Load something, or make known again what it gave; `anew` if others of these names may stand in its place."""
    with _LOCK:
        known = _LOADED.get(key)
        if known is None:
            before = dict(OPERATORS)
            install(*make())
            _LOADED[key] = [each for name, each in OPERATORS.items() if before.get(name) is not each]
        else:
            install(*(each for each in known if anew or each.name not in OPERATORS))


def _of_module(given: str) -> list[Operator]:
    name, _, function = given.partition(":")
    with _named(f"module {given}"):
        module = import_module(name)
        return _made(getattr(module, function)) if function else []


def _of_library(name: str, settings: Mapping[str, Any]) -> list[Operator]:
    from tamis.operators.library import load

    with _named(f"library {name}"):
        return load(name, **settings)


def _of_packages() -> list[Operator]:
    made: list[Operator] = []
    for point in metadata.entry_points(group=GROUP):
        package = "a package" if point.dist is None else f"package {point.dist.name}"
        with _named(f"{package}, entry point {point.name} ({point.value})"):
            found = point.load()
            made += [] if isinstance(found, ModuleType) else _made(found)
    return made


def _made(function: Any) -> list[Operator]:
    """What a function returns, if these are operators."""
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
def _named(what: str) -> Iterator[None]:
    """Whatever goes wrong within is told with its place: it is a stranger's code that runs."""
    try:
        yield
    except Exception as error:
        reason = str(error) if isinstance(error, OperatorError) else f"{type(error).__name__}: {error}"
        msg = f"operators of {what} cannot be loaded: {reason}"
        raise OperatorError(msg) from error
