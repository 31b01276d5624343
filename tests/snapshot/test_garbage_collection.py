"""Forgetting: what goes, and what must stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from tamis.errors import SnapshotError
from tamis.snapshot import CollectionResult, SnapshotPart, Snapshots
from tamis.snapshot.layout import version_file
from tests.snapshot.conftest import Open
from tests.snapshot.processes import check_content, publish_next, segment_of


def forget_all(snapshots: Snapshots, *, keep_versions: int = 1, dry_run: bool = False) -> CollectionResult:
    return snapshots.forget(keep_versions=keep_versions, older_than_seconds=0, grace_seconds=0, dry_run=dry_run)


def names(snapshots: Snapshots, folder: str) -> set[str]:
    return {each.name for each in snapshots.storage.listing(folder)}


@pytest.fixture
def six(open_again: Open) -> Snapshots:
    """A snapshot of six versions."""
    for _ in range(6):
        publish_next(open_again())
    return open_again()


def test_where_nothing_is_nothing_is_made(snapshots: Snapshots, tmp_path: Path) -> None:
    assert forget_all(snapshots) == CollectionResult((), (), 0)
    with pytest.raises(SnapshotError, match="there is no version 1"):
        snapshots.pin("me", 1)
    assert list(tmp_path.iterdir()) == []


def test_old_versions_go_with_what_only_they_name(six: Snapshots) -> None:
    named = {entry.segment for version in (5, 6) for entry in six.manifest(version).entries}
    gone = names(six, "segments") - named
    collected = forget_all(six, keep_versions=2)
    assert collected.versions == (1, 2, 3, 4)
    assert {path.partition("/")[2] for path in collected.files if path.startswith("segments/")} == gone
    assert collected.bytes > 0
    assert six.versions() == [5, 6]
    assert names(six, "segments") == named
    assert len(names(six, "tombstones")) == len(names(six, "statistics")) == 2
    check_content(six, 5)
    check_content(six, 6)
    assert six.verify() == []


@pytest.mark.parametrize("keep_versions", [-1, 0, 1])
def test_the_newest_version_stays(six: Snapshots, keep_versions: int) -> None:
    forget_all(six, keep_versions=keep_versions)
    assert six.versions() == [6]
    check_content(six, 6)


def test_pinned_versions_stay_until_they_are_let_go(six: Snapshots) -> None:
    six.pin("somebody", 2)
    six.pin("somebody else", 2)
    assert forget_all(six).versions == (1, 3, 4, 5)
    check_content(six, 2)
    six.unpin("somebody")
    assert forget_all(six).versions == ()
    six.unpin("somebody else")
    assert forget_all(six).versions == (2,)
    with pytest.raises(SnapshotError, match="there is no version 2"):
        six.pin("too late", 2)


def test_versions_stay_until_they_have_been_replaced_for_long_enough(six: Snapshots) -> None:
    assert six.forget(keep_versions=1, older_than_seconds=3_600, grace_seconds=0) == CollectionResult((), (), 0)
    assert six.forget(keep_versions=100, older_than_seconds=0, grace_seconds=0).versions == ()


def test_young_files_that_no_version_names_stay(six: Snapshots) -> None:
    stray = segment_of(77)
    six.storage.write(f"segments/{stray.name}/arrays.bin", stray.content())
    six.storage.write("aside/1-" + 32 * "0", [b"being written"])
    before = names(six, "segments")
    assert six.forget(keep_versions=1, older_than_seconds=0, grace_seconds=3_600).files == ()
    assert names(six, "segments") == before
    collected = forget_all(six)
    assert {f"segments/{stray.name}", "aside/1-" + 32 * "0"} <= set(collected.files)
    assert stray.name not in names(six, "segments")
    assert names(six, "aside") == set()


def test_a_dry_run_tells_and_does_nothing(six: Snapshots) -> None:
    told = forget_all(six, dry_run=True)
    assert six.versions() == [1, 2, 3, 4, 5, 6]
    assert six.verify() == []
    assert forget_all(six) == told


def test_foreign_files_stay(six: Snapshots) -> None:
    for path in ("segments/notes.txt", "aside/mine", "tombstones/x", "notes.txt"):
        six.storage.write(path, [b"do not touch"])
    forget_all(six)
    assert six.storage.sizes(["segments/notes.txt", "aside/mine", "tombstones/x", "notes.txt"]) == [12] * 4


def test_nothing_is_collected_if_it_cannot_be_told_what_a_version_names(six: Snapshots) -> None:
    six.storage.write(version_file(3), [b"{}"])
    with pytest.raises(SnapshotError, match=r"000000000003\.json: foreign"):
        forget_all(six)
    assert six.versions() == [1, 2, 3, 4, 5, 6]


def test_what_was_collected_while_it_was_published_is_written_again(
    open_again: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moment between writing a segment and naming it, at which a collector without a grace period comes."""
    publisher, collector = open_again(), open_again()
    collected: list[CollectionResult] = []
    exclusive = publisher.storage.exclusive

    def collect_first() -> object:
        if not collected:
            collected.append(forget_all(collector))
        return exclusive()

    monkeypatch.setattr(publisher.storage, "exclusive", collect_first)
    publisher.publish([SnapshotPart(segment_of(1), 1_000)], parent=None, event_types={"event": {}})
    assert collected[0].files == (f"segments/{segment_of(1).name}",)
    assert open_again().verify() == []
