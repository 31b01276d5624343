"""Warm-up: the kernels that the product uses, compiled or loaded before somebody waits for them.

Each step below does a small piece of the product's work, on samples that need every kernel of that piece in every
signature. `load` runs the steps in this process, which takes a second or two if the kernels are compiled.
`compile_all` runs them in processes of their own, several at a time, so that they are.
"""

from __future__ import annotations

import datetime as dt
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tamis import kernels
from tamis.composite.matcher import SequenceMatcher
from tamis.engines import MAPPED_ENGINE, engine_of
from tamis.engines.auto import CANDIDATES
from tamis.engines.forest import forest_of
from tamis.engines.forest.join import join_forests
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.events.reading import read_json_lines
from tamis.hashing import hash_rows
from tamis.interpretation import kernels_only
from tamis.language.bulk import compile_conditions
from tamis.language.condition import compile_condition
from tamis.matcher import Matcher
from tamis.operators import operator, uninstall
from tamis.routing.access_predicates import find_access_predicates
from tamis.routing.covering import uncovered
from tamis.routing.generalisation import COMMON, generalise
from tamis.routing.merging import merge
from tamis.routing.overlap import OverlapIndex
from tamis.values.types import INT

EVENT_TYPE = {
    "name": "sample",
    "attributes": {
        "id": "string",
        "name": "string",
        "brand": "string",
        "price": "decimal(8,2)",
        "stock": "int",
        "rating": "double",
        "sold": "boolean",
        "listed": "timestamp",
        "day": "date",
        "tags": "array<string>",
        "seller": "struct<country:string,sales:int>",
    },
}
_TEMPLATES = (
    "price < {n} AND brand = 'b{k}'",
    "price BETWEEN {n} AND 900 OR name LIKE 'n{k}%'",
    "price > {n} AND NOT brand = 'b{k}' AND stock IN (1, {k}, 3)",
    "(price < {n} OR stock > 3 OR sold) AND brand IN ('a', 'b{k}')",
    "stock = {k} AND rating >= {n}.5 AND sold AND NOT (price = {n} AND brand IS NULL)",
    "stock BETWEEN {k} AND 2{k} AND rating < {n}.25 AND price > {k}",
    "stock < {n}",
    "rating > -{n}.75 OR stock <=> NULL",
    "name LIKE '%{k}' OR name LIKE 'n%{k}%' OR brand LIKE '%b{k}%'",
    "name RLIKE '^n[0-9]*{k}$' AND brand ILIKE 'B%'",
    "listed >= TIMESTAMP '2026-01-0{d} 10:00:00' AND day < DATE '2026-02-0{d}'",
    "seller.country = 'c{k}' OR seller.sales > {n}",
    "stock + {k} > rating * 2 AND upper(brand) = 'B{k}'",
    "array_contains(tags, 't{k}') AND at_least(2, price < {n}, stock > {k}, sold)",
    "(stock = {k} AND brand = 'b{k}') OR (stock > {n} AND (brand = 'x' OR price IN ({n}, {k}.50)))",
    "brand <> 'b{k}' AND name IS NOT NULL AND price IN ({n}.99, {n}.50, {k})",
)
_SUBSCRIPTIONS = 1_000
"""Enough that nested conditions become mask programs."""
_MANY_NAMES = 100
_SQUARE = "POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))"
_EVENTS = 300
_MANY_EVENTS = 2_500
"""Enough that pairs are sorted by a kernel."""
_JSON_EVENTS = 8_000
"""Enough that JSON lines are read in blocks."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What warming took.

    Attributes:
        compiled: Kernels that were compiled.
        seconds: From begin to end.
        cpu_seconds: Of all processes.
    """

    compiled: int
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Uses:
    """What a process does beside matching, reading and publishing.

    Attributes:
        operators: Conditions call operators.
        composite: There are composite subscriptions.
        routing: Events go to shards only that may have a match.
    """

    operators: bool = False
    composite: bool = False
    routing: bool = False


def load(uses: Uses = Uses()) -> Outcome:
    """Run steps in this process: afterwards what it does compiles and loads nothing more."""
    more = ((uses.operators, _operators), (uses.composite, _composite_subscriptions), (uses.routing, _routing))
    steps = [*_FIRST, *_SECOND, *(step for is_used, step in more if is_used)]
    return _measure(lambda: [step() for step in steps])


def run_step(step: Callable[[], None]) -> Outcome:
    """Run one of `STEPS`."""
    return _measure(step)


def compile_all(
    processes: int | None = None, progress: Callable[[int, int], None] = lambda _done, _all: None
) -> Outcome:
    """Compile what is not compiled yet, in so many processes, by default one for each processor.

    `progress` is called with the steps that are done and the number of all steps.
    """
    begun = time.perf_counter()
    outcomes: list[Outcome] = []
    count = len(STEPS)
    workers = min(processes or len(os.sched_getaffinity(0)), count)
    # Not forked: a child must not inherit kernels, threads or Spark's sockets.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        for steps in (_FIRST, (*_SECOND, *_RARE)):  # the second ones need the kernels of the first
            for done in as_completed([pool.submit(_run, step.__name__) for step in steps]):
                outcomes.append(done.result())
                progress(len(outcomes), count)
    return Outcome(
        sum(each.compiled for each in outcomes),
        time.perf_counter() - begun,
        sum(each.cpu_seconds for each in outcomes),
    )


