"""Functions of text: lengths, parts, search, padding, case; some of them take binary values as well.

Lengths and places count code points, never bytes or UTF-16 units; texts compare byte by byte, Spark's collation
UTF8_BINARY. A result may be longer than the longest argument only up to `LONGEST`; beyond that it is NULL, whereas
Spark continues until it runs out of memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from tamis.functions.registry import (
    Argument,
    ArgumentError,
    Function,
    Resolve,
    Signature,
    Vector,
    always,
    check_count,
    register,
    takes,
)
from tamis.functions.rows import Scalar, apply_strict
from tamis.functions.unify import require_type
from tamis.functions.vectorization import Shortcut, is_ascii, text_vector
from tamis.values import letter_case
from tamis.values.coercion import common_type
from tamis.values.column import Column
from tamis.values.edit_distance import edit_distance
from tamis.values.types import BIGINT, BINARY, BOOLEAN, INT, NESTED, STRING, Type, array

LONGEST = 1_000_000
"""The greatest number of characters of a text that a function makes out of shorter ones."""

_MOST_CELLS = 1_000_000_000
_INT_MAX = (1 << 31) - 1

Text = TypeVar("Text", str, bytes)


def _define(
    name: str,
    *other_names: str,
    resolve: Resolve,
    scalar: Scalar,
    shortcut: Shortcut | None = None,
    text: int = 0,
    sees_null: bool = False,
    vector: Vector | None = None,
) -> None:
    vector = vector or text_vector(scalar, text=text, shortcut=shortcut, sees_null=sees_null)
    register(Function(name, resolve, always(scalar), vector, sees_null), *other_names)


def _texts(count: int, *others: Type, optional: int = 0, returns: Type | None = None) -> Resolve:
    """`resolve` of functions whose first `count` arguments are all text or all binary.

    Args:
        count: How many of them there are.
        others: Types of the arguments after these.
        optional: How many of the last arguments may be left out.
        returns: Type of the result; None: the type of the texts.
    """

    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        check_count(arguments, count + len(others) - optional, count + len(others))
        type_ = _text_type(arguments[:count])
        parameters = (type_,) * count + others[: len(arguments) - count]
        return Signature(parameters, returns or type_, zone)

    return resolve


def _text_type(arguments: Sequence[Argument]) -> Type:
    for place, argument in enumerate(arguments):
        if argument.type.name == "array":
            msg = f"expected text, found {argument.type}"
            raise ArgumentError(msg, place)
    return BINARY if all(argument.type == BINARY for argument in arguments) else STRING


def _fits(length: int, *texts: Text) -> bool:
    return length <= LONGEST or length <= max(map(len, texts))


# Case


def _lower_ascii(text: pa.Array) -> pa.Array | None:
    return pc.ascii_lower(text) if is_ascii(text) else None


def _upper_ascii(text: pa.Array) -> pa.Array | None:
    return pc.ascii_upper(text) if is_ascii(text) else None


_ONE = takes(STRING, returns=STRING)
_define("lower", "lcase", resolve=_ONE, scalar=letter_case.lower, shortcut=_lower_ascii)
_define("upper", "ucase", resolve=_ONE, scalar=letter_case.upper, shortcut=_upper_ascii)
_define("initcap", resolve=_ONE, scalar=letter_case.title)

# Lengths


def _octets(text: str | bytes) -> int:
    return len(text.encode("utf-8") if isinstance(text, str) else text)


def _lengths(text: pa.Array) -> pa.Array:
    return pc.binary_length(text) if pa.types.is_binary(text.type) else pc.utf8_length(text)


_COUNT = _texts(1, returns=INT)
_define("length", "char_length", "character_length", "len", resolve=_COUNT, scalar=len, shortcut=_lengths)
_define("octet_length", resolve=_COUNT, scalar=_octets, shortcut=pc.binary_length)
_define(
    "bit_length",
    resolve=_COUNT,
    scalar=lambda text: 8 * _octets(text),
    shortcut=lambda text: pc.multiply(pc.binary_length(text), 8),
)

# Trimming removes U+0020, or each of the given characters. These are the first argument of trim, ltrim and rtrim,
# and the last of btrim.


def _is_text(text: pa.Array) -> bool:
    return bool(pa.types.is_string(text.type))


def _trim_both(text: pa.Array, characters: str = " ") -> pa.Array | None:
    return pc.utf8_trim(text, characters=characters) if characters and _is_text(text) else None


def _trim_left(text: pa.Array, characters: str = " ") -> pa.Array | None:
    return pc.utf8_ltrim(text, characters=characters) if characters and _is_text(text) else None


def _trim_right(text: pa.Array, characters: str = " ") -> pa.Array | None:
    return pc.utf8_rtrim(text, characters=characters) if characters and _is_text(text) else None


def _btrim(text: Any, characters: Any = " ") -> Any:
    return text.strip(characters)


def _trim(*arguments: Any) -> Any:
    return arguments[-1].strip(arguments[0] if len(arguments) > 1 else " ")


def _ltrim(*arguments: Any) -> Any:
    return arguments[-1].lstrip(arguments[0] if len(arguments) > 1 else " ")


def _rtrim(*arguments: Any) -> Any:
    return arguments[-1].rstrip(arguments[0] if len(arguments) > 1 else " ")


_ONE_OR_TWO = takes(STRING, STRING, returns=STRING, optional=1)
_define("btrim", resolve=_ONE_OR_TWO, scalar=_btrim, shortcut=_trim_both)
_define("trim", resolve=_ONE_OR_TWO, scalar=_trim, shortcut=_trim_both, text=-1)
_define("ltrim", resolve=_ONE_OR_TWO, scalar=_ltrim, shortcut=_trim_left, text=-1)
_define("rtrim", resolve=_ONE_OR_TWO, scalar=_rtrim, shortcut=_trim_right, text=-1)

# Parts


def _substring(text: Text, start: int, length: int = _INT_MAX) -> Text:
    first = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    return text[max(first, 0) : max(first + length, first, 0)]


def _left(text: Text, length: int) -> Text:
    return text[: max(length, 0)]


def _right(text: str, length: int) -> str:
    return text[-length:] if length > 0 else ""


def _slices(text: pa.Array, start: int, length: int = _INT_MAX) -> pa.Array | None:
    if start < 0 or length <= 0 or pa.types.is_binary(text.type):
        return None
    first = max(start - 1, 0)
    return pc.utf8_slice_codeunits(text, first, min(first + length, _INT_MAX))


def _split_part(text: str, delimiter: str, part: int) -> str | None:
    if part == 0:
        return None
    parts = text.split(delimiter) if delimiter else [text]
    place = part - 1 if part > 0 else len(parts) + part
    return parts[place] if 0 <= place < len(parts) else ""


def _substring_index(text: Text, delimiter: Text, count: int) -> Text:
    """What is before the `count`-th delimiter, or after it from the end; delimiters may overlap."""
    if not delimiter or count == 0:
        return text[:0]
    size = len(delimiter)
    if count > 0:
        at = -1
        for _ in range(count):
            at = text.find(delimiter, at + 1)
            if at < 0:
                return text
        return text[:at]
    at = len(text) - size + 1
    for _ in range(-count):
        at = text.rfind(delimiter, 0, at - 1 + size) if at > 0 else -1
        if at < 0:
            return text
    return text[at + size :]


_define(
    "substring",
    "substr",
    resolve=_texts(1, INT, INT, optional=1),
    scalar=_substring,
    shortcut=_slices,
)
_define(
    "left",
    resolve=_texts(1, INT),
    scalar=_left,
    shortcut=lambda text, length: _slices(text, 1, length),
)
_define("right", resolve=takes(STRING, INT, returns=STRING), scalar=_right)
_define("split_part", resolve=takes(STRING, STRING, INT, returns=STRING), scalar=_split_part)
_define("substring_index", resolve=takes(STRING, STRING, INT, returns=STRING), scalar=_substring_index)

# Search


def _startswith(text: Text, part: Text) -> bool:
    return text.startswith(part)


def _endswith(text: Text, part: Text) -> bool:
    return text.endswith(part)


def _contains(text: Text, part: Text) -> bool:
    return part in text


def _instr(text: str, part: str, start: int = 1, occurrence: int = 1) -> int | None:
    """The place of an occurrence, from 1; from the end if `start` is negative."""
    if occurrence < 1:
        return None
    if not part:
        return 1
    if start == 0 or abs(start) > len(text):
        return 0
    at = start - 2 if start > 0 else len(text) + start + 1
    for _ in range(occurrence):
        at = text.find(part, at + 1) if start > 0 else text.rfind(part, 0, max(at - 1 + len(part), 0))
        if at < 0:
            return 0
    return at + 1


def _find_ascii(text: pa.Array, part: str, *start: int) -> pa.Array | None:
    # Arrow counts bytes, which are characters in ASCII only.
    if start or not is_ascii(text):
        return None
    return pc.add(pc.find_substring(text, pattern=part), 1)


def _locate(part: str | None, text: str | None, *start: int | None) -> int | None:
    first = start[0] if start else 1
    if first is None:
        return 0  # Spark checks the start before the texts
    if part is None or text is None:
        return None
    if first < 1:
        return 0
    return text.find(part, first - 1) + 1 if part else 1


_HAS = _texts(2, returns=BOOLEAN)
_define(
    "startswith",
    resolve=_HAS,
    scalar=_startswith,
    shortcut=lambda text, part: pc.starts_with(text, pattern=part),
)
_define(
    "endswith",
    resolve=_HAS,
    scalar=_endswith,
    shortcut=lambda text, part: pc.ends_with(text, pattern=part),
)
_define(
    "contains",
    resolve=_HAS,
    scalar=_contains,
    shortcut=lambda text, part: pc.match_substring(text, pattern=part),
)
_define(
    "instr",
    resolve=takes(STRING, STRING, INT, INT, returns=INT, optional=2),
    scalar=_instr,
    shortcut=_find_ascii,
)
_define(
    "locate",
    "position",
    resolve=takes(STRING, STRING, INT, returns=INT, optional=1),
    scalar=_locate,
    shortcut=_find_ascii,
    text=1,
    sees_null=True,
)

# Concatenation and padding


def _concat(*texts: Any) -> Any:
    if not texts:
        return ""
    if isinstance(texts[0], list):
        return list(chain.from_iterable(texts)) if sum(map(len, texts)) <= LONGEST else None
    return texts[0][:0].join(texts) if _fits(sum(map(len, texts)), *texts) else None


def _concat_vector(signature: Signature, columns: Sequence[Column]) -> Column:
    if signature.returns.name == "array":
        return apply_strict(_concat, signature.returns, columns)
    longest = sum(pc.max(pc.binary_length(column.values)).as_py() or 0 for column in columns)
    if longest > LONGEST:
        return apply_strict(_concat, signature.returns, columns)
    empty = pa.scalar(b"" if signature.returns == BINARY else "", columns[0].values.type)
    joined = pc.binary_join_element_wise(*(column.values for column in columns), empty)
    return Column(signature.returns, joined, joined.is_valid().to_numpy(zero_copy_only=False))


def _concat_ws(separator: Any, *texts: Any) -> Any:
    if separator is None:
        return None
    given = chain.from_iterable(text if isinstance(text, list) else (text,) for text in texts)
    found = [text for text in given if text is not None]
    length = sum(map(len, found)) + len(separator) * max(len(found) - 1, 0)
    return separator.join(found) if _fits(length, separator, *found) else None


def _repeat(text: Text, times: int) -> Text | None:
    return text * times if _fits(len(text) * times, text) else None


def _padding(length: int, pad: Text) -> Text:
    return (pad * (length // len(pad) + 1))[:length]


def _lpad(text: Text, length: int, *pad: Text) -> Text | None:
    missing = length - len(text)
    filler = pad[0] if pad else _blank(text)
    if missing <= 0 or not filler:
        return text[: max(length, 0)]
    return _padding(missing, filler) + text if length <= LONGEST else None


def _rpad(text: Text, length: int, *pad: Text) -> Text | None:
    missing = length - len(text)
    filler = pad[0] if pad else _blank(text)
    if missing <= 0 or not filler:
        return text[: max(length, 0)]
    return text + _padding(missing, filler) if length <= LONGEST else None


def _blank(text: str | bytes) -> Any:
    return " " if isinstance(text, str) else b"\0"


def _resolve_concat(arguments: Sequence[Argument], zone: str) -> Signature:
    if any(argument.type.name == "array" for argument in arguments):
        type_ = require_type(common_type(arguments), arguments)
    else:
        type_ = _text_type(arguments) if arguments else STRING
    return Signature((type_,) * len(arguments), type_, zone)


def _resolve_concat_ws(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1)
    _text_type([each for place, each in enumerate(arguments) if not place or not _is_flat_array(each.type)])
    types = [array(STRING) if _is_flat_array(argument.type) else STRING for argument in arguments]
    return Signature((STRING, *types[1:]), STRING, zone)


def _is_flat_array(type_: Type) -> bool:
    return type_.name == "array" and type_.item.name not in NESTED


def _resolve_reverse(arguments: Sequence[Argument], zone: str) -> Signature:
    if arguments and arguments[0].type.name == "array":
        check_count(arguments, 1, 1)
        return Signature((arguments[0].type,), arguments[0].type, zone)
    return _texts(1)(arguments, zone)


def _resolve_pad(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 3)
    type_ = _text_type((arguments[0], *arguments[2:]))
    return Signature((type_, INT, type_)[: len(arguments)], type_, zone)


_define("concat", "||", resolve=_resolve_concat, scalar=_concat, vector=_concat_vector)
_define("concat_ws", resolve=_resolve_concat_ws, scalar=_concat_ws, sees_null=True)
_define("repeat", resolve=takes(STRING, INT, returns=STRING), scalar=_repeat)
_define("lpad", resolve=_resolve_pad, scalar=_lpad)
_define("rpad", resolve=_resolve_pad, scalar=_rpad)

# Replacement


def _replace(text: Text, search: Text, *given: Text) -> Text | None:
    if not search:
        return text
    replacement = given[0] if given else text[:0]
    growth = len(replacement) - len(search)
    if growth > 0 and not _fits(len(text) + growth * text.count(search), text):
        return None
    return text.replace(search, replacement)


def _replace_column(text: pa.Array, search: str, replacement: str = "") -> pa.Array | None:
    if not search or len(replacement) > len(search):
        return None
    return pc.replace_substring(text, pattern=search, replacement=replacement)


def _translate(text: str, matching: str, replacement: str) -> str:
    table: dict[int, str] = {}
    for place, letter in enumerate(matching):
        table.setdefault(ord(letter), replacement[place : place + 1])
    return text.translate(table)


def _reverse(text: Any) -> Any:
    return text[::-1]


def _ascii(text: str) -> int:
    return ord(text[0]) if text else 0


def _chr(code: int) -> str:
    return chr(code & 0xFF) if code >= 0 else ""


_define(
    "replace",
    resolve=takes(STRING, STRING, STRING, returns=STRING, optional=1),
    scalar=_replace,
    shortcut=_replace_column,
)
_define("translate", resolve=takes(STRING, STRING, STRING, returns=STRING), scalar=_translate)
_define("reverse", resolve=_resolve_reverse, scalar=_reverse)
_define("ascii", resolve=takes(STRING, returns=INT), scalar=_ascii)
_define("chr", "char", resolve=takes(BIGINT, returns=STRING), scalar=_chr)


def _levenshtein(left: str, right: str, *most: int) -> int | None:
    """Edit distance, -1 if it is more than `most`; NULL if the product of the lengths exceeds 10**9.

    A `most` of NULL gives NULL, too; Spark's generated code reads an undefined number there.
    """
    if len(left) * len(right) > _MOST_CELLS:
        return None
    distance = edit_distance(left, right)
    return -1 if most and distance > most[0] else distance


_define(
    "levenshtein",
    resolve=takes(STRING, STRING, INT, returns=INT, optional=1),
    scalar=_levenshtein,
)
