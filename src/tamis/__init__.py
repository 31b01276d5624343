"""tamis: standing conditions, matched exactly against streams of events.

Names are imported when they are first used, so that `tamis --help` need not wait for pyarrow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tamis._version import __version__

if TYPE_CHECKING:
    from tamis.errors import (
        ConditionError,
        EventError,
        EventTypeError,
        Problem,
        SubscriptionError,
        TamisError,
    )
    from tamis.events.event_type import EventType
    from tamis.language.parser import parse
    from tamis.matcher import Matcher, Subscription
else:
    _HOMES = {
        "ConditionError": "tamis.errors",
        "EventError": "tamis.errors",
        "EventType": "tamis.events.event_type",
        "EventTypeError": "tamis.errors",
        "Matcher": "tamis.matcher",
        "Problem": "tamis.errors",
        "Subscription": "tamis.matcher",
        "SubscriptionError": "tamis.errors",
        "TamisError": "tamis.errors",
        "parse": "tamis.language.parser",
    }

    def __getattr__(name):
        if name not in _HOMES:
            msg = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(msg)
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__})


__all__ = [
    "ConditionError",
    "EventError",
    "EventType",
    "EventTypeError",
    "Matcher",
    "Problem",
    "Subscription",
    "SubscriptionError",
    "TamisError",
    "__version__",
    "parse",
]
