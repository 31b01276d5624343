"""The table `[operators]` of a pipeline's file: where operators come from, and which ones conditions may call."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from tamis.events.schemas import Problems, show_value, suggestion
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.operators.discovery import INSTALLED, OperatorSettings
from tamis.operators.library import LIBRARY
from tamis.operators.registry import OperatorError
from tamis.spark.toml_tables import TomlTable, with_lines

_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*(:[^\W\d]\w*)?")
_PATHS_INSIDE = re.compile(r"Mapping\[.*\bPath\b")


def read_operators(top: TomlTable) -> tuple[OperatorSettings, Limits]:
    """Where operators come from, and the limits with those that may be called; all of them by default."""
    table = top.table("operators")
    if table is None:
        return INSTALLED, DEFAULT_LIMITS
    modules = table.texts("modules")
    for name in modules:
        if not _MODULE.fullmatch(name):
            expected = "expected 'package.module' or 'package.module:function'"
            table.problems.add(table.at("modules"), f"{expected}, found {show_value(name)}")
    allowed = table.items("allowed", "a list of names")
    if not all(isinstance(each, str) for each in allowed):
        table.problems.add(table.at("allowed"), f"expected a list of names, found {show_value(allowed)}")
    limits = DEFAULT_LIMITS
    if "allowed" in table.content:
        limits = replace(DEFAULT_LIMITS, operators=frozenset(map(str, allowed)))
    library = {name: _settings(table, name) for name in table.content if name not in ("modules", "allowed")}
    # Modules may be beside the file, as a sink's function may.
    return OperatorSettings(modules, library, (str(table.folder),) if modules else ()), limits


def load_settings(file: str) -> OperatorSettings:
    """The operators of a pipeline's file, or of one that has the table `[operators]` only.

    Raises:
        OperatorError: It cannot be read, or something in the table is wrong; the message has all problems.
    """
    path = Path(file)
    try:
        text = path.read_text("utf-8")
        content = tomllib.loads(text)
    except (OSError, ValueError) as error:
        msg = f"{path}: {error.strerror if isinstance(error, OSError) else error}"
        raise OperatorError(msg) from error
    problems = Problems()
    settings, _ = read_operators(TomlTable("", content, path.absolute().parent, problems))
    if problems.found:
        msg = f"{path}: " + "\n  ".join(with_lines(problems.found, text))
        raise OperatorError(msg)
    return settings


def _settings(table: TomlTable, name: str) -> dict[str, Any]:
    """The settings of a subject of the library, with their paths made absolute."""
    if name not in LIBRARY:
        expected = f"expected modules, allowed, or one of {', '.join(LIBRARY)}"
        table.problems.add(table.at(name), f"is unknown{suggestion(name, LIBRARY)}; {expected}")
        return {}
    given = table.table(name)
    if given is None:
        return {}
    parameters = inspect.signature(import_module(LIBRARY[name]).operators).parameters
    given.problems.check_keys(given.path, given.content, [*parameters])
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty and key not in given.content:
            given.problems.add(given.at(key), "is missing")
    return {
        key: _resolve_paths(given, key, value, str(parameters[key].annotation))
        for key, value in given.content.items()
        if key in parameters
    }


def _resolve_paths(table: TomlTable, key: str, value: Any, annotation: str) -> Any:
    """A setting; a text where a path is expected is relative to the file."""
    if isinstance(value, str):
        return table.place(key) if "Path" in annotation or key == "url" else value
    if isinstance(value, Mapping):
        inside = bool(_PATHS_INSIDE.search(annotation))
        return {
            name: _resolve_inner(TomlTable(table.at(key), value, table.folder, table.problems), name, each, inside)
            for name, each in value.items()
        }
    return value


def _resolve_inner(table: TomlTable, name: str, value: Any, is_path: bool) -> Any:
    """A value in a table of settings: a path itself, or a table whose `file` is one."""
    if isinstance(value, str):
        return table.place(name) if is_path else value
    if isinstance(value, Mapping) and isinstance(value.get("file"), str):
        inner = TomlTable(table.at(name), value, table.folder, table.problems)
        return {**value, "file": inner.place("file")}
    return value
