"""Two threads against one: the same batches through matchers that map one published snapshot, by the clock."""

from __future__ import annotations

import tempfile
from statistics import median

import pyarrow as pa

from benchmarks.families import THREADS_BATCH, Scale
from benchmarks.report import Bar, Figures, spread
from tamis import Matcher
from tamis.lab.measuring.cases import Data
from tamis.lab.measuring.timing import Times

THREADS = (1, 2)


def measure_threads(
    label: str, data: Data, scale: Scale, wanted: float, figures: Figures, bars: dict[str, Bar]
) -> None:
    """Publish, open with one thread and with two, and let them take turns; pairs are compared first."""
    rows = min(THREADS_BATCH, data.events)
    batches = [data.batch(start, rows) for start in range(0, data.events - rows + 1, rows)]
    opened = Times()
    times = {threads: Times() for threads in THREADS}
    with tempfile.TemporaryDirectory() as folder:
        whole = Matcher(data.workload.event_type, "bitslice", statistics=data.statistics)
        whole.add_many(pa.table({"id": data.workload.ids, "condition": data.workload.conditions}))
        whole.merge()
        whole.publish(folder)
        del whole
        matchers: dict[int, Matcher] = {}
        pairs: list[int] = []
        for threads in THREADS:
            with opened.taken():
                matchers[threads] = Matcher.open(folder, engine="bitslice", threads=threads)
            pairs.append(matchers[threads].match_batch(batches[0], sort="event").num_rows)
        if len(set(pairs)) > 1:
            msg = f"{label}: {pairs[0]} pairs with one thread, {pairs[1]} with two"
            raise SystemExit(msg)
        for turn in range(2 * scale.rounds):
            for threads, each in times.items():
                with each.taken():
                    matchers[threads].match_batch(batches[turn % len(batches)], sort=None)
    figures[f"{label}: opening, ms"] = spread([one * 1e3 for one in opened.wall])
    for threads, each in times.items():
        figures[f"{label}, threads {threads}, batch {rows}: wall us/event"] = spread(
            [one / rows * 1e6 for one in each.wall]
        )
    faster = [one / two for one, two in zip(times[1].wall, times[2].wall, strict=True)]
    title = f"{label}, batch {rows}: times as fast with two threads"
    figures[title] = spread(faster)
    bars[title] = Bar(round(median(faster), 2), wanted)
