"""The sink `jsonl`: a folder of JSON lines, one file of notifications a batch, exactly once."""

from __future__ import annotations

from typing import ClassVar

from tamis.sinks.files import FileSink
from tamis.sinks.formats import JSON_LINES, Format


class JsonLinesSink(FileSink):
    """A folder of JSON lines; `read_notifications` and `read_dead_letters` read it.

    Example:
        >>> JsonLinesSink(folder="notifications").describe()
        'JSON lines in notifications, exactly once'
    """

    name: ClassVar[str] = "jsonl"
    format: ClassVar[Format] = JSON_LINES
    title: ClassVar[str] = "JSON lines"
