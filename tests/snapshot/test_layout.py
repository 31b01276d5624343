"""The names of the files of a snapshot."""

from __future__ import annotations

import pytest

from tamis.snapshot.layout import (
    PINS,
    SEGMENTS,
    STATISTICS,
    TOMBSTONES,
    VERSIONS,
    is_own,
    own_folders,
    pin_file,
    segment_files,
    statistics_file,
    tombstones_file,
    version_file,
    version_of,
)

NAME = "0123456789abcdef" * 4


def test_versions_have_names_that_sort() -> None:
    files = [version_file(version) for version in (1, 9, 10, 1_000_000)]
    assert files == sorted(files)
    assert [version_of(file.partition("/")[2]) for file in files] == [1, 9, 10, 1_000_000]
    assert [version_of(name) for name in ("1.json", "000000000001.json.new", "x")] == [None, None, None]


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        (version_file(3), VERSIONS),
        (tombstones_file(NAME), TOMBSTONES),
        (statistics_file(NAME), STATISTICS),
        (pin_file("any/holder \ud800"), PINS),
        (segment_files(NAME)[0].rpartition("/")[0], SEGMENTS),
    ],
)
def test_our_names_are_known_in_their_folder_only(path: str, folder: str) -> None:
    found, _, name = path.partition("/")
    assert found == folder
    assert [each for each in own_folders() if is_own(each, name)] in ([folder], [STATISTICS, PINS])
    assert is_own("", folder)
    assert not is_own(folder, name + "x")
