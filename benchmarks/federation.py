"""Three linked services in a row: what is delivered, what is sent in vain, and what a hop costs.

Everything is real and on this machine: services with their Sparks, in processes of their own (at the smallest size
their streams share one Spark). Events are published at one end. Before anything is told, the notifications at
each site are compared with those of a `Matcher` with that site's subscriptions: none may be missing, none may come
twice. The chain runs with exact entries, and with a tenth of their bytes. What other measures and sizes would have
sent in vain is found by matching the events with such entries, in this process.

An event had to be sent over a link if it matches a subscription behind it. The time of a notification is from the
acceptance of its event at the first site until the match at the subscription's, by the clock of this machine.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from sqlalchemy import select

from benchmarks.report import Bar, Figures, Report, Size, number, print_bars
from benchmarks.service_data import Data, data_of, keys
from benchmarks.service_host import Host, serving
from tamis import Matcher
from tamis.events import EventBatch, EventType
from tamis.routing.generalisation import known_measures
from tamis.service.feed import FeedReader
from tamis.service.feed_tables import feed
from tamis.service.inbox import Inbox
from tamis.service.peers.entries import MEASURE, EntryRules, EntrySet, entries_for
from tamis.service.peers.outbox import Outbox
from tamis.service.peers.sources import Source, SourceTable
from tamis.service.settings import ServiceSettings
from tamis.service.stream import start
from tamis.spark.session import session
from tamis.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SITES = ("a", "b", "c")
_TOKEN = "a-token-for-the-links-of-a-benchmark"
_PATIENCE_SECONDS = 900.0
_SAMPLE_EVENTS = 1_000
_TENTH = 0.1
_SHARES = (0.5, 0.2, _TENTH, 0.05)
_SECONDS_BETWEEN = 0.1
"""Between requests."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured.

    Attributes:
        subscriptions: At each site.
        rate: Events a second.
        seconds: That they are published.
        chains: The share of the bytes of exact entries in each chain of services.
        pruned: Subscriptions at each site, and measures, in the table of forwards in vain; none for no table.
        shares_spark: Do the streams of all sites run in one Spark, that of this process?
    """

    subscriptions: int
    rate: float
    seconds: float
    chains: tuple[float, ...] = (_TENTH,)
    pruned: tuple[int, Sequence[str]] = (0, ())
    shares_spark: bool = False


SCALES: dict[Size, Scale] = {
    "smallest": Scale(1_000, 500.0, 2.0, shares_spark=True),
    "quick": Scale(2_000, 200.0, 10.0),
    "full": Scale(10_000, 1_000.0, 60.0, (1.0, _TENTH), (3_000, known_measures())),
}


def run(size: Size) -> Report:
    """Measure; bars are judged at full size only."""
    scale = SCALES[size]
    started = time.monotonic()

    def progress(what: str) -> None:
        print(f"[{time.monotonic() - started:6.1f} s] {what}", file=sys.stderr, flush=True)

    per_request = max(1, round(scale.rate * _SECONDS_BETWEEN))
    events = round(scale.seconds / _SECONDS_BETWEEN) * per_request
    progress(f"generating {3 * scale.subscriptions} subscriptions and {events} events, and matching them")
    data = data_of(3 * scale.subscriptions, events)
    figures: Figures = {"subscriptions at each site": scale.subscriptions, "events": events}
    progress("generalising entries to a tenth of their bytes")
    figures |= {
        f"foreseen at a tenth: {title}": value for title, value in forwards_with(data, _TENTH).figures().items()
    }
    if scale.pruned[0]:
        figures |= _by_bytes(data_of(3 * scale.pruned[0], events), scale.pruned[1], progress)
    found = []
    for share in scale.chains:
        progress(f"a chain with {share} of the bytes of exact entries")
        with tempfile.TemporaryDirectory(prefix="tamis-federation-") as folder, ExitStack() as stack:
            spark = stack.enter_context(_shared_spark()) if scale.shares_spark else None
            found.append(_measure(Path(folder), data, share, per_request, spark, progress))
        figures |= {
            f"{number(share)} of the bytes: {title}": value for title, value in found[-1].figures().items()
        }
    first, last = found[0], found[-1]
    bars = {
        "forwarded / necessary": Bar(first.forwarded / max(1, first.necessary), 1.5, at_most=True),
        "in vain at a tenth of the bytes": Bar(last.vain_share, 0.1, at_most=True),
        "p99 of two hops / one hop": Bar(first.p99[2] / first.p99[1], 3.0, at_most=True),
        "published at the rate that is due": Bar(first.rate / scale.rate, 0.99),
        "p99 of two hops in the last half / the first": Bar(first.growth, 2.0, at_most=True),
    }
    is_judged = size == "full"
    figures["bars"] = "judged" if is_judged else "not judged: this is not the size that they are set for"
    report = Report("federation", figures, bars, is_judged)
    print_bars(report)
    return report


def _titled(title: str, figures: Figures) -> Figures:
    return {f"{title}: {name}": value for name, value in figures.items()}


@dataclass(frozen=True, slots=True)
class Forwards:
    """What entries of a size would send over both links.

    Attributes:
        entry_bytes: Of the entries that the first site has of its neighbour.
        entries: How many these are.
        forwarded: Events that they send.
        necessary: Events that had to be.
        events: That were published.
        seconds: What it took to make the entries of the first link.
    """

    entry_bytes: int
    entries: int
    forwarded: int
    necessary: int
    events: int
    seconds: float

    @property
    def vain_share(self) -> float:
        """Of the events that are sent, those that did not have to be."""
        return (self.forwarded - self.necessary) / max(1, self.forwarded)

    def figures(self) -> Figures:
        """For the report."""
        return {
            "entries": self.entries,
            "entry bytes": self.entry_bytes,
            "events forwarded": self.forwarded,
            "events that had to be": self.necessary,
            "in vain, of these": number(self.vain_share),
            "in vain, of all events and links": number((self.forwarded - self.necessary) / (2 * self.events)),
            "made in, s": number(self.seconds),
        }


def _by_bytes(data: Data, measures: Sequence[str], progress: Any) -> Figures:
    """The share of forwards in vain by the share of bytes: merged entries, and those that are only pruned."""
    figures: Figures = {}
    for name, merging in (("merged", True), *((measure, False) for measure in measures)):
        found = []
        for share in _SHARES:
            progress(f"{name}: {share} of the bytes")
            pruned = forwards_with(data, share, MEASURE if merging else name, merging=merging)
            found.append(f"{share}: {number(pruned.vain_share)} in {number(pruned.seconds)} s")
        figures[f"in vain by share of bytes, {name}"] = ", ".join(found)
    return figures


def forwards_with(data: Data, share: float, measure: str = MEASURE, *, merging: bool = True) -> Forwards:
    """What is sent if a site sends entries that take a share of the bytes of exact ones, from site to site."""
    name, types, at = _sources(data)
    sample = EventBatch.of(data.workload.events.slice(0, _SAMPLE_EVENTS), types[name])

    def pruned(sources: list[Source], exact: int) -> EntrySet:
        rules = EntryRules(int(exact * share) if share < 1 else 0, measure, merging)
        return entries_for("a", sources, types, rules, samples=lambda _: sample)

    sizes = exact_bytes(data)
    last = pruned(at[2], sizes[2])
    began = time.perf_counter()
    first = pruned(at[1] + [Source("c", *each, "sql") for each in last.entries.values()], sizes[1])
    seconds = time.perf_counter() - began
    reached = _matching(data, first, np.arange(data.workload.events.num_rows))
    onward = _matching(data, last, reached)
    count = len(reached) + len(onward)
    events = data.workload.events.num_rows
    return Forwards(first.bytes, len(first.entries), count, _necessary(data), events, seconds)


def _sources(data: Data) -> tuple[str, dict[str, EventType], list[list[Source]]]:
    """The qualified name of the event type, the type by that name, and the subscriptions of each site."""
    name = f"default/{data.event_type}"
    conditions = data.workload.conditions.to_pylist()
    at = [[Source(None, name, each, "sql") for each in conditions[place::3]] for place in range(3)]
    return name, {name: replace(data.workload.event_type, name=name)}, at


def exact_bytes(data: Data) -> list[int]:
    """Of the exact entries that each site sends towards the first, or the first to its neighbour."""
    _, types, at = _sources(data)
    return [entries_for("a", some, types).bytes for some in (at[0], at[1] + at[2], at[2])]


def _matching(data: Data, entries: EntrySet, events: Any) -> Any:
    """Those of the events, by number, that satisfy an entry."""
    matcher = Matcher(data.workload.event_type)
    texts = [each.condition for each in entries.entries.values()]
    matcher.add_many(pa.table({"id": [str(place) for place in range(len(texts))], "condition": texts}))
    pairs = matcher.match_batch(data.workload.events.take(pa.array(events)), sort=None)
    return events[np.unique(pairs["event_id"].to_numpy())]


@dataclass(frozen=True, slots=True)
class Measured:
    """What happened in the chain.

    Attributes:
        entry_bytes: Of the entries that the first site has of its neighbour.
        entries: How many these are.
        forwarded: Events that were sent, over both links.
        necessary: Events that had to be.
        p99: From accepted to notified, in seconds, by number of hops.
        p50: The same, half of them.
        growth: The 99th percentile of the last half of the events, two hops away, by that of the first half.
        rate: Events a second that were published.
    """

    entry_bytes: int
    entries: int
    forwarded: int
    necessary: int
    p99: tuple[float, ...]
    p50: tuple[float, ...]
    growth: float
    rate: float

    @property
    def vain_share(self) -> float:
        """Of the events that were sent, those that did not have to be."""
        return (self.forwarded - self.necessary) / max(1, self.forwarded)

    def figures(self) -> Figures:
        """For the report."""
        return {
            "entries": self.entries,
            "entry bytes": self.entry_bytes,
            "events forwarded": self.forwarded,
            "events that had to be": self.necessary,
            "in vain, of these": number(self.vain_share),
            "published, events/s": number(self.rate),
            "p50 by hops, s": ", ".join(str(number(each)) for each in self.p50),
            "p99 by hops, s": ", ".join(str(number(each)) for each in self.p99),
        }


def _measure(
    folder: Path, data: Data, share: float, per_request: int, spark: SparkSession | None, progress: Any
) -> Measured:
    budgets = [0 if share >= 1 else int(each * share) for each in exact_bytes(data)]
    with _chain(folder, budgets, spark, progress) as sites:
        hosts = [each.host for each in sites]
        for place, host in enumerate(hosts):
            described = json.dumps(data.workload.event_type.to_dict()).encode()
            host.ask("PUT", f"/v1/event-types/{data.event_type}", described)
            _import(host, data, place)
        progress("waiting for entries")
        _wait_for_entries(sites)
        entries = host_link(hosts[0], "b")
        progress("publishing")
        rate = _publish(hosts[0], data, per_request)
        progress("waiting for the last notifications")
        _settle(sites)
        progress("comparing pairs")
        found = [_compare(hosts[0], host, data, place) for place, host in enumerate(hosts)]
        sent = sum(map(_forwarded, hosts))
    if not all(len(times) for _, times in found):
        msg = "a site has no notification: there are too few events"
        raise SystemExit(msg)
    events, times = found[2]
    is_late = events >= np.median(events)
    growth = np.quantile(times[is_late], 0.99) / np.quantile(times[~is_late], 0.99) if not is_late.all() else 1.0
    quantiles = [[float(np.quantile(each, q)) for _, each in found] for q in (0.5, 0.99)]
    return Measured(
        entry_bytes=entries["entries_in_bytes"],
        entries=entries["entries_in"],
        forwarded=sent,
        necessary=_necessary(data),
        p99=tuple(quantiles[1]),
        p50=tuple(quantiles[0]),
        growth=float(growth),
        rate=rate,
    )


@dataclass(slots=True)
class SiteStream:
    """A site, and its stream if that runs in the Spark of this process."""

    host: Host
    settings: ServiceSettings
    spark: SparkSession | None
    query: Any = None
    open: ExitStack = field(default_factory=ExitStack)

    def watch(self) -> None:
        """Start the stream if it does not run: Spark gives up if its Python takes too long to start."""
        if self.spark is not None and (self.query is None or not self.query.isActive):
            self.close()
            self.query = start(self.settings, self.spark, self.open, name=f"tamis {self.settings.site}")

    def close(self) -> None:
        """Stop the stream."""
        if self.query is not None:
            self.query.stop()
        self.open.close()
        self.open = ExitStack()


@contextmanager
def _shared_spark() -> Iterator[SparkSession]:
    """The Spark of this process, which stays if it has been there."""
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    found = active or session("tamis", "local[2]", {"spark.log.level": "OFF", "spark.ui.enabled": "false"})
    try:
        yield found
    finally:
        if active is None:
            found.stop()


@contextmanager
def _chain(
    folder: Path, budgets: Sequence[int], spark: SparkSession | None, progress: Any
) -> Iterator[list[SiteStream]]:
    """Three services, linked in a row."""
    with ExitStack() as stack:
        progress("starting three services")
        starting, settings = [], []
        for name, budget in zip(SITES, budgets, strict=True):
            (folder / name).mkdir()
            given = {"site": name, "master": "local[1]", "memory": "1g", "link_bytes": budget}
            starting.append(serving(folder / name, given | {"stream": "true" if spark is None else "false"}))
            settings.append(ServiceSettings(data=str(folder / name / "data"), site=name))
        with ThreadPoolExecutor(len(SITES)) as pool:
            hosts = [*pool.map(stack.enter_context, starting)]
        named = dict(zip(SITES, hosts, strict=True))
        for one, other in pairwise(SITES):
            for here, there in ((one, other), (other, one)):
                target = named[there].target
                body = {"url": f"http://{target.host}:{target.port}", "token": _TOKEN}
                named[here].ask("PUT", f"/v1/peers/{there}", json.dumps(body).encode())
        sites = [SiteStream(host, each, spark) for host, each in zip(hosts, settings, strict=True)]
        for site in sites:
            stack.callback(site.close)
            site.watch()
        yield sites


def _import(host: Host, data: Data, place: int) -> None:
    """Every third subscription lives at a site."""
    ids, conditions = (each.to_pylist()[place::3] for each in (data.workload.ids, data.workload.conditions))
    lines = [
        json.dumps({"id": id, "condition": condition, "event_type": data.event_type})
        for id, condition in zip(ids, conditions, strict=True)
    ]
    refused = host.ask("POST", "/v1/subscriptions/import", "\n".join(lines).encode())["refusals"]
    if refused:
        msg = f"the service refuses subscription {refused[0]['id']}: {refused[0]['detail']}"
        raise SystemExit(msg)


def host_link(host: Host, name: str) -> dict[str, Any]:
    """What a site says of a link."""
    [found] = [each for each in host.ask("GET", "/v1/peers")["items"] if each["name"] == name]
    return dict(found)


def _wait_for_entries(sites: Sequence[SiteStream]) -> None:
    """Wait until each site has what its neighbours want it to have, for all that is behind them by now."""
    ends = [(sites[0], "b", sites[1], "a"), (sites[1], "c", sites[2], "b")]
    ends += [(there, back, here, name) for here, name, there, back in ends]
    deadline, same, before = time.monotonic() + _PATIENCE_SECONDS, 0, None
    while same < 3:
        if time.monotonic() > deadline:
            msg = "entries do not arrive"
            raise SystemExit(msg)
        time.sleep(1.0)
        state = []
        for receiver, sender_name, sender, receiver_name in ends:
            out = host_link(sender.host, receiver_name)
            held = host_link(receiver.host, sender_name)["entries_in"]
            state.append((held, out["entries_out"], _behind(sender, receiver_name), out["subscriptions_out"]))
        is_done = all(held == wanted > 0 and behind == told for held, wanted, behind, told in state)
        same, before = same + 1 if is_done and state == before else 0, state


def _behind(site: SiteStream, link: str) -> int:
    """How many conditions a neighbour is to have entries for: those here, and those that came over other links."""
    with Store.open(site.settings.database("store")) as store:
        return sum(each.link != link for each in SourceTable(store).read())


def _publish(host: Host, data: Data, per_request: int) -> float:
    """Publish all events at the rate that is due; gives the rate that it was."""
    bodies = data.bodies(0, data.workload.events.num_rows, per_request)
    began = time.monotonic()
    for place, body in enumerate(bodies):
        time.sleep(max(0.0, began + place * _SECONDS_BETWEEN - time.monotonic()))
        host.ask("POST", f"/v1/events?event_type={data.event_type}", body)
    rate: float = data.workload.events.num_rows / (time.monotonic() - began)
    return rate


def _settle(sites: Sequence[SiteStream]) -> None:
    """Wait until no event waits for a stream or a link."""
    deadline, quiet = time.monotonic() + _PATIENCE_SECONDS, 0
    while quiet < 3:
        for each in sites:
            each.watch()
        if time.monotonic() > deadline:
            msg = "events wait for ever"
            raise SystemExit(msg)
        time.sleep(0.3)
        quiet = quiet + 1 if not any(_pending(each.host) for each in sites) else 0


@contextmanager
def _databases(host: Host) -> Iterator[tuple[Inbox, FeedReader]]:
    inbox, reader = Inbox(str(host.folder / "inbox.db")), FeedReader(str(host.folder / "feed.db"))
    try:
        yield inbox, reader
    finally:
        inbox.close()
        reader.close()


def _pending(host: Host) -> int:
    with _databases(host) as (inbox, reader):
        return inbox.waiting() + sum(each.backlog for each in Outbox(reader.database).totals().values())


def _forwarded(host: Host) -> int:
    with _databases(host) as (_, reader):
        return sum(each.forwarded for each in Outbox(reader.database).totals().values())


def _compare(first: Host, host: Host, data: Data, place: int) -> tuple[Any, Any]:
    """Check the notifications of a site; gives their events, and how long each took since that was accepted."""
    with _databases(host) as (_, reader), reader.database.reading() as connection:
        query = select(feed.c.event_id, feed.c.subscription_id, feed.c.matched_at)
        rows = [(event, subscription, at) for event, subscription, at in connection.execute(query)]
    events = np.array([int(event.rpartition("/e")[2]) for event, _, _ in rows], np.int64)
    subscriptions = np.array([int(name.rpartition("/s")[2]) for _, name, _ in rows], np.int64)
    own = data.expected[_subscriptions(data) % 3 == place]
    if not np.array_equal(np.sort(keys(events, subscriptions)), own):
        msg = f"site {SITES[place]}: {len(rows)} notifications, expected {len(own)}, or others"
        raise SystemExit(msg)
    with _databases(first) as (inbox, _):
        accepted = inbox.accepted_at(sorted({event for event, _, _ in rows}))
    return events, np.array([at / 1e6 - accepted[event].timestamp() for event, _, at in rows])


def _subscriptions(data: Data) -> Any:
    """The subscription of each expected pair; the workload numbers them in the order of its rows."""
    return data.expected % (1 << 32)


def _necessary(data: Data) -> int:
    """Events that had to be sent over the first link, and over the second."""
    events, sites = data.expected // (1 << 32), _subscriptions(data) % 3
    return len(np.unique(events[sites >= 1])) + len(np.unique(events[sites == 2]))
