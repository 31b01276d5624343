"""The sinks by name; a new one is a file and a line here."""

from __future__ import annotations

from tamis.sinks.base import RETENTION, BatchKey, Committed, Delivery, Part, Sink, SinkError
from tamis.sinks.callback import CallbackSink
from tamis.sinks.delta import DeltaSink
from tamis.sinks.folder_commits import Commit
from tamis.sinks.jsonl import JsonLinesSink
from tamis.sinks.kafka import KafkaSink
from tamis.sinks.parquet import ParquetSink
from tamis.sinks.reading import (
    find_dead_letters,
    find_notifications,
    read_commits,
    read_dead_letters,
    read_notifications,
)
from tamis.sinks.sql import SqlSink
from tamis.sinks.webhook import WebhookSink

SINKS: dict[str, type[Sink]] = {
    DeltaSink.name: DeltaSink,
    ParquetSink.name: ParquetSink,
    JsonLinesSink.name: JsonLinesSink,
    SqlSink.name: SqlSink,
    WebhookSink.name: WebhookSink,
    KafkaSink.name: KafkaSink,
    CallbackSink.name: CallbackSink,
}
"""Every sink by its name."""

__all__ = [
    "RETENTION",
    "SINKS",
    "BatchKey",
    "CallbackSink",
    "Commit",
    "Committed",
    "Delivery",
    "DeltaSink",
    "JsonLinesSink",
    "KafkaSink",
    "ParquetSink",
    "Part",
    "Sink",
    "SinkError",
    "SqlSink",
    "WebhookSink",
    "find_dead_letters",
    "find_notifications",
    "read_commits",
    "read_dead_letters",
    "read_notifications",
]
