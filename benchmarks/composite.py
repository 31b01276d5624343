"""Composite subscriptions: what sequences cost beside their parts, what is kept, and whether it grows in a day.

Users walk through services in sessions; an event is one step. 10,000 composite subscriptions of all forms ask for
steps of one user in one service. The same parts as plain subscriptions, each subscriber's own, are the measure:
both are given the same Arrow tables, in the same order, in turn.
"""

from __future__ import annotations

import gc
import random
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.report import Bar, Figures, Report, Size, spread
from tamis import EventType, Matcher, SequenceMatcher
from tamis.lab.measuring.timing import Times

TYPE = EventType.of(
    {
        "name": "step",
        "attributes": {
            "time": "timestamp",
            "user": "string",
            "service": "string",
            "kind": "string",
            "amount": "double",
        },
    }
)
_KINDS, _SERVICES = 50, 200
_STEPS = 6
"""Events of a session."""
_PER_SECOND = 100
"""Events of simulated time."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured.

    Attributes:
        subscriptions: Composite ones.
        keys: Users.
        batch: Events of a batch.
        batches: How many are measured, after as many that fill the state.
        day_batches: Batches of the simulated day.
    """

    subscriptions: int
    keys: int
    batch: int
    batches: int
    day_batches: int


SCALES: dict[Size, Scale] = {
    "smallest": Scale(50, 200, 200, 2, 12),
    "quick": Scale(10_000, 100_000, 10_000, 10, 96),
    "full": Scale(10_000, 100_000, 10_000, 20, 864),
}


def texts_of(count: int, seed: int = 7) -> list[str]:
    """Composite subscriptions: mostly sequences of two or three, and every other form."""
    rng = random.Random(seed)

    def part(service: int, name: str = "") -> str:
        more = f" AND amount > {rng.randrange(0, 90)}" if rng.random() < 0.5 else ""
        return f"service = 's{service}' AND kind = 'k{rng.randrange(_KINDS)}'{more}{name}"

    texts = []
    for _ in range(count):
        service, form = rng.randrange(_SERVICES), rng.random()
        if form < 0.5:
            text = f"{part(service)} THEN {part(service)}"
        elif form < 0.65:
            text = f"{part(service)} THEN {part(service)} THEN {part(service)}"
        elif form < 0.75:
            text = f"{part(service, ' AS a')} THEN {part(service)} AND amount > a.amount"
        elif form < 0.85:
            text = f"{part(service)} THEN NOT {part(service)}"
        elif form < 0.93:
            text = f"ALL({part(service)}, {part(service)})"
        else:
            text = f"AT_LEAST({rng.randrange(2, 4)}, {part(service)})"
        texts.append(f"{text} WITHIN INTERVAL '{rng.randrange(1, 11)}' MINUTE BY user")
    return texts