def _run(step: str) -> Outcome:
    kernels.compilations.announce = lambda _message: None  # whoever called knows
    return _measure(globals()[step])


def _measure(work: Callable[[], object]) -> Outcome:
    before, begun, processor = kernels.compilations.count, time.perf_counter(), time.process_time()
    with kernels_only():
        work()
    return Outcome(
        kernels.compilations.count - before, time.perf_counter() - begun, time.process_time() - processor
    )


# --- samples ---------------------------------------------------------------------------------------------------


def _conditions(count: int, templates: Sequence[str] = _TEMPLATES) -> Iterator[str]:
    for number in range(count):
        k = number * 7 % 40
        yield templates[number % len(templates)].format(n=number * 37 % 1000, k=k, d=1 + number % 9)


def _events(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"e{number}",
            "name": None if number % 11 == 0 else f"n{number % 50}",
            "brand": f"b{number % 40}",
            "price": number * 31 % 1000 + (number % 4) * 0.25,
            "stock": number * 17 % 60,
            "rating": number * 13 % 900 / 7,
            "sold": number % 3 == 0,
            "listed": dt.datetime(2026, 1, 1 + number % 28, number % 24, tzinfo=dt.UTC),
            "day": dt.date(2026, 1 + number % 3, 1 + number % 28),
            "tags": [f"t{number % 9}", f"t{number % 5}"],
            "seller": {"country": f"c{number % 30}", "sales": number % 2000},
        }
        for number in range(count)
    ]


def _json_lines(count: int) -> bytes:
    return b"".join(json.dumps(event, default=str).encode() + b"\n" for event in _events(count))


def _subscriptions(count: int = _SUBSCRIPTIONS) -> list[tuple[str, str]]:
    return [(f"s{number}", condition) for number, condition in enumerate(_conditions(count))]


def _match(matcher: Matcher) -> None:
    """Match an event alone, events as dicts and as columns, and by a schedule, which asks for the work of each."""
    events = _events(_EVENTS)
    matcher.match(events[1])
    matcher.match_batch(events, event_id="id")
    matcher.match_batch(pa.Table.from_pylist(events), sort="subscription")
    list(matcher.match_parts(events[:100], schedule="shortest-first"))


# --- steps -----------------------------------------------------------------------------------------------------


def _bulk_conditions() -> None:
    """Compile columns of conditions, with and without an event type."""
    for event_type in (EventType.of(EVENT_TYPE), None):
        formulas = compile_conditions([*_conditions(300), "a <", "", "a = 'open"], event_type)
        list(formulas)


def _index_and_match() -> None:
    """Build the index of conditions that were compiled one by one, and match."""
    event_type = EventType.of(EVENT_TYPE)
    formulas = [compile_condition(text, event_type).formula for text in _conditions(400)]
    index = engine_of(MAPPED_ENGINE).build(3 * formulas, None)
    index.match(EventBatch.of(_events(_EVENTS), event_type))


def _json_events() -> None:
    """Read JSON lines in blocks, with and without an event type, and the columns of them."""
    attributes = EventType.of(EVENT_TYPE).attributes or ()
    for event_type in (EVENT_TYPE, None):
        for lines in (3, _JSON_EVENTS):
            for batch in read_json_lines(_json_lines(lines), event_type, event_id="id"):
                for each in attributes:  # a column is made when it is asked for
                    batch.column((each.name,))
                    if event_type is None:
                        batch.reading((each.name,), each.type)


def _wide_json_objects() -> None:
    """Read JSON lines with more names than a scan makes room for at first."""
    line = json.dumps({"id": "e", **{f"name{number}": number for number in range(_MANY_NAMES)}}).encode()
    for batch in read_json_lines((line + b"\n") * 2_000, None, event_id="id"):
        batch.reading(("name1",), INT)


def _matchers_and_snapshots() -> None:
    """Add, match, publish, open, change and merge, with and without an event type."""
    for event_type in (EVENT_TYPE, None):
        with tempfile.TemporaryDirectory() as folder:
            matcher = Matcher(event_type, engine=MAPPED_ENGINE)
            matcher.add_many(_subscriptions())
            _match(matcher)
            matcher.match_batch(_events(_MANY_EVENTS))
            matcher.publish(Path(folder) / "snapshot")
            opened = Matcher.open(Path(folder) / "snapshot", engine=MAPPED_ENGINE)
            _match(opened)
            for number, condition in enumerate(_conditions(50)):
                opened.add(f"more{number}", condition)
            opened.remove_many([f"s{number}" for number in range(0, 300, 3)])
            _match(opened)
            opened.merge()
            opened.publish(Path(folder) / "snapshot")
            Matcher.open(Path(folder) / "snapshot").match(_events(1)[0])


