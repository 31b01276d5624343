"""The time at which the matches of a batch were made, recorded once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tamis.errors import SnapshotError
from tamis.spark.match_time import FILE, MatchTime

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_batch_keeps_its_time_and_the_next_one_gets_its_own(tmp_path: Path) -> None:
    times = MatchTime(tmp_path / "state")
    assert times.record("q", 0, NOW) == NOW
    assert times.record("q", 0, NOW + timedelta(hours=1)) == NOW
    assert MatchTime(tmp_path / "state").record("q", 0, NOW + timedelta(hours=1)) == NOW, "after a crash"
    assert times.record("q", 1, NOW + timedelta(hours=2)) == NOW + timedelta(hours=2)
    assert times.record("other", 1, NOW) == NOW


def test_a_damaged_file_is_an_error_never_another_time(tmp_path: Path) -> None:
    times = MatchTime(tmp_path)
    times.record("q", 0, NOW)
    file = tmp_path / FILE
    file.write_bytes(file.read_bytes().replace(b"2026", b"2027"))
    with pytest.raises(SnapshotError) as caught:
        times.record("q", 0, NOW)
    assert (caught.value.kind, caught.value.file) == ("damaged", str(file))
