"""LIKE, ILIKE and RLIKE.

LIKE takes time proportional to text times pattern at worst, and RLIKE runs in RE2, so that no pattern takes
exponential time. A LIKE pattern that Spark rejects at run time is rejected here at once if it is a constant, and
gives NULL if it comes from the event.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import Enum
from functools import lru_cache
from itertools import zip_longest
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import PatternError
from tamis.functions.registry import (
    Argument,
    ArgumentError,
    Function,
    Signature,
    Vector,
    always,
    check_count,
    register,
)
from tamis.functions.rows import Scalar, all_valid, apply_strict
from tamis.syntax.regex import parse_regex, translate
from tamis.values.column import Column
from tamis.values.letter_case import lower
from tamis.values.types import BOOLEAN, NULL, STRING

TextTest = Callable[[str], bool]


class Wildcard(Enum):
    """A wildcard of a LIKE pattern."""

    ONE = "_"
    MANY = "%"


Part = str | Wildcard


def parse_like(pattern: str, escape: str = "\\") -> tuple[Part, ...]:
    """A LIKE pattern as literals and wildcards; adjacent `%` are merged.

    >>> parse_like("a%")
    ('a', <Wildcard.MANY: '%'>)

    Raises:
        PatternError: The escape character stands at the end, or before anything but `_`, `%` and itself.
    """
    parts: list[Part] = []
    run: list[str] = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == escape:
            following = pattern[at + 1 : at + 2]
            if not following or following not in ("_", "%", escape):
                found = f"{following!r} follows" if following else "nothing follows"
                msg = f"the escape character {escape!r} must stand before _, % or itself, {found}"
                raise PatternError(msg, at)
            run.append(following)
            at += 2
            continue
        at += 1
        if character not in "_%":
            run.append(character)
            continue
        if run:
            parts.append("".join(run))
            run.clear()
        if character == "_" or not parts or parts[-1] is not Wildcard.MANY:
            parts.append(Wildcard(character))
    if run:
        parts.append("".join(run))
    return tuple(parts)


def compile_like(pattern: str, escape: str = "\\", *, fold_case: bool = False) -> TextTest:
    """The test for a LIKE pattern, or with `fold_case` for an ILIKE pattern.

    Raises:
        PatternError: As `parse_like`.
    """
    matches = _text_test(parse_like(lower(pattern) if fold_case else pattern, escape))
    return (lambda text: matches(lower(text))) if fold_case else matches


def _text_test(parts: tuple[Part, ...]) -> TextTest:
    segments = _segments(parts)
    first, last = segments[0], segments[-1]
    if len(segments) == 1:
        return lambda text: len(text) == first.length and first.at(text, 0)
    least = first.length + last.length

    def matches(text: str) -> bool:
        end = len(text) - last.length
        if len(text) < least or not first.at(text, 0) or not last.at(text, end):
            return False
        place = first.length
        for segment in segments[1:-1]:
            # The leftmost match leaves the longest rest, so backtracking is never needed.
            place = segment.find(text, place, end)
            if place < 0:
                return False
            place += segment.length
        return True

    return matches


class _LikeSegment:
    """The part between two `%`: text of a fixed length, in which `_` matches any character."""

    __slots__ = ("length", "literals", "only")

    def __init__(self, parts: Sequence[Part]) -> None:
        self.literals: list[tuple[int, str]] = []
        self.length = 0
        for part in parts:
            if isinstance(part, str):
                self.literals.append((self.length, part))
            self.length += len(part) if isinstance(part, str) else 1
        self.only = self.literals[0][1] if len(parts) == 1 and self.literals else None

    def at(self, text: str, place: int) -> bool:
        """Does the segment match at `place`? The text must be long enough."""
        return all(text.startswith(literal, place + offset) for offset, literal in self.literals)

    def find(self, text: str, start: int, end: int) -> int:
        """The first place from `start` at which the segment matches and ends by `end`, or -1."""
        if self.only is not None:
            return text.find(self.only, start, end)
        return next((at for at in range(start, end - self.length + 1) if self.at(text, at)), -1)


def _segments(parts: tuple[Part, ...]) -> list[_LikeSegment]:
    segments: list[list[Part]] = [[]]
    for part in parts:
        if part is Wildcard.MANY:
            segments.append([])
        else:
            segments[-1].append(part)
    return [_LikeSegment(segment) for segment in segments]


@lru_cache(maxsize=4096)
def _cached_test(pattern: str, escape: str, fold_case: bool) -> TextTest | None:
    """The test, or None if the pattern is malformed."""
    try:
        return compile_like(pattern, escape, fold_case=fold_case)
    except PatternError:
        return None


def _resolve_like(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 3)
    escape = "\\"
    if len(arguments) == 3:
        argument = arguments[2]
        if not argument.is_constant or not isinstance(argument.value, str) or len(argument.value) != 1:
            msg = "expected a constant string of one character after ESCAPE"
            raise ArgumentError(msg, 2)
        escape = argument.value
    pattern = arguments[1]
    if pattern.is_constant and isinstance(pattern.value, str):
        try:
            parse_like(pattern.value, escape)
        except PatternError as error:
            raise ArgumentError(str(error), 1) from error
    return Signature((STRING,) * len(arguments), BOOLEAN, zone)


def _scalar_like(*, fold_case: bool) -> Scalar:
    def scalar(text: str, pattern: str, escape: str = "\\") -> bool | None:
        matches = _cached_test(pattern, escape, fold_case)
        return None if matches is None else matches(text)

    return scalar


def _vector_like(*, fold_case: bool) -> Vector:
    scalar = _scalar_like(fold_case=fold_case)

    def vector(_: Signature, columns: Sequence[Column]) -> Column:
        valid = all_valid(columns)
        pattern = _only_value(columns[1])
        escape = _only_value(columns[2]) if len(columns) == 3 else "\\"
        if pattern is None or escape is None or not valid.any():
            return apply_strict(scalar, BOOLEAN, columns)
        found = None if fold_case else _simple_like(columns[0].values, pattern, escape)
        if found is not None:
            return Column(BOOLEAN, _truth(found), valid)
        matches = _cached_test(pattern, escape, fold_case)
        if matches is None:
            return Column(BOOLEAN, np.zeros(len(valid), np.bool_), np.zeros(len(valid), np.bool_))
        texts = columns[0].values.to_pylist()
        truth = np.fromiter((text is not None and matches(text) for text in texts), np.bool_, len(texts))
        return Column(BOOLEAN, truth, valid)

    return vector


def _only_value(column: Column) -> str | None:
    """The value that all rows have, if there is one."""
    values: pa.Array = column.values
    if not len(values) or values.null_count or not pc.all(pc.equal(values, values[0])).as_py():
        return None
    value: str = values[0].as_py()
    return value


def _simple_like(texts: pa.Array, pattern: str, escape: str) -> pa.Array | None:
    """LIKE by one call of pyarrow, if the pattern has no `_`, and `%` only at its ends."""
    try:
        parts = parse_like(pattern, escape)
    except PatternError:
        return None
    many = Wildcard.MANY
    match parts:
        case (str(literal),):
            return pc.equal(texts, literal)
        case (str(literal), Wildcard.MANY):
            return pc.starts_with(texts, literal)
        case (Wildcard.MANY, str(literal)):
            return pc.ends_with(texts, literal)
        case (Wildcard.MANY, str(literal), Wildcard.MANY):
            return pc.match_substring(texts, literal)
        case () | (Wildcard.MANY,):
            return pc.is_valid(texts) if parts == (many,) else pc.equal(texts, "")
    return None


def _truth(found: pa.Array) -> Any:
    return np.asarray(pc.fill_null(found, False).to_numpy(zero_copy_only=False), np.bool_)


@lru_cache(maxsize=4096)
def _re2_pattern(pattern: str) -> str:
    # The limits on conditions bound the length of patterns.
    return translate(pattern, max_length=len(pattern))


_LETTERS = re.compile(r"[^\W\d_]{3,}")
_CLASS = re.compile(r"\[[^\[\]]*\]")
_LETTER_COST = 12  # of a letter in a pattern, at most: four bytes, in three places if an anchor follows
_MOST_COST = 10_000


def _has_known_shape(pattern: str) -> bool:
    """Is this pattern supported because another one is that differs only in the letters of its words?

    Whether a pattern is supported depends on letters only where they are no literals (after a backslash, in a
    class, in a group's flags), or where their number counts, which is repeated by braces.
    """
    if "\\" in pattern or "{" in pattern or "(?" in pattern:
        return False
    rest = _CLASS.split(pattern)
    if any("[" in part or "]" in part for part in rest):
        return False
    # Two letters for any number of them: a quantifier that follows repeats the second only.
    parts = (_LETTERS.sub("aa", part) for part in rest)
    shape = "".join(f"{part}{kept}" for part, kept in zip_longest(parts, _CLASS.findall(pattern), fillvalue=""))
    return _shape_cost(shape) + _LETTER_COST * len(pattern) <= _MOST_COST


@lru_cache(maxsize=4096)
def _shape_cost(shape: str) -> int:
    """The instructions that a pattern needs; more than any may need if it is not supported."""
    try:
        pc.match_substring_regex(pa.array([""]), _re2_pattern(shape))
        return parse_regex(shape).cost
    except (PatternError, pa.ArrowInvalid):
        return _MOST_COST + 1


def _resolve_rlike(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    pattern = arguments[1]
    if not pattern.is_constant or pattern.type not in (STRING, NULL):
        msg = f"expected a constant pattern (string), found {pattern.type}"
        raise ArgumentError(msg, 1)
    if pattern.value is not None and not _has_known_shape(pattern.value):
        try:
            pc.match_substring_regex(pa.array([""]), _re2_pattern(pattern.value))
        except PatternError as error:
            raise ArgumentError(str(error), 1) from error
        except pa.ArrowInvalid as error:
            msg = f"the pattern is not supported: {error}"
            raise ArgumentError(msg, 1) from error
    return Signature((STRING, STRING), BOOLEAN, zone)


def _rlike(text: str, pattern: str) -> bool:
    return bool(pc.match_substring_regex(pa.scalar(text), _re2_pattern(pattern)).as_py())


def _vector_rlike(_: Signature, columns: Sequence[Column]) -> Column:
    pattern = _only_value(columns[1])
    if pattern is None:
        return apply_strict(_rlike, BOOLEAN, columns)
    found = pc.match_substring_regex(columns[0].values, _re2_pattern(pattern))
    return Column(BOOLEAN, _truth(found), all_valid(columns))


for _name, _fold in (("like", False), ("ilike", True)):
    register(Function(_name, _resolve_like, always(_scalar_like(fold_case=_fold)), _vector_like(fold_case=_fold)))
register(Function("rlike", _resolve_rlike, always(_rlike), _vector_rlike), "regexp", "regexp_like")
