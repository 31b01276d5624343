"""Three linked services that are killed over and over under load: no event is lost, and none is notified twice.

Sites a, b and c are linked in a row, with subscriptions at each. Events are published at all of them, a publisher
repeats what was not answered. Services, streams and links are broken meanwhile. In the end every event that was
accepted anywhere must have notified every subscription that it satisfies, at whichever site, exactly once; the
reference decides which these are.

A process of a site is mostly killed after the site has notified somebody since it was last broken, so that kills
meet streams at work, however slow the machine is; one time in three it may still be starting. Every kill is
SIGKILL. Where streams share a Spark, those of all sites are killed at once, and always at work.
"""

from __future__ import annotations

import random
import socket
import threading
import time
from collections import Counter
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
from sqlalchemy import select

from tamis import reference
from tamis.events import EventBatch
from tamis.language.condition import compile_condition
from tamis.service.feed import FeedReader
from tamis.service.feed_tables import feed
from tamis.service.inbox import Inbox
from tamis.service.peers.entries import EntryRules, entries_for
from tamis.service.peers.outbox import Outbox
from tamis.service.peers.sources import SourceTable
from tamis.service.settings import ServiceSettings
from tamis.store import Store
from tests.campaigns.outcome import Outcome
from tests.campaigns.service import ALL_STREAM, EVERYTHING, JAVA, SERVICE, Life, until
from tests.campaigns.shared_streams import SharedStreams
from tests.service.peers.ways import Way, way_to

SITES = ("a", "b", "c")
LINK = "link"
SHARED_KINDS = (LINK, SERVICE, LINK, ALL_STREAM, LINK)
"""Of a campaign whose streams share a Spark."""
OWN_KINDS = (LINK, EVERYTHING, ALL_STREAM, SERVICE, JAVA)
CONDITIONS = {
    "a": ["x < 20", "y = 3 AND x > 40", "z IN ('p', 'q') OR y = 6"],
    "b": ["x BETWEEN 15 AND 45", "NOT (y < 5)", "z = 'r' AND y = 1"],
    "c": ["x >= 90", "y = 3", "z LIKE 'p%' AND x < 50", "w IS NOT NULL"],
}
_TOKEN = "a-token-for-the-links-of-a-campaign"
_PER_REQUEST = 20
_PATIENCE_SECONDS = 600.0
"""Without any progress."""
_AT_WORK = 2 / 3
"""The share of kills that wait until their site is at work."""


def event(number: int) -> dict[str, Any]:
    return {"id": f"e{number}", "x": number % 101, "y": number % 7, "z": "pqrst"[number % 5]}


class Site:
    """A site of the campaign: its service in processes."""

    def __init__(self, name: str, settings: ServiceSettings, logs: Path) -> None:
        self.name = name
        self.settings = settings
        self._logs = logs
        self._lives = 0
        self._notified_before = 0
        settings.folder.mkdir(parents=True)
        self.life = self._live()
        until(self.life.listens, self.life.said)
        token = (settings.folder / "token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}"}
        self.client = httpx2.Client(
            base_url=f"http://127.0.0.1:{settings.port}", headers=headers, timeout=30.0, trust_env=False
        )

    def _live(self) -> Life:
        self._lives += 1
        return Life(self.settings, self._logs / f"log {self.name} {self._lives}")

    def kill(self, kind: str, chance: random.Random) -> bool:
        """Break something; tells whether there was such a thing."""
        if not self.life.kill(kind, chance):
            return False
        self.note_kill()
        if kind in (SERVICE, EVERYTHING):
            self.life = self._live()
        return True

    def note_kill(self) -> None:
        """Something of it was killed."""
        self._notified_before = self._notifications()

    def has_notified(self) -> bool:
        """Has it notified somebody since something of it was killed?"""
        return self._notifications() > self._notified_before

    def _notifications(self) -> int:
        reader = FeedReader(self.settings.database("feed"))
        try:
            return reader.end()
        finally:
            reader.close()

    def close(self) -> None:
        self.client.close()
        self.life.end()

    def pending(self) -> int:
        """Events that wait for the stream or for a link."""
        inbox, reader = Inbox(self.settings.database("inbox")), FeedReader(self.settings.database("feed"))
        try:
            return inbox.waiting() + sum(each.backlog for each in Outbox(reader.database).totals().values())
        finally:
            inbox.close()
            reader.close()

    def notified(self) -> Counter[tuple[str, str]]:
        """How often each event is in the feed for each subscription."""
        reader = FeedReader(self.settings.database("feed"))
        try:
            with reader.database.reading() as connection:
                rows = connection.execute(select(feed.c.event_id, feed.c.subscription_id))
                return Counter((event_id, subscription) for event_id, subscription in rows)
        finally:
            reader.close()


