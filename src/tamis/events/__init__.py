"""Events: their types, their readers, and batches of them as columns."""

from tamis.events import json_functions  # noqa: F401  (importing registers)
from tamis.events.batch import EventBatch
from tamis.events.event_type import Attribute, EventType
from tamis.events.misfits import find_misfits
from tamis.events.reading import read_events
from tamis.events.validation import validate

__all__ = ["Attribute", "EventBatch", "EventType", "find_misfits", "read_events", "validate"]
