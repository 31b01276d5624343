"""Folders of files: readers see what is committed, and nothing else."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tamis.errors import SnapshotError
from tamis.sinks import (
    JsonLinesSink,
    ParquetSink,
    SinkError,
    read_commits,
    read_dead_letters,
    read_notifications,
)
from tests.sinks.deliveries import at, delivery


def test_a_folder_that_is_not_there_has_nothing(tmp_path: Path) -> None:
    assert read_commits(tmp_path / "nowhere") == []
    assert read_notifications(tmp_path / "nowhere").num_rows == 0
    assert read_dead_letters(tmp_path / "nowhere").num_rows == 0


def test_commits_tell_what_each_batch_was(tmp_path: Path) -> None:
    sink = ParquetSink(folder=tmp_path)
    sink.commit(delivery(0, [(1, 1)], dead=[b"bad"], query="q/1"))
    sink.commit(delivery(1, [(1, 1)], query="q/1"))
    first, second = read_commits(tmp_path)
    assert (first.query, first.batch, first.at, first.version) == ("q/1", 0, at(0), 1)
    assert (first.written, first.repeated, first.dead) == (1, 0, 1)
    assert sorted(first.files) == ["dead-letters", "notifications"]
    assert (second.batch, second.written, second.repeated, second.files) == (1, 0, 1, {})


def test_files_that_no_commit_names_are_not_read_and_are_swept(tmp_path: Path) -> None:
    sink = JsonLinesSink(folder=tmp_path)
    sink.commit(delivery(0, [(1, 1)]))
    orphan = tmp_path / "notifications" / "a%20query.000000000007.jsonl"
    orphan.write_text("what a killed process left")
    assert read_notifications(tmp_path).num_rows == 1
    JsonLinesSink(folder=tmp_path).commit(delivery(1, [(2, 1)]))
    assert not orphan.exists()
    assert read_notifications(tmp_path).num_rows == 2


def test_a_damaged_commit_is_refused_by_name(tmp_path: Path) -> None:
    sink = ParquetSink(folder=tmp_path)
    sink.commit(delivery(0, [(1, 1)]))
    (commit,) = (tmp_path / "commits").iterdir()
    commit.write_text(commit.read_text().replace('"written": 1', '"written": 2'))
    with pytest.raises(SnapshotError, match=f"{commit.name}: damaged"):
        read_notifications(tmp_path)


def test_checking_says_why_a_folder_will_not_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SinkError, match=r"sink parquet: .*below cannot be a folder: .*file is a file"):
        ParquetSink(folder=tmp_path / "file" / "below").check()
    ParquetSink(folder=tmp_path / "new" / "folder").check()
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_checking_sees_permissions(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(SinkError, match="gives no permission"):
        ParquetSink(folder=tmp_path / "found").check()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [({"folder": 3}, "folder must be a path or URL, found 3"), ({"folder": ""}, "folder must be a path or URL")],
)
def test_arguments_are_checked(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(SinkError, match=f"sink jsonl: {problem}"):
        JsonLinesSink(**arguments)


@pytest.mark.parametrize("kind", [JsonLinesSink, ParquetSink])
def test_old_output_goes_after_its_retention(tmp_path: Path, kind: type[JsonLinesSink | ParquetSink]) -> None:
    sink = kind(folder=tmp_path, retention=timedelta(minutes=3), output_retention=timedelta(minutes=10))
    for batch in range(60, 101):  # a minute each
        sink.commit(delivery(batch, [(batch, 1)], dead=[b"%d" % batch]))
    kept = [commit.batch for commit in read_commits(tmp_path)]
    assert kept == [*range(91, 101)]
    assert read_notifications(tmp_path).num_rows == read_dead_letters(tmp_path).num_rows == 10
    for folder in ("notifications", "dead-letters"):
        assert len([*(tmp_path / folder).iterdir()]) == 10
    again = sink.commit(delivery(101, [(100, 1)]))
    assert (again.written, again.repeated) == (0, 1), "what is remembered does not depend on the output"
