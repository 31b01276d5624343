"""The dialects by name, each imported when it is first asked for; a new one is a file and a line here.

A dialect reads its own text into the syntax tree of the language, so nothing behind the parser knows dialects. The
spans of the tree and of the problems point into the dialect's text. What no operator of SQL says, a dialect says
with functions of `tamis.functions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Protocol, cast

from tamis.errors import DialectError, Problem
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.syntax import tree as syntax
from tamis.syntax.parser import size_problems, text_problem

SQL = "sql"
"""The dialect of a condition that names none."""


@dataclass(frozen=True, slots=True)
class Home:
    """Where a dialect is, and what sets its conditions apart.

    Attributes:
        module: Its module, with the members of `Dialect`.
        has_errors: A condition that is NULL for an event had an error there.
        has_state: Several events satisfy a condition together; on a single event it is never true. Who keeps
            events compiles it by `tamis.composite.parts`.
    """

    module: str
    has_errors: bool = False
    has_state: bool = False


DIALECTS: dict[str, Home] = {
    SQL: Home("tamis.syntax.parser"),
    "cesql": Home("tamis.language.dialects.cesql", has_errors=True),
    "percolator": Home("tamis.language.dialects.percolator"),
    "jms": Home("tamis.language.dialects.jms"),
    "cel": Home("tamis.language.dialects.cel", has_errors=True),
    "jsonlogic": Home("tamis.language.dialects.jsonlogic"),
    "eventbridge": Home("tamis.language.dialects.eventbridge"),
    "composite": Home("tamis.composite.syntax", has_state=True),
}

WITH_ERRORS = tuple(name for name, home in DIALECTS.items() if home.has_errors)
WITH_STATE = tuple(name for name, home in DIALECTS.items() if home.has_state)


class Dialect(Protocol):
    """What the module of a dialect has."""

    def parse_leniently(
        self, text: str, limits: Limits = DEFAULT_LIMITS
    ) -> tuple[syntax.Expression, list[Problem]]:
        """The tree as far as it could be read, and all problems of its syntax, with their places in the text."""


def has_state(name: str) -> bool:
    """Do several events satisfy a condition of that dialect together? Not if there is no such dialect."""
    return name in WITH_STATE


def record_of(document: Mapping[str, Any], dialect: str) -> Mapping[str, Any]:
    """The record of a subscription that a document of another system is, if its dialect knows such; else itself.

    Raises:
        DialectError: There is no such dialect.
    """
    read = getattr(dialect_of(dialect), "record_of", None)
    found: Mapping[str, Any] | None = None if read is None else read(document)
    return document if found is None else found


def dialect_of(name: str) -> Dialect:
    """The dialect of that name.

    Raises:
        DialectError: There is none.
    """
    home = DIALECTS.get(name)
    if home is None:
        close = get_close_matches(str(name).lower(), DIALECTS, 1)
        raise DialectError(str(name), tuple(DIALECTS), close[0] if close else None)
    return cast("Dialect", import_module(home.module))


def parse_dialect(
    text: str, dialect: str = SQL, limits: Limits = DEFAULT_LIMITS
) -> tuple[syntax.Expression, list[Problem]]:
    """As `parse_leniently` of the dialect, which is given no text and gives no tree beyond the limits.

    Raises:
        DialectError: There is no such dialect.
    """
    reader = dialect_of(dialect)
    if dialect == SQL:
        return reader.parse_leniently(text, limits)
    refused = text_problem(text, limits)
    if refused is not None:
        return syntax.Missing(), [refused]
    tree, problems = reader.parse_leniently(text, limits)
    too_large = size_problems(tree, limits)
    return (syntax.Missing(tree.span), [*problems, *too_large]) if too_large else (tree, problems)
