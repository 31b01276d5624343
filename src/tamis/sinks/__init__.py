"""The sinks by name; a new one is a file and a line here."""

from __future__ import annotations

from tamis.sinks.base import RETENTION, Committed, Delivery, Sink, SinkError
from tamis.sinks.callback import CallbackSink
from tamis.sinks.files import read_commits, read_dead_letters, read_notifications
from tamis.sinks.folder_commits import Commit
from tamis.sinks.jsonl import JsonLinesSink
from tamis.sinks.kafka import KafkaSink
from tamis.sinks.parquet import ParquetSink
from tamis.sinks.sql import SqlSink
from tamis.sinks.webhook import WebhookSink

SINKS: dict[str, type[Sink]] = {
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
    "CallbackSink",
    "Commit",
    "Committed",
    "Delivery",
    "JsonLinesSink",
    "KafkaSink",
    "ParquetSink",
    "Sink",
    "SinkError",
    "SqlSink",
    "WebhookSink",
    "read_commits",
    "read_dead_letters",
    "read_notifications",
]
