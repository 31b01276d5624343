"""A pipeline beside the service of a soak: files of events come, subscriptions come and go, matches go into files.

Everything that a pipeline keeps for a time is kept for as long as the service keeps its own.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import text

from tamis.store import Store
from tests.campaigns.service_load import condition, event

_FILE_SECONDS = 2.0
_CHANGE_SECONDS = 0.5
_KEPT_FILES = 600
"""Files of events that stay: twenty minutes of them, so that none goes which the pipeline has not read."""
_LIVING = 50


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline that runs.

    Attributes:
        process: `tamis run`.
        folder: What it keeps, but for its input.
        log: What it writes on its terminal.
    """

    process: subprocess.Popen[bytes]
    folder: Path
    log: Path
    store: Store

    def rows(self) -> dict[str, int]:
        """How many rows the tables of its store have."""
        with self.store._database.reading() as connection:
            return {
                f"pipeline's {name}": connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one()
                for name in ("tamis_changes", "tamis_subscriptions")
            }

    def said(self) -> str:
        """The end of what it wrote."""
        return self.log.read_text(errors="replace")[-5_000:]

    def batches(self) -> int:
        """How many it has done."""
        commits = self.folder / "checkpoint" / "commits"
        return sum(path.name.isdigit() for path in commits.iterdir()) if commits.exists() else 0


@contextmanager
def running(folder: Path, *, kept_seconds: float, rate: float, seed: int) -> Iterator[Pipeline]:
    """A pipeline with events and changes, as long as this lasts."""
    kept, given, over = folder / "pipeline", folder / "events", threading.Event()
    kept.mkdir()
    given.mkdir()
    file = folder / "pipeline.toml"
    file.write_text(_described(kept, given, kept_seconds))
    chance = random.Random(f"{seed}/pipeline")
    with Store.open(kept / "store.db") as store:
        store.add("first", "a < 50")
        log = folder / "pipeline log"
        with log.open("wb") as output:
            command = [sys.executable, "-m", "tamis", "run", str(file)]
            process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
        failures: list[BaseException] = []
        threads = [
            threading.Thread(target=_until_over, args=(over, failures, seconds, step))
            for seconds, step in (
                (_FILE_SECONDS, _events(folder, given, round(rate * _FILE_SECONDS))),
                (_CHANGE_SECONDS, _changes(store, chance)),
            )
        ]
        for each in threads:
            each.start()
        try:
            yield Pipeline(process, kept, log, store)
        finally:
            over.set()
            for each in threads:
                each.join()
            process.terminate()
            process.wait()
    if failures:
        raise failures[0]


def _described(kept: Path, given: Path, kept_seconds: float) -> str:
    time = f"{max(1.0, kept_seconds):.1f}s"
    tables: dict[str, dict[str, Any]] = {
        "events": {"format": "json", "path": str(given)},
        "subscriptions": {"store": str(kept / "store.db")},
        "sink": {
            "type": "jsonl",
            "folder": str(kept / "notifications"),
            "retention": time,
            "output_retention": time,
        },
        "state": {
            "checkpoint": str(kept / "checkpoint"),
            "retention": time,
            "change_retention": time,
            "history_bytes": 1 << 18,
        },
        "spark": {"master": "local[1]"},
        "trigger": {"processing_time": "1s"},
    }
    return "\n".join(
        f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in content.items())
        for name, content in tables.items()
    )


def _until_over(
    over: threading.Event, failures: list[BaseException], seconds: float, step: Callable[[], None]
) -> None:
    try:
        while not over.wait(seconds):
            step()
    except BaseException as error:
        failures.append(error)


def _events(folder: Path, given: Path, count: int) -> Callable[[], None]:
    """Writes the next file, and removes the oldest."""
    files: deque[Path] = deque()
    written = 0

    def step() -> None:
        nonlocal written
        aside, path = folder / "aside", given / f"{written:09}.jsonl"
        aside.write_text("".join(json.dumps(event(written + number)) + "\n" for number in range(count)))
        aside.replace(path)
        written += count
        files.append(path)
        if len(files) > _KEPT_FILES:
            files.popleft().unlink()

    return step


def _changes(store: Store, chance: random.Random) -> Callable[[], None]:
    """Adds the next subscription, and removes one that there is; ids are never used again."""
    living: deque[str] = deque()
    made = 0

    def step() -> None:
        nonlocal made
        store.add(f"p{made}", condition(chance))
        living.append(f"p{made}")
        made += 1
        if len(living) > _LIVING:
            store.remove(living.popleft())

    return step
