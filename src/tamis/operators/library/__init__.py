"""Operators that come with tamis, by subject: regions, keywords, paths, networks, tables, rules and models.

A subject is a file with one function `operators`, whose keywords are its settings. What it needs beyond tamis is
imported when that function is called, and comes with the extra that its error message names.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from tamis.events.schemas import suggestion
from tamis.operators.registry import Operator, OperatorError, install

__all__ = ["LIBRARY", "SUBJECTS", "load"]

LIBRARY: dict[str, str] = {
    "lookup": "tamis.operators.library.lookup",
    "models": "tamis.operators.library.models",
    "networks": "tamis.operators.library.networks",
    "paths": "tamis.operators.library.paths",
    "rules": "tamis.operators.library.rules",
    "spatial": "tamis.operators.library.spatial",
    "text": "tamis.operators.library.text",
}
"""The module of each subject."""
SUBJECTS: dict[str, str] = {
    **dict.fromkeys(("distance", "intersects", "within"), "spatial"),
    **dict.fromkeys(("fuzzy", "matches_any"), "text"),
    **dict.fromkeys(("json_path", "json_paths", "xml_path"), "paths"),
    **dict.fromkeys(("is_a", "part_of"), "rules"),
    "in_network": "networks",
}
"""The subject of each operator whose name is fixed: a condition that calls one before it is loaded is told so."""


def load(name: str, **settings: Any) -> list[Operator]:
    """Make the operators of a subject and install them.

    Args:
        name: Of a subject in `LIBRARY`.
        settings: Of the subject; its function `operators` describes them.

    Raises:
        OperatorError: The subject or a setting is unknown or wrong, or a package that it needs is not installed.

    >>> [each.signature for each in load("networks")]
    ['in_network(string, string) boolean']
    """
    if name not in LIBRARY:
        msg = f"there is no operator library {name!r}{suggestion(name, LIBRARY)}; known are {', '.join(LIBRARY)}"
        raise OperatorError(msg)
    make = import_module(LIBRARY[name]).operators
    _check_settings(name, inspect.signature(make), settings)
    made: list[Operator] = make(**settings)
    install(*made)
    return made


def _check_settings(name: str, signature: inspect.Signature, settings: dict[str, Any]) -> None:
    known = signature.parameters
    problems = [f"unknown setting {each!r}{suggestion(each, known)}" for each in settings if each not in known]
    problems += [
        f"setting {each!r} is missing"
        for each, parameter in known.items()
        if parameter.default is parameter.empty and each not in settings
    ]
    if problems:
        msg = f"operator library {name!r}: {'; '.join(problems)}; known are {', '.join(known)}"
        raise OperatorError(msg)