def tables_of(scale: Scale, batches: int, seed: int = 11) -> Iterator[pa.Table]:
    """Batches of events in the order of time: the steps of sessions that overlap."""
    rng = np.random.default_rng(seed)
    open_sessions = 60 * _PER_SECOND  # a step a minute
    users = rng.integers(0, scale.keys, open_sessions)
    services = rng.integers(0, _SERVICES, open_sessions)
    clock = 0
    for _ in range(batches):
        session = rng.integers(0, open_sessions, scale.batch)
        times = clock + np.cumsum(rng.integers(1, 2 * 1_000_000 // _PER_SECOND, scale.batch))
        clock = int(times[-1])
        yield pa.table(
            {
                "time": pa.array(times, pa.timestamp("us", "UTC")),
                "user": pa.array([f"u{user}" for user in users[session].tolist()]),
                "service": pa.array([f"s{service}" for service in services[session].tolist()]),
                "kind": pa.array([f"k{kind}" for kind in rng.integers(0, _KINDS, scale.batch).tolist()]),
                "amount": pa.array(rng.random(scale.batch) * 100),
            }
        )
        ended = np.unique(session[rng.random(scale.batch) < 1 / _STEPS])
        users[ended] = rng.integers(0, scale.keys, len(ended))
        services[ended] = rng.integers(0, _SERVICES, len(ended))


def run(size: Size) -> Report:
    """Measure composite subscriptions beside their parts, then a day."""
    scale = SCALES[size]
    matcher = SequenceMatcher(TYPE)
    built = Times()
    with built.taken():
        for number, text in enumerate(texts_of(scale.subscriptions)):
            matcher.add(f"c{number}", text)
    plain = Matcher(TYPE)
    conditions = [
        (f"c{number}/{place}", part.local.text)
        for number, id in enumerate(matcher)
        for place, part in enumerate(matcher.composite(id).all_parts)
    ]
    refused = plain.add_many(conditions)
    if refused:
        raise SystemExit(str(refused[0]))
    figures: Figures = {
        "composite subscriptions": scale.subscriptions,
        "keys": scale.keys,
        "parts": len(conditions),
        "adding a composite subscription, us": round(built.cpu[0] / scale.subscriptions * 1e6),
    }
    bars: dict[str, Bar] = {}
    _beside_parts(scale, matcher, plain, figures, bars)
    del matcher
    _day(scale, figures, bars)
    if size == "smallest":
        figures["bars"] = "not judged: this is not the size that they are set for"
    return Report("composite", figures, bars, judged=size != "smallest")


def _beside_parts(
    scale: Scale, matcher: SequenceMatcher, plain: Matcher, figures: Figures, bars: dict[str, Bar]
) -> None:
    tables = [*tables_of(scale, 2 * scale.batches)]
    for table in tables[: scale.batches]:
        matcher.feed(table)
        plain.match_batch(table, sort=None)
    composite, parts, pairs, matches = Times(), Times(), 0, 0
    gc.collect()
    for number, table in enumerate(tables[scale.batches :]):
        for turn in (number, number + 1):  # who comes first finds the table cold
            if turn % 2:
                with parts.taken():
                    pairs += plain.match_batch(table, sort=None).num_rows
            else:
                with composite.taken():
                    matches += len(matcher.feed(table))
    events = scale.batch * scale.batches
    ratio = [one / both for one, both in zip(parts.cpu, composite.cpu, strict=True)]
    figures["pairs of an event and a part, an event"] = round(pairs / events, 2)
    figures["completed matches, an event"] = round(matches / events, 3)
    for name, times in (("composite", composite), ("parts as plain subscriptions", parts)):
        figures[f"{name}, events a second"] = spread([scale.batch / each for each in times.cpu])
    figures["composite to plain, ratio of events a second"] = spread(ratio)
    bars["composite to plain, ratio of events a second"] = Bar(round(median(ratio), 3), 0.5)


def _day(scale: Scale, figures: Figures, bars: dict[str, Bar]) -> None:
    """A day of the same stream: what is kept in its middle and at its end."""
    matcher = SequenceMatcher(TYPE)
    texts = texts_of(scale.subscriptions)
    for number, text in enumerate(texts):
        matcher.add(f"c{number}", text)
    # What subscriptions need, whatever is open, is made before: events that match nothing bring it about.
    for table in tables_of(scale, 8):
        nowhere = pa.array(["nowhere"] * len(table))
        yesterday = pc.subtract(table["time"], pa.scalar(timedelta(days=1)))
        matcher.feed(table.set_column(0, "time", yesterday).set_column(2, "service", nowhere))
    del table, nowhere, yesterday
    kept: list[int] = []
    sizes: list[int] = []
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes()
    for number, table in enumerate(tables_of(scale, scale.day_batches)):
        matcher.feed(table)
        del table
        kept.append(matcher.stats()["kept"])
        if number % 12 == 11:
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes() - before)
    tracemalloc.stop()
    half = len(kept) // 2
    hours = scale.batch * scale.day_batches / _PER_SECOND / 3600
    growth = median(kept[-half // 2 :]) / median(kept[half // 2 : half])
    figures["simulated hours"] = round(hours, 1)
    figures["open at the end"] = kept[-1]
    figures["bytes for each that is open"] = round(sizes[-1] / kept[-1])
    figures["open in the last quarter to the second, ratio"] = round(growth, 3)
    figures["bytes at the end to the middle, ratio"] = round(sizes[-1] / sizes[len(sizes) // 2], 3)
    bars["open in the last quarter to the second, ratio"] = Bar(round(growth, 3), 1.1, at_most=True)