class Publisher(threading.Thread):
    """Publishes at a site, and repeats what was not answered until it is."""

    def __init__(self, site: Site, first: int, rate: float) -> None:
        super().__init__(name=f"publisher {site.name}", daemon=True)
        self._site = site
        self._first = first
        self._pause = _PER_REQUEST / rate
        self.stop = threading.Event()
        self.answered: list[int] = []
        self.failures = 0

    def run(self) -> None:
        number = self._first
        while not self.stop.is_set():
            numbers = range(number, number + _PER_REQUEST)
            while not self._is_taken([event(each) for each in numbers]):
                self.failures += 1
                time.sleep(0.05)
            self.answered += numbers
            number += _PER_REQUEST
            self.stop.wait(self._pause)

    def _is_taken(self, events: list[dict[str, Any]]) -> bool:
        try:
            return self._site.client.post("/v1/events", json=events).status_code == 202
        except httpx2.HTTPError:
            return False


def run(outcome: Outcome, folder: Path, *, kills: int, rate: float = 100.0, shares_spark: bool = False) -> None:
    """Break a chain of three services so many times, and compare every pair.

    Args:
        outcome: What becomes of it.
        folder: Empty.
        kills: Each kind in turn.
        rate: Events that are published a second, at each site.
        shares_spark: Do all streams run in one process? Else each service has its own, which is killed, too.
    """
    chance = random.Random(outcome.seed)
    kinds = SHARED_KINDS if shares_spark else OWN_KINDS
    with ExitStack() as stack:
        ways: list[Way] = []
        sites = _open(folder, shares_spark, stack, ways)
        streams = None
        if shares_spark:
            streams = SharedStreams([site.settings for site in sites], folder)
            stack.callback(streams.close)
        _subscribe(sites)
        publishers = [Publisher(site, place * 10_000_000, rate) for place, site in enumerate(sites)]
        for each in publishers:
            each.start()
        killed: Counter[str] = Counter()
        processes = 0
        try:
            while killed.total() < kills and not outcome.stop.is_set():
                # Every site has each kind in turn, and some time to recover between.
                kind, site = kinds[killed.total() % len(kinds)], sites[killed.total() % len(sites)]
                is_shared = shares_spark and kind == ALL_STREAM
                if is_shared or (not shares_spark and kind != LINK and chance.random() < _AT_WORK):
                    until(lambda site=site: site.has_notified() or outcome.stop.is_set(), site.life.said)  # type: ignore[misc]
                time.sleep(chance.uniform(0.1, 0.6 if shares_spark else 2.0))  # any moment
                if kind == LINK:
                    is_done = sum(way.drop() for way in ways) > 0
                    chance.choice(ways).answers_to_lose += 1
                elif is_shared:
                    assert streams is not None
                    processes += streams.kill()
                    is_done = True
                    for other in sites:
                        other.note_kill()
                else:
                    is_done = site.kill(kind, chance)
                if is_done:
                    killed[kind] += 1
                    outcome.say(f"{killed.total()} of {kills}: {kind} at {site.name}")
        finally:
            for each in publishers:
                each.stop.set()
        for each in publishers:
            each.join(_PATIENCE_SECONDS)
            assert not each.is_alive(), "a publisher gets no answer"
        outcome.figures |= {
            "kills": killed.total(),
            "kills by kind": dict(killed),
            "processes of shared streams killed": processes,
            "answers lost": sum(way.lost for way in ways),
            "requests repeated": sum(each.failures for each in publishers),
        }
        _settle(outcome, sites, streams)
        _compare(outcome, sites, [number for each in publishers for number in each.answered])


