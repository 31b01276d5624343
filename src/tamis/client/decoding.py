"""JSON of answers as frozen dataclasses.

Keys that a dataclass does not have are left out, so that an older client reads a newer service; a key that is
missing and has no default, or a value of another type, is an error that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from tamis.client.errors import UNEXPECTED, ClientError

T = TypeVar("T")
_Convert: TypeAlias = Callable[[Any, str], Any]
_PLAIN = (str, int, float, bool)


class _RecordField(NamedTuple):
    name: str
    required: bool
    convert: _Convert


def decode(kind: type[T], value: Any, place: str = "") -> T:
    """A record of an answer.

    Args:
        kind: The dataclass.
        value: From JSON.
        place: How an error calls it; by default by the name of the class.

    Raises:
        ClientError: It is not such a record.

    >>> from tamis.client.models import Accepted
    >>> decode(Accepted, {"accepted": 2, "repeated": 0, "ids": ["a", "b"], "later": "more"})
    Accepted(accepted=2, repeated=0, ids=('a', 'b'), warnings=())
    """
    place = place or kind.__name__
    if not isinstance(value, Mapping):
        raise _unreadable(place, "an object", value)
    given: dict[str, Any] = {}
    for field in _fields(kind):  # type: ignore[arg-type]
        if field.name in value:
            given[field.name] = field.convert(value[field.name], f"{place}.{field.name}")
        elif field.required:
            msg = f"the service's answer lacks {place}.{field.name}"
            raise ClientError(None, UNEXPECTED, msg)
    return kind(**given)


def member(value: Any, name: str) -> Any:
    """What an object of an answer has under a name.

    Raises:
        ClientError: It is not an object, or has nothing of that name.
    """
    if not isinstance(value, Mapping) or name not in value:
        expected = f"an object with {name}"
        raise _unreadable(name, expected, value)
    return value[name]


def decode_items(kind: type[T], value: Any) -> tuple[T, ...]:
    """The records of an array.

    Raises:
        ClientError: It is not an array of such records.
    """
    if not isinstance(value, list):
        raise _unreadable(kind.__name__, "an array", value)
    return tuple(decode(kind, each, f"{kind.__name__}[{place}]") for place, each in enumerate(value))


@cache
def _fields(kind: type[Any]) -> tuple[_RecordField, ...]:
    hints = get_type_hints(kind)
    return tuple(
        _RecordField(
            field.name,
            field.default is MISSING and field.default_factory is MISSING,
            _converter(hints[field.name]),
        )
        for field in fields(kind)
    )


def _converter(hint: Any) -> _Convert:
    """What makes a value of that type from JSON."""
    if get_origin(hint) in {Union, UnionType}:
        inner = _converter(next(each for each in get_args(hint) if each is not NoneType))
        return lambda value, place: None if value is None else inner(value, place)
    if get_origin(hint) is tuple:
        each = _converter(get_args(hint)[0])
        return lambda value, place: _tuple(each, value, place)
    if hint is datetime:
        return _time
    if hint in _PLAIN:
        return lambda value, place: _plain(hint, value, place)
    if is_dataclass(hint):
        return lambda value, place: decode(hint, value, place)  # type: ignore[arg-type]
    return lambda value, place: value


def _tuple(each: _Convert, value: Any, place: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _unreadable(place, "an array", value)
    return tuple(each(one, f"{place}[{number}]") for number, one in enumerate(value))


def _time(value: Any, place: str) -> datetime:
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise _unreadable(place, "a time in ISO 8601", value) from None


def _plain(kind: type[Any], value: Any, place: str) -> Any:
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise _unreadable(place, {"str": "a text", "bool": "true or false"}.get(kind.__name__, "a number"), value)
    return value


def _unreadable(place: str, expected: str, value: Any) -> ClientError:
    found = repr(value)
    shown = found if len(found) <= 80 else f"{found[:80]}..."
    return ClientError(None, UNEXPECTED, f"the service's answer: {place}: expected {expected}, found {shown}")
