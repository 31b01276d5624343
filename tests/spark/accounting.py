"""What a stream should have recorded, worked out from Spark's checkpoint, the events, the store and the versions.

Which events belong to a batch is read from the checkpoint; which subscriptions there were is worked out twice for
the version that the sink recorded, from the log of the store with the reference and from the snapshot.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow.compute as pc
import sqlalchemy as sa

from tamis.events import EventBatch, EventType
from tamis.language.condition import Condition, compile_condition
from tamis.language.dialects import COMPOSITE
from tamis.matchers import Matchers
from tamis.reference import matches
from tamis.sinks.reading import read_commits, read_notifications
from tamis.snapshot import Snapshots
from tamis.store import Store
from tests.spark.composite_accounting import LATENESS, CompositePair, expected_matches, match_of

Pair = tuple[str, str, int]
"""Event, subscription, revision."""
_COLUMNS = ("event_id", "subscription_id", "revision", "version", "attributes")


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a sink has of a query.

    Attributes:
        versions: That each batch was matched with.
        pairs: Of all batches, with the version that stands in each notification.
        composites: The matches of composite subscriptions.
    """

    versions: dict[int, int]
    pairs: list[tuple[Pair, int]]
    composites: Counter[CompositePair]

    @classmethod
    def of(cls, versions: dict[int, int], rows: Iterable[tuple[Any, ...]]) -> Recorded:
        """From rows of event, subscription, revision, version and attributes."""
        pairs, composites = [], Counter[CompositePair]()
        for event, id, revision, version, attributes in rows:
            if is_composite(id):
                composites[match_of(id, int(revision), attributes)] += 1
            else:
                pairs.append(((event, id, int(revision)), int(version)))
        return cls(versions, pairs, composites)


def is_composite(id: str) -> bool:
    """Is this the id of a composite subscription of `killing`?"""
    return id.startswith("c")


def query_id(checkpoint: Path) -> str:
    """The id that Spark gave to the query of a checkpoint."""
    found: str = json.loads((checkpoint / "metadata").read_text())["id"]
    return found


def files_of_batches(checkpoint: Path) -> dict[int, list[Path]]:
    """The files that each batch of a query has read: those of the log of its source up to the batch's offset."""
    entries: dict[str, int] = {}
    for path in (checkpoint / "sources" / "0").iterdir():
        if not path.name.startswith("."):
            for line in path.read_text().splitlines()[1:]:
                entry = json.loads(line)
                entries[entry["path"]] = entry["batchId"]
    batches: dict[int, list[Path]] = {}
    before = -1
    for path in sorted(numbered(checkpoint / "offsets"), key=lambda path: int(path.name)):
        offset = json.loads(path.read_text().splitlines()[-1])["logOffset"]
        urls = [url for url, number in entries.items() if before < number <= offset]
        batches[int(path.name)] = [Path(unquote(urlparse(url).path)) for url in sorted(urls)]
        before = offset
    return batches


def numbered(folder: Path) -> list[Path]:
    """The files of a log of Spark's that are whole."""
    return [path for path in folder.iterdir() if path.name.isdigit()]


def recorded_in_files(folder: Path, query: str) -> Recorded:
    """What the sinks `parquet` and `jsonl` have of a query; batches are told apart by what commits name."""
    versions = {commit.batch: commit.version for commit in read_commits(folder) if commit.query == query}
    table = read_notifications(folder)
    columns = [table[name].to_pylist() for name in _COLUMNS]
    assert pc.count_distinct(table["id"]).as_py() == table.num_rows
    return Recorded.of(versions, zip(*columns, strict=True))


