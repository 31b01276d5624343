"""A service that is killed over and over under load: what was answered stays, and every match is recorded once.

Events are published, subscriptions made and cancelled all the time; the whole tree, the service alone, its stream,
Java or a Python worker is killed. In the end each event is compared with the subscriptions of the version that its
batch was matched with, by the reference; and that version has every change that was answered before the event was
published. With SQLite, with PostgreSQL, and with Kafka as the log that the stream reads.
"""

from __future__ import annotations

import json
import random
import re
import socket
import subprocess
import sys
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from sqlalchemy import select

from tamis import reference
from tamis.events import EventBatch, EventType
from tamis.language.condition import Condition, compile_condition
from tamis.language.dialects import has_state
from tamis.service.feed import FeedReader
from tamis.service.feed_tables import commits, feed
from tamis.service.inbox import Inbox, events
from tamis.service.settings import ServiceSettings
from tamis.service.stream import STREAM
from tamis.snapshot import Snapshots
from tamis.store import Store
from tests.campaigns.outcome import Outcome
from tests.campaigns.processes import Process, family, in_sessions, kill, processes
from tests.campaigns.service_load import Load, event
from tests.servers import postgresql
from tests.spark.accounting import numbered
from tests.spark.composite_accounting import LATENESS, CompositePair, expected_matches, match_of

BACKENDS = ("sqlite", "postgresql", "kafka")
EVERYTHING, SERVICE, ALL_STREAM, JAVA, WORKER = (
    "everything",
    "service alone",
    "stream",
    "stream's Java",
    "Python worker",
)
KINDS = (EVERYTHING, ALL_STREAM, SERVICE, JAVA, WORKER)
_PATIENCE_SECONDS = 900.0
_LISTENS = re.compile(r"listens at (http://\S+),")
_TENANT = "default/"


def until(is_so: Callable[[], Any], why: Callable[[], str], seconds: float = _PATIENCE_SECONDS) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, why()
        time.sleep(0.02)


class Life:
    """One life of a service, in processes of its own."""

    def __init__(self, settings: ServiceSettings, log: Path) -> None:
        """Start it."""
        self.log = log
        file = settings.folder / "service.toml"
        # Those of operators are a table, which no campaign needs.
        given = {name: value for name, value in asdict(settings).items() if name != "operators"}
        file.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in given.items()))
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tamis", "serve", "--config", str(file)],
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._sessions = {self.process.pid}

    def listens(self) -> bool:
        """Does it?"""
        assert self.process.poll() is None, f"it ended with {self.process.returncode}: {self.said()}"
        return _LISTENS.search(self.log.read_text(errors="replace")) is not None

    def said(self) -> str:
        """The end of what it wrote."""
        return self.log.read_text(errors="replace")[-5_000:]

    def kill(self, kind: str, chance: random.Random) -> bool:
        """Kill something of it; tells whether there was such a thing."""
        self._look()
        if kind == EVERYTHING:
            self.end()
            return True
        everything = in_sessions(self._sessions)
        meant = [each for each in everything if _is_meant(kind, each, self.process.pid)]
        if kind == WORKER:
            meant = chance.sample(meant, min(1, len(meant)))
        for each in meant:
            kill(each.pid)
        killed = {each.pid for each in meant}
        until(lambda: not killed & processes().keys(), lambda: f"{killed} do not end")
        if kind == SERVICE:
            self.process.wait(_PATIENCE_SECONDS)
        return bool(meant)

    def end(self) -> None:
        """Kill whatever is left."""
        self._look()

        def is_over() -> bool:
            living = in_sessions(self._sessions)
            for each in living:
                kill(each.pid)
            self.process.poll()
            return not living

        until(is_over, lambda: f"processes of sessions {self._sessions} do not end")
        self.process.wait(_PATIENCE_SECONDS)

    def _look(self) -> None:
        """Learn which sessions its processes are in; the stream has one of its own."""
        self._sessions |= {each.session for each in family(self.process.pid)}


def _is_meant(kind: str, process: Process, service: int) -> bool:
    if kind == SERVICE:
        return process.pid == service
    if process.session == service:
        return False
    if kind == WORKER:
        return process.is_python_worker and process.parent_name != "java"
    return kind == ALL_STREAM or process.name == "java"


