"""Subscriptions that come and go: rates through a `Matcher`, and matching while segments are unmerged."""

from __future__ import annotations

import gc
import tempfile
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.families import BAR_BATCH, Scale
from benchmarks.memory import mapped
from benchmarks.report import Bar, Figures, number, spread
from tamis import Matcher
from tamis.events.batch import EventBatch
from tamis.lab.measuring.cases import PAST_EVENTS, Data
from tamis.lab.measuring.timing import Times, rates
from tamis.language.bulk import compile_conditions
from tamis.language.condition import compile_condition
from tamis.segments.merge import FANOUT
from tamis.snapshot import Snapshots

_COMPILED_ALONE = 2_000
"""Conditions that are compiled one by one, because that is slow; each is added under several ids."""
_LOTS = FANOUT - 1
"""In which the last tenth is added: as many as there can be of a size before they are merged."""
_PAGES = {
    "mapped": "mapped",
    "opened": "resident when opened",
    "matched": f"resident after a batch of {BAR_BATCH}",
}


def measure_updates(label: str, data: Data, scale: Scale, figures: Figures, bars: dict[str, Bar]) -> None:
    """Add, match, remove; everything with the engine `bitslice`."""
    subscriptions = pa.table({"id": data.workload.ids, "condition": data.workload.conditions})
    count = subscriptions.num_rows
    last = count // 10
    texts, formulas, removed = Times(), Times(), Times()
    for _ in range(scale.builds):
        matcher = _matcher(data)
        with texts.taken():
            refused = matcher.add_many(subscriptions.slice(0, count - last))
        _none(refused)
    for _ in range(scale.builds):
        matcher = _matcher(data)
        column = compile_conditions(data.workload.conditions.slice(0, count - last), data.workload.event_type)
        with formulas.taken():
            refused = matcher.add_compiled(subscriptions.slice(0, count - last), column)
        _none(refused)
        with removed.taken():
            missing = matcher.remove_many(subscriptions["id"].slice(0, last))
        _none(missing)
    figures[f"{label}: adding texts in bulk, a second"] = rates(texts, count - last)
    figures[f"{label}: adding formulas in bulk, a second"] = rates(formulas, count - last)
    figures[f"{label}: removing in bulk, a second"] = rates(removed, last)
    bars[f"{label}: adding formulas in bulk, a second"] = Bar(
        round((count - last) / median(formulas.cpu)), 100_000
    )
    bars[f"{label}: removing in bulk, a second"] = Bar(round(last / median(removed.cpu)), 500_000)
    del matcher
    _one_by_one(label, data, scale, figures, bars)
    _unmerged(label, data, subscriptions, scale, figures, bars)


def _matcher(data: Data) -> Matcher:
    return Matcher(data.workload.event_type, "bitslice", statistics=data.statistics)


def _none(problems: list[Any]) -> None:
    if problems:
        msg = f"{len(problems)} subscriptions were refused or missing, the first: {problems[0]}"
        raise SystemExit(msg)


def _one_by_one(label: str, data: Data, scale: Scale, figures: Figures, bars: dict[str, Bar]) -> None:
    """Add compiled conditions, which makes the head a segment now and then, and remove them."""
    kept = min(_COMPILED_ALONE, scale.changed, len(data.forest))
    conditions = [
        compile_condition(text, data.workload.event_type) for text in data.workload.conditions[:kept].to_pylist()
    ]
    event = data.batch(0, 1)
    added, removed, settled = Times(), Times(), Times()
    for _ in range(scale.rounds):
        matcher = _matcher(data)
        with added.taken():
            for place in range(scale.changed):
                matcher.add(f"n{place}", conditions[place % kept])
        with settled.taken():
            matcher.match_batch(event)
        with removed.taken():
            for place in range(scale.changed):
                matcher.remove(f"n{place}")
    figures[f"{label}: adding formulas one by one, a second"] = rates(added, scale.changed)
    figures[f"{label}: removing one by one, a second"] = rates(removed, scale.changed)
    figures[f"{label}: first match after adding one by one, ms"] = spread([each * 1e3 for each in settled.cpu])
    bars[f"{label}: adding formulas one by one, a second"] = Bar(round(scale.changed / median(added.cpu)), 20_000)


