"""Pipelines in a folder, for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tamis.events.event_type import EventType
from tamis.spark.pipeline import Pipeline
from tamis.spark.pipeline_file import load
from tamis.store import Store

SALE = {"name": "sale", "attributes": {"id": "string", "price": "double", "at": "timestamp"}}
TABLES = {
    "events": 'format = "json"\npath = "in"',
    "subscriptions": 'store = "subs.db"',
    "sink": 'type = "parquet"\nfolder = "out"',
    "state": 'checkpoint = "checkpoint"',
    "trigger": "available_now = true",
}


def pipeline(folder: Path, top: str = "", **tables: str) -> Pipeline:
    """The pipeline of a file, with these tables in the place of the usual ones or beside them."""
    parts = [top, *(f"[{name}]\n{text}" for name, text in {**TABLES, **tables}.items())]
    file = folder / "pipeline.toml"
    file.write_text("\n".join(parts) + "\n")
    return load(file)


def put_events(folder: Path, name: str, *events: Any) -> None:
    """A file of JSON lines; bytes stay as they are."""
    folder.mkdir(exist_ok=True)
    lines = [event if isinstance(event, bytes) else json.dumps(event).encode() for event in events]
    (folder / name).write_bytes(b"\n".join(lines))


def put_subscriptions(file: Path, conditions: dict[str, str], event_type: dict[str, Any] | None = None) -> None:
    """A store with these conditions."""
    with Store.open(file) as store:
        name = None
        if event_type is not None:
            store.set_event_type(EventType.of(event_type))
            name = event_type["name"]
        rows = [{"id": id, "condition": text, "event_type": name} for id, text in conditions.items()]
        assert not store.add_many(rows).refusals
