"""From JSON in a column to columns of values: events as Kafka and text files bring them to a worker of Spark.

Small events (some 65 bytes, four attributes) and larger ones (some 500 bytes, twenty attributes), in batches of
several sizes. A batch is read, every attribute is made a column, and events that do not fit their type are looked
for: what a stream does before it matches. The contestant is the plainest way: `json.loads` of each text, and a
batch of dicts. Before any time is taken, the columns of both are compared.
"""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Callable

import pyarrow as pa

from benchmarks.report import Bar, Figures, Report, Size, print_bars, spread
from tamis.events import EventBatch, EventType
from tamis.events.json_values import read_json_values
from tamis.events.misfits import misfit_rows
from tamis.lab.measuring.timing import timed

_BATCHES = (64, 1_024, 8_192)
_EVENTS: dict[Size, int] = {"smallest": 8_192, "quick": 65_536, "full": 262_144}
"""That are read in each round, in batches."""
_ROUNDS: dict[Size, int] = {"smallest": 1, "quick": 3, "full": 7}
_TIMES_FASTER = 3.0
"""With batches of the size at which a worker of Spark reads."""

SMALL = EventType.from_dict(
    {"name": "small", "attributes": {"id": "string", "price": "double", "bids": "int", "category": "string"}}
)
LARGE = EventType.from_dict(
    {
        "name": "large",
        "attributes": {
            "id": "string",
            "title": "string",
            "listed": "timestamp",
            "price": "decimal(10,2)",
            "sold": "boolean",
            **{f"number{place}": "double" for place in range(8)},
            **{f"word{place}": "string" for place in range(7)},
        },
    }
)


def small(rng: random.Random, number: int) -> str:
    """An event of some 65 bytes."""
    price, bids, word = rng.randrange(100, 100_000) / 100, rng.randrange(50), f"c{rng.randrange(500):03}"
    return json.dumps({"id": f"e{number:06}", "price": price, "bids": bids, "category": word})


def large(rng: random.Random, number: int) -> str:
    """An event of some 500 bytes."""
    event = {
        "id": f"e{number:06}",
        "title": " ".join(f"w{rng.randrange(2000)}" for _ in range(24)),
        "listed": f"2026-01-{rng.randrange(1, 29):02}T10:{rng.randrange(60):02}:00Z",
        "price": rng.randrange(100, 100_000) / 100,
        "sold": rng.random() < 0.5,
        **{f"number{place}": rng.randrange(1_000_000) / 1_000 for place in range(8)},
        **{f"word{place}": f"c{rng.randrange(500):03}" for place in range(7)},
    }
    return json.dumps(event)


def run(size: Size) -> Report:
    """Measure every kind of event in every size of batch."""
    figures: Figures = {"events of a round": _EVENTS[size]}
    bars: dict[str, Bar] = {}
    for event_type, make in ((SMALL, small), (LARGE, large)):
        rng = random.Random(2026)
        texts = [make(rng, number).encode() for number in range(_BATCHES[-1])]
        figures[f"{event_type.name}: bytes an event"] = round(statistics.mean(map(len, texts)))
        for rows in _BATCHES:
            times = _measure(event_type, texts[:rows], _EVENTS[size], _ROUNDS[size], figures)
            if rows == _BATCHES[-1]:
                bars[f"{event_type.name}, batches of {rows}: times json"] = Bar(round(times, 1), _TIMES_FASTER)
    report = Report("read", figures, bars, judged=size != "smallest")
    print_bars(report)
    return report


def _measure(event_type: EventType, texts: list[bytes], events: int, rounds: int, figures: Figures) -> float:
    """Microseconds of the processor an event; how many times as fast as `json`."""
    column = pa.array(texts, pa.binary())
    ways: dict[str, Callable[[], object]] = {
        "tamis": lambda: [_use(batch) for batch in read_json_values(column, event_type).batches],
        "json": lambda: _use(_plain(texts, event_type)),
    }
    _check(column, texts, event_type)
    repetitions = max(1, events // len(texts))
    micros: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            seconds = timed(lambda way=way: [way() for _ in range(repetitions)])  # type: ignore[misc]
            micros[name].append(seconds / (repetitions * len(texts)) * 1e6)
    for name, values in micros.items():
        title = f"{event_type.name}, batches of {len(texts)}: {name}, CPU us/event"
        figures[title] = spread(values)
        print(f"{title:55} {figures[title]}")
    return statistics.median(micros["json"]) / max(1e-9, statistics.median(micros["tamis"]))


def _plain(texts: list[bytes], event_type: EventType) -> EventBatch:
    return EventBatch.of([json.loads(text) for text in texts], event_type)


def _use(batch: EventBatch) -> list[object]:
    return [*(batch.column((each.name,)) for each in batch.event_type.attributes or ()), misfit_rows(batch)]


def _check(column: pa.Array, texts: list[bytes], event_type: EventType) -> None:
    """Both ways give the same columns, or no time is taken."""
    (found,) = read_json_values(column, event_type).batches
    plain = _plain(texts, event_type)
    for each in event_type.attributes or ():
        path = (each.name,)
        if found.column(path).to_list() != plain.column(path).to_list():
            msg = f"the columns {each.name} of {event_type.name} differ"
            raise SystemExit(msg)
