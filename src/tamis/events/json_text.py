"""One JSON event read by Python: the event, or what is wrong with it.

Faster readers must give the same events, and leave all mistakes to this one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from tamis.events.conversion import MAX_DEPTH
from tamis.events.event_type import EventType
from tamis.values.types import FLOAT, Type

_BOM = b"\xef\xbb\xbf"


def strip_text(text: bytes) -> bytes:
    """A text without the mark of UTF-8 before it and the blanks around it; empty if it holds no event."""
    return text.removeprefix(_BOM).strip(b" \t\r\n")


def json_parser(decode: Callable[[str], Any]) -> Callable[[bytes], dict[str, Any] | str]:
    """The function from the text of an event to the event, or to what is wrong with it; `decode` reads JSON."""

    def parse(text: bytes) -> dict[str, Any] | str:
        try:
            event = decode(text.decode())
        except UnicodeDecodeError as error:
            return f"not UTF-8: {error.reason} at byte {error.start}"
        except json.JSONDecodeError as error:
            return f"not JSON: {error.msg} at character {error.pos}"
        except RecursionError:
            return f"nested more than {MAX_DEPTH} deep"
        if not isinstance(event, dict):
            return f"expected a JSON object, found {_kind(event)}"
        if text.count(b"[") + text.count(b"{") > MAX_DEPTH and _is_deep(event):
            return f"nested more than {MAX_DEPTH} deep"
        return event

    return parse


def json_decoder(event_type: EventType) -> Callable[[str], Any]:
    """The function from JSON of any kind to its value; raises what `json` and a deep recursion raise."""
    exact = any(_needs_text(attribute.type) for attribute in event_type.attributes or ())
    return _decoder(exact, json.JSONDecoder.decode)


def leading_json(type_: Type) -> Callable[[str], Any]:
    """As `json_decoder`, of the value with which a text begins, whatever stands behind it."""
    return _decoder(_needs_text(type_), lambda decoder, text: decoder.raw_decode(text)[0])


def _decoder(exact: bool, read: Callable[[json.JSONDecoder, str], Any]) -> Callable[[str], Any]:
    quick = json.JSONDecoder(parse_float=_decimal) if exact else json.JSONDecoder()
    # Python refuses integers of thousands of digits. Only for them is a function called for each number.
    patient = json.JSONDecoder(parse_float=_decimal if exact else None, parse_int=loose_integer)

    def decode(text: str) -> Any:
        try:
            return read(quick, text)
        except json.JSONDecodeError:
            raise
        except ValueError:
            return read(patient, text)

    return decode


def _needs_text(type_: Type) -> bool:
    """Would a number lose digits as a double? Then its text is kept, as a Decimal."""
    if type_.name == "decimal" or type_ == FLOAT:
        return True
    if type_.element is not None:
        return _needs_text(type_.item)
    return any(_needs_text(inner) for _, inner in type_.fields)


def _decimal(text: str) -> Decimal | float:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond Decimal's
        return float(text)


def loose_integer(text: str) -> int | float:
    """An integer, or the nearest double if Python does not convert so many digits."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def _is_deep(event: dict[str, Any]) -> bool:
    level: list[Any] = [event]
    for _ in range(MAX_DEPTH):
        inner = (value.values() if isinstance(value, dict) else value for value in level)
        level = [item for items in inner for item in items if isinstance(item, (dict, list))]
        if not level:
            return False
    return True


def _kind(value: object) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return "a list" if isinstance(value, list) else "a string" if isinstance(value, str) else "a number"
