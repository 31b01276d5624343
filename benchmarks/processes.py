"""The engine without Spark on several processes: each opens the snapshot and matches its part of the files."""

from __future__ import annotations

import multiprocessing
import shutil
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import TracebackType

import pyarrow.parquet as pq

from benchmarks.spark_data import EVENT_ID
from tamis import Matcher

_BATCH_ROWS = 8_192

_opened: dict[str, Matcher] = {}


class Processes:
    """Processes that stay, so that what they opened stays open; each has its own queue, lest one do all work."""

    def __init__(self, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._pools = [ProcessPoolExecutor(1, mp_context=context) for _ in range(count)]

    def match(self, snapshot: Path, events: Path, out: Path) -> float:
        """Match files of events into files of pairs; gives the engine's own seconds, of the slowest process."""
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        files = sorted(map(str, events.glob("*.parquet")))
        waiting = [
            pool.submit(_match, str(snapshot), files[place :: len(self._pools)], str(out / f"{place}.parquet"))
            for place, pool in enumerate(self._pools)
        ]
        return max(each.result() for each in waiting)

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pool in self._pools:
            pool.shutdown()


def _match(snapshot: str, files: list[str], out: str) -> float:
    """In a process: events of some files to pairs in one; gives the seconds that matching took."""
    matcher = _opened.get(snapshot)
    if matcher is None:
        _opened.clear()
        matcher = _opened[snapshot] = Matcher.open(snapshot)
    columns = sorted(matcher.attributes() | {EVENT_ID})
    seconds = 0.0
    writer: pq.ParquetWriter | None = None
    for file in files:
        for batch in pq.ParquetFile(file).iter_batches(_BATCH_ROWS, columns=columns):
            start = time.perf_counter()
            pairs = matcher.match_batch(batch, event_id=EVENT_ID, sort=None)
            seconds += time.perf_counter() - start
            writer = writer or pq.ParquetWriter(out, pairs.schema)
            writer.write_table(pairs)
    if writer is not None:
        writer.close()
    return seconds
