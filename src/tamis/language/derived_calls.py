"""Calls that mean others: struct, decode with pairs, functions of maps with lambdas, texts with a collation.

Each is replaced in the syntax tree, before it is typed; nothing behind the analyser knows them.
"""

from __future__ import annotations

from collections.abc import Callable

from tamis.functions.registry import ArgumentError
from tamis.syntax.tree import Expression, FunctionCall, Lambda, Literal, Name, Span
from tamis.values.types import BIGINT, INT, NULL, STRING

_BY_KEY = frozenset("= <> < <= > >= <=> in startswith endswith contains like".split())
_COLLATIONS = {"UTF8_BINARY": ("", False), "UTF8_LCASE": ("lcase_key", False)}
_COLLATIONS |= {f"{name}_RTRIM": (key, True) for name, (key, _) in _COLLATIONS.items()}


def derive_call(node: FunctionCall) -> Expression:
    """The call that this one means; itself if it is none of those.

    Raises:
        ArgumentError: The arguments are not those that it takes.
    """
    if any(_is_collated(each) for each in node.arguments):
        return _collate(node)
    make = DERIVED.get(node.function)
    return node if make is None else make(node)


def _call(node: FunctionCall, function: str, *arguments: Expression) -> FunctionCall:
    return FunctionCall(function, arguments, node.span)


def _text(value: str, span: Span) -> Literal:
    return Literal(STRING, value, span)


def _struct(node: FunctionCall) -> Expression:
    """struct(a, b + 1) is named_struct('a', a, 'col2', b + 1)."""
    arguments: list[Expression] = []
    for place, each in enumerate(node.arguments, 1):
        name = each.parts[-1] if isinstance(each, Name) else f"col{place}"
        arguments += [_text(name, each.span), each]
    return _call(node, "named_struct", *arguments)


def _decode(node: FunctionCall) -> Expression:
    """With pairs: the value beside the first key that is equal, NULL to NULL, else the last value."""
    if len(node.arguments) < 3:
        return node
    sought, *rest = node.arguments
    parts: list[Expression] = []
    for key, value in zip(rest[0::2], rest[1::2], strict=False):
        parts += [_call(node, "<=>", sought, key), value]
    return _call(node, "case", *parts, *(rest[-1:] if len(rest) % 2 else ()))


def _equal_null(node: FunctionCall) -> Expression:
    return _call(node, "<=>", *node.arguments)


def _space(node: FunctionCall) -> Expression:
    return _call(node, "repeat", _text(" ", node.span), *node.arguments)


def _regexp_replace(node: FunctionCall) -> Expression:
    """With a place to begin at, from 1: the text before it is kept."""
    if len(node.arguments) != 4:
        return node
    text, pattern, replacement, place = node.arguments
    if not isinstance(place, Literal) or place.type not in (INT, BIGINT) or place.value < 1:
        msg = "expected a place from 1 on, written out"
        raise ArgumentError(msg, 3)
    before = _call(node, "substring", text, Literal(INT, 1, place.span), Literal(INT, place.value - 1, place.span))
    rest = _call(node, "substring", text, place)
    return _call(node, "concat", before, _call(node, "regexp_replace", rest, pattern, replacement))


def _arrays_zip(node: FunctionCall) -> Expression:
    """Structs of the elements at each place; a field has the name of its attribute, else its number."""
    if not node.arguments:
        msg = "expected arrays"
        raise ArgumentError(msg)
    names = [each.parts[-1] if isinstance(each, Name) else f"{at}" for at, each in enumerate(node.arguments)]

    def fields(count: int, last: str, others: Callable[[str], Expression]) -> Expression:
        parts: list[Expression] = []
        for name in names[:count]:
            parts += [_text(name, node.span), others(name)]
        return _call(node, "named_struct", *parts, _text(names[count], node.span), Name((last,), node.span))

    found: Expression = _call(
        node, "transform", node.arguments[0], Lambda("x", fields(0, "x", lambda name: Name((name,))), node.span)
    )
    for at, each in enumerate(node.arguments[1:], 1):
        body = fields(at, "y", lambda name: Name(("x", name), node.span))
        found = _call(node, "zip_with", found, each, Lambda("x", body, node.span, others=("y",)))
    return found


def _entries(node: FunctionCall) -> tuple[Expression, Expression, Lambda]:
    """Keys and values of the map, and the lambda of both."""
    each = node.arguments[-1] if len(node.arguments) == 2 else None
    if not isinstance(each, Lambda) or len(each.variables) != 2:
        msg = f"it is written {node.function}(map, (key, value) -> ...)"
        raise ArgumentError(msg)
    keys, values = (_call(node, part, node.arguments[0]) for part in ("map_keys", "map_values"))
    return keys, values, each


def _transform_values(node: FunctionCall) -> Expression:
    keys, values, each = _entries(node)
    return _call(node, "map_from_arrays", keys, _call(node, "zip_with", keys, values, each))


def _transform_keys(node: FunctionCall) -> Expression:
    keys, values, each = _entries(node)
    return _call(node, "map_from_arrays", _call(node, "zip_with", keys, values, each), values)


