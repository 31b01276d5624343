"""The file of a sequence matcher: one object of JSON, with its format and version first.

Values that JSON lacks are written as objects with one key, such as `{"$datetime": "2026-11-18T01:00"}`, `$date`,
`$decimal` and `$bytes`; an object that has such a key itself, as `{"$object": [[name, value], ...]}`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from tamis.errors import EventError, SnapshotError, naming_write_errors

FORMAT, VERSION = "tamis composite state", 2
_READERS: dict[str, Callable[[str], Any]] = {
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$decimal": Decimal,
    "$bytes": bytes.fromhex,
}


def write_state(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write the file as a whole, or leave the one that is there.

    Raises:
        EventError: An event holds a value that cannot be written.
        WriteError: The file cannot be written.
    """
    whole = {"format": FORMAT, "version": VERSION, **content}
    written = json.dumps(encode_value(whole)).encode("utf-8")
    aside = Path(f"{os.fspath(path)}.new")
    with naming_write_errors(path):
        aside.write_bytes(written)
        aside.replace(path)


def read_state(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a file that `write_state` wrote.

    Raises:
        SnapshotError: The file is missing, damaged, foreign or newer.
    """
    file = os.fspath(path)
    try:
        content = decode_value(json.loads(Path(path).read_bytes()))
    except FileNotFoundError:
        raise SnapshotError(file, "there is no such file", "missing") from None
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise SnapshotError(file, f"not as it was written: {error}", "damaged") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise SnapshotError(file, "not the state of a sequence matcher", "foreign")
    if content.get("version") != VERSION:
        found = content.get("version")
        raise SnapshotError(file, f"version {found!r} of the format, this tamis reads {VERSION}", "newer")
    return content


def encode_value(value: Any) -> Any:
    """A value of an event as JSON has it.

    Raises:
        EventError: It cannot be written.
    """
    match value:
        case None | bool() | int() | float() | str():
            return value
        case dict() if any(isinstance(name, str) and name.startswith("$") for name in value):
            return {"$object": [[name, encode_value(item)] for name, item in value.items()]}
        case dict():
            return {name: encode_value(item) for name, item in value.items()}
        case list() | tuple():
            return [encode_value(item) for item in value]
        case datetime():
            return {"$datetime": value.isoformat()}
        case date():
            return {"$date": value.isoformat()}
        case Decimal():
            return {"$decimal": str(value)}
        case bytes():
            return {"$bytes": value.hex()}
    msg = f"an event holds a {type(value).__name__}, which cannot be saved"
    raise EventError(msg)


def decode_value(value: Any) -> Any:
    """What `encode_value` was given."""
    match value:
        case list():
            return [decode_value(item) for item in value]
        case {"$object": list(pairs)} if len(value) == 1:
            return {name: decode_value(item) for name, item in pairs}
        case dict() if len(value) == 1 and (tag := next(iter(value))) in _READERS:
            return _READERS[tag](value[tag])
        case dict():
            return {name: decode_value(item) for name, item in value.items()}
    return value
