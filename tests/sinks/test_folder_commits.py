"""Commits in a folder, by its path, by its URL and in an object store."""

from __future__ import annotations

import uuid
from datetime import timedelta
from pathlib import Path

import pytest

from tamis.sinks import Committed, Delivery, SinkError
from tamis.sinks.folder_commits import Commit, FolderCommits, batch_name
from tests.sinks.deliveries import at, delivery
from tests.sinks.parts import batch_key

HOUR = timedelta(hours=1)


@pytest.fixture(params=["path", "URL", pytest.param("s3", marks=[pytest.mark.slow, pytest.mark.server])])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "s3":
        address: str = request.getfixturevalue("s3_address")
        return f"s3://bucket/{uuid.uuid4().hex}?endpoint_override={address}&scheme=http&region=us-east-1"
    return str(tmp_path) if request.param == "path" else f"file://{tmp_path}"


def test_names_of_batches_sort_as_the_batches_do() -> None:
    names = [batch_name("a query/1.5", batch) for batch in (0, 9, 10, 123_456)]
    assert names == sorted(names)
    assert names[0] == "a%20query%2F1%2E5.000000000000"
    assert len(batch_name("x" * 500, 1)) < 100


def test_only_what_is_new_is_written_and_a_repeated_batch_is_not(url: str) -> None:
    written: list[Delivery] = []
    commits = FolderCommits(url, HOUR)
    assert commits.commit(delivery(0, [(1, 1)]), written.append) == Committed(1, 0)
    assert commits.commit(delivery(1, [(1, 1), (2, 1)]), written.append) == Committed(1, 1)
    again = FolderCommits(url, HOUR)
    assert again.commit(delivery(1, [(1, 1), (2, 1)]), written.append) == Committed(1, 1, again=True)
    assert [new.notifications.num_rows for new in written] == [1, 1]
    first, second = again.commits()
    assert (first.batch, first.at, second.batch, second.files) == (0, at(0), 1, {})
    assert len(first.tasks) == len(second.tasks) == 1


def test_what_fails_is_not_committed(url: str) -> None:
    def fail(new: Delivery) -> None:
        raise KeyError

    commits = FolderCommits(url, HOUR)
    with pytest.raises(KeyError):
        commits.commit(delivery(0, [(1, 1)]), fail)
    assert list(commits.commits()) == []
    assert commits.commit(delivery(0, [(1, 1)]), lambda new: None) == Committed(1, 0)


def test_a_notification_is_new_again_after_the_retention(url: str) -> None:
    commits = FolderCommits(url, timedelta(minutes=2))
    found = [commits.commit(delivery(batch, [(1, 1)]), lambda new: None).written for batch in range(5)]
    assert found == [1, 0, 1, 0, 1]


@pytest.mark.slow
def test_as_many_batches_as_there_are_leave_few_files_of_the_ledger(tmp_path: Path) -> None:
    commits = FolderCommits(tmp_path, timedelta(days=1))
    for batch in range(60):
        assert commits.commit(delivery(batch, [(batch, 1)]), lambda new: None) == Committed(1, 0)
    assert len([*(tmp_path / "ledger").iterdir()]) < 20
    again = FolderCommits(tmp_path, timedelta(days=1))
    repeated = delivery(60, [(batch, 1) for batch in range(60)])
    assert again.commit(repeated, lambda new: None) == Committed(0, 60)


def test_old_commits_go_where_few_are_kept(tmp_path: Path) -> None:
    commits = FolderCommits(tmp_path, timedelta(minutes=5), keep=3)
    for batch in range(95, 101):
        commits.commit(delivery(batch, []), lambda new: None)
    assert [each.batch for each in commits.commits()] == [98, 99, 100]


def test_a_commit_that_the_ledger_needs_stays(tmp_path: Path) -> None:
    commits = FolderCommits(tmp_path, timedelta(minutes=5), keep=1)
    for batch in range(98, 101):
        commits.commit(delivery(batch, [(batch, 1)]), lambda new: None)
    assert [each.batch for each in commits.commits()] == [98, 99, 100]
    again = FolderCommits(tmp_path, timedelta(minutes=5), keep=1)
    assert again.commit(delivery(101, [(98, 1)]), lambda new: None) == Committed(0, 1)


def test_a_commit_of_an_earlier_version_names_one_file_of_a_kind(tmp_path: Path) -> None:
    from tamis.sinks.folder_commits import FORMAT, KIND
    from tamis.snapshot.documents import seal

    facts = {
        "query": "q",
        "batch": 3,
        "at": at(3).isoformat(),
        "version": 1,
        "written": 1,
        "repeated": 0,
        "dead": 0,
    }
    old = seal(KIND, FORMAT, facts | {"files": {"notifications": "notifications/q.000000000003.jsonl"}})
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / "q.000000000003.json").write_bytes(old)
    commits = FolderCommits(tmp_path, HOUR)
    files: dict[str, tuple[str, ...]] = {"notifications": ("notifications/q.000000000003.jsonl",)}
    assert list(commits.commits()) == [Commit("q", 3, at(3), 1, 1, 0, 0, files)]
    assert commits.commit(delivery(3, [(1, 1)], query="q"), lambda new: None) == Committed(1, 0, again=True)


def test_a_batch_is_published_only_after_its_tasks_were_given_a_writer(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match="query a query, batch 0: published without a view of the ledger"):
        FolderCommits(tmp_path, HOUR).publish(batch_key(0), [])