@contextmanager
def backend(name: str, folder: Path) -> Iterator[ServiceSettings]:
    """The settings of a service on one of the back ends, which run as long as this lasts."""
    spark = ["spark.sql.streaming.minBatchesToRetain=1000000"]
    given: dict[str, Any] = {"master": "local[2]", "memory": "1g", "keep_events_days": 30.0}
    given["composite_lateness_seconds"] = LATENESS.total_seconds()
    with ExitStack() as stack:
        if name == "postgresql":
            url = stack.enter_context(postgresql())
            given |= {"store": url, "feed": url, "inbox": url}
        elif name == "kafka":
            from tests.spark.kafka_broker import broker, connector

            (folder / "connector").mkdir()
            spark.append("spark.jars=" + ",".join(map(str, connector(folder / "connector"))))
            given["kafka"] = f"kafka://{stack.enter_context(broker(folder / 'broker'))}/events"
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        yield ServiceSettings(data=str(folder / "data"), port=port, spark=tuple(spark), **given)


def run(
    outcome: Outcome,
    folder: Path,
    *,
    kills: int,
    name: str = "sqlite",
    rate: float = 300.0,
    living: int = 25,
) -> None:
    """Kill a service so many times, and compare every pair.

    Args:
        outcome: What becomes of it.
        folder: Empty.
        kills: Each kind in turn.
        name: One of `BACKENDS`.
        rate: Events that are published a second.
        living: About how many subscriptions there are at a time.
    """
    chance = random.Random(outcome.seed)
    with backend(name, folder) as settings, ExitStack() as stack:
        settings.folder.mkdir()
        lives = [Life(settings, folder / "log 0")]
        stack.callback(lambda: lives[-1].end())  # noqa: PLW0108 - whichever is the last by then
        until(lives[0].listens, lives[0].said)
        inbox = Inbox(settings.database("inbox"))
        stack.callback(inbox.close)
        reader = FeedReader(settings.database("feed"))
        stack.callback(reader.close)
        books = Books(settings)
        token = (settings.folder / "token").read_text().strip()
        load = Load(f"http://127.0.0.1:{settings.port}", token, rate, outcome.seed, composites=0.3, living=living)
        load.start()
        killed: Counter[str] = Counter()
        try:
            while killed.total() < kills and not outcome.stop.is_set():
                number = killed.total()
                life, before, kind = lives[-1], reader.end(), KINDS[number % len(KINDS)]
                if number % 3 != 2 or kind == WORKER:  # else it is killed as it starts
                    until(lambda life=life, before=before: life.listens() and reader.end() > before, life.said)  # type: ignore[misc]
                else:
                    until(life.listens, life.said)
                time.sleep(chance.uniform(0, 2))  # any moment: nothing is waited for
                if not life.kill(kind, chance):
                    continue  # the stream is just being started again
                killed[kind] += 1
                books.look()
                done = f"{load.answered_events():,} events, {reader.end():,} pairs"
                outcome.say(f"{killed.total()} of {kills} kills: {kind}; {done}")
                if kind in (EVERYTHING, SERVICE):
                    lives.append(Life(settings, folder / f"log {len(lives)}"))
        finally:
            load.end()
        _wait_for_stream(inbox, reader, lives[-1])
        books.look()
        lives[-1].end()
        outcome.figures |= {
            "back end": name,
            "kills": killed.total(),
            "kills by kind": dict(killed),
            "lives of the service": len(lives),
            "events a second asked for": rate,
            "subscriptions at a time": living,
            "answers by status": {str(status): count for status, count in sorted(load.statuses.items())},
        }
        outcome.figures |= books.settle(load)


def _wait_for_stream(inbox: Inbox, reader: FeedReader, life: Life) -> None:
    """Wait until nothing waits, as long as there is progress."""
    state, since = (-1, -1), time.monotonic()
    while (waiting := inbox.waiting()) > 0:
        if (waiting, reader.end()) != state:
            state, since = (waiting, reader.end()), time.monotonic()
        assert time.monotonic() - since < _PATIENCE_SECONDS, f"{waiting} events wait: {life.said()}"
        time.sleep(0.1)


@dataclass(slots=True)
class Batch:
    """A batch of the stream: its events by number, and the version of the store that they met."""

    numbers: list[int]
    held: int


