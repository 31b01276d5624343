"""tamis on Spark: pairs of DataFrames, and of streams, exactly once.

Names are imported when they are first used; `pip install '.[spark]'` in a clone brings what they need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tamis.spark.composite_states import CompositeSettings
    from tamis.spark.event_reading import Reading
    from tamis.spark.event_statistics import statistics
    from tamis.spark.matching import match
    from tamis.spark.preparation import Prepared, prepare
    from tamis.spark.stream_query import stream

__all__ = [
    "CompositeSettings",
    "Prepared",
    "Reading",
    "match",
    "prepare",
    "statistics",
    "stream",
]

_HOME_OF = {
    "CompositeSettings": "tamis.spark.composite_states",
    "Prepared": "tamis.spark.preparation",
    "Reading": "tamis.spark.event_reading",
    "match": "tamis.spark.matching",
    "prepare": "tamis.spark.preparation",
    "statistics": "tamis.spark.event_statistics",
    "stream": "tamis.spark.stream_query",
}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return value
