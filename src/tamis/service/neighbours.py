"""The neighbours of a site as its settings have them: a table each in a file, elsewhere a text.

The text is `name url token`, and perhaps `link_bytes=...`, `link_measure=...` and `link_merging=...`, which hold
for this link instead of the settings of these names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tamis.errors import TamisError

NAMES = ("name", "url", "token")
_OWN: dict[str, type] = {"link_bytes": int, "link_measure": str, "link_merging": bool}
_TRUTHS = {"true": True, "false": False}


class NeighbourError(TamisError):
    """A neighbour is not what it should be: the message says what was expected."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A neighbour of the settings.

    Attributes:
        name: Of its site.
        url: Where its service is.
        token: Of the link.
        link_bytes: Most bytes of the entries that it gets; None for the setting of all links, as for the others.
        link_measure: By which they are pruned.
        link_merging: Are entries of one form merged before?
    """

    name: str
    url: str
    token: str = field(repr=False)
    link_bytes: int | None = None
    link_measure: str | None = None
    link_merging: bool | None = None

    def __post_init__(self) -> None:
        if self.link_bytes is not None and self.link_bytes < 0:
            msg = f"{self.name}: link_bytes: expected 0 or more, found {self.link_bytes}"
            raise NeighbourError(msg)
        if self.link_measure is not None:
            from tamis.routing.generalisation import known_measures  # it takes its time

            if self.link_measure not in known_measures():
                expected = ", ".join(known_measures())
                msg = f"{self.name}: link_measure: expected one of {expected}, found {self.link_measure!r}"
                raise NeighbourError(msg)


def read_neighbour(text: str) -> Neighbour:
    """A neighbour of a text.

    >>> read_neighbour("north https://north.example link_... link_bytes=5000 link_merging=false").link_bytes
    5000

    Raises:
        NeighbourError: It is none.
    """
    parts = text.split()
    values: dict[str, Any] = {}
    for part in parts[len(NAMES) :]:
        own, is_there, value = part.partition("=")
        if own not in _OWN or not is_there or own in values:
            msg = f"expected {', '.join(NAMES)} of each, with blanks between them, and perhaps {_own()}"
            raise NeighbourError(msg)
        values[own] = _value(parts[0], own, value)
    if len(parts) < len(NAMES):
        msg = f"expected {', '.join(NAMES)} of each, with blanks between them, and perhaps {_own()}"
        raise NeighbourError(msg)
    name, url, token = parts[: len(NAMES)]
    return Neighbour(name, url, token, **values)


def neighbour_text(table: Any) -> str:
    """A table of a file as the one text that it is elsewhere.

    Raises:
        NeighbourError: It has not the texts that it needs, or something else.
    """
    if (
        not isinstance(table, Mapping)
        or not {*NAMES} <= {*table} <= {*NAMES, *_OWN}
        or not all(isinstance(table[name], str) for name in NAMES)
        or not all(type(table[name]) is _OWN[name] for name in table if name in _OWN)
    ):
        msg = f"expected the texts {', '.join(NAMES)}, and perhaps {_own()}, and no others"
        raise NeighbourError(msg)
    own = [f"{name}={str(table[name]).lower()}" for name in _OWN if name in table]
    return " ".join([*(table[name] for name in NAMES), *own])


def _value(neighbour: str, name: str, text: str) -> int | str | bool:
    try:
        return _TRUTHS[text] if _OWN[name] is bool else _OWN[name](text)
    except (ValueError, KeyError) as error:
        expected = "true or false" if _OWN[name] is bool else "a whole number"
        msg = f"{neighbour}: {name}: expected {expected}, found {text!r}"
        raise NeighbourError(msg) from error


def _own() -> str:
    *names, last = _OWN
    return f"{', '.join(names)} and {last}"
