"""Misfits among events that are columns: tasks of `tamis.spark.match` that tell of them, or keep them out.

They are stages of their own, before events are sent to shards, so that every event is looked at once, whichever
shards it visits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Mask
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.events.misfits import OnMisfit, find_misfits, misfit_rows, refuse_misfits


@dataclass(frozen=True, slots=True)
class MisfitsTask:
    """Tells of every value that does not fit the type of its event.

    Attributes:
        event_type: What events are expected to be.
        event_id: The column that names an event.
    """

    event_type: EventType
    event_id: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark calls for a partition."""
        for events in batches:
            found = find_misfits(EventBatch.of(events, self.event_type))
            if found:
                columns = {
                    "event_id": events[self.event_id].take(pa.array([each.row for each in found])),
                    "attribute": pa.array([each.attribute for each in found]),
                    "expected": pa.array([each.expected for each in found]),
                    "found": pa.array([each.found for each in found], pa.string()),
                }
                yield pa.RecordBatch.from_pydict(columns)


@dataclass(frozen=True, slots=True)
class FitTask:
    """Gives the events that fit their type.

    Attributes:
        event_type: What events are expected to be.
        event_id: The column that names an event.
        on_misfit: "dead letter" to leave the others out, "refuse" to fail.
    """

    event_type: EventType
    event_id: str
    on_misfit: OnMisfit

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark calls for a partition.

        Raises:
            MisfitError: An event does not fit, and such events are refused.
        """
        for events in batches:
            batch = EventBatch.of(events, self.event_type)
            misfits: Mask = misfit_rows(batch)
            if self.on_misfit == "refuse":
                refuse_misfits(batch, events[self.event_id], misfits)
            yield events.filter(pc.invert(pa.array(misfits))) if misfits.any() else events
