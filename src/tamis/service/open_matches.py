"""What is open of composite subscriptions, read from the state of the stream after its newest batch."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tamis.composite.parts import compile_composite
from tamis.language.dialects import has_state
from tamis.service.core import Service
from tamis.service.names import local_name, qualified_name
from tamis.service.stream import STREAM
from tamis.store import StoredSubscription

_NEVER = datetime.max.replace(tzinfo=UTC)
_ATTEMPTS = 3
"""How often a state is read that the stream removes meanwhile."""


def read_open(service: Service, tenant: str, stored: StoredSubscription, most: int = 100) -> list[dict[str, Any]]:
    """The matches of a subscription that have begun, by key, what ends first first; none of an ordinary one."""
    from tamis.spark.composite_states import newest_files
    from tamis.spark.composite_task import explain_open

    if not has_state(stored.dialect):
        return []
    event_type = service.subscriptions.event_type(tenant, stored.event_type)
    composite = compile_composite(stored.condition, event_type, service.subscriptions.limits(tenant))
    folder = str(service.settings.folder / STREAM / "composite")
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            files = newest_files(folder)
            found = explain_open(
                folder, files, qualified_name(tenant, stored.id), stored.revision, composite, most
            )
            break
        except FileNotFoundError:
            if attempt == _ATTEMPTS:
                raise
    found.sort(key=lambda each: min((one.until for one in each[1].open), default=_NEVER))
    return [
        {
            "key": key,
            "found": each.reached,
            "until": each.until,
            "reason": each.reason,
            "first": local_name(str(each.first["id"])),
        }
        for key, explanation in found
        for each in explanation.open
    ][:most]
