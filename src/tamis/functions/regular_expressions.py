r"""Functions that give what a regular expression finds: regexp_extract, regexp_replace, split and the like.

Patterns are constants. RE2 finds the matches, of all rows in one call, with the bounds and groups that Java finds
(`tamis.syntax.regex.translate_captures`); what has no exact translation is refused. Functions that ask for all
matches refuse patterns that may match nothing, because Java and RE2 go on differently after an empty match.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import PatternError
from tamis.functions.registry import Argument, ArgumentError, Function, Signature, check_count, register
from tamis.functions.rows import all_valid
from tamis.syntax.regex import Captures, translate_captures
from tamis.values.column import Column, Value, column_of
from tamis.values.types import INT, NULL, STRING, Type, array

_VERBS = ("extract", "extract_all", "replace", "count", "substr", "instr")
PATTERN_FUNCTIONS = (*(f"regexp_{verb}" for verb in _VERBS), "split")
"""The functions whose second argument is a pattern."""

_REWRITE_GROUPS = 8
"""RE2 refers to nine groups in a replacement; the whole match and the terminator after it are two of them."""

Rest: TypeAlias = tuple[Value, ...]
"""The constants after the pattern."""
Find: TypeAlias = Callable[[pa.Array, str, Rest], list[Value]]


@lru_cache(maxsize=4096)
def _captures(pattern: str, wanted: frozenset[int] = frozenset()) -> Captures:
    found = translate_captures(pattern, wanted)
    try:
        pc.match_substring_regex(pa.array([""]), found.text)
    except pa.ArrowInvalid as error:
        raise PatternError(str(error), 0) from error
    return found


def _pieces(texts: pa.Array, pattern: str, group: int = 0) -> list[list[str] | None]:
    """Per text: what stands before the first match, its group, what stands before the next match, and so on."""
    found = _captures(pattern, frozenset({group} - {0}))
    listed = texts.to_pylist()
    used = set().union(*(text for text in listed if text is not None))
    mark = next(sign for code in range(0xE000, sys.maxunicode) if (sign := chr(code)) not in used)
    rewrite = f"{mark}\\{2 if group else 1}{mark}\\{3 if group else 2}"
    # All matches, even for the first one: with a limit, Arrow matches out of context.
    marked = pc.replace_substring_regex(texts, found.text, rewrite)
    return [None if text is None else text.split(mark) for text in marked.to_pylist()]


def _first(texts: pa.Array, pattern: str, rest: Rest) -> list[Value]:
    group = rest[0] if rest else 1
    rows = _pieces(texts, pattern, group)
    return [None if row is None else row[1] if len(row) > 1 else "" for row in rows]


def _all(texts: pa.Array, pattern: str, rest: Rest) -> list[Value]:
    rows = _pieces(texts, pattern, rest[0] if rest else 1)
    return [None if row is None else row[1::2] for row in rows]


def _count(texts: pa.Array, pattern: str, _: Rest) -> list[Value]:
    return [None if row is None else len(row) // 2 for row in _pieces(texts, pattern)]


def _substr(texts: pa.Array, pattern: str, _: Rest) -> list[Value]:
    return [each or None for each in _first(texts, pattern, (0,))]


def _instr(texts: pa.Array, pattern: str, _: Rest) -> list[Value]:
    rows = _pieces(texts, pattern)
    return [None if row is None else len(row[0]) + 1 if len(row) > 1 else 0 for row in rows]


def _split(texts: pa.Array, pattern: str, rest: Rest) -> list[Value]:
    limit = rest[0] if rest and rest[0] > 0 else None
    if pattern == "":
        return [None if text is None else _letters(text, limit) for text in texts.to_pylist()]
    rows = _pieces(texts, pattern)
    if limit is None:
        return [None if row is None else row[0::2] for row in rows]
    return [None if row is None else _joined_end(row, 2 * limit - 2) for row in rows]


def _joined_end(row: list[str], last: int) -> list[str]:
    """The texts between separators; from `last` on, separators are text."""
    return [*row[:last:2], "".join(row[last:])] if len(row) > last else row[::2]


def _letters(text: str, limit: int | None) -> list[str]:
    letters = list(text) or [""]
    return letters if limit is None else [*letters[: limit - 1], *filter(None, ["".join(letters[limit - 1 :])])]


@lru_cache(maxsize=4096)
def _replacement(pattern: str, text: str) -> tuple[frozenset[int], tuple[str | int, ...]]:
    """The groups of a replacement of Java, and its parts: texts, and numbers of groups."""
    java = _captures(pattern)
    parts: list[str | int] = []
    for found in re.finditer(r"\\(.)|\$(\d+)|\$\{([A-Za-z][A-Za-z0-9]*)\}|([\\$])|[^\\$]+", text, re.DOTALL):
        escaped, digits, name, stray = found.groups()
        if digits is not None:
            # As many digits as there is a group for; the others are text.
            fitting = (size for size in range(2, len(digits) + 1) if int(digits[:size]) <= java.groups)
            length = max(fitting, default=1)
            parts += [int(digits[:length]), digits[length:]]
        else:
            parts.append(java.names.get(name, -1) if name else escaped or found[0])
        if stray is not None or (isinstance(parts[-1], int) and parts[-1] < 0):
            msg = f"{found[0]!r} names no group; a dollar sign is written \\$"
            raise ArgumentError(msg, 2)
    groups = {part for part in parts if isinstance(part, int)}
    if groups and max(groups) > java.groups:
        msg = f"there are {java.groups} groups in the pattern, not {max(groups)}"
        raise ArgumentError(msg, 2)
    return frozenset(groups - {0}), tuple(parts)


def _replace(texts: pa.Array, pattern: str, rest: Rest) -> list[Value]:
    wanted, parts = _replacement(pattern, rest[0])
    places = {group: place for place, group in enumerate((0, *sorted(wanted)), 1)}
    written = (f"\\{places[part]}" if isinstance(part, int) else part.replace("\\", "\\\\") for part in parts)
    rewrite = "".join(written) + f"\\{len(places) + 1}"
    found: list[Value] = pc.replace_substring_regex(texts, _captures(pattern, wanted).text, rewrite).to_pylist()
    return found


def _define(name: str, find: Find, returns: Type, *rest: Type, optional: int = 0, goes_on: bool = False) -> None:
    """A function of a text, a constant pattern and `rest`, which are constants, too."""
    takes_group = bool(rest) and rest[0] == INT and name not in ("split", "regexp_instr")

    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        check_count(arguments, 2 + len(rest) - optional, 2 + len(rest))
        for place, given in enumerate(arguments[1:], 1):
            if not given.is_constant or given.type not in ((STRING if place == 1 else rest[place - 2]), NULL):
                msg = f"expected a constant ({STRING if place == 1 else rest[place - 2]}), found {given.type}"
                raise ArgumentError(msg, place)
        constants = [each.value for each in arguments[1:]]
        if None not in constants:
            _check(name, constants[0], tuple(constants[1:]), takes_group=takes_group, goes_on=goes_on)
        return Signature((STRING, STRING, *rest)[: len(arguments)], returns, zone)

    def bind(_: Signature) -> Callable[..., Any]:
        return lambda text, pattern, *more: find(pa.array([text], pa.string()), pattern, more)[0]

    def vector(signature: Signature, columns: Sequence[Column]) -> Column:
        valid = all_valid(columns)
        if not valid.any():
            return column_of(signature.returns, [None] * len(valid))
        pattern, *more = (column.take(valid.nonzero()[0][:1]).to_list()[0] for column in columns[1:])
        return column_of(signature.returns, find(columns[0].values, pattern, tuple(more))).where(valid)

    register(Function(name, resolve, bind, vector))


def _check(name: str, pattern: str, rest: Rest, *, takes_group: bool, goes_on: bool) -> None:
    if name == "split" and pattern == "":
        return
    group = (rest[0] if rest else 1) if takes_group else 0
    try:
        found = _captures(pattern)
        if not 0 <= group <= found.groups:
            hint = "0 is the whole match" if not rest else None
            msg = f"there are {found.groups} groups in the pattern, not {group}"
            raise ArgumentError(msg, 2 if rest else 1, hint)
        _captures(pattern, frozenset({group} - {0}))
        if name == "regexp_replace":
            wanted, _ = _replacement(pattern, rest[0])
            if len(wanted) >= _REWRITE_GROUPS:
                msg = f"a replacement names {_REWRITE_GROUPS - 1} groups at most"
                raise ArgumentError(msg, 2)
            _captures(pattern, wanted)
    except PatternError as error:
        raise ArgumentError(str(error), 1) from error
    if goes_on and found.only_first:
        msg = "the pattern may match nothing, or a line end after `$`: what is found next is not known then"
        raise ArgumentError(msg, 1)


_define("regexp_extract", _first, STRING, INT, optional=1)
_define("regexp_extract_all", _all, array(STRING), INT, optional=1, goes_on=True)
_define("regexp_replace", _replace, STRING, STRING, goes_on=True)
_define("regexp_count", _count, INT, goes_on=True)
_define("regexp_substr", _substr, STRING)
_define("regexp_instr", _instr, INT, INT, optional=1)
_define("split", _split, array(STRING), INT, optional=1, goes_on=True)
