"""Commits in a folder, in a folder of this machine and on a remote storage."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from tamis.sinks import Committed, Delivery
from tamis.sinks.folder_commits import FolderCommits, batch_name
from tamis.snapshot.local import LocalStorage
from tamis.snapshot.remote import RemoteStorage
from tamis.snapshot.storage import Storage
from tests.sinks.deliveries import at, delivery


@pytest.fixture(params=["local", "remote"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if request.param == "local":
        return LocalStorage(tmp_path)
    return RemoteStorage(pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem()), "", "remote")


def test_names_of_batches_sort_as_the_batches_do() -> None:
    names = [batch_name("a query/1.5", batch) for batch in (0, 9, 10, 123_456)]
    assert names == sorted(names)
    assert names[0] == "a%20query%2F1%2E5.000000000000"
    assert len(batch_name("x" * 500, 1)) < 100


def test_only_what_is_new_is_written_and_a_repeated_batch_is_not(storage: Storage) -> None:
    written: list[Delivery] = []

    def write(new: Delivery) -> dict[str, str]:
        written.append(new)
        return {"notifications": "somewhere"}

    commits = FolderCommits(storage, timedelta(hours=1))
    assert commits.commit(delivery(0, [(1, 1)]), write) == Committed(1, 0)
    assert commits.commit(delivery(1, [(1, 1), (2, 1)]), write) == Committed(1, 1)
    again = FolderCommits(storage, timedelta(hours=1))
    assert again.commit(delivery(1, [(1, 1), (2, 1)]), write) == Committed(1, 1, again=True)
    assert [new.notifications.num_rows for new in written] == [1, 1]
    first, second = again.commits()
    assert (first.batch, first.at, second.batch, second.files) == (0, at(0), 1, {"notifications": "somewhere"})


def test_what_fails_is_not_committed(storage: Storage) -> None:
    def fail(new: Delivery) -> dict[str, str]:
        raise KeyError

    commits = FolderCommits(storage, timedelta(hours=1))
    with pytest.raises(KeyError):
        commits.commit(delivery(0, [(1, 1)]), fail)
    assert list(commits.commits()) == []
    assert commits.commit(delivery(0, [(1, 1)]), lambda new: {}) == Committed(1, 0)


def test_old_commits_go_where_few_are_kept(tmp_path: Path) -> None:
    commits = FolderCommits(LocalStorage(tmp_path), timedelta(minutes=5), keep=3)
    for batch in range(95, 101):
        commits.commit(delivery(batch, []), lambda new: {})
    assert [each.batch for each in commits.commits()] == [98, 99, 100]