def _map_filter(node: FunctionCall) -> Expression:
    """Entries that are not kept become NULL, and go."""
    keys, values, each = _entries(node)
    key, value = (Name((name,), each.span) for name in each.variables)
    entry = _call(node, "named_struct", _text("key", each.span), key, _text("value", each.span), value)
    kept = _call(node, "if", each.body, entry, Literal(NULL, None, each.span))
    pairs = _call(node, "zip_with", keys, values, Lambda(each.variable, kept, each.span, others=each.others))
    known = _call(node, "is_not_null", Name(("entry",), each.span))
    return _call(node, "map_from_entries", _call(node, "filter", pairs, Lambda("entry", known, each.span)))


def _map_zip_with(node: FunctionCall) -> Expression:
    """The values of both maps at each key of either; names with a blank are none of the condition's own."""
    if len(node.arguments) != 3 or not _takes(node.arguments[2], 3):
        msg = "it is written map_zip_with(map, map, (key, x, y) -> ...)"
        raise ArgumentError(msg)
    *maps, each = node.arguments
    assert isinstance(each, Lambda), "it was checked"
    span = each.span
    key, x, y = each.variables

    def alone(value: Expression) -> Expression:
        return _call(node, "array", value)

    def first(values: Expression) -> Expression:
        return _call(node, "[]", values, Literal(INT, 0, span))

    def field(name: str) -> Expression:
        return Name(("an entry", name), span)

    at = Name(("a key",), span)
    parts: list[Expression] = [_text("key", span), at]
    for name, given in zip("xy", maps, strict=True):
        parts += [_text(name, span), _call(node, "element_at", given, at)]
    keys = _call(node, "array_union", *(_call(node, "map_keys", given) for given in maps))
    entries = _call(node, "transform", keys, Lambda("a key", _call(node, "named_struct", *parts), span))
    inner = first(_call(node, "transform", alone(field("y")), Lambda(y, each.body, span)))
    pairs = _call(node, "zip_with", alone(field("key")), alone(field("x")), Lambda(key, inner, span, others=(x,)))
    values = _call(node, "transform", entries, Lambda("an entry", first(pairs), span))
    return _call(node, "map_from_arrays", keys, values)


def _takes(node: Expression, count: int) -> bool:
    return isinstance(node, Lambda) and len(node.variables) == count


# --- collations ----------------------------------------------------------------------------------------------


def _is_collated(node: Expression) -> bool:
    return isinstance(node, FunctionCall) and node.function == "collate"


def _collate(node: FunctionCall) -> Expression:
    """A comparison under a collation is one of what the collation compares."""
    if node.function == "collation":
        return _name_of_collation(node)
    names = {_collation(each) for each in node.arguments if _is_collated(each)}
    if len(names) > 1:
        msg = "two collations are named in one comparison"
        raise ArgumentError(msg)
    ((name, key, trims),) = names
    plain = [each.arguments[0] if _is_collated(each) else each for each in node.arguments]  # type: ignore[union-attr]
    if name == "UTF8_BINARY" and node.function != "collate":
        return _call(node, node.function, *plain)
    if node.function not in _BY_KEY or (trims and node.function in ("like", "startswith", "contains")):
        msg = f"{node.function} is not supported under the collation {name}"
        raise ArgumentError(msg, None, "compare by =, <, IN or BETWEEN, or write lower(x)")
    wrapped = [_call(node, "rtrim", each) if trims else each for each in plain]
    return _call(node, node.function, *(_call(node, key, each) if key else each for each in wrapped))


def _collation(node: Expression) -> tuple[str, str, bool]:
    """The name of a collation, the function whose values it compares, and whether blanks at the end count."""
    assert isinstance(node, FunctionCall), "it is a call of collate"
    given = node.arguments[1] if len(node.arguments) == 2 else None
    name = given.value.upper() if isinstance(given, Literal) and isinstance(given.value, str) else ""
    if name not in _COLLATIONS:
        msg = f"the collation {name or '?'} is not supported"
        raise ArgumentError(msg, None, f"supported are {', '.join(_COLLATIONS)}")
    return name, *_COLLATIONS[name]


def _name_of_collation(node: FunctionCall) -> Expression:
    if len(node.arguments) != 1:
        msg = "expected a text"
        raise ArgumentError(msg)
    [text] = node.arguments
    name = _collation(text)[0] if _is_collated(text) else "UTF8_BINARY"
    return _text(f"SYSTEM.BUILTIN.{name}", node.span)


def _collate_alone(node: FunctionCall) -> Expression:
    name, key, trims = _collation(node)
    if key or trims:
        msg = f"the collation {name} counts only directly in a comparison"
        raise ArgumentError(msg, None, "write x COLLATE UTF8_LCASE = y")
    return node.arguments[0]


DERIVED: dict[str, Callable[[FunctionCall], Expression]] = {
    "struct": _struct,
    "decode": _decode,
    "equal_null": _equal_null,
    "space": _space,
    "regexp_replace": _regexp_replace,
    "arrays_zip": _arrays_zip,
    "transform_values": _transform_values,
    "transform_keys": _transform_keys,
    "map_filter": _map_filter,
    "map_zip_with": _map_zip_with,
    "collate": _collate_alone,
    "collation": _name_of_collation,
}
"""What each of these calls means, by its name."""
