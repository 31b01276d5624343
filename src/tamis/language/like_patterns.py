"""LIKE patterns: the ranges of strings that some are equivalent to, and a canonical form of the others."""

from __future__ import annotations

from collections.abc import Sequence

from tamis.functions.like import Part, Wildcard
from tamis.values.ranges import Ranges, comparison_ranges, starting_with
from tamis.values.types import STRING


def like_ranges(parts: Sequence[Part]) -> Ranges | None:
    """The strings that match, if the pattern is an exact string or a prefix, else None."""
    match parts:
        case []:
            return comparison_ranges(STRING, "=", "")
        case [str(text)]:
            return comparison_ranges(STRING, "=", text)
        case [Wildcard.MANY]:
            return starting_with("")
        case [str(text), Wildcard.MANY]:
            return starting_with(text)
        case _:
            return None


def canonical_like(parts: Sequence[Part]) -> str:
    """The pattern with backslash as its escape character."""
    return "".join(part.value if isinstance(part, Wildcard) else escape_like(part) for part in parts)


def escape_like(text: str) -> str:
    """A LIKE pattern that matches this text only."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