@dataclass(slots=True)
class Books:
    """What should have been recorded, from the checkpoint, the log of the store and the versions.

    Attributes:
        settings: Of the service.
        versions: The version of the store in each version of the snapshot; old ones are not kept, so `look` often.
    """

    settings: ServiceSettings
    versions: dict[int, int] = field(default_factory=dict)

    def look(self) -> None:
        """Note the versions that there are."""
        folder = self.settings.folder / STREAM / "snapshot"
        if not folder.exists():
            return
        snapshots = Snapshots(folder)
        for version in snapshots.versions():
            if version not in self.versions:
                self.versions[version] = snapshots.manifest(version).extra["store"]["version"]

    def settle(self, load: Load) -> dict[str, Any]:
        """Compare everything; gives figures."""
        numbers = self._taken()
        answered = {number for each in load.published if each.is_answered for number in each.numbers}
        assert not answered - numbers.keys(), f"{len(answered - numbers.keys())} accepted events are lost"
        assert max(numbers.values()) == 1, "an event was taken twice"
        with Store.open(self.settings.database("store")) as store:
            changes = store.changes(0).to_pylist()
        self._check_subscriptions(load, changes)
        batches = self._batches()
        seen = {number for batch in batches.values() for number in batch.numbers}
        assert not numbers.keys() - seen, f"{len(numbers.keys() - seen)} events were never matched"
        found, found_composites = self._recorded()
        compared = 0
        state: dict[str, dict[str, Any]] = {}
        place = 0
        expected_of: dict[str, set[tuple[str, int]]] = {}
        read: list[tuple[list[dict[str, Any]], dict[str, tuple[int, str]]]] = []
        for number in sorted(batches):
            batch = batches[number]
            while place < len(changes) and changes[place]["store_version"] <= batch.held:
                if changes[place]["id"] is not None:
                    state[changes[place]["id"]] = changes[place]
                place += 1
            active = [each for each in state.values() if each["state"] == "active" and each["refusal"] is None]
            plain = [each for each in active if not has_state(each["dialect"])]
            held = {each["id"]: (each["revision"], each["condition"]) for each in active if each not in plain}
            read.append(([event(each) for each in batch.numbers], held))
            for id, pair in _expected(batch.numbers, plain):
                expected_of.setdefault(id, set()).add(pair)
        for id in expected_of.keys() | found.keys():
            expected, got = expected_of.get(id, set()), found.get(id, Counter())
            lost, extra = expected - got.keys(), got - Counter(expected)
            assert not lost, f"event {id}: lost {lost}"
            assert not extra, f"event {id}: too many {dict(extra)}"
            compared += len(expected)
        self._check_freshness(load, changes, batches)
        owed = expected_matches(read, LATENESS)
        lost_matches, extra_matches = owed - found_composites, found_composites - owed
        assert not lost_matches, f"composite: lost {lost_matches.most_common(9)}"
        assert not extra_matches, f"composite: too many {extra_matches.most_common(9)}"
        return {
            "events accepted": len(answered),
            "events taken": len(numbers),
            "subscriptions": len(load.subscribed),
            "cancelled": sum(each.ended is not None for each in load.subscribed),
            "batches": len(batches),
            "versions": len({batch.held for batch in batches.values()}),
            "pairs compared": compared,
            "composite subscriptions": sum(has_state(each.dialect) for each in load.subscribed),
            "composite matches compared": owed.total(),
        }

    def _taken(self) -> Counter[int]:
        """How often the inbox has each event."""
        inbox = Inbox(self.settings.database("inbox"))
        try:
            with inbox._database.reading() as connection:
                return Counter(_number(id) for (id,) in connection.execute(select(events.c.id)))
        finally:
            inbox.close()

    def _recorded(self) -> tuple[dict[str, Counter[tuple[str, int]]], Counter[CompositePair]]:
        """Subscription and revision of each notification, by event; and the matches of composite ones."""
        reader = FeedReader(self.settings.database("feed"))
        found: dict[str, Counter[tuple[str, int]]] = {}
        composites: Counter[CompositePair] = Counter()
        try:
            with reader.database.reading() as connection:
                columns = select(feed.c.event_id, feed.c.subscription_id, feed.c.revision, feed.c.attributes)
                for event_id, subscription, revision, attributes in connection.execute(columns):
                    if attributes is None:
                        found.setdefault(event_id, Counter())[subscription, revision] += 1
                    else:
                        composites[match_of(subscription, revision, attributes)] += 1
        finally:
            reader.close()
        return found, composites

    def _batches(self) -> dict[int, Batch]:
        """All batches, from the checkpoint and what the feed has committed."""
        reader = FeedReader(self.settings.database("feed"))
        try:
            with reader.database.reading() as connection:
                rows = connection.execute(select(commits.c.batch, commits.c.version)).all()
        finally:
            reader.close()
        versions: dict[int, int] = dict((batch, version) for batch, version in rows)
        assert len(versions) == len(rows), "a batch was committed twice, or there are two queries"
        offsets = {}
        for path in numbered(self.settings.folder / STREAM / "checkpoint" / "offsets"):
            said = json.loads(path.read_text().splitlines()[-1])
            offsets[int(path.name)] = json.loads(said) if isinstance(said, str) else said
        assert versions.keys() <= offsets.keys(), "a batch that is in no checkpoint was committed"
        read = self._read_topic if self.settings.kafka else self._read_inbox
        of_batches = read([offsets[batch] for batch in sorted(offsets)])
        found = {}
        for batch, numbers in zip(sorted(offsets), of_batches, strict=True):
            if batch in versions:
                assert versions[batch] in self.versions, f"version {versions[batch]} was not seen"
                found[batch] = Batch(numbers, self.versions[versions[batch]])
        held = [found[batch].held for batch in sorted(found)]
        assert held == sorted(held), "a batch was matched with an older version than the one before it"
        return found

    def _read_inbox(self, offsets: list[Any]) -> list[list[int]]:
        inbox = Inbox(self.settings.database("inbox"))
        try:
            ends = [0, *(offset["number"] for offset in offsets)]
            return [[_number(id) for id, *_ in inbox.between(*each)] for each in pairwise(ends)]
        finally:
            inbox.close()

    def _read_topic(self, offsets: list[Any]) -> list[list[int]]:
        ids = _topic(self.settings.kafka)
        done = dict.fromkeys(ids, 0)
        found = []
        for offset in offsets:
            [ends] = offset.values()
            numbers: list[int] = []
            for partition, end in ends.items():
                numbers += ids[int(partition)][done[int(partition)] : end]
                done[int(partition)] = end
            found.append(numbers)
        return found

    def _check_subscriptions(self, load: Load, changes: list[dict[str, Any]]) -> None:
        last = {each["id"]: each for each in changes if each["id"] is not None}
        for each in load.subscribed:
            known = last.get(_TENANT + each.id)
            if each.answered is not None:
                assert known is not None, f"the subscription {each.id} is lost"
                assert each.asked_to_end or known["condition"] == each.condition
                assert each.asked_to_end or known["state"] == "active", f"{each.id} is {known['state']}"
                assert each.ended is None or known["state"] != "active", f"{each.id} was cancelled and is there"

    def _check_freshness(self, load: Load, changes: list[dict[str, Any]], batches: dict[int, Batch]) -> None:
        """Does an event meet every change of subscriptions that was answered before the event was published?"""
        held_of: dict[int, int] = {}
        for batch in batches.values():
            for number in batch.numbers:
                held_of[number] = min(held_of.get(number, batch.held), batch.held)
        steps = sorted((each for each in load.published if each.first in held_of), key=lambda each: each.began)
        least: list[int] = []
        for step in reversed(steps):
            held = min(held_of[number] for number in step.numbers if number in held_of)
            least.append(min(held, least[-1]) if least else held)
        least.reverse()
        began = [step.began for step in steps]
        made: dict[str, list[int]] = {}
        for change in changes:
            if change["id"] is not None:
                made.setdefault(change["id"], []).append(change["store_version"])
        for each in load.subscribed:
            for when, which in ((each.answered, 0), (each.ended, -1)):
                if when is not None and (place := bisect_right(began, when)) < len(steps):
                    version = made[_TENANT + each.id][which]
                    assert least[place] >= version, f"an event met version {least[place]}, {each.id} has {version}"


