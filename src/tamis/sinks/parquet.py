"""The sink `parquet`: a folder of Parquet files, one file of notifications a batch, exactly once."""

from __future__ import annotations

from typing import ClassVar

from tamis.sinks.files import FileSink
from tamis.sinks.formats import PARQUET, Format


class ParquetSink(FileSink):
    """A folder of Parquet files; `read_notifications` and `read_dead_letters` read it.

    Example:
        >>> ParquetSink(folder="notifications").describe()
        'Parquet files in notifications, exactly once'
    """

    name: ClassVar[str] = "parquet"
    format: ClassVar[Format] = PARQUET
    title: ClassVar[str] = "Parquet files"
