"""Streams that are killed over and over, while subscriptions change: no pair is lost, and none comes twice.

`killing.py` is the program that is killed. `TAMIS_KILLS` says how often, `TAMIS_KILLS_SEED` how.
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
from dataclasses import replace
from pathlib import Path

import pytest

from tamis.snapshot import Snapshots
from tamis.store import Store
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
from tests.spark.killing import POINTS, QUERIES, Life, change, condition

ROOT = Path(__file__).resolve().parents[2]
KILLS = int(os.environ.get("TAMIS_KILLS", "22"))
SEED = int(os.environ.get("TAMIS_KILLS_SEED", "0"))
OUTSIDE = "any moment"
LEAST_BATCHES, LEAST_PAIRS = 200, 10_000
_LIFE_SECONDS = 600
_EVENTS = 60
_HITS = {"while publishing": 60, "while the store commits": 40}
"""Points that a life comes to more often than to others, and how often to let it."""


class Campaign:
    """Lives and deaths in one folder."""

    def __init__(self, folder: Path, store: Store, seed: int) -> None:
        self.folder = folder
        self.store = store
        self.chance = random.Random(seed)
        self.lives = 0
        self.files = 0
        for name in ("in", "marks", "aside", "scratch", "logs"):
            (folder / name).mkdir()
        store.add_many([{"id": f"s{number}", "condition": condition(self.chance)} for number in range(40)])

    def live(self, point: str | None, worker_kills: int) -> bool:
        """One life of the driver; tells whether it died as it should have."""
        hits = self.chance.randint(2, 8) if point not in _HITS else self.chance.randint(1, _HITS[point])
        self.supply(hits + 10)
        own = point if point in POINTS else None
        self.lives += 1
        life = Life(str(self.folder), self.lives, self.chance.randrange(1 << 30), own, hits, worker_kills)
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
        try:
            if point == OUTSIDE:
                self._kill_at_any_moment(process)
            self._change_until_it_ends(process)
        finally:
            _end_session(process)
        died = process.returncode == -signal.SIGKILL
        if died and point == OUTSIDE:
            life.mark(f"driver {OUTSIDE}")
        assert died or process.returncode == 0, log.read_text()
        assert (self.folder / "marks" / f"{self.lives:04d} ended").exists() != died, log.read_text()
        return died

    def supply(self, waiting: int, in_all: int = 0) -> None:
        """See to it that so many files wait for each query, and that there are so many in all."""
        while self.files < max(max(self._committed()) + waiting, in_all):
            lines = [json.dumps(self._event(f"{self.files}-{number}")) for number in range(_EVENTS)]
            aside = self.folder / "aside" / f"{self.files:06d}.jsonl"
            aside.write_text("\n".join(lines) + "\n")
            aside.rename(self.folder / "in" / aside.name)
            self.files += 1

    def marks(self) -> Counter[str]:
        """What was killed, and how often."""
        names = [path.name.split(" ", 1)[1] for path in (self.folder / "marks").iterdir()]
        kills = [
            "a Python worker" if name.startswith("worker") else name.removeprefix("driver ") for name in names
        ]
        return Counter(name for name in kills if name != "ended")

    def _event(self, id: str) -> dict[str, object]:
        chance = self.chance
        text = chance.choice([None, str(chance.randrange(100))])
        return {"id": id, "a": chance.randrange(100), "b": chance.choice("xyz"), "c": text}

    def _committed(self) -> list[int]:
        """How many batches of each query Spark has committed."""
        folders = [self.folder / "checkpoints" / name / "commits" for name in QUERIES]
        return [len(numbered(folder)) if folder.exists() else 0 for folder in folders]

    def _kill_at_any_moment(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for a batch to be committed, then some time, and kill."""
        before = self._committed()
        deadline = time.monotonic() + _LIFE_SECONDS
        while process.poll() is None and self._committed() == before:
            assert time.monotonic() < deadline, "no batch was committed"
            self._change_for(process, 0.1)
        self._change_for(process, self.chance.uniform(0, 3))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)

    def _change_until_it_ends(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _LIFE_SECONDS
        while process.poll() is None:
            assert time.monotonic() < deadline, "the driver does not come to an end"
            change(self.store, self.chance)
            self._change_for(process, 0.3)

    def _change_for(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        change(self.store, self.chance)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            return


def _end_session(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the processes of a driver; its Python workers form groups of their own."""
    deadline = time.monotonic() + 60
    while living := _session(process.pid):
        assert time.monotonic() < deadline, f"processes {living} do not end"
        for pid in living:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        process.poll()
    process.wait(60)


def _session(leader: int) -> list[int]:
    """The processes of a session that are not over."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = path.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(session) == leader and state not in "ZX":
            found.append(int(path.parent.name))
    return found


def _notices_mistakes(checkpoint: Path, recorded: Recorded, accountant: Accountant) -> None:
    """Would it be noticed if a notification were missing or there twice, or a batch of another version?"""
    of_first = [each for each in recorded.pairs if each[0][0].startswith("0-")]
    rest = [each for each in recorded.pairs if each not in of_first]
    with pytest.raises(AssertionError, match="lost"):
        settle(checkpoint, replace(recorded, pairs=rest + of_first[1:]), accountant)
    with pytest.raises(AssertionError, match="too many"):
        settle(checkpoint, replace(recorded, pairs=[*recorded.pairs, of_first[0]]), accountant)
    other = {**recorded.versions, 0: recorded.versions[max(recorded.versions)]}
    with pytest.raises(AssertionError, match="older version"):
        settle(checkpoint, replace(recorded, versions=other), accountant)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes under /proc")
def test_killed_streams_lose_nothing_and_repeat_nothing(
    spark_environment: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    points = [*POINTS, OUTSIDE]
    driver_kills = max(len(points), KILLS // 2)
    with Store.open(tmp_path / "subscriptions.db") as store:
        campaign = Campaign(tmp_path, store, SEED)
        for number in range(driver_kills):
            attempts = 0
            while not campaign.live(points[number % len(points)], worker_kills=1):
                attempts += 1
                assert attempts < 5, f"the driver does not come to the point: {points[number % len(points)]}"
        is_over = False
        while not is_over:
            left = max(0, KILLS - campaign.marks().total())
            campaign.supply(2 * left, LEAST_BATCHES // len(QUERIES) + 10)
            assert not campaign.live(None, worker_kills=left)
            is_over = campaign.marks().total() >= KILLS

        kills = campaign.marks()
        figures: Counter[str] = Counter()
        for name in QUERIES:
            checkpoint = tmp_path / "checkpoints" / name
            query = query_id(checkpoint)
            recorded = (
                recorded_in_files(tmp_path / "parquet", query)
                if name == "parquet"
                else recorded_in_database(tmp_path / "sql.db", query)
            )
            snapshot = checkpoint / "tamis" / "snapshot"
            accountant = Accountant(store, snapshot)
            figures += settle(checkpoint, recorded, accountant)
            _notices_mistakes(checkpoint, recorded, accountant)
            read = [path for files in files_of_batches(checkpoint).values() for path in files]
            assert sorted(read) == sorted((tmp_path / "in").iterdir())
            assert list(Snapshots(snapshot).pins()) == [f"{query}/{max(recorded.versions)}"]
        with capsys.disabled():
            shown = {"seed": SEED, "lives": campaign.lives, "kills": kills.total(), "by point": kills, **figures}
            sys.stdout.write(f"\n{json.dumps(shown)}\n")
    assert set(points) <= set(kills) and kills["a Python worker"]
    assert figures["batches"] >= LEAST_BATCHES and figures["pairs"] >= LEAST_PAIRS