def _open(folder: Path, shares_spark: bool, stack: ExitStack, ways: list[Way]) -> list[Site]:
    ports = {name: _free_port() for name in SITES}
    peers: dict[str, list[str]] = {name: [] for name in SITES}
    for one, other in pairwise(SITES):
        for here, there in ((one, other), (other, one)):
            ways.append(stack.enter_context(way_to(ports[there])))
            peers[here].append(f"{there} {ways[-1].url} {_TOKEN}")
    sites = []
    for name in SITES:
        given: dict[str, Any] = {"site": name, "port": ports[name], "peers": tuple(peers[name]), "memory": "1g"}
        given |= {"stream": not shares_spark, "master": "local[1]", "trigger_seconds": 0.05, "link_bytes": 60}
        sites.append(Site(name, ServiceSettings(data=str(folder / name), **given), folder))
        stack.callback(sites[-1].close)
    return sites


def _subscribe(sites: list[Site]) -> None:
    """Subscribe at all sites, and wait until each has the entries of its neighbours."""
    for site in sites:
        for number, condition in enumerate(CONDITIONS[site.name]):
            body = {"id": f"s{number}", "condition": condition}
            answer = site.client.post("/v1/subscriptions", json=body)
            assert answer.status_code == 201, answer.text

    def are_in_step() -> bool:
        links = {site.name: site.client.get("/v1/peers").json()["items"] for site in sites}
        counts = {(here, each["name"]): each["entries_in"] for here, items in links.items() for each in items}
        wanted = {}
        for site in sites:
            with Store.open(site.settings.database("store")) as store:
                sources, rules = SourceTable(store).read(), EntryRules(site.settings.link_bytes)
                for each in links[site.name]:
                    found = entries_for(each["name"], sources, store.event_types(), rules)
                    wanted[each["name"], site.name] = len(found.entries)
        return counts == wanted and all(counts.values())

    until(are_in_step, lambda: str([site.client.get("/v1/peers").text for site in sites]), _PATIENCE_SECONDS)


def _settle(outcome: Outcome, sites: list[Site], streams: SharedStreams | None) -> None:
    """Wait until no event waits anywhere; one on its way is in an inbox before it leaves the outbox."""
    began = since = time.monotonic()
    before, quiet = [0], 0
    while quiet < 2:
        waiting = [site.pending() for site in sites]
        quiet = 0 if any(waiting) else quiet + 1
        if waiting != before:
            before, since = waiting, time.monotonic()
        said = (
            f"{waiting} events wait: {[each.said() for each in (streams, *(site.life for site in sites)) if each]}"
        )
        assert time.monotonic() - since < _PATIENCE_SECONDS, said
        time.sleep(0.1)
    outcome.figures["seconds until nothing waited"] = round(time.monotonic() - began, 1)


def _compare(outcome: Outcome, sites: list[Site], numbers: list[int]) -> None:
    batch = EventBatch.of([event(number) for number in numbers])
    compared = 0
    for site in sites:
        expected = {
            (f"default/e{numbers[row]}", f"default/s{place}")
            for place, condition in enumerate(CONDITIONS[site.name])
            for row in reference.matches(compile_condition(condition), batch)
        }
        found = site.notified()
        lost, extra = (
            expected - found.keys(),
            {pair for pair, count in found.items() if count > 1} | (found.keys() - expected),
        )
        if lost:
            outcome.violate(f"site {site.name}: {len(lost)} pairs are lost, such as {min(lost)}")
        if extra:
            outcome.violate(f"site {site.name}: {len(extra)} pairs are too many, such as {min(extra)}")
        compared += len(expected)
    outcome.figures |= {"events accepted": len(numbers), "pairs compared": compared}


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port
