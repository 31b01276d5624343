"""Routing: generalised copies of conditions decide which shards or neighbours an event or subscription goes to.

Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tamis.routing.explanation import explain_route
    from tamis.routing.shards import Routing, ShardAssignments

__all__ = [
    "Routing",
    "ShardAssignments",
    "explain_route",
]

_HOME_OF = {
    "Routing": "shards",
    "ShardAssignments": "shards",
    "explain_route": "explanation",
}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value = globals()[name] = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    return value
