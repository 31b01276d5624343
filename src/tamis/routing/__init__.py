"""Routing: generalised copies of conditions, which decide where events and subscriptions go.

Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tamis.routing.advertisements import Advertisement, Advertisements
    from tamis.routing.covering import Covering
    from tamis.routing.cutoff import CutOff
    from tamis.routing.explaining import explain_route
    from tamis.routing.overlay import Overlay
    from tamis.routing.pruning import Pruner
    from tamis.routing.selectivity import SelectivityTable
    from tamis.routing.shards import Deals, Routing

__all__ = [
    "Advertisement",
    "Advertisements",
    "Covering",
    "CutOff",
    "Deals",
    "Overlay",
    "Pruner",
    "Routing",
    "SelectivityTable",
    "explain_route",
]

_HOME_OF = {
    "Advertisement": "advertisements",
    "Advertisements": "advertisements",
    "Covering": "covering",
    "CutOff": "cutoff",
    "Deals": "shards",
    "Overlay": "overlay",
    "Pruner": "pruning",
    "Routing": "shards",
    "SelectivityTable": "selectivity",
    "explain_route": "explaining",
}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    return value
