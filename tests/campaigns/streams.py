"""Streams that are killed over and over, while subscriptions change: no pair is lost, and none comes twice.

`tests/spark/killing.py` is the program that is killed: at named points of its code, and from outside at any
moment: the whole tree, the driver alone, Java alone, a Python worker or the process that makes workers. In the end
every event is compared with the subscriptions of the version that its batch was matched with, by the reference.

`run` kills a driver with two queries, each with a sink of its own. `run_on_postgresql` kills one whose tasks load
rows into PostgreSQL. `run_on_one_table` has two drivers that write to one table, and kills one of them while the
other goes on. Spark runs in the driver, or with executors that are processes of their own and are killed, too.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from tamis.sinks.staging import STAGED_DEAD_LETTERS, STAGED_NOTIFICATIONS
from tamis.snapshot import Snapshots
from tamis.store import Store
from tests.campaigns.one_table import ONE_TABLE, settle_table
from tests.campaigns.outcome import Outcome
from tests.campaigns.processes import Process, kill, session
from tests.spark.accounting import (
    Accountant,
    Recorded,
    files_of_batches,
    numbered,
    query_id,
    recorded_in_database,
    recorded_in_files,
    settle,
)
from tests.spark.composite_accounting import composite_condition, moment_and_user
from tests.spark.dying_tasks import HALF, LOCAL, WRITING, Life
from tests.spark.killing import COMPOSITES, POINTS, QUERIES, STAGING_POINTS, change, condition

ROOT = Path(__file__).resolve().parents[2]
TREE, DRIVER, JAVA, WORKER, DAEMON = "whole tree", "driver alone", "Java alone", "Python worker", "Python daemon"
EXECUTOR = "executor"
OUTSIDE = (TREE, DRIVER, JAVA)
"""What is killed from outside, at any moment, and ends a life."""
SURVIVED = (WORKER, DAEMON, EXECUTOR)
"""What is killed from outside, at any moment, and does not."""
CLUSTER = "local-cluster[2,1,1024]"
"""A Spark with two executors, which are processes."""
_LIFE_SECONDS = 600
_EVENTS = 60
_OFTEN = {"while publishing": 60, "while the store commits": 40}
"""Points that a life comes to more often than to others, and how often to let it."""
_ATTEMPTS = 5


class Driver(NamedTuple):
    """A driver that was started."""

    process: subprocess.Popen[bytes]
    life: Life
    log: Path


class Campaign:
    """Lives and deaths in one folder.

    Attributes:
        lives: Drivers that were started.
        kills: What was killed from outside, and how often.
    """

    def __init__(
        self,
        folder: Path,
        store: Store,
        seed: int,
        *,
        haste: int = 1,
        drivers: Sequence[tuple[str, ...]] = (QUERIES,),
        master: str = LOCAL,
        database: str = "",
    ) -> None:
        """Begin with some subscriptions.

        Args:
            folder: Empty.
            store: Of subscriptions, in the folder.
            seed: Of everything that is random.
            haste: How many times earlier lives end.
            drivers: The queries of each driver that lives at the same time; they are killed in turn.
            master: Of Spark.
            database: The URL of the PostgreSQL of the query `staged`.
        """
        self.drivers = drivers
        self._place = {"master": master, "database": database}
        self.folder = folder
        self.store = store
        self.chance = random.Random(seed)
        self.haste = haste
        self.lives = 0
        self._turn = -1
        self.kills: Counter[str] = Counter()
        self._files = 0
        for name in ("in", "marks", "aside", "scratch", "logs"):
            (folder / name).mkdir()
        store.add_many([{"id": f"s{number}", "condition": condition(self.chance)} for number in range(40)])
        if len(drivers) == 1:  # those of two drivers differ, since their batches do
            store.add_many(
                {"id": f"c{number}", "condition": composite_condition(self.chance), "dialect": "composite"}
                for number in range(COMPOSITES)
            )

    def live(self, kind: str | None, worker_kills: int) -> bool:
        """One life of the drivers; tells whether the one whose turn it is was killed as it should have been."""
        most = max(2, _OFTEN.get(kind or "", 8) // self.haste)
        hits = self.chance.randint(1 if kind in _OFTEN else 2, most)
        self.supply(hits + 10 // self.haste)
        self._turn += 1
        turn = self._turn % len(self.drivers)
        queries, *others = *self.drivers[turn:], *self.drivers[:turn]
        own = None if kind in (*OUTSIDE, *SURVIVED) else kind
        started = [self._start(queries, own, hits, worker_kills)]
        started += [self._start(each, None, 1, 0) for each in others]
        try:
            killed = self._is_killed(started[0], kind)
            for other in started[1:]:
                assert not self._is_killed(other, None), "a driver died that nobody killed"
        finally:
            for each in started:
                _end_session(each.process)
        return killed

    def _start(self, queries: tuple[str, ...], point: str | None, hits: int, worker_kills: int) -> Driver:
        self.lives += 1
        seed = self.chance.randrange(1 << 30)
        life = Life(str(self.folder), self.lives, seed, point, hits, worker_kills, queries, **self._place)
        log = self.folder / "logs" / f"{self.lives:04d}"
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.killing", life.to_json()],
                stdout=output,
                stderr=output,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": path},
            )
        return Driver(process, life, log)

    def _is_killed(self, driver: Driver, kind: str | None) -> bool:
        """Wait for the end of a driver, and kill it before if it is to be killed from outside; was it killed?"""
        process, life, log = driver
        killed = False
        try:
            if kind in (*OUTSIDE, *SURVIVED):
                killed = self._kill_at_any_moment(driver, kind)
            self._change_until_it_ends(process)
            if killed and kind == DRIVER:
                self._change_until(lambda: not session(process.pid), process, "Java outlives its driver")
        finally:
            _end_session(process)
        said = log.read_text(errors="replace")[-5_000:]
        if killed and kind == JAVA:
            # An error of any kind: Python 3.11 aborts if a thread is inside of C++ while the interpreter ends.
            assert process.returncode, f"a driver without Java ended as if all were well: {said}"
        elif killed and kind in OUTSIDE:
            assert process.returncode == -signal.SIGKILL, said
        else:
            died = process.returncode == -signal.SIGKILL
            assert died or process.returncode == 0, f"life {life.number} ended with {process.returncode}: {said}"
            assert (self.folder / "marks" / f"{life.number:04d} ended").exists() != died, said
            killed = killed or died
        log.unlink()
        return killed

    def supply(self, waiting: int, in_all: int = 0) -> None:
        """See to it that so many files wait for each query, and that there are so many in all."""
        while self._files < max(max(self._committed()) + waiting, in_all):
            lines = [json.dumps(self._event(self._files, number)) for number in range(_EVENTS)]
            aside = self.folder / "aside" / f"{self._files:06d}.jsonl"
            aside.write_text("\n".join(lines) + "\n")
            aside.rename(self.folder / "in" / aside.name)
            self._files += 1

    def figures(self) -> dict[str, Any]:
        """What was done, for the outcome."""
        by_kind = dict(sorted(self.killed().items()))
        return {"lives": self.lives, "kills": self.killed().total(), "kills by kind": by_kind}

    def killed(self) -> Counter[str]:
        """What was killed, from inside and outside, and how often."""
        names = [path.name.split(" ", 1)[1] for path in (self.folder / "marks").iterdir()]
        inside = (WORKER if name.startswith("worker") else name.removeprefix("driver ") for name in names)
        return self.kills + Counter(name for name in inside if name != "ended")

    def _event(self, file: int, number: int) -> dict[str, object]:
        chance = self.chance
        text = chance.choice([None, str(chance.randrange(100))])
        own = {"id": f"{file}-{number}", "a": chance.randrange(100), "b": chance.choice("xyz"), "c": text}
        return own | moment_and_user(file * 30 + number / 2, file * _EVENTS + number, chance)

    def _committed(self, *queries: str) -> list[int]:
        """How many batches of each query, or of some, Spark has committed."""
        names = queries or [name for each in self.drivers for name in each]
        folders = [self.folder / "checkpoints" / name / "commits" for name in names]
        return [len(numbered(folder)) if folder.exists() else 0 for folder in folders]

    def _kill_at_any_moment(self, driver: Driver, kind: str) -> bool:
        """Wait for a batch to be committed, then some time, and kill; was there something to kill?"""
        process, queries = driver.process, driver.life.queries
        before = self._committed(*queries)
        self._change_until(lambda: self._committed(*queries) != before, process, "no batch was committed")
        self._change_for(process, self.chance.uniform(0, 3 / self.haste))
        if process.poll() is not None:
            return False
        found = [each.pid for each in session(process.pid) if _is_meant(kind, each, process.pid)]
        if kind in SURVIVED:
            found = self.chance.sample(found, min(1, len(found)))
        for pid in found:
            kill(pid)
        self.kills[kind] += bool(found)
        return bool(found)

    def _change_until_it_ends(self, process: subprocess.Popen[bytes]) -> None:
        self._change_until(lambda: process.poll() is not None, process, "the driver does not come to an end")

    def _change_until(self, is_so: Callable[[], bool], process: subprocess.Popen[bytes], why: str) -> None:
        """Change subscriptions until something is so, or the driver has ended."""
        deadline = time.monotonic() + _LIFE_SECONDS
        while not is_so() and (process.poll() is None or why.startswith("Java")):
            assert time.monotonic() < deadline, why
            self._change_for(process, 0.1)

    def _change_for(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        change(self.store, self.chance)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            return


def _is_meant(kind: str, process: Process, driver: int) -> bool:
    """Is a process of a driver's session what is to be killed?"""
    if kind in (TREE, DRIVER):
        return kind == TREE or process.pid == driver
    if kind == JAVA:
        return process.name == "java"
    if kind == EXECUTOR:
        return process.name == "java" and process.parent_name == "java"
    is_python = process.pid != driver and process.is_python_worker
    return is_python and (process.parent_name == "java") == (kind == DAEMON)


