"""Texts made of binaries keep their bytes, which need not be UTF-8.

A text of ours is Unicode; Spark's is any bytes. So a cast of a binary to a string is not computed where the bytes
count, but handed on: `coalesce(CAST(b AS STRING), 'x')` becomes `CAST(coalesce(b, X'78') AS STRING)`, and the cast
ends where texts are compared, in a comparison of binaries. The casts that remain stand before functions for which
Spark, too, repairs a text first (LIKE, RLIKE, upper, split), and before the few that count its characters.
"""

from __future__ import annotations

from tamis.formulas.expression import Apply, Constant, Typed
from tamis.functions import FUNCTIONS
from tamis.functions.registry import Signature
from tamis.values.casts import caster
from tamis.values.types import BINARY, NESTED, STRING, Type, array, map_of, struct

_KEEPING = frozenset(
    "= <> < <= > >= <=> in coalesce nvl nvl2 if case nullif greatest least elt array_repeat array "
    "named_struct field [] get element_at array_contains arrays_overlap array_position array_max "
    "array_min array_append array_prepend array_insert array_remove array_compact array_distinct "
    "array_union array_intersect array_except slice flatten sort_array array_sort map map_keys map_values "
    "map_entries map_contains_key map_from_arrays map_from_entries map_concat concat concat_ws array_join "
    "repeat replace substring_index contains startswith endswith octet_length bit_length hex hash "
    "xxhash64".split()
)
"""Functions of texts that do the same to their bytes."""
_TRIMS = frozenset(("trim", "ltrim", "rtrim", "btrim"))


def bytes_type(type_: Type) -> Type:
    """The type with binaries in the place of strings.

    >>> str(bytes_type(array(STRING)))
    'array<binary>'
    """
    if type_ == STRING:
        return BINARY
    if type_.name == "array":
        return array(bytes_type(type_.item))
    if type_.name == "map":
        (_, key), (_, value) = type_.item.fields
        return map_of(bytes_type(key), bytes_type(value))
    return struct(*((name, bytes_type(each)) for name, each in type_.fields)) if type_.name == "struct" else type_


def is_text_of_bytes(expression: Typed) -> bool:
    """Is it a cast that makes texts of binaries and changes nothing else?"""
    if not (isinstance(expression, Apply) and expression.function == "cast"):
        return False
    (source,), target = expression.signature.parameters, expression.type
    # A cast the other way has no binary in its source.
    return source != target and bytes_type(source) == bytes_type(target) != target


def as_bytes(expression: Typed, zone: str) -> Typed:
    """The expression with binaries in the place of texts: of a text of bytes, those bytes."""
    if isinstance(expression, Apply) and is_text_of_bytes(expression):
        expression = expression.arguments[0]
    target = bytes_type(expression.type)
    if target == expression.type:
        return expression
    if isinstance(expression, Constant):
        value = None if expression.value is None else caster(expression.type, target, zone)(expression.value)
        return Constant(target, value)
    return Apply("cast", (expression,), Signature((expression.type,), target, zone))


def as_text(expression: Typed, target: Type, zone: str) -> Typed:
    """The expression with texts in the place of binaries, as a cast that may be handed on; or as it is."""
    if expression.type == target:
        return expression
    if isinstance(expression, Constant) and is_readable(expression.value, expression.type, target, zone):
        value = None if expression.value is None else caster(expression.type, target, zone)(expression.value)
        return Constant(target, value)
    return Apply("cast", (expression,), Signature((expression.type,), target, zone))


def is_readable(value: object, source: Type, target: Type, zone: str) -> bool:
    """Are the bytes of a constant that is cast to text those of the text?"""
    if value is None or bytes_type(source) != bytes_type(target):
        return True
    text = caster(source, target, zone)(value)
    return bool(caster(target, bytes_type(target), zone)(text) == caster(source, bytes_type(target), zone)(value))


def _keeps_texts(source: Type, target: Type) -> bool:
    """Does a cast make texts, or binaries, of all texts, and of nothing else?"""
    if source == STRING:
        return target in (STRING, BINARY)
    if source.name != target.name or source.name not in NESTED:
        return bytes_type(target) == target
    if source.name == "struct":
        return all(
            _keeps_texts(one, other) for (_, one), (_, other) in zip(source.fields, target.fields, strict=True)
        )
    return _keeps_texts(source.item, target.item)


def keep_bytes(name: str, arguments: tuple[Typed, ...], signature: Signature) -> Typed | None:
    """A call with texts of bytes among its arguments, as one of their bytes; None if it is not such a call."""
    if not any(map(is_text_of_bytes, arguments)):
        return None
    zone, returns = signature.zone, signature.returns
    if name == "cast":
        if not _keeps_texts(arguments[0].type, returns):
            return None
        bare, target = as_bytes(arguments[0], zone), bytes_type(returns)
        if bare.type != target:
            bare = Apply("cast", (bare,), Signature((bare.type,), target, zone))
        return as_text(bare, returns, zone)
    if name in _TRIMS and len(arguments) == 1:
        blank = Constant(BINARY, b" ")
        bare = as_bytes(arguments[0], zone)
        pair = (bare, blank) if name == "btrim" else (blank, bare)
        return as_text(Apply(name, pair, Signature((BINARY, BINARY), BINARY, zone)), STRING, zone)
    if name not in _KEEPING:
        return None
    # The names of fields are texts, whatever the fields are.
    named = {"named_struct": range(0, len(arguments), 2), "field": range(1, 2)}.get(name, ())
    given = tuple(each if at in named else as_bytes(each, zone) for at, each in enumerate(arguments))
    inner = Signature(tuple(each.type for each in given), returns if name == "hex" else bytes_type(returns), zone)
    if all(isinstance(each, Constant) for each in given):
        values = [each.value for each in given if isinstance(each, Constant)]
        return as_text(Constant(inner.returns, FUNCTIONS[name].scalar(inner)(*values)), returns, zone)
    return as_text(Apply(name, given, inner), returns, zone)
