"""JSON documents that say what they are: a kind, a format number, a checksum.

The same content always gives the same bytes. A document is taken only if it is of the kind and format that the
reader knows and is, to the last byte that matters, what was written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from tamis.errors import SnapshotError


def canonical(value: Any) -> bytes:
    """JSON in one spelling only: sorted keys, no blanks, ASCII.

    Raises:
        TypeError: JSON cannot say it.
        ValueError: It has a NaN or an infinity.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def digest(content: bytes) -> str:
    """The sha256 of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def seal(kind: str, format: int, content: Mapping[str, Any]) -> bytes:
    """A document with its kind, its format and a checksum of all that it says, for people to read, too."""
    document = {"kind": kind, "format": format, **content}
    sealed = {**document, "checksum": digest(canonical(document))}
    return json.dumps(sealed, indent=1, allow_nan=False).encode("ascii") + b"\n"


def unseal(data: bytes, kind: str, format: int, file: str) -> dict[str, Any]:
    """What a sealed document says.

    Raises:
        SnapshotError: It is damaged, foreign or newer.
    """
    document = parse(data, kind, format, file)
    written = document.pop("checksum", None)
    if written != digest(canonical(document)):
        raise SnapshotError(file, "damaged: its checksum is not that of its content", "damaged")
    return document


def parse(data: bytes, kind: str, format: int, file: str) -> dict[str, Any]:
    """A document of a kind and format; its checksum is not looked at.

    Raises:
        SnapshotError: It is no JSON, of another kind, or of a format that is not known here.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise SnapshotError(file, f"damaged or foreign: not JSON: {error}", "damaged") from error
    if not isinstance(document, dict) or document.get("kind") != kind:
        raise SnapshotError(file, f"foreign: expected a document of kind {kind!r}", "foreign")
    found = document.get("format")
    if not isinstance(found, int) or found < 1:
        raise SnapshotError(file, f"damaged: the format is {found!r}, expected a number", "damaged")
    if found > format:
        message = f"newer: its format is {found}, this tamis reads up to {format}; upgrade tamis"
        raise SnapshotError(file, message, "newer")
    return document