def _end_session(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the processes of a driver; its Python workers form groups of their own."""
    deadline = time.monotonic() + 60
    while living := session(process.pid):
        assert time.monotonic() < deadline, f"processes {living} do not end"
        for each in living:
            kill(each.pid)
        process.poll()
    process.wait(60)


def books(folder: Path, store: Store) -> Iterator[tuple[Path, Recorded, Accountant]]:
    """Of each query: its checkpoint, what its sink has, and who knows what it should have."""
    for name in QUERIES:
        checkpoint = folder / "checkpoints" / name
        query = query_id(checkpoint)
        recorded = (
            recorded_in_files(folder / "delta", query)
            if name == "delta"
            else recorded_in_database(f"sqlite:///{folder / 'sql.db'}", query)
        )
        yield checkpoint, recorded, Accountant(store, checkpoint / "tamis" / "snapshot")


def run(
    outcome: Outcome, folder: Path, *, kills: int, batches: int = 200, haste: int = 1, executors: bool = False
) -> None:
    """Kill streams so many times, each kind at least once, and compare every pair.

    Args:
        outcome: What becomes of it.
        folder: Empty.
        kills: In all, about half of them of Python workers.
        batches: At least so many in all.
        haste: How many times earlier lives end.
        executors: Are they processes of their own, which are killed as well?
    """
    kinds = [*POINTS, *OUTSIDE]
    if kills > 2 * len(kinds):  # else the last life has them
        kinds += [WORKER, DAEMON]
    if executors:
        kinds.append(EXECUTOR)
    master = CLUSTER if executors else LOCAL
    with Store.open(folder / "subscriptions.db") as store:
        campaign = Campaign(folder, store, outcome.seed, haste=haste, master=master)
        _kill(campaign, outcome, kinds, kills)
        if not outcome.stop.is_set():
            campaign.supply(0, batches // len(QUERIES))
        last = None if DAEMON in campaign.killed() or outcome.stop.is_set() else DAEMON
        while campaign.live(last, worker_kills=2) != (last is not None):
            campaign.supply(10)  # it came to its end before it could be killed
        figures: Counter[str] = Counter()
        for book in books(folder, store):
            figures += _settle(folder, *book)
        outcome.figures |= {**campaign.figures(), **figures}


def _settle(folder: Path, checkpoint: Path, recorded: Recorded, accountant: Accountant) -> Counter[str]:
    """Compare what a query recorded; it has read every file once, and pins one version."""
    figures = settle(checkpoint, recorded, accountant)
    read = [path for files in files_of_batches(checkpoint).values() for path in files]
    assert sorted(read) == sorted((folder / "in").iterdir()), "a file was not read, or read twice"
    pins = [*Snapshots(checkpoint / "tamis" / "snapshot").pins()]
    assert pins == [f"{query_id(checkpoint)}/{max(recorded.versions)}"], f"pins that are left: {pins}"
    return figures


STAGED = ("staged",)
"""The queries of the driver whose tasks load rows into PostgreSQL."""


def run_on_postgresql(
    outcome: Outcome,
    folder: Path,
    url: str,
    *,
    kills: int,
    kinds: Sequence[str] = (*STAGING_POINTS, *OUTSIDE),
    haste: int = 1,
) -> None:
    """Kill a stream that writes to PostgreSQL, and compare every pair.

    Args:
        outcome: What becomes of it.
        folder: Empty.
        url: Of an empty database.
        kills: In all.
        kinds: What is killed, each at least once.
        haste: How many times earlier lives end.
    """
    url = url.replace("postgresql:", "postgresql+psycopg:")  # as SQLAlchemy takes it
    with Store.open(folder / "subscriptions.db") as store:
        campaign = Campaign(folder, store, outcome.seed, haste=haste, drivers=(STAGED,), database=url)
        _kill(campaign, outcome, kinds, kills)
        assert not campaign.live(None, worker_kills=0), "the last life is not killed"
        checkpoint = folder / "checkpoints" / "staged"
        accountant = Accountant(store, checkpoint / "tamis" / "snapshot")
        recorded = recorded_in_database(url, query_id(checkpoint))
        figures = _settle(folder, checkpoint, recorded, accountant)
        assert staged_rows(url) == 0, "a batch is committed, and what was staged is still there"
        outcome.figures |= {**campaign.figures(), **figures}


def staged_rows(url: str) -> int:
    """How many rows wait in the staging tables of a database."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        tables = (STAGED_NOTIFICATIONS, STAGED_DEAD_LETTERS)
        counts = [connection.execute(sa.text(f"SELECT count(*) FROM {name}")).scalar_one() for name in tables]
    engine.dispose()
    return sum(counts)


def _kill(campaign: Campaign, outcome: Outcome, kinds: Sequence[str], kills: int) -> None:
    """Kill so many times, each kind at least once."""
    number = 0
    while (number < len(kinds) or campaign.killed().total() < kills) and not outcome.stop.is_set():
        kind = kinds[number % len(kinds)]
        attempts = 0
        while not campaign.live(kind, worker_kills=2):
            attempts += 1
            assert attempts < _ATTEMPTS, f"the driver does not come to this: {kind}"
        number += 1
        outcome.say(f"life {campaign.lives}, {campaign.killed().total()} of {kills} kills: {kind}")


AT_THE_TABLE = (HALF, WRITING, "within the sink's commit", "between files and log", "between the commits")
"""The points at which a query may leave something for the other one."""


def run_on_one_table(
    outcome: Outcome, folder: Path, *, kills: int, kinds: Sequence[str] = (*AT_THE_TABLE, *OUTSIDE), haste: int = 1
) -> None:
    """Let two drivers write to one table, kill them in turn, and compare what the table has.

    Args:
        outcome: What becomes of it.
        folder: Empty.
        kills: In all.
        kinds: What is killed, each at least once.
        haste: How many times earlier lives end.
    """
    with Store.open(folder / "subscriptions.db") as store:
        campaign = Campaign(folder, store, outcome.seed, haste=haste, drivers=ONE_TABLE)
        _kill(campaign, outcome, kinds, kills)
        assert not campaign.live(None, worker_kills=0), "the last life is not killed"
        outcome.figures |= {**campaign.figures(), **settle_table(folder, store)}
