"""Errors of delta-rs say which table, and what is wrong with the disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake.exceptions import CommitFailedError

from tamis.errors import WriteError
from tamis.sinks.delta_errors import naming_table_errors
from tests.filesystems import SmallDisk, small_disk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as mounted:
        yield mounted


def test_a_full_disk_is_told_from_other_errors(disk: SmallDisk) -> None:
    disk.fill()
    with (
        pytest.raises(WriteError, match="/notifications cannot be written") as caught,
        naming_table_errors(str(disk.folder), "notifications"),
    ):
        msg = "\x1b[31mGeneric\x1b[0m error"
        raise OSError(msg)
    assert caught.value.kind == "full"
    disk.clear()
    assert [each for each in disk.folder.rglob("*") if each.is_file()] == [], "the probe is gone"


def test_an_error_of_delta_is_one_of_the_disk_if_nothing_can_be_written(disk: SmallDisk) -> None:
    with (
        disk.read_only(),
        pytest.raises(WriteError) as caught,
        naming_table_errors(str(disk.folder), "notifications"),
    ):
        msg = "no log entry"
        raise CommitFailedError(msg)
    assert (caught.value.kind, caught.value.path) == ("read-only", f"{disk.folder}/notifications")


def test_where_the_disk_is_well_an_error_of_delta_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(CommitFailedError), naming_table_errors(str(tmp_path), "notifications"):
        msg = "somebody else was quicker"
        raise CommitFailedError(msg)


def test_the_text_of_another_error_has_no_colours(tmp_path: Path) -> None:
    with pytest.raises(WriteError) as caught, naming_table_errors(str(tmp_path), "notifications"):
        msg = "\x1b[31mGeneric\x1b[0m\n   error"
        raise OSError(msg)
    assert (caught.value.kind, caught.value.detail) == ("failed", "Generic error")


def test_an_object_store_is_not_probed_and_its_keys_are_not_shown() -> None:
    with pytest.raises(WriteError) as caught, naming_table_errors("s3://key:secret@bucket/out", "notifications"):
        msg = "no answer"
        raise OSError(msg)
    assert "secret" not in str(caught.value) and caught.value.path.endswith("bucket/out/notifications")
