"""Events as JSON texts in a column, as from Kafka or a text file: one text, one event.

A text that is no event never stops the others: it comes back as a `DeadLetter` with its row.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.events.batch import EventBatch
from tamis.events.dead_letters import DeadLetter
from tamis.events.reading import MAX_LINE_BYTES, read_json_lines


@dataclass(frozen=True, slots=True)
class JsonValues:
    """The events of a column of texts.

    Attributes:
        batches: Their ids are the rows of the column.
        dead_letters: Texts that are no events, each after its row.
    """

    batches: list[EventBatch]
    dead_letters: list[tuple[int, DeadLetter]]


def read_json_values(values: pa.Array, event_type: Any = None, *, most_bytes: int = MAX_LINE_BYTES) -> JsonValues:
    """The events of a column of strings or bytes; a row that is null or blank has none.

    Args:
        values: One JSON object a row.
        event_type: Whatever `EventType.of` takes.
        most_bytes: Longer texts are dead letters.
    """
    texts = pc.fill_null(values.cast(pa.binary()), b"")
    if not len(texts):
        return JsonValues([], [])
    # A line end within a text is white space, or wrong within a string: so is a tab, and lines stay one text each.
    for end in (b"\n", b"\r"):
        if pc.any(pc.match_substring(texts, end)).as_py():
            texts = pc.replace_substring(texts, end, b"\t")
    whole = pa.LargeListArray.from_arrays(pa.array([0, len(texts)], pa.int64()), texts.cast(pa.large_binary()))
    block = pc.binary_join(whole, pa.scalar(b"\n", pa.large_binary()))[0].as_buffer()
    lines = io.BytesIO(block)
    reader = read_json_lines(lines, event_type, batch_rows=len(texts), max_line_bytes=most_bytes, _unit="event")
    batches = list(reader)
    dead_letters = []
    for each in reader.dead_letters:
        assert each.line_number is not None, "lines are numbered"
        row = each.line_number - 1
        original = values[row].cast(pa.binary()).as_py()  # whole, and with the line ends that were replaced
        dead_letters.append((row, DeadLetter(each.kind, each.reason, original)))
    return JsonValues(batches, dead_letters)


def rows_of(batch: EventBatch) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The rows of the column that the events of a batch came from."""
    rows: np.ndarray[Any, np.dtype[np.int64]] = batch.ids.to_numpy()
    return rows