def _unmerged(
    label: str, data: Data, subscriptions: pa.Table, scale: Scale, figures: Figures, bars: dict[str, Bar]
) -> None:
    """Match with the last tenth added in lots, against the same in one segment; then publish and map it."""
    count = subscriptions.num_rows
    first = count - count // 10
    loose, whole = _matcher(data), _matcher(data)
    _none(whole.add_many(subscriptions))
    whole.merge()
    _none(loose.add_many(subscriptions.slice(0, first)))
    loose.merge()
    bounds = [first + (count - first) * lot // _LOTS for lot in range(_LOTS + 1)]
    for start, stop in pairwise(bounds):
        _none(loose.add_many(subscriptions.slice(start, stop - start)))
    rows = min(BAR_BATCH, data.events)
    batches = [data.batch(start, rows) for start in range(0, data.events - rows + 1, rows)]
    expected, found = (matcher.match_batch(batches[0], sort="event").num_rows for matcher in (whole, loose))
    if expected != found:
        msg = f"{label}: {expected} pairs in one segment, {found} in several"
        raise SystemExit(msg)
    times: dict[str, Times] = {"merged": Times(), "unmerged": Times()}
    gc.collect()
    for turn in range(2 * scale.rounds):
        for name, matcher in (("merged", whole), ("unmerged", loose)):
            with times[name].taken():
                matcher.match_batch(batches[turn % len(batches)], sort=None)
    for name, each in times.items():
        figures[f"{label}, through the matcher: {name}, us/event"] = spread([one / rows * 1e6 for one in each.cpu])
    slower = [many / one for one, many in zip(times["merged"].cpu, times["unmerged"].cpu, strict=True)]
    figures[f"{label}: segments with a tenth unmerged"] = loose.stats()["segments"]
    figures[f"{label}: slower with a tenth unmerged, ratio"] = spread(slower)
    bars[f"{label}: slower with a tenth unmerged, ratio"] = Bar(round(median(slower), 3), 1.5, at_most=True)
    del loose
    with tempfile.TemporaryDirectory() as folder:
        whole.publish(folder)
        _threads(label, folder, batches, scale, figures)
        _mapped(label, folder, data, count, figures)


def _threads(label: str, folder: str, batches: list[EventBatch], scale: Scale, figures: Figures) -> None:
    """Open what was published; two threads against one, by the clock on the wall."""
    rows = batches[0].rows
    opened = Times()
    matchers: dict[int, Matcher] = {}
    times = {threads: Times() for threads in (1, 2)}
    for threads in times:
        with opened.taken():
            matchers[threads] = Matcher.open(folder, engine="bitslice", threads=threads)
        matchers[threads].match_batch(batches[0], sort=None)
    for turn in range(scale.rounds):
        for threads, each in times.items():
            with each.taken():
                matchers[threads].match_batch(batches[turn % len(batches)], sort=None)
    figures[f"{label}: opening, ms"] = spread([one * 1e3 for one in opened.wall])
    for threads, each in times.items():
        figures[f"{label}, threads {threads}: wall us/event"] = spread([one / rows * 1e6 for one in each.wall])


def _mapped(label: str, folder: str, data: Data, count: int, figures: Figures) -> None:
    """Bytes of what was published, by structure, and on the pages of another process."""
    snapshots = Snapshots(folder)
    sizes: dict[str, int] = {}
    for entry in snapshots.manifest().entries:
        for name, array in snapshots.segment(entry.segment).arrays.items():
            structure = ".".join(name.split(".")[:2]) if name.startswith("records.") else name.split(".")[0]
            sizes[structure] = sizes.get(structure, 0) + array.nbytes
    for structure, size in sorted(sizes.items()):
        figures[f"{label}, published: {structure}, bytes/subscription"] = number(size / count)
    events = Path(folder).parent / f"{Path(folder).name}.parquet"
    pq.write_table(data.workload.events.slice(PAST_EVENTS, min(BAR_BATCH, data.events)), events)
    try:
        found = mapped(Path(folder), events)
    finally:
        events.unlink()
    for name, size in (found or {}).items():
        figures[f"{label}, published: {_PAGES[name]}, bytes/subscription"] = number(size / count)
