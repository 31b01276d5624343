"""A workload as plain files, for other systems and for the command line.

What is written says the same as the data: reading `events.jsonl` or `events.parquet` gives the rows of the table,
without the attributes that are null.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tamis.lab.workloads.base import Workload

_ROWS = 65_536


def write(workload: Workload, folder: Path) -> list[Path]:
    """Write all files; returns them."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [
        folder / name
        for name in (
            *("conditions.jsonl", "conditions.txt", "events.jsonl"),
            *("events.parquet", "event_type.json", "workload.json"),
        )
    ]
    with files[0].open("wb") as subscriptions, files[1].open("wb") as texts:
        _write_conditions(workload, subscriptions, texts)
    with files[2].open("w", encoding="utf-8", newline="\n") as events:
        events.writelines(event_lines(workload.events))
    pq.write_table(workload.events, files[3])
    _write_json(files[4], workload.event_type.to_dict())
    _write_json(files[5], manifest(workload))
    return files


def manifest(workload: Workload) -> dict[str, Any]:
    """What is needed to make the same workload again, and what it holds."""
    return {
        "workload": workload.name,
        "seed": workload.seed,
        "subscriptions": len(workload.conditions),
        "events": workload.events.num_rows,
        "parameters": dict(workload.parameters),
        **({"facts": dict(workload.facts)} if workload.facts else {}),
    }


def _write_conditions(workload: Workload, subscriptions: IO[bytes], texts: IO[bytes]) -> None:
    for start in range(0, len(workload.conditions), _ROWS):
        ids = workload.ids.slice(start, _ROWS).to_pylist()
        conditions = workload.conditions.slice(start, _ROWS).to_pylist()
        texts.write("".join(f"{condition}\n" for condition in conditions).encode())
        subscriptions.write(
            "".join(
                f'{{"id": "{id}", "condition": {json.dumps(condition, ensure_ascii=False)}}}\n'
                for id, condition in zip(ids, conditions, strict=True)
            ).encode()
        )


def event_lines(events: pa.Table) -> Iterator[str]:
    """Events as lines of JSON, without the attributes that they do not have."""
    for batch in events.to_batches(1_024):
        for event in batch.to_pylist():
            yield json.dumps(_present(event), ensure_ascii=False, default=_number) + "\n"


def _present(event: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if value is not None}


def _number(value: Any) -> float:
    """A decimal as JSON has it; those of workloads have too few digits for a double to change them."""
    if not isinstance(value, Decimal):
        raise TypeError(type(value))
    return float(value)


def _write_json(file: Path, content: dict[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")
