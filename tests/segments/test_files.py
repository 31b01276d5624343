"""Segments in snapshots: mapped, not read; refused if they are not what they should be."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tamis import Matcher, SnapshotError, Statistics
from tamis.arrays import AnyArray
from tamis.engines import ENGINES
from tamis.engines.bitslice import BitsliceIndex
from tamis.segments import files
from tamis.segments.segment import LiveSegment
from tamis.snapshot import Snapshots, make_segment
from tamis.snapshot.snapshots import SnapshotPart
from tests.engines.test_engines import marked

_CONDITIONS = [
    *(f"a > {number} AND b < {number % 50} AND c BETWEEN {number} AND {number + 500}" for number in range(20_000)),
    *(f"s LIKE '%word{number}%' OR exists(tags, x -> x = {number})" for number in range(200)),
    *(f"NOT (a = {number} OR s IS NULL) AND t IN ('x', 'y{number}')" for number in range(200)),
]
_EVENTS = [
    {"a": row * 37 % 4000, "b": row % 60, "c": row * 11 % 4500, "s": f"a word{row} b", "tags": [row], "t": "x"}
    for row in range(80)
]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    url = tmp_path_factory.mktemp("snapshot") / "alerts"
    matcher = Matcher()
    assert matcher.add_many((f"s{number}", text) for number, text in enumerate(_CONDITIONS)) == []
    assert matcher.publish(url) == 1
    return url


def pairs(matcher: Matcher) -> set[tuple[int, str]]:
    found = matcher.match_batch(_EVENTS)
    return set(zip(found["event_id"].to_pylist(), found["subscription_id"].to_pylist(), strict=True))


def mapped(folder: Path) -> dict[str, int]:
    """Kilobytes of the maps of files in a folder, by kind, as the kernel counts them."""
    counts: dict[str, int] = {}
    here = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            here = str(folder) in line
        elif here and line.endswith(" kB"):
            name, size = line.removesuffix(" kB").split(":")
            counts[name] = counts.get(name, 0) + int(size)
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("engine", marked(ENGINES))
def test_any_engine_opens_what_was_published(tmp_path: Path, engine: str) -> None:
    matcher = Matcher()
    matcher.add_many((f"s{number}", text) for number, text in enumerate(_CONDITIONS[-2000:]))
    matcher.publish(tmp_path)
    found = pairs(Matcher.open(tmp_path, engine=engine))
    assert found == pairs(matcher)
    assert len(found) > 1000


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_opening_reads_little_and_matching_shares_the_pages(published: Path) -> None:
    matcher = Matcher.open(published)
    opened = mapped(published)
    assert opened["Size"] > 1000, "nothing is mapped"
    # The file was written a moment ago and is in memory, but this process has touched little of it.
    assert opened["Rss"] < opened["Size"] / 4
    pairs(matcher)
    assert mapped(published)["Private_Dirty"] == 0, "pages were copied"


@pytest.mark.slow
def test_only_what_is_new_is_written(published: Path, tmp_path: Path) -> None:
    matcher = Matcher.open(published)
    matcher.publish(tmp_path)
    before = {path.name for path in (tmp_path / "segments").iterdir()}
    matcher.remove_many(["s1", "s2"])
    matcher.add("new", "a = 1")
    matcher.publish(tmp_path)
    after = {path.name for path in (tmp_path / "segments").iterdir()}
    assert before < after
    assert len(after - before) == 1
    assert len(Matcher.open(tmp_path)) == len(_CONDITIONS) - 1
    assert len(Matcher.open(tmp_path, 1)) == len(_CONDITIONS)


def test_a_second_publisher_is_refused(tmp_path: Path) -> None:
    first, second = Matcher(), Matcher()
    first.add("a", "x = 1")
    first.publish(tmp_path)
    with pytest.raises(SnapshotError, match=re.escape(str(tmp_path))):
        second.publish(tmp_path)


def test_statistics_are_kept_beside_the_segments(published: Path, tmp_path: Path) -> None:
    matcher = Matcher.open(published)
    pairs(matcher)
    assert len(matcher.statistics) > 3
    matcher.publish(tmp_path)
    again = Matcher.open(tmp_path)
    assert again.statistics.to_json() == matcher.statistics.to_json()
    names = {entry.segment for entry in Snapshots(tmp_path).manifest().entries}
    assert names == {entry.segment for entry in Snapshots(published).manifest().entries}
    matcher.merge()
    assert pairs(matcher) == pairs(again)


def test_the_index_of_an_older_layout_is_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = Matcher()
    matcher.add_many((f"s{number}", text) for number, text in enumerate(_CONDITIONS[-400:]))
    arrays = BitsliceIndex.arrays

    def old_arrays(index: BitsliceIndex) -> dict[str, AnyArray]:
        return {name: array for name, array in arrays(index).items() if not name.startswith("mask_programs")}

    with monkeypatch.context() as old:
        old.setattr(files, "LAYOUT", 2)
        old.setattr(BitsliceIndex, "arrays", old_arrays)
        matcher.publish(tmp_path)
    assert pairs(Matcher.open(tmp_path)) == pairs(matcher)


def test_segments_of_another_layout_are_refused(tmp_path: Path) -> None:
    segment = make_segment({}, {"layout": files.LAYOUT + 1})
    event_types = {"event": {"name": "event"}}
    Snapshots(tmp_path / "newer").publish([SnapshotPart(segment, 1)], parent=None, event_types=event_types)
    with pytest.raises(SnapshotError, match="layout") as refused:
        Matcher.open(tmp_path / "newer")
    assert refused.value.kind == "newer"
    Snapshots(tmp_path / "other").publish(
        [SnapshotPart(make_segment({}), 1)], parent=None, event_types=event_types
    )
    with pytest.raises(SnapshotError, match="no segment of subscriptions") as refused:
        Matcher.open(tmp_path / "other")
    assert refused.value.kind == "foreign"


def test_an_empty_matcher_can_be_published(tmp_path: Path) -> None:
    assert Matcher(statistics=Statistics()).publish(tmp_path) == 1
    opened = Matcher.open(tmp_path)
    assert (len(opened), opened.match({"a": 1})) == (0, [])


def test_patterns_are_opened_and_not_built_again(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = pairs(Matcher.open(published))

    def refuse(*_: object) -> None:
        pytest.fail("the automata were built again")

    monkeypatch.setattr("tamis.engines.encoding.non_interval_index.build_pattern_groups", refuse)
    assert pairs(Matcher.open(published)) == wanted
    assert any("word" in _CONDITIONS[int(id.removeprefix("s"))] for _, id in wanted)


def test_the_next_version_shares_what_is_open_already(tmp_path: Path) -> None:
    first = Matcher()
    first.add_many([("a", "x > 1"), ("b", "x > 2")])
    first.publish(tmp_path)
    opened = Matcher.open(tmp_path)
    first.remove("a")
    first.publish(tmp_path)
    later = Matcher.open(tmp_path)
    (one,), (other,) = (each._collection.state.segments for each in (opened, later))  # type: ignore[union-attr]
    assert isinstance(one, LiveSegment) and isinstance(other, LiveSegment)
    assert (one.index, one.records) == (other.index, other.records)
    assert (opened.match({"x": 5}), later.match({"x": 5})) == (["a", "b"], ["b"]), "tombstones are their own"
