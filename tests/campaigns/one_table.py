"""The table that two queries write to at the same time: what two programs read there, and what should be there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import duckdb
from deltalake import DeltaTable

from tamis.sinks.reading import read_commits
from tamis.store import Store
from tests.spark.accounting import Accountant, Pair, files_of_batches, query_id

ONE_TABLE = (("first",), ("second",))
"""The queries of two drivers that write to one table."""


def settle_table(folder: Path, store: Store) -> Counter[str]:
    """Compare the table of two queries with what they should have given together; gives figures."""
    commits = read_commits(folder / "delta")
    figures: Counter[str] = Counter()
    owed: dict[Pair, set[int]] = {}
    for (name,) in ONE_TABLE:
        checkpoint = folder / "checkpoints" / name
        accountant = Accountant(store, checkpoint / "tamis" / "snapshot")
        versions = {each.batch: each.version for each in commits if each.query == query_id(checkpoint)}
        batches = files_of_batches(checkpoint)
        assert versions.keys() == batches.keys(), "a batch is not committed, or one too many is"
        assert sorted(path for files in batches.values() for path in files) == sorted((folder / "in").iterdir())
        for batch, files in batches.items():
            events = [json.loads(line) for path in files for line in path.read_text().splitlines()]
            for pair in accountant.pairs(events, versions[batch]):
                owed.setdefault(pair, set()).add(versions[batch])
            figures.update(batches=1, events=len(events))
    table = DeltaTable(str(folder / "delta" / "notifications"))
    paths = {unquote(urlparse(each).path) for each in table.file_uris()}
    named = {str(folder / "delta" / path) for each in commits for path in each.files.get("notifications", ())}
    assert paths == named, "the log has a file that no commit names, or lacks one"
    columns = ["event_id", "subscription_id", "revision", "version"]
    found = [tuple(row[name] for name in columns) for row in table.to_pyarrow_table(columns=columns).to_pylist()]
    again = _read_by_duckdb(folder / "delta" / "notifications", sorted(paths), columns)
    assert Counter(found) == Counter(again), "DuckDB reads something else"
    counted = Counter(row[:3] for row in found)
    assert not (lost := owed.keys() - counted.keys()), f"lost: {sorted(lost)[:9]}"
    assert not (extra := counted - Counter(owed.keys())), f"twice, or not owed: {extra.most_common(9)}"
    assert all(version in owed[event, id, revision] for event, id, revision, version in found), "another version"
    figures.update(pairs=len(found), files=len(paths))
    return figures


def _read_by_duckdb(table: Path, files: Sequence[str], columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """The rows of a table, by DuckDB's own reader of Delta if its extension is installed, else from its files."""
    listed = ", ".join(columns)
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        try:
            connection.load_extension("delta")
        except duckdb.Error:
            return connection.execute(f"SELECT {listed} FROM read_parquet($1)", [[*files]]).fetchall()
        return connection.execute(f"SELECT {listed} FROM delta_scan($1)", [str(table)]).fetchall()
