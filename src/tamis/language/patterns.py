"""LIKE patterns as predicates: those that are ranges of strings, and one spelling for the others."""

from __future__ import annotations

from collections.abc import Sequence

from tamis.functions.patterns import Part, Wildcard
from tamis.values.ranges import Ranges, compared, starting_with
from tamis.values.types import STRING


def like_ranges(parts: Sequence[Part]) -> Ranges | None:
    """The strings that match, if the pattern is an exact string or a prefix, else None."""
    match parts:
        case []:
            return compared(STRING, "=", "")
        case [str(text)]:
            return compared(STRING, "=", text)
        case [Wildcard.MANY]:
            return starting_with("")
        case [str(text), Wildcard.MANY]:
            return starting_with(text)
        case _:
            return None


def canonical_like(parts: Sequence[Part]) -> str:
    """The pattern with backslash as its escape character."""
    return "".join(part.value if isinstance(part, Wildcard) else escaped(part) for part in parts)


def escaped(text: str) -> str:
    """A LIKE pattern that matches this text only."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
