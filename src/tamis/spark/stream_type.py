"""The event type of events that do not name their own.

Subscriptions to other event types are set aside, and never stop a query. A query keeps the type that it began
with: what others declare later does not change what its events are.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path

from tamis.errors import SubscriptionError
from tamis.snapshot import Manifest
from tamis.snapshot.local import LocalStorage

TYPE_FILE = "event_type"
"""In the state of a query: the event type of its events."""
_SHOWN = 5
"""How many event types a message offers."""


def living_types(manifest: Manifest) -> dict[str, int]:
    """The number of living subscriptions to each event type that has any."""
    counts: Counter[str] = Counter()
    for entry in manifest.entries:
        counts[entry.event_type] += entry.slots - entry.dead
    return dict(+counts)


def sole_type(schemaless: Mapping[str, bool], living: Collection[str]) -> str | None:
    """The event type of events that do not name theirs; None if there are no subscriptions.

    It is the only one with living subscriptions; of several, the only one that declares attributes.

    Args:
        schemaless: Of each event type, whether it declares no attributes.
        living: The event types with living subscriptions.

    Raises:
        SubscriptionError: There are several of them.
    """
    found = sorted(living) or sorted(schemaless)
    if len(found) > 1:
        found = [name for name in found if not schemaless[name]] or found
    if len(found) > 1 and living:
        written = [f"event_type = {json.dumps(name, ensure_ascii=False)}" for name in found[:_SHOWN]]
        more = [] if len(found) <= _SHOWN else [f"one of {len(found) - _SHOWN} more"]
        msg = (
            f"there are subscriptions to several event types ({', '.join(found)}), and nothing says of which "
            f"type an event is. If all are of one type, write {' or '.join([*written, *more])}; if an attribute "
            'of each event names its type, write type_attribute = "NAME" with the name of that attribute: under '
            "[events] in a pipeline, as an argument of Reading in Python; match takes event_type, too"
        )
        raise SubscriptionError(msg)
    return found[0] if len(found) == 1 else None


class StreamType:
    """The event type of the events of one query."""

    def __init__(self, file: Path | None = None, given: str | None = None) -> None:
        """Nothing is chosen yet.

        Args:
            file: Where the choice is kept; None if it is not.
            given: The event type, if the caller names it.
        """
        self._file = file
        self._given = given

    def doubt(self, manifest: Manifest) -> str | None:
        """What is odd about the event type that the caller named: there are others, and none of that name.

        It may be declared later, so this is no error.
        """
        known = sorted(manifest.event_types)
        if self._given is None or not known or self._given in known:
            return None
        close = get_close_matches(self._given, known, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        shown = ", ".join(known[:_SHOWN]) + (f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else "")
        found = f"there is no event type {self._given!r}: no event matches until it is declared"
        return f"{found}; known are {shown}{hint}"

    def choose(self, manifest: Manifest, *, remember: bool = True) -> str | None:
        """The event type of a version's events; None if the version has no subscriptions.

        Args:
            manifest: The version.
            remember: Keep the choice for later versions?

        Raises:
            SubscriptionError: It could be one of several.
            WriteError: The choice cannot be kept.
        """
        if self._given is not None:
            return self._given
        schemaless = {name: each.get("attributes") is None for name, each in manifest.event_types.items()}
        living = living_types(manifest)
        before = self._file.read_text() if self._file is not None and self._file.exists() else None
        if before in schemaless and (before in living or not schemaless[before]):
            return before
        found = sole_type(schemaless, living)
        if remember and self._file is not None and found in living:
            LocalStorage(self._file.parent).write(self._file.name, [found.encode()])
        return found