def _number(id: str) -> int:
    return int(id.rpartition("/e")[2])


@cache
def _compiled(condition: str) -> Condition:
    return compile_condition(condition, EventType())


@cache
def _satisfying(condition: str) -> frozenset[tuple[int, str]]:
    """What `a` and `b` may be for a plain condition of the load, which reads nothing else: by the reference."""
    values = [(a, b) for a in range(100) for b in "xyz"]
    batch = EventBatch.of([{"a": a, "b": b} for a, b in values], EventType())
    return frozenset(values[row] for row in reference.matches(_compiled(condition), batch))


def _expected(numbers: list[int], active: list[dict[str, Any]]) -> Iterator[tuple[str, tuple[str, int]]]:
    """The pairs of events with the plain subscriptions of a version, by the reference."""
    found = [(number, event(number)) for number in numbers]
    for change in active:
        satisfying = _satisfying(change["condition"])
        for number, each in found:
            if (each["a"], each["b"]) in satisfying:
                yield f"{_TENANT}e{number}", (change["id"], change["revision"])


def _topic(url: str) -> dict[int, list[int]]:
    """The numbers of the events of a topic, by partition."""
    from confluent_kafka import Consumer, TopicPartition

    from tamis.service.kafka import Topic, Watermarks

    topic = Topic.of(url)
    watermarks = Watermarks(topic)
    ends = watermarks.ends()
    watermarks.close()
    consumer = Consumer({"bootstrap.servers": topic.servers, "group.id": "campaign", "enable.auto.commit": False})
    found: dict[int, list[int]] = {}
    try:
        for partition, end in ends.items():
            found[partition] = []
            consumer.assign([TopicPartition(topic.name, partition, 0)])
            while len(found[partition]) < end:
                message = consumer.poll(_PATIENCE_SECONDS)
                assert message is not None and message.error() is None, "the topic cannot be read"
                assert message.offset() == len(found[partition]), "the topic has gaps"
                found[partition].append(_number((message.key() or b"").decode()))
    finally:
        consumer.close()
    return found