def recorded_in_database(url: str, query: str) -> Recorded:
    """What the sink `sql` has of a query in a database."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        of_query = sa.text("SELECT batch, version FROM tamis_commits WHERE query = :query")
        versions = {batch: version for batch, version in connection.execute(of_query, {"query": query})}
        rows = connection.execute(sa.text(f"SELECT {', '.join(_COLUMNS)} FROM tamis_notifications")).all()
    engine.dispose()
    return Recorded.of(versions, [tuple(row) for row in rows])


class Accountant:
    """Works out the pairs of any events at any version of a snapshot that was published from a store."""

    def __init__(self, store: Store, snapshot: Path) -> None:
        self.snapshots = Snapshots(snapshot)
        self.snapshot = snapshot
        self._changes = store.changes(0).to_pylist()

    def pairs(self, events: list[dict[str, Any]], version: int) -> set[Pair]:
        """The pairs, found in two ways that must agree."""
        by_log = self._by_log(events, version)
        matcher = Matchers.open(self.snapshot, version).only
        batch = EventBatch.of(events, matcher.event_type)
        rows, ids, revisions = matcher.match_pairs(batch).columns()
        by_snapshot = {
            (str(events[row]["id"]), id, int(revision))
            for row, id, revision in zip(rows.tolist(), ids.to_pylist(), revisions.tolist(), strict=True)
        }
        assert by_log == by_snapshot, f"version {version} does not hold what the store held"
        return by_log

    def composites(self, version: int) -> dict[str, tuple[int, str]]:
        """Revision and text of the composite subscriptions of a version, by id."""
        return {
            id: (change["revision"], change["condition"])
            for id, change in self._active(version).items()
            if change["dialect"] == COMPOSITE
        }

    def _by_log(self, events: list[dict[str, Any]], version: int) -> set[Pair]:
        batch = EventBatch.of(events, EventType())
        return {
            (str(events[row]["id"]), id, change["revision"])
            for id, change in self._active(version).items()
            if change["dialect"] != COMPOSITE
            for row in matches(_compiled(change["condition"]), batch)
        }

    def _active(self, version: int) -> dict[str, dict[str, Any]]:
        """The last change of each subscription that a version has, by id."""
        held = self.snapshots.manifest(version).extra["store"]["version"]
        state: dict[str, dict[str, Any]] = {}
        for change in self._changes:
            if change["store_version"] > held:
                break
            if change["id"] is not None:
                state[change["id"]] = change
        return {
            id: change for id, change in state.items() if change["state"] == "active" and change["refusal"] is None
        }


@cache
def _compiled(condition: str) -> Condition:
    return compile_condition(condition, EventType())


def settle(checkpoint: Path, recorded: Recorded, accountant: Accountant) -> Counter[str]:
    """Compare what was recorded with what should have been, batch by batch; gives figures."""
    batches = files_of_batches(checkpoint)
    assert sorted(batches) == list(range(len(batches)))
    assert recorded.versions.keys() == batches.keys(), "a batch is not committed, or one too many is"
    versions = [recorded.versions[batch] for batch in sorted(batches)]
    assert versions == sorted(versions), "a batch was matched with an older version than the one before it"
    found: dict[str, list[tuple[Pair, int]]] = {}
    for pair, version in recorded.pairs:
        found.setdefault(pair[0], []).append((pair, version))
    figures: Counter[str] = Counter(batches=len(batches), versions=len(set(versions)))
    read = []
    for batch, files in batches.items():
        events = [json.loads(line) for path in files for line in path.read_text().splitlines()]
        read.append((events, accountant.composites(recorded.versions[batch])))
        expected = accountant.pairs(events, recorded.versions[batch])
        got = [each for event in events for each in found.pop(event["id"], [])]
        assert {version for _, version in got} <= {recorded.versions[batch]}, f"batch {batch}"
        missing = expected - {pair for pair, _ in got}
        extra = Counter(pair for pair, _ in got) - Counter(expected)
        assert not missing and not extra, f"batch {batch} lost {missing} and has {extra} too many"
        figures.update(files=len(files), events=len(events), pairs=len(expected))
    assert not found, "there are notifications of events that no batch has read"
    owed = expected_matches(read, LATENESS)
    lost, more = owed - recorded.composites, recorded.composites - owed
    assert not lost and not more, f"composite: lost {lost.most_common(9)}, too many {more.most_common(9)}"
    figures["composite matches"] = owed.total()
    return figures
