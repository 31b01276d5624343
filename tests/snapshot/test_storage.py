"""Storages: which one a URL means, and what both promise."""

from __future__ import annotations

from pathlib import Path

import pyarrow.fs as pafs
import pytest

from tamis.errors import SnapshotError
from tamis.snapshot.remote import RemoteStorage
from tamis.snapshot.storage import Storage, open_storage


@pytest.fixture(params=["local", "remote"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    return open_storage(tmp_path, pafs.LocalFileSystem() if request.param == "remote" else None)


def test_files_are_written_read_listed_and_removed(storage: Storage) -> None:
    assert storage.listing("folder") == []
    storage.write("folder/b", [b"1", memoryview(b"23")])
    assert storage.create("folder/a", b"4")
    assert not storage.create("folder/a", b"5")
    storage.write("folder/b", [b"67"])
    assert (storage.read("folder/a"), b"".join(storage.chunks("folder/b"))) == (b"4", b"67")
    assert [(each.name, each.bytes, each.is_folder) for each in storage.listing("folder")] == [
        ("a", 1, False),
        ("b", 2, False),
    ]
    assert storage.sizes(["folder/b", "folder", "folder/c"])[0::2] == [2, None]
    storage.remove("folder/a")
    storage.remove("folder/a")
    with pytest.raises(FileNotFoundError):
        storage.read("folder/a")
    storage.remove_folder("folder")
    storage.remove_folder("folder")
    assert storage.listing("folder") == []
    with storage.exclusive() as check_alone:
        check_alone()


def test_paths_and_urls_of_files_are_folders_of_this_machine(tmp_path: Path) -> None:
    for url in (tmp_path / "a b", str(tmp_path / "a b"), (tmp_path / "a b").as_uri()):
        assert open_storage(url).local == tmp_path / "a b"


def test_messages_have_no_passwords() -> None:
    url = "s3://key:secret@bucket/subscriptions?region=eu-north-1&endpoint_override=localhost:1"
    storage = open_storage(url)
    assert isinstance(storage, RemoteStorage)
    assert storage.where("versions") == "s3://bucket/subscriptions/versions"


def test_unknown_kinds_of_url_are_refused() -> None:
    with pytest.raises(SnapshotError, match=r"^nowhere://x/y: pyarrow cannot open it: "):
        open_storage("nowhere://x/y")