def _operators() -> None:
    """Match conditions that call an operator, which is there only meanwhile."""
    operator("tamis_warm", ["int"], "int", batch=False)(lambda stock: stock % 2)
    try:
        matcher = Matcher(EVENT_TYPE)
        for number in range(20):
            call = f"tamis_warm(stock) = 1 OR price < {number} AND tamis_warm(stock + 1) = 0"
            matcher.add(f"s{number}", f"stock > {number} AND ({call})")
        matcher.match_batch(_events(50))
    finally:
        uninstall("tamis_warm")


def _notification_ids() -> None:
    """Make the ids of notifications, as tasks do."""
    hash_rows(pa.array([b"event", b"subscription"], pa.binary()), compiles=True)


def _routing() -> None:
    """Generalise conditions, as is done to send events only where they may match, and find what overlaps."""
    event_type = EventType.of(EVENT_TYPE)
    forest = forest_of([compile_condition(text, event_type).formula for text in _conditions(60)])
    find_access_predicates(forest)
    for measure in (COMMON, "occurrence"):
        generalise(forest, 40, measure)
    uncovered(forest)
    long = [" AND ".join(f"a{place} > {number + place}" for place in range(20)) for number in range(3)]
    generalise(forest_of([compile_condition(text).formula for text in long]), 40, "occurrence")  # many prunings
    texts = [f"brand = 'b{number}' AND stock < {number}" for number in range(3)]
    merge(forest_of([compile_condition(text, event_type).formula for text in texts]), 0.0, len)
    index = OverlapIndex([event_type])
    for number, formula in enumerate(forest):
        index.add(str(number), event_type.name, formula)
    index.overlapping(event_type.name, forest[0])


def _rare_predicates() -> None:
    """Match negated patterns, texts beyond ASCII in lower case, and quantifiers that nearly always hold."""
    events = [{"text": f"{'ÄÖÜ'[number % 3]} n{number % 7}", "tags": [number % 5, 1]} for number in range(_EVENTS)]
    templates = ("NOT text LIKE '%n{}%'", "text ILIKE '%ö n{}'", "exists(tags, tag -> tag < {})")
    matcher = Matcher(engine=MAPPED_ENGINE)
    matcher.add_many((f"s{n}", templates[n % 3].format(n)) for n in range(100))
    matcher.merge()
    matcher.match_batch(events)
    few = forest_of([compile_condition(f"brand < 'b{number}'").formula for number in range(9)])
    join_forests([(few, np.arange(3))])  # of which some texts are left out


def _distances() -> None:
    """Call the one operator of the library that has a kernel, if what it needs is installed."""
    if find_spec("shapely") is None:
        return
    from tamis.operators.library import spatial

    (distance,) = (each for each in spatial.operators(regions={"here": _SQUARE}) if each.name == "distance")
    position = pa.array([{"lon": 2.0, "lat": 2.0}], pa.struct([("lon", pa.float64()), ("lat", pa.float64())]))
    distance.function(position, pa.array(["here"]))


def _large_groups() -> None:
    """Build an index with groups so large that they have coarse bitmaps."""
    event_type = EventType.of(EVENT_TYPE)
    template = "stock BETWEEN {} AND 1{} AND rating < {}.5 AND price > {}"
    texts = [template.format(n % 40, n % 50, n % 97, n % 89) for n in range(3_000)]
    engine_of(MAPPED_ENGINE).build(forest_of(compile_conditions(texts, event_type)), None)


def _candidates_of_auto() -> None:
    """Match with what `auto` compares with, which it builds of segments in memory and of snapshots."""
    for engine in CANDIDATES:
        with tempfile.TemporaryDirectory() as folder:
            matcher = Matcher(EVENT_TYPE, engine=engine.name)
            matcher.add_many(_subscriptions())
            _match(matcher)
            matcher.publish(Path(folder) / "snapshot")
            _match(Matcher.open(Path(folder) / "snapshot", engine=engine.name))


def _composite_subscriptions() -> None:
    """Let events come to composite subscriptions, a batch that needs the kernels."""
    matcher = SequenceMatcher(
        {"name": "step", "attributes": {"time": "timestamp", "user": "string", "kind": "int"}}
    )
    matcher.add("s", "kind = 1 AS a THEN kind > a.kind WITHIN INTERVAL '10' MINUTE BY user")
    times = [dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=second) for second in range(_EVENTS)]
    users, kinds = [f"u{row // 2}" for row in range(_EVENTS)], [1 + row % 2 for row in range(_EVENTS)]
    matcher.feed(pa.table({"time": times, "user": users, "kind": kinds}))


_FIRST = (_index_and_match, _bulk_conditions, _json_events)
"""Steps that share few kernels, the longest first."""
_SECOND = (_matchers_and_snapshots, _notification_ids)
_RARE = (
    _operators,
    _routing,
    _large_groups,
    _candidates_of_auto,
    _rare_predicates,
    _distances,
    _wide_json_objects,
    _composite_subscriptions,
)
"""Steps of what not every process does: compiled with the second ones, loaded when they are needed."""
STEPS = (*_FIRST, *_SECOND, *_RARE)
"""All steps, in an order in which each needs the kernels of those before."""
