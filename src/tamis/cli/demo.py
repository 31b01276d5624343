"""`tamis demo`: the main job from end to end, on generated auctions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.cli.options import Json

if TYPE_CHECKING:
    from tamis.explain import Explanation
    from tamis.progress import BatchReport
    from tamis.sinks import Sink
    from tamis.store import Store
    from tamis.workloads import Workload

_FILES = 40
_FILES_A_BATCH = 2
_CHANGED_AT_ONCE = 200
_SEED = 2026


def demo(
    subscriptions: Annotated[
        int, typer.Option("--subscriptions", metavar="N", min=10, help="How many subscriptions.")
    ] = 100_000,
    events: Annotated[int, typer.Option("--events", metavar="N", min=100, help="How many events.")] = 200_000,
    folder: Annotated[
        Path, typer.Option("--folder", metavar="FOLDER", help="Where everything goes; it must be new or empty.")
    ] = Path("tamis-demo"),
    json: Json = False,
) -> None:
    """Stream generated auctions through embedded Spark while subscriptions come and go, and tell what happened.

    Makes a store of subscriptions and files of events in the folder, matches the events in micro-batches, records
    the notifications once each in Parquet files, and writes a report as an HTML page.

    \b
    Examples:
      tamis demo
      tamis demo --subscriptions 1000000 --events 50000 --folder /tmp/auctions

    Exit code 2 if the folder is in use, or there is no Java.
    """
    from tamis.cli.output import Screen, fail, reported_errors

    with reported_errors():
        if folder.exists() and any(folder.iterdir()):
            fail(f"{folder} is not empty: remove it, or give another --folder")
        _run(subscriptions, events, folder, Screen(stderr=True).say, as_json=json)


def _run(subscriptions: int, events: int, folder: Path, say: Callable[[str], None], *, as_json: bool) -> None:
    from tamis.cli.progress import progress_view
    from tamis.sinks.parquet import ParquetSink
    from tamis.spark.session import session
    from tamis.store import Store
    from tamis.workloads import generate

    say(f"generating {subscriptions:,} subscriptions and {events:,} events")
    # A tenth more subscriptions than there are at first: they are added while the stream runs.
    extra = subscriptions // 10
    workload = generate("auction", subscriptions=subscriptions + extra, events=events, seed=_SEED)
    _write_events(workload, folder / "events")
    say("checking and storing subscriptions")
    with Store.open(folder / "subscriptions.db") as store:
        store.set_event_type(workload.event_type)
        _import(store, workload, 0, subscriptions)
        say("starting Spark")
        spark = session("tamis demo", master="local[2]")
        sink = ParquetSink(folder=folder / "notifications")
        view = progress_view(json=as_json)
        try:
            reports = _stream(spark, store, sink, workload, subscriptions, folder, view)
        finally:
            view.close()
            spark.stop()
        _tell(reports, workload, len(store), folder, as_json=as_json)


def _write_events(workload: Workload, folder: Path) -> None:
    """As JSON lines, in files of about equal length."""
    from tamis.workloads.files import event_lines

    folder.mkdir(parents=True)
    rows = workload.events.num_rows
    step = -(-rows // _FILES)
    for number, start in enumerate(range(0, rows, step)):
        with (folder / f"{number:03}.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(event_lines(workload.events.slice(start, step)))


def _import(store: Store, workload: Workload, first: int, count: int) -> None:
    import pyarrow as pa

    ids, conditions = workload.ids.slice(first, count), workload.conditions.slice(first, count)
    types = pa.repeat(pa.scalar(workload.event_type.name), len(ids))
    store.add_many(pa.table({"id": ids, "condition": conditions, "event_type": types}))


def _stream(
    spark: Any, store: Store, sink: Sink, workload: Workload, subscriptions: int, folder: Path, view: Any
) -> list[BatchReport]:
    """Run the query to its end, with subscriptions coming and going beside it."""
    from tamis.progress import History
    from tamis.spark import Reading, stream

    events = spark.readStream.option("maxFilesPerTrigger", _FILES_A_BATCH).text(str(folder / "events"))
    ended = threading.Event()
    changes = threading.Thread(target=_change, args=(store, workload, subscriptions, ended), daemon=True)
    query = stream(
        events,
        store,
        sink,
        checkpoint=folder / "checkpoint",
        reading=Reading(json="value"),
        trigger={"availableNow": True},
        views=[view],
        backlog=lambda seen: workload.events.num_rows - seen,
        name="tamis demo",
    )
    changes.start()
    try:
        query.awaitTermination()
    finally:
        ended.set()
        changes.join()
    return History(folder / "checkpoint" / "tamis" / "progress.jsonl").read()


def _change(store: Store, workload: Workload, first: int, ended: threading.Event) -> None:
    """Add some of the subscriptions that are left, and remove half as many of the first ones, again and again."""
    removed = 0
    while first < len(workload.ids) and not ended.wait(0.5):
        _import(store, workload, first, _CHANGED_AT_ONCE)
        first += _CHANGED_AT_ONCE
        store.remove_many(workload.ids.slice(removed, _CHANGED_AT_ONCE // 2).to_pylist())
        removed += _CHANGED_AT_ONCE // 2


def _tell(
    reports: list[BatchReport], workload: Workload, subscriptions: int, folder: Path, *, as_json: bool
) -> None:
    """The summary, one match explained, and the page."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from tamis.cli.output import JsonLines, Screen
    from tamis.cli.progress import summary_text
    from tamis.cli.trees import explanation_tree
    from tamis.progress import TOP, Summary, busiest
    from tamis.report import page
    from tamis.sinks.files import read_notifications

    output = folder / "notifications"
    found = read_notifications(output)
    explained = _explained(found, workload, folder)
    counted = found.group_by("subscription_id").aggregate([([], "count_all")])
    matches = dict(zip(counted["subscription_id"].to_pylist(), counted["count_all"].to_pylist(), strict=True))
    report = folder / "report.html"
    report.write_text(
        page(
            reports,
            title="tamis demo: auctions",
            output=str(output),
            explained=explained,
            matches=matches,
            subscriptions=subscriptions,
            facts={"subscriptions": f"{subscriptions:,}", "seed": str(_SEED)},
        ),
        encoding="utf-8",
    )
    summary = replace(Summary.of(reports), top=busiest(matches, TOP))
    if as_json:
        distinct = pc.count_distinct(pa.chunked_array(found["id"])).as_py()
        lines = {"events": summary.events, "notifications": found.num_rows, "distinct": distinct}
        JsonLines().write(
            {**lines, "report": str(report), "explained": explained.to_dict() if explained else None}
        )
        return
    screen = Screen()
    screen.print(summary_text(summary, str(output)))
    if explained is not None:
        screen.say("\nOne of them, explained:", style="bold")
        screen.say(explained.reason)
        screen.print(explanation_tree(explained))
    screen.say(f"\nThe same with charts: {report}")


def _explained(found: Any, workload: Workload, folder: Path) -> Explanation | None:
    """Why one event matched, with the version of the subscriptions that it was matched with."""
    import pyarrow.compute as pc

    from tamis.matcher import Matcher

    if not found.num_rows:
        return None
    one = found.sort_by([("id", "ascending")]).slice(0, 1).to_pylist()[0]
    event = workload.events.filter(pc.equal(workload.events["id"], one["event_id"])).to_pylist()[0]
    matcher = Matcher.open(
        folder / "checkpoint" / "tamis" / "snapshot", one["version"], event_type=one["event_type"]
    )
    return matcher.explain(
        one["subscription_id"], {name: value for name, value in event.items() if value is not None}
    )
