"""Subscriptions that come and go: rates through a `Matcher`, and matching while segments are unmerged."""

from __future__ import annotations

import gc
import tempfile
import time
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
from tamis.lab.measuring.cases import PAST_EVENTS, Data
from tamis.lab.measuring.timing import Times, rates
from tamis.language.bulk import compile_conditions
from tamis.language.condition import compile_condition
from tamis.segments.merge import FANOUT
from tamis.snapshot import Snapshots

_COMPILED_ALONE = 2_000
"""Conditions that are compiled one by one, because that is slow; each is added under several ids."""
_LOOKED_AFTER = 100
"""Additions after which is looked whether a merge is over."""
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
    """Add compiled conditions and remove them; segments that are made of them meanwhile count, to the last one."""
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
            matcher.settle()
        with settled.taken():
            matcher.match_batch(event)
        with removed.taken():
            for place in range(scale.changed):
                matcher.remove(f"n{place}")
    figures[f"{label}: adding formulas one by one, a second"] = rates(added, scale.changed)
    figures[f"{label}: removing one by one, a second"] = rates(removed, scale.changed)
    figures[f"{label}: first match after adding one by one, ms"] = spread([each * 1e3 for each in settled.cpu])
    bars[f"{label}: adding formulas one by one, a second"] = Bar(round(scale.changed / median(added.cpu)), 20_000)


def measure_added_texts(
    label: str, data: Data, scale: Scale, wanted: int, figures: Figures, bars: dict[str, Bar]
) -> None:
    """`Matcher.add` of texts that differ; the segments that they become count, to the last one (`settle`)."""
    texts = data.workload.conditions[: scale.changed].to_pylist()
    added = Times()
    for _ in range(scale.rounds):
        matcher = _matcher(data)
        with added.taken():
            for place, text in enumerate(texts):
                matcher.add(f"n{place}", text)
            matcher.settle()
    title = f"{label}: adding texts one by one, segments settled, a second"
    figures[title] = rates(added, len(texts))
    bars[title] = Bar(round(len(texts) / median(added.cpu)), wanted)
    print(f"{title}: {figures[title]}")


def measure_pauses(label: str, data: Data, scale: Scale, figures: Figures, bars: dict[str, Bar]) -> None:
    """The longest `Matcher.add` while all segments are merged in the background, by the clock.

    The subscriptions come in as many lots as make a merge due. From then on compiled conditions are added one by
    one until there are fewer segments, or for as many as `scale.changed`.
    """
    subscriptions = pa.table({"id": data.workload.ids, "condition": data.workload.conditions})
    count = subscriptions.num_rows
    conditions = [
        compile_condition(text, data.workload.event_type)
        for text in data.workload.conditions[: min(_COMPILED_ALONE, count)].to_pylist()
    ]
    matcher = _matcher(data)
    bounds = [count * lot // FANOUT for lot in range(FANOUT + 1)]
    for start, stop in pairwise(bounds):
        _none(matcher.add_many(subscriptions.slice(start, stop - start)))
    many = matcher.stats()["segments"]
    waits: list[float] = []
    while len(waits) < scale.changed:
        begun = time.perf_counter()
        matcher.add(f"more{len(waits)}", conditions[len(waits) % len(conditions)])
        waits.append(time.perf_counter() - begun)
        if len(waits) % _LOOKED_AFTER == 0 and matcher.stats()["segments"] < many:
            break
    matcher.settle()
    figures[f"{label}: added beside a merge of {count}"] = len(waits)
    title = f"{label}: longest addition beside a merge, ms"
    figures[title] = number(max(waits) * 1e3)
    figures[f"{label}: median addition beside a merge, ms"] = number(median(waits) * 1e3)
    bars[title] = Bar(round(max(waits) * 1e3, 1), 100.0, at_most=True)
    print(f"{title}: {figures[title]}, of {len(waits)}")


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
    bars[f"{label}: slower with a tenth unmerged, ratio"] = Bar(round(median(slower), 3), 1.3, at_most=True)
    del loose
    with tempfile.TemporaryDirectory() as folder:
        whole.publish(folder)
        _mapped(label, folder, data, count, figures)


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
