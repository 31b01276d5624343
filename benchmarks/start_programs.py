"""What `start` times, each a program of its own: `python -m benchmarks.start_programs NAME FOLDER`.

It prints one line of JSON: the number of pairs, which must be the same however the kernels got there, the kernels
that were compiled, and what the program timed itself.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

_TEMPLATES = (
    "price < {n} AND brand = 'b{k}'",
    "price BETWEEN {n} AND {m} AND stock = {k}",
    "price > {n} AND NOT brand = 'b{k}' AND stock IN (1, {k}, 3)",
    "(price < {n} OR stock > 8{k}) AND brand IN ('a', 'b{k}')",
)

_WORKERS = 6


def conditions(count: int) -> Iterator[tuple[str, str]]:
    for number in range(count):
        n = number * 7_919 % 100_000 / 100
        text = _TEMPLATES[number % len(_TEMPLATES)]
        yield f"s{number}", text.format(n=n, m=n + 5, k=number % 97)


def events(count: int) -> list[dict[str, Any]]:
    return [
        {"id": f"e{at}", "price": at * 31 % 1000, "brand": f"b{at % 97}", "stock": at % 100} for at in range(count)
    ]


def snippet(_folder: Path) -> dict[str, Any]:
    """Two conditions, one event, as the README has it."""
    from tamis import Matcher

    matcher = Matcher({"name": "camera", "attributes": {"brand": "string", "price": "decimal(8,2)"}})
    matcher.add("bargain", "price < 300 AND brand IN ('Canon', 'Nikon', 'Sony')")
    matcher.add("film", "brand LIKE 'Lei%' OR price BETWEEN 1000 AND 2500")
    found = matcher.match({"brand": "Sony", "price": 199.99})
    return {"pairs": len(found) + matcher.match_batch([{"brand": "Leica", "price": 2390}]).num_rows}


def _many(count: int) -> dict[str, Any]:
    from tamis import Matcher

    matcher = Matcher()
    refused = matcher.add_many(conditions(count))
    assert not refused
    alone = len(matcher.match(events(1)[0]))
    return {"pairs": alone + matcher.match_batch(events(1_000), event_id="id").num_rows}


def conditions_1000(_folder: Path) -> dict[str, Any]:
    """Add a thousand conditions; match one event, and a batch of a thousand."""
    return _many(1_000)


def conditions_100000(_folder: Path) -> dict[str, Any]:
    """The same with a hundred thousand."""
    return _many(100_000)


def micro_batches(folder: Path) -> dict[str, Any]:
    """Two micro-batches of a stream, timed from the moment Spark is up."""
    from tamis.sinks.base import Delivery
    from tamis.sinks.callback import CallbackSink
    from tamis.spark import Reading, stream
    from tamis.spark.session import session
    from tamis.store import Store

    store = Store.open(folder / "subs.db")
    store.add_many({"id": name, "condition": text} for name, text in conditions(1_000))
    (folder / "in").mkdir()
    for number in range(2):
        lines = (json.dumps(event | {"id": f"{number}-{event['id']}"}) for event in events(1_000))
        (folder / "in" / f"{number}.jsonl").write_text("\n".join(lines))
    spark = session("start", "local[2]")
    spark.range(1).count()
    begun = time.perf_counter()
    ends: list[float] = []
    pairs: list[int] = []

    def take(delivery: Delivery) -> None:
        ends.append(time.perf_counter() - begun)
        pairs.append(delivery.notifications.num_rows)

    query = stream(
        spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(str(folder / "in")),
        store,
        CallbackSink(call=take),
        checkpoint=folder / "checkpoint",
        reading=Reading(json="value"),
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    spark.stop()
    return {"pairs": sum(pairs), "first_batch_seconds": ends[0], "second_batch_seconds": ends[1] - ends[0]}


def new_worker(folder: Path) -> dict[str, Any]:
    """New Python workers of Spark, from the fork until they have opened subscriptions and matched an event."""
    import pyarrow as pa

    from tamis import Matcher
    from tamis.spark.session import session

    url, event = str(folder / "snapshot"), events(1)[0]
    matcher = Matcher()
    assert not matcher.add_many(conditions(1_000))
    matcher.publish(url)

    def first_match(_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os

        from tamis import Matcher

        pairs = len(Matcher.open(url).match(event))
        # When this process began, since the machine did.
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        seconds = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        yield pa.RecordBatch.from_pydict({"seconds": [seconds], "pairs": [pairs]})

    spark = session("start", "local[1]", {"spark.python.worker.reuse": "false"})
    rows = [
        spark.range(1).mapInArrow(first_match, "seconds double, pairs long").collect()[0] for _ in range(_WORKERS)
    ]
    spark.stop()
    return {
        "pairs": rows[0]["pairs"],
        "worker_seconds": statistics.median(row["seconds"] for row in rows[1:]),  # the first waits for the daemon
    }


def service(folder: Path) -> dict[str, Any]:
    """A service from its start until it is ready; its first event until it is notified, and its thousandth."""
    from benchmarks.service_host import serving
    from tamis.client import Client

    begun = time.perf_counter()
    with serving(folder) as host:
        ready = time.perf_counter()
        with Client(f"http://{host.target.host}:{host.target.port}", token=host.target.token) as client:
            client.subscribe("price < 300", id="cheap")
            notifications = iter(client.notifications(subscription="cheap", after=0))

            def publish(numbers: range) -> float:
                """Publish events in one request, and wait for their notifications; gives the seconds."""
                sent = time.perf_counter()
                client.publish([{"id": f"e{number}", "price": number % 300} for number in numbers])
                for _ in numbers:
                    next(notifications)
                return time.perf_counter() - sent

            first = publish(range(1))
            publish(range(1, 999))
            thousandth = publish(range(999, 1_000))
    return {
        "pairs": 1_000,
        "ready_seconds": ready - begun,
        "first_event_seconds": first,
        "thousandth_event_seconds": thousandth,
    }


_PROGRAMS = (snippet, conditions_1000, conditions_100000, micro_batches, new_worker, service)
PROGRAMS = {each.__name__: each for each in _PROGRAMS}


def main(name: str, folder: str) -> None:
    from tamis import kernels

    outcome = PROGRAMS[name](Path(folder))
    sys.stdout.write(json.dumps(outcome | {"compiled": kernels.compilations.count}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
